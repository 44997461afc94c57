/* Tune/calibrate.h: a device's ceilings from measurements of schedules that they bind. */
#ifndef HD_CALIBRATE_H
#define HD_CALIBRATE_H

#include "Schedule/cost.h"

/* One measured schedule. Samples of one product, measured in one way, have one problem and follow
 * each other. */
typedef struct hd_sample {
  const hd_problem *problem; /* borrowed; sizes fixed */
  hd_schedule schedule;
  double seconds;
  bool quick; /* a look of a millisecond, which is longer than an interleaved time (by some 1 us) */
} hd_sample;

/* How badly the model ranks the schedules of each product: the root of the mean, over products, of
 * the variance of log(predicted / measured) within it, and a tenth of its square mean; the fast
 * schedules count most, one that takes twice the best's time a sixteenth. Of quick looks the mean
 * does not count, and the variance little. */
double hd_calibration_error(const hd_sample *samples, size_t n, const hd_device_model *ceilings);
/* Moves each ceiling, within its range, to where that error is least: one after the other, in
 * steps that get smaller, until none gains. Deterministic. */
void hd_calibrate(const hd_sample *samples, size_t n, hd_device_model *ceilings);

#endif
