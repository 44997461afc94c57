/* scale.columns: the scales of a tile's columns must be computed from the sums of these columns,
 * with the pitch and k of the problem. The tag of a slot states its first column and the end of the
 * columns whose sums were read; both must be those of the store that reads the scales. */
#include "Check/check_machine.h"

enum { FLOAT_BYTES = 4 };

static bool check_sums(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  int64_t pitch = w->env[step->args[HD_AT_scale_columns_pitch]].i;
  int64_t n = w->env[step->args[HD_AT_scale_columns_n]].i;
  int64_t k = w->env[step->args[HD_AT_scale_columns_k]].i;
  int64_t of_k = m->at.k >= 0 ? m->at.k : m->program->product.k;
  if (pitch < n)
    hd_ck_differ(m, w, step, "bounds", "a pitch no shorter than a row", "the pitch of the sums",
                 pitch, n);
  else if (m->extents->ldsb && pitch != m->extents->ldsb)
    hd_ck_differ(m, w, step, "data", "the argument ldsb", "the pitch of the sums", pitch,
                 m->extents->ldsb);
  else if (of_k > 0 && k != of_k)
    hd_ck_differ(m, w, step, "data", "the problem's own k", "k of the sums", k, of_k);
  return !m->stop;
}

/* All warps of a set write some of its scales; to other warps this is one write. */
void hd_ck_scale_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  const hd_ck_ring *buffer = hd_ck_buffer(m->program, hd_scale_columns_buffer(op));
  const hd_ck_role *role = &m->program->roles[w->role];
  int64_t columns = hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0);
  int64_t column = w->env[step->args[HD_AT_scale_columns_column]].i;
  int64_t n = w->env[step->args[HD_AT_scale_columns_n]].i;
  int32_t across = (int32_t)hd_op_int(op, HD_ATTR_ACROSS, 1);
  int32_t among = (int32_t)hd_op_int(op, HD_ATTR_AMONG, role->n_warps);
  int32_t first = (w->index - role->warp_lo) / among * across;
  if (!buffer)
    return hd_ck_undecided(m, op, "a buffer that is not named by its declaration");
  if (!check_sums(m, w, step))
    return;
  uint32_t occurrence = ++w->n_shared_work;
  for (int32_t i = 0; i < across && !m->stop; i++) {
    hd_ck_region region = {.buffer = buffer,
                           .cta = w->cta,
                           .slot = first + i,
                           .range = {.hi = columns * FLOAT_BYTES, .n = 1}};
    hd_ck_write_statistic(m, w, step, region, occurrence,
                          hd_ck_columns_tag(column + i * columns, n));
  }
}
