/* Block scales: the k-block and rows that a slot holds, those that a register holds, and whether
 * they belong to the product that they scale. The tag of a cell: k-block, offset in it of the
 * slot's first byte (in units of 16 bytes), and cell. */
#include "Check/check_machine.h"
#include "Spec/spec.h"

enum { CELL_BITS = 8, PLACE_BITS = 30, PLACE_UNIT = 16, WORD = 4, STRIP = 16, BLOCK = 8 };

static bool same(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *what,
                 int64_t got, int64_t expected) {
  if (got == expected)
    return true;
  if (!m->stop)
    hd_ck_differ(m, w, step, "data", "the block scales of this k-block, step, strip and column",
                 what, got, expected);
  return false;
}

uint64_t hd_ck_copy_scales(hd_ck_machine *m, const hd_ck_step *step, int64_t k_block, int64_t byte,
                           int64_t k_blocks, int64_t bytes) {
  bool of_b = hd_op_arg(hd_copy_rows_source(step->op)->op) == HD_ARG_BLOCK_SCALE_B;
  hd_ck_scales *x = &m->extents->scales[of_b];
  if (x->op && (x->k_blocks != k_blocks || x->bytes != bytes))
    hd_ck_undecided(m, step->op, "copies of block scales that do not agree on their size");
  if (byte % PLACE_UNIT || byte / PLACE_UNIT >> PLACE_BITS)
    hd_ck_undecided(m, step->op, "block scales from a byte that is no multiple of 16");
  x->op = step->op;
  x->k_blocks = k_blocks;
  x->bytes = bytes;
  return (uint64_t)k_block << (PLACE_BITS + CELL_BITS) | (uint64_t)(byte / PLACE_UNIT) << CELL_BITS;
}

void hd_ck_load_scale(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_spec_row *row = step->row;
  bool of_b = hd_op_is(step->op, HD_ATTR_OPERAND, "scale_b");
  int64_t each = hd_spec_scales_a_row(row), rows = hd_op_int(step->op, HD_ATTR_ROWS, 0);
  int64_t lo = w->env[step->args[HD_AT_load_place]].i * each;
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_load_buffer, HD_AT_load_cursor, &region))
    return;
  region.range = (hd_ck_range){.lo = lo, .hi = lo + rows * each, .n = 1};
  hd_ck_access x = {.op = step->op, .kind = HD_CK_READ, .slot = region.slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_READS);
  uint64_t tag = hd_ck_access_read(m, w, hd_ck_access_add(m, w, x), region);
  if (m->stop || !same(m, w, step, "cell of the slot", (int64_t)(tag & ((1 << CELL_BITS) - 1)),
                       lo / HD_CK_CELL))
    return;
  const hd_ck_ring *from = region.buffer;
  const hd_op *copy = m->extents->scales[of_b].op;
  if (!copy || hd_copy_rows_buffer(copy)->op != from->op)
    return hd_ck_undecided(m, step->op, "block scales from a buffer of something else");
  m->extents->scales[of_b].each = each;
  int64_t first = (int64_t)(tag >> CELL_BITS & ((UINT64_C(1) << PLACE_BITS) - 1)) * PLACE_UNIT;
  hd_ck_frag f = {.state = HD_CK_FRAG_READY, .root = step->results[0]};
  f.content = (hd_ck_content){.block = -1,
                              .k_block = (int64_t)(tag >> (PLACE_BITS + CELL_BITS)),
                              .strip = of_b,
                              .col = (first + lo) / each,
                              .run = (int32_t)rows,
                              .step = (int32_t)hd_op_int(step->op, HD_ATTR_WORD, 0)};
  hd_ck_frag_define(m, w, step, f);
}

/* First row of the `which`-th scales at byte and thread id, for `unit` rows; -1 after a finding. */
static int64_t scaled_row(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int which,
                          const hd_ck_content *b, int64_t unit) {
  const hd_ck_content *s = &w->env[step->args[HD_AT_mma_scaled_scale_a + which]].frag.content;
  const hd_spec_row *row = step->row;
  const int64_t *ids = hd_op_attr(step->op, HD_ATTR_SCALE_IDS)->ints + 2 * which;
  if (!same(m, w, step, "operand (0 A, 1 B) of block scales", s->strip, which) ||
      !same(m, w, step, "k-block of block scales", s->k_block, b->k_block) ||
      !same(m, w, step, "first block scale of the k-block", s->step * WORD + ids[0],
            b->step * row->scale_vec))
    return -1;
  if ((ids[1] + 1) * unit > s->run)
    same(m, w, step, "rows of block scales", s->run, (ids[1] + 1) * unit);
  return s->col + ids[1] * unit;
}

void hd_ck_scale(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, const hd_ck_content *acc,
                 const hd_ck_content *b, hd_ck_content *sum) {
  sum->scaled = scaled_row(m, w, step, 0, b, STRIP) + 1;
  if (acc->n_steps > 0)
    same(m, w, step, "first row of A's block scales", sum->scaled - 1, acc->scaled - 1);
  same(m, w, step, "first column of B's block scales", scaled_row(m, w, step, 1, b, BLOCK), b->col);
}

bool hd_ck_scales_extent(const hd_ck_extents *x, int which, int64_t *expected, int64_t *got) {
  const hd_ck_scales *s = &x->scales[which];
  if (!s->op || !s->each)
    return true;
  if (s->end)
    return hd_ck_scale_tiles_extent(x, which, expected, got);
  *got = s->k_blocks;
  *expected = x->n_k_blocks;
  if (*got != *expected)
    return false;
  *got = s->bytes;
  *expected = (which ? x->n : x->m) * s->each;
  return *got == *expected;
}
