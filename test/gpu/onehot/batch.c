#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/convert.h"

enum { MAX_BATCH_BYTES = 48 << 20, MAX_REPORTS = 5 };

/* Where one field of an operand lies: word and shift in a case's registers. */
typedef struct place {
  uint32_t word;
  uint16_t row, col;
  uint8_t shift, bits;
} place;

typedef struct places {
  place *at;
  size_t n, cap;
} places;

struct batch {
  gpu *g;
  form f;
  gpu_kernel kernel;
  totals *totals;
  places a, b, c, meta, d;
  uint32_t *a_byte, *b_byte; /* shared operands: byte of (mn, k), k fastest; owned */
  size_t a_image, b_image;   /* bytes, multiples of 1024 */
  size_t in_words, out_words;
  unsigned n_lanes, n, max;  /* cases gathered, and how many fit */
  uint32_t *in, *out;
  int32_t *expected;
  unsigned n_reports;
};

/* ---- layouts ---- */

/* Registers are stored register-major: word = (first + reg) * lanes + lane. */
static void add_places(places *p, const hd_fragment *f, unsigned first, unsigned n_lanes) {
  for (unsigned lane = 0; lane < n_lanes; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned field = 0; field < 1u << f->map.in[2].bits; field++) {
        uint32_t row, col;
        if (!hd_fragment_at(f, lane, reg, field, &row, &col))
          continue;
        place at = {(first + reg) * n_lanes + lane, (uint16_t)row, (uint16_t)col,
                    (uint8_t)(field * f->field_bits), f->field_bits};
        HD_PUSH(p->at, p->n, p->cap, at);
      }
}

/* Adds an operand's registers when it has any; the number of words a lane. */
static unsigned place_operand(batch *b, hd_operand_id id, places *p, unsigned first) {
  hd_fragment f;
  if (hd_spec_fragment(b->f.row, id, b->f.selector * (id == HD_OPERAND_META), &f) != HEDDLE_OK)
    return 0;
  add_places(p, &f, first, b->n_lanes);
  return f.n_regs;
}

/* Order of a case's registers: A, B, accumulators, metadata (kernel_text.c loads them so). */
static void place_registers(batch *b) {
  unsigned n = place_operand(b, HD_OPERAND_A, &b->a, 0);
  n += place_operand(b, HD_OPERAND_B, &b->b, n);
  unsigned acc = place_operand(b, HD_OPERAND_D, &b->c, n);
  place_operand(b, HD_OPERAND_D, &b->d, 0);
  n += acc;
  n += place_operand(b, HD_OPERAND_META, &b->meta, n);
  b->in_words = (size_t)n * b->n_lanes;
  b->out_words = (size_t)acc * b->n_lanes;
}

/* Bytes of the elements that this step uses. */
static uint32_t *byte_table(const hd_layout *map, unsigned mn, unsigned k, unsigned first_k) {
  uint32_t *table = hd_xmalloc((size_t)mn * k * sizeof *table);
  for (unsigned i = 0; i < mn; i++)
    for (unsigned j = 0; j < k; j++) {
      uint32_t in[HD_LAYOUT_DIMS] = {i, first_k + j};
      int64_t byte[HD_LAYOUT_DIMS];
      hd_layout_apply(map, in, byte);
      table[i * k + j] = (uint32_t)byte[0];
    }
  return table;
}

static bool place_shared(const form *f, hd_operand_id id, uint32_t **table, size_t *image) {
  const shared_form *s = id == HD_OPERAND_A ? &f->a : &f->b;
  unsigned bits = heddle_elem_get(f->row->operand[id].elem)->container_bits;
  unsigned mn = id == HD_OPERAND_A ? f->row->m : f->row->n;
  unsigned k = id == HD_OPERAND_A ? f->row->k / 2u : f->row->k;
  hd_layout map;
  *image = 0;
  if (f->row->operand[id].space != HD_SPACE_SHARED)
    return true;
  if (!hd_canonical_layout(&s->canonical, bits, mn, k * s->steps, &map))
    return false;
  *image = (hd_layout_out_extent(&map, 0) + bits / 8 + 1023) / 1024 * 1024;
  *table = byte_table(&map, mn, k, s->step * k);
  return true;
}

/* ---- packing ---- */

static void put(uint32_t *words, const place *at, uint32_t bits) {
  uint32_t mask = at->bits == 32 ? UINT32_MAX : (1u << at->bits) - 1;
  words[at->word] = (words[at->word] & ~(mask << at->shift)) | (bits & mask) << at->shift;
}

/* Container bits of the small integers -8..7. */
typedef struct encoder {
  uint32_t bits[16];
} encoder;

static encoder encoder_of(heddle_elem elem) {
  encoder e;
  for (int v = -8; v < 8; v++)
    e.bits[v + 8] = hd_elem_from_double(elem, v);
  return e;
}

static void pack_registers(batch *b, problem *p, uint32_t *words) {
  const hd_spec_row *row = b->f.row;
  encoder a = encoder_of(row->operand[HD_OPERAND_A].elem);
  encoder be = encoder_of(row->operand[HD_OPERAND_B].elem);
  encoder d = encoder_of(row->operand[HD_OPERAND_D].elem);
  for (size_t i = 0; i < b->a.n; i++)
    put(words, &b->a.at[i], a.bits[p->a[b->a.at[i].row][b->a.at[i].col] + 8]);
  for (size_t i = 0; i < b->b.n; i++)
    put(words, &b->b.at[i], be.bits[p->b[b->b.at[i].row][b->b.at[i].col] + 8]);
  for (size_t i = 0; i < b->c.n; i++)
    put(words, &b->c.at[i], d.bits[p->c[b->c.at[i].row][b->c.at[i].col] + 8]);
  /* Lanes that do not contribute hold garbage: it must not matter. */
  for (unsigned lane = 0; lane < b->n_lanes; lane++)
    words[b->in_words - b->n_lanes + lane] = problem_random(p);
  for (size_t i = 0; i < b->meta.n; i++)
    put(words, &b->meta.at[i], p->code[b->meta.at[i].row][b->meta.at[i].col / p->group]);
}

static void pack_images(batch *b, const problem *p, uint8_t *image) {
  const hd_spec_row *row = b->f.row;
  heddle_elem elem = row->operand[HD_OPERAND_B].elem;
  unsigned half = row->k / 2u, bytes = heddle_elem_get(elem)->container_bits / 8u;
  encoder a = encoder_of(row->operand[HD_OPERAND_A].elem), be = encoder_of(elem);
  memset(image, 0x33, b->a_image + b->b_image); /* what lies between must not matter */
  for (unsigned m = 0; b->a_image && m < row->m; m++)
    for (unsigned cc = 0; cc < half; cc++)
      memcpy(image + b->a_byte[m * half + cc], &a.bits[p->a[m][cc] + 8], bytes);
  for (unsigned n = 0; b->b_image && n < row->n; n++)
    for (unsigned k = 0; k < row->k; k++)
      memcpy(image + b->a_image + b->b_byte[n * row->k + k], &be.bits[p->b[k][n] + 8], bytes);
}

/* ---- running ---- */

static size_t in_stride(const batch *b) {
  return b->in_words * 4 + b->a_image + b->b_image;
}

/* Descriptor without the base address; `first` is the operand's offset in shared memory. */
static uint64_t descriptor(const form *f, hd_operand_id id, size_t first) {
  const shared_form *s = id == HD_OPERAND_A ? &f->a : &f->b;
  unsigned bytes = heddle_elem_get(f->row->operand[id].elem)->container_bits / 8u;
  unsigned k = id == HD_OPERAND_A ? f->row->k / 2u : f->row->k;
  return hd_wgmma_descriptor(&s->canonical) + ((first + (size_t)s->step * k * bytes) >> 4);
}

static void report(batch *b, unsigned c, const place *at, double got, int32_t expected) {
  if (b->n_reports++ < MAX_REPORTS)
    fprintf(stderr, "%s selector %u case %u: D[%u][%u] = %g, expected %d\n", b->f.row->name,
            b->f.selector, c, at->row, at->col, got, expected);
}

static void verify(batch *b) {
  heddle_elem elem = b->f.row->operand[HD_OPERAND_D].elem;
  size_t tile = (size_t)b->f.row->m * b->f.row->n;
  for (unsigned c = 0; c < b->n; c++)
    for (size_t i = 0; i < b->d.n; i++) {
      const place *at = &b->d.at[i];
      uint32_t word = b->out[c * b->out_words + at->word] >> at->shift;
      double got = hd_elem_to_double(elem, at->bits == 32 ? word : word & ((1u << at->bits) - 1));
      int32_t expected = b->expected[c * tile + at->row * b->f.row->n + at->col];
      b->totals->checks++;
      if (got != expected) {
        b->totals->mismatches++;
        report(b, c, at, got, expected);
      }
    }
  b->totals->cases += b->n;
}

static bool run(batch *b) {
  if (b->n == 0)
    return true;
  size_t image = b->a_image + b->b_image;
  gpu_job job = {.in = b->in,
                 .out = b->out,
                 .in_bytes = in_stride(b) * b->n,
                 .out_bytes = b->out_words * 4 * b->n,
                 .n_cases = b->n,
                 .n_threads = b->n_lanes,
                 .shared_bytes = (unsigned)image,
                 .in_stride = (uint32_t)in_stride(b),
                 .out_stride = (uint32_t)(b->out_words * 4),
                 .image_bytes = (uint32_t)image};
  if (b->a_image)
    job.a_descriptor = descriptor(&b->f, HD_OPERAND_A, 0);
  if (b->b_image)
    job.b_descriptor = descriptor(&b->f, HD_OPERAND_B, b->a_image);
  if (!gpu_run(b->g, &b->kernel, &job))
    return false;
  verify(b);
  b->n = 0;
  return true;
}

/* ---- opening and closing ---- */

static void batch_free(batch *b) {
  free(b->a.at);
  free(b->b.at);
  free(b->c.at);
  free(b->d.at);
  free(b->meta.at);
  free(b->a_byte);
  free(b->b_byte);
  free(b->in);
  free(b->out);
  free(b->expected);
  free(b);
}

static bool load_kernel(batch *b, const hd_target *target) {
  unsigned ptx = hd_spec_min_ptx(b->f.row, target);
  char *text = kernel_text(&b->f, target, ptx < 80 ? 80 : ptx);
  bool loaded = gpu_load(b->g, text, (unsigned)(b->a_image + b->b_image), &b->kernel);
  free(text);
  return loaded;
}

batch *batch_open(gpu *g, const form *f, const hd_target *target, totals *counts) {
  batch *b = calloc(1, sizeof *b);
  if (!b)
    return NULL;
  b->g = g;
  b->f = *f;
  b->totals = counts;
  b->n_lanes = f->row->issuer == HD_ISSUER_WARPGROUP ? 128 : 32;
  place_registers(b);
  if (!place_shared(f, HD_OPERAND_A, &b->a_byte, &b->a_image) ||
      !place_shared(f, HD_OPERAND_B, &b->b_byte, &b->b_image) || !load_kernel(b, target)) {
    fprintf(stderr, "%s: the kernel cannot be made\n", f->row->name);
    batch_free(b);
    return NULL;
  }
  size_t tile = (size_t)f->row->m * f->row->n * sizeof *b->expected;
  size_t most = in_stride(b) > tile ? in_stride(b) : tile;
  b->max = (unsigned)(MAX_BATCH_BYTES / most);
  b->in = hd_xmalloc(in_stride(b) * b->max);
  b->out = hd_xmalloc(b->out_words * 4 * b->max);
  b->expected = hd_xmalloc(tile * b->max);
  return b;
}

bool batch_add(batch *b, problem *p) {
  uint8_t *at = (uint8_t *)b->in + in_stride(b) * b->n;
  pack_registers(b, p, (uint32_t *)(void *)at);
  pack_images(b, p, at + b->in_words * 4);
  int32_t *expected = b->expected + (size_t)b->f.row->m * b->f.row->n * b->n;
  problem_expect(p, b->f.negate_a != b->f.negate_b ? -1 : 1, expected);
  return ++b->n < b->max || run(b);
}

bool batch_close(batch *b) {
  bool ran = run(b);
  gpu_unload(b->g, &b->kernel);
  batch_free(b);
  return ran;
}
