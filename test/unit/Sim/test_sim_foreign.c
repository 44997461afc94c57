/* Kernels as other projects could write them (foreign/NAME.cu, compiled by nvcc 13.0). By the rules
 * of the ISA none has a finding, and each gives the correct result, in every mode with several
 * seeds. If nvcc is installed, its present output is run too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "sim_harness.h"

enum { WORDS = 1024 };
static uint32_t a[WORDS], d[WORDS], w[WORDS];

/* ---- expected results ---- */

typedef struct at {
  uint32_t i, n, b; /* word of d; threads of the grid and of a CTA */
} at;

static uint32_t sum_of(uint32_t from, uint32_t to) {
  uint32_t sum = 0;
  while (from < to)
    sum += a[from++];
  return sum;
}

static uint32_t reversed_in(at p, uint32_t b) {
  return a[p.i / b * b + b - 1 - p.i % b];
}
static uint32_t sum_in(at p, uint32_t b) {
  return sum_of(p.i / b * b, p.i / b * b + b);
}

/* Sums every `step`-th word, beginning at `from`. */
static uint32_t strided(uint32_t from, uint32_t n, uint32_t step) {
  uint32_t sum = 0;
  for (uint32_t j = from; j < n; j += step)
    sum += a[j];
  return sum;
}

static uint32_t count_of(at p, uint32_t modulo) {
  uint32_t count = 0;
  for (uint32_t j = 0; j < p.n; j++)
    count += a[j] % modulo == p.i % modulo;
  return count;
}

static uint32_t same(at p) {
  return a[p.i];
}
static uint32_t reversed(at p) {
  return reversed_in(p, p.b);
}
static uint32_t reversed_64(at p) {
  return reversed_in(p, 64);
}
static uint32_t reversed_128(at p) {
  return reversed_in(p, 128);
}
static uint32_t reversed_first(at p) {
  return a[p.b - 1 - p.i % p.b];
}
static uint32_t block_sum(at p) {
  return sum_in(p, p.b);
}
static uint32_t sum_16(at p) {
  return sum_in(p, 16);
}
static uint32_t sum_32(at p) {
  return sum_in(p, 32);
}
static uint32_t sum_all(at p) {
  return sum_of(0, p.n);
}
static uint32_t block_scan(at p) {
  return sum_of(p.i / p.b * p.b, p.i + 1);
}
static uint32_t scan(at p) {
  return sum_of(0, p.i + 1);
}
static uint32_t half_warps(at p) {
  return a[p.i ^ 15];
}
static uint32_t transposed(at p) {
  return a[p.i % 32 * 32 + p.i / 32];
}
static uint32_t bins_64(at p) {
  return count_of(p, 64);
}
static uint32_t bins_128(at p) {
  return count_of(p, 128);
}
static uint32_t first_words(at p) {
  return strided(0, p.n, p.b);
}
static uint32_t columns(at p) {
  return strided(p.i, p.n, p.b);
}
static uint32_t one_more(at p) {
  return a[p.i] + 1;
}
static uint32_t word_3(at p) {
  return a[3 + 0 * p.i];
}
static uint32_t word_5(at p) {
  return a[5 + 0 * p.i];
}
static uint32_t word_7(at p) {
  return a[7 + 0 * p.i];
}
static uint32_t next_block(at p) {
  return a[(p.i + p.b) % p.n];
}
static uint32_t tokens(at p) {
  return reversed(p) + 2 * a[p.i];
}
static uint32_t split(at p) {
  return next_block(p) + 3 * a[p.i];
}

static uint32_t ranks(at p) {
  uint32_t count = 0;
  for (uint32_t j = p.i / 32 * 32; j < p.i; j++)
    count += a[j] & 1;
  return count;
}

static uint32_t divergent(at p) {
  uint32_t v = a[p.i], m = v % 7;
  return a[p.i / 32 * 32] + (v & 1 ? (m ? m * (m - 1) / 2 : 0) : v * 3);
}

static int small(uint32_t x) {
  return (int)(x % 7) - 3;
}

/* D has 8 columns. A row of A has `kept` values: all of k, or two of four as selected by the row
 * and the group. */
static uint32_t product(at p, uint32_t kept, bool sparse) {
  static const uint8_t pairs[6][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
  uint32_t row = p.i / 8, n = p.i % 8;
  int sum = 0;
  for (uint32_t c = 0; c < kept; c++) {
    uint32_t k = sparse ? c / 2 * 4 + pairs[(row + c / 2) % 6][c % 2] : c;
    sum += small(a[row * kept + c]) * small(a[512 + k * 8 + n]);
  }
  return (uint32_t)sum;
}

static uint32_t dense_16(at p) {
  return product(p, 16, false);
}
static uint32_t sparse_32(at p) {
  return product(p, 16, true);
}
static uint32_t sparse_twice(at p) {
  return 2 * sparse_32(p);
}
static uint32_t sparse_64(at p) {
  return product(p, 32, true);
}

/* ---- the kernels ---- */

typedef struct foreign {
  const char *file, *entry;
  int n_threads, grid, cluster;
  uint32_t n_out; /* number of words written to d */
  uint32_t (*expected)(at p);
} foreign;

static const foreign kernels[] = {
    {"plain", "copy_words", 128, 4, 1, 512, same},
    {"plain", "reverse_block", 128, 4, 1, 512, reversed},
    {"plain", "reduce_tree", 128, 4, 1, 512, block_sum},
    {"plain", "reduce_shuffle", 128, 4, 1, 512, block_sum},
    {"plain", "reduce_redux", 128, 4, 1, 512, block_sum},
    {"plain", "scan_block", 128, 4, 1, 512, block_scan},
    {"plain", "scan_warps", 128, 4, 1, 512, block_scan},
    {"plain", "reverse_half_warps", 128, 4, 1, 512, half_warps},
    {"plain", "transpose_tile", 128, 1, 1, 1024, transposed},
    {"plain", "histogram_shared", 128, 4, 1, 1024, bins_64},
    {"plain", "ballot_rank", 128, 4, 1, 512, ranks},
    {"plain", "last_block_sums", 128, 4, 1, 1024, sum_all},
    {"plain", "spin_lock", 64, 4, 1, 1, first_words},
    {"plain", "ticket_lock", 64, 4, 1, 1, first_words},
    {"plain", "flag_release_acquire", 128, 2, 1, 128, one_more},
    {"plain", "flag_volatile_fences", 128, 2, 1, 128, one_more},
    {"plain", "flag_relaxed_fences", 32, 2, 1, 1, word_3},
    {"plain", "flag_in_shared", 64, 1, 1, 1, word_7},
    {"plain", "flag_in_shared_fences", 64, 1, 1, 1, word_7},
    {"plain", "grid_barrier", 128, 4, 1, 512, next_block},
    {"plain", "look_back", 128, 4, 1, 512, scan},
    {"plain", "semaphore_serial", 128, 4, 1, 128, columns},
    {"plain", "named_barriers", 128, 1, 1, 256, reversed_64},
    {"plain", "tiles_of_sixteen", 128, 4, 1, 512, sum_16},
    {"plain", "tile_reduce", 128, 4, 1, 512, sum_32},
    {"plain", "warp_sync_exchange", 128, 4, 1, 512, one_more},
    {"plain", "divergent_sums", 128, 4, 1, 512, divergent},
    {"async", "cp_async_double_buffer", 128, 1, 1, 512, reversed_128},
    {"async", "pipeline_of_thread", 128, 1, 1, 512, same},
    {"async", "pipeline_of_block", 128, 1, 1, 512, reversed_128},
    {"async", "barrier_tokens", 128, 4, 1, 512, tokens},
    {"async", "barrier_memcpy", 128, 4, 1, 512, reversed},
    {"async", "bulk_load", 256, 2, 1, 512, reversed},
    {"async", "bulk_load_cuda_barrier", 256, 2, 1, 512, reversed},
    {"async", "bulk_ring", 160, 1, 1, 1024, reversed_128},
    {"async", "generic_ring", 128, 1, 1, 512, reversed_64},
    {"async", "bulk_store", 256, 2, 1, 512, reversed},
    {"async", "bulk_reduce", 256, 4, 1, 256, columns},
    {"async", "cluster_exchange", 128, 4, 4, 512, next_block},
    {"async", "cluster_histogram", 128, 2, 2, 128, bins_128},
    {"async", "cluster_split_barrier", 128, 2, 2, 256, split},
    {"async", "cluster_multicast", 256, 2, 2, 512, reversed_first},
    {"async", "cluster_remote_arrive", 128, 2, 2, 128, reversed},
    {"async", "cluster_st_async", 128, 2, 2, 256, next_block},
    {"async", "cluster_bulk_copy", 128, 2, 2, 256, next_block},
    {"async", "cluster_flag", 32, 2, 2, 1, word_5},
    {"async", "elected_issuer", 256, 1, 1, 256, same},
    {"matrix", "mma_f16", 32, 1, 1, 128, dense_16},
    {"matrix", "mma_sp_f16", 32, 1, 1, 128, sparse_32},
    {"matrix", "mma_sp_s8", 32, 1, 1, 128, sparse_64},
    {"matrix", "ldmatrix_fragments", 32, 1, 1, 128, dense_16},
    {"matrix", "stmatrix_tile", 32, 1, 1, 32, same},
    {"matrix", "wgmma_dense", 128, 1, 1, 512, dense_16},
    {"matrix", "wgmma_sp", 128, 1, 1, 512, sparse_32},
    {"matrix", "wgmma_sp_registers", 128, 1, 1, 512, sparse_twice},
    {"matrix", "wgmma_sp_idle_lanes", 128, 1, 1, 512, sparse_32},
    {"matrix", "wgmma_sp_reused_metadata", 128, 1, 1, 512, sparse_32},
    {"tensor", "tile_load", 256, 4, 1, 1024, same},
    {"tensor", "tile_add_one", 256, 4, 1, 1024, one_more},
    {"tensor", "tile_ring", 96, 1, 1, 1024, same},
};

static char *read_ptx(const char *folder, const char *file, size_t *n_bytes) {
  char path[512], *text = NULL;
  heddle_context *ctx = heddle_context_create();
  snprintf(path, sizeof path, "%s/%s.ptx", folder, file);
  assert_int_equal(hd_file_read_text(ctx, path, &text, n_bytes), HEDDLE_OK);
  heddle_context_free(ctx);
  return text;
}

/* A tensor map of 32 x 32 words with boxes of 32 x 8. */
static void tiles_of(harness *h, uint64_t base) {
  *harness_tmap(h) = (hd_tmap){.base = base, .elem = HEDDLE_S32, .rank = 2, .dim = {32, 32},
                               .stride = {0, 128}, .box = {32, 8}};
}

static void set_params(harness *h, const foreign *f) {
  uint64_t from = harness_buffer(h, "a", a, sizeof a, false);
  uint64_t to = harness_buffer(h, "d", d, sizeof d, true);
  bool maps = strcmp(f->file, "tensor") == 0;
  if (maps)
    tiles_of(h, from);
  else
    harness_param(h, HD_ARG_A, from);
  harness_param(h, HD_ARG_D, to);
  if (maps)
    tiles_of(h, to);
  else
    harness_param(h, HD_ARG_WORKSPACE, harness_buffer(h, "w", w, sizeof w, true));
  h->buffer[2].undefined = false;
}

static bool run(const foreign *f, const char *ptx, size_t n_bytes, hd_sim_mode mode, uint64_t seed,
                bool isa_only) {
  harness h;
  memset(d, 0xc5, sizeof d);
  memset(w, 0, sizeof w);
  harness_start(&h, f->entry, f->n_threads, 0, (uint32_t)f->grid);
  h.variant.cluster = f->cluster;
  h.options = (hd_sim_options){.mode = mode, .seed = seed, .isa_only = isa_only};
  set_params(&h, f);
  heddle_status status = harness_run_text(&h, ptx, n_bytes);
  bool right = status == HEDDLE_OK;
  for (uint32_t i = 0; i < f->n_out && right; i++)
    right =
        d[i] == f->expected((at){i, (uint32_t)(f->n_threads * f->grid), (uint32_t)f->n_threads});
  if (!right && isa_only) {
    fprintf(stderr, "%s (mode %s, seed %d): status %d\n", f->entry, hd_sim_mode_name(mode),
            (int)seed, (int)status);
    harness_print(&h);
  }
  harness_stop(&h);
  return right;
}

static void none_is_wrong_in(const char *folder) {
  int bad = 0, n_runs = 0, own = 0;
  for (size_t i = 0; i < HD_COUNT(kernels); i++) {
    size_t n_bytes;
    char *ptx = read_ptx(folder, kernels[i].file, &n_bytes);
    for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++)
      for (uint64_t seed = 1; seed <= 3; seed++, n_runs++)
        bad += !run(&kernels[i], ptx, n_bytes, (hd_sim_mode)mode, seed, true);
    own += !run(&kernels[i], ptx, n_bytes, HD_SIM_LATE, 1, false);
    free(ptx);
  }
  printf("foreign kernels=%zu runs=%d wrong=%d by_own_rules=%d\n", HD_COUNT(kernels), n_runs, bad,
         own);
  assert_int_equal(bad, 0);
  assert_in_range(own, 1, 8); /* Heddle's own rules are stricter */
}

static void none_is_called_wrong(void **state) {
  (void)state;
  none_is_wrong_in(HD_FOREIGN_DIR);
}

#ifdef HD_FOREIGN_COMPILED
static void nor_what_nvcc_makes_today(void **state) {
  (void)state;
  none_is_wrong_in(HD_FOREIGN_COMPILED);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(none_is_called_wrong),
#ifdef HD_FOREIGN_COMPILED
      cmocka_unit_test(nor_what_nvcc_makes_today),
#endif
  };
  for (uint32_t i = 0; i < WORDS; i++)
    a[i] = i * 2654435761u >> 13 & 255;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
