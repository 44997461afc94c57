/* Tune/tune_session.h: one product in work: what the search (tune.c) and the races of its fastest
 * (tune_final.c) share. */
#ifndef HD_TUNE_SESSION_H
#define HD_TUNE_SESSION_H

#include "Choice/spilled.h"
#include "Schedule/schedule.h"
#include "Tune/workers.h"
#include "Tune/measure.h"
#include "Tune/search.h"
#include "Tune/tune.h"

/* Beside the finalists asked for: the default and the incumbent. */
enum { HD_MOST_FINALISTS = HD_TUNE_MOST_FINALISTS + 2 };

typedef enum hd_entry_state {
  HD_STATE_WAITING,
  HD_STATE_COMPILING,
  HD_STATE_READY,
  HD_STATE_MEASURING,
  HD_STATE_DONE
} hd_entry_state;

typedef struct hd_entry {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule schedule;
  hd_entry_state state;
  char cubin[33]; /* of a measurement; "": none */
  double error;
} hd_entry;

/* All products. */
typedef struct hd_session {
  const hd_tune_options *o;
  const hd_product *list;
  int32_t n;
  bool recording; /* hd_records_begin was called */
  double begun_at, until, deadline;
  int64_t n_fresh; /* measured by this session */
} hd_session;

typedef enum hd_phase {
  HD_PHASE_SEARCH,
  HD_PHASE_TURNS, /* the fastest race interleaved */
  HD_PHASE_ALONE, /* or each alone and sustained, where that is the figure that counts */
  HD_PHASE_OVER
} hd_phase;

/* One that has come into the race. */
typedef struct hd_finalist {
  size_t entry;
  hd_record record; /* what is known of it: sustained is the mean of its turns */
  int32_t n_turns;  /* alone */
  double rounds[HD_MOST_ROUNDS]; /* of the race; alone: of its parts, the mean of its turns */
  int32_t n_rounds;
  bool out;         /* it failed, or has no second turn */
} hd_finalist;

typedef struct hd_product_session {
  const hd_tune_options *o;
  hd_session *session;
  hd_workers *workers;
  const hd_product *product;
  char name[HD_PRODUCT_TEXT];
  hd_front front; /* owned */
  hd_entry *entries; /* owned; entry 0 is the default */
  size_t usual;      /* what a user gets: the default, or the next best where that is refused;
                        SIZE_MAX: none of the entries */
  hd_spilled spilled; /* of those that were */
  hd_search search;
  size_t n, incumbent; /* SIZE_MAX: there is none */
  int64_t n_wanted, n_measured, n_refused, n_lost, n_in_flight;
  int32_t n_faults; /* of bringing the measurer up, in a row */
  int32_t n_canaries;
  hd_phase phase;
  hd_finalist finalist[HD_MOST_FINALISTS];
  int32_t n_finalists, n_replayed; /* compare: the first n_replayed are the search's own */
  int32_t round, turn;             /* alone: whose turn it is */
  int64_t n_searched;
  bool chosen;
  hd_tune_event event;
} hd_product_session;

/* Is the product's last race alone and sustained? */
bool hd_product_session_is_alone(const hd_tune_options *o, const hd_product *product);
bool hd_product_session_time_is_up(const hd_product_session *session);
void hd_product_session_tell(hd_product_session *session, const hd_record *record,
                             const hd_choice *choice);
/* Seconds by the model; 0 where it has no estimate, and only said what to measure next. */
double hd_product_session_predicted(const hd_product_session *session, size_t entry);
/* What the measurer's event says of an entry; strings are borrowed. A measurer that is not to be
 * trusted any more is ended. */
hd_record hd_product_session_heard(hd_product_session *session, size_t entry,
                                   const hd_worker_event *event);

/* The figures that follow a word of an answer, at most `most`; how many there are. */
int32_t hd_answer_figures(const char *line, const char *word, double *out, int32_t most);
/* The text up to the next space after " WORD="; "" where there is none. */
void hd_answer_word(const char *line, const char *word, char *out, size_t cap);

/* Picks the finalists and turns to the race that suits the product; false when there are none. */
bool hd_final_begin(hd_product_session *session);
/* Asks the idle measurer for the next of the race. */
void hd_final_ask(hd_product_session *session);
heddle_status hd_final_heard(heddle_context *ctx, hd_product_session *session,
                             const hd_worker_event *event);
/* A race alone and sustained: of so many, and the seconds of one: load, check, settle, measure. */
enum { HD_ALONE_FINALISTS = 8 };
static const double HD_ALONE_S = 1;

#endif
