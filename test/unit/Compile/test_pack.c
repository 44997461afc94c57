/* Runs the prune-and-pack kernels in the simulator: the result must equal lib/Sparse's bit for
 * bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "heddle/convert.h"
#include "heddle/pack.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

static const heddle_elem elems[] = {HEDDLE_BF16, HEDDLE_F16,  HEDDLE_TF32, HEDDLE_E4M3, HEDDLE_E5M2,
                                    HEDDLE_E3M2, HEDDLE_E2M3, HEDDLE_E2M1, HEDDLE_S8,   HEDDLE_U8};

/* A dense matrix in memory. Rows are `pitch` bytes apart. The first row begins `offset` bytes into
 * the allocation, so that its alignment allows wide loads or does not. */
typedef struct matrix {
  heddle_elem elem;
  uint64_t m, k;
  size_t bytes, pitch, offset, n_bytes; /* bytes: of one element */
  uint8_t *data;
} matrix;

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

static matrix make(heddle_elem elem, uint64_t m, uint64_t k, size_t pad, size_t offset) {
  matrix x = {.elem = elem, .m = m, .k = k, .offset = offset};
  x.bytes = heddle_elem_get(elem)->container_bits / 8u;
  x.pitch = k * x.bytes + pad;
  x.n_bytes = (m - 1) * x.pitch + k * x.bytes;
  x.data = hd_xmalloc(offset + x.n_bytes);
  return x;
}

static void fill_random(matrix *x, uint64_t seed) {
  for (size_t i = 0; i < x->offset + x->n_bytes; i++)
    x->data[i] = (uint8_t)next_random(&seed);
}

/* Zeros of both signs, equal magnitudes of both signs, subnormals, the largest values, Inf and
 * NaNs. */
static void fill_hostile(matrix *x, uint64_t seed) {
  static const double alphabet[] = {0, -0.0, 1, -1, 1, -7, 1e-7, -128, 127, 1e9, -1e9,
                                    -__builtin_inf(), __builtin_inf(), __builtin_nan("")};
  memset(x->data, 0, x->offset + x->n_bytes);
  for (uint64_t i = 0; i < x->m; i++)
    for (uint64_t j = 0; j < x->k; j++) {
      double value = alphabet[next_random(&seed) % (sizeof alphabet / sizeof *alphabet)];
      uint8_t *at = x->data + x->offset + i * x->pitch;
      hd_elem_store(x->elem, at, j, value);
      if (next_random(&seed) % 8 == 0) /* NaNs with payloads, unused bits */
        at[j * x->bytes] |= (uint8_t)next_random(&seed);
    }
}

typedef struct packer {
  heddle_context *ctx;
  heddle_compiled *compiled;
} packer;

typedef heddle_status compile_fn(heddle_context *ctx, heddle_elem elem, const char *target,
                                 const char *ptxas, heddle_compiled **compiled);

static packer open_packer_of(compile_fn *compile, heddle_elem elem, const char *target) {
  packer p = {.ctx = heddle_context_create()};
  heddle_status status = compile(p.ctx, elem, target, NULL, &p.compiled);
  for (size_t i = 0; status != HEDDLE_OK && i < heddle_context_count(p.ctx); i++)
    print_error("%s: %s\n", heddle_context_get(p.ctx, i)->rule, heddle_context_get(p.ctx, i)->text);
  assert_int_equal(status, HEDDLE_OK);
  return p;
}

static packer open_packer(heddle_elem elem, const char *target) {
  return open_packer_of(heddle_pack_compile, elem, target);
}

static void close_packer(packer *p) {
  heddle_compiled_free(p->compiled);
  heddle_context_free(p->ctx);
}

static uint8_t *poisoned(size_t n_bytes) {
  uint8_t *payload = hd_xmalloc(n_bytes);
  memset(payload, 0xee, n_bytes);
  return payload;
}

typedef struct buffer {
  void *ptr;
  size_t n_bytes;
} buffer;

/* m, k: the sizes of the packed matrix. more: what only some kernels have (the payload of the
 * transposed matrix and a mask, or the scales), up to a null pointer. */
static void simulate(const packer *p, const matrix *x, uint64_t m, uint64_t k, uint8_t *payload,
                     size_t n_bytes, const buffer *more) {
  heddle_arg args[7] = {{.ptr = x->data + x->offset}, {.ptr = payload}};
  size_t arg_bytes[7] = {x->n_bytes, n_bytes}, n = 2;
  for (; more->ptr; more++) {
    args[n].ptr = more->ptr;
    arg_bytes[n++] = more->n_bytes;
  }
  args[n++].i32 = (int32_t)m;
  args[n++].i32 = (int32_t)k;
  args[n++].i64 = (int64_t)(x->pitch / x->bytes);
  heddle_simulation s = {.args = args, .arg_bytes = arg_bytes, .n_args = n,
                         .order = HEDDLE_SIM_RANDOM, .seed = x->m};
  s.manifest = heddle_compiled_manifest(p->compiled, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(p->compiled, &s.ptx_bytes);
  heddle_status status = heddle_simulate(p->ctx, &s);
  for (size_t i = 0; status != HEDDLE_OK && i < heddle_context_count(p->ctx); i++)
    print_error("%s: %s\n", heddle_context_get(p->ctx, i)->rule,
                heddle_context_get(p->ctx, i)->text);
  assert_int_equal(status, HEDDLE_OK);
}

static size_t packed_bytes(const matrix *x) {
  size_t n_bytes;
  assert_int_equal(
      heddle_sparse_packed_bytes(NULL, x->elem, HEDDLE_FAMILY_MMA, x->m, x->k, &n_bytes),
      HEDDLE_OK);
  return n_bytes;
}

/* What the host makes of x. */
static void expect_payload(const matrix *x, const uint8_t *got) {
  size_t n_bytes = packed_bytes(x);
  uint8_t *want = hd_xmalloc(n_bytes);
  assert_int_equal(heddle_sparse_prune_pack(NULL, x->elem, HEDDLE_FAMILY_MMA, x->m, x->k,
                                            x->data + x->offset, x->pitch, NULL, want),
                   HEDDLE_OK);
  for (size_t i = 0; i < n_bytes; i++)
    if (got[i] != want[i])
      fail_msg("%s %llu x %llu, pitch %zu: byte %zu is 0x%02x, not 0x%02x",
               heddle_elem_get(x->elem)->name, (unsigned long long)x->m,
               (unsigned long long)x->k, x->pitch, i, got[i], want[i]);
  hd_free(want);
}

/* `dense` is x, or x transposed. */
static void check_from(const packer *p, const matrix *x, const matrix *dense) {
  size_t n_bytes = packed_bytes(x);
  uint8_t *got = poisoned(n_bytes);
  simulate(p, dense, x->m, x->k, got, n_bytes, &(buffer){0});
  expect_payload(x, got);
  hd_free(got);
}

static void check(const packer *p, const matrix *x) { check_from(p, x, x); }

/* Full blocks, and edges in both directions. */
static void what_the_host_makes(void **state) {
  (void)state;
  for (size_t e = 0; e < sizeof elems / sizeof *elems; e++) {
    packer p = open_packer(elems[e], "sm_90a");
    size_t bytes = heddle_elem_get(elems[e])->container_bits / 8u;
    uint64_t block = 128 / bytes, group = heddle_elem_get(elems[e])->group;
    const uint64_t sizes[][2] = {
        {64, block}, {1, group}, {67, 3 * block - group}, {130, 2 * block + 4 * group}};
    for (size_t i = 0; i < 4; i++)
      for (int hostile = 0; hostile < 2; hostile++) {
        matrix x = make(elems[e], sizes[i][0], sizes[i][1], 0, 0);
        (hostile ? fill_hostile : fill_random)(&x, 1 + i);
        check(&p, &x);
        hd_free(x.data);
      }
    close_packer(&p);
  }
}

/* Returns a matrix whose columns are the rows of `dense`. */
static matrix transpose(const matrix *dense) {
  matrix x = make(dense->elem, dense->k, dense->m, 0, 0);
  for (uint64_t i = 0; i < dense->m; i++)
    for (uint64_t j = 0; j < dense->k; j++)
      memcpy(x.data + j * x.pitch + i * x.bytes, dense->data + i * dense->pitch + j * x.bytes,
             x.bytes);
  return x;
}

static void what_is_transposed_in_memory(void **state) {
  (void)state;
  for (size_t e = 0; e < sizeof elems / sizeof *elems; e++) {
    packer p = open_packer_of(heddle_pack_compile_transposed, elems[e], "sm_90a");
    size_t bytes = heddle_elem_get(elems[e])->container_bits / 8u;
    uint64_t block = 128 / bytes, group = heddle_elem_get(elems[e])->group;
    const uint64_t sizes[][2] = {{block, 64}, {group, 1}, {3 * block - group, 67}};
    for (size_t i = 0; i < 3; i++) {
      matrix dense = make(elems[e], sizes[i][0], sizes[i][1], i * bytes, 0);
      (i == 2 ? fill_hostile : fill_random)(&dense, 11 + i);
      matrix x = transpose(&dense);
      check_from(&p, &x, &dense);
      hd_free(x.data);
      hd_free(dense.data);
    }
    close_packer(&p);
  }
}

static void check_twin(const packer *p, const matrix *x) {
  matrix t = transpose(x);
  size_t n_bytes = packed_bytes(x), n_twin = packed_bytes(&t);
  uint8_t *got = poisoned(n_bytes), *twin = poisoned(n_twin);
  simulate(p, x, x->m, x->k, got, n_bytes, (buffer[]){{twin, n_twin}, {0}});
  expect_payload(x, got);
  expect_payload(&t, twin);
  hd_free(got);
  hd_free(twin);
  hd_free(t.data);
}

/* Each of the two is pruned by itself. Full and partial blocks in both directions, and pitches for
 * every width of loads. */
static void a_matrix_and_its_transpose(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{64, 64}, {4, 4}, {128, 192}, {68, 188}, {132, 72}};
  static const size_t pads[] = {0, 2, 4, 16, 6};
  for (size_t e = 0; e < 2; e++) {
    packer p = open_packer_of(heddle_pack_compile_twin, elems[e], e ? "sm_80" : "sm_90a");
    for (size_t i = 0; i < 5; i++)
      for (int hostile = 0; hostile < 2; hostile++) {
        matrix x = make(elems[e], sizes[i][0], sizes[i][1], pads[i], 0);
        (hostile ? fill_hostile : fill_random)(&x, 23 + i);
        check_twin(&p, &x);
        hd_free(x.data);
      }
    close_packer(&p);
  }
}

/* The host prunes x to 2:4 both ways, then packs it and its transpose. */
static void check_two_way(const packer *p, const matrix *x) {
  matrix pruned = make(x->elem, x->m, x->k, 0, 0);
  size_t n_bytes = packed_bytes(x), n_mask = x->m * x->k;
  uint8_t *want = hd_xmalloc(n_mask), *mask = poisoned(n_mask), *got = poisoned(n_bytes);
  for (uint64_t i = 0; i < x->m; i++)
    memcpy(pruned.data + i * pruned.pitch, x->data + x->offset + i * x->pitch, pruned.pitch);
  assert_int_equal(heddle_sparse_prune_two_way(NULL, x->elem, x->m, x->k, pruned.data, pruned.pitch,
                                               want),
                   HEDDLE_OK);
  matrix t = transpose(&pruned);
  size_t n_twin = packed_bytes(&t);
  uint8_t *twin = poisoned(n_twin);
  simulate(p, x, x->m, x->k, got, n_bytes, (buffer[]){{twin, n_twin}, {mask, n_mask}, {0}});
  assert_memory_equal(mask, want, n_mask);
  expect_payload(&pruned, got);
  expect_payload(&t, twin);
  hd_free(want), hd_free(mask), hd_free(got), hd_free(twin), hd_free(t.data), hd_free(pruned.data);
}

/* Under any mask, not only a two-way one: each matrix is pruned by itself, as far as it must be. */
static void check_masked(const packer *p, const matrix *x, uint64_t seed) {
  matrix masked = make(x->elem, x->m, x->k, 0, 0);
  size_t n_bytes = packed_bytes(x), n_mask = x->m * x->k;
  uint8_t *mask = hd_xmalloc(n_mask), *got = poisoned(n_bytes);
  for (uint64_t i = 0; i < n_mask; i++) {
    const uint8_t *from = x->data + x->offset + i / x->k * x->pitch + i % x->k * x->bytes;
    mask[i] = next_random(&seed) % 3 != 0;
    memset(masked.data + i * x->bytes, 0, x->bytes);
    if (mask[i])
      memcpy(masked.data + i * x->bytes, from, x->bytes);
  }
  matrix t = transpose(&masked);
  size_t n_twin = packed_bytes(&t);
  uint8_t *twin = poisoned(n_twin);
  simulate(p, x, x->m, x->k, got, n_bytes, (buffer[]){{twin, n_twin}, {mask, n_mask}, {0}});
  expect_payload(&masked, got);
  expect_payload(&t, twin);
  hd_free(mask), hd_free(got), hd_free(twin), hd_free(t.data), hd_free(masked.data);
}

static void both_ways(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{64, 64}, {4, 4}, {128, 192}, {68, 188}, {132, 72}};
  static const size_t pads[] = {0, 2, 4, 16, 6};
  for (size_t e = 0; e < 2; e++) {
    packer p = open_packer_of(heddle_pack_compile_two_way, elems[e], e ? "sm_80" : "sm_90a");
    packer under = open_packer_of(heddle_pack_compile_masked, elems[e], e ? "sm_80" : "sm_90a");
    for (size_t i = 0; i < 5; i++)
      for (int hostile = 0; hostile < 2; hostile++) {
        matrix x = make(elems[e], sizes[i][0], sizes[i][1], pads[i], 0);
        (hostile ? fill_hostile : fill_random)(&x, 31 + i);
        check_two_way(&p, &x);
        check_masked(&under, &x, 37 + i);
        hd_free(x.data);
      }
    close_packer(&under);
    close_packer(&p);
  }
}

/* The canonical form of x, its values divided by the scales of their rows and converted. */
static void expect_quantized(const matrix *x, heddle_elem elem, const float *scales,
                             const uint8_t *got, size_t n_bytes) {
  heddle_sparse_info from, to;
  assert_int_equal(heddle_sparse_plan(NULL, HEDDLE_SPARSE_CANONICAL, x->elem, HEDDLE_FAMILY_MMA,
                                      x->m, x->k, &from), HEDDLE_OK);
  assert_int_equal(heddle_sparse_plan(NULL, HEDDLE_SPARSE_CANONICAL, elem, HEDDLE_FAMILY_MMA, x->m,
                                      x->k, &to), HEDDLE_OK);
  size_t row = x->k * x->bytes, kept = x->k / 2;
  uint8_t *dense = hd_xmalloc(x->m * row), *want = hd_xmalloc(n_bytes);
  uint8_t *values = hd_xmalloc(x->m * from.values_row_bytes);
  uint8_t *codes = hd_xmalloc(x->m * from.codes_row_bytes);
  uint8_t *small = hd_xmalloc(x->m * to.values_row_bytes);
  float *wide = hd_xmalloc(kept * sizeof *wide);
  memset(small, 0, x->m * to.values_row_bytes);
  for (uint64_t i = 0; i < x->m; i++)
    memcpy(dense + i * row, x->data + x->offset + i * x->pitch, row);
  assert_int_equal(heddle_sparse_prune(NULL, x->elem, x->m, x->k, dense, row), HEDDLE_OK);
  assert_int_equal(heddle_sparse_compress(NULL, x->elem, x->m, x->k, dense, row, values, codes),
                   HEDDLE_OK);
  assert_int_equal(from.codes_row_bytes, to.codes_row_bytes);
  for (uint64_t i = 0; i < x->m; i++) {
    uint8_t *q = small + i * to.values_row_bytes;
    heddle_elem_to_f32(x->elem, kept, values + i * from.values_row_bytes, wide);
    for (size_t j = 0; j < kept; j++)
      wide[j] *= 1.0f / scales[i];
    heddle_elem_from_f32(elem, kept, wide, q);
    for (size_t j = 0; j < kept; j++)
      q[j] = q[j] == 0x80 ? 0 : q[j];
  }
  assert_int_equal(
      heddle_sparse_pack(NULL, elem, HEDDLE_FAMILY_MMA, x->m, x->k, small, codes, want), HEDDLE_OK);
  for (size_t i = 0; i < n_bytes; i++)
    if (got[i] != want[i])
      fail_msg("%s of %s, %llu x %llu: byte %zu is 0x%02x, not 0x%02x", heddle_elem_get(elem)->name,
               heddle_elem_get(x->elem)->name, (unsigned long long)x->m, (unsigned long long)x->k,
               i, got[i], want[i]);
  hd_free(dense), hd_free(want), hd_free(values), hd_free(codes), hd_free(small), hd_free(wide);
}

/* x times a random power of two, from 2^-most to 2^most. */
static float spread(double x, uint64_t *seed, int most) {
  return (float)ldexp(x, (int)(next_random(seed) % (2 * (unsigned)most + 1)) - most);
}

static void check_quantized(heddle_context *ctx, matrix *x, heddle_elem elem, const char *target,
                            uint64_t seed) {
  packer p = {.ctx = ctx};
  size_t n_bytes;
  float *scales = hd_xmalloc(x->m * sizeof *scales);
  for (uint64_t i = 0; i < x->m; i++) /* 2^-8 to 2^8, and in between */
    scales[i] = spread(1 + next_random(&seed) / 0x1p32, &seed, 8);
  assert_int_equal(heddle_sparse_packed_bytes(NULL, elem, HEDDLE_FAMILY_MMA, x->m, x->k, &n_bytes),
                   HEDDLE_OK);
  uint8_t *got = poisoned(n_bytes);
  assert_int_equal(heddle_pack_compile_quantized(ctx, x->elem, elem, target, NULL, &p.compiled),
                   HEDDLE_OK);
  simulate(&p, x, x->m, x->k, got, n_bytes, (buffer[]){{scales, x->m * sizeof *scales}, {0}});
  expect_quantized(x, elem, scales, got, n_bytes);
  heddle_compiled_free(p.compiled);
  hd_free(got);
  hd_free(scales);
}

/* Elements from 2^-20 to 2^12: zeros, subnormals and saturated values of both results. */
static void fill_spread(matrix *x, uint64_t seed) {
  fill_random(x, seed);
  for (uint64_t i = 0; i < x->m; i++)
    for (uint64_t j = 0; j < x->k; j++) {
      float value = spread(next_random(&seed) / 0x1p31 - 1, &seed, 16);
      hd_elem_store(x->elem, x->data + x->offset + i * x->pitch, j, value / 16);
    }
}

static void rows_that_are_quantized(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{64, 128}, {1, 4}, {67, 388}, {130, 260}};
  static const size_t pads[] = {0, 2, 4, 24};
  static const heddle_elem results[] = {HEDDLE_E4M3, HEDDLE_E5M2};
  heddle_context *ctx = heddle_context_create();
  for (size_t e = 0; e < 2; e++)
    for (size_t r = 0; r < 2; r++)
      for (size_t i = 0; i < 4; i++) {
        matrix x = make(elems[e], sizes[i][0], sizes[i][1], pads[i], 0);
        fill_spread(&x, 5 + i);
        check_quantized(ctx, &x, results[r], e ? "sm_89" : "sm_90a", i);
        hd_free(x.data);
      }
  heddle_context_free(ctx);
}

/* Every width of loads: rows begin and end at any address. */
static void rows_at_any_address(void **state) {
  (void)state;
  for (size_t e = 0; e < sizeof elems / sizeof *elems; e++) {
    packer p = open_packer(elems[e], "sm_80");
    size_t bytes = heddle_elem_get(elems[e])->container_bits / 8u;
    const size_t pads[] = {0, bytes, 4 * bytes, 16};
    for (size_t i = 0; i < 4; i++) {
      matrix x = make(elems[e], 18, 160 / bytes, pads[i], 0);
      fill_hostile(&x, 7 + i);
      check(&p, &x);
      hd_free(x.data);
    }
    close_packer(&p);
  }
}

/* All groups of a small alphabet: every order of four magnitudes, with ties. */
static void every_tie(void **state) {
  (void)state;
  enum { N = 5, GROUPS = N * N * N * N };
  static const double alphabet[N] = {0, -0.0, 2, -2, 3};
  for (size_t e = 0; e < sizeof elems / sizeof *elems; e++) {
    packer p = open_packer(elems[e], "sm_90a");
    matrix x = make(elems[e], 1, 4 * GROUPS, 0, 0);
    for (uint64_t c = 0; c < GROUPS; c++)
      for (uint64_t u = 0, rest = c; u < 4; u++, rest /= N)
        hd_elem_store(elems[e], x.data, 4 * c + u, alphabet[rest % N]);
    check(&p, &x);
    hd_free(x.data);
    close_packer(&p);
  }
}

static void expect_of(compile_fn *compile, heddle_elem elem, const char *target, const char *rule,
                      const char *part) {
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *compiled = NULL;
  assert_int_equal(compile(ctx, elem, target, NULL, &compiled), HEDDLE_UNSUPPORTED);
  assert_null(compiled);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, part));
  heddle_context_free(ctx);
}

static void expect(heddle_elem elem, const char *target, const char *rule, const char *part) {
  expect_of(heddle_pack_compile, elem, target, rule, part);
}

static void quantized_refused(heddle_elem from, heddle_elem elem, const char *target,
                              const char *rule, const char *part) {
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *compiled = NULL;
  assert_int_equal(heddle_pack_compile_quantized(ctx, from, elem, target, NULL, &compiled),
                   HEDDLE_UNSUPPORTED);
  assert_null(compiled);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, part));
  heddle_context_free(ctx);
}

static void what_is_refused(void **state) {
  (void)state;
  expect(HEDDLE_S4, "sm_90a", "pack.type", "got s4; legal: bf16");
  expect(HEDDLE_E2M1P, "sm_90a", "pack.type", "nearest: bf16");
  expect(HEDDLE_F32, "sm_90a", "pack.type", "got f32");
  expect((heddle_elem)99, "sm_90a", "pack.type", "got no type");
  expect(HEDDLE_BF16, "sm_91", "pack.target", "sm_91; nearest: sm_90");
  quantized_refused(HEDDLE_F32, HEDDLE_E4M3, "sm_90a", "pack.quantized-type", "got e4m3 from f32");
  quantized_refused(HEDDLE_BF16, HEDDLE_S8, "sm_90a", "pack.quantized-type", "got s8 from bf16");
  quantized_refused((heddle_elem)99, HEDDLE_E4M3, "sm_90a", "pack.quantized-type", "no type");
  quantized_refused(HEDDLE_BF16, HEDDLE_E4M3, "sm_80", "pack.target", "got sm_80 for e4m3");
  expect_of(heddle_pack_compile_twin, HEDDLE_E4M3, "sm_90a", "pack.twin-type", "got e4m3; legal:");
  expect_of(heddle_pack_compile_two_way, HEDDLE_S8, "sm_90a", "pack.twin-type", "got s8; legal:");
}

/* Of each form and each width of loads; ptxas refuses a kernel that spills. */
static void what_fits_into_registers(void **state) {
  (void)state;
  static compile_fn *const forms[] = {heddle_pack_compile, heddle_pack_compile_transposed,
                                      heddle_pack_compile_twin, heddle_pack_compile_two_way,
                                      heddle_pack_compile_masked};
  static const char *const targets[] = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
  if (strstr(HD_PTXAS, "NOTFOUND"))
    skip();
  heddle_context *ctx = heddle_context_create();
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    heddle_compiled *c;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      assert_int_equal(forms[f](ctx, HEDDLE_BF16, targets[t], HD_PTXAS, &c), HEDDLE_OK);
      heddle_compiled_free(c);
    }
    for (size_t e = 0; t > 0 && e < 2; e++) {
      assert_int_equal(heddle_pack_compile_quantized(ctx, elems[e], HEDDLE_E4M3, targets[t],
                                                     HD_PTXAS, &c),
                       HEDDLE_OK);
      heddle_compiled_free(c);
    }
  }
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_fits_into_registers),
      cmocka_unit_test(what_the_host_makes),
      cmocka_unit_test(what_is_transposed_in_memory),
      cmocka_unit_test(a_matrix_and_its_transpose),
      cmocka_unit_test(both_ways),
      cmocka_unit_test(rows_that_are_quantized),
      cmocka_unit_test(rows_at_any_address),
      cmocka_unit_test(every_tie),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
