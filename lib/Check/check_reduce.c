/* finish.tile, reduce.tile, scale.tile: a statistic must cover all strips of its 128 rows of D,
 * each once, in the columns that it states, and is stored once. The tag of a slot is the sum of the
 * tags of the strips in it. */
#include "Check/check_instances.h"

enum { STRIP = HD_CK_STRIP, BLOCK = 8, ROWS = 128, FLOAT_BYTES = 4, ELEMS = 4 };

/* ---- finish.tile ---- */

void hd_ck_finish_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t row, col, g;
  if (!hd_ck_store_strip(m, w, step, &row, &col, &g))
    return;
  hd_ck_store_fragments(m, w, step, row, col);
  hd_ck_read_factors(m, w, step, g, row, col);
  hd_ck_frag made = hd_ck_no_frag;
  made.state = HD_CK_FRAG_READY;
  made.content = w->env[step->args[hd_first_acc(step->op)]].frag.content;
  made.content.finished = row + 1;
  made.content.matrix = g;
  made.content.col_of_d = col;
  w->env[step->results[0]].frag.read_by = 0; /* a new value: its registers never held A */
  hd_ck_frag_define(m, w, step, made);
}

/* ---- reduce.tile ---- */

void hd_ck_reduce_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  uint64_t tag = 0;
  int64_t columns = hd_reduce_tile_strips(step->op)[0]->type.n / ELEMS * BLOCK;
  if (!hd_ck_region_at(m, w, step, HD_AT_reduce_tile_buffer, HD_AT_reduce_tile_slot, &region))
    return;
  for (int32_t i = HD_AT_reduce_tile_strips; i < step->n_args && !m->stop; i++) {
    const hd_ck_content *c = &w->env[step->args[i]].frag.content;
    hd_ck_frag_use(m, w, step, i);
    if (!c->finished)
      return hd_ck_differ(m, w, step, "data", "what finish.tile made", "results in the fragment", 0,
                          1);
    tag += hd_ck_statistic_tag(c->matrix, c->finished - 1, c->col_of_d, false);
  }
  region.range.hi = columns * FLOAT_BYTES;
  hd_ck_write_statistic(m, w, step, region, 0, tag);
}

/* ---- scale.tile ---- */

typedef struct tile {
  int64_t row, col, g, columns, unit; /* columns: of a cell; unit: its rows */
  int32_t cells, across, rows;
  int32_t from, to; /* cells of the part of the role that this warp is in */
  bool scales, is_first;
} tile;

/* The first row and column of cell i. */
static int64_t row_of(const tile *t, int32_t i) { return t->row + i / t->across * t->unit; }
static int64_t col_of(const tile *t, int32_t i) { return t->col + i % t->across * t->columns; }

static hd_ck_region slot_at(const hd_ck_warp *w, const hd_ck_ring *buffer, int64_t slot,
                            int64_t columns) {
  return (hd_ck_region){.buffer = buffer,
                        .cta = w->cta,
                        .slot = (int32_t)slot,
                        .range = {.hi = columns * FLOAT_BYTES, .n = 1}};
}

/* Reads all parts of a cell, which must be those of its strips and no others. */
static void read_parts(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_ring *buffer, const tile *t, int32_t i) {
  uint64_t got = 0, expected = 0;
  int64_t row = row_of(t, i), col = col_of(t, i);
  for (int64_t s = 0; s < t->unit; s += STRIP)
    expected += hd_ck_statistic_tag(t->g, row + s, col, false);
  for (int32_t r = 0; r < t->rows && !m->stop; r++)
    got += hd_ck_read_statistic(m, w, step, slot_at(w, buffer, i * t->rows + r, t->columns));
  if (got != expected && !m->stop)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, i * t->rows),
               "the parts of all strips of the 128 rows of D, each once",
               "the statistic of row %lld, column %lld is made of other strips' parts",
               (long long)row, (long long)col);
}

/* All warps of the part write some factors; to other warps this is one write. */
static void write_factors(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                          const hd_ck_ring *buffer, const tile *t) {
  uint32_t occurrence = ++w->n_shared_work;
  for (int32_t i = t->from; i < t->to && !m->stop; i++) {
    hd_ck_region region = slot_at(w, buffer, t->cells * t->rows + i, t->columns);
    hd_ck_write_statistic(m, w, step, region, occurrence,
                          hd_ck_statistic_tag(t->g, row_of(t, i), col_of(t, i), true));
  }
}

static int64_t bands_of(const hd_ck_extents *x) {
  int64_t unit = ROWS * x->rows_of_d;
  return (x->m + unit - 1) / unit;
}

/* Records the stores; the part's first warp does so for all. */
static void mark(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const tile *t) {
  hd_ck_extents *x = m->extents;
  int64_t matrices = x->g > 0 ? x->g : 1, first = hd_ck_first_column(x, t->g);
  int64_t end = first + hd_ck_width(x, t->g);
  if (!t->is_first || !x->stored[HD_CK_D] || t->g < 0 || t->g >= matrices)
    return;
  if (!x->scaled)
    x->scaled = HD_NEW_ARRAY(&x->arena, uint8_t, matrices * bands_of(x) * x->stored_cols);
  for (int32_t i = t->from; i < t->to; i++)
    for (int64_t col = col_of(t, i), to = col + t->columns; col < to && col < end; col += BLOCK) {
      int64_t row = row_of(t, i);
      if (row >= x->m)
        continue;
      int64_t band = t->g * bands_of(x) + row / t->unit;
      uint8_t *by = &x->scaled[band * x->stored_cols + (col - first) / BLOCK];
      if (*by)
        return hd_ck_differ(m, w, step, "coverage", "one tile a statistic",
                            "statistics of a column that are written twice", col, end);
      *by = 1;
    }
}

static bool is_missing(const hd_ck_extents *x, int64_t *g, int64_t *row, int64_t *col) {
  int64_t bands = (x->g > 0 ? x->g : 1) * bands_of(x);
  for (int64_t i = 0; x->stored[HD_CK_D] && i < bands; i++)
    for (int64_t j = 0; j * BLOCK < hd_ck_width(x, i / bands_of(x)); j++)
      if (!x->scaled || !x->scaled[i * x->stored_cols + j]) {
        *g = i / bands_of(x);
        *row = i % bands_of(x) * ROWS;
        *col = hd_ck_first_column(x, *g) + j * BLOCK;
        return true;
      }
  return false;
}

static bool check_place(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                        const tile *t) {
  int64_t pitch = w->env[step->args[HD_AT_scale_tile_pitch]].i;
  int64_t before = hd_ck_first_column(m->extents, t->g);
  if (t->row < 0 || t->row % t->unit || t->col < before || (t->col - before) % BLOCK) {
    hd_ck_undecided(m, step->op,
                    "statistics that do not begin with 128 rows of D and a block of 8 "
                    "columns");
    return false;
  }
  if (pitch < m->extents->n)
    hd_ck_differ(m, w, step, "bounds", "a pitch no shorter than a row", "the statistics' pitch",
                 pitch, m->extents->n);
  else if (m->extents->ldsd && pitch != m->extents->ldsd)
    hd_ck_differ(m, w, step, "data", "the argument ldsd", "the statistics' pitch", pitch,
                 m->extents->ldsd);
  return !m->stop;
}

/* The cells of the warp and of the warps that it synchronises with. */
static void share(const hd_ck_machine *m, const hd_ck_warp *w, const hd_op *op, tile *t) {
  const hd_ck_role *role = &m->program->roles[w->role];
  int32_t among = (int32_t)hd_op_int(op, HD_ATTR_AMONG, role->n_warps);
  int32_t at = w->index - role->warp_lo, each = t->cells / (role->n_warps / among);
  t->from = at / among * each;
  t->to = t->from + each;
  t->is_first = at % among == 0;
}

void hd_ck_scale_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  const hd_ck_ring *buffer = hd_ck_buffer(m->program, hd_scale_tile_buffer(op));
  tile t = {.row = w->env[step->args[HD_AT_scale_tile_row]].i,
            .col = w->env[step->args[HD_AT_scale_tile_column]].i,
            .g = hd_ck_matrix_of(w, step, HD_AT_scale_tile_g),
            .columns = hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0),
            .unit = hd_ck_statistic_rows(op),
            .across = (int32_t)hd_op_int(op, HD_ATTR_ACROSS, 1),
            .rows = (int32_t)hd_op_int(op, HD_ATTR_ROWS, 1),
            .scales = hd_op_has(op, HD_ATTR_SCALE_D)};
  if (!buffer)
    return hd_ck_undecided(m, op, "a buffer that is not named by its declaration");
  t.cells = buffer->stages / (t.rows + t.scales);
  share(m, w, op, &t);
  if (!hd_ck_mask(m, w, step, HD_AT_scale_tile_m, t.g) || !check_place(m, w, step, &t))
    return;
  for (int32_t i = t.from; i < t.to && !m->stop; i++)
    read_parts(m, w, step, buffer, &t, i);
  if (t.scales)
    write_factors(m, w, step, buffer, &t);
  mark(m, w, step, &t);
}

/* If the problem has statistics of D: reports one that a whole grid has not written. */
void hd_ck_statistics_finish(hd_ck_kernel *k, const hd_ck_extents *x) {
  const hd_op *product = k->program.product.op;
  int64_t g, row, col;
  if (product && hd_op_has(product, HD_ATTR_REDUCE) && is_missing(x, &g, &row, &col))
    hd_ck_static_find(k, "coverage", product, "a tile for every 128 rows of D and column",
                      "the statistic of row %lld, column %lld of D is never written",
                      (long long)row, (long long)col);
}
