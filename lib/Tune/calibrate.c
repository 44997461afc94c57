#include "Tune/calibrate.h"

#include <math.h>

/* Bounds log(predicted / measured), so that one outlier cannot dominate the fit. */
static const double MAX_LOG_ERROR = 0.5;
static const double LEVEL = 0.1, QUICK = 0.15;
static const double LOOK_S = 1.2e-6; /* overhead of a quick measurement, fitted for N <= 64 */

static double weight(double best, double seconds) { return pow(best / seconds, 4); }

static size_t count_own(const hd_sample *s, size_t n) {
  size_t i = 1;
  while (i < n && s[i].problem == s[0].problem)
    i++;
  return i;
}

static double off_of(const hd_sample *s, const hd_device_model *c) {
  static const int64_t fixed[3] = {0};
  double seconds = hd_schedule_cost(s->problem, &s->schedule, fixed, c).seconds;
  seconds += s->quick ? LOOK_S : 0;
  return fmax(-MAX_LOG_ERROR, fmin(MAX_LOG_ERROR, log(seconds / s->seconds)));
}

/* Variance over the n_own samples of a product, plus the weighted square of their mean. */
static double product_error(const hd_sample *s, size_t n_own, const hd_device_model *c) {
  double best = s[0].seconds, sum = 0, squares = 0, weights = 0;
  for (size_t i = 1; i < n_own; i++)
    best = fmin(best, s[i].seconds);
  for (size_t i = 0; i < n_own; i++) {
    double w = weight(best, s[i].seconds), off = off_of(&s[i], c);
    sum += w * off;
    squares += w * off * off;
    weights += w;
  }
  double mean = sum / weights;
  return squares / weights - mean * mean + (s->quick ? 0 : LEVEL * mean * mean);
}

double hd_calibration_error(const hd_sample *samples, size_t n, const hd_device_model *ceilings) {
  double sum = 0, weights = 0;
  for (size_t i = 0, n_own; i < n; i += n_own) {
    double w = samples[i].quick ? QUICK : 1;
    n_own = count_own(samples + i, n - i);
    sum += w * product_error(samples + i, n_own, ceilings);
    weights += w;
  }
  return weights > 0 ? sqrt(sum / weights) : 0;
}

/* Tries a larger and a smaller value of one ceiling; true if one of them reduced the error. */
static bool improve(const hd_sample *samples, size_t n, hd_device_model *c, size_t index,
                    double step, double *error) {
  double *value = hd_device_rate_at(c, index), was = *value, least, most;
  hd_device_rate_range(index, &least, &most);
  const double tries[] = {fmin(was * (1 + step), most), fmax(was / (1 + step), least)};
  for (int i = 0; i < 2; i++) {
    *value = tries[i];
    double now = hd_calibration_error(samples, n, c);
    if (now < *error * (1 - 1e-6)) {
      *error = now;
      return true;
    }
  }
  *value = was;
  return false;
}

void hd_calibrate(const hd_sample *samples, size_t n, hd_device_model *ceilings) {
  enum { MAX_SWEEPS = 30 };
  static const double steps[] = {0.3, 0.1, 0.03, 0.01};
  double error = hd_calibration_error(samples, n, ceilings);
  for (size_t s = 0; s < HD_COUNT(steps); s++) {
    bool gained = true;
    for (int sweep = 0; gained && sweep < MAX_SWEEPS; sweep++) {
      gained = false;
      for (size_t i = 0; hd_device_rate_name(i); i++)
        gained |= hd_device_rate_is_fitted(i) && improve(samples, n, ceilings, i, steps[s], &error);
    }
  }
}
