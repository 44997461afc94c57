/* store.tile and stage.tile: what is written to D is a complete sum, at its own position, inside D,
 * once. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"
#include "Support/activations.h"

enum { STRIP = HD_CK_STRIP, BLOCK = 8, SLAB = 64, WIDE = 16 };

static void wrong_data(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const char *what, int64_t got, int64_t expected) {
  hd_ck_differ(m, w, step, "data", "the accumulators of this strip and column, over all of k", what,
               got, expected);
}

/* The sum must cover all k-blocks of a slab row. A's blocks are stored row by row, so that block
 * minus k-block is the slab times the number of k-blocks. */
static void check_sum(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const hd_ck_content *c, int64_t g, int64_t row) {
  hd_ck_extents *x = m->extents;
  int64_t n_k_blocks = c->n_steps / HD_K_STEPS;
  if (x->n_k_blocks < 0)
    x->n_k_blocks = n_k_blocks;
  if (c->n_steps != x->n_k_blocks * HD_K_STEPS)
    return wrong_data(m, w, step, "k-steps summed up", c->n_steps, x->n_k_blocks * HD_K_STEPS);
  if (c->sum != hd_ck_sum_of(0, 1, n_k_blocks))
    return wrong_data(m, w, step, "a k-block is missing or occurs twice; k-blocks", n_k_blocks,
                      n_k_blocks);
  int64_t matrix = c->block >> HD_CK_MATRIX_BLOCKS, of_a = x->apart_a && !m->at.shared ? g : 0;
  int64_t block = c->block - matrix * (INT64_C(1) << HD_CK_MATRIX_BLOCKS);
  if (block != row / SLAB * n_k_blocks)
    wrong_data(m, w, step, "first block of the slab", block, row / SLAB * n_k_blocks);
  else if (matrix != of_a)
    wrong_data(m, w, step, "matrix of A", matrix, of_a);
  if (c->strip != row % SLAB / STRIP)
    wrong_data(m, w, step, "strip of the slab", c->strip, row % SLAB / STRIP);
  int64_t scales = c->scaled_rows > 1 ? row / c->scaled_rows : row;
  if (c->scaled && c->scaled != scales + 1)
    wrong_data(m, w, step, "first row of A's block scales", c->scaled - 1, scales);
  for (int i = 0; c->scaled && i < 2; i++) {
    int64_t of = x->scales_apart[i] && !m->at.far ? g : 0;
    if (c->scales_of[i] != of)
      wrong_data(m, w, step, i ? "product of B's block scales" : "product of A's block scales",
                 c->scales_of[i], of);
  }
  const hd_op *product = m->program->product.op;
  if (product && hd_op_has(product, HD_ATTR_ROWS) && !c->scaled)
    wrong_data(m, w, step, "sums without block scales; k-blocks scaled", 0, n_k_blocks);
  hd_ck_scale_stored(m, w, step, c, row);
}

/* Rows of D. */
static int64_t height(const hd_ck_extents *x) { return x->m / x->rows_of_d; }
static int64_t strip_of_d(const hd_ck_extents *x) { return STRIP / x->rows_of_d; }

void hd_ck_store_begin(hd_ck_extents *x) {
  int64_t matrices = x->g > 0 ? x->g : 1;
  x->stored_rows = (x->m + STRIP - 1) / STRIP;
  x->stored_cols = (x->n + BLOCK - 1) / BLOCK;
  if (x->stored_rows * x->stored_cols > ((int64_t)1 << 24) / matrices)
    return; /* too large to record; smaller instances show the same pattern */
  for (int i = 0; i < HD_CK_OUTPUTS; i++)
    x->stored[i] = HD_NEW_ARRAY(&x->arena, uint64_t *, matrices * x->stored_rows);
}

static hd_ck_output output_of(const hd_op *op) {
  return hd_op_has(op, HD_ATTR_AUX) ? HD_CK_AUX : HD_CK_D;
}
static const char *name_of(const hd_op *op) { return output_of(op) == HD_CK_D ? "D" : "aux"; }

bool hd_ck_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t at, int64_t g) {
  int64_t rows = w->env[step->args[at]].i, cols = w->env[step->args[at + 1]].i;
  hd_ck_extents *x = m->extents;
  int64_t rows_of_d = hd_act_is_pair(hd_op_str(step->op, HD_ATTR_ACT)) ? 2 : 1;
  if (x->m < 0) {
    x->rows_of_d = rows_of_d;
    const hd_ck_product *p = &m->program->product;
    x->m = m->at.m >= 0 ? m->at.m : p->m ? p->m : rows;
    x->n = m->at.n >= 0 ? m->at.n : p->n ? p->n : x->groups ? x->groups->n : cols;
    x->store_op = step->op;
    hd_ck_store_begin(x);
  }
  if (x->rows_of_d != rows_of_d || (rows_of_d > 1 && x->m % STRIP)) {
    hd_ck_undecided(m, step->op, "pairs beside rows of D, or pairs of a part of 16 rows");
    return false;
  }
  if (x->groups && (g < 0 || g >= x->groups->g)) {
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1), "a group",
               "group %lld of %lld", (long long)g, (long long)x->groups->g);
    return false;
  }
  int64_t end = x->groups ? x->groups->end[g] : x->n;
  if (rows == x->m && cols == end)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
             "mask with m and n of the problem, or with the end of the group",
             "D is %lld x %lld, the mask %lld x %lld", (long long)x->m, (long long)end,
             (long long)rows, (long long)cols);
  return false;
}

bool hd_ck_store_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t g = hd_ck_matrix_of(w, step, hd_strip_g_at(step->op));
  return hd_ck_mask(m, w, step, hd_strip_row_at(step->op) + 2, g);
}

int64_t hd_ck_matrix_of(const hd_ck_warp *w, const hd_ck_step *step, int32_t at) {
  return hd_op_batch(step->op, at) ? w->env[step->args[at]].i : 0;
}

int64_t hd_ck_first_column(const hd_ck_extents *x, int64_t g) {
  return x->groups ? x->groups->first[g] : 0;
}
int64_t hd_ck_width(const hd_ck_extents *x, int64_t g) {
  if (!x->groups)
    return x->n;
  return x->groups->end[g] - x->groups->first[g];
}

void hd_ck_store_mark(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                      int64_t row, int64_t col) {
  hd_ck_extents *x = m->extents;
  int64_t matrices = x->g > 0 ? x->g : 1;
  if (g < 0 || g >= matrices)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "a matrix of the batch", "matrix %lld of a D of %lld", (long long)g,
                      (long long)matrices);
  int64_t batch = m->at.g >= 0 ? m->at.g : m->program->product.g;
  if (batch > 0 && x->g > 0 && x->g != batch)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "the problem's own g", "tiles of %lld matrices in a batch of %lld",
                      (long long)x->g, (long long)batch);
  col -= hd_ck_first_column(x, g);
  uint64_t **stored = x->stored[output_of(step->op)];
  if (!stored || row >= height(x) || col >= hd_ck_width(x, g))
    return;
  uint64_t **blocks = &stored[g * x->stored_rows + row / strip_of_d(x)];
  if (!*blocks)
    *blocks = HD_NEW_ARRAY(&x->arena, uint64_t, x->stored_cols);
  uint64_t *by = &(*blocks)[col / BLOCK];
  int64_t n = w->last ? w->partial.n : 1;
  uint64_t parts = w->last ? w->parts : 1;
  bool twice = *by & parts;
  *by |= parts | (n < HD_CK_PARTS ? ~UINT64_C(0) << n : 0);
  if (twice)
    hd_ck_find(m, "coverage", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "one warp for each strip and column",
               "row %lld, column %lld of %s are written twice", (long long)row, (long long)col,
               name_of(step->op));
}

bool hd_ck_store_missing(const hd_ck_extents *x, hd_ck_output output, int64_t *g, int64_t *row,
                         int64_t *col) {
  uint64_t **stored = x->stored[output];
  int64_t rows = x->stored_rows * (x->g > 0 ? x->g : 1);
  for (int64_t i = 0; stored && i < rows; i++)
    for (int64_t j = 0; j < (hd_ck_width(x, i / x->stored_rows) + BLOCK - 1) / BLOCK; j++)
      if (!stored[i] || stored[i][j] != UINT64_MAX) {
        *g = i / x->stored_rows;
        *row = i % x->stored_rows * strip_of_d(x);
        *col = hd_ck_first_column(x, *g) + j * BLOCK;
        return true;
      }
  return false;
}

static void check_pitch(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  int64_t ldd = w->env[step->args[HD_AT_store_tile_ldd]].i;
  bool col_major = hd_op_is(step->op, HD_ATTR_ORDER, "col_major");
  bool of_d = output_of(step->op) == HD_CK_D;
  int64_t shortest = col_major ? height(m->extents) : m->extents->n;
  int64_t expected = of_d ? m->extents->ldd : m->extents->ldaux;
  if (ldd < shortest)
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "a pitch no shorter than a row",
               "the pitch of %s is %lld, but a row has %lld elements", name_of(step->op),
               (long long)ldd, (long long)shortest);
  else if (expected && ldd != expected)
    wrong_data(m, w, step, of_d ? "D's pitch" : "aux's pitch", ldd, expected);
  const hd_op *product = m->program->product.op;
  if (product && hd_op_has(product, HD_ATTR_COMBINE_D)) {
    m->extents->workspace_op = step->op;
    m->extents->workspace_end =
        m->extents->n * ldd * heddle_elem_get(hd_op_elem(step->op, HD_ATTR_TYPE))->container_bits /
        8;
  }
}

/* Consecutive columns that a lane stores. */
static int32_t run_of(const hd_op *op) {
  int32_t bytes = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits / 8;
  return hd_op_is(op, HD_ATTR_PATH, "permuted") && bytes ? WIDE / bytes : 2;
}

/* A permuted store holds blocks of 4 * run columns in another order, the same as that of B's rows
 * (check_copy.c). Only whole blocks are recorded. */
static int64_t whole_of(int32_t run) { return run > 2 ? 4 * run : BLOCK; }

void hd_ck_store_fragments(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t row,
                           int64_t col) {
  int32_t run = run_of(step->op);
  int64_t g = hd_ck_matrix_of(w, step, hd_strip_g_at(step->op));
  int64_t whole = whole_of(run);
  int64_t n = m->extents->groups ? m->extents->groups->end[g] : m->extents->n;
  int64_t of_b = m->extents->apart_b && !m->at.shared && !m->at.far ? g : 0;
  for (int32_t i = hd_first_acc(step->op); i < step->n_args && !m->stop; i++) {
    const hd_ck_frag *f = &w->env[step->args[i]].frag;
    int64_t columns = step->op->operands[i]->type.n / 4 * BLOCK;
    hd_ck_frag_use(m, w, step, i);
    if ((f->content.finished > 0) != hd_op_has(step->op, HD_ATTR_FINISHED))
      return wrong_data(m, w, step, "an epilogue that is done for the fragment",
                        f->content.finished > 0, !f->content.finished);
    if (f->content.finished && f->content.finished != row + 1)
      return wrong_data(m, w, step, "row of the results", f->content.finished - 1, row);
    if (columns % whole)
      return hd_ck_undecided(m, step->op, "a permuted fragment of a part of a run's four lanes");
    if (row < m->extents->m && col < n) {
      int64_t matrix = f->content.col >> HD_CK_MATRIX_COLUMNS;
      int64_t before = matrix * (INT64_C(1) << HD_CK_MATRIX_COLUMNS);
      check_sum(m, w, step, &f->content, g, row);
      if (f->content.col - before != col)
        wrong_data(m, w, step, "first column", f->content.col - before, col);
      else if (matrix != of_b)
        wrong_data(m, w, step, "matrix of B", matrix, of_b);
      int64_t end = col + columns < n ? col + columns : n;
      if (f->content.end < before + end)
        wrong_data(m, w, step, "end of the columns that B has brought", f->content.end - before,
                   end);
      if (f->content.run != run)
        wrong_data(m, w, step, "consecutive columns of a lane", f->content.run, run);
      else if (run > 2 && n % whole)
        wrong_data(m, w, step, "columns beyond the runs of four lanes", n % whole, 0);
    }
    col += columns;
  }
}

bool hd_ck_store_strip(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t *row,
                       int64_t *col, int64_t *g) {
  const int32_t *place = step->args + hd_strip_row_at(step->op);
  *row = w->env[place[0]].i;
  *col = w->env[place[1]].i;
  *g = hd_ck_matrix_of(w, step, hd_strip_g_at(step->op));
  if (!hd_ck_store_mask(m, w, step))
    return false;
  int64_t before = hd_ck_first_column(m->extents, *g);
  if (*row < 0 || *col < before || *row % STRIP || (*col - before) % BLOCK) {
    hd_ck_undecided(m, step->op, "a strip of D that is not 16 rows by blocks of 8 columns");
    return false;
  }
  return true;
}

/* Operands: D, ldd, row, column, m, n, matrix (of a batch), factors and their slot, fragments of
 * consecutive 8-column blocks. */
void hd_ck_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t row, col, g;
  if (!hd_ck_store_strip(m, w, step, &row, &col, &g))
    return;
  if ((col - hd_ck_first_column(m->extents, g)) % whole_of(run_of(step->op)))
    return hd_ck_undecided(m, step->op, "permuted columns that begin inside of a run's four lanes");
  if (output_of(step->op) == HD_CK_AUX)
    m->extents->aux_op = step->op;
  check_pitch(m, w, step);
  hd_ck_store_fragments(m, w, step, row, col);
  hd_ck_read_factors(m, w, step, g, row, col);
  for (int32_t i = hd_first_acc(step->op); i < step->n_args && !m->stop; i++)
    for (int32_t b = 0; b < step->op->operands[i]->type.n / 4; b++, col += BLOCK)
      hd_ck_store_mark(m, w, step, g, row / m->extents->rows_of_d, col);
}
