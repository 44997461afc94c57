/* The ring of stages: its barriers and its producer. */
#include "Passes/insert_ring.h"
#include "Passes/arith.h"
#include "Schedule/resources.h"

hd_op *hd_build_on(hd_builder *b, hd_op_kind kind, hd_value *barrier, hd_value *cursor) {
  return hd_build_op(b, kind, (hd_type){0}, 2, barrier, cursor);
}

hd_value *hd_ring_declare(hd_ring *r, hd_builder *b, const char *name, int64_t stages,
                          int64_t count) {
  hd_op *op = hd_build_op(b, HD_OP_BARRIER, HD_BARRIER, 0);
  hd_op_set_str(r->module, op, HD_ATTR_NAME, name);
  hd_op_set_int(r->module, op, HD_ATTR_STAGES, stages);
  hd_op_set_int(r->module, op, HD_ATTR_COUNT, count);
  return op->results[0];
}

void hd_place_meeting(hd_builder *b) { hd_build_op(b, HD_OP_WARP_SYNC, (hd_type){0}, 0); }

static bool is_generic(const hd_op *op) {
  return !(hd_op_effects(op->kind) & HD_EFFECT_ASYNCP);
}

int64_t hd_ring_writers(const hd_ring *r) {
  for (int32_t i = 0; i < r->copies.n; i++)
    if (is_generic(r->copies.op[i]))
      return 32 * hd_op_int(r->producer, HD_ATTR_N_WARPS, 0);
  return 0;
}

static bool has_copy(const hd_ring *r, const hd_region *region) {
  for (int32_t i = 0; i < r->copies.n; i++)
    if (hd_op_in_region(r->copies.op[i], region))
      return true;
  return false;
}

static bool chooses_by_rank(const hd_op *choice) {
  const hd_op *cmp = choice->operands[0]->op;
  const hd_op *rank = cmp && cmp->kind == HD_OP_CMP ? cmp->operands[0]->op : NULL;
  return rank && rank->kind == HD_OP_CTA_RANK;
}

/* A copy on the second side of an `if` that copies the same bytes on its first side. The CTAs of a
 * cluster, which choose by their rank, take both sides. */
static bool is_alternative(const hd_ring *r, const hd_op *copy, const hd_region *body) {
  for (const hd_region *at = copy->region; at != body; at = at->parent->region)
    if (at->parent->kind == HD_OP_IF && at == at->parent->regions[1] &&
        !chooses_by_rank(at->parent) && has_copy(r, at->parent->regions[0]))
      return true;
  return false;
}

/* Bytes that land in one slot of one CTA in an iteration of the loop: its own copies, and the other
 * CTAs' parts of a multicast one. */
static int64_t landing_bytes(const hd_ring *r, const hd_region *body) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < r->copies.n; i++) {
    hd_op *copy = r->copies.op[i];
    if (!is_generic(copy) && hd_op_in_region(copy, body) && !is_alternative(r, copy, body))
      bytes += hd_op_int(copy, HD_ATTR_BYTES, 0);
  }
  return bytes;
}

/* A is the first operand that is copied to a slot. In the innermost region with all copies of A, in
 * the loop's body or before the loop: waits until the slot is free (before the loop it always is),
 * and expects all bytes of the slot. */
static void place_fill(hd_ring *r, const hd_region *body, bool is_ahead, int64_t bytes) {
  const hd_region *region = NULL;
  hd_value *cursor = NULL;
  for (int32_t i = 0; i < r->copies.n; i++) {
    hd_op *copy = r->copies.op[i];
    if (!hd_is_weights(copy) || is_ahead != !hd_op_in_region(copy, body))
      continue;
    cursor = hd_cursor_of(copy);
    region = region ? region : copy->region;
    while (!hd_op_in_region(copy, region))
      region = region->parent->region;
  }
  if (!region)
    return;
  hd_builder b = hd_builder_before(r->module, region->first);
  if (!is_ahead && r->empty) {
    hd_op *wait = hd_build_on(&b, HD_OP_BARRIER_WAIT, r->empty, cursor);
    hd_op_set_int(r->module, wait, HD_ATTR_PARITY, 1);
  }
  hd_op *expect = hd_build_on(&b, HD_OP_BARRIER_EXPECT, r->full, cursor);
  hd_op_set_int(r->module, expect, HD_ATTR_BYTES, bytes);
}

static void wait_copies(hd_ring *r, hd_builder *b, int64_t pending) {
  hd_op *wait = hd_build_op(b, HD_OP_CP_ASYNC_WAIT, (hd_type){0}, 0);
  hd_op_set_int(r->module, wait, HD_ATTR_PENDING, pending);
}

/* Each thread signals its own writes. */
static void tell_written(hd_ring *r, hd_builder *b, hd_value *cursor) {
  hd_op *arrive = hd_build_on(b, HD_OP_BARRIER_ARRIVE, r->full, cursor);
  hd_op_set_str(r->module, arrive, HD_ATTR_SCOPE, "thread");
}

/* After the loop: signals the stages of the last `lag` iterations. */
static void tell_last(hd_ring *r, hd_op *loop, int64_t lag, hd_value *late) {
  hd_builder b = hd_builder_after(r->module, loop);
  wait_copies(r, &b, 0);
  hd_value *lo = hd_arith_const(&b, HD_OP_SUB, hd_for_hi(loop), lag);
  lo = hd_arith(&b, HD_OP_MAX, lo, hd_for_lo(loop));
  hd_op *rest = hd_build_for(&b, lo, hd_for_hi(loop), hd_i32(&b, 1), &late, 1);
  hd_builder in = hd_builder_at_end(r->module, rest->regions[0]);
  hd_value *cursor = rest->regions[0]->args[1];
  tell_written(r, &in, cursor);
  hd_value *next = hd_next_slot(&in, cursor, r->stages);
  hd_build_yield(&in, &next, 1);
}

/* After the copies of an iteration (the last is `copy`): signals the stage `lag` iterations ago. */
static void tell_landed(hd_ring *r, hd_builder *b, hd_op *loop, const hd_op *copy) {
  const hd_region *body = loop->regions[0];
  hd_value *cursor = hd_cursor_of(copy);
  int64_t lag = hd_schedule_gather_lag(r->stages, hd_op_int(copy, HD_ATTR_ROWS, 1));
  hd_build_op(b, HD_OP_CP_ASYNC_COMMIT, (hd_type){0}, 0);
  wait_copies(r, b, lag);
  if (!lag) {
    tell_written(r, b, cursor);
    return;
  }
  hd_value *iteration = hd_arith(b, HD_OP_SUB, body->args[0], hd_for_lo(loop));
  hd_value *late = hd_carry(r->module, loop, hd_for_carried(loop)[cursor->index - 1]);
  hd_op *where = hd_build_if(b, hd_build_cmp(b, "gt", iteration, hd_i32(b, lag - 1)),
                             (hd_type[]){HD_CURSOR}, 1);
  hd_builder then = hd_builder_at_end(r->module, where->regions[0]);
  hd_builder otherwise = hd_builder_at_end(r->module, where->regions[1]);
  tell_written(r, &then, late);
  hd_value *next = hd_next_slot(&then, late, r->stages);
  hd_build_yield(&then, &next, 1);
  hd_build_yield(&otherwise, &late, 1);
  hd_op_add_operand(r->module, body->last, where->results[0]);
  tell_last(r, loop, lag, loop->results[loop->n_results - 1]);
}

void hd_ring_place_producer(hd_ring *r) {
  hd_op *last = r->copies.op[r->copies.n - 1];
  hd_region *body = hd_loop_of(last)->regions[0];
  hd_value *cursor = hd_cursor_of(last);
  int64_t bytes = landing_bytes(r, body);
  place_fill(r, body, true, bytes);
  place_fill(r, body, false, bytes);
  hd_op *last_generic = NULL;
  for (int32_t i = 0; i < r->copies.n; i++) {
    hd_op *copy = r->copies.op[i];
    if (is_generic(copy))
      last_generic = copy;
    else
      hd_op_add_operand(r->module, copy, r->full);
  }
  if (!last_generic)
    return;
  hd_builder after = hd_builder_after(r->module, hd_op_in_region(last_generic, body));
  if (last_generic->kind == HD_OP_COPY_CP_ASYNC)
    tell_landed(r, &after, body->parent, last_generic);
  else
    tell_written(r, &after, cursor);
}

void hd_ring_wait_full(hd_ring *r, hd_op *before, hd_value *cursor) {
  hd_builder b = hd_builder_before(r->module, before);
  hd_op *wait = hd_build_on(&b, HD_OP_BARRIER_WAIT, r->full, cursor);
  hd_op_set_int(r->module, wait, HD_ATTR_PARITY, 0);
}
