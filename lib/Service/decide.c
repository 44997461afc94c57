#include "Service/decide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/statistics.h"

static const double CHANCE = 0.05; /* p of the sign test up to which the current choice is
                                      replaced */
static const double CANARY = 0.02; /* maximum relative deviation of a canary */
enum { MIN_HISTORY = 3 };          /* leases with canaries that are needed for a GPU's own median */
/* NVML's throttle reasons: software and hardware thermal slowdown, hardware slowdown. */
enum { THERMAL = 0x20 | 0x40 | 0x8 };

void hd_race_read(const json_t *race, hd_race_figures *f) {
  const json_t *list = json_object_get(race, "contenders");
  f->n = (int)json_array_size(list);
  f->first = 0;
  for (int i = 0; i < f->n; i++) {
    const json_t *c = json_array_get(list, (size_t)i);
    const json_t *rounds = json_object_get(c, "rounds_us");
    hd_contender_figures *out = &f->list[i];
    double sorted[HD_MAX_ROUNDS];
    out->schedule = json_string_value(json_object_get(c, "schedule"));
    out->role = json_string_value(json_object_get(c, "role"));
    out->cubin = json_string_value(json_object_get(c, "cubin"));
    out->n_rounds = (int)json_array_size(rounds);
    for (int k = 0; k < out->n_rounds; k++)
      sorted[k] = out->round[k] = json_number_value(json_array_get(rounds, (size_t)k));
    out->median = hd_median(sorted, out->n_rounds);
    if (strcmp(out->role, "default") == 0)
      f->first = i;
  }
}

static bool is_rejected(const char *schedule, const char *const *rejected, int n) {
  for (int i = 0; i < n; i++)
    if (strcmp(schedule, rejected[i]) == 0)
      return true;
  return false;
}

int hd_race_decide(const hd_race_figures *f, const char *incumbent, const char *const *rejected,
                   int n_rejected) {
  const hd_contender_figures *list = f->list;
  int base = f->first, best = f->first;
  for (int i = 0; i < f->n; i++) {
    if (i != f->first && is_rejected(list[i].schedule, rejected, n_rejected))
      continue;
    if (list[i].median < list[best].median)
      best = i;
    if (incumbent && strcmp(list[i].schedule, incumbent) == 0 &&
        list[i].median <= list[f->first].median)
      base = i;
  }
  if (best == base || !(list[best].median < list[base].median))
    return base;
  return hd_sign_test(list[best].round, list[base].round, list[best].n_rounds) <= CHANCE ? best
                                                                                         : base;
}

/* ---- suspect races ---- */

bool hd_race_is_suspect(const hd_canary_figures *now, const hd_canary_figures *history,
                        int n_history, long long throttle, char *why, size_t n) {
  static const char *const names[] = {"read stream at the begin", "fixed kernel at the begin",
                                      "read stream at the end", "fixed kernel at the end"};
  double values[400];
  if (throttle & THERMAL) {
    snprintf(why, n, "a thermal throttle: NVML's reasons are 0x%llx", throttle);
    return true;
  }
  for (int i = 0; i < 4; i++) {
    int n_values = 0;
    for (int k = 0; k < n_history && n_values < 399; k++)
      for (int e = i % 2; e < 4; e += 2) /* begin and end have the same load */
        if (!isnan(history[k].us[e]) && n_values < 399)
          values[n_values++] = history[k].us[e];
    double usual = n_history >= MIN_HISTORY ? hd_median(values, n_values)
                                            : now->us[i ^ 2]; /* compares begin with end */
    if (now->us[i] > 0 && usual > 0 && fabs(now->us[i] / usual - 1) > CANARY) {
      snprintf(why, n, "the %s took %.4g us, the GPU's %s is %.4g us", names[i], now->us[i],
               n_history >= MIN_HISTORY ? "own median" : "other one", usual);
      return true;
    }
  }
  return false;
}
