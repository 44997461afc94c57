/* The generated C launcher compiles without warnings and loads. On a fake driver it always agrees
 * with hd_manifest_plan: the same refusal or the same launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Kernel/launcher_c.h"
#include "Support/file.h"
#include "fake_launch.h"
#include "sample_manifest.h"

static const heddle_image both = {"\x7f" "ELF", 4, ".version 8.6\n", 13};

static void write_file(const char *dir, const char *name, const char *ending, const void *data,
                       size_t n_bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending);
  assert_int_equal(hd_file_write(NULL, path, data, n_bytes), HEDDLE_OK);
}

/* What is written into NAME.c.bin. */
typedef enum contents { PLAIN, COMPRESSED, DAMAGED } contents;

/* Writes NAME.h, NAME.c and NAME.c.bin into a folder. */
static void write_parts(const hd_launcher_part *parts, int32_t n, contents as, const char *dir) {
  hd_launcher_files f;
  const char *name = parts[0].manifest->name;
  assert_int_equal(hd_launcher_write(NULL, parts, n, as != PLAIN, &f), HEDDLE_OK);
  if (as == DAMAGED)
    f.binary.data[f.binary.image[0].offset + f.binary.image[0].n_bytes - 6] ^= 1;
  write_file(dir, name, "h", f.header, strlen(f.header));
  write_file(dir, name, "c", f.source, strlen(f.source));
  write_file(dir, name, "c.bin", f.binary.data, f.binary.n_bytes);
  hd_launcher_files_free(&f);
}

static void write_launcher(const hd_manifest *of, const heddle_image *code, const char *dir) {
  hd_manifest manifest = *of;
  const hd_launcher_part part = {&manifest, *code};
  hd_manifest_name_code(&manifest, code);
  write_parts(&part, 1, PLAIN, dir);
}

static void compiles(const char *const *argv) {
  hd_strbuf output = {0};
  int code = -1;
  assert_int_equal(hd_process_run(NULL, argv, 60, &output, &code), HEDDLE_OK);
  if (code != 0)
    fail_msg("%s", hd_strbuf_text(&output));
  hd_strbuf_free(&output);
}

/* Compiles the files into a shared object with the strictest flags and opens it. */
static void *open_parts(const hd_launcher_part *parts, int32_t n, contents as) {
  char *dir = NULL, source[512], object[512];
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_parts(parts, n, as, dir);
  snprintf(source, sizeof source, "%s/%s.c", dir, parts[0].manifest->name);
  snprintf(object, sizeof object, "%s/launcher.so", dir);
  compiles((const char *[]){"cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared",
                            "-fPIC", "-o", object, source, as == PLAIN ? NULL : "-lzstd", NULL});
  void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  hd_file_remove(NULL, dir);
  free(dir);
  return library;
}

static void *open_launcher(const hd_manifest *of, const heddle_image *code) {
  hd_manifest manifest = *of;
  const hd_launcher_part part = {&manifest, *code};
  hd_manifest_name_code(&manifest, code);
  return open_parts(&part, 1, PLAIN);
}

static int setup(void **state) {
  hd_manifest m = sample_manifest();
  *state = open_launcher(&m, &both);
  return 0;
}

static int teardown(void **state) { return dlclose(*state); }

typedef int (*load_fn)(const driver_table *, void *kernel);
typedef void (*unload_fn)(void *kernel);
typedef const char *(*error_fn)(int code);
typedef int (*launch_fn)(const void *kernel, const void *a, const void *b, const void *c, void *d,
                         const void *user, int32_t m, int32_t n, int32_t k, int64_t ldb,
                         int64_t ldc, int64_t ldd, float alpha, float beta, void *workspace,
                         void *stream);
typedef int (*workspace_fn)(const void *kernel, int32_t m, int32_t n, int32_t k, int64_t ldb,
                            int64_t ldc, int64_t ldd, uint64_t *n_bytes);

static _Alignas(16) char kernel[1024]; /* larger than any sample_kernel */

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  return symbol;
}

static void load(void *library, int resident) {
  memset(&seen, 0, sizeof seen);
  seen.resident = resident;
  load_fn sample_load = (load_fn)find(library, "sample_load");
  assert_int_equal(sample_load(&fake_table, kernel), 0);
}

static void loading_tries_cubin_then_ptx(void **state) {
  load_fn sample_load = (load_fn)find(*state, "sample_load");
  load(*state, 66);
  assert_int_equal(seen.n_loads, 1);
  assert_memory_equal(seen.image[0], "\x7f" "ELF", 4);
  assert_int_equal(seen.set_attribute[0], 8);
  assert_int_equal(seen.set_value[0], 200 * 1024);
  memset(&seen, 0, sizeof seen);
  seen.resident = 1;
  seen.image_code[0] = 209;
  assert_int_equal(sample_load(&fake_table, kernel), 0);
  assert_string_equal(seen.image[1], ".version 8.6\n");
  memset(&seen, 0, sizeof seen);
  seen.image_code[0] = 209;
  seen.image_code[1] = 218;
  assert_int_equal(sample_load(&fake_table, kernel), 218);
  assert_int_equal(seen.n_unloads, 0);
}

static void nothing_resident_is_an_error_that_unloads(void **state) {
  load_fn sample_load = (load_fn)find(*state, "sample_load");
  error_fn sample_error = (error_fn)find(*state, "sample_error");
  memset(&seen, 0, sizeof seen);
  int code = sample_load(&fake_table, kernel);
  assert_string_equal(sample_error(code), "no CTA of this kernel fits the device");
  assert_int_equal(seen.n_unloads, 1);
  assert_string_equal(sample_error(0), "done");
  assert_string_equal(sample_error(-99), "unknown code");
}

static int call(void *library, const hd_values *v) {
  float alpha, beta;
  memcpy(&alpha, &v->v[HD_ARG_ALPHA], 4);
  memcpy(&beta, &v->v[HD_ARG_BETA], 4);
  launch_fn sample = (launch_fn)find(library, "sample");
#define P(kind) ((void *)(uintptr_t)v->v[HD_ARG_##kind])
#define I(kind) ((int32_t)v->v[HD_ARG_##kind])
#define L(kind) ((int64_t)v->v[HD_ARG_##kind])
  return sample(kernel, P(A), P(B), P(C), P(D), P(USER), I(M), I(N), I(K), L(LDB), L(LDC), L(LDD),
                alpha, beta, P(WORKSPACE), (void *)0x77);
#undef P
#undef I
#undef L
}

/* The launcher's code for a rule of hd_manifest_plan. */
static int code_of(const char *rule) {
  static const char *const rules[] = {"",           "launch.size",  "launch.max",
                                      "launch.stride", "launch.divisible", "launch.null",
                                      "launch.align", "launch.variant", "launch.grid",
                                      "launch.workspace", "launch.tmap"};
  for (int i = 1; i < (int)HD_COUNT(rules); i++) {
    if (strcmp(rule, rules[i]) == 0)
      return -i;
  }
  fail_msg("no code for %s", rule);
  return 1;
}

static void expect_launch(const hd_launch_plan *plan, const hd_values *v, bool tma) {
  if (seen.n_launches != (plan->grid_x > 0) + (plan->ahead != NULL) + (plan->behind != NULL))
    fail_msg("%d launches, m %d n %d g %d", seen.n_launches, (int)v->v[HD_ARG_M],
             (int)v->v[HD_ARG_N], (int)v->v[HD_ARG_G]);
  if (plan->grid_x == 0)
    return;
  assert_int_equal(seen.first_grid, plan->ahead ? plan->ahead_grid : plan->grid_x);
  const hd_variant *last = plan->behind ? plan->behind : plan->variant; /* the recorded launch */
  if (hd_variant_serves(last)) {
    assert_string_equal(seen.function, last->entry);
    assert_int_equal(seen.grid, plan->behind ? plan->behind_grid : plan->grid_x);
    assert_int_equal(seen.dependent, 1);
    return;
  }
  assert_string_equal(seen.function, plan->variant->entry);
  assert_int_equal(seen.grid, plan->grid_x);
  assert_int_equal(seen.block, plan->variant->n_threads);
  assert_int_equal(seen.shared_bytes, plan->variant->shared_bytes);
  assert_int_equal(seen.cluster, tma ? plan->variant->cluster : 0);
  assert_int_equal(seen.dependent, tma);
  assert_ptr_equal(seen.stream, (void *)0x77);
  assert_int_equal(seen.m, v->v[HD_ARG_M]);
  assert_int_equal(seen.ldb, v->v[HD_ARG_LDB]);
  assert_int_equal(seen.alpha_bits, v->v[HD_ARG_ALPHA]);
  assert_int_equal(seen.n_maps, tma);
  assert_int_equal(seen.b_param, tma ? UINT64_C(0xabababababababab) : v->v[HD_ARG_B]);
  if (!tma)
    return;
  const hd_tmap *t = &plan->tmap[0];
  assert_int_equal(seen.map_type, 9);
  assert_int_equal(seen.map_swizzle, t->swizzle);
  assert_int_equal(seen.map_rank, t->rank);
  assert_int_equal(seen.map_base, t->base);
  for (int i = 0; i < t->rank; i++) {
    assert_int_equal(seen.map_dim[i], t->dim[i]);
    assert_int_equal(seen.map_box[i], t->box[i]);
    assert_int_equal(seen.map_stride[i], t->stride[i]);
  }
}

static uint64_t next(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

/* Sizes near the limits of every rule, and sometimes an extreme value. */
static hd_values random_values(uint64_t *seed) {
  static const int64_t odd[] = {-1, 0, 1, 2, 3, 100001, INT32_MAX, INT32_MIN};
  hd_values v = sample_values();
  v.v[HD_ARG_M] = next(seed) % 1000;
  v.v[HD_ARG_N] = next(seed) % 300;
  v.v[HD_ARG_K] = 4 * (next(seed) % 64) + (next(seed) % 16 == 0);
  v.v[HD_ARG_LDB] = v.v[HD_ARG_K] + next(seed) % 20;
  v.v[HD_ARG_LDC] = v.v[HD_ARG_N] + next(seed) % 3 - (next(seed) % 16 == 0);
  v.v[HD_ARG_LDD] = v.v[HD_ARG_N] + next(seed) % 3;
  v.v[HD_ARG_B] += next(seed) % 4 ? 0 : next(seed) % 20;
  if (next(seed) % 8 == 0)
    v.v[HD_ARG_A + next(seed) % (HD_ARG_WORKSPACE - HD_ARG_A + 1)] = next(seed) % 2 * 0x40;
  if (next(seed) % 8 == 0)
    v.v[HD_ARG_M + next(seed) % 3] = (uint64_t)odd[next(seed) % HD_COUNT(odd)];
  if (next(seed) % 16 == 0)
    v.v[HD_ARG_LDB + next(seed) % 3] =
        (uint64_t)(odd[next(seed) % HD_COUNT(odd)] * (INT64_C(1) << 20));
  if (next(seed) % 64 == 0) { /* more tiles than a grid can have */
    v.v[HD_ARG_M] = 100000;
    v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = INT32_MAX;
  }
  return v;
}

/* The same as a batch: D's matrices lie apart, with interleaved rows, or overlap. */
static hd_values random_batch(uint64_t *seed) {
  hd_values v = random_values(seed);
  uint64_t rows = v.v[HD_ARG_M] * v.v[HD_ARG_LDD], between = next(seed) % 4;
  v.v[HD_ARG_G] = next(seed) % 8 ? next(seed) % 6 : next(seed) % (1 << 21);
  v.v[HD_ARG_STRIDE_B] = next(seed) % 3 * (v.v[HD_ARG_N] * v.v[HD_ARG_LDB] + next(seed) % 3 * 4);
  v.v[HD_ARG_STRIDE_D] = between == 0 ? v.v[HD_ARG_N] + next(seed) % 3 : rows + next(seed) % 9 - 1;
  if (between == 0 && next(seed) % 2)
    v.v[HD_ARG_LDD] = v.v[HD_ARG_G] * v.v[HD_ARG_STRIDE_D];
  if (next(seed) % 64 == 0)
    v.v[HD_ARG_STRIDE_B + next(seed) % 3] = (uint64_t)-(int64_t)(next(seed) % 2);
  return v;
}

/* Calls a launcher whose sample is a batch. */
static int call_batch(void *library, const hd_values *v) {
  typedef int (*batch_fn)(const void *, const void *, const void *, const void *, void *,
                          const void *, int32_t, int32_t, int32_t, int64_t, int64_t, int64_t, float,
                          float, void *, int32_t, int64_t, int64_t, void *);
  batch_fn sample = (batch_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha, beta;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  memcpy(&beta, &x[HD_ARG_BETA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_C],
                (void *)x[HD_ARG_D], (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M],
                (int32_t)x[HD_ARG_N], (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB],
                (int64_t)x[HD_ARG_LDC], (int64_t)x[HD_ARG_LDD], alpha, beta,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_B],
                (int64_t)x[HD_ARG_STRIDE_D], (void *)0x77);
}

/* The same as groups. */
static hd_values random_groups(uint64_t *seed) {
  hd_values v = random_values(seed);
  v.v[HD_ARG_G] = next(seed) % 8 ? next(seed) % 70 : next(seed) % (1 << 11);
  v.v[HD_ARG_STRIDE_A] = 128 * (next(seed) % 100) + (next(seed) % 64 == 0);
  v.v[HD_ARG_OFFSETS] = next(seed) % 64 ? 0x5000 : next(seed) % 2;
  return v;
}

static int call_groups(void *library, const hd_values *v) {
  typedef int (*groups_fn)(const void *, const void *, const void *, const void *, void *,
                           const void *, int32_t, int32_t, int32_t, int64_t, int64_t, int64_t,
                           float, float, void *, int32_t, int64_t, const void *, void *);
  groups_fn sample = (groups_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha, beta;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  memcpy(&beta, &x[HD_ARG_BETA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_C],
                (void *)x[HD_ARG_D], (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M],
                (int32_t)x[HD_ARG_N], (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB],
                (int64_t)x[HD_ARG_LDC], (int64_t)x[HD_ARG_LDD], alpha, beta,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_A],
                (void *)x[HD_ARG_OFFSETS], (void *)0x77);
}

/* The same for groups whose columns are combined. */
static hd_values random_combined(uint64_t *seed) {
  hd_values v = random_groups(seed);
  v.v[HD_ARG_T] = next(seed) % 8 ? next(seed) % 100 : next(seed) % 5000;
  v.v[HD_ARG_COMBINE_D] = next(seed) % 64 ? 0x6000 : next(seed) % 2;
  return v;
}

static int call_combined(void *library, const hd_values *v) {
  typedef int (*combined_fn)(const void *, const void *, const void *, void *, const void *,
                             int32_t, int32_t, int32_t, int64_t, int64_t, float, void *, int32_t,
                             int64_t, const void *, const void *, int32_t, void *);
  combined_fn sample = (combined_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_D],
                (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M], (int32_t)x[HD_ARG_N],
                (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB], (int64_t)x[HD_ARG_LDD], alpha,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_A],
                (void *)x[HD_ARG_OFFSETS], (void *)x[HD_ARG_COMBINE_D], (int32_t)x[HD_ARG_T],
                (void *)0x77);
}

/* Values for the arguments of the sample's manifest. */
static hd_values random_of(const hd_manifest *m, uint64_t *seed) {
  if (hd_manifest_is_grouped(m))
    return m->slots ? random_combined(seed) : random_groups(seed);
  return hd_manifest_arg(m, HD_ARG_G) ? random_batch(seed) : random_values(seed);
}

static int call_of(const hd_manifest *m, void *library, const hd_values *v) {
  if (hd_manifest_is_grouped(m))
    return m->slots ? call_combined(library, v) : call_groups(library, v);
  return hd_manifest_arg(m, HD_ARG_G) ? call_batch(library, v) : call(library, v);
}

static void agree_everywhere(void *library, const hd_manifest *m) {
  heddle_context *ctx = heddle_context_create();
  uint64_t seed = 1;
  int n_launched = 0, n_sums_of_none = 0, n_refused[16] = {0};
  for (int i = 0; i < 20000; i++) {
    int resident = (int)(next(&seed) % 9) + 1;
    hd_values v = random_of(m, &seed), planned = v;
    uint32_t residents[HD_MAX_VARIANTS] = {(uint32_t)(resident * m->variant[0].cluster),
                                            (uint32_t)resident * 10, (uint32_t)resident * 10};
    hd_launch_plan plan;
    load(library, resident);
    int code = call_of(m, library, &v);
    heddle_context_clear(ctx);
    if (hd_manifest_plan(ctx, m, &planned, residents, &plan) != HEDDLE_OK) {
      assert_int_equal(code, code_of(heddle_context_get(ctx, 0)->rule));
      assert_int_equal(seen.n_launches, 0);
      n_refused[-code]++;
      continue;
    }
    assert_int_equal(code, 0);
    expect_launch(&plan, &v, strcmp(plan.variant->path, "tma") == 0);
    n_launched += seen.n_launches > 0;
    n_sums_of_none += seen.n_launches == 1 && hd_variant_serves(plan.variant);
  }
  heddle_context_free(ctx);
  assert_in_range(n_launched, 3000, 20000);
  assert_in_range(n_sums_of_none, m->slots ? 100 : 0, m->slots ? 5000 : 0);
  for (int i = 1; i <= 8; i++)
    if (n_refused[i] == 0)
      fail_msg("no case with code %d", -i);
}

static void launcher_and_plan_agree_everywhere(void **state) {
  hd_manifest m = sample_manifest();
  agree_everywhere(*state, &m);
}

static void workspaces_agree(void *library, const hd_manifest *m) {
  hd_values v = sample_values();
  uint64_t bytes = 0, planned = 0;
  workspace_fn sample_workspace = (workspace_fn)find(library, "sample_workspace");
  for (int32_t rows = 0; rows < 5000; rows += 130) {
    int resident = rows / 130 % 7 + 1;
    uint32_t residents[HD_MAX_VARIANTS] = {(uint32_t)(resident * m->variant[0].cluster),
                                            (uint32_t)resident * 10, (uint32_t)resident * 10};
    load(library, resident);
    v.v[HD_ARG_M] = (uint64_t)rows;
    assert_int_equal(sample_workspace(kernel, rows, 128, 64, 64, 128, 128, &bytes), 0);
    assert_int_equal(hd_manifest_workspace(NULL, m, &v, residents, &planned), HEDDLE_OK);
    assert_int_equal(bytes, planned);
  }
  assert_int_equal(sample_workspace(kernel, 256, 128, 63, 64, 128, 128, &bytes), -4);
}

static void workspace_and_plan_agree(void **state) {
  hd_manifest m = sample_manifest();
  workspaces_agree(*state, &m);
}

/* Opens a launcher of its own. The workspace function is compared only for a plain product, whose
 * arguments it has. */
static void launches_agree(const hd_manifest *m) {
  void *library = open_launcher(m, &both);
  agree_everywhere(library, m);
  dlclose(library);
}

static void launches_and_workspaces_agree(const hd_manifest *m) {
  void *library = open_launcher(m, &both);
  agree_everywhere(library, m);
  workspaces_agree(library, m);
  dlclose(library);
}

static void shared_tiles_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_streamed();
  launches_and_workspaces_agree(&m);
}

static void batches_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_batch();
  launches_agree(&m);
}

static void groups_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_groups();
  launches_agree(&m);
}

static void what_runs_ahead_agrees_too(void **state) {
  (void)state;
  hd_manifest m = sample_copied();
  launches_and_workspaces_agree(&m);
}

static void what_runs_behind_agrees_too(void **state) {
  (void)state;
  hd_manifest m = sample_combined();
  launches_agree(&m);
}

/* The first variant is for few columns: the generated C must have the same border. */
static void buckets_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_variant *first = &m.variant[0];
  first->requirement[first->n_requirements++] = (hd_requirement){{HD_ARG_N, 1, 0, 1}, 1, 100};
  launches_and_workspaces_agree(&m);
}

/* Full clusters in which each CTA has tiles of its own. The last CTAs have none. */
static void spread_clusters_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  m.variant[0].cluster = 4;
  m.variant[0].tile_cluster = 1;
  launches_and_workspaces_agree(&m);
}

/* 16 tiles of 2^27 - 1 k-blocks, shared by 17 workers, as in test_manifest_plan.c. */
static void shared_k_blocks_fit_31_bits(void **state) {
  (void)state;
  hd_manifest m = sample_streamed();
  hd_values v = sample_values();
  void *library = open_launcher(&m, &both);
  v.v[HD_ARG_M] = 16 * 256;
  v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 64;
  v.v[HD_ARG_K] = v.v[HD_ARG_LDB] = INT32_MAX - 15;
  load(library, 17);
  assert_int_equal(call(library, &v), code_of("launch.grid"));
  dlclose(library);
}

static void the_drivers_code_comes_back(void **state) {
  hd_values v = sample_values();
  load(*state, 4);
  seen.launch_code = 719;
  assert_int_equal(call(*state, &v), 719);
}

/* Fixed sizes, no tensor maps, no workspace, only a cubin: other branches of the generator. */
static void fixed_sizes_compile_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_image cubin = both, ptx = both;
  m.variant[0] = m.variant[1];
  m.n_variants = 1;
  m.variant[0].workspace_bytes_per_tile = (hd_expr){0};
  m.variant[0].n_requirements = 0;
  for (int i = 0; i < m.n_args; i++) {
    if (hd_arg_class_of(m.arg[i].kind) == HEDDLE_CLASS_I32 ||
        hd_arg_class_of(m.arg[i].kind) == HEDDLE_CLASS_I64)
      m.arg[i].fixed = 4096;
  }
  cubin.ptx_bytes = 0;
  dlclose(open_launcher(&m, &cubin));
  m.variant[0].n_params = 0;
  ptx.cubin_bytes = 0;
  dlclose(open_launcher(&m, &ptx));
}

static void the_launcher_is_cpp_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  char *dir = NULL, header[512];
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_launcher(&m, &both, dir);
  snprintf(header, sizeof header, "%s/sample.h", dir);
  compiles((const char *[]){"c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            "-x", "c++", header, NULL});
  snprintf(header, sizeof header, "%s/sample.c", dir);
  compiles((const char *[]){"c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            "-x", "c++", header, NULL});
  hd_file_remove(NULL, dir);
  free(dir);
}

/* The header of one run of gen and the source of another do not compile together. */
static void the_header_is_the_sources_own(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_image other = both;
  char *dir = NULL, path[512];
  hd_launcher_files f;
  const hd_launcher_part part = {&m, {"\x7f" "ELF", 4, ".version 8.7\n", 13}};
  hd_strbuf output = {0};
  int code = 0;
  other.ptx = ".version 8.7\n";
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_launcher(&m, &both, dir);
  hd_manifest_name_code(&m, &other);
  assert_int_equal(hd_launcher_write(NULL, &part, 1, false, &f), HEDDLE_OK);
  write_file(dir, "sample", "c", f.source, strlen(f.source));
  snprintf(path, sizeof path, "%s/sample.c", dir);
  const char *argv[] = {"cc", "-std=c11", "-fsyntax-only", path, NULL};
  assert_int_equal(hd_process_run(NULL, argv, 60, &output, &code), HEDDLE_OK);
  assert_int_not_equal(code, 0);
  assert_non_null(strstr(hd_strbuf_text(&output), "sample.h is that of another kernel"));
  hd_strbuf_free(&output);
  hd_launcher_files_free(&f);
  hd_file_remove(NULL, dir);
  free(dir);
}

/* Code for sm_80 and sm_90a: the device's capability selects it. If the driver rejects the best
 * image, the next one is loaded. */
static void the_device_picks_its_target(void **state) {
  (void)state;
  static const struct {
    int capability, answers[2], code;
    const char *target, *images[2];
  } cases[] = {{90, {0}, 0, "sm_90a", {"\x7f" "ELF"}},
               {80, {0}, 0, "sm_80", {".version 7.1"}},
               {86, {0}, 0, "sm_80", {".version 7.1"}},
               {100, {0}, 0, "sm_80", {".version 7.1"}},
               {90, {200, 0}, 0, "sm_90a", {"\x7f" "ELF", ".version 8.6"}},
               {75, {0}, 209, NULL, {NULL}}};
  hd_manifest m[2] = {sample_manifest(), sample_manifest()};
  const hd_launcher_part parts[] = {{&m[0], {NULL, 0, ".version 7.1\n", 13}}, {&m[1], both}};
  m[0].target = "sm_80";
  m[0].family = "mma";
  for (int i = 0; i < 2; i++)
    hd_manifest_name_code(&m[i], &parts[i].code);
  void *library = open_parts(parts, 2, PLAIN);
  typedef const char *(*target_fn)(const void *kernel);
  target_fn target = (target_fn)find(library, "sample_target");
  load_fn load_it = (load_fn)find(library, "sample_load");
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    memset(&seen, 0, sizeof seen);
    seen.resident = 4;
    seen_capability = cases[i].capability;
    memcpy(seen.image_code, cases[i].answers, sizeof seen.image_code);
    assert_int_equal(load_it(&fake_table, kernel), cases[i].code);
    for (int j = 0; j < 2 && cases[i].images[j]; j++)
      assert_memory_equal(seen.image[j], cases[i].images[j], strlen(cases[i].images[j]));
    if (cases[i].target)
      assert_string_equal(target(kernel), cases[i].target);
  }
  seen_capability = 90;
  dlclose(library);
}

/* The driver gets the same code from a compressed launcher, and none that is damaged. */
static void compressed_code_is_the_same(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  const hd_launcher_part part = {&m, both};
  hd_manifest_name_code(&m, &both);
  void *library = open_parts(&part, 1, COMPRESSED);
  load_fn sample_load = (load_fn)find(library, "sample_load");
  memset(&seen, 0, sizeof seen);
  seen.resident = 66;
  seen.image_code[0] = 209;
  assert_int_equal(sample_load(&fake_table, kernel), 0);
  assert_int_equal(seen.n_loads, 2);
  assert_memory_equal(seen.image[0], both.cubin, both.cubin_bytes);
  assert_string_equal(seen.image[1], both.ptx);
  dlclose(library);
  library = open_parts(&part, 1, DAMAGED);
  error_fn sample_error = (error_fn)find(library, "sample_error");
  memset(&seen, 0, sizeof seen);
  int code = ((load_fn)find(library, "sample_load"))(&fake_table, kernel);
  assert_non_null(strstr(sample_error(code), "is not that of the C file"));
  assert_int_equal(seen.n_loads, 0);
  dlclose(library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading_tries_cubin_then_ptx),
      cmocka_unit_test(nothing_resident_is_an_error_that_unloads),
      cmocka_unit_test(launcher_and_plan_agree_everywhere),
      cmocka_unit_test(workspace_and_plan_agree),
      cmocka_unit_test(shared_tiles_agree_too),
      cmocka_unit_test(batches_agree_too),
      cmocka_unit_test(groups_agree_too),
      cmocka_unit_test(what_runs_ahead_agrees_too),
      cmocka_unit_test(what_runs_behind_agrees_too),
      cmocka_unit_test(buckets_agree_too),
      cmocka_unit_test(spread_clusters_agree_too),
      cmocka_unit_test(shared_k_blocks_fit_31_bits),
      cmocka_unit_test(the_drivers_code_comes_back),
      cmocka_unit_test(fixed_sizes_compile_too),
      cmocka_unit_test(the_launcher_is_cpp_too),
      cmocka_unit_test(the_header_is_the_sources_own),
      cmocka_unit_test(the_device_picks_its_target),
      cmocka_unit_test(compressed_code_is_the_same),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
