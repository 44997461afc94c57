/* f32 block scales that promote applies: the product, k-block and rows that a slot holds, and
 * whether they belong to the sums that they scale. The tag of a cell: product (hd_ck_matrix_tag),
 * k-block, first scale of the slot's line, and cell. */
#include <string.h>

#include "Check/check_machine.h"
#include "Layout/packed_format.h"

enum { CELL_BITS = 8, PLACE_BITS = 32, BYTES = 4, STRIP_APART = 64, BLOCK = 8, ELEMS = 4 };

/* The product whose scales are copied: 0 unless the tensor map has one matrix for each product. */
static int64_t product_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          bool of_b) {
  if (!hd_op_batch(step->op, HD_AT_copy_tma_g))
    return 0;
  int64_t g = w->env[step->args[HD_AT_copy_tma_g]].i;
  m->extents->scales_apart[of_b] = true;
  if (g < 0 || g >= m->extents->g)
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "a product of the batch", "block scales of product %lld of %lld", (long long)g,
               (long long)m->extents->g);
  return g;
}

uint64_t hd_ck_copy_scale_box(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                              const hd_ck_region *region, int64_t x, int64_t y) {
  bool of_b = hd_op_arg(hd_copy_tma_map(step->op)->op) == HD_ARG_BLOCK_SCALE_B;
  int64_t lo = region->range.lo, hi = region->range.hi, first = x - lo / BYTES;
  if (region->buffer->layout != HD_CK_LINEAR || first < 0 || y < 0 ||
      y >> (HD_CK_MATRIX_BIT - PLACE_BITS - CELL_BITS) || (lo > 0 && (lo | hi) % HD_CK_CELL) ||
      lo / HD_CK_CELL >> CELL_BITS)
    hd_ck_undecided(m, step->op, "boxes of block scales that are no parts of one line");
  if (hi > m->extents->boxed[of_b])
    m->extents->boxed[of_b] = hi;
  uint64_t product = hd_ck_matrix_tag(m, step->op, product_of(m, w, step, of_b));
  return product << HD_CK_MATRIX_BIT | (uint64_t)y << (PLACE_BITS + CELL_BITS) |
         (uint64_t)(first & UINT32_MAX) << CELL_BITS | (uint64_t)(lo / HD_CK_CELL);
}

uint64_t hd_ck_copy_scales_by_index(hd_ck_machine *m, const hd_ck_step *step, int64_t line,
                                    int64_t column, int64_t bytes) {
  int64_t pitch = m->extents->ldsb * BYTES;
  if (!pitch || line % pitch || line < 0 || column < 0 ||
      line / pitch >> (HD_CK_MATRIX_BIT - PLACE_BITS - CELL_BITS)) {
    hd_ck_undecided(m, step->op, "block scales by index that do not begin a line");
    return 0;
  }
  if (bytes > m->extents->boxed[1])
    m->extents->boxed[1] = bytes;
  return (uint64_t)(line / pitch) << (PLACE_BITS + CELL_BITS) |
         (uint64_t)(column & UINT32_MAX) << CELL_BITS;
}

static bool same(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *what,
                 int64_t got, int64_t expected) {
  if (got == expected)
    return true;
  if (!m->stop)
    hd_ck_differ(m, w, step, "data", "the sums and block scales of one k-block, strip and column",
                 what, got, expected);
  return false;
}

/* A line of scales in a slot. */
typedef struct line {
  int64_t product, k_block, first;
} line;

/* Reads scales [lo, hi) of a slot, which must be from one line. */
static bool read_line(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int which,
                      int64_t lo, int64_t hi, line *out) {
  hd_ck_region region;
  int32_t at = which ? HD_AT_promote_scale_b : HD_AT_promote_scale_a;
  if (!hd_ck_region_of(m, w, step, at, HD_AT_promote_cursor, &region))
    return false;
  region.range = (hd_ck_range){.lo = lo * BYTES, .hi = hi * BYTES, .n = 1};
  if (lo < 0 || region.range.hi > m->extents->boxed[which]) {
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "scales that the copies to the slot bring",
               "scales [%lld, %lld) of a slot, to which %lld are brought", (long long)lo,
               (long long)hi, (long long)m->extents->boxed[which] / BYTES);
    return false;
  }
  hd_ck_access x = {.op = step->op, .kind = HD_CK_READ, .slot = region.slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_READS);
  uint64_t tag = hd_ck_access_read(m, w, hd_ck_access_add(m, w, x), region);
  out->product = m->extents->n_matrices ? m->extents->matrix[tag >> HD_CK_MATRIX_BIT] : 0;
  tag &= (UINT64_C(1) << HD_CK_MATRIX_BIT) - 1;
  out->k_block = (int64_t)(tag >> (PLACE_BITS + CELL_BITS));
  out->first = (int64_t)(tag >> CELL_BITS & UINT32_MAX);
  return !m->stop && same(m, w, step, "cell of the slot", (int64_t)(tag & ((1 << CELL_BITS) - 1)),
                          region.range.lo / HD_CK_CELL);
}

/* The part must be one complete k-block, with the scales of that k-block. */
static void check_part(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_content *part, line a, line b, int64_t column) {
  int64_t run = hd_op_int(step->op, HD_ATTR_RUN, 2);
  if (!same(m, w, step, "k-steps of the part", part->n_steps, HD_K_STEPS))
    return;
  if (part->sum != hd_ck_sum_of(part->last, 1, 1))
    same(m, w, step, "k-steps of the k-block, each once", 0, 1);
  same(m, w, step, "k-block of A's block scales", a.k_block, part->last);
  same(m, w, step, "k-block of B's block scales", b.k_block, part->last);
  int64_t before = part->col >> HD_CK_MATRIX_COLUMNS << HD_CK_MATRIX_COLUMNS;
  same(m, w, step, "first column of B's block scales", b.first + column, part->col - before);
  same(m, w, step, "consecutive columns of a lane", run, part->run);
}

/* Adds the part to the sum. Both must have the same strip, columns and rows of scales. */
static hd_ck_content add(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                         const hd_ck_content *sum, const hd_ck_content *part, line a, line b,
                         int64_t row) {
  hd_ck_content all = *part;
  const int64_t scaled = a.first + row + 1, product[] = {a.product, b.product};
  if (sum->n_steps > 0 &&
      (sum->block != part->block || sum->strip != part->strip || sum->run != part->run))
    same(m, w, step, "slab, strip or lanes of the sum; block", sum->block, part->block);
  if (sum->n_steps > 0) {
    same(m, w, step, "first column of the sum", sum->col, part->col);
    same(m, w, step, "first row of A's block scales", scaled - 1, sum->scaled - 1);
    for (int i = 0; i < 2; i++)
      same(m, w, step, "product of the block scales", product[i], sum->scales_of[i]);
  }
  memcpy(all.scales_of, product, sizeof product);
  all.end = sum->n_steps > 0 && sum->end < part->end ? sum->end : part->end;
  all.n_steps = sum->n_steps + part->n_steps;
  all.sum = sum->sum + part->sum;
  all.stride = part->last - sum->last;
  all.scaled = scaled;
  all.scaled_rows = (int32_t)hd_op_int(step->op, HD_ATTR_ROWS, 1);
  return all;
}

static void define(hd_ck_warp *w, const hd_ck_step *step, int32_t i, hd_ck_content content) {
  hd_ck_frag f = hd_ck_no_frag;
  f.state = HD_CK_FRAG_READY;
  f.touched = w->now;
  f.made = step->op;
  f.content = content;
  /* Later ops must use the result. */
  w->env[step->args[HD_AT_promote_parts + i]].frag.consumed = true;
  w->env[step->results[i]].frag = f;
}

/* After a finding: defines the results, so that later ops report no consequence of it. */
static void pass_on(hd_ck_warp *w, const hd_ck_step *step, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    define(w, step, i, w->env[step->args[HD_AT_promote_parts + i]].frag.content);
}

void hd_ck_promote(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  enum { FIRST = HD_AT_promote_parts };
  int32_t n = (step->n_args - FIRST) / 2;
  int64_t rows = hd_op_int(step->op, HD_ATTR_ROWS, 1);
  int64_t row = w->env[step->args[HD_AT_promote_row]].i;
  int64_t column = w->env[step->args[HD_AT_promote_column]].i;
  int64_t columns = step->op->operands[FIRST]->type.n / ELEMS * BLOCK;
  line a, b;
  for (int32_t i = FIRST; i < step->n_args; i++)
    hd_ck_frag_use(m, w, step, i);
  if (row < 0 || row % HD_CK_STRIP)
    hd_ck_undecided(m, step->op, "block scales of rows that are no strip");
  if (m->stop || !read_line(m, w, step, 1, column, column + columns, &b))
    return pass_on(w, step, 2 * n);
  for (int32_t i = 0; i < n && !m->stop; i++) {
    int64_t lo = (row + i * STRIP_APART) / rows, hi = rows > 1 ? lo + 1 : lo + HD_CK_STRIP;
    const hd_ck_content sum = w->env[step->args[FIRST + i]].frag.content;
    const hd_ck_content part = w->env[step->args[FIRST + n + i]].frag.content;
    if (!read_line(m, w, step, 0, lo, hi, &a))
      return pass_on(w, step, 2 * n);
    check_part(m, w, step, &part, a, b, column);
    define(w, step, i, add(m, w, step, &sum, &part, a, b, lo));
    define(w, step, n + i, part);
  }
}
