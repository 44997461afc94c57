#include "packing.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/convert.h"

/* Where one field of an operand is: word and shift in the registers of a case. */
typedef struct place {
  uint32_t word;
  uint16_t row, col;
  uint8_t shift, bits;
} place;

typedef struct places {
  place *at;
  size_t n, cap;
} places;

struct packing {
  form f;
  places a, b, c, meta, d;
  uint32_t *a_byte, *b_byte; /* operands in shared memory: byte of (mn, k), k fastest; owned */
  size_t a_image, b_image;   /* bytes, multiples of 1024 */
  size_t in_words, out_words;
  unsigned n_lanes;
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

/* Adds the registers of an operand, if it has any; returns the number of words per lane. */
static unsigned place_operand(packing *k, hd_operand_id id, places *p, unsigned first) {
  hd_fragment f;
  if (hd_spec_fragment(k->f.row, id, k->f.selector * (id == HD_OPERAND_META), &f) != HEDDLE_OK)
    return 0;
  add_places(p, &f, first, k->n_lanes);
  return f.n_regs;
}

/* Order of a case's registers: A, B, accumulators, metadata (as kernel_text.c loads them). */
static void place_registers(packing *k) {
  unsigned n = place_operand(k, HD_OPERAND_A, &k->a, 0);
  n += place_operand(k, HD_OPERAND_B, &k->b, n);
  unsigned acc = place_operand(k, HD_OPERAND_D, &k->c, n);
  place_operand(k, HD_OPERAND_D, &k->d, 0);
  n += acc;
  n += place_operand(k, HD_OPERAND_META, &k->meta, n);
  k->in_words = (size_t)n * k->n_lanes;
  k->out_words = (size_t)acc * k->n_lanes;
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

/* ---- values ---- */

void encoder_set(encoder *e, heddle_elem elem, const double value[256]) {
  for (unsigned i = 0; i < 256; i++) {
    e->bits[i] = hd_elem_from_double(elem, value[i]);
    e->value[i] = hd_elem_to_double(elem, e->bits[i]);
  }
}

void encoders_integers(encoders *e, const form *f) {
  const hd_spec_row *row = f->row;
  double value[256];
  for (unsigned i = 0; i < 256; i++)
    value[i] = (int8_t)i;
  encoder_set(&e->a, row->operand[HD_OPERAND_A].elem, value);
  encoder_set(&e->b, row->operand[HD_OPERAND_B].elem, value);
  for (unsigned i = 0; i < 256; i++)
    value[i] = f->c_base + (double)(int8_t)i;
  encoder_set(&e->c, row->operand[HD_OPERAND_D].elem, value);
}

int32_t form_bounded(const form *f, int64_t sum) {
  if (!f->satfinite)
    return (int32_t)(uint32_t)sum;
  return (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
}

/* ---- packing ---- */

static void put(uint32_t *words, const place *at, uint32_t bits) {
  uint32_t mask = at->bits == 32 ? UINT32_MAX : (1u << at->bits) - 1;
  words[at->word] = (words[at->word] & ~(mask << at->shift)) | (bits & mask) << at->shift;
}

static uint32_t bits_of(const encoder *e, int8_t number) {
  return e->bits[(uint8_t)number];
}

static void pack_registers(const packing *k, const encoders *e, problem *p, uint32_t *words) {
  for (size_t i = 0; i < k->a.n; i++)
    put(words, &k->a.at[i], bits_of(&e->a, p->a[k->a.at[i].row][k->a.at[i].col]));
  for (size_t i = 0; i < k->b.n; i++)
    put(words, &k->b.at[i], bits_of(&e->b, p->b[k->b.at[i].row][k->b.at[i].col]));
  for (size_t i = 0; i < k->c.n; i++)
    put(words, &k->c.at[i], bits_of(&e->c, p->c[k->c.at[i].row][k->c.at[i].col]));
  /* Lanes that do not contribute hold garbage, which must not affect the result. */
  for (unsigned lane = 0; lane < k->n_lanes; lane++)
    words[k->in_words - k->n_lanes + lane] = problem_random(p);
  for (size_t i = 0; i < k->meta.n; i++)
    put(words, &k->meta.at[i], p->code[k->meta.at[i].row][k->meta.at[i].col / p->group]);
}

static unsigned elem_bytes(const packing *k, hd_operand_id id) {
  return heddle_elem_get(k->f.row->operand[id].elem)->container_bits / 8u;
}

static void pack_images(const packing *k, const encoders *e, const problem *p, uint8_t *image) {
  const hd_spec_row *row = k->f.row;
  unsigned half = row->k / 2u, bytes = elem_bytes(k, HD_OPERAND_B);
  memset(image, 0x33, k->a_image + k->b_image); /* gaps must not affect the result */
  for (unsigned m = 0; k->a_image && m < row->m; m++)
    for (unsigned cc = 0; cc < half; cc++)
      memcpy(image + k->a_byte[m * half + cc], &e->a.bits[(uint8_t)p->a[m][cc]], bytes);
  for (unsigned n = 0; k->b_image && n < row->n; n++)
    for (unsigned i = 0; i < row->k; i++)
      memcpy(image + k->a_image + k->b_byte[n * row->k + i], &e->b.bits[(uint8_t)p->b[i][n]],
             bytes);
}

void packing_pack(const packing *k, const encoders *e, problem *p, void *in) {
  pack_registers(k, e, p, in);
  pack_images(k, e, p, (uint8_t *)in + k->in_words * 4);
}

void packing_flip(const packing *k, void *in) {
  uint32_t *words = in;
  if (k->a_image)
    ((uint8_t *)in)[k->in_words * 4 + k->a_byte[0] + elem_bytes(k, HD_OPERAND_A) - 1] ^= 0x80;
  else
    words[k->a.at[0].word] ^= 1u << (k->a.at[0].shift + k->a.at[0].bits - 1);
}

size_t packing_in_bytes(const packing *k) {
  return k->in_words * 4 + k->a_image + k->b_image;
}

size_t packing_out_bytes(const packing *k) {
  return k->out_words * 4;
}

/* ---- launches and results ---- */

/* The descriptor without the base address; `first` is the operand's offset in shared memory. */
static uint64_t descriptor(const form *f, hd_operand_id id, size_t first) {
  const shared_form *s = id == HD_OPERAND_A ? &f->a : &f->b;
  unsigned bytes = heddle_elem_get(f->row->operand[id].elem)->container_bits / 8u;
  unsigned k = id == HD_OPERAND_A ? f->row->k / 2u : f->row->k;
  return hd_wgmma_descriptor(&s->canonical) + ((first + (size_t)s->step * k * bytes) >> 4);
}

gpu_job packing_job(const packing *k, const void *in, void *out, unsigned n_cases) {
  size_t image = k->a_image + k->b_image;
  gpu_job job = {.in = in,
                 .out = out,
                 .in_bytes = packing_in_bytes(k) * n_cases,
                 .out_bytes = packing_out_bytes(k) * n_cases,
                 .n_cases = n_cases,
                 .n_threads = k->n_lanes,
                 .shared_bytes = (unsigned)image,
                 .in_stride = (uint32_t)packing_in_bytes(k),
                 .out_stride = (uint32_t)packing_out_bytes(k),
                 .image_bytes = (uint32_t)image};
  if (k->a_image)
    job.a_descriptor = descriptor(&k->f, HD_OPERAND_A, 0);
  if (k->b_image)
    job.b_descriptor = descriptor(&k->f, HD_OPERAND_B, k->a_image);
  return job;
}

size_t packing_n_d(const packing *k) {
  return k->d.n;
}

uint32_t packing_d(const packing *k, const uint32_t *out, size_t i, unsigned *row, unsigned *col) {
  const place *at = &k->d.at[i];
  uint32_t word = out[at->word] >> at->shift;
  *row = at->row;
  *col = at->col;
  return at->bits == 32 ? word : word & ((1u << at->bits) - 1);
}

/* ---- opening and closing ---- */

void packing_free(packing *k) {
  if (!k)
    return;
  free(k->a.at);
  free(k->b.at);
  free(k->c.at);
  free(k->d.at);
  free(k->meta.at);
  free(k->a_byte);
  free(k->b_byte);
  free(k);
}

packing *packing_open(const form *f) {
  packing *k = hd_xmalloc(sizeof *k);
  *k = (packing){.f = *f, .n_lanes = f->row->issuer == HD_ISSUER_WARPGROUP ? 128 : 32};
  place_registers(k);
  if (place_shared(f, HD_OPERAND_A, &k->a_byte, &k->a_image) &&
      place_shared(f, HD_OPERAND_B, &k->b_byte, &k->b_image))
    return k;
  packing_free(k);
  return NULL;
}
