/* heddle-mutate/mutate.h: kernels, and what can be broken in them. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include "Check/check.h"
#include "Kernel/manifest.h"
#include "trial/trial_parts.h"

/* --- forms (mutate_form.c) ------------------------------------------------------------------ */

/* One kernel of an example, small: the shipped schedule but for its tile and stages, sizes that
 * fill the ring more than once. */
typedef struct mutate_form {
  char name[96]; /* "linear_bf16/tma" */
  const char *target;
  hd_arena arena;
  hd_module *module;    /* role level, sync placed, this kernel only; owned */
  hd_manifest manifest; /* with this variant only */
  trial_request request;
  uint32_t resident; /* CTAs at once in a persistent grid */
  const char *user_ir; /* borrowed */
  size_t user_ir_bytes;
  char *ptx; /* owned */
} mutate_form;

typedef heddle_status mutate_visit(void *user, mutate_form *form);
/* Calls visit for every kernel that the text makes. schedule NULL: a small tile of the default
 * one. */
heddle_status mutate_each_form(heddle_context *ctx, const char *path, const char *schedule,
                               mutate_visit *visit, void *user);
/* A problem drawn at random (mutate_random.c), its schedule, and a launch of it. */
typedef struct mutate_problem {
  hd_strbuf text;
  char schedule[200]; /* words */
  trial_request request;
  uint32_t pick; /* of its kernels: number pick modulo how many there are */
} mutate_problem;
/* Draws by seed; what no rule of the compiler forbids is drawn often, but some draws are refused. */
void mutate_draw(uint64_t *seed, mutate_problem *problem);
/* A number below n. Each call steps the seed. */
uint32_t mutate_below(uint64_t *seed, uint32_t n);
/* Calls visit for the kernel picked. A draw that the compiler refuses is HEDDLE_INVALID or
 * HEDDLE_UNSUPPORTED with the rule in ctx. */
heddle_status mutate_drawn_kernel(heddle_context *ctx, const mutate_problem *problem,
                                  mutate_visit *visit, void *user);

/* PTX of another module in the form's place (owned). */
heddle_status mutate_emit(heddle_context *ctx, const mutate_form *form, const hd_module *module,
                          char **ptx);

/* --- mutants (mutate_role.c, mutate_ptx.c) -------------------------------------------------- */

typedef struct mutate_operator {
  const char *name, *about;
  bool (*applies)(const hd_op *op);
  void (*apply)(hd_module *module, hd_op *op);
} mutate_operator;
const mutate_operator *mutate_role_operators(size_t *n);
/* A copy of the module in which the operator acted on the i-th op (in program order); NULL where
 * it does not apply or leaves no program that verifies. */
hd_module *mutate_role(const hd_module *module, const mutate_operator *op, int32_t i);
int32_t mutate_count_ops(const hd_module *module);
/* Where it acts, for a person: "barrier.wait (12:3)". */
void mutate_describe(const hd_module *module, int32_t i, hd_strbuf *out);

typedef struct mutate_line_operator {
  const char *name, *about;
  /* Writes another line for this one; false where it does not apply. */
  bool (*apply)(const char *line, size_t n, hd_strbuf *out);
} mutate_line_operator;
const mutate_line_operator *mutate_line_operators(size_t *n);
/* The text with its i-th line changed (owned); NULL where the operator does not apply. */
char *mutate_line(const char *ptx, const mutate_line_operator *op, int32_t i);
int32_t mutate_count_lines(const char *ptx);

/* --- threads (mutate_pool.c) ---------------------------------------------------------------- */

/* Calls work for every i below n, on that many threads. */
void mutate_pool(int n_threads, size_t n, void (*work)(void *user, size_t i), void *user);

/* --- judges (mutate_judge.c) ---------------------------------------------------------------- */

typedef enum mutate_verdict { MUTATE_MISSED, MUTATE_CAUGHT, MUTATE_UNDECIDED } mutate_verdict;

/* What the checker says, and of a finding the launch that shows it. */
mutate_verdict mutate_check(const hd_module *module, hd_strbuf *why, hd_check_launch *launch);

/* Late, early and random runs until one shows something: a finding, or a wrong number. */
enum { MUTATE_RUNS = 4, MUTATE_MORE_RUNS = 512 };
typedef struct mutate_runs {
  mutate_verdict verdict;
  uint64_t order[MUTATE_RUNS]; /* Sim's hash of the order of conflicting pairs */
  uint64_t n_instructions;
  char why[400];
} mutate_runs;
void mutate_simulate(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                     mutate_runs *runs);
/* For a mutant that only the checker has caught: the launch that it names; then more random and late
 * schedules of it. *sound: of the form itself; replaced when another launch was run. */
void mutate_simulate_launch(const mutate_form *form, const char *ptx,
                            const hd_check_launch *launch, mutate_runs *sound, mutate_runs *runs);
/* ptxas repairs or serialises wgmma (C75xx), or refuses the text. */
mutate_verdict mutate_assemble(const char *ptxas, const char *ptx, const char *target);

/* --- agreement of the two (mutate_agree.c) ---------------------------------------------------- */

typedef struct mutate_agree_options {
  size_t n;
  uint64_t seed; /* of the first kernel; the next one has the next */
  int n_threads;
  const char *blind; /* "check" or "sim": says yes to all; or NULL */
  bool verbose;
} mutate_agree_options;
/* Draws n kernels, breaks some, asks both; prints where they differ and the counts. The exit code. */
int mutate_agree(const mutate_agree_options *options);

#endif
