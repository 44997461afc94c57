/* heddle/tune_plot.h: predicted against measured times, as a picture and a table. */
#ifndef HD_TUNE_PLOT_H
#define HD_TUNE_PLOT_H

#include "tune_times.h"

/* Draws every schedule as a point in the SVG file `path`, with logarithmic axes and a colour per
 * type. Prints a line per type with the mean error, and the worst predictions. */
heddle_status tune_plot(heddle_context *ctx, const all_times *all, const hd_device_model *ceilings,
                        const char *path);

#endif
