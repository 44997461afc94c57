/* heddle_pack_device on the fake driver: launches and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/loaded_kernel.h"
#include "fake_cuda.h"
#include "heddle/memory.h"
#include "heddle/pack.h"
#include "sample_manifest.h"

static const heddle_image code = {.ptx = ".version 8.6", .ptx_bytes = 12};

/* A manifest as heddle_pack_compile writes it for bf16, with two widths of loads. */
static hd_manifest pack_manifest(void) {
  hd_manifest m = {.name = "pack_bf16", .target = "sm_90a", .ptx_version = 86,
                   .a_elem = HEDDLE_BF16, .b_elem = HEDDLE_BF16, .c_elem = HEDDLE_BF16,
                   .d_elem = HEDDLE_BF16, .acc_elem = HEDDLE_BF16, .bias_elem = HEDDLE_BF16,
                   .act = "none", .family = "mma", .n_args = 5, .n_variants = 2};
  const hd_arg args[] = {{.kind = HD_ARG_B, .align = 2, .elem = HEDDLE_BF16},
                         {.kind = HD_ARG_D, .align = 128, .elem = HEDDLE_BF16},
                         {.kind = HD_ARG_M, .max = 1 << 30},
                         {.kind = HD_ARG_K, .max = 1 << 30, .divisible_by = 4},
                         {.kind = HD_ARG_LDB, .at_least = {HD_ARG_K, 1, 0, 1}}};
  memcpy(m.arg, args, sizeof args);
  for (int i = 0; i < 2; i++) {
    hd_variant *v = &m.variant[i];
    *v = (hd_variant){.entry = i ? "pack_bf16_2" : "pack_bf16_16", .path = "load",
                      .n_threads = 256, .cluster = 1, .tile_cluster = 1, .tile_m = 64,
                      .tile_n = 128, .split_k = 1, .persistent = true, .n_params = 5};
    for (int p = 0; p < 5; p++)
      v->param[p].arg = args[p].kind;
  }
  m.variant[0].n_requirements = 1;
  m.variant[0].requirement[0] = (hd_requirement){{HD_ARG_LDB, 2, 0, 1}, 16, 0};
  strcpy(m.hash, "0123456789abcdef0123456789abcdef");
  return m;
}

typedef struct fixture {
  fake_cuda *fake;
  heddle_context *ctx;
  heddle_runtime *runtime;
  heddle_kernel *kernel;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  hd_manifest manifest = pack_manifest();
  f->fake = fake_reset(FAKE_CUDA);
  f->fake->n_params = 5;
  f->fake->resident = 2;
  f->ctx = heddle_context_create();
  *state = f;
  assert_int_equal(
      heddle_runtime_create(f->ctx, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime), HEDDLE_OK);
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 0), HEDDLE_OK);
  assert_int_equal(hd_manifest_check(f->ctx, &manifest), HEDDLE_OK);
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, &manifest, &code, true, &f->kernel),
                   HEDDLE_OK);
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  heddle_kernel_free(f->kernel);
  heddle_context_free(f->ctx);
  heddle_runtime_free(f->runtime);
  free(f);
  return 0;
}

#define AT(address) ((void *)(uintptr_t)(address))

static void tiles_lie_along_k(void **state) {
  fixture *f = *state;
  int stream;
  assert_int_equal(heddle_pack_device(f->ctx, f->kernel, 65, 260, AT(0x1000), 528, AT(0x2000),
                                      &stream),
                   HEDDLE_OK);
  const fake_launch *l = &f->fake->launch[0];
  const uint64_t params[] = {0x1000, 0x2000, 65, 260, 264};
  assert_string_equal(l->function, "pack_bf16_16");
  assert_int_equal(l->config.grid_x, 6); /* 2 slabs of 3 tiles; fewer than can be resident */
  assert_ptr_equal(l->config.stream, &stream);
  for (int i = 0; i < 5; i++)
    assert_int_equal((uint32_t)l->params[i], params[i]);
  /* rows at any address; more tiles than resident CTAs */
  assert_int_equal(heddle_pack_device(f->ctx, f->kernel, 64, 1 << 20, AT(0x1000),
                                      (2 << 20) + 2, AT(0x2000), NULL),
                   HEDDLE_OK);
  assert_string_equal(f->fake->launch[1].function, "pack_bf16_2");
  assert_true(f->fake->launch[1].config.grid_x < 8192);
  assert_int_equal(heddle_pack_device(f->ctx, f->kernel, 0, 260, NULL, 520, NULL, NULL), HEDDLE_OK);
  assert_int_equal(f->fake->n_launches, 2);
}

static void refused(fixture *f, uint64_t m, uint64_t k, uintptr_t dense, size_t row_bytes,
                    uintptr_t payload, const char *rule, const char *text) {
  assert_int_equal(heddle_pack_device(f->ctx, f->kernel, m, k, AT(dense), row_bytes, AT(payload),
                                      NULL),
                   HEDDLE_INVALID);
  const heddle_diagnostic *d = heddle_context_get(f->ctx, heddle_context_count(f->ctx) - 1);
  assert_string_equal(d->rule, rule);
  if (!strstr(d->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, d->text);
  assert_int_equal(f->fake->n_launches, 0);
}

static void values_are_refused_in_words(void **state) {
  fixture *f = *state;
  refused(f, 64, 62, 0x1000, 128, 0x2000, "launch.divisible", "argument k: got 62");
  refused(f, 64, 0, 0x1000, 128, 0x2000, "launch.size", "argument k: got 0");
  refused(f, 64, 64, 0x1000, 126, 0x2000, "launch.stride", "argument ldb: got 63");
  refused(f, 64, 64, 0x1000, 129, 0x2000, "pack.pitch",
          "got rows 129 bytes apart; legal: whole elements of 2 bytes; nearest: 130");
  refused(f, 64, 64, 0x1001, 128, 0x2000, "launch.align", "argument b");
  refused(f, 64, 64, 0x1000, 128, 0x2040, "launch.align", "argument d");
  refused(f, 64, 64, 0, 128, 0x2000, "launch.null", "argument b");
  refused(f, 64, 64, 0x1000, 128, 0, "launch.null", "argument d");
  refused(f, UINT64_C(1) << 32, 64, 0x1000, 128, 0x2000, "pack.size",
          "got 4294967296 x 64; legal: up to 2^30 each");
  refused(f, 64, (1 << 30) + 4, 0x1000, (size_t)3 << 30, 0x2000, "launch.max", "argument k");
}

static void a_kernel_that_multiplies_is_refused(void **state) {
  fixture *f = *state;
  hd_manifest product = sample_manifest();
  heddle_kernel_free(f->kernel);
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, &product, &code, true, &f->kernel),
                   HEDDLE_OK);
  refused(f, 64, 64, 0x1000, 128, 0x2000, "pack.kernel", "got kernel sample, which multiplies");
}

/* The manifest with more pointers, in the place of m, which follows them. */
static hd_manifest manifest_with(const hd_arg *more, int n) {
  hd_manifest m = pack_manifest();
  memmove(&m.arg[2 + n], &m.arg[2], 3 * sizeof m.arg[0]);
  memcpy(&m.arg[2], more, (size_t)n * sizeof *more);
  m.n_args += n;
  for (int v = 0; v < 2; v++) {
    m.variant[v].n_params = m.n_args;
    for (int i = 0; i < m.n_args; i++)
      m.variant[v].param[i].arg = m.arg[i].kind;
  }
  return m;
}

/* Loads the kernel in the place of the other one. */
static void load(fixture *f, hd_manifest *m) {
  heddle_kernel_free(f->kernel);
  f->fake->n_params = m->n_args;
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, m, &code, true, &f->kernel), HEDDLE_OK);
}

static void launched(const fixture *f, const uint64_t *params, int n) {
  assert_int_equal(f->fake->n_launches, 1);
  for (int i = 0; i < n; i++)
    assert_int_equal((uint32_t)f->fake->launch[0].params[i], params[i]);
}

static const hd_arg twin_arg = {.kind = HD_ARG_TWIN, .align = 128, .elem = HEDDLE_BF16},
                    mask_arg = {.kind = HD_ARG_MASK, .align = 8, .elem = HEDDLE_U8},
                    keep_arg = {.kind = HD_ARG_KEEP, .align = 8, .elem = HEDDLE_U8},
                    scale_arg = {.kind = HD_ARG_SCALE_A, .align = 4, .elem = HEDDLE_F32};

static heddle_status pack_twin(fixture *f, uint64_t m, uintptr_t twin) {
  return heddle_pack_device_twin(f->ctx, f->kernel, m, 260, AT(0x1000), 528, AT(0x2000), AT(twin),
                                 NULL);
}

static heddle_status pack_two_way(fixture *f, uint64_t m, uintptr_t twin, uintptr_t mask) {
  return heddle_pack_device_two_way(f->ctx, f->kernel, m, 260, AT(0x1000), 528, AT(0x2000),
                                    AT(twin), AT(mask), NULL);
}

/* A kernel with a twin is launched with both payloads, and only so. */
static void a_twin_is_the_third_pointer(void **state) {
  fixture *f = *state;
  hd_manifest twin = manifest_with(&twin_arg, 1);
  twin.arg[3].divisible_by = 4;
  assert_int_equal(pack_twin(f, 64, 0x3000), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(f->ctx, 0)->rule, "pack.kernel");
  load(f, &twin);
  refused(f, 64, 64, 0x1000, 128, 0x2000, "pack.kernel", "packs the transposed matrix, too");
  assert_int_equal(pack_two_way(f, 68, 0x3000, 0x4000), HEDDLE_INVALID);
  assert_int_equal(pack_twin(f, 66, 0x3000), HEDDLE_INVALID);
  assert_int_equal(pack_twin(f, 68, 0), HEDDLE_INVALID);
  assert_int_equal(pack_twin(f, 68, 0x3000), HEDDLE_OK);
  launched(f, (const uint64_t[]){0x1000, 0x2000, 0x3000, 68, 260, 264}, 6);
}

static void a_mask_follows_the_twin(void **state) {
  fixture *f = *state;
  hd_manifest two_way = manifest_with((const hd_arg[]){twin_arg, mask_arg}, 2);
  two_way.arg[4].divisible_by = 4;
  load(f, &two_way);
  refused(f, 64, 64, 0x1000, 128, 0x2000, "pack.kernel", "prunes along rows and columns");
  assert_int_equal(pack_twin(f, 68, 0x3000), HEDDLE_INVALID);
  assert_int_equal(pack_two_way(f, 66, 0x3000, 0x4000), HEDDLE_INVALID);
  assert_int_equal(pack_two_way(f, 68, 0, 0x4000), HEDDLE_INVALID);
  assert_int_equal(pack_two_way(f, 68, 0x3000, 0), HEDDLE_INVALID);
  assert_int_equal(pack_two_way(f, 68, 0x3000, 0x4004), HEDDLE_INVALID);
  assert_int_equal(pack_two_way(f, 68, 0x3000, 0x4000), HEDDLE_OK);
  launched(f, (const uint64_t[]){0x1000, 0x2000, 0x3000, 0x4000, 68, 260, 264}, 7);
}

static heddle_status pack_masked(fixture *f, uintptr_t mask) {
  return heddle_pack_device_masked(f->ctx, f->kernel, 68, 260, AT(0x1000), 528, AT(mask),
                                   AT(0x2000), AT(0x3000), NULL);
}

static void a_mask_that_is_read_follows_the_twin(void **state) {
  fixture *f = *state;
  hd_manifest masked = manifest_with((const hd_arg[]){twin_arg, keep_arg}, 2);
  load(f, &masked);
  refused(f, 64, 64, 0x1000, 128, 0x2000, "pack.kernel", "packs under a mask");
  assert_int_equal(pack_two_way(f, 68, 0x3000, 0x4000), HEDDLE_INVALID);
  assert_int_equal(pack_masked(f, 0), HEDDLE_INVALID);
  assert_int_equal(pack_masked(f, 0x4000), HEDDLE_OK);
  launched(f, (const uint64_t[]){0x1000, 0x2000, 0x3000, 0x4000, 68, 260, 264}, 7);
}

/* Elements in memory have 2 bytes, packed ones 1; the scales are the third pointer. */
static void scales_are_the_third_pointer(void **state) {
  fixture *f = *state;
  hd_manifest m = manifest_with(&scale_arg, 1);
  m.a_elem = m.d_elem = m.acc_elem = HEDDLE_E4M3;
  load(f, &m);
  refused(f, 64, 64, 0x1000, 128, 0x2000, "pack.kernel", "which quantizes; legal: a kernel of "
                                                         "heddle_pack_compile");
  for (int i = 0; i < 3; i++) /* a pitch of half an element, no scales */
    assert_int_equal(heddle_pack_device_quantized(f->ctx, f->kernel, 65, 260, AT(0x1000),
                                                  i == 0 ? 527 : 528, i == 1 ? NULL : AT(0x3004),
                                                  AT(0x2000), NULL),
                     i == 2 ? HEDDLE_OK : HEDDLE_INVALID);
  launched(f, (const uint64_t[]){0x1000, 0x2000, 0x3004, 65, 260, 264}, 6);
}

/* A pack manifest lacks both A and n. A manifest that lacks only one of them is refused. */
static void half_a_pack_is_refused(void **state) {
  fixture *f = *state;
  hd_manifest m = sample_manifest();
  for (int i = 0; i < m.n_args; i++)
    if (m.arg[i].kind == HD_ARG_A)
      m.arg[i] = m.arg[--m.n_args];
  assert_int_equal(hd_manifest_check(f->ctx, &m), HEDDLE_INVALID);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(tiles_lie_along_k),
      CASE(values_are_refused_in_words),
      CASE(a_kernel_that_multiplies_is_refused),
      CASE(a_twin_is_the_third_pointer),
      CASE(a_mask_follows_the_twin),
      CASE(a_mask_that_is_read_follows_the_twin),
      CASE(scales_are_the_third_pointer),
      CASE(half_a_pack_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
