/* Service/decide.h: which contender of a race is chosen (docs/service.md, "How a choice is made").
 * Pure: the same race, incumbent and rejections give the same answer. */
#ifndef HD_DECIDE_H
#define HD_DECIDE_H

#include <jansson.h>
#include <stdbool.h>

enum { HD_MAX_CONTENDERS = 32, HD_MAX_ROUNDS = 200 };

typedef struct hd_contender_figures {
  const char *schedule, *role, *cubin; /* borrowed from the race; cubin may be NULL */
  double round[HD_MAX_ROUNDS];
  int n_rounds;
  double median;
} hd_contender_figures;

typedef struct hd_race_figures {
  hd_contender_figures list[HD_MAX_CONTENDERS];
  int n;
  int first; /* the default */
} hd_race_figures;

/* Reads a validated race. */
void hd_race_read(const json_t *race, hd_race_figures *figures);
/* The index of the contender to be chosen. incumbent: the current choice's schedule, NULL: none. */
int hd_race_decide(const hd_race_figures *figures, const char *incumbent,
                   const char *const *rejected, int n_rejected);
/* The probability that x wins as many rounds against y, or more, by chance; ties left out. */
double hd_sign_test(const double *x, const double *y, int n);
/* The median of n values, which it sorts; NaN of none. */
double hd_median(double *values, int n);

/* What one lease's canaries say of a GPU. us: begin read, begin kernel, end read, end kernel; NaN:
 * absent. */
typedef struct hd_canary_figures {
  double us[4];
} hd_canary_figures;
/* Why a race of that lease is suspect, written to `why`; false: it is not. history: the GPU's
 * earlier ones. */
bool hd_race_is_suspect(const hd_canary_figures *now, const hd_canary_figures *history,
                        int n_history, long long throttle, char *why, size_t n);

#endif
