/* The epilogue values and the rows of D with which bench and tune verify a kernel. They are
 * compared with the kernel itself in the simulator, for each epilogue, also of pairs and of
 * batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "Reference/reference_compare.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Tune/bench_operands.h"
#include "Tune/epilogue_values.h"
#include "heddle/compile.h"
#include "heddle/manifest.h"
#include "heddle/simulate.h"

enum { SEED = 5, MOST_ARGS = 32, MOST_SCALES = 64 };

typedef struct launch {
  heddle_arg args[MOST_ARGS];
  size_t bytes[MOST_ARGS], n;
} launch;

static void add_pointer(launch *l, const void *at, size_t n_bytes) {
  l->args[l->n] = (heddle_arg){.ptr = at};
  l->bytes[l->n++] = n_bytes;
}

/* Sets the arguments by their names. Strides are in the order of the operands' bytes. */
static void fill(const hd_product *p, const hd_bench_host *h, const void *packed, void *d,
                 void *aux, float *scales, const heddle_manifest *m, launch *l) {
  int64_t batch = p->g ? p->g : 1, rows = hd_product_d_rows(p);
  const hd_epilogue_values *v = &h->values;
  for (size_t i = 0; i < heddle_manifest_arg_count(m); i++) {
    heddle_manifest_arg a;
    assert_int_equal(heddle_manifest_get_arg(m, i, &a), HEDDLE_OK);
    const struct {
      const char *name;
      const void *at;
      size_t n_bytes;
    } pointers[] = {{"a", packed, h->packed_bytes * (size_t)batch},
                    {"b", h->b, h->b_bytes},
                    {"c", v->c, v->c_bytes},
                    {"d", d, hd_product_d_bytes(p)},
                    {"aux", aux, hd_product_aux_bytes(p)},
                    {"bias", v->bias, v->n_bias * 4},
                    {"scale_a", v->scale_a, v->n_scale_a * 4},
                    {"scale_b", v->scale_b, v->n_scale_b * 4},
                    {"scale_d", scales, MOST_SCALES * sizeof *scales},
                    {"block_scale_a", v->blocks[0], v->n_blocks[0] * 4},
                    {"block_scale_b", v->blocks[1], v->n_blocks[1] * 4},
                    {"workspace", NULL, 0}};
    const struct {
      const char *name;
      int64_t value;
    } numbers[] = {{"ldb", p->k},
                   {"ldsd", p->n},
                   {"ldsa", hd_product_scales(p, 0)},
                   {"ldsb", v->columns ? p->n : hd_product_scales(p, 1)},
                   {"ldc", p->d_col_major ? rows : p->n},
                   {"ldd", p->d_col_major ? rows : p->n},
                   {"ldaux", p->d_col_major ? rows : p->n},
                   {"stride_a", (int64_t)h->packed_bytes},
                   {"stride_b", p->n * p->k},
                   {"stride_c", rows * p->n},
                   {"stride_d", rows * p->n},
                   {"stride_aux", rows * p->n},
                   {"stride_bias", 0},
                   {"stride_scale_a", 0},
                   {"stride_scale_b", 0}};
    size_t before = l->n;
    for (size_t j = 0; j < HD_COUNT(pointers); j++)
      if (strcmp(a.name, pointers[j].name) == 0)
        add_pointer(l, pointers[j].at, pointers[j].n_bytes);
    for (size_t j = 0; j < HD_COUNT(numbers); j++)
      if (strcmp(a.name, numbers[j].name) == 0)
        l->args[l->n++] = (heddle_arg){.i64 = numbers[j].value};
    if (strcmp(a.name, "eps") == 0)
      l->args[l->n++] = (heddle_arg){.f32 = HD_EPILOGUE_EPS};
    assert_int_equal(l->n, before + 1);
  }
}

/* Compares each product of a batch. */
static bool compares(const hd_product *p, const hd_bench_host *h, const void *d,
                     const float *scales) {
  uint64_t rows = (uint64_t)hd_product_d_rows(p), n = (uint64_t)p->n;
  size_t each = hd_product_d_bytes(p) / (size_t)(p->g ? p->g : 1);
  bool ok = true;
  for (int64_t g = 0; g < (p->g ? p->g : 1); g++) {
    const double *slack, *expected = hd_bench_host_expected(h, p, g, &slack);
    double *divided = malloc(2 * h->n_checked * n * sizeof *divided);
    if (p->epilogue.reduce == 'q') {
      hd_epilogue_divide(p, h->checked, h->n_checked, expected, slack, scales, divided);
      expected = divided;
      slack = divided + h->n_checked * n;
    }
    hd_matrix out = {(const char *)d + (size_t)g * each, p->d, p->d_col_major ? 1 : n,
                     p->d_col_major ? rows : 1};
    ok &= hd_compare_bounded(&out, n, h->checked, h->n_checked, expected, slack,
                             hd_product_bound(p, p->d)).ok;
    free(divided);
  }
  return ok;
}

static bool compares_aux(const hd_product *p, const hd_bench_host *h, const void *aux) {
  bool ok = true;
  for (int64_t g = 0; g < (p->g ? p->g : 1) && p->epilogue.aux; g++)
    ok &= hd_bench_host_compare_aux(h, p, g, aux, !p->d_col_major).ok;
  return ok;
}

/* One element of the last product's last checked row. */
static void change_aux(const hd_product *p, const hd_bench_host *h, char *aux) {
  int64_t rows = hd_product_d_rows(p), row = (int64_t)h->checked[h->n_checked - 1];
  size_t bytes = heddle_elem_get(p->epilogue.aux_type)->container_bits / 8;
  int64_t at = (p->g ? p->g - 1 : 0) * rows * p->n + (p->d_col_major ? row : row * p->n);
  memset(aux + (size_t)at * bytes, 0x7f, bytes);
}

static void check(const char *name) {
  hd_product p;
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *compiled;
  heddle_manifest *m;
  hd_bench_host *h = hd_bench_host_create();
  assert_int_equal(hd_product_parse(ctx, name, &p), HEDDLE_OK);
  assert_int_equal(hd_bench_host_make(ctx, &p, SEED, 1, h), HEDDLE_OK);
  size_t batch = p.g ? (size_t)p.g : 1, d_bytes = hd_product_d_bytes(&p);
  char *text = hd_product_problem(&p), *packed = malloc(batch * h->packed_bytes);
  char *d = malloc(d_bytes), *aux = malloc(p.epilogue.aux ? hd_product_aux_bytes(&p) : 1);
  for (size_t g = 0; g < batch; g++)
    memcpy(packed + g * h->packed_bytes, h->packed, h->packed_bytes);
  memset(d, 0xff, d_bytes);
  memset(aux, 0xff, p.epilogue.aux ? hd_product_aux_bytes(&p) : 1);
  heddle_compile_options options = {.schedule = p.epilogue.reduce
                                                    ? "tile=128x16 stages=2 b=tma"
                                                    : "tile=64x16 stages=2 b=tma split_k=1"};
  float scales[MOST_SCALES];
  memset(scales, 0xff, sizeof scales);
  if (heddle_compile(ctx, name, text, strlen(text), &options, &compiled) != HEDDLE_OK)
    fail_msg("%s: %s", name, hd_first_error_text(ctx, "no text"));
  heddle_simulation s = {.order = HEDDLE_SIM_EARLY};
  s.manifest = heddle_compiled_manifest(compiled, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(compiled, &s.ptx_bytes);
  assert_int_equal(heddle_manifest_read(ctx, s.manifest, s.manifest_bytes, &m), HEDDLE_OK);
  launch l = {.n = 0};
  fill(&p, h, packed, d, aux, scales, m, &l);
  s.args = l.args;
  s.arg_bytes = l.bytes;
  s.n_args = l.n;
  if (heddle_simulate(ctx, &s) != HEDDLE_OK)
    fail_msg("%s: %s", name, hd_first_error_text(ctx, "no text"));
  if (!compares(&p, h, d, scales))
    fail_msg("%s: D is not the reference's", name);
  if (!compares_aux(&p, h, aux))
    fail_msg("%s: the second matrix is not the reference's", name);
  if (p.epilogue.aux) {
    change_aux(&p, h, aux);
    assert_false(compares_aux(&p, h, aux));
  }
  h->expected[0] += 1 + h->expected[0]; /* changes one element of the first matrix */
  assert_false(compares(&p, h, d, scales));
  heddle_manifest_free(m);
  heddle_compiled_free(compiled);
  hd_bench_host_free(h);
  heddle_context_free(ctx);
  hd_free(text);
  free(packed);
  free(d);
  free(aux);
}

#define SIZES "m=64 n=24 k=128 k_major"
static void kernels_are_held_to_their_epilogues(void **state) {
  (void)state;
  static const char *const names[] = {
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major act=gelu bias=m c",
      "sm_90a a=bf16 b=bf16 acc=f32 d=f32 " SIZES " col_major act=silu bias=n c",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 " SIZES " row_major scale_a=vector scale_b=vector",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 m=300 n=90 k=304 k_major row_major blocks=128x128",
      "sm_90a a=e4m3 b=e5m2 acc=f32 d=bf16 m=140 n=90 k=304 k_major col_major act=silu bias=m "
      "blocks=1x128",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 " SIZES " row_major bias=m scale_a=one scale_b=vector",
      "sm_90a a=s8 b=s8 acc=s32 d=bf16 " SIZES " row_major act=relu scale_a=vector",
      "sm_90a a=bf16 b=bf16 acc=f32 d=f32 m=64 n=24 k=304 k_major col_major scale_b=sumsq",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " col_major act=silu reduce=sumsq",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=e4m3 m=192 n=24 k=128 k_major col_major reduce=scale"};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    check(names[i]);
}

static void second_matrices_too(void **state) {
  (void)state;
  static const char *const names[] = {
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major act=silu aux=input:f32 bias=m c",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 " SIZES " col_major act=gelu aux=result:f32 "
      "scale_a=vector",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " col_major act=silu aux=input:bf16 g=2",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=e4m3 m=192 n=24 k=128 k_major col_major aux=result:bf16 "
      "reduce=scale",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major act=swiglu aux=result:f32"};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    check(names[i]);
}

static void pairs_and_batches_too(void **state) {
  (void)state;
  static const char *const names[] = {
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major act=swiglu",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 " SIZES " col_major act=geglu bias=m scale_a=vector",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major g=3",
      "sm_90a a=bf16 b=bf16 acc=f32 d=f32 " SIZES " col_major bias=m c g=2",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " SIZES " row_major act=reglu bias=n g=2"};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    check(names[i]);
}

/* `heddle bench` compares kernels of both orders of D with one reference. */
static void c_has_an_other_order(void **state) {
  (void)state;
  enum { M = 6, N = 5, G = 2 };
  hd_product p = {.a = HEDDLE_BF16, .b = HEDDLE_BF16, .acc = HEDDLE_F32, .d = HEDDLE_BF16,
                  .m = M, .n = N, .k = 64, .g = G, .epilogue = {.c = true}};
  hd_epilogue_values v = {0}, back = {0};
  void *other, *again;
  assert_int_equal(hd_epilogue_values_make(NULL, &p, 7, &v), HEDDLE_OK);
  assert_int_equal(hd_epilogue_other_c(NULL, &p, &v, &other), HEDDLE_OK);
  for (size_t g = 0; g < G; g++)
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++)
        assert_memory_equal((uint16_t *)v.c + (g * M + i) * N + j,
                            (uint16_t *)other + (g * N + j) * M + i, 2);
  p.d_col_major = true;
  back = (hd_epilogue_values){.c = other, .c_bytes = v.c_bytes};
  assert_int_equal(hd_epilogue_other_c(NULL, &p, &back, &again), HEDDLE_OK);
  assert_memory_equal(again, v.c, v.c_bytes);
  hd_free(again), hd_free(other);
  hd_epilogue_values_free(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(c_has_an_other_order),
                                     cmocka_unit_test(kernels_are_held_to_their_epilogues),
                                     cmocka_unit_test(second_matrices_too),
                                     cmocka_unit_test(pairs_and_batches_too)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
