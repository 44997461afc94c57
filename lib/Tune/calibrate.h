/* Tune/calibrate.h: fits the ceilings of a device to measured schedules that they limit. */
#ifndef HD_CALIBRATE_H
#define HD_CALIBRATE_H

#include "Schedule/cost.h"

/* One measured schedule. Samples of the same product, measured in the same way, share one problem
 * pointer and are contiguous. */
typedef struct hd_sample {
  const hd_problem *problem; /* borrowed; sizes fixed */
  hd_schedule schedule;
  double seconds;
  bool quick; /* a quick measurement of 1 ms: about 1 us longer than an interleaved one */
} hd_sample;

/* The error of the model's ranking: the root of the mean, over products, of the variance of
 * log(predicted / measured) plus a tenth of its squared mean. Fast schedules have the largest
 * weights: a schedule that takes twice the best time has 1/16. For quick measurements the mean is
 * ignored, and the variance has a small weight. */
double hd_calibration_error(const hd_sample *samples, size_t n, const hd_device_model *ceilings);
/* Minimises that error by coordinate descent: changes one ceiling at a time, within its range, in
 * decreasing steps, until no change reduces the error. Deterministic. */
void hd_calibrate(const hd_sample *samples, size_t n, hd_device_model *ceilings);

#endif
