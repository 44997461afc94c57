/* Damaged PTX: lines removed, duplicated or swapped, bytes changed, texts truncated. Nothing
 * crashes or hangs, and each run ends with a status that names the cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "sim_harness.h"
#include "sim_problem.h"

static problem data;

/* Kernels that use tensor memory: 1 CTA, or a pair. Their result does not matter here. */
static void set_up_tensor(harness *h, uint32_t n_ctas, uint64_t seed) {
  static uint8_t image[2 * 32768];
  static float result[128 * 64];
  harness_start(h, n_ctas == 2 ? "pair" : "tensor", 128, 32768 + 16, n_ctas);
  h->variant.cluster = (int)n_ctas;
  h->options = (hd_sim_options){.mode = (hd_sim_mode)(seed % 3), .seed = seed, .max_steps = 5000};
  memset(image, 0x44, sizeof image); /* also valid as metadata */
  harness_param(h, HD_ARG_A, harness_buffer(h, "image", image, sizeof image, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", result, sizeof result, true));
}

static void set_up(harness *h, bool ring, uint64_t seed) {
  harness_start(h, ring ? "ring" : "multistage", ring ? 160 : 128, ring ? 14368 : 3 * 6656, 1);
  h->options = (hd_sim_options){.mode = (hd_sim_mode)(seed % 3), .seed = seed, .max_steps = 5000};
  hd_tmap *map = ring ? harness_tmap(h) : NULL;
  harness_param(h, HD_ARG_A, harness_buffer(h, "a", data.packed, sizeof data.packed, false));
  uint64_t b = harness_buffer(h, "b", data.b_bits, sizeof data.b_bits, false);
  if (!ring)
    harness_param(h, HD_ARG_B, b);
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", data.d, sizeof data.d, true));
  harness_param(h, HD_ARG_K, NK);
  if (map)
    *map = (hd_tmap){.base = b, .elem = HEDDLE_BF16, .rank = 2, .dim = {K, N}, .stride = {0, K * 2},
                     .box = {64, N}, .swizzle = HD_SWIZZLE_128};
}

/* The start of a random line, and its length with the newline. */
static char *random_line(char *text, size_t n, uint64_t *state, size_t *length) {
  char *at = text + next_random(state) % n;
  while (at > text && at[-1] != '\n')
    at--;
  *length = strcspn(at, "\n");
  *length += at[*length] == '\n';
  return at;
}

static size_t damage(char *text, size_t n, uint64_t *state) {
  static const char bytes[] = "0123456789%rdfp.,;{}[]@!+-:xABs ";
  size_t length;
  char *line = random_line(text, n, state, &length), copy[512];
  switch (next_random(state) % 5) {
  case 0: /* remove a line */
    memmove(line, line + length, (size_t)(text + n - line) - length + 1);
    return n - length;
  case 1: /* swap it with the next */
    if (length < sizeof copy && line + length < text + n) {
      size_t second = strcspn(line + length, "\n") + 1;
      if (line + length + second > text + n)
        return n;
      memcpy(copy, line, length);
      memmove(line, line + length, second);
      memcpy(line + second, copy, length);
    }
    return n;
  case 2: /* change a digit */
    for (size_t i = 0; i < length; i++)
      if (line[i] >= '0' && line[i] <= '9' && next_random(state) % 3 == 0)
        line[i] = (char)('0' + next_random(state) % 10);
    return n;
  case 3:
    text[next_random(state) % n] = bytes[next_random(state) % sizeof bytes]; /* or a NUL byte */
    return n;
  default:
    if (next_random(state) % 8)
      return n;
    n = next_random(state) % n + 1;
    text[n] = 0;
    return n;
  }
}

/* n_ctas: CTAs of a kernel that uses tensor memory; 0: any other kernel. */
static void noise(const char *name, bool ring, uint32_t n_ctas, int n_runs) {
  char path[256], *original;
  size_t n_original;
  int counts[8] = {0};
  snprintf(path, sizeof path, "test/unit/Sim/ptx/%s", name);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_file_read(ctx, path, &original, &n_original), HEDDLE_OK);
  heddle_context_free(ctx);
  for (int i = 0; i < n_runs; i++) {
    uint64_t state = (uint64_t)i * 77 + ring;
    char *text = malloc(n_original + 1);
    memcpy(text, original, n_original + 1);
    size_t n = n_original;
    for (uint32_t j = 0; j <= next_random(&state) % 3 && n > 1; j++)
      n = damage(text, n, &state);
    harness h;
    if (n_ctas)
      set_up_tensor(&h, n_ctas, (uint64_t)i);
    else
      set_up(&h, ring, (uint64_t)i);
    heddle_status status = harness_run_text(&h, text, n);
    assert_true(status >= HEDDLE_OK && status <= HEDDLE_UNSUPPORTED);
    assert_true(status != HEDDLE_MISMATCH || h.report.n_findings > 0);
    assert_true(status < HEDDLE_INVALID || heddle_context_count(h.ctx) > 0);
    counts[status]++;
    harness_stop(&h);
    free(text);
  }
  for (int s = HEDDLE_OK; s <= HEDDLE_UNSUPPORTED; s++)
    assert_true(counts[s] > 0); /* the damage is sometimes harmless, sometimes fatal */
  free(original);
}

static void damaged_ring(void **state) {
  (void)state;
  noise("ring.ptx", true, 0, 400);
}

static void damaged_multistage(void **state) {
  (void)state;
  noise("multistage.ptx", false, 0, 400);
}

static void damaged_tensor_memory(void **state) {
  (void)state;
  noise("tensor.ptx", false, 1, 300);
  noise("pair.ptx", false, 2, 300);
}

int main(void) {
  problem_make(&data);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_ring),
      cmocka_unit_test(damaged_multistage),
      cmocka_unit_test(damaged_tensor_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
