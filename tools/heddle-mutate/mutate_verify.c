#include "mutate.h"

#include <stdio.h>
#include <string.h>

#include "Emit/ptxas.h"
#include "Emit/user_ir.h"
#include "Sim/sim.h"
#include "Support/memory.h"

mutate_verdict mutate_check(const hd_module *module, hd_strbuf *why, hd_check_launch *launch) {
  heddle_context *ctx = heddle_context_create();
  hd_check_report report = {0};
  hd_check_options options = {.max_findings = 1, .quiet = true};
  heddle_status status = hd_check(ctx, module, &options, &report);
  if (report.n_findings) {
    hd_strbuf_printf(why, "%s: %s", report.findings[0].rule, report.findings[0].text);
    *launch = report.findings[0].launch;
  }
  hd_check_report_free(&report);
  heddle_context_free(ctx);
  return status == HEDDLE_OK         ? MUTATE_MISSED
         : status == HEDDLE_MISMATCH ? MUTATE_CAUGHT
                                     : MUTATE_UNDECIDED;
}

mutate_verdict mutate_assemble(const char *ptxas, const char *ptx, const char *target) {
  heddle_context *ctx = heddle_context_create();
  hd_ptxas_report report = {0};
  heddle_status status = hd_ptxas_assemble(ctx, ptxas, ptx, target, NULL, NULL, &report);
  hd_ptxas_report_free(&report);
  heddle_context_free(ctx);
  return status == HEDDLE_OK            ? MUTATE_MISSED
         : status == HEDDLE_ENVIRONMENT ? MUTATE_UNDECIDED
                                        : MUTATE_CAUGHT;
}

/* --- simulation ----------------------------------------------------------------------------- */

enum { ADDRESS_STEP_LOG2 = 32, MAX_BUFFERS = TRIAL_MAX_BLOCKS, MAX_RESIDENT = 16 };

static uint64_t address_of(int i) { return (uint64_t)(i + 1) << ADDRESS_STEP_LOG2; }

static int make_buffers(trial_data *data, hd_sim_buffer *buffers) {
  for (int i = 0; i < data->n_blocks; i++) {
    trial_block *block = &data->block[i];
    bool is_d = hd_arg_is_result(block->kind);
    data->values.v[block->kind] = address_of(i);
    buffers[i] = (hd_sim_buffer){.name = hd_arg_name(block->kind),
                                 .address = address_of(i),
                                 .n_bytes = block->n_bytes,
                                 .data = block->data,
                                 .writable = is_d,
                                 .undefined = is_d,
                                 .weights = hd_arg_is_weights(block->kind)};
  }
  return data->n_blocks;
}

/* The user's epilogue for the reference: wrong results also count as caught. */
static double call_user(void *user, double acc, double up, int64_t row, int64_t col) {
  return hd_user_call(user, NULL, acc, up, (int32_t)row, (int32_t)col);
}

/* A PTX text with the options and data of one run; `runs` keeps why it was caught. */
typedef struct simulation {
  heddle_context *ctx;
  const mutate_form *form;
  const char *ptx;
  const hd_sim_options *options;
  trial_data data;
  mutate_runs *runs;
} simulation;

/* HEDDLE_MISMATCH, with the reason in runs->why, if D is wrong. */
static heddle_status verify_numbers(const simulation *s) {
  const mutate_form *form = s->form;
  trial_request request = form->request;
  trial_result result = {.ok = true};
  hd_user_function *function = NULL; /* one per run, because it is not thread-safe */
  if (form->manifest.user_function)
    HD_TRY(hd_user_read(s->ctx, &(hd_user_source){form->user_ir, form->user_ir_bytes, NULL},
                        form->manifest.user_function, &function));
  request.user = call_user;
  request.user_data = function;
  heddle_status status = trial_verify(s->ctx, &form->manifest, &request, &s->data, &result);
  hd_free(function);
  if (status != HEDDLE_OK || result.ok)
    return status;
  snprintf(s->runs->why, sizeof s->runs->why, "wrong numbers: %.300s", result.why);
  return HEDDLE_MISMATCH;
}

/* Simulates one launch; memory keeps the contents from the previous launch. */
static heddle_status launch(simulation *s, uint8_t *workspace, hd_sim_report *report) {
  hd_sim_buffer buffers[MAX_BUFFERS + 1];
  hd_values *values = &s->data.values;
  int n = make_buffers(&s->data, buffers);
  uint32_t resident[HD_MAX_VARIANTS] = {s->form->resident};
  hd_launch_plan plan;
  values->v[HD_ARG_WORKSPACE] = address_of(n);
  HD_TRY(hd_manifest_plan(s->ctx, &s->form->manifest, values, resident, &plan));
  buffers[n] = (hd_sim_buffer){.name = "workspace", .address = address_of(n),
                               .n_bytes = plan.workspace_bytes, .data = workspace,
                               .writable = true};
  const hd_sim_launch sim = {.file = "mutant",
                             .ptx = s->ptx,
                             .ptx_bytes = strlen(s->ptx),
                             .plan = &plan,
                             .values = values,
                             .buffers = buffers,
                             .n_buffers = (uint32_t)n + (plan.workspace_bytes > 0)};
  hd_arena arena = {0};
  heddle_status status = hd_sim_run(s->ctx, &sim, s->options, &arena, report);
  if (report->n_findings)
    snprintf(s->runs->why, sizeof s->runs->why, "%s at PTX line %u: %s", report->finding[0].rule,
             report->finding[0].line, report->finding[0].text);
  hd_arena_free(&arena);
  return status == HEDDLE_OK ? verify_numbers(s) : status;
}

/* Launches twice if there is a workspace, because a launch must leave its counters at zero. */
static heddle_status launches(simulation *s, hd_sim_report *report) {
  uint64_t n_bytes = 0;
  uint32_t resident[HD_MAX_VARIANTS] = {s->form->resident};
  HD_TRY(hd_manifest_workspace(s->ctx, &s->form->manifest, &s->data.values, resident, &n_bytes));
  uint8_t *workspace = n_bytes ? hd_xzalloc(n_bytes) : NULL;
  heddle_status status = launch(s, workspace, report);
  if (status == HEDDLE_OK && n_bytes) {
    hd_sim_report second = {0};
    hd_free(trial_data_take_d(&s->data));
    status = launch(s, workspace, &second);
  }
  hd_free(workspace);
  return status;
}

static heddle_status run_once(const mutate_form *form, const char *ptx,
                              const hd_sim_options *options, mutate_runs *runs, int i) {
  simulation s = {.ctx = heddle_context_create(), .form = form, .ptx = ptx, .options = options,
                  .runs = runs};
  hd_sim_report report = {0};
  heddle_status status = trial_data_make(s.ctx, &form->manifest, &form->request, &s.data);
  if (status == HEDDLE_OK)
    status = launches(&s, &report);
  if (!runs->why[0] && status != HEDDLE_OK)
    snprintf(runs->why, sizeof runs->why, "%s", hd_first_error_text(s.ctx, ""));
  trial_data_free(&s.data);
  heddle_context_free(s.ctx);
  runs->order[i] = report.order_hash;
  runs->n_instructions = report.n_instructions;
  return status;
}

static mutate_verdict verdict_of(heddle_status status) {
  return status == HEDDLE_OK         ? MUTATE_MISSED
         : status == HEDDLE_MISMATCH ? MUTATE_CAUGHT
                                     : MUTATE_UNDECIDED;
}

static void simulate(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                     bool sequential, mutate_runs *runs) {
  static const struct {
    hd_sim_mode mode;
    uint64_t seed;
  } plan[MUTATE_RUNS] = {
      {HD_SIM_LATE, 1}, {HD_SIM_EARLY, 1}, {HD_SIM_RANDOM, 1}, {HD_SIM_RANDOM, 2}};
  *runs = (mutate_runs){.verdict = MUTATE_MISSED};
  for (int i = 0; i < MUTATE_RUNS && runs->verdict == MUTATE_MISSED; i++) {
    hd_sim_options options = {.seed = plan[i].seed,
                              .mode = plan[i].mode,
                              .sequential = sequential,
                              .max_steps = max_instructions,
                              .max_findings = 1};
    runs->verdict = verdict_of(run_once(form, ptx, &options, runs, i));
  }
}

void mutate_simulate(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                     mutate_runs *runs) {
  simulate(form, ptx, max_instructions, false, runs);
}

typedef struct coverage {
  bool *executed;
  int32_t n_lines;
} coverage;

static void cover(void *user, const hd_sim_event *event) {
  const coverage *c = user;
  int64_t i = (int64_t)event->line - 1;
  if (i >= 0 && i < c->n_lines)
    c->executed[i] = true;
}

void mutate_coverage(const mutate_form *form, bool *executed, int32_t n_lines) {
  coverage c = {executed, n_lines};
  hd_sim_options options = {.seed = 1, .mode = HD_SIM_RANDOM, .trace = cover, .user = &c};
  mutate_runs runs = {.verdict = MUTATE_MISSED};
  run_once(form, form->ptx, &options, &runs, 0);
}

bool mutate_same_order(const mutate_form *form, const char *ptx, const mutate_runs *sound,
                       const mutate_runs *runs) {
  mutate_runs own, other;
  if (runs->verdict != MUTATE_MISSED || !memcmp(runs->order, sound->order, sizeof sound->order))
    return runs->verdict == MUTATE_MISSED;
  simulate(form, form->ptx, 0, true, &own);
  simulate(form, ptx, MUTATE_PATIENCE * sound->n_instructions, true, &other);
  return own.verdict == MUTATE_MISSED && other.verdict == MUTATE_MISSED &&
         !memcmp(own.order, other.order, sizeof own.order);
}

void mutate_simulate_more(const mutate_form *form, const char *ptx, uint64_t max_instructions,
                          uint64_t n_runs, mutate_runs *runs) {
  mutate_runs more = {.verdict = MUTATE_MISSED};
  uint64_t n_instructions = 0;
  for (uint64_t i = 0;
       i < n_runs && n_instructions < MUTATE_MORE_INSTRUCTIONS && more.verdict == MUTATE_MISSED;
       i++) {
    hd_sim_options options = {.seed = 3 + i / 2, .mode = i % 2 ? HD_SIM_LATE : HD_SIM_RANDOM,
                              .max_steps = max_instructions, .max_findings = 1};
    more.verdict = verdict_of(run_once(form, ptx, &options, &more, 0));
    n_instructions += more.n_instructions;
  }
  if (more.verdict != MUTATE_MISSED)
    *runs = more;
}

/* Sets the sizes of the launch that the checker names, with pitches that fit, in multiples of 16.
 * False: it is the form's own launch. */
static bool move_to(mutate_form *form, const hd_check_launch *launch) {
  const struct {
    hd_arg_kind kind;
    int64_t value;
  } sizes[] = {{HD_ARG_M, launch->m}, {HD_ARG_N, launch->n}, {HD_ARG_K, launch->k}};
  static const hd_arg_kind pitches[] = {HD_ARG_LDB, HD_ARG_LDC, HD_ARG_LDD, HD_ARG_LDSA,
                                        HD_ARG_LDSB, HD_ARG_LDSD, HD_ARG_LDAUX};
  int64_t longest = 0, k = form->request.size[HD_ARG_K];
  bool other = false;
  for (size_t i = 0; i < HD_COUNT(sizes); i++) {
    int64_t *size = &form->request.size[sizes[i].kind];
    other |= sizes[i].value > 0 && *size && sizes[i].value != *size;
    *size = sizes[i].value > 0 && *size ? sizes[i].value : *size;
    longest = *size > longest ? *size : longest;
  }
  for (size_t i = 0; i < HD_COUNT(pitches); i++) {
    int64_t *pitch = &form->request.size[pitches[i]];
    *pitch = *pitch && *pitch < longest ? (longest + 15) / 16 * 16 : *pitch;
  }
  /* Sums over a longer k may not be exact. */
  form->request.exact = form->request.exact && form->request.size[HD_ARG_K] <= k;
  uint32_t grid = launch->grid > MAX_RESIDENT ? MAX_RESIDENT : (uint32_t)launch->grid;
  other |= grid && grid != form->resident;
  form->resident = grid ? grid : form->resident;
  return other;
}

void mutate_simulate_launch(const mutate_form *form, const char *ptx,
                            const hd_check_launch *launch, mutate_runs *sound, mutate_runs *runs) {
  mutate_form there = *form;
  if (move_to(&there, launch)) {
    mutate_simulate(&there, form->ptx, 0, sound);
    mutate_simulate(&there, ptx, MUTATE_PATIENCE * sound->n_instructions, runs);
  }
  if (runs->verdict == MUTATE_MISSED)
    mutate_simulate_more(&there, ptx, MUTATE_PATIENCE * sound->n_instructions, MUTATE_MORE_RUNS,
                         runs);
}
