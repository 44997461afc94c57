/* Memory that runs out. Each allocation of an operation fails once, first alone and then with all
 * later ones. The result must be HEDDLE_OK with the same bytes, or HEDDLE_NO_MEMORY. Nothing leaks,
 * and the process does not end.
 *
 *   unit-memory-short [SEED [SECONDS [NAME]]]
 * SEED (0: the time) and SECONDS (3): the choice of points of sampled operations, and the time for
 * them. NAME: runs only that operation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "Choice/product.h"
#include "Kernel/bundle.h"
#include "Kernel/launcher_c.h"
#include "Passes/passes.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "Support/zstd_frame.h"
#include "Tune/records.h"
#include "heddle/compile.h"
#include "heddle/ir.h"
#include "heddle/launcher.h"
#include "heddle/manifest.h"
#include "heddle/schedule.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"
#include "heddle/tuned.h"
#include "memory_store.h"
#include "shortage.h"

static const char example[] = HD_SOURCE_DIR "/examples/linear_bf16.heddle";
static const char user_example[] = HD_SOURCE_DIR "/examples/user_epilogue";

/* Inputs of the operations, created before any allocation fails. */
static struct {
  char *problem, *role, *user_problem, *user_ir, *choices, folder[64], database[80], cache[80],
      choices_file[80];
  size_t problem_bytes, role_bytes, user_problem_bytes, user_ir_bytes, choices_bytes;
  heddle_compiled *kernel; /* a small one, for the simulator */
  uint16_t a[64][128], b[8][128];
  float d[64][8];
  void *packed;
  size_t packed_bytes;
} in;

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Adds a result to the hash of all results. */
static void add(hd_hash *out, const void *data, size_t n_bytes) {
  *out = hd_hash_combine(*out, hd_hash_bytes(data, n_bytes));
}

/* ---- the operations ---- */

static heddle_status print(heddle_module *module, hd_hash *out) {
  char *text = NULL;
  size_t n_bytes = 0;
  heddle_status status = heddle_module_print(module, &text, &n_bytes);
  if (status == HEDDLE_OK)
    add(out, text, n_bytes);
  free(text); /* as an embedder does */
  heddle_module_free(module);
  return status;
}

static heddle_status parse_text(heddle_context *ctx, const char *text, size_t n, hd_hash *out) {
  heddle_module *module = NULL;
  HD_TRY(heddle_module_parse(ctx, "a file", text, n, &module));
  return print(module, out);
}

static heddle_status parse(heddle_context *ctx, hd_hash *out) {
  return parse_text(ctx, in.problem, in.problem_bytes, out);
}

static heddle_status parse_role(heddle_context *ctx, hd_hash *out) {
  return parse_text(ctx, in.role, in.role_bytes, out);
}

/* A malformed text is reported as malformed, or memory ran out. */
static heddle_status parse_bad(heddle_context *ctx, hd_hash *out) {
  heddle_status status = parse_text(ctx, in.role, in.role_bytes / 2, out);
  return status == HEDDLE_INVALID ? HEDDLE_OK : status;
}

static void describe(heddle_problem *p) {
  heddle_problem_set_place(p, "a program", 1, 2);
  heddle_problem_set_schedule(p, "tile=64x16x128");
  heddle_problem_set_size(p, HEDDLE_DIM_M, 64);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 1024, 1);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 128);
  heddle_problem_set_a(p, HEDDLE_F16);
  heddle_problem_set_b(p, HEDDLE_F16, HEDDLE_K_MAJOR, 128, 0);
  heddle_problem_set_c(p, HEDDLE_F16, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_d(p, HEDDLE_F32, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_bias(p, HEDDLE_F32, HEDDLE_DIM_M);
  heddle_problem_set_scales(p, HEDDLE_SCALE_ONE, HEDDLE_SCALE_VECTOR);
  heddle_problem_set_scalars(p, true, true);
  heddle_problem_set_act(p, "gelu");
}

static heddle_status build(heddle_context *ctx, hd_hash *out) {
  heddle_module *module = NULL;
  heddle_problem *p = heddle_problem_create("a_problem", "sm_90a");
  if (!p)
    return HEDDLE_NO_MEMORY;
  describe(p);
  heddle_status status = heddle_problem_build(ctx, p, &module);
  heddle_problem_free(p);
  return status == HEDDLE_OK ? print(module, out) : status;
}

/* All passes and the checker: the whole compilation before LLVM. */
static heddle_status passes(heddle_context *ctx, hd_hash *out) {
  hd_module *module = NULL;
  hd_strbuf text = {0};
  HD_TRY(hd_parse(ctx, NULL, in.problem, in.problem_bytes, &module));
  heddle_status status = hd_run_pipeline(&(hd_pass_context){.ctx = ctx}, module, NULL);
  uint64_t before = hd_memory_shortages();
  if (status == HEDDLE_OK)
    hd_print(module, &text);
  status = hd_memory_status(ctx, before, status);
  add(out, hd_strbuf_text(&text), text.len);
  hd_strbuf_free(&text);
  hd_module_free(module);
  return status;
}

static heddle_status manifest(heddle_context *ctx, hd_hash *out) {
  size_t n_bytes;
  const char *json = heddle_compiled_manifest(in.kernel, &n_bytes);
  heddle_manifest *read = NULL;
  HD_TRY(heddle_manifest_read(ctx, json, n_bytes, &read));
  const char *prototype = heddle_manifest_prototype(read);
  add(out, prototype, strlen(prototype));
  heddle_manifest_free(read);
  hd_arena arena = {0};
  hd_manifest m;
  char *again = NULL;
  heddle_status status = hd_manifest_read(ctx, json, n_bytes, &arena, &m);
  if (status == HEDDLE_OK)
    status = hd_manifest_write(ctx, &m, &again);
  if (status == HEDDLE_OK)
    add(out, again, strlen(again));
  hd_free(again);
  hd_arena_free(&arena);
  return status;
}

static heddle_status launcher(heddle_context *ctx, hd_hash *out) {
  size_t n_bytes, ptx_bytes;
  const char *json = heddle_compiled_manifest(in.kernel, &n_bytes);
  const char *ptx = heddle_compiled_ptx(in.kernel, &ptx_bytes);
  hd_arena arena = {0};
  hd_manifest m;
  hd_bundle bundle;
  heddle_image code;
  void *owned[2] = {NULL, NULL};
  hd_launcher_files files = {0};
  char *text = NULL;
  heddle_status status = hd_manifest_read(ctx, json, n_bytes, &arena, &m);
  hd_launcher_part part = {&m, {.ptx = ptx, .ptx_bytes = ptx_bytes}};
  if (status == HEDDLE_OK)
    status = hd_launcher_write(ctx, &part, 1, true, &files);
  if (status == HEDDLE_OK)
    status = hd_bundle_write(ctx, &part, 1, &files.binary, &text);
  if (status == HEDDLE_OK)
    status = hd_bundle_read(ctx, text, strlen(text), &arena, &bundle);
  if (status == HEDDLE_OK)
    status = hd_bundle_code(ctx, &bundle, 0, (const unsigned char *)files.binary.data,
                            files.binary.n_bytes, owned, &code);
  if (status == HEDDLE_OK) {
    add(out, code.ptx, code.ptx_bytes);
    add(out, files.source, strlen(files.source));
    add(out, text, strlen(text));
    add(out, bundle.file, strlen(bundle.file));
  }
  hd_free(owned[0]);
  hd_free(owned[1]);
  hd_free(text);
  hd_launcher_files_free(&files);
  hd_arena_free(&arena);
  return status;
}

static heddle_status frame(heddle_context *ctx, hd_hash *out) {
  uint64_t before = hd_memory_shortages();
  static char read[512], text[sizeof read] = "a frame";
  size_t n_bytes = 0;
  void *made = hd_zstd_frame_make(text, sizeof text, &n_bytes);
  bool right = made && hd_zstd_frame_read(made, n_bytes, read, sizeof read);
  add(out, read, sizeof read);
  hd_free(made);
  return hd_memory_status(ctx, before, right ? HEDDLE_OK : HEDDLE_INVALID);
}

static heddle_status launcher_of_parts(heddle_context *ctx, hd_hash *out) {
  heddle_launcher_part part = {0};
  heddle_launcher *made = NULL;
  part.manifest_json = heddle_compiled_manifest(in.kernel, &part.json_bytes);
  part.image.ptx = heddle_compiled_ptx(in.kernel, &part.image.ptx_bytes);
  HD_TRY(heddle_launcher_write(ctx, &part, 1, &made));
  add(out, heddle_launcher_source(made), strlen(heddle_launcher_source(made)));
  add(out, heddle_launcher_manifest(made), strlen(heddle_launcher_manifest(made)));
  heddle_launcher_free(made);
  return HEDDLE_OK;
}

static heddle_status pack(heddle_context *ctx, hd_hash *out) {
  static unsigned char payload[64 * 128 * 2], values[64 * 64 * 2], codes[64 * 64];
  heddle_prune_pack_options two = {.n_threads = 2};
  HD_TRY(heddle_sparse_prune_pack(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, 64, 128, in.a, sizeof in.a[0],
                                  &two, payload));
  add(out, payload, in.packed_bytes);
  HD_TRY(heddle_sparse_pack_dense(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, 64, 128, in.a, sizeof in.a[0],
                                  payload));
  HD_TRY(heddle_sparse_compress(ctx, HEDDLE_F16, 64, 128, in.a, sizeof in.a[0], values, codes));
  HD_TRY(heddle_sparse_pack(ctx, HEDDLE_F16, HEDDLE_FAMILY_WGMMA, 64, 128, values, codes, payload));
  add(out, payload, in.packed_bytes);
  return HEDDLE_OK;
}

static heddle_status simulate(heddle_context *ctx, hd_hash *out) {
  heddle_arg args[] = {{in.packed}, {in.b}, {in.d}, {.i32 = 8}};
  size_t arg_bytes[] = {in.packed_bytes, sizeof in.b, sizeof in.d, 0};
  heddle_simulation s = {.args = args, .arg_bytes = arg_bytes, .n_args = HD_COUNT(args)};
  s.manifest = heddle_compiled_manifest(in.kernel, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(in.kernel, &s.ptx_bytes);
  memset(in.d, 0, sizeof in.d);
  HD_TRY(heddle_simulate(ctx, &s));
  add(out, in.d, sizeof in.d);
  return HEDDLE_OK;
}

static heddle_status tuned(heddle_context *ctx, hd_hash *out) {
  heddle_tuned *choices = NULL;
  heddle_module *module = NULL;
  char schedule[HEDDLE_SCHEDULE_BYTES] = "";
  HD_TRY(hd_tuned_parse(ctx, "choices", in.choices, in.choices_bytes, &choices));
  heddle_status status =
      heddle_tuned_pick(ctx, choices, in.problem, in.problem_bytes, NULL, NULL, schedule);
  if (status == HEDDLE_OK)
    status = heddle_module_parse(ctx, NULL, in.problem, in.problem_bytes, &module);
  if (status == HEDDLE_OK)
    status = heddle_tuned_pick_module(ctx, choices, module, "sm_90a", NULL, schedule);
  add(out, schedule, strlen(schedule));
  heddle_module_free(module);
  heddle_tuned_free(choices);
  return status;
}

static heddle_status tuned_file(heddle_context *ctx, hd_hash *out) {
  heddle_tuned *choices = NULL;
  HD_TRY(heddle_tuned_read(ctx, in.choices_file, &choices));
  size_t n = hd_tuned_count(choices);
  add(out, &n, sizeof n);
  heddle_tuned_free(choices);
  return HEDDLE_OK;
}

static heddle_status schedules(heddle_context *ctx, hd_hash *out) {
  heddle_module *module = NULL;
  heddle_schedule_list *list = NULL;
  heddle_prediction p;
  HD_TRY(heddle_module_parse(ctx, NULL, in.problem, in.problem_bytes, &module));
  heddle_status status =
      heddle_schedule_predict(ctx, module, NULL, "tile=128x256", NULL, &p);
  if (status == HEDDLE_OK)
    status = heddle_schedule_enumerate(ctx, module, NULL, "tile=128x256x64", &list);
  if (status == HEDDLE_OK) {
    add(out, &p.seconds, sizeof p.seconds);
    for (size_t i = 0; i < heddle_schedule_list_count(list); i++)
      add(out, heddle_schedule_list_get(list, i), strlen(heddle_schedule_list_get(list, i)));
  }
  heddle_schedule_list_free(list);
  heddle_module_free(module);
  return status;
}

/* ---- records ---- */

static bool add_record(void *user, const hd_record *r) {
  add(user, r->schedule, strlen(r->schedule));
  add(user, r->device, strlen(r->device));
  add(user, hd_verdict_name(r->verdict), 2);
  return true;
}

static bool add_chosen(void *user, const hd_choice *c) {
  add(user, c->schedule, strlen(c->schedule));
  add(user, c->device, strlen(c->device));
  return true;
}

static heddle_status write_records(heddle_context *ctx, hd_records *r) {
  static const hd_provenance here = {.device = "a device", .driver = "1.2", .seed = 1};
  const hd_record m = {.product = "a product", .schedule = "tile=1", .median = 1e-6,
                       .verdict = HD_VERDICT_WRONG, .why = "why"};
  const hd_choice c = {.product = "a product", .schedule = "tile=1", .default_schedule = "tile=2",
                       .device = "", .seconds = 1e-6, .n_measured = 3};
  HD_TRY(hd_records_begin(ctx, r, &here, true));
  HD_TRY(hd_records_add(ctx, r, &m));
  return hd_records_choose(ctx, r, &c);
}

static heddle_status read_records(heddle_context *ctx, hd_hash *out) {
  hd_records *r = NULL;
  hd_strbuf json = {0};
  hd_hash read = {0};
  HD_TRY(hd_records_open(ctx, in.database, false, &r));
  heddle_status status = hd_records_each(ctx, r, NULL, add_record, &read);
  if (status == HEDDLE_OK)
    status = hd_records_each_choice(ctx, r, add_chosen, &read);
  if (status == HEDDLE_OK)
    status = hd_records_export(ctx, r, false, "a device", &json);
  if (status == HEDDLE_OK)
    add(&read, &json.len, sizeof json.len);
  if (status == HEDDLE_OK)
    *out = hd_hash_combine(*out, read);
  hd_strbuf_free(&json);
  hd_records_close(r);
  return status;
}

/* After a failure the file is intact: it is read without failing allocations. */
static heddle_status records(heddle_context *ctx, hd_hash *out) {
  hd_records *r = NULL;
  remove(in.database);
  HD_TRY(hd_records_open(ctx, in.database, true, &r));
  heddle_status status = write_records(ctx, r);
  hd_records_close(r);
  return status == HEDDLE_OK ? read_records(ctx, out) : status;
}

static void check_records(void) {
  hd_hash out = {0};
  heddle_context *ctx = heddle_context_create();
  heddle_status status = access(in.database, F_OK) == 0 ? read_records(ctx, &out) : HEDDLE_OK;
  if (status != HEDDLE_OK && strcmp(hd_first_error_text(ctx, ""), "") != 0 &&
      !strstr(hd_first_error(ctx)->rule, "records.version") &&
      !strstr(hd_first_error(ctx)->rule, "records.no-device"))
    die(hd_first_error_text(ctx, ""));
  heddle_context_free(ctx);
}

/* ---- compile ---- */

static heddle_status compile(heddle_context *ctx, hd_hash *out) {
  heddle_compiled *c = NULL;
  size_t n_bytes;
  heddle_compile_options o = {.cache = in.cache};
  hd_file_remove(NULL, in.cache);
  HD_TRY(heddle_compile(ctx, NULL, in.problem, in.problem_bytes, &o, &c));
  const char *ptx = heddle_compiled_ptx(c, &n_bytes);
  add(out, ptx, n_bytes);
  const char *json = heddle_compiled_manifest(c, &n_bytes);
  add(out, json, n_bytes);
  heddle_compiled_free(c);
  return HEDDLE_OK;
}

static heddle_status compile_user(heddle_context *ctx, hd_hash *out) {
  heddle_compiled *c = NULL;
  size_t n_bytes;
  heddle_compile_options o = {.user_epilogue = in.user_ir,
                              .user_epilogue_bytes = in.user_ir_bytes};
  HD_TRY(heddle_compile(ctx, NULL, in.user_problem, in.user_problem_bytes, &o, &c));
  const char *ptx = heddle_compiled_ptx(c, &n_bytes);
  add(out, ptx, n_bytes);
  heddle_compiled_free(c);
  return HEDDLE_OK;
}

/* ---- the trial ---- */

typedef struct operation {
  const char *name;
  heddle_status (*run)(heddle_context *ctx, hd_hash *out);
  shortage_of of;
  uint64_t n_fixed;    /* 0: every point. Else about as many, evenly spaced, then random ones */
  void (*check)(void); /* checked after a failure; may be NULL */
} operation;

static const operation operations[] = {{"parse", parse, SHORTAGE_ANY, 0, NULL},
                                       {"parse-role", parse_role, SHORTAGE_ANY, 0, NULL},
                                       {"parse-bad", parse_bad, SHORTAGE_ANY, 0, NULL},
                                       {"build", build, SHORTAGE_ANY, 0, NULL},
                                       {"manifest", manifest, SHORTAGE_ANY, 0, NULL},
                                       {"launcher", launcher, SHORTAGE_ANY, 32, NULL},
                                       {"frame", frame, SHORTAGE_ANY, 0, NULL},
                                       {"launcher-parts", launcher_of_parts, SHORTAGE_ANY, 32,
                                        NULL},
                                       {"pack", pack, SHORTAGE_ANY, 0, NULL},
                                       {"simulate", simulate, SHORTAGE_ANY, 512, NULL},
                                       {"tuned", tuned, SHORTAGE_ANY, 0, NULL},
                                       {"tuned-file", tuned_file, SHORTAGE_ANY, 0, NULL},
                                       {"schedules", schedules, SHORTAGE_ANY, 32, NULL},
                                       {"records", records, SHORTAGE_ANY, 512, check_records},
                                       {"store", memory_store, SHORTAGE_ANY, 512, NULL},
                                       {"passes", passes, SHORTAGE_OWN, 32, NULL},
                                       {"compile", compile, SHORTAGE_OWN, 32, NULL},
                                       {"compile-user", compile_user, SHORTAGE_OWN, 32, NULL}};

typedef struct outcome {
  heddle_status status;
  hd_hash out;
  uint64_t n; /* failing allocations tried */
  int64_t leaks;
} outcome;

/* After HEDDLE_NO_MEMORY, the context is empty or reports the lack of memory. */
static bool says_so(const heddle_context *ctx) {
  size_t n = heddle_context_count(ctx);
  for (size_t i = 0; i < n; i++) {
    const char *rule = heddle_context_get(ctx, i)->rule;
    if (strcmp(rule, "memory.short") == 0 || strcmp(rule, "memory.size") == 0)
      return true;
  }
  return n == 0;
}

static outcome try(const operation *op, uint64_t n, bool lasting) {
  outcome o = {.status = HEDDLE_NO_MEMORY};
  shortage_begin(op->of, n, lasting);
  heddle_context *ctx = heddle_context_create();
  if (ctx)
    o.status = op->run(ctx, &o.out);
  if (o.status == HEDDLE_NO_MEMORY && !says_so(ctx))
    die("memory ran out, and the diagnostics say something else");
  heddle_context_free(ctx);
  o.n = shortage_end();
  o.leaks = shortage_leaks();
  return o;
}

typedef struct counts {
  uint64_t n_points, n_tried, n_ok, n_short, n_wrong;
} counts;

static void try_point(const operation *op, const outcome *whole, uint64_t n, bool lasting,
                      counts *c) {
  outcome o = try(op, n, lasting);
  bool ok = o.status == HEDDLE_OK && o.out.lo == whole->out.lo && o.out.hi == whole->out.hi;
  bool is_short = o.status == HEDDLE_NO_MEMORY;
  bool wrong = (!ok && !is_short) || o.leaks > whole->leaks || hd_memory_reserve_blocks();
  c->n_tried++;
  c->n_ok += ok;
  c->n_short += is_short;
  c->n_wrong += wrong;
  if (wrong)
    printf("%s: point %" PRIu64 "%s: %s%s, %lld blocks kept, %zu of the reserve\n", op->name, n,
           lasting ? " and all behind it" : "", heddle_status_text(o.status),
           o.status == HEDDLE_OK && !ok ? ", other bytes" : "",
           (long long)(o.leaks - whole->leaks), hd_memory_reserve_blocks());
  if (op->check)
    op->check();
}

static uint64_t random_below(uint64_t *seed, uint64_t n) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*seed >> 33) % n;
}

/* Tries every point, or evenly spaced points and then random ones until the time is over. */
static counts try_all(const operation *op, uint64_t *seed, double seconds) {
  counts c = {0};
  for (int i = 0; i < 2; i++) /* libraries allocate their permanent data */
    try(op, 0, false);
  outcome whole = try(op, 0, false);
  if (whole.status != HEDDLE_OK) {
    heddle_context *ctx = heddle_context_create();
    op->run(ctx, &whole.out);
    fprintf(stderr, "%s: ", op->name);
    die(hd_first_error_text(ctx, "fails with all the memory that there is"));
  }
  c.n_points = whole.n;
  double end = hd_clock_seconds() + seconds;
  uint64_t stride = op->n_fixed ? whole.n / op->n_fixed + 1 : 1;
  for (int lasting = 0; lasting < 2; lasting++)
    for (uint64_t n = 1; n <= whole.n; n += stride)
      try_point(op, &whole, n, lasting, &c);
  while (op->n_fixed && hd_clock_seconds() < end)
    try_point(op, &whole, 1 + random_below(seed, whole.n), random_below(seed, 2), &c);
  return c;
}

/* ---- inputs ---- */

static void read_file(const char *path, char **text, size_t *n_bytes) {
  if (hd_file_read_text(NULL, path, text, n_bytes) != HEDDLE_OK)
    die(path);
}

static void make_role(void) {
  hd_module *module = NULL;
  hd_strbuf text = {0};
  if (hd_parse(NULL, NULL, in.problem, in.problem_bytes, &module) != HEDDLE_OK ||
      hd_run_pipeline(&(hd_pass_context){0}, module, NULL) != HEDDLE_OK)
    die("no role level");
  hd_print(module, &text);
  hd_module_free(module);
  in.role_bytes = text.len;
  in.role = hd_strbuf_take(&text);
}

static void make_kernel(void) {
  heddle_module *module = NULL;
  heddle_problem *p = heddle_problem_create("small", "sm_80");
  heddle_problem_set_size(p, HEDDLE_DIM_M, 64);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 64, 1);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 128);
  heddle_problem_set_a(p, HEDDLE_F16);
  heddle_problem_set_b(p, HEDDLE_F16, HEDDLE_K_MAJOR, 128, 0);
  heddle_problem_set_d(p, HEDDLE_F32, HEDDLE_ROW_MAJOR, 8, 0);
  if (heddle_problem_build(NULL, p, &module) != HEDDLE_OK ||
      heddle_compile_module(NULL, module, NULL, &in.kernel) != HEDDLE_OK)
    die("no kernel");
  heddle_module_free(module);
  heddle_problem_free(p);
}

static void make_operands(void) {
  static const uint16_t bits[] = {0xbc00, 0x3c00, 0x4000}; /* -1, 1, 2 */
  for (int i = 0; i < 64 * 128; i++)
    in.a[i / 128][i % 128] = bits[i * 7 % 3];
  for (int i = 0; i < 8 * 128; i++)
    in.b[i / 128][i % 128] = bits[i * 5 % 3];
  if (heddle_sparse_packed_bytes(NULL, HEDDLE_F16, HEDDLE_FAMILY_MMA, 64, 128, &in.packed_bytes) ||
      heddle_sparse_prune(NULL, HEDDLE_F16, 64, 128, in.a, sizeof in.a[0]) != HEDDLE_OK)
    die("no operands");
  in.packed = malloc(in.packed_bytes);
  if (heddle_sparse_pack_dense(NULL, HEDDLE_F16, HEDDLE_FAMILY_MMA, 64, 128, in.a, sizeof in.a[0],
                               in.packed) != HEDDLE_OK)
    die("no packed A");
}

static void prepare(void) {
  char path[300];
  static const char *const choices =
      "{\"version\": 1, \"choices\": [{\"product\": \"sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 "
      "n=512 k=4096 k_major row_major\", \"schedule\": \"raster_group=3\", \"us\": 10, "
      "\"default_us\": 11, \"device\": \"NVIDIA H200\"}], "
      "\"ceilings\": {\"device\": \"a device\"}}";
  in.choices = strdup(choices);
  in.choices_bytes = strlen(choices);
  read_file(example, &in.problem, &in.problem_bytes);
  snprintf(path, sizeof path, "%s.heddle", user_example);
  read_file(path, &in.user_problem, &in.user_problem_bytes);
  snprintf(path, sizeof path, "%s.ll", user_example);
  read_file(path, &in.user_ir, &in.user_ir_bytes);
  strcpy(in.folder, "/tmp/heddle-memory-XXXXXX");
  if (!mkdtemp(in.folder))
    die("no folder");
  snprintf(in.database, sizeof in.database, "%s/tune.db", in.folder);
  snprintf(in.cache, sizeof in.cache, "%s/cache", in.folder);
  snprintf(in.choices_file, sizeof in.choices_file, "%s/choices.json", in.folder);
  if (hd_file_write(NULL, in.choices_file, in.choices, in.choices_bytes) != HEDDLE_OK)
    die(in.choices_file);
  make_role();
  make_kernel();
  make_operands();
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  double seconds = argc > 2 ? atof(argv[2]) : 3;
  uint64_t n_wrong = 0;
  const char *only = argc > 3 ? argv[3] : NULL;
  seed = seed ? seed : (uint64_t)time(NULL);
  prepare();
  printf("seed %" PRIu64 ", %g s a sampled operation\n", seed, seconds);
  for (size_t i = 0; i < HD_COUNT(operations); i++) {
    const operation *op = &operations[i];
    if (only && strcmp(only, op->name) != 0)
      continue;
    counts c = try_all(op, &seed, seconds);
    printf("%-12s %6" PRIu64 " points, %6" PRIu64 " tried: %6" PRIu64 " right, %6" PRIu64
           " without memory, %" PRIu64 " wrong\n",
           op->name, c.n_points, c.n_tried, c.n_ok, c.n_short, c.n_wrong);
    fflush(stdout);
    n_wrong += c.n_wrong;
  }
  hd_file_remove(NULL, in.folder);
  return n_wrong ? 1 : 0;
}
