/* The barriers of a kernel with tensor memory (listed in insert_barriers.c). */
#include "IR/shared_layout.h"
#include "Passes/arith.h"
#include "Passes/insert_ring.h"

/* The ring of stages has two readers: the metadata warps, and the ops that the MMA warp issues. */
typedef struct tensor_ring {
  hd_ring stages;
  hd_op *metadata, *mma, *consumer;  /* roles */
  hd_op *move, *multiply, *load;      /* the last op of each kind */
  hd_value *ready, *summed, *drained; /* metadata moved; sums full, empty (NULL: filled once) */
  int64_t ctas; /* for which the MMA warp multiplies; the warp is in the first one */
} tensor_ring;

static bool is_move(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_ST;
}
static bool is_multiply(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_MMA_SP;
}
static bool is_load(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_LD;
}

/* Finds the first and last op of a kind in the kernel. */
static hd_op *find_last(hd_op *kernel, bool (*want)(const hd_op *op), hd_op **first) {
  hd_accesses found = {0};
  hd_accesses_find(kernel->regions[0], want, &found);
  hd_op *last = found.n ? found.op[found.n - 1] : NULL;
  if (first)
    *first = found.n ? found.op[0] : NULL;
  hd_accesses_free(&found);
  return last;
}

static hd_op *build_columns(hd_ring *r, hd_builder *b, hd_op_kind kind) {
  int64_t columns = 32, used = hd_tensor_column(r->kernel, NULL);
  while (columns < used)
    columns *= 2;
  hd_op *op = hd_build_op(b, kind, (hd_type){0}, 0);
  hd_op_set_int(r->module, op, HD_ATTR_COLUMNS, columns);
  return op;
}

static void place_around_tensor(tensor_ring *t) {
  hd_ring *r = &t->stages;
  hd_builder b = hd_builder_before(r->module, t->metadata);
  hd_op_kind meet = t->ctas > 1 ? HD_OP_CLUSTER_SYNC : HD_OP_CTA_SYNC;
  int64_t sums = hd_op_int(hd_load_buffer(t->load)->op, HD_ATTR_STAGES, 1);
  int64_t metadata_warps = hd_op_int(t->metadata, HD_ATTR_N_WARPS, 0);
  int64_t consumers = hd_op_int(t->consumer, HD_ATTR_N_WARPS, 0);
  r->full = hd_ring_declare(r, &b, "full", r->stages, 1 + hd_ring_writers(r));
  r->empty = hd_ring_declare(r, &b, "empty", r->stages, metadata_warps + 1);
  t->ready = hd_ring_declare(r, &b, "ready", r->stages, metadata_warps * t->ctas);
  t->summed = hd_ring_declare(r, &b, "summed", sums, 1);
  t->drained = r->repeats ? hd_ring_declare(r, &b, "drained", sums, consumers * t->ctas) : NULL;
  hd_value *all[] = {r->full, r->empty, t->ready, t->summed, t->drained};
  for (size_t i = 0; i < HD_COUNT(all); i++)
    if (all[i])
      hd_build_op(&b, HD_OP_BARRIER_INIT, (hd_type){0}, 1, all[i]);
  build_columns(r, &b, HD_OP_TCGEN05_ALLOC);
  hd_build_op(&b, meet, (hd_type){0}, 0);
  hd_build_op(&b, HD_OP_TCGEN05_ADDRESS, (hd_type){0}, 0);
  hd_builder end = hd_builder_at_end(r->module, r->kernel->regions[0]);
  hd_build_op(&end, meet, (hd_type){0}, 0);
  build_columns(r, &end, HD_OP_TCGEN05_DEALLOC);
}

static hd_op *wait_for(hd_ring *r, hd_op *before, hd_value *barrier, hd_value *cursor,
                       int64_t parity) {
  hd_builder b = hd_builder_before(r->module, before);
  hd_op *wait = hd_build_on(&b, HD_OP_BARRIER_WAIT, barrier, cursor);
  hd_op_set_int(r->module, wait, HD_ATTR_PARITY, parity);
  return wait;
}

static hd_op *arrive_behind(hd_ring *r, hd_op *last, hd_value *barrier, hd_value *cursor) {
  hd_builder b = hd_builder_after(r->module, last);
  hd_op *arrive = hd_build_on(&b, HD_OP_BARRIER_ARRIVE, barrier, cursor);
  hd_op_set_str(r->module, arrive, HD_ATTR_SCOPE, "warp");
  return arrive;
}

/* Arrives at a barrier of the MMA warp, in the first CTA of a pair. `releases`: the arrival also
 * releases, at cluster scope, the copies whose end this warp has observed. */
static void tell_mma_warp(tensor_ring *t, hd_op *last, hd_value *barrier, hd_value *cursor,
                        bool releases) {
  hd_op *arrive = arrive_behind(&t->stages, last, barrier, cursor);
  if (t->ctas == 1)
    return;
  hd_op_set_int(t->stages.module, arrive, HD_ATTR_RANK, 1);
  if (releases)
    hd_op_set_str(t->stages.module, arrive, HD_ATTR_SCOPE, "cluster");
}

static void place_loader(tensor_ring *t) {
  hd_value *cursor = hd_cursor_of(t->move);
  hd_ring_wait_full(&t->stages, t->move->region->first, cursor);
  arrive_behind(&t->stages, t->move, t->stages.empty, cursor);
  tell_mma_warp(t, t->move, t->ready, cursor, true);
  hd_builder b = hd_builder_after(t->stages.module, t->move);
  hd_place_meeting(&b);
}

/* Commits to the barrier of each CTA for which the MMA warp multiplies. */
static void commit_behind(tensor_ring *t, hd_op *last, hd_value *barrier, hd_value *cursor) {
  hd_builder b = hd_builder_after(t->stages.module, last);
  hd_op *commit = hd_build_on(&b, HD_OP_TCGEN05_COMMIT, barrier, cursor);
  if (t->ctas > 1)
    hd_op_set_int(t->stages.module, commit, HD_ATTR_RANK, (1 << t->ctas) - 1);
}

static void place_mma_warp(tensor_ring *t) {
  hd_ring *r = &t->stages;
  hd_op *loop = t->multiply->region->parent;
  hd_value *sums = hd_tcgen05_mma_sums_cursor(t->multiply),
           *cursor = hd_tcgen05_mma_cursor(t->multiply);
  hd_op *head = t->multiply->region->first;
  if (t->drained)
    wait_for(r, loop, t->drained, sums, 1);
  wait_for(r, head, r->full, cursor, 0);
  hd_op *ready = wait_for(r, head, t->ready, cursor, 0);
  if (t->ctas > 1)
    hd_op_set_str(r->module, ready, HD_ATTR_SCOPE, "cluster");
  commit_behind(t, t->multiply, r->empty, cursor);
  commit_behind(t, loop, t->summed, sums);
}

/* Commits arrive at barriers of the CTA, which must not exit before the last arrival. So the
 * producer waits for every slot once more. */
static void place_end(tensor_ring *t) {
  hd_ring *r = &t->stages;
  hd_op *tiles = hd_loop_of(hd_loop_of(r->copies.op[r->copies.n - 1]));
  hd_builder b = hd_builder_after(r->module, tiles), in;
  hd_value *last = tiles->results[0];
  hd_op *loop = hd_build_for(&b, hd_i32(&b, 0), hd_i32(&b, r->stages), hd_i32(&b, 1), &last, 1);
  in = hd_builder_at_end(r->module, loop->regions[0]);
  hd_value *cursor = loop->regions[0]->args[1];
  hd_op *wait = hd_build_on(&in, HD_OP_BARRIER_WAIT, r->empty, cursor);
  hd_op_set_int(r->module, wait, HD_ATTR_PARITY, 1);
  hd_value *next = hd_next_slot(&in, cursor, r->stages);
  hd_build_yield(&in, &next, 1);
}

/* Whether hd_insert_tensor can handle the kernel: the copies are in a loop inside the loop over
 * tiles, which carries their cursor; a loop multiplies; the metadata warps are the first role. */
bool hd_has_tensor_turns(const hd_ring *r) {
  const hd_op *move = find_last(r->kernel, is_move, NULL);
  const hd_op *multiply = find_last(r->kernel, is_multiply, NULL);
  const hd_op *fill = r->copies.n ? hd_loop_of(r->copies.op[r->copies.n - 1]) : NULL;
  const hd_op *tiles = fill ? hd_loop_of(fill) : NULL;
  return move && tiles && tiles->n_results && tiles->results[0]->type.kind == HD_TYPE_CURSOR &&
         multiply->region->parent->kind == HD_OP_FOR && find_last(r->kernel, is_load, NULL) &&
         hd_role_of(move) == hd_find_op(r->kernel->regions[0], HD_OP_ROLE);
}

void hd_insert_tensor(hd_ring *r) {
  tensor_ring t = {.stages = *r, .ctas = hd_tensor_ctas(r->kernel)};
  hd_op *first_load = NULL;
  t.move = find_last(r->kernel, is_move, NULL);
  t.multiply = find_last(r->kernel, is_multiply, NULL);
  t.load = find_last(r->kernel, is_load, &first_load);
  t.metadata = hd_role_of(t.move);
  t.mma = hd_role_of(t.multiply);
  t.consumer = hd_role_of(t.load);
  t.stages.stages = hd_op_int(hd_tcgen05_st_buffer(t.move)->op, HD_ATTR_STAGES, 0);
  t.stages.sharers = 1;
  place_around_tensor(&t);
  hd_ring_place_producer(&t.stages);
  place_end(&t);
  place_loader(&t);
  place_mma_warp(&t);
  wait_for(&t.stages, first_load, t.summed, hd_cursor_of(first_load), 0);
  if (t.drained)
    tell_mma_warp(&t, t.load, t.drained, hd_cursor_of(first_load), false);
}
