/* heddle/tune_plot.h: predicted against measured times, as a picture and as a table. */
#ifndef HD_TUNE_PLOT_H
#define HD_TUNE_PLOT_H

#include "tune_times.h"

/* Draws every schedule as a point, both axes logarithmic, a colour a type, into the SVG file
 * `path`; prints a line a type with the mean error, and those that are predicted worst. */
heddle_status tune_plot(heddle_context *ctx, const all_times *all, const hd_device_model *ceilings,
                        const char *path);

#endif
