/* stage.tile and copy.out (R6): D passes through shared memory. The tag of a slot's first cell
 * gives the strip and column that it holds, so that a copy to another position is found. */
#include "Check/check_machine.h"
#include "Support/activations.h"

enum { BLOCK = 8, CELL_BITS = 8, COLUMN_BITS = 28, STRIP_BITS = 20 };

/* Counts rows in units of 8: strips of D have 16 rows, those of pairs 8. The matrix of a batch is
 * in the bits above the strip. */
static uint64_t tag_of(hd_ck_machine *m, const hd_ck_step *step, int64_t g, int64_t row,
                       int64_t col) {
  uint64_t strip = (uint64_t)(row / HD_PAIR_ROWS);
  uint64_t block = (uint64_t)(m->extents->groups ? col : col / BLOCK);
  uint64_t matrix = hd_ck_matrix_tag(m, step->op, g);
  if (matrix && strip >> STRIP_BITS)
    hd_ck_undecided(m, step->op, "D of 2^23 rows and more in a batch");
  return ((matrix << STRIP_BITS | strip) << COLUMN_BITS | block) << CELL_BITS;
}

/* Whether row and column begin a strip and a block; D's edges are checked elsewhere. `first`: the
 * first column of a group. */
static bool in_grid(hd_ck_machine *m, const hd_ck_step *step, int64_t strip, int64_t row,
                    int64_t col, int64_t first) {
  if (row >= 0 && col >= first && row % strip == 0 && (col - first) % BLOCK == 0)
    return true;
  hd_ck_undecided(m, step->op, "a strip of D that is not whole, by blocks of 8 columns");
  return false;
}

/* Operands: buffer, slot, row, column, m, n, matrix (of a batch), fragments. */
void hd_ck_stage_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t row = w->env[step->args[HD_AT_stage_tile_row]].i,
          col = w->env[step->args[HD_AT_stage_tile_column]].i;
  hd_ck_region region;
  if (!hd_ck_region_at(m, w, step, HD_AT_stage_tile_buffer, HD_AT_stage_tile_slot, &region) ||
      !hd_ck_store_mask(m, w, step))
    return;
  const hd_ck_groups *groups = m->extents->groups;
  int64_t g = hd_ck_matrix_of(w, step, HD_AT_stage_tile_g);
  if (!in_grid(m, step, HD_CK_STRIP, row, col, groups ? groups->first[g] : 0))
    return;
  int64_t first = col - hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  hd_ck_store_fragments(m, w, step, row, first);
  hd_ck_read_factors(m, w, step, hd_ck_matrix_of(w, step, HD_AT_stage_tile_g), row, first);
  hd_ck_access x = {.op = step->op, .kind = HD_CK_WRITE, .slot = region.slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_LANES);
  hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), region,
                     tag_of(m, step, g, row / m->extents->rows_of_d, col));
}

/* For groups, D has 2^30 columns that end at the group's end: coordinates (x, end, 2^30) address
 * column x + end - 2^30. The last stride is 2^34 elements minus a pitch, and 2^30 times that is, in
 * 64 bits, minus 2^30 pitches. */
static bool maps_groups(const hd_ck_machine *m, const hd_op *map) {
  enum { COLUMNS = 1 << 30, RANK = 4 };
  const hd_attr *dims = hd_op_attr(map, HD_ATTR_DIMS);
  const hd_expr *size = dims->exprs, *stride = hd_op_attr(map, HD_ATTR_STRIDES)->exprs;
  int64_t bytes = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  if (dims->n != RANK || hd_op_arg(map) != HD_ARG_D ||
      !hd_expr_is(&size[0], HD_ARG_M, 1, m->extents->rows_of_d))
    return false;
  for (int i = 1; i < RANK; i++) {
    bool last = i == RANK - 1;
    if (size[i].arg != HD_ARG_NONE || size[i].mul || size[i].div != 1 ||
        size[i].add != COLUMNS + (i > 1) || stride[i].arg != HD_ARG_LDD || stride[i].div != 1 ||
        stride[i].mul != (last ? -bytes : bytes) ||
        stride[i].add != (last ? bytes * COLUMNS * 16 : 0))
      return false;
  }
  return true;
}

/* The group whose columns end at `end`; -1: none. */
static int64_t group_that_ends(const hd_ck_groups *x, int64_t end) {
  for (int64_t g = 0; g < x->g; g++)
    if (x->end[g] == end && x->first[g] < end)
      return g;
  return -1;
}

/* The tensor map's sizes clip what is written, so they must be D's own. */
static bool maps_d(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, bool *col_major) {
  const hd_op *map = hd_copy_out_map(step->op)->op;
  const hd_attr *dims = hd_op_attr(map, HD_ATTR_DIMS);
  const hd_expr *size = dims->exprs, *stride = hd_op_attr(map, HD_ATTR_STRIDES)->exprs;
  int32_t bytes = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  bool is_batch = hd_copy_out_g(step->op) != NULL;
  *col_major = hd_expr_is(&size[0], HD_ARG_M, 1, m->extents->rows_of_d);
  if (m->extents->groups && maps_groups(m, map))
    return true;
  const hd_expr *rows = &size[!*col_major], *columns = &size[*col_major];
  if (!m->extents->groups && dims->n == 2 + is_batch && hd_op_arg(map) == HD_ARG_D &&
      hd_expr_is(rows, HD_ARG_M, 1, m->extents->rows_of_d) && hd_expr_is(columns, HD_ARG_N, 1, 1) &&
      hd_expr_is(&stride[1], HD_ARG_LDD, bytes, 1) &&
      (!is_batch ||
       (hd_expr_is(&size[2], HD_ARG_G, 1, 1) && hd_expr_is(&stride[2], HD_ARG_STRIDE_D, bytes, 1))))
    return true;
  hd_ck_find(m, "bounds", hd_ck_here(m, w, map, -1), hd_ck_here(m, w, step->op, -1),
             "a tensor map of D with its own m, n and pitch",
             "the tensor map's sizes are not those of D");
  return false;
}

/* Operands: tensor map, buffer, slot, coordinates, matrix (of a batch) or end (of a group). */
void hd_ck_copy_out(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  bool col_major;
  if (!hd_ck_region_at(m, w, step, HD_AT_copy_out_buffer, HD_AT_copy_out_slot, &region) ||
      !maps_d(m, w, step, &col_major))
    return;
  int64_t row = w->env[step->args[col_major ? HD_AT_copy_out_first : HD_AT_copy_out_last]].i,
          col = w->env[step->args[col_major ? HD_AT_copy_out_last : HD_AT_copy_out_first]].i;
  int64_t strip = HD_CK_STRIP / m->extents->rows_of_d;
  int64_t last = hd_ck_matrix_of(w, step, HD_AT_copy_out_g);
  const hd_ck_groups *groups = m->extents->groups;
  int64_t g = groups ? group_that_ends(groups, last) : last;
  if (g < 0)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
                      "the end of a group", "a copy to columns up to %lld, where no group ends",
                      (long long)last);
  const hd_op *map = hd_copy_out_map(step->op)->op;
  int64_t elem = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  if (!in_grid(m, step, strip, row, col, groups ? groups->first[g] : 0) ||
      !hd_ck_is_aligned(m, w, step, "the first byte of a box in its row",
                        (col_major ? row : col) * elem, HD_CK_BOX_UNIT))
    return;
  hd_ck_access x = {.op = step->op, .kind = HD_CK_OUT_READ, .slot = region.slot};
  x.component = hd_ck_component(m, w->id, HD_CK_OUT);
  x.value = w->out_committed + 1;
  w->out = step->op;
  w->out_open = true;
  uint64_t tag = hd_ck_access_read(m, w, hd_ck_access_add(m, w, x), region);
  if (!m->stop && tag != tag_of(m, step, g, row, col))
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "copy the slot to its strip and columns",
               "row %lld, column %lld of D get values that were staged for other elements",
               (long long)row,
               (long long)col);
  int64_t columns = region.buffer->bytes * 8 / (strip * region.buffer->elem_bits);
  for (int64_t i = 0; i < columns; i += BLOCK)
    hd_ck_store_mark(m, w, step, g, row, col + i);
}

void hd_ck_out_commit(hd_ck_warp *w) {
  w->out_committed++;
  w->out_open = false;
}

void hd_ck_out_wait(hd_ck_warp *w, const hd_ck_step *step) {
  int64_t pending = hd_op_int(step->op, HD_ATTR_PENDING, 0);
  int64_t done = (int64_t)w->out_committed - pending;
  if (done > (int64_t)w->out_done)
    w->out_done = (uint32_t)done;
}

/* R6: a CTA's shared memory is gone when it ends. */
void hd_ck_out_finish(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps && !m->stop; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (w->out && (w->out_open || w->out_done < w->out_committed))
      hd_ck_find(m, "R6", (hd_check_access){0}, hd_ck_here(m, w, w->out, -1),
                 "bulk.commit after the last copy, bulk.wait {pending = 0} before the end",
                 "the kernel may end while a slot of D is still being read");
  }
}
