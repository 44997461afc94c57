/* Tune/calibrate.h: a device's ceilings from measurements of schedules that they bind. */
#ifndef HD_CALIBRATE_H
#define HD_CALIBRATE_H

#include "Schedule/cost.h"

/* One measured schedule. Samples of one product follow each other. */
typedef struct hd_sample {
  const hd_problem *problem; /* borrowed; sizes fixed */
  hd_schedule schedule;
  double seconds;
} hd_sample;

/* The root of the mean square of log(predicted / measured), the fast schedules of each product
 * counting most: a schedule that takes twice the best's time counts an eighth. */
double hd_calibration_error(const hd_sample *samples, size_t n, const hd_device_model *ceilings);
/* Moves each ceiling, within its range, to where that error is least: one after the other, in
 * steps that get smaller, until none gains. Deterministic. */
void hd_calibrate(const hd_sample *samples, size_t n, hd_device_model *ceilings);

#endif
