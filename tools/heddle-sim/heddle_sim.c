/* heddle-sim: runs a kernel's PTX with its manifest in the adversarial simulator. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "sim_operands.h"
#include "timeline.h"

typedef struct options {
  cli_texts args, files;
  const char *mode, *off, *output, *timeline;
  int64_t seed, resident, max_steps, grid_y, grid_z;
  bool trace, time, changed, strict, isa;
} options;

typedef struct job {
  heddle_context *ctx;
  const char *ptx_path;
  char *ptx, *json;
  size_t ptx_bytes, json_bytes;
  hd_arena arena;
  hd_manifest manifest;
  const options *o;
  uint8_t *waited; /* owned; per line: 1 if a try_wait was executed, 2 if one returned false */
  uint32_t n_lines, hold, n_warps;
  double seconds; /* of the simulation only */
  timeline timeline;
} job;

static void trace(void *user, const hd_sim_event *e) {
  job *j = user;
  if (j->o->trace && e->kind == HD_SIM_EXECUTES)
    printf("cta %u warp %u lanes %08x line %u %s\n", e->cta, e->warp, e->lanes, e->line, e->text);
  if (j->o->timeline)
    timeline_add(&j->timeline, e);
}

static heddle_status parse_off(heddle_context *ctx, const char *text, uint32_t *off) {
  static const struct {
    const char *name;
    uint32_t bit;
  } parts[] = {{"proxies", HD_SIM_NO_PROXIES},
               {"races", HD_SIM_NO_RACES},
               {"poison", HD_SIM_NO_POISON},
               {"undefined", HD_SIM_NO_UNDEFINED}};
  if (!text)
    return HEDDLE_OK;
  for (size_t i = 0; i < HD_COUNT(parts); i++) {
    if (strcmp(parts[i].name, text) == 0) {
      *off |= parts[i].bit;
      return HEDDLE_OK;
    }
  }
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.off",
                  "got `%s`; legal: proxies, races, poison or undefined", text);
}

static void print_findings(const job *j, const hd_sim_report *r, const char *mode,
                           const char *d) {
  for (uint32_t i = 0; i < r->n_findings; i++)
    fprintf(stderr, "%s:%u:1: error[%s]: %s (%s)\n", j->ptx_path, r->finding[i].line,
            r->finding[i].rule, r->finding[i].text, hd_sim_basis_name(r->finding[i].basis));
  printf("sim=%s mode=%s seed=%" PRId64 " findings=%u instructions=%" PRIu64 " async=%" PRIu64
         " mma=%" PRIu64 " checked=%" PRIu64 " conflicts=%" PRIu64
         " assumed=%" PRIu64 " order=%016" PRIx64 " d=%s\n",
         r->n_findings || !strcmp(d, "wrong") || !strcmp(d, "unwritten") ? "fail" : "ok", mode,
         j->o->seed, r->n_findings, r->n_instructions, r->n_async, r->n_mma, r->n_checked,
         r->n_conflicts, r->n_assumed, r->order_hash, d);
}

static bool waits_are_covered(const job *j) {
  return !memchr(j->waited, 1, j->n_lines + 1u);
}

static void print_waits(const job *j) {
  uint32_t n = 0, no = 0;
  for (uint32_t i = 0; i <= j->n_lines; i++) {
    n += j->waited[i] != 0;
    no += j->waited[i] == 2;
    if (j->waited[i] == 1)
      printf("%s:%u:1: note: this try_wait never returned false\n", j->ptx_path, i);
  }
  printf("try_waits=%u answered_no=%u\n", n, no);
}

/* Checks that each element of D is written and matches the reference: HEDDLE_MISMATCH. *d: the word
 * to print. */
static heddle_status verify_d(const job *j, const sim_operands *operands, const uint8_t *written,
                              const char **d) {
  int64_t g, row, col;
  trial_result result;
  if (sim_operands_unwritten(&j->manifest, operands, written, &g, &row, &col)) {
    char matrix[32] = "";
    if (operands->data.shape.g > 1)
      snprintf(matrix, sizeof matrix, "matrix %" PRId64 " of ", g);
    fprintf(stderr,
            "%s: error[coverage]: row %" PRId64 ", column %" PRId64 " of %sD is never written\n",
            j->ptx_path, row, col, matrix);
    *d = "unwritten";
    return HEDDLE_MISMATCH;
  }
  HD_TRY(sim_operands_verify(j->ctx, &j->manifest, operands, &result));
  *d = operands->unknown ? "uncompared" : result.ok ? "right" : "wrong";
  if (result.ok)
    return HEDDLE_OK;
  fprintf(stderr, "%s: error[numbers]: %s\n", j->ptx_path, result.why);
  return HEDDLE_MISMATCH;
}

static heddle_status run_launch(job *j, const hd_sim_launch *sim, const hd_sim_options *so,
                                sim_operands *operands) {
  hd_sim_report report = {0};
  hd_sim_buffer *buffer = sim_operands_d(operands);
  const char *d = "none";
  buffer->written = hd_xzalloc(buffer->n_bytes + 1);
  clock_t start = clock();
  heddle_status status = hd_sim_run(j->ctx, sim, so, &j->arena, &report);
  j->seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
  bool ran = status == HEDDLE_OK || status == HEDDLE_MISMATCH;
  if (status == HEDDLE_OK && sim->plan->grid_x)
    status = verify_d(j, operands, buffer->written, &d);
  if (ran)
    print_findings(j, &report, hd_sim_mode_name(so->mode), d);
  for (uint32_t i = 0; i < report.n_waits; i++) {
    uint8_t *at = &j->waited[report.wait[i].line];
    *at = report.wait[i].answered_no || *at == 2 ? 2 : 1;
  }
  hd_free(buffer->written);
  buffer->written = NULL;
  return status;
}

static heddle_status launch(job *j, hd_sim_mode mode, sim_operands *operands) {
  uint32_t resident[HD_MAX_VARIANTS];
  uint64_t workspace = 0;
  hd_launch_plan plan;
  hd_values *values = &operands->data.values;
  hd_sim_options so = {.seed = (uint64_t)j->o->seed,
                       .mode = mode,
                       .max_steps = (uint64_t)j->o->max_steps,
                       .grid_y = (uint32_t)j->o->grid_y,
                       .grid_z = (uint32_t)j->o->grid_z,
                       .max_resident = (uint32_t)j->o->resident,
                       .hold = j->hold,
                       .strict = j->o->strict,
                       .isa_only = j->o->isa,
                       .trace = j->o->trace || j->o->timeline ? trace : NULL,
                       .user = j};
  for (int i = 0; i < HD_MAX_VARIANTS; i++)
    resident[i] = (uint32_t)j->o->resident;
  HD_TRY(parse_off(j->ctx, j->o->off, &so.off));
  HD_TRY(sim_operands_make(j->ctx, &j->manifest, &j->o->args, &j->o->files, (uint64_t)j->o->seed,
                           operands));
  HD_TRY(hd_manifest_workspace(j->ctx, &j->manifest, values, resident, &workspace));
  HD_TRY(sim_operands_add_workspace(j->ctx, workspace, operands));
  HD_TRY(hd_manifest_plan(j->ctx, &j->manifest, values, resident, &plan));
  const hd_sim_launch sim = {.file = j->ptx_path,
                             .ptx = j->ptx,
                             .ptx_bytes = j->ptx_bytes,
                             .plan = &plan,
                             .values = values,
                             .buffers = operands->buffer,
                             .n_buffers = operands->n};
  j->seconds = 0;
  j->n_warps = plan.variant ? (uint32_t)(plan.variant->n_threads + 31) / 32 : 0;
  timeline_begin(&j->timeline, j->n_warps);
  heddle_status status = run_launch(j, &sim, &so, operands);
  if (j->o->timeline && (status == HEDDLE_OK || status == HEDDLE_MISMATCH)) {
    HD_TRY(timeline_write(j->ctx, &j->timeline, j->o->timeline));
    so.trace = NULL;
  }
  if (status == HEDDLE_OK && workspace) { /* counters must be zero for the next launch */
    hd_free(trial_data_take_d(&operands->data));
    status = run_launch(j, &sim, &so, operands);
  }
  if (j->o->time)
    printf("cpu_seconds=%.3f\n", j->seconds);
  if (status != HEDDLE_OK || !j->o->output)
    return status;
  const hd_sim_buffer *d = sim_operands_d(operands);
  return hd_file_write(j->ctx, j->o->output, d->data, d->n_bytes);
}

static heddle_status run_mode(job *j, hd_sim_mode mode) {
  sim_operands operands = {.n = 0};
  heddle_status status = launch(j, mode, &operands);
  sim_operands_free(&operands);
  return status;
}

static heddle_status run_modes(job *j) {
  hd_sim_mode mode;
  heddle_status worst = HEDDLE_OK;
  if (j->o->timeline && strcmp(j->o->mode, "all") == 0)
    return hd_error(j->ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.timeline",
                    "got --timeline with all modes; legal: --mode late, early or random; nearest: "
                    "--mode late");
  if (strcmp(j->o->mode, "all") != 0) {
    if (hd_sim_mode_parse(j->o->mode, &mode) != HEDDLE_OK)
      return hd_error(j->ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.mode",
                      "got `%s`; legal: late, early, random or all", j->o->mode);
    return run_mode(j, mode);
  }
  for (int i = HD_SIM_LATE; i <= HD_SIM_RANDOM; i++) {
    heddle_status status = run_mode(j, (hd_sim_mode)i);
    if (status != HEDDLE_OK && status != HEDDLE_MISMATCH)
      return status;
    worst = status == HEDDLE_MISMATCH ? status : worst;
  }
  for (j->hold = 1; worst == HEDDLE_OK && j->hold <= j->n_warps && !waits_are_covered(j); j->hold++)
    worst = run_mode(j, HD_SIM_LATE);
  print_waits(j);
  return worst;
}

/* An edited PTX must still have every entry that a launch can use; otherwise it is truncated. */
static heddle_status check_entries(const job *j) {
  for (int i = 0; i < j->manifest.n_variants; i++) {
    char directive[256];
    int n = snprintf(directive, sizeof directive, ".entry %s(", j->manifest.variant[i].entry);
    if (!memmem(j->ptx, j->ptx_bytes, directive, (size_t)n))
      return hd_error(j->ctx, HEDDLE_INVALID, (hd_loc){.file = j->ptx_path}, "ptx.entry",
                      "no entry %s, which the manifest has; nearest: the whole PTX",
                      j->manifest.variant[i].entry);
  }
  return HEDDLE_OK;
}

static heddle_status run(job *j, const char *json_path) {
  HD_TRY(hd_file_read_text(j->ctx, j->ptx_path, &j->ptx, &j->ptx_bytes));
  HD_TRY(hd_file_read_text(j->ctx, json_path, &j->json, &j->json_bytes));
  heddle_status status =
      hd_manifest_read(j->ctx, j->json, j->json_bytes, &j->arena, &j->manifest);
  if (status == HEDDLE_OK)
    status = j->o->changed ? check_entries(j)
                           : hd_manifest_check_code(
                                 j->ctx, &j->manifest,
                                 &(heddle_image){.ptx = j->ptx, .ptx_bytes = j->ptx_bytes});
  if (status == HEDDLE_OK) {
    for (size_t i = 0; i < j->ptx_bytes; i++)
      j->n_lines += j->ptx[i] == '\n';
    j->n_lines++;
    j->waited = hd_xzalloc(j->n_lines + 1u);
    return run_modes(j);
  }
  hd_note(j->ctx, (hd_loc){.file = json_path}, "sim.manifest", "this was read as the manifest");
  return status;
}

static int simulate(int argc, char **argv) {
  options o = {.mode = "all", .seed = 1, .resident = 4};
  const char *args[2];
  int n_args;
  const cli_option list[] = {
      {"arg", CLI_MORE, &o.args, "NAME=VALUE", "a size, stride or scalar: m=256"},
      {"data", CLI_MORE, &o.files, "NAME=FILE", "the bytes of an operand: a=packed.bin"},
      {"mode", CLI_TEXT, &o.mode, "MODE",
       "when asynchronous work completes: late, early, random or all (default)"},
      {"seed", CLI_INT, &o.seed, "N", "seed of the scheduler, and of operands without a file"},
      {"grid-y", CLI_INT, &o.grid_y, "N", "size of the grid in y (1)"},
      {"grid-z", CLI_INT, &o.grid_z, "N", "size of the grid in z (1)"},
      {"resident", CLI_INT, &o.resident, "N", "CTAs that run at the same time (4)"},
      {"steps", CLI_INT, &o.max_steps, "N", "limit of warp instructions (20 million)"},
      {"off", CLI_TEXT, &o.off, "PART", "disable a check: proxies, races, poison or undefined"},
      {"strict", CLI_FLAG, &o.strict, NULL,
       "reject what rests on the measured assumption of rule R3"},
      {"isa", CLI_FLAG, &o.isa, NULL, "check only the rules of the ISA, not Heddle's own rules"},
      {"changed", CLI_FLAG, &o.changed, NULL,
       "accept PTX that was edited after the manifest was written"},
      {"time", CLI_FLAG, &o.time, NULL, "print the processor time of the simulation"},
      {"trace", CLI_FLAG, &o.trace, NULL, "print every warp instruction"},
      {"timeline", CLI_TEXT, &o.timeline, "FILE",
       "write a timeline of the first launch for ui.perfetto.dev"},
      {"o", CLI_TEXT, &o.output, "FILE", "write D as raw bytes"},
      {0}};
  const cli_command command = {
      .usage = "heddle-sim FILE.ptx FILE.json [--arg NAME=VALUE] [--data NAME=FILE]",
      .about =
          "Executes the PTX of a kernel with its manifest. Asynchronous work completes as late, "
          "as\n"
          "early or as randomly as the PTX memory model allows. A race, a missing fence, an access "
          "out\n"
          "of bounds or a deadlock is a finding, with its PTX line (exit code 1). D is compared "
          "with a\n"
          "reference in double precision.",
      .examples = "heddle gen examples/dynamic_tokens.heddle -o out\n"
                  "heddle-sim out/dynamic_tokens.ptx out/dynamic_tokens.json --arg n=40\n"
                  "heddle-sim out/k.ptx out/k.json --arg m=200 --mode late --seed 7\n"
                  "heddle-sim out/k.ptx out/k.json --mode late --timeline k.trace.json\n"
                  "heddle-sim out/k.ptx out/k.json --data a=a.packed --data b=b.bin -o d.bin\n",
      .options = list,
      .min_args = 2,
      .max_args = 2};
  int code = cli_parse(&command, argc, argv, args, &n_args);
  const cli_number numbers[] = {{"--resident", o.resident, 1, UINT32_MAX},
                                {"--grid-y", o.grid_y, 0, UINT16_MAX},
                                {"--grid-z", o.grid_z, 0, UINT16_MAX},
                                {"--steps", o.max_steps, 0, INT64_MAX}};
  if (code == CLI_GO)
    code = cli_check_numbers("sim.number", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  job j = {.ctx = heddle_context_create(), .ptx_path = args[0], .o = &o};
  heddle_status status = run(&j, args[1]);
  hd_free(j.ptx);
  hd_free(j.json);
  hd_free(j.waited);
  timeline_free(&j.timeline);
  hd_arena_free(&j.arena);
  code = heddle_status_exit_code(status);
  if (status == HEDDLE_MISMATCH) {
    heddle_context_free(j.ctx);
    return code;
  }
  return cli_finish(j.ctx, status);
}

int main(int argc, char **argv) { return cli_close(simulate(argc, argv)); }
