#include "Check/check_program.h"

#include <string.h>

#include "IR/shared_layout.h"
#include "Support/memory.h"

/* --- numbering of values -------------------------------------------------------------------- */

static int32_t place_of(const hd_ck_program *p, const hd_value *value) {
  uint64_t hash = (uint64_t)(uintptr_t)value * 0x9e3779b97f4a7c15u;
  int32_t at = (int32_t)(hash >> 40) & (p->cap_values - 1);
  while (p->values[at] && p->values[at] != value)
    at = (at + 1) & (p->cap_values - 1);
  return at;
}

static void grow_values(hd_ck_program *p) {
  hd_ck_program old = *p;
  p->cap_values = old.cap_values ? 2 * old.cap_values : 1024;
  size_t n = (size_t)p->cap_values;
  p->values = memset(hd_xmalloc(n * sizeof *p->values), 0, n * sizeof *p->values);
  p->numbers = memset(hd_xmalloc(n * sizeof *p->numbers), 0, n * sizeof *p->numbers);
  for (int32_t i = 0; i < old.cap_values; i++)
    if (old.values[i]) {
      int32_t at = place_of(p, old.values[i]);
      p->values[at] = old.values[i];
      p->numbers[at] = old.numbers[i];
    }
  hd_free(old.values);
  hd_free(old.numbers);
}

static int32_t *numbers_of(hd_ck_program *p, hd_value *const *values, int32_t n) {
  int32_t *numbers = HD_NEW_ARRAY(&p->arena, int32_t, n > 0 ? n : 1);
  for (int32_t i = 0; i < n; i++) {
    if (2 * p->n_values >= p->cap_values)
      grow_values(p);
    int32_t at = place_of(p, values[i]);
    if (!p->values[at]) {
      p->values[at] = values[i];
      p->numbers[at] = p->n_values++;
    }
    numbers[i] = p->numbers[at];
  }
  return numbers;
}

/* --- declarations --------------------------------------------------------------------------- */

static void refuse(hd_ck_program *p, const hd_op *op, const char *why) {
  if (p->refusal)
    return;
  p->refusal = why;
  p->refused = op;
}

static void add_ring(hd_ck_program *p, const hd_op *op, hd_ck_ring *rings, int32_t *n,
                     int32_t *n_slots) {
  int64_t stages = hd_op_int(op, HD_ATTR_STAGES, 0);
  if (*n == HD_CK_MAX_RINGS || stages < 1 || stages > 64)
    return refuse(p, op, "more than 16 buffers or barriers, or not 1 to 64 stages");
  rings[(*n)++] = (hd_ck_ring){.op = op,
                               .stages = (int32_t)stages,
                               .first = *n_slots,
                               .bytes = hd_op_int(op, HD_ATTR_BYTES, 0),
                               .count = hd_op_int(op, HD_ATTR_COUNT, 0)};
  *n_slots += (int32_t)stages;
}

static hd_ck_layout layout_of(const hd_op *op) {
  static const char *const names[] = {"rows", "packed_a", "box"}; /* ORDER HD_CK_ROWS */
  int i = 0;
  while (i < (int)HD_COUNT(names) && !hd_op_is(op, HD_ATTR_LAYOUT, names[i]))
    i++;
  return (hd_ck_layout)i;
}

/* Buffers are laid out one after the other, each at its alignment, or over another buffer. */
static void add_buffer(hd_ck_program *p, const hd_op *op) {
  enum { CELL = 128 };
  int64_t align = hd_op_int(op, HD_ATTR_ALIGN, 1), end = 0;
  bool over = op->n_operands > 0, whole = true;
  if (!hd_op_has(op, HD_ATTR_TYPE))
    return refuse(p, op, "a buffer that does not say the type of its elements");
  add_ring(p, op, p->buffers, &p->n_buffers, &p->n_buffer_slots);
  if (p->refusal)
    return;
  hd_ck_ring *own = &p->buffers[p->n_buffers - 1];
  for (const hd_ck_ring *b = p->buffers; b < own; b++) {
    int64_t to = b->at + b->bytes * b->stages;
    end = to > end ? to : end;
    whole = whole && b->bytes % CELL == 0;
    if (over && b->op == hd_buffer_under(op)->op)
      own->at = b->at;
  }
  own->layout = layout_of(op);
  own->slab_bytes = hd_op_int(op, HD_ATTR_SLAB_BYTES, 0);
  own->n_slabs = own->slab_bytes > 0 ? own->bytes / own->slab_bytes : 0;
  own->meta_offset = hd_op_int(op, HD_ATTR_META_OFFSET, 0);
  own->by_step = hd_op_has(op, HD_ATTR_BY_STEP);
  own->rows = hd_op_int(op, HD_ATTR_ROWS, 0);
  own->panel = hd_op_int(op, HD_ATTR_PANEL, 0);
  own->run = hd_op_int(op, HD_ATTR_RUN, 0);
  own->elem_bits = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits;
  own->over = over;
  if (!over)
    own->at = (end + align - 1) / align * align;
  else if (!whole || own->at % CELL || own->bytes % CELL)
    refuse(p, op, "a buffer over another, and slots of bytes that 128 does not divide");
}

static const hd_ck_ring *ring_of(const hd_ck_ring *rings, int32_t n, const hd_value *value) {
  for (int32_t i = 0; i < n; i++)
    if (rings[i].op == value->op)
      return &rings[i];
  return NULL;
}

const hd_ck_ring *hd_ck_buffer(const hd_ck_program *p, const hd_value *value) {
  return ring_of(p->buffers, p->n_buffers, value);
}

const hd_ck_ring *hd_ck_barrier(const hd_ck_program *p, const hd_value *value) {
  return ring_of(p->barriers, p->n_barriers, value);
}

/* --- steps ---------------------------------------------------------------------------------- */

static int32_t push(hd_ck_program *p, hd_ck_code code, const hd_op *op, int32_t role) {
  hd_ck_step step = {.code = code, .op = op, .role = role, .target = -1};
  HD_PUSH(p->steps, p->n_steps, p->cap_steps, step);
  return p->n_steps - 1;
}

static void set_args(hd_ck_program *p, int32_t at, const hd_op *op) {
  p->steps[at].args = numbers_of(p, op->operands, op->n_operands);
  p->steps[at].n_args = op->n_operands;
}

static void set_results(hd_ck_program *p, int32_t at, const hd_op *op) {
  p->steps[at].results = numbers_of(p, op->results, op->n_results);
  p->steps[at].n_results = op->n_results;
}

static void flatten(hd_ck_program *p, const hd_region *region, int32_t role);

static const hd_op *end_of(hd_ck_program *p, const hd_region *region, const hd_op *op, int32_t n) {
  const hd_op *yield = region->last;
  if (yield && yield->kind == HD_OP_YIELD && yield->n_operands == n)
    return yield;
  refuse(p, op, "a region that does not end with the yield of its values");
  return NULL;
}

/* Whether periods of the loop at `at`, the last one of the program so far, may be skipped. It must
 * have no inner loop, count no arrivals, and not multiply what it copied some iterations ago, which
 * would be in another stage after a skip. */
static bool may_skip(const hd_ck_program *p, int32_t at) {
  bool brings = false, multiplies = false;
  for (int32_t i = at + 1; i < p->n_steps; i++) {
    hd_op_kind kind = p->steps[i].op ? p->steps[i].op->kind : HD_OP_YIELD;
    /* Each iteration writes its own part: all are checked. */
    bool writes = kind == HD_OP_PRUNE_PACK || kind == HD_OP_MASK_PACK ||
                  kind == HD_OP_QUANTIZE_PACK ||
                  kind == HD_OP_COPY_GLOBAL || kind == HD_OP_COMBINE_GLOBAL;
    if (p->steps[i].code == HD_CK_FOR || kind == HD_OP_LAST_ARRIVER || writes)
      return false;
    brings = brings || kind == HD_OP_COPY_CP_ASYNC || kind == HD_OP_COPY_LD_ST;
    multiplies = multiplies || kind == HD_OP_MMA_SP || kind == HD_OP_MMA_SP_SCALED;
  }
  return !brings || !multiplies;
}

static bool carries_numbers(const hd_op *loop) {
  for (int32_t i = 0; i < loop->n_results; i++) {
    hd_type_kind kind = loop->results[i]->type.kind;
    if (kind != HD_TYPE_CURSOR && kind != HD_TYPE_FRAG)
      return true;
  }
  return false;
}

/* Whether the loop at `at`, the last one so far, affects where arrivals are counted. */
static bool decides(const hd_ck_program *p, int32_t at) {
  if (carries_numbers(p->steps[at].op))
    return true;
  for (int32_t i = at + 1; i < p->n_steps; i++)
    if (p->steps[i].code == HD_CK_LEAVE)
      return true;
  return false;
}

static void flatten_for(hd_ck_program *p, const hd_op *op, int32_t role) {
  const hd_region *body = op->regions[0];
  const hd_op *yield = end_of(p, body, op, op->n_results);
  if (!yield)
    return;
  int32_t at = push(p, HD_CK_FOR, op, role);
  set_args(p, at, op);
  set_results(p, at, op);
  p->steps[at].outs = numbers_of(p, body->args, body->n_args);
  p->steps[at].n_outs = body->n_args;
  flatten(p, body, role);
  p->steps[at].skips = may_skip(p, at);
  p->steps[at].decides = decides(p, at);
  int32_t next = push(p, HD_CK_NEXT, yield, role);
  set_args(p, next, yield);
  p->steps[next].target = at;
  p->steps[at].target = p->n_steps;
}

static void flatten_branch(hd_ck_program *p, const hd_op *op, int which, int32_t role) {
  const hd_op *yield = end_of(p, op->regions[which], op, op->n_results);
  if (!yield)
    return;
  flatten(p, op->regions[which], role);
  int32_t join = push(p, HD_CK_JOIN, yield, role);
  set_args(p, join, yield);
  p->steps[join].outs = numbers_of(p, op->results, op->n_results);
  p->steps[join].n_outs = op->n_results;
}

static void flatten_if(hd_ck_program *p, const hd_op *op, int32_t role) {
  int32_t at = push(p, HD_CK_IF, op, role);
  set_args(p, at, op);
  flatten_branch(p, op, 0, role);
  int32_t join = p->n_steps - 1;
  p->steps[at].target = p->n_steps;
  flatten_branch(p, op, 1, role);
  if (p->refusal)
    return;
  p->steps[join].target = p->n_steps;
  p->steps[p->n_steps - 1].target = p->n_steps;
}

static void flatten_role(hd_ck_program *p, const hd_op *op, int32_t role) {
  if (role >= 0)
    return refuse(p, op, "a role inside a role");
  int32_t at = push(p, HD_CK_ROLE, op, p->n_roles);
  if (p->n_roles == HD_CK_MAX_ROLES)
    return refuse(p, op, "more than 8 roles");
  p->roles[p->n_roles++] = (hd_ck_role){.op = op,
                                        .name = hd_op_str(op, HD_ATTR_NAME),
                                        .warp_lo = (int32_t)hd_op_int(op, HD_ATTR_WARP_LO, 0),
                                        .n_warps = (int32_t)hd_op_int(op, HD_ATTR_N_WARPS, 0),
                                        .single = hd_op_has(op, HD_ATTR_SINGLE)};
  if (p->refusal)
    return;
  flatten(p, op->regions[0], p->n_roles - 1);
  p->steps[at].target = p->n_steps;
}

static int64_t predicate(const hd_op *op) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"}; /* ORDER HD_CK_EQ */
  for (int64_t i = 0; i < (int64_t)HD_COUNT(names); i++)
    if (hd_op_is(op, HD_ATTR_PRED, names[i]))
      return i;
  return -1; /* the verifier accepts no other */
}

/* The number in the op's attributes (hd_ck_step.number). */
static int64_t said_by(const hd_op *op) {
  switch (op->kind) {
  case HD_OP_CONST:
    return hd_op_int(op, HD_ATTR_VALUE, 0);
  case HD_OP_CURSOR:
  case HD_OP_CURSOR_NEXT:
    return hd_op_int(op, HD_ATTR_STAGES, 0);
  case HD_OP_CMP:
    return predicate(op);
  default:
    return 0;
  }
}

static void flatten_op(hd_ck_program *p, const hd_op *op, int32_t role) {
  int32_t at = push(p, HD_CK_OP, op, role);
  set_args(p, at, op);
  set_results(p, at, op);
  p->steps[at].number = said_by(op);
  const char *row = hd_op_str(op, HD_ATTR_ROW);
  p->steps[at].row = row ? hd_spec_find(row) : NULL;
  p->transposed = p->transposed || hd_op_has(op, HD_ATTR_TRANS);
  if (op->kind == HD_OP_BUFFER)
    add_buffer(p, op);
  if (op->kind == HD_OP_BARRIER)
    add_ring(p, op, p->barriers, &p->n_barriers, &p->n_barrier_slots);
  if (op->kind == HD_OP_PARTIAL_SEND)
    p->splits = (int32_t)hd_op_int(hd_partial_send_buffer(op)->op, HD_ATTR_STAGES, 0) + 1;
  if (op->kind != HD_OP_PARTIAL_STORE)
    return;
  p->splits = (int32_t)hd_op_int(op, HD_ATTR_SPLITS, 1);
  p->streams = !hd_op_has(op, HD_ATTR_SPLITS);
}

static void flatten_last(hd_ck_program *p, const hd_op *op, int32_t role) {
  int32_t at = p->n_steps;
  flatten_op(p, op, role);
  flatten(p, op->regions[0], role);
  int32_t leave = push(p, HD_CK_LEAVE, op, role); /* may reallocate the steps */
  p->steps[at].target = leave;
  p->counts = p->roles[role].counts = true;
}

static void note_product(hd_ck_program *p, const hd_op *op) {
  if (p->product.op)
    return refuse(p, op, "more than one product");
  p->product = (hd_ck_product){.op = op,
                               .m = hd_op_int(op, HD_ATTR_M, 0),
                               .n = hd_op_int(op, HD_ATTR_N, 0),
                               .k = hd_op_int(op, HD_ATTR_K, 0),
                               .g = hd_op_int(op, HD_ATTR_G, 0),
                               .ldb = hd_op_int(op, HD_ATTR_LDB, 0),
                               .ldd = hd_op_int(op, HD_ATTR_LDD, 0)};
}

static void flatten(hd_ck_program *p, const hd_region *region, int32_t role) {
  for (const hd_op *op = region->first; op && !p->refusal; op = op->next)
    switch (op->kind) {
    case HD_OP_FOR:
      flatten_for(p, op, role);
      break;
    case HD_OP_IF:
      flatten_if(p, op, role);
      break;
    case HD_OP_ROLE:
      flatten_role(p, op, role);
      break;
    case HD_OP_LAST_ARRIVER:
      flatten_last(p, op, role);
      break;
    case HD_OP_YIELD:
      break;
    case HD_OP_PRODUCT:
      note_product(p, op);
      break;
    default:
      flatten_op(p, op, role);
    }
}

bool hd_ck_is_statistics(const hd_op *kernel, const hd_op *buffer) {
  const hd_op *scale = hd_find_op(kernel->regions[0], HD_OP_SCALE_TILE);
  const hd_op *columns = hd_find_op(kernel->regions[0], HD_OP_SCALE_COLUMNS);
  return (scale && hd_scale_tile_buffer(scale)->op == buffer) ||
         (columns && hd_scale_columns_buffer(columns)->op == buffer);
}

/* Least common multiple of twice the stages of every ring. Loops that carry numbers are run in
 * full: their values after a skip are unknown. */
static int32_t find_period(const hd_ck_program *p) {
  enum { MAXIMUM = 256 };
  int32_t period = 1;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    if (p->buffers[i].layout == HD_CK_BOX || hd_ck_is_statistics(p->kernel, p->buffers[i].op))
      continue; /* not a ring of a main loop */
    int32_t unit = 2 * p->buffers[i].stages, lcm = period;
    while (lcm % unit && lcm <= MAXIMUM)
      lcm += period;
    period = lcm;
  }
  for (int32_t i = 0; i < p->n_steps; i++)
    if (p->steps[i].skips && carries_numbers(p->steps[i].op))
      return 0;
  return period <= MAXIMUM ? period : 0;
}

void hd_ck_program_build(hd_ck_program *p, const hd_op *kernel) {
  *p = (hd_ck_program){.kernel = kernel, .splits = 1};
  grow_values(p);
  p->cluster = (int32_t)hd_op_int(kernel, HD_ATTR_CLUSTER, 1);
  p->together = hd_tensor_ctas(kernel);
  if (p->cluster < 1 || p->cluster > 4)
    return refuse(p, kernel, "a cluster of more than 4 CTAs");
  flatten(p, kernel->regions[0], -1);
  push(p, HD_CK_END, kernel, -1);
  p->period = find_period(p);
  for (int32_t i = 0; i < p->n_roles; i++) /* the verifier ensures that they partition the warps */
    p->n_warps += p->roles[i].n_warps;
  if (p->n_warps < 1 || p->n_warps > 32)
    refuse(p, kernel, "not 1 to 32 warps");
}

void hd_ck_program_free(hd_ck_program *p) {
  hd_arena_free(&p->arena);
  hd_free(p->steps);
  hd_free(p->values);
  hd_free(p->numbers);
  *p = (hd_ck_program){0};
}
