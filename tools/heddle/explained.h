/* heddle/explained.h: what there is to tell of how a problem will be computed, gathered once; told
 * as text (explain_text.c), as JSON (explain_json.c) and as a page (explain_html.c). */
#ifndef HD_EXPLAINED_H
#define HD_EXPLAINED_H

#include "IR/shared_layout.h"
#include "Passes/passes.h"
#include "Schedule/cost.h"
#include "Support/strbuf.h"
#include "compile_input.h"

/* A sentence under a label; lines of it end with \n but for the last. */
typedef enum explain_part {
  EXPLAIN_PROBLEM,
  EXPLAIN_SCHEDULE,
  EXPLAIN_TIME,
  EXPLAIN_LAUNCH,   /* one "variant" an entry point */
  EXPLAIN_ARGUMENT, /* the arguments, the prototype, packed A */
  EXPLAIN_N_PARTS
} explain_part;

typedef struct explain_fact {
  explain_part part;
  const char *label;
  hd_strbuf text;
} explain_fact;

typedef struct explain_bucket {
  int64_t from, to; /* to 0: the last */
  int64_t at;       /* the size that `seconds` are of: its end, or where the last one begins */
  double seconds;   /* 0: the model has no estimate for the target */
  const hd_bucket *bucket;
} explain_bucket;

/* Words over the problem's own: whether that is legal. */
typedef struct explain_alternative {
  const char *words;
  bool legal;
  hd_strbuf refusal; /* of one that is not: "refused[rule]: why" */
  hd_cost cost;      /* of a legal one, where there are estimates */
} explain_alternative;

/* The legal schedule of a tile that is predicted fastest. */
typedef struct explain_tile {
  hd_schedule schedule;
  hd_cost cost;
} explain_tile;
enum { EXPLAIN_MOST_TILES = 8, EXPLAIN_MOST_ALTERNATIVES = 14 };

/* Zero-initialise; explained_free. What is not said to be owned is borrowed. */
typedef struct explained {
  compile_input *input;
  const hd_problem *problem;
  const hd_schedule *schedule;
  hd_schedule_words own;   /* of the problem's text, before all keys took over */
  const int64_t *size_mnk; /* of sizes known at launch, 0: as hd_product_of has it */
  const hd_device_model *ceilings;
  explain_fact *fact; /* owned */
  int32_t n_facts, cap_facts;
  explain_bucket bucket[HD_MOST_BUCKETS];
  int32_t n_buckets;
  /* The model's, where it has an estimate; of the sizes mnk. */
  bool is_estimate;
  int64_t mnk[3];
  hd_cost cost;
  hd_resource by_time[HD_N_RESOURCES];   /* the largest term first */
  double dense_seconds, sparse_seconds;  /* what the two are compared by: measured, if it is */
  explain_tile tile[EXPLAIN_MOST_TILES]; /* fastest first */
  int32_t n_tiles;
  size_t n_legal;
  explain_alternative alternative[EXPLAIN_MOST_ALTERNATIVES];
  int32_t n_alternatives;
  trial_kernel kernel; /* owned */
  heddle_status failed; /* to make the kernel of what was chosen; OK: not so, or not yet tried */
  int32_t variant;     /* of its manifest: the first of the schedule's */
  size_t packed_bytes; /* of A; 0: its size is known at launch */
  hd_module *role;     /* owned: the schedule's kernels at role level */
  hd_arena arena;
  hd_shared_layout shared; /* of the first of them */
} explained;

/* The bucket that explain tells of in detail: that of the size asked for, else that of the largest
 * sizes; NULL: there are none. */
const hd_bucket *explain_bucket_of(const compile_input *in, const int64_t size_mnk[3]);
/* Gathers what follows from problem and schedule; then compiles, by the pass context that they were
 * read with, for what follows from the kernel. */
void explain_gather(explained *e);
heddle_status explain_gather_kernel(const hd_pass_context *pass, explained *e);
void explained_free(explained *e);

/* ---- parts of it (explain_facts.c, explain_cost.c, explain_others.c) ---- */

/* A new fact's text, borrowed until the next one. */
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
/* What a table needs of a schedule's words: "128x256  stages=5  cluster=2". */
void explain_short(const hd_schedule *schedule, hd_strbuf *out);
/* The largest term and those down to a twentieth of it: how many of by_time. */
int32_t explain_n_terms(const explained *e);

/* ---- telling ---- */

void explain_print_text(const explained *e);
/* Prints it, and a newline. HEDDLE_NO_MEMORY when it cannot be made. */
heddle_status explain_print_json(const explained *e);
/* Text that only the page has is made in its arena. */
heddle_status explain_write_html(heddle_context *ctx, explained *e, const char *path);

#endif
