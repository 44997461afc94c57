/* insert_fences: adds the fences, commits and waits for asynchronous operations.
 *
 * Requires   insert_barriers.
 * Ensures    wgmma batches are fenced from the generic accesses of their registers, committed, and
 *            waited for before their slots are released and their accumulators read (R1, R3, R5);
 *            each accumulator that is promoted by a wait of its own.
 *            Each writing thread fences generic writes that wgmma reads before it arrives (R2).
 *            Barrier initialisation is fenced (R4). Writes to a slot of D are fenced, its copy is
 *            committed, and waited for before the slot is filled again and before the role ends
 *            (R2, R6). Warps that use tensor memory fence after their waits and before their
 *            arrivals, and wait for their loads and stores there (R9).
 * Why here   a fence is between an access and the barrier that publishes it; both now exist.
 * Does not   move or add barriers.
 */
#include "Passes/accesses.h"
#include "Passes/pass_list.h"

static hd_value **new_list(hd_module *m, int32_t n) {
  return HD_NEW_ARRAY(&m->arena, hd_value *, n);
}

/* Builds a sync op at b whose operands are the fragments; later uses take its results. */
static hd_op *pass_through(hd_module *m, hd_builder *b, hd_op_kind kind, hd_value *const *in,
                           int32_t n) {
  hd_type *types = HD_NEW_ARRAY(&m->arena, hd_type, n);
  for (int32_t i = 0; i < n; i++)
    types[i] = in[i]->type;
  hd_op *op = hd_build(b, kind, in, n, types, n);
  for (int32_t i = 0; i < n; i++)
    hd_replace_uses(op->region, in[i], op->results[i], op);
  return op;
}

static int32_t add_once(hd_value **list, int32_t n, hd_value *value) {
  for (int32_t i = 0; i < n; i++)
    if (list[i] == value)
      return n;
  list[n] = value;
  return n + 1;
}

/* The registers that the fence must cover: accumulators that enter the batch, and A's registers. */
static int32_t batch_inputs(const hd_accesses *batch, hd_value **list) {
  int32_t n = 0;
  for (int32_t i = 0; i < batch->n; i++) {
    const hd_op *op = batch->op[i];
    if (!hd_wgmma_ss_acc(op)->op || !hd_is_wgmma(hd_wgmma_ss_acc(op)->op))
      n = add_once(list, n, hd_wgmma_ss_acc(op));
    if (op->kind == HD_OP_WGMMA_RS)
      n = add_once(list, n, hd_wgmma_rs_a(op));
  }
  return n;
}

/* Accumulators that leave the batch: results that no other wgmma of the batch uses. */
static int32_t batch_outputs(const hd_accesses *batch, hd_value **list) {
  int32_t n = 0;
  for (int32_t i = 0; i < batch->n; i++) {
    bool last = true;
    for (int32_t j = i + 1; j < batch->n; j++)
      last &= hd_wgmma_ss_acc(batch->op[j]) != batch->op[i]->results[0];
    if (last)
      list[n++] = batch->op[i]->results[0];
  }
  return n;
}

static void place_wait(hd_module *m, hd_builder b, hd_value *const *list, int32_t n,
                       int32_t pending) {
  hd_op *wait = pass_through(m, &b, HD_OP_WGMMA_WAIT, list, n);
  hd_op_set_int(m, wait, HD_ATTR_PENDING, pending);
}

static void place_commit(hd_module *m, hd_op *last) {
  hd_builder b = hd_builder_after(m, last);
  hd_build_op(&b, HD_OP_WGMMA_COMMIT, (hd_type){0}, 0);
}

static void fence_inputs(hd_module *m, const hd_accesses *batch) {
  hd_value **list = new_list(m, 2 * batch->n); /* accumulators and A */
  hd_builder b = hd_builder_before(m, batch->op[0]);
  pass_through(m, &b, HD_OP_WGMMA_FENCE, list, batch_inputs(batch, list));
}

/* Inserts: fence, (the batch), commit, wait until at most `pending` batches are in flight. */
static void place_batch(hd_module *m, const hd_accesses *batch, int32_t pending) {
  hd_value **list = new_list(m, batch->n);
  hd_op *last = batch->op[batch->n - 1];
  fence_inputs(m, batch);
  place_commit(m, last);
  place_wait(m, hd_builder_after(m, last->next), list, batch_outputs(batch, list), pending);
}

static hd_op *promoted_by(hd_value *part) {
  for (hd_op *op = part->op->next; op; op = op->next)
    for (int32_t i = 0; op->kind == HD_OP_PROMOTE && i < hd_promote_n_parts(op); i++)
      if (hd_promote_parts(op)[i] == part)
        return op;
  return NULL;
}

/* Each accumulator has a batch of its own, which is waited for before it is promoted: the next ones
 * run meanwhile. */
static void place_promoted(hd_module *m, const hd_accesses *batch) {
  hd_value **part = new_list(m, batch->n);
  int32_t n = batch_outputs(batch, part);
  fence_inputs(m, batch);
  for (int32_t i = 0; i < n; i++) {
    hd_op *promote = promoted_by(part[i]);
    place_commit(m, part[i]->op);
    place_wait(m, hd_builder_before(m, promote), &part[i], 1, n - 1 - i);
  }
}

/* Keeps the metadata of a batch, which it reads while it runs, in its registers until the load that
 * replaces it, one iteration or tile later. */
static void hold_metadata(hd_module *m, hd_op *loop, const hd_accesses *batch) {
  hd_value **word = new_list(m, batch->n);
  hd_op *tiles = loop->region->parent;
  int32_t n = 0;
  for (int32_t i = 0; i < batch->n; i++)
    n = add_once(word, n, hd_wgmma_metadata(batch->op[i]));
  hd_builder before = hd_builder_before(m, tiles);
  for (int32_t i = 0; i < n; i++) {
    hd_value *none = hd_build_value(&before, HD_OP_FRAG_UNDEF, word[i]->type, 0);
    hd_op_add_operand(m, word[i]->op, hd_carry(m, loop, hd_carry(m, tiles, none)));
    hd_op_add_operand(m, loop->regions[0]->last, word[i]);
    hd_op_add_operand(m, tiles->regions[0]->last, loop->results[loop->n_results - 1]);
  }
}

/* Two batches per iteration. Each wait is for the previous batch, so that one batch runs while the
 * next is issued; the last one is waited for after the loop. Each batch has its own metadata
 * registers, which are loaded again only after its end: on an H200 a load over the metadata of a
 * running wgmma changes its result, and ptxas does not diagnose it. */
static void insert_pair(hd_module *m, hd_op *loop, const hd_accesses batch[2]) {
  hd_value **list = new_list(m, loop->n_results);
  int32_t n = 0;
  for (int32_t i = 0; i < loop->n_results; i++)
    if (loop->results[i]->type.kind == HD_TYPE_FRAG)
      list[n++] = loop->results[i];
  for (int32_t i = 0; i < 2; i++) {
    hold_metadata(m, loop, &batch[i]);
    place_batch(m, &batch[i], 1);
  }
  place_wait(m, hd_builder_after(m, loop), list, n, 0);
}

/* A single batch is waited for in its iteration: the next one overwrites the registers it reads. */
static void place_wgmma(hd_module *m, hd_op *kernel) {
  hd_accesses all = {0};
  hd_accesses_find(kernel->regions[0], hd_is_wgmma, &all);
  for (int32_t i = 0, end; i < all.n; i = end) {
    end = hd_slot_end(&all, i);
    hd_accesses batch[] = {{all.op + i, end - i, 0}, {0}};
    if (end < all.n && all.op[end]->region == all.op[i]->region) {
      int32_t to = hd_slot_end(&all, end);
      batch[1] = (hd_accesses){all.op + end, to - end, 0};
      insert_pair(m, all.op[i]->region->parent, batch);
      end = to;
    } else if (promoted_by(all.op[end - 1]->results[0])) {
      place_promoted(m, &batch[0]);
    } else {
      place_batch(m, &batch[0], 0);
    }
  }
  hd_accesses_free(&all);
}

static bool is_thread_arrival(const hd_op *op) {
  return op->kind == HD_OP_BARRIER_ARRIVE && hd_op_is(op, HD_ATTR_SCOPE, "thread");
}

/* An arrival of scope thread publishes the writes of each thread. */
static void place_proxy_fences(hd_module *m, hd_op *kernel) {
  hd_accesses arrivals = {0};
  hd_accesses_find(kernel->regions[0], is_thread_arrival, &arrivals);
  for (int32_t i = 0; i < arrivals.n; i++) {
    hd_builder b = hd_builder_before(m, arrivals.op[i]);
    hd_build_op(&b, HD_OP_FENCE_PROXY, (hd_type){0}, 0);
  }
  hd_accesses_free(&arrivals);
}

static void place_bulk_wait(hd_module *m, hd_builder b, int64_t pending) {
  hd_op *wait = hd_build_op(&b, HD_OP_BULK_WAIT, (hd_type){0}, 0);
  hd_op_set_int(m, wait, HD_ATTR_PENDING, pending);
}

/* The wait precedes the warp.sync that orders the other lanes after it; the fence precedes the
 * warp.sync before the copy. A slot is filled again after as many groups as a warp has slots. */
static void place_staged(hd_module *m, hd_op *kernel) {
  hd_accesses fills = {0};
  hd_op *last = NULL, *out;
  hd_accesses_find(kernel->regions[0], hd_is_fill, &fills);
  for (int32_t i = 0; i < fills.n; i++) {
    hd_op *fill = fills.op[i];
    if (hd_fills_again(&fills, i))
      place_bulk_wait(m, hd_builder_before(m, fill->prev ? fill->prev : fill),
                      hd_slots_of_warp(fill) - 1);
    hd_builder b = hd_builder_after(m, fill);
    hd_build_op(&b, HD_OP_FENCE_PROXY, (hd_type){0}, 0);
    for (out = fill; out && out->kind != HD_OP_COPY_OUT;)
      out = out->next;
    if (!out)
      continue;
    b = hd_builder_after(m, out);
    hd_build_op(&b, HD_OP_BULK_COMMIT, (hd_type){0}, 0);
    last = out;
  }
  if (last)
    place_bulk_wait(m, hd_builder_at_end(m, hd_role_of(last)->regions[0]), 0);
  hd_accesses_free(&fills);
}

/* --- tensor memory -------------------------------------------------------------------------- */

static bool is_move(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_LD || op->kind == HD_OP_TCGEN05_ST;
}

static bool is_load(const hd_op *op) { return op->kind == HD_OP_TCGEN05_LD; }

static bool is_tensor_op(const hd_op *op) {
  return is_move(op) || op->kind == HD_OP_TCGEN05_MMA_SP;
}

static bool is_signal(const hd_op *op) {
  return op->kind == HD_OP_BARRIER_WAIT || op->kind == HD_OP_BARRIER_ARRIVE;
}

/* Whether another wait follows directly: the fence after that one is enough. */
static bool precedes_wait(const hd_op *op) {
  const hd_op *next = op->next;
  while (next && next->kind == HD_OP_FOR)
    next = next->regions[0]->first;
  return next && next->kind == HD_OP_BARRIER_WAIT;
}

static bool follows_its_like(const hd_op *op) {
  return op->prev && op->prev->kind == op->kind;
}

/* Fences after the last of consecutive waits, and before the first of consecutive arrivals. A
 * commit needs no fence. */
static void fence_signals(hd_module *m, hd_op *role) {
  hd_accesses signals = {0};
  bool arrives = false;
  hd_accesses_find(role->regions[0], is_signal, &signals);
  for (int32_t i = 0; i < signals.n; i++) {
    hd_op *op = signals.op[i];
    bool wait = op->kind == HD_OP_BARRIER_WAIT;
    arrives |= !wait;
    if (wait ? precedes_wait(op) : follows_its_like(op))
      continue;
    hd_builder b = wait ? hd_builder_after(m, op) : hd_builder_before(m, op);
    hd_build_op(&b, wait ? HD_OP_TCGEN05_FENCE_AFTER : HD_OP_TCGEN05_FENCE_BEFORE, (hd_type){0}, 0);
  }
  hd_accesses_free(&signals);
  if (arrives)
    return;
  /* A role without arrivals publishes its loads at the CTA barrier before the deallocation. */
  hd_accesses loads = {0};
  hd_accesses_find(role->regions[0], is_load, &loads);
  if (loads.n) {
    hd_builder b = hd_builder_after(m, loads.op[loads.n - 1]);
    hd_build_op(&b, HD_OP_TCGEN05_FENCE_BEFORE, (hd_type){0}, 0);
  }
  hd_accesses_free(&loads);
}

/* Waits, after the consecutive loads that end with `last`, for their results. */
static void wait_for_loads(hd_module *m, hd_op *last) {
  const hd_op *op = last;
  hd_builder b = hd_builder_after(m, last);
  int32_t n = 1;
  for (; follows_its_like(op); op = op->prev)
    n++;
  hd_value **list = new_list(m, n);
  for (int32_t i = 0; i < n; i++, op = op->next)
    list[i] = op->results[0];
  pass_through(m, &b, HD_OP_TCGEN05_WAIT_LD, list, n);
}

/* One wait after consecutive moves covers all of them. */
static void wait_for_moves(hd_module *m, hd_op *role) {
  hd_accesses moves = {0};
  hd_accesses_find(role->regions[0], is_move, &moves);
  for (int32_t i = 0; i < moves.n; i++) {
    hd_op *op = moves.op[i];
    hd_builder b = hd_builder_after(m, op);
    if (op->next && op->next->kind == op->kind)
      continue;
    if (op->kind == HD_OP_TCGEN05_LD)
      wait_for_loads(m, op);
    else
      hd_build_op(&b, HD_OP_TCGEN05_WAIT_ST, (hd_type){0}, 0);
  }
  hd_accesses_free(&moves);
}

static void insert_tensor(hd_module *m, hd_op *kernel) {
  HD_FOR_OPS(role, kernel->regions[0]) {
    hd_accesses ops = {0};
    if (role->kind == HD_OP_ROLE)
      hd_accesses_find(role->regions[0], is_tensor_op, &ops);
    if (ops.n) {
      fence_signals(m, role);
      wait_for_moves(m, role);
    }
    hd_accesses_free(&ops);
  }
}

static void place_init_fence(hd_module *m, hd_op *kernel) {
  hd_op *last = NULL;
  HD_FOR_OPS(op, kernel->regions[0])
    last = op->kind == HD_OP_BARRIER_INIT ? op : last;
  if (!last)
    return;
  hd_builder b = hd_builder_after(m, last);
  hd_build_op(&b, HD_OP_FENCE_BARRIER_INIT, (hd_type){0}, 0);
}

bool hd_has_fences(hd_op *kernel) {
  return hd_find_op(kernel->regions[0], HD_OP_FENCE_BARRIER_INIT) ||
         hd_find_op(kernel->regions[0], HD_OP_FENCE_PROXY);
}

heddle_status hd_pass_insert_fences(hd_pass_context *pass, hd_module *module) {
  (void)pass;
  HD_FOR_OPS(kernel, module->body) {
    place_init_fence(module, kernel);
    place_proxy_fences(module, kernel);
    place_wgmma(module, kernel);
    place_staged(module, kernel);
    insert_tensor(module, kernel);
  }
  return HEDDLE_OK;
}
