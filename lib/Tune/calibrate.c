#include "Tune/calibrate.h"

#include <math.h>

/* One prediction that is wholly off shall not decide. */
static const double MOST_ERROR = 0.25;

static double weight(double best, double seconds) { return pow(best / seconds, 3); }

static double best_of(const hd_sample *s, size_t n) {
  double best = s[0].seconds;
  for (size_t i = 1; i < n && s[i].problem == s[0].problem; i++)
    best = fmin(best, s[i].seconds);
  return best;
}

/* The weighted mean over the product that begins at s; *n_own of the n samples are its own. */
static double product_error(const hd_sample *s, size_t n, const hd_device_model *c, size_t *n_own) {
  static const int64_t fixed[3] = {0};
  double best = best_of(s, n), sum = 0, weights = 0;
  size_t i = 0;
  for (; i < n && s[i].problem == s[0].problem; i++) {
    double w = weight(best, s[i].seconds);
    hd_cost cost = hd_schedule_cost(s[i].problem, &s[i].schedule, fixed, c);
    double off = log(cost.seconds / s[i].seconds);
    sum += w * fmin(off * off, MOST_ERROR);
    weights += w;
  }
  *n_own = i;
  return sum / weights;
}

double hd_calibration_error(const hd_sample *samples, size_t n, const hd_device_model *ceilings) {
  double sum = 0;
  size_t n_products = 0, n_own;
  for (size_t i = 0; i < n; i += n_own, n_products++)
    sum += product_error(samples + i, n - i, ceilings, &n_own);
  return n_products ? sqrt(sum / (double)n_products) : 0;
}

/* Tries one ceiling at two sides; true when one of them gained. */
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
  enum { MOST_SWEEPS = 30 };
  static const double steps[] = {0.3, 0.1, 0.03, 0.01};
  double error = hd_calibration_error(samples, n, ceilings);
  for (size_t s = 0; s < HD_COUNT(steps); s++) {
    bool gained = true;
    for (int sweep = 0; gained && sweep < MOST_SWEEPS; sweep++) {
      gained = false;
      for (size_t i = 0; hd_device_rate_name(i); i++)
        gained |= improve(samples, n, ceilings, i, steps[s], &error);
    }
  }
}
