/* heddle/explained.h: everything that explain shows about a problem, gathered once; printed as text
 * (explain_text.c), JSON (explain_json.c) and HTML (explain_html.c). */
#ifndef HD_EXPLAINED_H
#define HD_EXPLAINED_H

#include "IR/shared_layout.h"
#include "Passes/passes.h"
#include "Schedule/cost.h"
#include "Support/strbuf.h"
#include "compile_input.h"

/* A sentence with a label. Lines are separated by \n. */
typedef enum explain_part {
  EXPLAIN_PROBLEM,
  EXPLAIN_SCHEDULE,
  EXPLAIN_TIME,
  EXPLAIN_LAUNCH,   /* one "variant" per entry point */
  EXPLAIN_ARGUMENT, /* the arguments, the prototype, packed A */
  EXPLAIN_N_PARTS
} explain_part;

typedef struct explain_fact {
  explain_part part;
  const char *label;
  hd_strbuf text;
} explain_fact;

typedef struct explain_bucket {
  int64_t from, to; /* to 0: no upper limit */
  int64_t at;       /* size of `seconds`: the upper limit, or the lower one of the last bucket */
  double seconds;   /* 0: the model has no rates for the target */
  const hd_bucket *bucket;
} explain_bucket;

/* Words added to the problem's own, and whether the result is legal. */
typedef struct explain_alternative {
  const char *words;
  bool legal;
  hd_strbuf refusal; /* if not legal: "refused[rule]: why" */
  hd_cost cost;      /* if legal, and the model has rates */
} explain_alternative;

/* The legal schedule with the lowest predicted time among those of one tile. */
typedef struct explain_tile {
  hd_schedule schedule;
  hd_cost cost;
} explain_tile;
enum { EXPLAIN_MOST_TILES = 8, EXPLAIN_MOST_ALTERNATIVES = 14 };

/* Zero-initialise; release with explained_free. Fields are borrowed unless they say otherwise. */
typedef struct explained {
  compile_input *input;
  const hd_problem *problem;
  const hd_schedule *schedule;
  hd_schedule_words own;   /* of the problem's text, before all keys were filled in */
  const int64_t *size_mnk; /* sizes known at launch, 0: as in hd_product_of */
  const hd_device_model *ceilings;
  explain_fact *fact; /* owned */
  int32_t n_facts, cap_facts;
  explain_bucket bucket[HD_MOST_BUCKETS];
  int32_t n_buckets;
  /* Predicted by the model if it has rates, for the sizes mnk. */
  bool is_estimate;
  int64_t mnk[3];
  hd_cost cost;
  hd_resource by_time[HD_N_RESOURCES];   /* largest term first */
  double dense_seconds, sparse_seconds;  /* times that are compared: measured ones if available */
  explain_tile tile[EXPLAIN_MOST_TILES]; /* fastest first */
  int32_t n_tiles;
  size_t n_legal;
  explain_alternative alternative[EXPLAIN_MOST_ALTERNATIVES];
  int32_t n_alternatives;
  trial_kernel kernel; /* owned */
  heddle_status failed; /* error of compiling the chosen schedule; OK: none, or not compiled yet */
  int32_t variant;     /* index in its manifest: the schedule's first */
  size_t packed_bytes; /* of A; 0: its size is known at launch */
  hd_module *role;     /* owned: the schedule's kernels at role level */
  hd_arena arena;
  hd_shared_layout shared; /* of the first kernel in role */
} explained;

/* The bucket that explain describes in detail: that of the given size, else that of the largest
 * sizes; NULL: no buckets. */
const hd_bucket *explain_bucket_of(const compile_input *in, const int64_t size_mnk[3]);
/* Gathers what follows from problem and schedule. The second compiles, with the pass context with
 * which they were read, and gathers what follows from the kernel. */
void explain_gather(explained *e);
heddle_status explain_gather_kernel(const hd_pass_context *pass, explained *e);
void explained_free(explained *e);

/* ---- parts of it (explain_facts.c, explain_cost.c, explain_others.c) ---- */

/* Adds a fact and returns its text, borrowed until the next call. */
hd_strbuf *explain_add(explained *e, explain_part part, const char *label);
void explain_problem_facts(explained *e);
void explain_schedule_facts(explained *e);
void explain_kernel_facts(explained *e);
void explain_cost(explained *e);
void explain_buckets(explained *e);
void explain_alternatives(explained *e);
extern const char EXPLAIN_PREDICTED[]; /* the label before the model's terms */
/* "b", "full barrier". */
const char *explain_item_name(const hd_shared_item *item);
/* The important keys of a schedule, for tables: "128x256 stages=5 cluster=2". */
void explain_short(const hd_schedule *schedule, hd_strbuf *out);
/* Number of leading terms of by_time that are at least a twentieth of the largest. */
int32_t explain_n_terms(const explained *e);

/* ---- output ---- */

void explain_print_text(const explained *e);
/* Prints the JSON and a newline. HEDDLE_NO_MEMORY if it cannot be built. */
heddle_status explain_print_json(const explained *e);
/* Texts that only the page uses are allocated in e's arena. */
heddle_status explain_write_html(heddle_context *ctx, explained *e, const char *path);

#endif
