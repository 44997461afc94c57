/* heddle-mutate/mutate.h: kernels, and what can be broken in them. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include "Check/check.h"
#include "Kernel/manifest.h"
#include "Schedule/schedule.h"
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
hd_op *mutate_op_at(const hd_module *module, int32_t i);
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

/* --- detectors (mutate_verify.c) ------------------------------------------------------------- */

typedef enum mutate_verdict {
  MUTATE_MISSED,
  MUTATE_CAUGHT,
  MUTATE_UNDECIDED,
  MUTATE_UNASKED,
  MUTATE_N_VERDICTS
} mutate_verdict;

/* What the checker says, and of a finding the launch that shows it. */
mutate_verdict mutate_check(const hd_module *module, hd_strbuf *why, hd_check_launch *launch);

/* Late, early and random runs until one shows something: a finding, or a wrong number. */
enum { MUTATE_RUNS = 4, MUTATE_MORE_RUNS = 512, MUTATE_MORE_INSTRUCTIONS = 8 * 1000 * 1000 };
/* A mutant that runs so many times as long as its form does not end: that is a finding. */
enum { MUTATE_PATIENCE = 10 };
typedef struct mutate_runs {
  mutate_verdict verdict;
  uint64_t order[MUTATE_RUNS]; /* Sim's hash of the order of conflicting pairs */
  uint64_t n_instructions;
  char why[400];
} mutate_runs;
void mutate_simulate(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                     mutate_runs *runs);
/* Marks the lines (from 0) that a run of the form executes. */
void mutate_coverage(const mutate_form *form, bool *executed, int32_t n_lines);
/* Is the order of all conflicting pairs that of the form, in runs that found nothing? Of CTAs that
 * share a tile the last to come does more, and an instruction less may make that another one: where
 * the runs differ, they are made again with one cluster after the other. */
bool mutate_same_order(const mutate_form *form, const char *ptx, const mutate_runs *sound,
                       const mutate_runs *runs);
/* For a mutant that only the checker has caught: the launch that it names; then more random and
 * late schedules of it, MORE_RUNS or until MORE_INSTRUCTIONS are run. *sound: of the form itself;
 * replaced when another launch was run. */
void mutate_simulate_launch(const mutate_form *form, const char *ptx,
                            const hd_check_launch *launch, mutate_runs *sound, mutate_runs *runs);
/* So many more random and late schedules, or until MORE_INSTRUCTIONS are run. */
void mutate_simulate_more(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                          uint64_t n_runs, mutate_runs *runs);
/* ptxas repairs or serialises wgmma (C75xx), or refuses the text. */
mutate_verdict mutate_assemble(const char *ptxas, const char *ptx, const char *target);

/* --- mutants of a form (mutate_list.c) ------------------------------------------------------ */

typedef struct mutate_options {
  const char *schedule, *operator_name, *form_name; /* NULL: the small one; all; all */
  const char *ptxas;                                /* NULL: not asked */
  const char *blind; /* "check" or "sim": says yes to all, to test the count; or NULL */
  const char *worker, *sanitizer, *launch; /* mutate_gpu.c: programs; the worker's own list */
  const char *out;                         /* where the records are kept; or NULL */
  bool no_sim, no_ptx, gpu, verbose;
  int n_threads;
  uint64_t seed;
  size_t generic;       /* mutants of each form by operators that know no rule; 0: the others */
  size_t sample;        /* mutants of an operator and a form that are launched; 0: all */
  size_t tool_sample;   /* mutants of an operator that a tool of the sanitizer is given */
  double limit_seconds; /* of a launch */
  double gpu_seconds, tool_seconds; /* of all launches, of a tool; 0: as long as it takes */
} mutate_options;

typedef struct mutate_mutant {
  const char *op; /* the operator's name */
  int32_t site;
  char where[256];   /* the site, for a person */
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
void mutate_list_verify(const mutate_options *options, const mutate_form *form,
                        const mutate_runs *sound, mutate_list *list);
void mutate_list_free(mutate_list *list);

/* --- operators that know no rule (mutate_generic.c, mutate_generic_role.c) ------------------- */

/* Mutants of an operator by outcome (ORDER OUTCOMES): refused (not emitted, or malformed),
 * equivalent, found by Sim, by a wrong D alone, by Check alone, missed. Of those live: that Check
 * missed; on lines that synchronise, and of these found by Sim; at role level. */
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
/* The table and the line of counts; the exit code. */
int mutate_generic_print(const mutate_generic *sum, uint64_t seed);
/* A copy of the module (owned) with the i-th op changed in a way drawn by seed, and the operator's
 * name; NULL where that leaves no program that verifies. */
hd_module *mutate_generic_role(uint64_t *seed, const hd_module *module, int32_t i, const char **op);

/* --- records (mutate_record.c) -------------------------------------------------------------- */

/* What a launch on the device showed, alone or under a tool. */
typedef enum mutate_gpu {
  MUTATE_GPU_NOT_ASKED,
  MUTATE_GPU_SAME,
  MUTATE_GPU_WRONG,   /* D differs from what the form makes; of a tool: it found something */
  MUTATE_GPU_HANG,
  MUTATE_GPU_ERROR,   /* the driver reports one, or the worker died */
  MUTATE_GPU_REFUSED, /* by the driver's compiler: C75xx, spills */
  MUTATE_N_GPU
} mutate_gpu;
const char *mutate_gpu_name(mutate_gpu outcome);
mutate_gpu mutate_gpu_named(const char *word, size_t len);

enum { MUTATE_CHECK, MUTATE_SIM, MUTATE_PTXAS, MUTATE_N_DETECTORS };
enum { MUTATE_N_TOOLS = 4 }; /* of compute-sanitizer */
const char *mutate_tool_name(int tool);

typedef enum mutate_kind {
  MUTATE_KERNEL,     /* no mutant: the form itself */
  MUTATE_LIVE,       /* can be launched */
  MUTATE_EQUIVALENT,
  MUTATE_UNEMITTED,  /* emission refused it */
  MUTATE_N_KINDS
} mutate_kind;

/* A line of --out: all that is known of a mutant. */
typedef struct mutate_record {
  const char *op; /* the operator's name; "-" of the form itself */
  int32_t site;
  mutate_kind kind;
  mutate_verdict verdict[MUTATE_N_DETECTORS];
  mutate_gpu gpu, tool[MUTATE_N_TOOLS]; /* of the form itself SAME: it runs (in peace) */
} mutate_record;

typedef struct mutate_kernel { /* a form */
  char name[96], path[512];
  char hash[17]; /* of its PTX, and of what was asked about it */
  bool visited;  /* in this run; else only kept */
  mutate_record self;
  mutate_record *mutant; /* owned; those of an operator together */
  size_t n, cap;
} mutate_kernel;

typedef struct mutate_records {
  mutate_kernel *kernel; /* owned */
  size_t n, cap;
} mutate_records;

/* The form's record, valid until the next visit. Yet to be verified where check is unasked. */
mutate_kernel *mutate_records_visit(const mutate_options *options, const mutate_form *form,
                                    mutate_records *records);
void mutate_kernel_add(const mutate_options *options, const mutate_mutant *mutant,
                       mutate_kernel *kernel);
/* A file of lines with commas, one a form and one a mutant, written atomically. Reading: an absent
 * file is empty, any other text is refused by line. */
heddle_status mutate_records_read(heddle_context *ctx, const char *path, mutate_records *records);
heddle_status mutate_records_write(heddle_context *ctx, const char *path,
                                   const mutate_records *records);
/* To options->out, if any; a failure is said on standard error. */
void mutate_records_save(const mutate_options *options, const mutate_records *records);
void mutate_records_free(mutate_records *records);

/* --- the device (mutate_gpu.c, mutate_tools.c, mutate_worker.c) ----------------------------- */

/* Launches --sample mutants of each operator and form in worker processes, until gpu_seconds are
 * over; says on standard error how far it is. */
void mutate_launch(const mutate_options *options, mutate_records *records);
/* Launches the forms that run under a tool of the sanitizer, then tool_sample mutants of each
 * operator, spread over the forms that the tool accepts, until tool_seconds are over. */
void mutate_ask_tool(const mutate_options *options, int tool, mutate_records *records);

/* The numbers of the forms visited, in an order drawn by seed; owned. */
size_t *mutate_order(uint64_t seed, const mutate_records *records, size_t *n);
/* When a part that starts now ends, by hd_clock_seconds(); seconds 0: never. */
double mutate_end_after(double seconds);
/* Runs a worker on shots of a form, under a tool or (-1) not, killed after so many seconds. Its
 * exit code: FOUND is the tool's word; LATE, NOT_STARTED: there was none, and output says why. */
enum { MUTATE_FOUND = 86, MUTATE_LATE = -1, MUTATE_NOT_STARTED = -2 };
int mutate_run_worker(const mutate_options *options, int tool, const mutate_kernel *kernel,
                      mutate_record *const *shot, size_t n, double seconds, hd_strbuf *output);
/* Such a process: launches options->launch, "OP:SITE,OP:SITE", and prints what happened. */
heddle_status mutate_worker(heddle_context *ctx, const mutate_options *options, mutate_form *form);

/* --- the table (mutate_table.c) ------------------------------------------------------------- */

/* Of the forms visited: all of it and the summary, giving the exit code; or the device's part. Both
 * flush. */
int mutate_table_print(const mutate_options *options, const mutate_records *records);
void mutate_table_print_device(const mutate_records *records);

/* --- agreement of the two (mutate_agree.c) ---------------------------------------------------- */

typedef struct mutate_agree_options {
  size_t n;
  uint64_t seed; /* of the first kernel; the next one has the next */
  size_t n_mutants; /* of each kernel; 0: of six kernels in ten one, in the kernel's place */
  int n_threads;
  const char *blind; /* "check" or "sim": says yes to all; or NULL */
  bool verbose;
} mutate_agree_options;
/* Draws n kernels, breaks some, asks both; prints where they differ and the counts. The exit
 * code. */
int mutate_agree(const mutate_agree_options *options);

#endif
