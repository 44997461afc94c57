/* Operators at role level: each removes a sync op, moves it or one of its numbers by one step, or
 * takes columns of D or block scales from a wrong position. */
#include <string.h>

#include "Spec/spec.h"
#include "Layout/packed_format.h"
#include "mutate.h"

enum { TENSOR_K_BLOCK = 9, TENSOR_COLUMN = 10 /* operands of tcgen05.mma.sp */ };

/* --- sites ---------------------------------------------------------------------------------- */

static bool is_sync(const hd_op *op) {
  return hd_op_effects(op->kind) & HD_EFFECT_SYNC;
}

/* Ops that protect later ops; they are moved to a later position. */
static bool comes_first(const hd_op *op) {
  return op->kind == HD_OP_BARRIER_WAIT || op->kind == HD_OP_CP_ASYNC_WAIT ||
         op->kind == HD_OP_WGMMA_WAIT || op->kind == HD_OP_BULK_WAIT ||
         op->kind == HD_OP_CTA_SYNC || op->kind == HD_OP_WARP_SYNC ||
         op->kind == HD_OP_TCGEN05_WAIT_LD || op->kind == HD_OP_TCGEN05_WAIT_ST ||
         op->kind == HD_OP_TCGEN05_FENCE_AFTER || op->kind == HD_OP_CLUSTER_SYNC ||
         op->kind == HD_OP_FENCE_BARRIER_INIT;
}

/* Fences, commits, waits and arrivals; the order of initialisations does not matter. */
static bool has_place(const hd_op *op) { return is_sync(op) && op->kind != HD_OP_BARRIER_INIT; }

static bool is_expect(const hd_op *op) { return op->kind == HD_OP_BARRIER_EXPECT; }
static bool is_barrier_wait(const hd_op *op) { return op->kind == HD_OP_BARRIER_WAIT; }
static bool is_barrier(const hd_op *op) { return op->kind == HD_OP_BARRIER; }
static bool is_last_arriver(const hd_op *op) { return op->kind == HD_OP_LAST_ARRIVER; }
static bool is_permuted_store(const hd_op *op) {
  return op->kind == HD_OP_STORE_TILE && hd_op_is(op, HD_ATTR_PATH, "permuted");
}
static bool has_pending(const hd_op *op) { return hd_op_has(op, HD_ATTR_PENDING); }
static bool is_scaled(const hd_op *op) { return op->kind == HD_OP_MMA_SP_SCALED; }
static bool is_scale_move(const hd_op *op) { return op->kind == HD_OP_TCGEN05_CP; }
static bool is_tensor_scaled(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_MMA_SP && op->n_operands > TENSOR_COLUMN;
}
static bool is_promote(const hd_op *op) { return op->kind == HD_OP_PROMOTE; }
static bool is_part(const hd_op *op) { return op->kind == HD_OP_REDUCE_TILE; }
static bool is_role_sync(const hd_op *op) { return op->kind == HD_OP_ROLE_SYNC; }
static bool has_rank(const hd_op *op) { return hd_op_has(op, HD_ATTR_RANK); }

static bool orders_cluster(const hd_op *op) { return hd_op_is(op, HD_ATTR_SCOPE, "cluster"); }
static bool is_columns(const hd_op *op) { return op->kind == HD_OP_FRAG_COLUMNS; }

/* Two k-blocks share a word of scales. */
static bool halves_words(const hd_op *op) {
  return is_tensor_scaled(op) &&
         hd_spec_scales_a_row(hd_spec_find(hd_op_str(op, HD_ATTR_ROW))) < HD_SCALES_A_WORD;
}

static int32_t cursor_operand(const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type.kind == HD_TYPE_CURSOR)
      return i;
  return -1;
}

static int64_t stages_of(const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++) {
    hd_type_kind kind = op->operands[i]->type.kind;
    if (op->operands[i]->op && (kind == HD_TYPE_BUFFER || kind == HD_TYPE_BARRIER))
      return hd_op_int(op->operands[i]->op, HD_ATTR_STAGES, 1);
  }
  return 1;
}

/* Excludes rings with a single slot, where the next slot is the same. */
static bool names_slot(const hd_op *op) {
  return cursor_operand(op) >= 0 && op->n_regions == 0 && op->kind != HD_OP_YIELD &&
         op->kind != HD_OP_CURSOR_NEXT && stages_of(op) > 1;
}

static bool names_box(const hd_op *op) {
  return op->kind == HD_OP_STAGE_TILE || op->kind == HD_OP_COPY_OUT;
}

/* --- actions -------------------------------------------------------------------------------- */

/* Replaces the results by the operands, and moves the contents of regions out of the op. */
static void remove_op(hd_module *m, hd_op *op) {
  (void)m;
  hd_op *kernel = hd_op_kernel(op);
  while (op->n_regions && op->regions[0]->first)
    hd_op_move_before(op->regions[0]->first, op);
  for (int32_t i = 0; i < op->n_results && i < op->n_operands; i++)
    hd_replace_uses(kernel->regions[0], op->results[i], op->operands[i], NULL);
  hd_op_erase(op);
}

static bool does_something(const hd_op *op) {
  return op->n_regions > 0 || hd_op_effects(op->kind) != HD_EFFECT_PURE;
}

/* Ops of a whole warp. Swapping one with a warp_sync has no effect. */
static bool is_of_warp(const hd_op *op) {
  return op->kind == HD_OP_WGMMA_WAIT || op->kind == HD_OP_TCGEN05_WAIT_ST ||
         op->kind == HD_OP_TCGEN05_FENCE_BEFORE;
}

static bool passes(const hd_op *op, const hd_op *by) {
  return !does_something(by) || (is_of_warp(op) && by->kind == HD_OP_WARP_SYNC) ||
         (op->kind == HD_OP_WARP_SYNC && is_of_warp(by));
}

/* Moves the op after the next op with an effect, or before the previous one. */
static void move_op(hd_module *m, hd_op *op) {
  (void)m;
  if (comes_first(op)) {
    hd_op *next = op->next;
    while (next && passes(op, next))
      next = next->next;
    if (next && next->kind != HD_OP_YIELD && next->next)
      hd_op_move_before(op, next->next);
    return;
  }
  hd_op *last = op->prev;
  while (last && passes(op, last))
    last = last->prev;
  if (last && last->kind != HD_OP_BUFFER && last->kind != HD_OP_BARRIER)
    hd_op_move_before(op, last);
}

static void add_to(hd_module *m, hd_op *op, hd_attr_key key, int64_t by) {
  hd_op_set_int(m, op, key, hd_op_int(op, key, 0) + by);
}
static void more_bytes(hd_module *m, hd_op *op) { add_to(m, op, HD_ATTR_BYTES, 16); }
static void fewer_bytes(hd_module *m, hd_op *op) { add_to(m, op, HD_ATTR_BYTES, -16); }
static void more_pending(hd_module *m, hd_op *op) { add_to(m, op, HD_ATTR_PENDING, 1); }
static void more_arrivals(hd_module *m, hd_op *op) { add_to(m, op, HD_ATTR_COUNT, 1); }
static void fewer_arrivals(hd_module *m, hd_op *op) { add_to(m, op, HD_ATTR_COUNT, -1); }
static void flip_parity(hd_module *m, hd_op *op) {
  hd_op_set_int(m, op, HD_ATTR_PARITY, !hd_op_int(op, HD_ATTR_PARITY, 0));
}
static void add_to_operand(hd_module *m, hd_op *op, int32_t operand, int64_t by) {
  hd_builder b = hd_builder_before(m, op);
  op->operands[operand] =
      hd_build_value(&b, HD_OP_ADD, HD_I32, 2, op->operands[operand], hd_build_i32(&b, by));
}

/* Operand 2 of last_arriver is the number of arrivals. */
static void one_later(hd_module *m, hd_op *op) { add_to_operand(m, op, 2, 1); }
static void one_sooner(hd_module *m, hd_op *op) { add_to_operand(m, op, 2, -1); }
static void own_rank_only(hd_module *m, hd_op *op) {
  (void)m;
  hd_op_remove_attr(op, HD_ATTR_RANK);
}

static void columns_as_they_lie(hd_module *m, hd_op *op) {
  hd_op_set_str(m, op, HD_ATTR_PATH, "quad");
}

/* Sets one of [byte-id a, thread-id a, byte-id b, thread-id b]. */
static void set_scale_id(hd_module *m, hd_op *op, int which, int64_t id) {
  int64_t ids[4];
  for (int i = 0; i < 4; i++)
    ids[i] = i == which ? id : hd_op_attr(op, HD_ATTR_SCALE_IDS)->ints[i];
  hd_op_set_ints(m, op, HD_ATTR_SCALE_IDS, ids, 4);
}

static void other_strip(hd_module *m, hd_op *op) {
  set_scale_id(m, op, 1, 1 - hd_op_attr(op, HD_ATTR_SCALE_IDS)->ints[1]);
}

static void next_scale(hd_module *m, hd_op *op) {
  const hd_spec_row *row = hd_spec_find(hd_op_str(op, HD_ATTR_ROW));
  set_scale_id(m, op, 2, (hd_op_attr(op, HD_ATTR_SCALE_IDS)->ints[2] + row->scale_vec) % 4);
}

static void next_k_block(hd_module *m, hd_op *op) { add_to_operand(m, op, TENSOR_K_BLOCK, 1); }

/* Takes the scales of columns that are 64 away. */
static void other_half(hd_module *m, hd_op *op) { add_to_operand(m, op, TENSOR_COLUMN, 64); }

/* Takes the scales of the next strip, or of the next block of rows. */
static void other_rows(hd_module *m, hd_op *op) {
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 1);
  add_to_operand(m, op, HD_AT_promote_row, rows > 1 ? rows : HD_STRIP_ROWS);
}

/* Does not add the k-block to the sums. */
static void skip_promote(hd_module *m, hd_op *op) {
  (void)m;
  for (int32_t i = 0; i < op->n_results; i++)
    hd_replace_uses(hd_op_kernel(op)->regions[0], op->results[i], hd_promote_parts(op)[i], NULL);
  hd_op_erase(op);
}

static void same_slot(hd_module *m, hd_op *op) {
  hd_builder b = hd_builder_before(m, op);
  op->operands[HD_AT_reduce_tile_slot] = hd_build_i32(&b, 0);
}

/* Uses another barrier, because all uses of one barrier must have the same count. */
static void half_meets(hd_module *m, hd_op *op) {
  enum { OTHER_ID = 8 };
  const hd_op *role = op;
  while (role->kind != HD_OP_ROLE)
    role = role->region->parent;
  int64_t among = hd_op_int(op, HD_ATTR_AMONG, hd_op_int(role, HD_ATTR_N_WARPS, 1));
  hd_op_set_int(m, op, HD_ATTR_AMONG, among / 2);
  hd_op_set_int(m, op, HD_ATTR_ID, OTHER_ID);
}

static void order_cta(hd_module *m, hd_op *op) {
  hd_op_set_str(m, op, HD_ATTR_SCOPE, op->kind == HD_OP_BARRIER_WAIT ? "cta" : "warp");
}

/* Takes the columns of the next owner; of the first, for the last. */
static void next_columns(hd_module *m, hd_op *op) {
  int64_t whole = hd_frag_columns_whole(op)->type.n / 4 * 8, own = op->results[0]->type.n / 4 * 8;
  hd_op_set_int(m, op, HD_ATTR_OFFSET, (hd_op_int(op, HD_ATTR_OFFSET, 0) + own) % whole);
}

static void next_slot(hd_module *m, hd_op *op) {
  hd_builder b = hd_builder_before(m, op);
  int32_t i = cursor_operand(op);
  hd_op *next = hd_build_op(&b, HD_OP_CURSOR_NEXT, HD_CURSOR, 1, op->operands[i]);
  hd_op_set_int(m, next, HD_ATTR_STAGES, stages_of(op));
  op->operands[i] = next->results[0];
}

/* The operand after the buffer is the number of the box. */
static void next_box(hd_module *m, hd_op *op) {
  hd_builder b = hd_builder_before(m, op);
  hd_value **slot = &op->operands[op->kind == HD_OP_STAGE_TILE ? 1 : 2];
  hd_value *next = hd_build_value(&b, HD_OP_ADD, HD_I32, 2, *slot, hd_build_i32(&b, 1));
  *slot = hd_build_value(&b, HD_OP_REM, HD_I32, 2, next, hd_build_i32(&b, stages_of(op)));
}

static const mutate_operator operators[] = {
    {"remove", "take a sync op away", is_sync, remove_op},
    {"move", "a wait one later, an arrival, commit or fence one earlier", has_place, move_op},
    {"bytes+", "expect 16 bytes more", is_expect, more_bytes},
    {"bytes-", "expect 16 bytes fewer", is_expect, fewer_bytes},
    {"parity", "wait for the other phase", is_barrier_wait, flip_parity},
    {"pending+", "one more group may be unfinished", has_pending, more_pending},
    {"count+", "one more arrival a phase", is_barrier, more_arrivals},
    {"count-", "one arrival fewer a phase", is_barrier, fewer_arrivals},
    {"rank", "arrive at the own CTA only", has_rank, own_rank_only},
    {"scope", "order in the CTA only", orders_cluster, order_cta},
    {"owner", "columns of another owner", is_columns, next_columns},
    {"last+", "one arrival more makes the last", is_last_arriver, one_later},
    {"last-", "one arrival fewer makes the last", is_last_arriver, one_sooner},
    {"columns", "the store takes columns as mma leaves them", is_permuted_store,
     columns_as_they_lie},
    {"scale-lane", "A's block scales of the other strip", is_scaled, other_strip},
    {"scale-byte", "B's block scales of the next step", is_scaled, next_scale},
    {"scale-move", "block scales do not come to tensor memory", is_scale_move, remove_op},
    {"scale-k-block", "block scales of the next k-block", halves_words, next_k_block},
    {"scale-column", "B's block scales of columns 64 away", is_tensor_scaled, other_half},
    {"scale-rows", "A's block scales of other rows", is_promote, other_rows},
    {"unscaled", "sums of a k-block are added to no others", is_promote, skip_promote},
    {"part", "all parts of statistics to one slot", is_part, same_slot},
    {"among", "half of those meet who must", is_role_sync, half_meets},
    {"stage+", "the next slot of the ring", names_slot, next_slot},
    {"box+", "the next slot of D", names_box, next_box},
};

const mutate_operator *mutate_role_operators(size_t *n) {
  *n = HD_COUNT(operators);
  return operators;
}

/* --- making a mutant ------------------------------------------------------------------------ */

typedef struct counter {
  int32_t left;
  hd_op *found;
} counter;

static heddle_status count_down(void *user, hd_op *op) {
  counter *c = user;
  if (c->left-- > 0)
    return HEDDLE_OK;
  c->found = op;
  return HEDDLE_MISMATCH; /* ends the walk */
}

hd_op *mutate_op_at(const hd_module *module, int32_t i) {
  counter c = {.left = i};
  hd_walk(module->body, count_down, &c);
  return c.found;
}

static heddle_status count_one(void *user, hd_op *op) {
  (void)op;
  ++*(int32_t *)user;
  return HEDDLE_OK;
}

int32_t mutate_count_ops(const hd_module *module) {
  int32_t n = 0;
  hd_walk(module->body, count_one, &n);
  return n;
}

void mutate_describe(const hd_module *module, int32_t i, hd_strbuf *out) {
  const hd_op *op = mutate_op_at(module, i);
  hd_strbuf text = {0};
  if (op) /* otherwise the last op was removed */
    hd_print_op(op, &text);
  size_t n = strcspn(hd_strbuf_text(&text), "\n");
  hd_strbuf_addn(out, hd_strbuf_text(&text), n < 110 ? n : 110);
  hd_strbuf_free(&text);
}

static bool is_same(const hd_module *a, const hd_module *b) {
  hd_hash x = hd_module_hash(a), y = hd_module_hash(b);
  return x.lo == y.lo && x.hi == y.hi;
}

hd_module *mutate_role(const hd_module *module, const mutate_operator *op, int32_t i) {
  if (!op->applies(mutate_op_at(module, i)))
    return NULL;
  hd_module *copy = hd_module_clone(module);
  op->apply(copy, mutate_op_at(copy, i));
  heddle_context *ctx = heddle_context_create();
  bool is_program = hd_verify(ctx, copy, NULL) == HEDDLE_OK && !is_same(module, copy);
  heddle_context_free(ctx);
  if (is_program)
    return copy;
  hd_module_free(copy);
  return NULL;
}
