/* suite_case.h: one case of the suite: a problem, its sizes and its schedule, as KEY=VALUE
 * words. */
#ifndef SUITE_CASE_H
#define SUITE_CASE_H

#include "Support/strbuf.h"
#include "trial/trial.h"

typedef enum case_key {
#define CASE_KEY(name, otherwise, about) CASE_##name,
#include "suite_case.def"
#undef CASE_KEY
  N_CASE_KEYS
} case_key;

typedef struct suite_case {
  const char *value[N_CASE_KEYS]; /* in the list's arena */
} suite_case;

typedef struct suite_list {
  hd_arena arena;
  suite_case *cases; /* owned */
  size_t n, cap;
} suite_list;

/* Adds the cases of a text: each line is a product of value lists, # starts a comment. Diagnostics
 * name the line. */
heddle_status suite_list_read(heddle_context *ctx, const char *file, const char *text,
                              suite_list *list);
void suite_list_free(suite_list *list);

int64_t suite_case_int(const suite_case *c, case_key key);
bool suite_case_is(const suite_case *c, case_key key, const char *value);

/* The words that differ from the defaults, as --case accepts them. */
void suite_case_print(const suite_case *c, hd_strbuf *out);
/* Smaller sizes with the same tails, for the simulator. */
void suite_case_shrink(suite_list *list, suite_case *c);
/* The text of the problem, its schedule (KEY=VALUE separated by blanks), and the launch request. */
void suite_case_problem(const suite_case *c, hd_strbuf *text);
void suite_case_schedule(const suite_case *c, hd_strbuf *text);
void suite_case_request(const suite_case *c, trial_request *request);

#endif
