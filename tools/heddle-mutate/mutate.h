/* heddle-mutate/mutate.h: kernels, and what can be broken in them. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include "Check/check.h"
#include "Kernel/manifest.h"
#include "Passes/schedule.h"
#include "trial/trial_parts.h"

/* --- forms (mutate_form.c) ------------------------------------------------------------------ */

/* One kernel of an example, small: the shipped schedule but for its tile and stages, sizes that
 * fill the ring more than once. */
typedef struct mutate_form {
  char name[96];    /* "linear_bf16.heddle/tma" */
  const char *path; /* of the example; NULL: drawn */
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
  char schedule[HD_SCHEDULE_TEXT]; /* words */
  trial_request request;
  uint32_t pick; /* of its kernels: number pick modulo how many there are */
} mutate_problem;
/* Draws by seed; what no rule of the compiler forbids is drawn often, but some draws are
 * refused. */
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
/* For a mutant that only the checker has caught: the launch that it names; then more random and
 * late schedules of it. *sound: of the form itself; replaced when another launch was run. */
void mutate_simulate_launch(const mutate_form *form, const char *ptx,
                            const hd_check_launch *launch, mutate_runs *sound, mutate_runs *runs);
/* ptxas repairs or serialises wgmma (C75xx), or refuses the text. */
mutate_verdict mutate_assemble(const char *ptxas, const char *ptx, const char *target);

/* --- mutants of a form (mutate_list.c)
 * --------------------------------------------------------- */

typedef struct mutate_options {
  const char *schedule, *operator_name, *form_name; /* NULL: the small one; all; all */
  const char *ptxas;                                /* NULL: not asked */
  const char *blind; /* "check" or "sim": says yes to all, to test the count; or NULL */
  const char *worker, *sanitizer, *launch; /* mutate_gpu.c: programs; the worker's own list */
  bool no_sim, no_ptx, gpu, verbose;
  int n_threads;
  uint64_t seed;
  size_t sample;        /* mutants of an operator and a form that are launched; 0: all */
  double limit_seconds; /* of a launch */
  double gpu_seconds;   /* of all; 0: as long as it takes */
} mutate_options;

typedef struct mutate_mutant {
  const char *op; /* the operator's name */
  int32_t site;
  char where[128];   /* the site, for a person */
  hd_module *module; /* owned; NULL: made in the PTX */
  char *ptx;         /* owned; NULL: emission refused it */
  size_t like;       /* the first mutant of the list with this PTX */
  bool made, equivalent;
  mutate_verdict check, ptxas;
  char check_why[300];
  mutate_runs runs;
} mutate_mutant;

/* Makes the mutant of m->op and m->site; false where the operator does not apply. */
bool mutate_make(const mutate_form *form, mutate_mutant *m);
void mutate_unmake(mutate_mutant *m);

typedef struct mutate_list {
  mutate_mutant *mutant;
  size_t n, cap;
} mutate_list;
/* Makes all mutants of the form and asks check, sim and ptxas. sound: the form's own runs. */
void mutate_list_judge(const mutate_options *options, const mutate_form *form,
                       const mutate_runs *sound, mutate_list *list);
void mutate_list_free(mutate_list *list);

/* --- the device (mutate_gpu.c, mutate_worker.c)
 * -------------------------------------------------- */

/* What a launch on the device showed. Past SAME it is noticed. */
typedef enum mutate_gpu {
  MUTATE_GPU_NOT_ASKED,
  MUTATE_GPU_SAME,
  MUTATE_GPU_WRONG,  /* D differs from what the form makes */
  MUTATE_GPU_HANG,
  MUTATE_GPU_ERROR,  /* the driver reports one, or the worker died */
  MUTATE_GPU_REFUSED, /* by the driver's compiler: C75xx, spills */
  MUTATE_N_GPU
} mutate_gpu;

enum { MUTATE_N_TOOLS = 3 }; /* of compute-sanitizer */

typedef struct mutate_shot { /* a mutant to be launched */
  const char *op;
  int32_t site;
  mutate_gpu gpu, tool[MUTATE_N_TOOLS]; /* of a tool: WRONG when it found something */
} mutate_shot;

typedef struct mutate_batch { /* those of a form */
  char form[96], path[512];
  mutate_shot *shot; /* owned */
  size_t n;
  bool launched; /* false: the kernel itself does not run on this device */
  mutate_gpu sound[MUTATE_N_TOOLS]; /* what the tools say of the kernel itself */
} mutate_batch;

typedef struct mutate_device {
  mutate_batch *batch;
  size_t n, cap;
} mutate_device;

/* Chooses mutants of a form, the same number of every operator, by seed. */
void mutate_device_add(const mutate_options *options, const mutate_form *form,
                       const mutate_list *list, mutate_device *device);
/* Launches them in worker processes, then under the sanitizer's tools; says on standard error how
 * far it is. */
void mutate_device_launch(const mutate_options *options, mutate_device *device);
void mutate_device_free(mutate_device *device);
const char *mutate_gpu_name(mutate_gpu outcome);
const char *mutate_tool_name(int tool);
/* Such a process: launches options->launch, "OP:SITE,OP:SITE", and prints what happened. */
heddle_status mutate_worker(heddle_context *ctx, const mutate_options *options, mutate_form *form);

/* --- the table (mutate_table.c)
 * ----------------------------------------------------------------- */

enum { MUTATE_MAX_ROWS = 32 };
typedef struct mutate_row { /* of an operator */
  const char *name;
  int mutants, equivalent, check, check_asked, sim, ptxas;
  int gpu[MUTATE_N_GPU], tool[MUTATE_N_TOOLS], tool_asked[MUTATE_N_TOOLS];
} mutate_row;
typedef struct mutate_table {
  mutate_row row[MUTATE_MAX_ROWS];
  int n_rows, false_alarms, undecided, forms, forms_launched;
} mutate_table;
void mutate_table_add(mutate_table *table, const mutate_mutant *mutant);
void mutate_table_add_device(mutate_table *table, const mutate_device *device);
/* Prints it and the summary; the exit code. */
int mutate_table_print(const mutate_options *options, const mutate_table *table);

/* --- agreement of the two (mutate_agree.c) ---------------------------------------------------- */

typedef struct mutate_agree_options {
  size_t n;
  uint64_t seed; /* of the first kernel; the next one has the next */
  int n_threads;
  const char *blind; /* "check" or "sim": says yes to all; or NULL */
  bool verbose;
} mutate_agree_options;
/* Draws n kernels, breaks some, asks both; prints where they differ and the counts. The exit
 * code. */
int mutate_agree(const mutate_agree_options *options);

#endif
