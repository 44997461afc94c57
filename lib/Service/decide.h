/* Service/decide.h: chooses a contender of a race (docs/service.md, "How a choice is made").
 * Deterministic: the result depends only on the race, the incumbent and the rejections. */
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
  int first; /* index of the default */
} hd_race_figures;

/* Reads a race that was validated. */
void hd_race_read(const json_t *race, hd_race_figures *figures);
/* The index of the chosen contender. incumbent: the schedule of the current choice; NULL: none. */
int hd_race_decide(const hd_race_figures *figures, const char *incumbent,
                   const char *const *rejected, int n_rejected);

/* A lease's canaries, which show the state of the GPU. us: begin read, begin kernel, end read, end
 * kernel; NaN: absent. */
typedef struct hd_canary_figures {
  double us[4];
} hd_canary_figures;
/* Whether a race of this lease is suspect; the reason is written to `why`. history: earlier
 * canaries of the GPU. */
bool hd_race_is_suspect(const hd_canary_figures *now, const hd_canary_figures *history,
                        int n_history, long long throttle, char *why, size_t n);

#endif
