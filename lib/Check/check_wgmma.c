/* wgmma: reads of shared memory that complete with a group, and registers that no other code may
 * access (R5). Each warp of a warpgroup is modelled as reading all that the warpgroup reads. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"


static bool group_done(const hd_ck_machine *m, const hd_ck_warp *w, uint32_t group) {
  return group < w->clock[hd_ck_component(m, w->id, HD_CK_WGMMA)];
}

void hd_ck_wgmma_fence(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  (void)m;
  w->wgmma_fence = w->now;
  for (int32_t i = 0; i < step->n_args; i++) {
    hd_ck_frag f = w->env[step->args[i]].frag;
    if (f.state == HD_CK_FRAG_READY || f.state == HD_CK_FRAG_UNDEFINED) {
      f.touched = w->now;
      f.undefined = f.state == HD_CK_FRAG_UNDEFINED;
      f.state = HD_CK_FRAG_FENCED;
    }
    w->env[step->args[i]].frag.consumed = true; /* later ops must use the result */
    w->env[step->results[i]].frag = f;
  }
}

void hd_ck_wgmma_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t pending = hd_op_int(step->op, HD_ATTR_PENDING, 0);
  uint32_t *done = &w->clock[hd_ck_component(m, w->id, HD_CK_WGMMA)];
  if (pending < w->wgmma_committed && w->wgmma_committed - (uint32_t)pending > *done)
    *done = w->wgmma_committed - (uint32_t)pending;
  for (int32_t i = 0; i < step->n_args; i++) {
    hd_ck_frag f = w->env[step->args[i]].frag;
    if (f.state == HD_CK_FRAG_IN_FLIGHT && group_done(m, w, f.group)) {
      f.state = HD_CK_FRAG_READY;
      f.touched = w->now;
      f.made = step->op;
    }
    w->env[step->results[i]].frag = f;
  }
}

/* R5: a warp's registers are gone when it leaves. */
void hd_ck_wgmma_finish(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps && !m->stop; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (w->multiplies && !group_done(m, w, w->wgmma_group))
      hd_ck_find(m, "R5", (hd_check_access){0}, hd_ck_here(m, w, w->multiplies, -1),
                 "wgmma.commit after the last wgmma, wgmma.wait {pending = 0} before the end",
                 "a warp may exit before its wgmma is complete");
  }
}

/* A register operand of a wgmma: its last access by generic code must precede the fence. */
static void check_fenced(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t operand,
                         const char *what, bool passes) {
  const hd_ck_frag *f = &w->env[step->args[operand]].frag;
  bool flies = f->state == HD_CK_FRAG_IN_FLIGHT, fresh = !flies && f->touched > w->wgmma_fence;
  bool bypasses = passes && !flies && f->state != HD_CK_FRAG_FENCED;
  if (!f->consumed && !fresh && !bypasses)
    return;
  hd_check_access here = hd_ck_here(m, w, step->op, -1);
  hd_check_access made = f->made ? hd_ck_here(m, w, f->made, -1) : (hd_check_access){0};
  if (f->consumed)
    hd_ck_find(m, "R5", made, here, "the result of the last wgmma on these registers",
               "%s uses %s whose registers belong to another wgmma", here.text, what);
  else if (fresh)
    hd_ck_find(m, "R5", made, here, "wgmma.fence after the last access and before the batch",
               "%s uses %s that no wgmma.fence separates from generic code", here.text, what);
  else
    hd_ck_find(m, "R5", made, here, "pass the fragment through the wgmma.fence",
               "%s uses %s that did not pass through a wgmma.fence", here.text, what);
}

static void check_value(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, bool accumulates) {
  const hd_ck_frag *f = &w->env[step->args[HD_AT_wgmma_ss_acc]].frag;
  bool undefined = f->undefined || f->state == HD_CK_FRAG_UNDEFINED || f->state == HD_CK_FRAG_NONE;
  if (accumulates && undefined)
    hd_ck_find(m, "R5", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "scale_d false in the first wgmma of a tile",
               "the accumulators are added to before they have a value");
}

/* --- operands in shared memory -------------------------------------------------------------- */

uint64_t hd_ck_read_matrix(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                           const hd_ck_region *region, int64_t *other) {
  bool tensor = step->op->kind == HD_OP_TCGEN05_MMA_SP;
  hd_ck_access x = {.op = step->op, .slot = region->slot};
  x.kind = tensor ? HD_CK_TENSOR_MMA : HD_CK_WGMMA_READ;
  x.component = hd_ck_component(m, w->id, tensor ? HD_CK_MMA : HD_CK_WGMMA);
  x.value = tensor ? w->multiplied : w->wgmma_committed + 1;
  uint32_t id = hd_ck_access_add(m, w, x);
  return other ? hd_ck_access_read_any(m, w, id, *region, other)
               : hd_ck_access_read(m, w, id, *region);
}

/* Reads one k-step of slab `slab` of a packed_a slot. */
static bool read_a(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_content *a) {
  int64_t slab = w->env[step->args[HD_AT_wgmma_ss_slab]].i,
          k = hd_op_int(step->op, HD_ATTR_STEP, 0);
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_wgmma_ss_a, HD_AT_wgmma_ss_cursor, &region))
    return false;
  if (region.buffer->layout != HD_CK_PACKED_A || slab < 0 || k >= HD_K_STEPS ||
      region.buffer->by_step) {
    hd_ck_undecided(m, step->op, "A in a buffer that is not packed_a, or more than two k-steps");
    return false;
  }
  int64_t lo = slab * region.buffer->slab_bytes + k * HD_STEP_VALUE_BYTES;
  region.range = (hd_ck_range){.lo = lo, .hi = lo + HD_STEP_VALUE_BYTES, .n = 1};
  uint64_t tag = hd_ck_read_matrix(m, w, step, &region, NULL);
  a->block = hd_ck_block_of(m, w, step, &region, tag);
  a->step = (int32_t)k;
  a->strip = w->index % 4;
  return true;
}

/* The first column with other content, if byte `other` of the slot is the first such byte. In
 * transposed B, a panel with such a row has no valid column. (Rows in run order are stored in whole
 * groups, or not at all: check_store.c.) */
static int64_t first_other(const hd_ck_ring *b, bool trans, int64_t col, int64_t other) {
  int64_t row = other / b->panel, panel_columns = b->panel * 8 / b->elem_bits;
  return other == INT64_MAX ? other : col + (trans ? row / b->rows * panel_columns : row);
}

bool hd_ck_read_b(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_region region,
                  hd_ck_content *b) {
  int64_t k = hd_op_int(step->op, HD_ATTR_STEP, 0);
  bool trans = hd_op_has(step->op, HD_ATTR_TRANS);
  int64_t rows = region.buffer->rows, panel = region.buffer->panel;
  if (region.buffer->layout != HD_CK_ROWS || panel != HD_CK_CELL || rows < 1 || k >= HD_K_STEPS ||
      (trans && region.buffer->run)) {
    hd_ck_undecided(m, step->op, "B in a buffer without rows of 128 bytes");
    return false;
  }
  region.range = (hd_ck_range){.lo = 0, .hi = region.buffer->bytes, .n = 1};
  if (trans) {
    int64_t lo = k * rows / HD_K_STEPS * panel, hi = lo + rows / HD_K_STEPS * panel;
    region.range = (hd_ck_range){.lo = lo, .hi = hi, .pitch = rows * panel};
    region.range.n = (int32_t)(region.buffer->bytes / (rows * panel));
    region.range.tag_step = (uint64_t)panel << 32;
  }
  int64_t other;
  uint64_t tag = hd_ck_read_matrix(m, w, step, &region, &other);
  hd_ck_columns_of(m, &region, tag, trans, k, b);
  b->end = first_other(region.buffer, trans, b->col, other);
  return true;
}

/* The columns that the instruction multiplies, of those in the slot. */
static int64_t columns_of(const hd_ck_step *step, const hd_ck_region *b) {
  bool by_row = !hd_op_has(step->op, HD_ATTR_TRANS);
  return by_row && b->buffer->rows < step->row->n ? b->buffer->rows : step->row->n;
}

/* --- the instruction ------------------------------------------------------------------------ */

/* The registers of A and metadata are read until the group completes. Neither they nor the value
 * that was loaded into them may be overwritten before. (For metadata the ISA does not state this,
 * but an H200 needs it.) */
static void hold(hd_ck_warp *w, int32_t number) {
  hd_ck_frag *f = &w->env[number].frag;
  f->read_by = w->wgmma_committed + 1;
  if (f->root >= 0)
    w->env[f->root].frag.read_by = f->read_by;
}

/* Both forms have the accumulators first. */
void hd_ck_wgmma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  bool ss = step->op->kind == HD_OP_WGMMA_SS;
  int32_t meta = ss ? HD_AT_wgmma_ss_metadata : HD_AT_wgmma_rs_metadata;
  int32_t scale = ss ? HD_AT_wgmma_ss_scale_d : HD_AT_wgmma_rs_scale_d;
  int32_t b_at = ss ? HD_AT_wgmma_ss_b : HD_AT_wgmma_rs_b;
  int32_t cursor = ss ? HD_AT_wgmma_ss_cursor : HD_AT_wgmma_rs_cursor;
  hd_ck_content a = hd_ck_no_frag.content, b = a;
  check_fenced(m, w, step, HD_AT_wgmma_ss_acc, "accumulators", true);
  check_fenced(m, w, step, meta, "metadata", false);
  check_value(m, w, step, w->env[step->args[scale]].i != 0);
  hold(w, step->args[meta]);
  if (!ss) {
    check_fenced(m, w, step, HD_AT_wgmma_rs_a, "A registers", true);
    a = w->env[step->args[HD_AT_wgmma_rs_a]].frag.content;
    hold(w, step->args[HD_AT_wgmma_rs_a]);
  }
  hd_ck_region of_b;
  if ((ss && !read_a(m, w, step, &a)) || !hd_ck_region_of(m, w, step, b_at, cursor, &of_b) ||
      !hd_ck_read_b(m, w, step, of_b, &b))
    return;
  int64_t multiplied = b.col + columns_of(step, &of_b);
  b.end = multiplied < b.end ? multiplied : b.end;
  bool adds = w->env[step->args[scale]].i != 0;
  const hd_ck_frag *acc = adds ? &w->env[step->args[HD_AT_wgmma_ss_acc]].frag : &hd_ck_no_frag;
  const hd_ck_content *held = &w->env[step->args[meta]].frag.content;
  hd_ck_content content = hd_ck_accumulate(m, w, step, &acc->content, &a, held, &b);
  w->multiplies = step->op;
  w->wgmma_group = w->wgmma_committed;
  w->env[step->args[HD_AT_wgmma_ss_acc]].frag.consumed = true;
  hd_ck_frag *made = &w->env[step->results[0]].frag;
  *made = hd_ck_no_frag;
  made->state = HD_CK_FRAG_IN_FLIGHT;
  made->group = w->wgmma_committed;
  made->made = step->op;
  made->content = content;
}
