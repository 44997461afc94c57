/* heddle-mutate/mutate.h: mutation of kernels. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include "Check/check.h"
#include "Kernel/manifest.h"
#include "Schedule/schedule.h"
#include "trial/trial_parts.h"

/* --- forms (mutate_form.c) ------------------------------------------------------------------ */

/* One small kernel of an example: the shipped schedule with a small tile and few stages, and sizes
 * that fill the ring more than once. */
typedef struct mutate_form {
  char name[96];    /* "linear_bf16.heddle/tma" */
  const char *path; /* of the example; NULL: drawn at random */
  const char *target;
  hd_arena arena;
  hd_module *module;    /* role level with synchronisation, only this kernel; owned */
  hd_manifest manifest; /* with this variant only */
  trial_request request;
  uint32_t resident; /* number of concurrent CTAs of a persistent grid */
  const char *user_ir; /* borrowed */
  size_t user_ir_bytes;
  char *ptx; /* owned */
} mutate_form;

typedef heddle_status mutate_visit(void *user, mutate_form *form);
/* Calls visit for every kernel of the text. schedule NULL: the default one with a small tile. */
heddle_status mutate_each_form(heddle_context *ctx, const char *path, const char *schedule,
                               mutate_visit *visit, void *user);
/* A random problem (mutate_random.c) with its schedule and a launch of it. */
typedef struct mutate_problem {
  hd_strbuf text;
  char schedule[HD_SCHEDULE_TEXT]; /* its keys and values */
  trial_request request;
  uint32_t pick; /* selects a kernel: pick modulo their number */
} mutate_problem;
/* Draws by seed. All choices that the compiler's rules allow are drawn; some draws are refused. */
void mutate_draw(uint64_t *seed, mutate_problem *problem);
/* A random number below n. Each call advances the seed. */
uint32_t mutate_below(uint64_t *seed, uint32_t n);
/* Calls visit for the selected kernel. If the compiler refuses the draw: HEDDLE_INVALID or
 * HEDDLE_UNSUPPORTED, with the rule in ctx. */
heddle_status mutate_drawn_kernel(heddle_context *ctx, const mutate_problem *problem,
                                  mutate_visit *visit, void *user);

/* Emits the PTX of another module for the form (owned). */
heddle_status mutate_emit(heddle_context *ctx, const mutate_form *form, const hd_module *module,
                          char **ptx);

/* --- mutants (mutate_role.c, mutate_ptx.c) -------------------------------------------------- */

typedef struct mutate_operator {
  const char *name, *about;
  bool (*applies)(const hd_op *op);
  void (*apply)(hd_module *module, hd_op *op);
} mutate_operator;
const mutate_operator *mutate_role_operators(size_t *n);
/* A copy of the module in which the operator changed the i-th op (in program order); NULL if it
 * does not apply there, or if the result does not verify. */
hd_module *mutate_role(const hd_module *module, const mutate_operator *op, int32_t i);
int32_t mutate_count_ops(const hd_module *module);
hd_op *mutate_op_at(const hd_module *module, int32_t i);
/* Describes a site: "barrier.wait (12:3)". */
void mutate_describe(const hd_module *module, int32_t i, hd_strbuf *out);

typedef struct mutate_line_operator {
  const char *name, *about;
  /* Writes the changed line; false if the operator does not apply. */
  bool (*apply)(const char *line, size_t n, hd_strbuf *out);
} mutate_line_operator;
const mutate_line_operator *mutate_line_operators(size_t *n);
/* The text with its i-th line changed (owned); NULL if the operator does not apply. */
char *mutate_line(const char *ptx, const mutate_line_operator *op, int32_t i);
int32_t mutate_count_lines(const char *ptx);

/* --- threads (mutate_pool.c) ---------------------------------------------------------------- */

/* Calls work for every i below n, on n_threads threads. */
void mutate_pool(int n_threads, size_t n, void (*work)(void *user, size_t i), void *user);

/* --- detectors (mutate_verify.c) ------------------------------------------------------------- */

typedef enum mutate_verdict {
  MUTATE_MISSED,
  MUTATE_CAUGHT,
  MUTATE_UNDECIDED,
  MUTATE_UNASKED,
  MUTATE_N_VERDICTS
} mutate_verdict;

/* The checker's verdict, its reason, and the launch that shows the finding. */
mutate_verdict mutate_check(const hd_module *module, hd_strbuf *why, hd_check_launch *launch);

/* Late, early and random runs until one has a finding or a wrong result. */
enum { MUTATE_RUNS = 4, MUTATE_MORE_RUNS = 512, MUTATE_MORE_INSTRUCTIONS = 8 * 1000 * 1000 };
/* A mutant that runs this many times longer than its form counts as a hang: a finding. */
enum { MUTATE_PATIENCE = 10 };
typedef struct mutate_runs {
  mutate_verdict verdict;
  uint64_t order[MUTATE_RUNS]; /* hash of the order of conflicting accesses */
  uint64_t n_instructions;
  char why[400];
} mutate_runs;
void mutate_simulate(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                     mutate_runs *runs);
/* Marks the lines (from 0) that are executed in a run of the form. */
void mutate_coverage(const mutate_form *form, bool *executed, int32_t n_lines);
/* Whether all conflicting accesses have the same order as in the form, in runs without a finding.
 * The last CTA of a shared tile does more work, and a mutant may change which CTA is last. So runs
 * that differ are repeated with one cluster after the other. */
bool mutate_same_order(const mutate_form *form, const char *ptx, const mutate_runs *sound,
                       const mutate_runs *runs);
/* For a mutant that only the checker has caught: runs the launch that the checker names, then more
 * random and late schedules, MORE_RUNS or until MORE_INSTRUCTIONS were run. *sound: the runs of the
 * form; replaced if another launch was run. */
void mutate_simulate_launch(const mutate_form *form, const char *ptx,
                            const hd_check_launch *launch, mutate_runs *sound, mutate_runs *runs);
/* Runs n_runs more random and late schedules, or until MORE_INSTRUCTIONS were run. */
void mutate_simulate_more(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                          uint64_t n_runs, mutate_runs *runs);
/* Caught if ptxas repairs or serialises wgmma (C75xx), or refuses the text. */
mutate_verdict mutate_assemble(const char *ptxas, const char *ptx, const char *target);

/* --- mutants of a form (mutate_list.c) ------------------------------------------------------ */

typedef struct mutate_options {
  const char *schedule, *operator_name, *form_name; /* NULL: the small one; all; all */
  const char *ptxas;                                /* NULL: not used */
  const char *blind; /* "check" or "sim": that detector accepts everything, to test the count; or
                        NULL */
  const char *worker, *sanitizer, *launch; /* mutate_gpu.c: programs; the list for a worker */
  const char *out;                         /* file of the records; or NULL */
  bool no_sim, no_ptx, gpu, verbose;
  int n_threads;
  uint64_t seed;
  size_t generic;       /* generic mutants of each form; 0: mutants by the other operators */
  size_t sample;        /* mutants launched per operator and form; 0: all */
  size_t tool_sample;   /* mutants per operator run under a sanitizer tool */
  double limit_seconds; /* of one launch */
  double gpu_seconds, tool_seconds; /* for all launches, and per tool; 0: no limit */
} mutate_options;

typedef struct mutate_mutant {
  const char *op; /* name of the operator */
  int32_t site;
  char where[256];   /* description of the site */
  hd_module *module; /* owned; NULL: the PTX was changed */
  char *ptx;         /* owned; NULL: could not be emitted */
  size_t like;       /* index of the first mutant with equal PTX */
  bool made, equivalent;
  mutate_verdict check, ptxas;
  char check_why[300];
  mutate_runs runs;
} mutate_mutant;

/* Makes the mutant for m->op and m->site; false if the operator does not apply. */
bool mutate_make(const mutate_form *form, mutate_mutant *m);
void mutate_unmake(mutate_mutant *m);

typedef struct mutate_list {
  mutate_mutant *mutant;
  size_t n, cap;
} mutate_list;
/* Makes all mutants of the form, and runs check, sim and ptxas. sound: the runs of the form. */
void mutate_list_verify(const mutate_options *options, const mutate_form *form,
                        const mutate_runs *sound, mutate_list *list);
void mutate_list_free(mutate_list *list);

/* --- generic operators (mutate_generic.c, mutate_generic_role.c) ------------------------------ */

/* Mutants of an operator by outcome (ORDER OUTCOMES): refused (not emitted, or malformed),
 * equivalent, found by Sim, only by a wrong D, only by Check, missed. Then of the non-equivalent
 * ones: missed by Check; on synchronising lines, and of these found by Sim; at role level. */
enum { MUTATE_GENERIC_ROWS = 16, MUTATE_GENERIC_OUTCOMES = 6 };
typedef struct mutate_generic_row {
  const char *op;
  int of[MUTATE_GENERIC_OUTCOMES];
  int check_missed, sync, sync_found, role;
} mutate_generic_row;
typedef struct mutate_generic {
  mutate_generic_row row[MUTATE_GENERIC_ROWS];
  int n_rows;
} mutate_generic;
void mutate_generic_form(const mutate_options *options, const mutate_form *form,
                         mutate_generic *sum);
/* Prints the table and the line of counts; returns the exit code. */
int mutate_generic_print(const mutate_generic *sum, uint64_t seed);
/* A copy of the module (owned) with a random change to the i-th op, and the operator's name; NULL
 * if the result does not verify. */
hd_module *mutate_generic_role(uint64_t *seed, const hd_module *module, int32_t i, const char **op);

/* --- records (mutate_record.c) -------------------------------------------------------------- */

/* The result of a launch on the device, without or with a tool. */
typedef enum mutate_gpu {
  MUTATE_GPU_NOT_ASKED,
  MUTATE_GPU_SAME,
  MUTATE_GPU_WRONG,   /* D differs from the form's; with a tool: the tool has a finding */
  MUTATE_GPU_HANG,
  MUTATE_GPU_ERROR,   /* an error of the driver, or the worker died */
  MUTATE_GPU_REFUSED, /* by the driver's compiler: C75xx, spills */
  MUTATE_N_GPU
} mutate_gpu;
const char *mutate_gpu_name(mutate_gpu outcome);
mutate_gpu mutate_gpu_named(const char *word, size_t len);

enum { MUTATE_CHECK, MUTATE_SIM, MUTATE_PTXAS, MUTATE_N_DETECTORS };
enum { MUTATE_N_TOOLS = 4 }; /* the tools of compute-sanitizer */
const char *mutate_tool_name(int tool);

typedef enum mutate_kind {
  MUTATE_KERNEL,     /* the unchanged form */
  MUTATE_LIVE,       /* can be launched */
  MUTATE_EQUIVALENT,
  MUTATE_UNEMITTED,  /* emission refused it */
  MUTATE_N_KINDS
} mutate_kind;

/* A line of --out: everything known about a mutant. */
typedef struct mutate_record {
  const char *op; /* name of the operator; "-" for the form */
  int32_t site;
  mutate_kind kind;
  mutate_verdict verdict[MUTATE_N_DETECTORS];
  mutate_gpu gpu, tool[MUTATE_N_TOOLS]; /* for the form, SAME means that it runs without an error */
} mutate_record;

typedef struct mutate_kernel { /* a form */
  char name[96], path[512];
  char hash[17]; /* of its PTX and the options that matter */
  bool visited;  /* in this run; otherwise only read from the file */
  mutate_record self;
  mutate_record *mutant; /* owned; grouped by operator */
  size_t n, cap;
} mutate_kernel;

typedef struct mutate_records {
  mutate_kernel *kernel; /* owned */
  size_t n, cap;
} mutate_records;

/* The form's record, valid until the next visit. If `check` is unasked, it is not verified yet. */
mutate_kernel *mutate_records_visit(const mutate_options *options, const mutate_form *form,
                                    mutate_records *records);
void mutate_kernel_add(const mutate_options *options, const mutate_mutant *mutant,
                       mutate_kernel *kernel);
/* CSV file with one line per form and per mutant, written atomically. Reading: a missing file is
 * empty; other text is refused with its line. */
heddle_status mutate_records_read(heddle_context *ctx, const char *path, mutate_records *records);
heddle_status mutate_records_write(heddle_context *ctx, const char *path,
                                   const mutate_records *records);
/* Writes to options->out, if given; reports a failure on standard error. */
void mutate_records_save(const mutate_options *options, const mutate_records *records);
void mutate_records_free(mutate_records *records);

/* --- the device (mutate_gpu.c, mutate_tools.c, mutate_worker.c) ----------------------------- */

/* Launches --sample mutants of each operator and form in worker processes, for at most gpu_seconds;
 * prints the progress on standard error. */
void mutate_launch(const mutate_options *options, mutate_records *records);
/* Runs the launchable forms under a sanitizer tool, then tool_sample mutants of each operator,
 * distributed over the forms that the tool accepts, for at most tool_seconds. */
void mutate_ask_tool(const mutate_options *options, int tool, mutate_records *records);

/* The indices of the visited forms, in an order drawn by seed; owned. */
size_t *mutate_order(uint64_t seed, const mutate_records *records, size_t *n);
/* The deadline, by hd_clock_seconds(), of a part that starts now; seconds 0: no deadline. */
double mutate_end_after(double seconds);
/* Runs a worker on mutants of a form, under a tool or (-1) without, for at most `seconds`. Returns
 * the exit code: FOUND means a finding of the tool; LATE, NOT_STARTED: no exit code, see output. */
enum { MUTATE_FOUND = 86, MUTATE_LATE = -1, MUTATE_NOT_STARTED = -2 };
int mutate_run_worker(const mutate_options *options, int tool, const mutate_kernel *kernel,
                      mutate_record *const *shot, size_t n, double seconds, hd_strbuf *output);
/* The worker process: launches options->launch, "OP:SITE,OP:SITE", and prints the results. */
heddle_status mutate_worker(heddle_context *ctx, const mutate_options *options, mutate_form *form);

/* --- the table (mutate_table.c) ------------------------------------------------------------- */

/* For the visited forms: prints all tables and the summary, and returns the exit code; or prints
 * only the device's table. Both flush. */
int mutate_table_print(const mutate_options *options, const mutate_records *records);
void mutate_table_print_device(const mutate_records *records);

/* --- agreement of both (mutate_agree.c) ---------------------------------------------------- */

typedef struct mutate_agree_options {
  size_t n;
  uint64_t seed; /* of the first kernel; incremented for each kernel */
  size_t n_mutants; /* of each kernel; 0: one mutant instead of the kernel, for six kernels in
                       ten */
  int n_threads;
  const char *blind; /* "check" or "sim": that detector accepts everything; or NULL */
  bool verbose;
} mutate_agree_options;
/* Draws n kernels, mutates some, runs both detectors; prints differences and counts. Returns the
 * exit code. */
int mutate_agree(const mutate_agree_options *options);

#endif
