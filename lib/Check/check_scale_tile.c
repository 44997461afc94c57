/* Block scales in tiles of 128 rows by 4 scales, which copy.bulk and tcgen05.cp move to tensor
 * memory. Checks which tile each region holds, and that it belongs to the product that it scales.
 * The tag of a cell: the operand, and the source offset in cells. A slot of tensor memory is
 * modelled as consecutive columns, a tile in it as 16 cells. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"
#include "Spec/spec.h"

enum { TILE_ROWS = 128, TILE_BYTES = 512, TILE_CELLS = TILE_BYTES / HD_CK_CELL, WORD = 4 };
enum { TENSOR_TILE_BYTES = 2048, TENSOR_TILE_CELLS = TENSOR_TILE_BYTES / HD_CK_CELL };
enum { OWNER_BIT = 40 };

static const uint64_t of_b = UINT64_C(1) << OWNER_BIT;

static bool same(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *what,
                 int64_t got, int64_t expected) {
  if (got != expected && !m->stop)
    hd_ck_differ(m, w, step, "data", "the block scales of this k-block, step, slab and column",
                 what, got, expected);
  return got == expected && !m->stop;
}

/* --- copies --------------------------------------------------------------------------------- */

uint64_t hd_ck_copy_scale_tiles(hd_ck_machine *m, const hd_ck_step *step, int64_t from,
                                int64_t bytes) {
  bool b = hd_op_arg(hd_copy_bulk_source(step->op)->op) == HD_ARG_BLOCK_SCALE_B;
  hd_ck_scales *x = &m->extents->scales[b];
  if (from % TILE_BYTES || bytes % TILE_BYTES || from >> OWNER_BIT)
    hd_ck_undecided(m, step->op, "a copy of parts of tiles of block scales");
  x->op = step->op;
  x->end = from + bytes > x->end ? from + bytes : x->end;
  return (uint64_t)(from / HD_CK_CELL) | (b ? of_b : 0);
}

static uint32_t enter(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      int32_t slot) {
  hd_ck_access x = {.op = step->op, .kind = HD_CK_TENSOR_MMA, .slot = slot};
  x.component = hd_ck_component(m, w->id, HD_CK_MMA);
  x.value = w->multiplied;
  return hd_ck_access_add(m, w, x);
}

/* The number of the tile at byte `lo` of a slot; -1 after a finding. */
static int64_t read_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                         hd_ck_region region, int64_t lo, int32_t cells) {
  region.range = (hd_ck_range){.lo = lo, .hi = lo + (int64_t)cells * HD_CK_CELL, .n = 1};
  uint64_t tag = hd_ck_access_read(m, w, enter(m, w, step, region.slot), region);
  if (m->stop || !same(m, w, step, "cell of a tile", (int64_t)(tag % (uint64_t)cells), 0))
    return -1;
  return (int64_t)(tag / (uint64_t)cells);
}

static void copy_tiles(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta) {
  hd_ck_region to, from;
  if (!hd_ck_tensor_region(m, w, step, cta, HD_AT_tcgen05_cp_to, HD_AT_tcgen05_cp_cursor, &to) ||
      !hd_ck_region_of(m, w, step, HD_AT_tcgen05_cp_from, HD_AT_tcgen05_cp_cursor, &from))
    return;
  from.cta = cta;
  int64_t bands = hd_op_int(step->op, HD_ATTR_ROWS, 0) / TILE_ROWS;
  int64_t tiles = from.buffer->bytes / TILE_BYTES;
  if (bands < 1 || tiles % bands || to.buffer->bytes != tiles * TENSOR_TILE_BYTES)
    return hd_ck_undecided(m, step->op, "a copy of parts of a slot of block scales");
  uint32_t id = enter(m, w, step, to.slot);
  for (int64_t i = 0; i < tiles && !m->stop; i++) {
    int64_t words = tiles / bands, at = i % words * bands + i / words;
    int64_t tile = read_tile(m, w, step, from, i * TILE_BYTES, TILE_CELLS);
    to.range = (hd_ck_range){.lo = at * TENSOR_TILE_BYTES, .hi = (at + 1) * TENSOR_TILE_BYTES,
                             .n = 1};
    if (tile >= 0)
      hd_ck_access_write(m, w, id, to, (uint64_t)tile * TENSOR_TILE_CELLS);
  }
}

/* For a pair, copies in both CTAs: from the shared to the tensor memory of each. */
void hd_ck_tensor_cp(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int32_t first, n_ctas = hd_ck_tensor_group(m, w, step, &first);
  w->multiplied++;
  for (int32_t i = 0; i < n_ctas && !m->stop; i++)
    copy_tiles(m, w, step, first + i);
}

/* --- multiplication ------------------------------------------------------------------------- */

/* The numbers of the tiles that a k-step reads, one per 128 rows, minus the tiles before them along
 * k, so that all k-steps of a tile of D give the same. False after a finding. */
static bool read_bands(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                       int which, int64_t bands, const hd_ck_content *b, int64_t tile[2]) {
  const hd_spec_row *row = step->row;
  int64_t each = hd_spec_scales_a_row(row), before = b->k_block * each;
  int64_t word = (before % WORD + b->step * row->scale_vec) / WORD;
  const int64_t owner = (int64_t)(of_b / TILE_CELLS); /* tile / owner: 0 A, 1 B */
  hd_ck_region region;
  if (!hd_ck_tensor_region(m, w, step, cta, 7 + which, 3, &region))
    return false;
  if (region.buffer->bytes != bands * ((each + WORD - 1) / WORD) * TENSOR_TILE_BYTES) {
    hd_ck_undecided(m, step->op, "block scales of more or less than the rows of a tile");
    return false;
  }
  m->extents->scales[which].each = each;
  for (int64_t i = 0; i < bands; i++) {
    int64_t lo = (word * bands + i) * TENSOR_TILE_BYTES;
    tile[i] = read_tile(m, w, step, region, lo, TENSOR_TILE_CELLS);
    if (tile[i] < 0 ||
        !same(m, w, step, "operand (0 A, 1 B) of block scales", tile[i] / owner, which))
      return false;
    tile[i] = tile[i] % owner - before / WORD - word;
  }
  return true;
}

/* Compares where in a word the k-block's scales begin, and (if the columns are not a multiple of
 * 128) the word of the tile's first column. Operands 9 and 10 matter in no other way. */
static bool check_region(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                         int64_t columns, const hd_ck_content *b) {
  enum { WORD_ROWS = 32 };
  int64_t each = hd_spec_scales_a_row(step->row);
  int64_t k_block = w->env[step->args[HD_AT_tcgen05_mma_k_block]].i,
          col = w->env[step->args[HD_AT_tcgen05_mma_column]].i;
  if (b->col % WORD_ROWS)
    hd_ck_undecided(m, step->op, "block scales from a column that is no multiple of 32");
  return same(m, w, step, "position in a word of the k-block's block scales", k_block * each % WORD,
              b->k_block * each % WORD) &&
         (columns % TILE_ROWS == 0 ||
          same(m, w, step, "word of the first column's block scales", col % TILE_ROWS / WORD_ROWS,
               b->col % TILE_ROWS / WORD_ROWS));
}

bool hd_ck_scale_tiles(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                       int64_t columns, const hd_ck_content *b, hd_ck_tiles *tiles) {
  int64_t of_a[2] = {0}, of_columns[2] = {0}, bands = (columns + TILE_ROWS - 1) / TILE_ROWS;
  if (bands > 2) {
    hd_ck_undecided(m, step->op, "block scales of more than 256 columns");
    return false;
  }
  if (!check_region(m, w, step, columns, b) || !read_bands(m, w, step, cta, 0, 1, b, of_a) ||
      !read_bands(m, w, step, cta, 1, bands, b, of_columns))
    return false;
  *tiles = (hd_ck_tiles){.a = of_a[0], .b = of_columns[0], .col = b->col, .columns = columns};
  tiles->b_last = of_columns[bands - 1];
  return true;
}

void hd_ck_scale_sums(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const hd_ck_tiles *tiles, const hd_ck_content *before, hd_ck_content *sum) {
  const hd_ck_tiles *old = &before->tiles;
  sum->tiles = *tiles;
  if (!before->n_steps)
    return;
  same(m, w, step, "first tile of A's block scales", tiles->a, old->a);
  same(m, w, step, "first tile of B's block scales", tiles->b, old->b);
  same(m, w, step, "last tile of B's block scales", tiles->b_last, old->b_last);
}

/* --- D -------------------------------------------------------------------------------------- */

/* Number of tiles along k of 128 rows, over all k-blocks. */
static int64_t tiles_along(int64_t n_k_blocks, int64_t each) {
  return (n_k_blocks * each + WORD - 1) / WORD;
}

void hd_ck_scale_stored(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                        const hd_ck_content *c, int64_t row) {
  const hd_ck_tiles *t = &c->tiles;
  if (!t->columns)
    return;
  int64_t along = tiles_along(c->n_steps / HD_K_STEPS, m->extents->scales[0].each);
  int64_t last = (t->col + t->columns - 1) / TILE_ROWS, end = (m->extents->n - 1) / TILE_ROWS;
  same(m, w, step, "first tile of A's block scales", t->a, row / TILE_ROWS * along);
  same(m, w, step, "first tile of B's block scales", t->b, t->col / TILE_ROWS * along);
  same(m, w, step, "last tile of B's block scales", t->b_last, (last < end ? last : end) * along);
}

bool hd_ck_scale_tiles_extent(const hd_ck_extents *x, int which, int64_t *expected, int64_t *got) {
  const hd_ck_scales *s = &x->scales[which];
  int64_t bands = ((which ? x->n : x->m) + TILE_ROWS - 1) / TILE_ROWS;
  *got = s->end;
  *expected = bands * tiles_along(x->n_k_blocks, s->each) * TILE_BYTES;
  return *got <= *expected;
}
