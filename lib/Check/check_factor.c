/* Tags of slots with statistics: parts of strips, and factors. A store's factors must be those of
 * its own rows, and scales of columns those of its own columns. */
#include "Check/check_machine.h"
#include "Support/activations.h"

enum { BLOCK = 8, ROWS = 128, FLOAT_BYTES = 4, ELEMS = 4 };

uint64_t hd_ck_statistic_tag(int64_t g, int64_t row, int64_t col, bool is_factor) {
  const int64_t parts[] = {g, row, col, is_factor};
  uint64_t hash = 0;
  for (size_t i = 0; i < HD_COUNT(parts); i++)
    hash = (hash ^ ((uint64_t)parts[i] + 2)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 31;
  return hash;
}

uint64_t hd_ck_columns_tag(int64_t column, int64_t n) {
  enum { NO_ROW = -1 }; /* statistics of D have rows */
  return hd_ck_statistic_tag(n, NO_ROW, column, true);
}

int64_t hd_ck_statistic_rows(const hd_op *op) {
  return hd_act_is_pair(hd_op_str(op, HD_ATTR_ACT)) ? 2 * ROWS : ROWS;
}

uint64_t hd_ck_read_statistic(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                              hd_ck_region region) {
  hd_ck_access x = {.op = step->op, .kind = HD_CK_READ, .slot = region.slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_READS);
  return hd_ck_access_read(m, w, hd_ck_access_add(m, w, x), region);
}

void hd_ck_write_statistic(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                           hd_ck_region region, uint32_t occurrence, uint64_t tag) {
  hd_ck_access x = {.op = step->op,
                    .kind = HD_CK_WRITE,
                    .slot = region.slot,
                    .value = w->now,
                    .occurrence = occurrence};
  x.component = hd_ck_component(m, w->id, HD_CK_LANES);
  hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), region, tag);
}

/* The scales of `columns` columns, which begin inside the slot. A slice of a fragment has `offset`
 * for another purpose, and its scales begin with those of the fragment. */
static void read_scales(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                        hd_ck_region region, int64_t col, int64_t columns) {
  bool slice = step->op->kind == HD_OP_STAGE_TILE;
  int64_t offset = slice ? 0 : hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  int64_t n = w->env[step->args[hd_strip_row_at(step->op) + 3]].i;
  int64_t bytes = (offset + columns) * FLOAT_BYTES;
  if (bytes > region.range.hi)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
                      "a slot with the scales of all columns",
                      "%lld bytes of scales in a slot of %lld", (long long)bytes,
                      (long long)region.range.hi);
  region.range.hi = bytes;
  uint64_t tag = hd_ck_read_statistic(m, w, step, region);
  if (!m->stop && tag != hd_ck_columns_tag(col - offset, n))
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "the scales of the strip's own columns",
               "column %lld is multiplied by the scale of another", (long long)col);
}

void hd_ck_read_factors(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                        int64_t row, int64_t col) {
  int32_t at = hd_strip_factors_at(step->op);
  hd_ck_region region;
  if (at == step->n_args || !hd_ck_region_at(m, w, step, at, at + 1, &region))
    return;
  int64_t columns = 0, rows = hd_ck_statistic_rows(step->op);
  for (int32_t i = hd_first_acc(step->op); i < step->n_args; i++)
    columns += step->op->operands[i]->type.n / ELEMS * BLOCK;
  if (!hd_op_has(step->op, HD_ATTR_FINISHED))
    return read_scales(m, w, step, region, col, columns);
  region.range.hi = columns * FLOAT_BYTES;
  uint64_t tag = hd_ck_read_statistic(m, w, step, region);
  if (!m->stop && tag != hd_ck_statistic_tag(g, row / rows * rows, col, true))
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "the factors of the strip's own 128 rows of D",
               "row %lld, column %lld are multiplied by the factors of others", (long long)row,
               (long long)col);
}
