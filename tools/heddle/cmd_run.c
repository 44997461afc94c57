/* heddle run: compiles a problem, runs it, and compares with the double-precision reference. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Emit/user_ir.h"
#include "IR/ir.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "commands.h"
#include "compile_input.h"
#include "sizes.h"

typedef struct run_options {
  compile_input input;
  trial_request request;
  const char *sizes, *backend, *sim_mode, *user_file;
  char *user; /* owned: bytes of the file */
  int64_t seed, trials;
  bool exact, small, json;
} run_options;

static const char about[] =
    "Compiles the problem, makes random operands (or reads them), prunes and packs A, runs the\n"
    "kernel with a poisoned D and guards around every buffer, and compares D with a reference R\n"
    "in double precision. FILE can also be NAME.json of `heddle gen`: then the command runs this\n"
    "code (from a bundle, the code for --target or for the device).\n"
    "\n"
    "The last line is `verify=ok|fail max_err=E bound=B backend=gpu|sim`. E is |D - R| / |R|, or\n"
    "with --exact the number of wrong elements.\n"
    "\n"
    "Without a device the simulator runs the same PTX. It runs a large problem as a small\n"
    "instance with the same schedule and tails. Operands are .npy files in the order in which the\n"
    "problem stores them; -a also accepts canonical and packed files.";

static const char examples[] =
    "heddle run examples/linear_bf16.heddle\n"
    "heddle run examples/dynamic_tokens.heddle --size N=77,LDB=1032 --exact\n"
    "heddle run --type e4m3 -m 256 -k 512 -n 77 --bias m --act silu\n"
    "heddle run examples/ampere_f16.heddle --backend sim --small --json\n"
    "heddle gen examples/dynamic_tokens.heddle --targets sm_80,sm_90a -o made\n"
    "heddle run made/dynamic_tokens.json --size N=333 --target sm_80 --backend sim\n"
    "heddle run examples/user_epilogue.heddle --epilogue examples/user_epilogue.ll\n"
    "heddle run examples/linear_bf16.heddle --a weights.npy --b tokens.npy -o out.npy\n";

/* ---- a small instance ---- */

enum {
  SMALL_PRODUCTS_LOG2 = 26, /* simulated in a few seconds */
  SMALL_K = 512,
  SMALL_BATCH = 3,
  TAIL_OF_K = 64
};

enum { N_SIZES = 4 };
static const hd_arg_kind size_kinds[N_SIZES] = {HD_ARG_M, HD_ARG_N, HD_ARG_K, HD_ARG_G};

static int64_t smaller(int64_t size, int64_t whole, int64_t unit) {
  int64_t small = whole + size % unit;
  return size > small ? small : size;
}

/* The first variant of the bucket that contains these sizes. */
static const hd_variant *bucket_of(const hd_manifest *manifest, const int64_t *size) {
  const hd_variant *v = manifest->variant, *last = v + manifest->n_variants - 1;
  for (bool fits = false; !fits && v < last; v += !fits) {
    fits = true;
    for (int i = 0; i < v->n_requirements; i++) {
      const hd_requirement *r = &v->requirement[i];
      fits &= !r->at_most || size[r->value.arg] <= r->at_most;
    }
  }
  return v;
}

static int64_t size_of(const hd_manifest *manifest, const trial_request *request,
                       hd_arg_kind kind) {
  const hd_arg *arg = hd_manifest_arg(manifest, kind);
  if (arg && arg->fixed > 0)
    return arg->fixed;
  if (kind == HD_ARG_G && (!arg || !request->size[kind]))
    return arg ? SMALL_BATCH : 1;
  return request->size[kind] ? request->size[kind] : 512;
}

/* Number of multiplications. Groups divide the columns; products of a batch have all columns
 * each. */
static double n_products(const hd_manifest *manifest, const trial_request *request) {
  double n = 0.5;
  for (int i = 0; i < N_SIZES - hd_manifest_is_grouped(manifest); i++)
    n *= (double)size_of(manifest, request, size_kinds[i]);
  return n;
}

/* The problem's text with its fixed sizes replaced (owned by the buffer). */
static heddle_status rewrite_sizes(heddle_context *ctx, const compile_input *in,
                                   const int64_t *size, hd_strbuf *text) {
  hd_module *module;
  HD_TRY(hd_parse(ctx, in->path, in->text, in->text_bytes, &module));
  hd_op *kernel = hd_find_op(module->body, HD_OP_KERNEL);
  if (kernel)
    HD_FOR_OPS(op, kernel->regions[0]) {
      for (int i = 0; i < N_SIZES; i++)
        if (op->kind == HD_OP_SIZE && hd_op_has(op, HD_ATTR_VALUE) &&
            hd_op_is(op, HD_ATTR_DIM, hd_arg_name(size_kinds[i])))
          hd_op_set_int(module, op, HD_ATTR_VALUE, size[size_kinds[i]]);
    }
  hd_print(module, text);
  hd_module_free(module);
  return HEDDLE_OK;
}

/* Replaces the kernel by a small instance, compiled with the schedule of the original: two tiles of
 * rows, one tile of columns and eight stages, each with the problem's remainder, and a few products
 * of a batch. */
static heddle_status compile_small(heddle_context *ctx, run_options *o, trial_kernel *kernel) {
  int64_t size[HD_N_ARG_KINDS] = {0}, whole[N_SIZES];
  for (int i = 0; i < N_SIZES; i++)
    whole[i] = size[size_kinds[i]] = size_of(&kernel->manifest, &o->request, size_kinds[i]);
  const hd_variant *v = bucket_of(&kernel->manifest, size);
  size[HD_ARG_M] = smaller(size[HD_ARG_M], 2 * v->tile_m, v->tile_m);
  size[HD_ARG_N] = smaller(size[HD_ARG_N], v->tile_n, v->tile_n);
  size[HD_ARG_K] = smaller(size[HD_ARG_K], SMALL_K, TAIL_OF_K);
  size[HD_ARG_G] = size[HD_ARG_G] < SMALL_BATCH ? size[HD_ARG_G] : SMALL_BATCH;
  hd_strbuf text = {0};
  trial_kernel small = {0};
  heddle_status status = rewrite_sizes(ctx, &o->input, size, &text);
  if (status == HEDDLE_OK)
    status = compile_input_text(ctx, &o->input, hd_strbuf_text(&text), v->schedule, &small);
  hd_strbuf_free(&text);
  if (status != HEDDLE_OK) {
    trial_kernel_free(&small);
    return status;
  }
  trial_kernel_free(kernel);
  *kernel = small;
  for (int i = 0; i < N_SIZES; i++)
    o->request.size[size_kinds[i]] = size[size_kinds[i]];
  if (whole[3] > 1 && !o->json)
    printf("instance: G=%" PRId64 " replaces G=%" PRId64 "\n", size[HD_ARG_G], whole[3]);
  if (!o->json) /* the JSON contains the sizes */
    printf("instance: M=%" PRId64 " N=%" PRId64 " K=%" PRId64 " replaces M=%" PRId64 " N=%" PRId64
           " K=%" PRId64 " in the simulator\n",
           size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K], whole[0], whole[1], whole[2]);
  return HEDDLE_OK;
}

/* ---- backend ---- */

/* *device stays NULL for the simulator. */
static heddle_status choose_backend(heddle_context *ctx, const char *backend, const char *target,
                                    trial_device **device) {
  static const char *const names[] = {"gpu", "sim", "auto"};
  if (!strcmp(backend, "sim"))
    return HEDDLE_OK;
  if (!strcmp(backend, "gpu"))
    return trial_device_open(ctx, device);
  if (strcmp(backend, "auto"))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.backend",
                    "got '%s'; legal: gpu, sim, auto; nearest: %s", backend,
                    cli_nearest(backend, names, HD_COUNT(names)));
  heddle_context *quiet = heddle_context_create();
  heddle_status status = trial_device_open(quiet, device);
  heddle_context_free(quiet);
  if (status != HEDDLE_OK) {
    hd_note(ctx, HD_NOWHERE, "run.backend", "no device was found: the simulator runs the PTX");
  } else if (!trial_device_runs(*device, target)) {
    hd_note(ctx, HD_NOWHERE, "run.backend",
            "the device is %s, the kernel is for %s: the simulator runs the PTX",
            trial_device_target(*device), target);
    trial_device_close(*device);
    *device = NULL;
  }
  return HEDDLE_OK;
}

/* ---- the run ---- */

/* Infinity if the run failed for another reason than its error (a finding, a guard). */
static double shown_error(const trial_result *r) {
  bool small = r->comparison.error <= r->bound;
  return !r->ok && small ? INFINITY : r->comparison.error;
}

static const char *schedule_of(const run_options *o, const trial_kernel *kernel) {
  return kernel->compiled ? heddle_compiled_schedule(kernel->compiled)
                          : bucket_of(&kernel->manifest, o->request.size)->schedule;
}

/* JSON has no infinity and no NaN. */
static json_t *number_or_null(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static heddle_status report_json(heddle_context *ctx, const run_options *o,
                                 const trial_kernel *kernel, const trial_result *r, bool gpu) {
  json_t *object = json_pack(
      "{s:b, s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:f, s:s}", "ok",
      r->ok, "max_err", number_or_null(shown_error(r)), "bound", number_or_null(r->bound),
      "backend", gpu ? "gpu" : "sim", "kernel", kernel->manifest.name, "target",
      kernel->manifest.target, "path", r->path, "schedule", schedule_of(o, kernel), "g",
      (json_int_t)r->g, "m", (json_int_t)r->m, "n", (json_int_t)r->n, "k", (json_int_t)r->k,
      "operands", o->request.exact ? "exact" : "random", "seed", (json_int_t)o->request.seed,
      "launch_seconds", r->launch_seconds, "why", r->why);
  char *line = object ? json_dumps(object, JSON_REAL_PRECISION(6)) : NULL;
  json_decref(object);
  if (!line)
    return HEDDLE_NO_MEMORY;
  puts(line);
  hd_free(line);
  if (!r->ok)
    hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "run.verify", "%s", r->why);
  return r->ok ? HEDDLE_OK : HEDDLE_MISMATCH;
}

static heddle_status report(heddle_context *ctx, const run_options *o, const trial_kernel *kernel,
                            const trial_result *r, bool gpu) {
  if (o->json)
    return report_json(ctx, o, kernel, r, gpu);
  printf("kernel: %s for %s, path %s\nschedule: %s\n", kernel->manifest.name,
         kernel->manifest.target, r->path, schedule_of(o, kernel));
  if (o->trials > 1)
    printf("trials: %" PRIu64 " of %" PRId64 "\n", o->request.seed - (uint64_t)o->seed + 1,
           o->trials);
  printf("problem: M=%" PRId64 " N=%" PRId64 " K=%" PRId64 " seed=%" PRIu64 " operands=%s\n", r->m,
         r->n, r->k, o->request.seed, o->request.exact ? "exact" : "random");
  bool grouped = hd_manifest_is_grouped(&kernel->manifest);
  bool combines = kernel->manifest.slots > 0;
  int64_t columns = combines ? r->n_combined : grouped ? r->n_routed : r->g * r->n;
  uint64_t elements =
      (uint64_t)hd_manifest_d_rows(&kernel->manifest, r->m) * (uint64_t)columns;
  if (grouped)
    printf("groups: G=%" PRId64 ", %" PRId64 " columns routed\n", r->g, r->n_routed);
  else if (r->g > 1)
    printf("batch: G=%" PRId64 "\n", r->g);
  if (combines)
    printf("combined: %" PRId64 " columns of D, sums of %d each\n", r->n_combined,
           (int)kernel->manifest.slots);
  if (r->comparison.n_compared < elements)
    printf("compared: %" PRIu64 " of %" PRIu64 " elements, whole rows\n", r->comparison.n_compared,
           elements);
  if (!r->ok)
    hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "run.verify", "%s", r->why);
  printf("verify=%s max_err=%.3g bound=%.3g backend=%s\n", r->ok ? "ok" : "fail", shown_error(r),
         r->bound, gpu ? "gpu" : "sim");
  return r->ok ? HEDDLE_OK : HEDDLE_MISMATCH;
}

static bool has_files(const trial_request *r) {
  return r->a_file || r->b_file || r->c_file || r->bias_file || r->scale_a_file ||
         r->scale_b_file || r->block_scale_file[0] || r->block_scale_file[1];
}

/* The user's epilogue, evaluated on the host for the reference. */
typedef struct user_epilogue {
  hd_user_function *function; /* owned */
  hd_user_memory memory;      /* the file of --user */
} user_epilogue;

static double call_user(void *user, double acc, double up, int64_t row, int64_t col) {
  user_epilogue *u = user;
  return hd_user_call(u->function, &u->memory, acc, up, (int32_t)row, (int32_t)col);
}

static heddle_status run_trial(heddle_context *ctx, run_options *o, trial_kernel *kernel,
                               trial_device *device, trial_result *result) {
  const char *name = kernel->manifest.user_function;
  if (!name)
    return trial_run(ctx, kernel, &o->request, device, result);
  user_epilogue u = {.memory = {o->request.user_bytes, o->request.n_user_bytes, false, 0}};
  const hd_user_source source = {o->input.epilogue_text, o->input.epilogue_bytes,
                                 o->input.epilogue_worker};
  HD_TRY(hd_user_read(ctx, &source, name, &u.function));
  o->request.user = call_user;
  o->request.user_data = &u;
  heddle_status status = hd_user_check_evaluated(ctx, u.function);
  if (status == HEDDLE_OK)
    (void)call_user(&u, 1, 0, 0, 0); /* reports a missing file before the launch reads its memory */
  if (status == HEDDLE_OK && !u.memory.is_outside)
    status = trial_run(ctx, kernel, &o->request, device, result);
  if (status == HEDDLE_OK && u.memory.is_outside)
    status = hd_error(
        ctx, HEDDLE_INVALID, HD_NOWHERE, "user.bounds",
        "the user function loads at byte %lld of the bytes of `user`; legal: below %lld, of %s",
        (long long)u.memory.outside, (long long)u.memory.n_bytes,
        o->user_file ? o->user_file : "--user FILE, which is not given");
  hd_free(u.function);
  return status;
}

/* Announces the expected time of a long simulation. */
static void announce(heddle_context *ctx, const hd_manifest *manifest,
                     const trial_request *request) {
  enum { PRODUCTS_A_SECOND = 100000000 }; /* on one core, within a factor of two */
  double seconds = n_products(manifest, request) / PRODUCTS_A_SECOND;
  if (seconds < 10)
    return;
  hd_note(ctx, HD_NOWHERE, "run.backend",
          "the simulator will take about %.0f s; --small simulates an instance with the same "
          "schedule and tails",
          seconds);
  cli_print_diagnostics(ctx);
}

static heddle_status run_on(heddle_context *ctx, run_options *o, trial_kernel *kernel,
                            trial_device *device, bool asked_for_sim) {
  bool may_shrink =
      kernel->compiled && !device && !has_files(&o->request) && (o->small || !asked_for_sim);
  bool large = n_products(&kernel->manifest, &o->request) > 1 << SMALL_PRODUCTS_LOG2;
  if (may_shrink && large)
    HD_TRY(compile_small(ctx, o, kernel));
  else if (!device)
    announce(ctx, &kernel->manifest, &o->request);
  trial_result result = {.ok = true};
  for (int64_t i = 0; i < o->trials && result.ok; i++) {
    o->request.seed = (uint64_t)(o->seed + i);
    HD_TRY(run_trial(ctx, o, kernel, device, &result));
  }
  return report(ctx, o, kernel, &result, device != NULL);
}

/* ---- what is run ---- */

static heddle_status compile_problem(heddle_context *ctx, run_options *o, trial_kernel *kernel) {
  HD_TRY(compile_input_sizes(ctx, &o->input, o->sizes, o->request.size));
  HD_TRY(compile_input_choose(ctx, &o->input, o->request.size, false));
  compile_input_keep_one(&o->input);
  return compile_input_compile(ctx, &o->input, kernel);
}

/* NAME.json of `heddle gen`: runs the same code that ships. */
static bool is_artefact(const compile_input *in) {
  return in->text[strspn(in->text, " \t\r\n")] == '{';
}

static bool device_runs(const void *device, const char *target) {
  return trial_device_runs(device, target);
}

static heddle_status read_artefact(heddle_context *ctx, run_options *o, trial_kernel *kernel) {
  const compile_input *in = &o->input;
  trial_device *device = NULL;
  if (in->schedule || in->buckets || in->db || o->small)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = in->path}, "run.artefact",
                    "got a manifest with --schedule, --buckets, --db or --small; legal: --target, "
                    "--size (its code is fixed)");
  if (!in->target && strcmp(o->backend, "sim") != 0)
    (void)trial_device_open(NULL, &device);
  heddle_status status = trial_kernel_read(ctx, in->path, in->text, in->text_bytes, in->target,
                                           device ? device_runs : NULL, device, kernel);
  trial_device_close(device);
  HD_TRY(status);
  HD_TRY(sizes_read(ctx, o->sizes, o->request.size));
  return trial_check_sizes(ctx, &kernel->manifest, o->request.size);
}

static heddle_status read_user(heddle_context *ctx, run_options *o, const hd_manifest *manifest) {
  if (!o->user_file)
    return HEDDLE_OK;
  if (!manifest->user_function)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.user",
                    "got --user, but the kernel has no user epilogue; legal: without --user");
  enum { MAX_USER_BYTES = 1 << 30 };
  HD_TRY(hd_file_read_most(ctx, o->user_file, MAX_USER_BYTES, &o->user, &o->request.n_user_bytes));
  o->request.user_bytes = o->user;
  return HEDDLE_OK;
}

static heddle_status run_problem(heddle_context *ctx, run_options *o) {
  if (o->small && has_files(&o->request))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.small",
                    "got --small and an operand's file, which has the sizes of the whole problem; "
                    "legal: one of them");
  if (o->sim_mode && hd_sim_mode_parse(o->sim_mode, &o->request.sim_mode) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.sim-mode",
                    "got '%s'; legal: late, early, random", o->sim_mode);
  trial_kernel kernel = {0};
  trial_device *device = NULL;
  HD_TRY(compile_input_read(ctx, &o->input));
  heddle_status status =
      is_artefact(&o->input) ? read_artefact(ctx, o, &kernel) : compile_problem(ctx, o, &kernel);
  if (status == HEDDLE_OK)
    status = read_user(ctx, o, &kernel.manifest);
  if (status == HEDDLE_OK)
    status = choose_backend(ctx, o->backend, kernel.manifest.target, &device);
  if (status == HEDDLE_OK)
    status = run_on(ctx, o, &kernel, device, !strcmp(o->backend, "sim"));
  trial_kernel_free(&kernel);
  trial_device_close(device);
  return status;
}

/* Without a text, the operand options describe the problem, as in `heddle gen`; values are
 * generated. */
static void take_operands(run_options *o) {
  problem_flags *f = &o->input.flags;
  f->c_type = o->request.c_file;
  f->bias = o->request.bias_file;
  f->scale_a = o->request.scale_a_file;
  f->scale_b = o->request.scale_b_file;
  o->request.c_file = o->request.bias_file = o->request.scale_a_file = o->request.scale_b_file =
      NULL;
}

int cmd_run(int argc, char **argv) {
  run_options o = {.backend = "auto", .seed = 1, .trials = 1};
  const cli_option options[] = {
      {"size", CLI_TEXT, &o.sizes, "N=512,K=64",
       "sizes and pitches known at launch: M N K LDB LDC LDD LDAUX …"},
      {"a", CLI_TEXT, &o.request.a_file, "FILE", "A (M x K, 2:4 sparse; default: random)"},
      {"b", CLI_TEXT, &o.request.b_file, "FILE", "B as stored: N x K, or K x N when mn_major"},
      {"c", CLI_TEXT, &o.request.c_file, "FILE",
       "C as stored; if there is no problem FILE: the type of C, as for gen"},
      {"bias", CLI_TEXT, &o.request.bias_file, "FILE",
       "the bias; if there is no problem FILE: m or n, as for gen"},
      {"scale-a", CLI_TEXT, &o.request.scale_a_file, "FILE",
       "scales of A; if there is no problem FILE: one or vector, as for gen"},
      {"scale-b", CLI_TEXT, &o.request.scale_b_file, "FILE",
       "scales of B; the same"},
      {"block-scale-a", CLI_TEXT, &o.request.block_scale_file[0], "FILE",
       "block scales of A: M (or M / rows) x ceil(K / block), |u1 or <f4"},
      {"block-scale-b", CLI_TEXT, &o.request.block_scale_file[1], "FILE",
       "block scales of B: N x ceil(K / block)"},
      {"user", CLI_TEXT, &o.user_file, "FILE",
       "the bytes to which the argument `user` of the user epilogue points"},
      {"o", CLI_TEXT, &o.request.d_file, "FILE", "write D as .npy"},
      {"seed", CLI_INT, &o.seed, "S", "seed of the operands (1)"},
      {"routing", CLI_TEXT, &o.request.routing, "R",
       "for groups: random (default), balanced, zipf, one, wild, or offsets: 0,3,17"},
      {"trials", CLI_INT, &o.trials, "N", "run N seeds, until one fails (1)"},
      {"exact", CLI_FLAG, &o.exact, NULL, "use small integers, and compare bit for bit"},
      {"json", CLI_FLAG, &o.json, NULL, "print one JSON object on one line"},
      {"backend", CLI_TEXT, &o.backend, "B", "gpu, sim or auto (default)"},
      {"small", CLI_FLAG, &o.small, NULL, "simulate a small instance of a large problem"},
      {"sim-mode", CLI_TEXT, &o.sim_mode, "MODE",
       "when asynchronous work completes: late (default), early, random"},
      PROBLEM_SHAPE_OPTIONS(o.input.flags),
      COMPILE_INPUT_OPTIONS(o.input),
      {0}};
  const cli_command command = {"run FILE|PROBLEM [OPTIONS]", about, examples, options, 0, 1};
  int code = cli_parse(&command, argc, argv, &o.input.path, NULL);
  if (code != CLI_GO)
    return code;
  const cli_number numbers[] = {{"--trials", o.trials, 1, INT32_MAX}};
  code = cli_check_numbers("run.trials", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  if (!o.input.path)
    take_operands(&o);
  o.request.seed = (uint64_t)o.seed;
  o.request.exact = o.exact;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = run_problem(ctx, &o);
  compile_input_free(&o.input);
  hd_free(o.user);
  return cli_finish(ctx, status);
}
