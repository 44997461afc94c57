#include "batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "Support/arena.h"
#include "Support/convert.h"

enum { MAX_BATCH_BYTES = 48 << 20, MAX_REPORTS = 5 };

struct batch {
  gpu *g;
  form f;
  gpu_kernel kernel;
  totals *totals;
  packing *packing;
  encoders integers;
  unsigned n, max; /* cases collected, and the capacity */
  uint8_t *in;
  uint32_t *out;
  int32_t *expected;
  unsigned n_reports;
};

/* ---- running ---- */

static void report(batch *b, unsigned c, unsigned row, unsigned col, double got, int32_t expected) {
  if (b->n_reports++ < MAX_REPORTS)
    fprintf(stderr, "%s selector %u case %u: D[%u][%u] = %g, expected %d\n", b->f.row->name,
            b->f.selector, c, row, col, got, expected);
}

static void verify_case(batch *b, unsigned c, const uint32_t *out, const int32_t *expected) {
  heddle_elem elem = b->f.row->operand[HD_OPERAND_D].elem;
  for (size_t i = 0; i < packing_n_d(b->packing); i++) {
    unsigned row, col;
    double got = hd_elem_to_double(elem, packing_d(b->packing, out, i, &row, &col));
    b->totals->checks++;
    if (got != expected[row * b->f.row->n + col]) {
      b->totals->mismatches++;
      report(b, c, row, col, got, expected[row * b->f.row->n + col]);
    }
  }
}

static bool run(batch *b) {
  size_t tile = (size_t)b->f.row->m * b->f.row->n;
  if (b->n == 0)
    return true;
  gpu_job job = packing_job(b->packing, b->in, b->out, b->n);
  if (!gpu_run(b->g, &b->kernel, &job))
    return false;
  for (unsigned c = 0; c < b->n; c++)
    verify_case(b, c, b->out + c * packing_out_bytes(b->packing) / 4, b->expected + c * tile);
  b->totals->cases += b->n;
  b->n = 0;
  return true;
}

/* ---- opening and closing ---- */

static void batch_free(batch *b) {
  packing_free(b->packing);
  free(b->in);
  free(b->out);
  free(b->expected);
  free(b);
}

static bool load_kernel(batch *b, const hd_target *target) {
  char *text = kernel_text_oldest(&b->f, target);
  gpu_job job = packing_job(b->packing, NULL, NULL, 1);
  bool loaded = gpu_load(b->g, text, job.shared_bytes, &b->kernel);
  free(text);
  return loaded;
}

static void make_room(batch *b) {
  size_t tile = (size_t)b->f.row->m * b->f.row->n * sizeof *b->expected;
  size_t in_bytes = packing_in_bytes(b->packing);
  b->max = (unsigned)(MAX_BATCH_BYTES / (in_bytes > tile ? in_bytes : tile));
  b->in = hd_xmalloc(in_bytes * b->max);
  b->out = hd_xmalloc(packing_out_bytes(b->packing) * b->max);
  b->expected = hd_xmalloc(tile * b->max);
}

batch *batch_open(gpu *g, const form *f, const hd_target *target, totals *counts) {
  batch *b = calloc(1, sizeof *b);
  if (!b)
    return NULL;
  b->g = g;
  b->f = *f;
  b->totals = counts;
  b->packing = packing_open(f);
  encoders_integers(&b->integers, f);
  if (!b->packing || !load_kernel(b, target)) {
    fprintf(stderr, "%s: the kernel cannot be made\n", f->row->name);
    batch_free(b);
    return NULL;
  }
  make_room(b);
  return b;
}

bool batch_add(batch *b, problem *p) {
  packing_pack(b->packing, &b->integers, p, b->in + packing_in_bytes(b->packing) * b->n);
  int32_t *expected = b->expected + (size_t)b->f.row->m * b->f.row->n * b->n;
  problem_expect(p, b->f.negate_a != b->f.negate_b ? -1 : 1, expected);
  for (size_t i = 0; b->f.c_base && i < (size_t)b->f.row->m * b->f.row->n; i++)
    expected[i] = form_bounded(&b->f, (int64_t)b->f.c_base + expected[i]);
  return ++b->n < b->max || run(b);
}

bool batch_close(batch *b) {
  bool ran = run(b);
  gpu_unload(b->g, &b->kernel);
  batch_free(b);
  return ran;
}
