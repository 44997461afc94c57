/* insert_barriers: adds mbarriers, arrivals and waits.
 *
 * Requires   unroll; no synchronisation in the module.
 * Ensures    Slots: every slot is waited for before it is read and before it is filled again, by a
 *            ring of full and empty mbarriers between a producer and a consumer role (R1, R3), or
 *            by cp.async groups and CTA barriers inside a single role. A producer signals its own
 *            cp.async some iterations later, when they are complete. A slot that is not filled
 *            again is not released. The lanes of a warp synchronise after their reads of a stage,
 *            before one of them arrives (R3); and between their writes to a slot of D and its copy,
 *            and before they fill a slot that was read (R2, R6).
 *            Start and end: barriers are initialised before the roles start, and the CTAs of a
 *            cluster end together (R4). A dependent kernel waits for its predecessor (R8).
 *            Split-K: the warp that stores the last partial of a tile computes the sum (R7). No CTA
 *            waits for another one, except that the CTAs of a cluster along k wait for the data
 *            that they send each other (R1) and for the ring that receives it (R3).
 *            Tensor memory: it is allocated before the roles and deallocated after them. A ring of
 *            barriers signals the metadata there to the MMA warp, commits release the stages, and
 *            the accumulators have a ring of their own (R9).
 *            Groups and statistics: the CTA synchronises after the table of groups; the warps of a
 *            role synchronise before and after they combine the statistics of a tile, and between
 *            their writes and reads of the scales of its columns.
 * Why here   roles and accesses are final, and fences depend on the position of the waits.
 * Does not   insert fences, wgmma groups or cp.async fences (insert_fences).
 */
#include "IR/shared_layout.h"
#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Passes/pass_list.h"
#include "Passes/insert_ring.h"

static bool is_exchange(const hd_op *op) {
  return op->kind == HD_OP_PARTIAL_SEND || op->kind == HD_OP_PARTIAL_ADD;
}

/* The region in which a CTA exchanges sums; partial.add is in a loop of this region. */
static const hd_region *exchange_of(const hd_op *op) {
  return op->kind == HD_OP_PARTIAL_ADD ? hd_loop_of(op)->region : op->region;
}

static int32_t exchange_end(const hd_accesses *all, int32_t from) {
  int32_t to = from + 1;
  while (to < all->n && exchange_of(all->op[to]) == exchange_of(all->op[from]))
    to++;
  return to;
}

static bool receives(const hd_accesses *all, int32_t end) {
  return all->op[end - 1]->kind == HD_OP_PARTIAL_ADD;
}

/* Expects the bytes of a whole slot, and waits for them before the first read. */
static void wait_sent(hd_ring *r, hd_value *sent, hd_op *first_add) {
  hd_builder head = hd_builder_before(r->module, first_add);
  hd_value *cursor = hd_cursor_of(first_add);
  hd_op *expect = hd_build_on(&head, HD_OP_BARRIER_EXPECT, sent, cursor);
  hd_op_set_int(r->module, expect, HD_ATTR_BYTES,
                hd_op_int(hd_partial_add_buffer(first_add)->op, HD_ATTR_BYTES, 0));
  hd_op *wait = hd_build_on(&head, HD_OP_BARRIER_WAIT, sent, cursor);
  hd_op_set_int(r->module, wait, HD_ATTR_PARITY, 0);
  hd_op_set_str(r->module, wait, HD_ATTR_SCOPE, "cluster");
}

/* For partial sums that overlay the ring: a receiver signals all CTAs that it no longer reads it,
 * and a sender waits for all receivers. The signal covers reads and landed copies (R3); to cover
 * rows that threads wrote, it releases at cluster scope. */
static void wait_drained(hd_ring *r, hd_value *drained, hd_op *first, bool tells, bool waits) {
  bool releases = hd_ring_writers(r) > 0;
  hd_builder b = hd_builder_before(r->module, first);
  hd_value *only = hd_first_slot(&b, 1);
  if (tells) {
    hd_op *arrive = hd_build_on(&b, HD_OP_BARRIER_ARRIVE, drained, only);
    hd_op_set_str(r->module, arrive, HD_ATTR_SCOPE, releases ? "cluster" : "warp");
    hd_op_set_int(r->module, arrive, HD_ATTR_RANK,
                  (1 << hd_op_int(r->kernel, HD_ATTR_CLUSTER, 1)) - 1);
  }
  if (waits) {
    hd_op *wait = hd_build_on(&b, HD_OP_BARRIER_WAIT, drained, only);
    hd_op_set_int(r->module, wait, HD_ATTR_PARITY, 0);
    if (releases)
      hd_op_set_str(r->module, wait, HD_ATTR_SCOPE, "cluster");
  }
}

static hd_value *declare_ready(hd_ring *r, hd_builder *b, const char *name, int64_t stages,
                               int64_t count) {
  hd_value *barrier = hd_ring_declare(r, b, name, stages, count);
  hd_build_op(b, HD_OP_BARRIER_INIT, (hd_type){0}, 1, barrier);
  return barrier;
}

/* A CTA waits for all data that it receives, and sends only after its waits, so the CTAs of the
 * cluster may exit independently. */
static void place_exchange(hd_ring *r, hd_builder *b) {
  hd_accesses all = {0};
  hd_accesses_find(r->consumer->regions[0], is_exchange, &all);
  if (!all.n)
    return;
  const hd_op *buffer = hd_partial_send_buffer(all.op[0])->op;
  int64_t owners = 0, n_warps = hd_op_int(r->consumer, HD_ATTR_N_WARPS, 0);
  for (int32_t i = 0, end; i < all.n; i = end) {
    end = exchange_end(&all, i);
    owners += receives(&all, end);
  }
  hd_value *sent = declare_ready(r, b, "sent", hd_op_int(buffer, HD_ATTR_STAGES, 0), 1);
  hd_value *drained =
      buffer->n_operands ? declare_ready(r, b, "drained", 1, owners * n_warps) : NULL;
  r->drains = drained != NULL;
  for (int32_t i = 0, end; i < all.n; i = end) {
    bool sends = all.op[i]->kind == HD_OP_PARTIAL_SEND;
    end = exchange_end(&all, i);
    hd_op *first = hd_op_in_region(all.op[i], exchange_of(all.op[i]));
    if (drained)
      wait_drained(r, drained, first, receives(&all, end), sends);
    for (; i < end && all.op[i]->kind == HD_OP_PARTIAL_SEND; i++)
      hd_op_add_operand(r->module, all.op[i], sent);
    if (i < end)
      wait_sent(r, sent, all.op[i]);
  }
  hd_accesses_free(&all);
}

/* Initialises the barriers before the roles, followed by a sync of the CTA or cluster. CTAs that
 * share copies also end together. */
static void place_around_roles(hd_ring *r) {
  hd_builder b = hd_builder_before(r->module, r->producer);
  int64_t readers = hd_op_int(r->consumer, HD_ATTR_N_WARPS, 0) * r->sharers;
  bool in_cluster = hd_op_int(r->kernel, HD_ATTR_CLUSTER, 1) > 1;
  r->full = hd_ring_declare(r, &b, "full", r->stages, 1 + hd_ring_writers(r));
  r->empty = r->wraps || r->repeats ? hd_ring_declare(r, &b, "empty", r->stages, readers) : NULL;
  hd_build_op(&b, HD_OP_BARRIER_INIT, (hd_type){0}, 1, r->full);
  if (r->empty)
    hd_build_op(&b, HD_OP_BARRIER_INIT, (hd_type){0}, 1, r->empty);
  place_exchange(r, &b);
  hd_op *sync = hd_build_op(&b, in_cluster ? HD_OP_CLUSTER_SYNC : HD_OP_CTA_SYNC, (hd_type){0}, 0);
  if (in_cluster) /* only the initialised barriers need to be visible */
    hd_op_set_flag(r->module, sync, HD_ATTR_RELAXED);
  if (r->sharers > 1) {
    hd_builder end = hd_builder_after(r->module, r->consumer);
    hd_build_op(&end, HD_OP_CLUSTER_SYNC, (hd_type){0}, 0);
  }
}

static void release(hd_ring *r, hd_builder *b, hd_value *cursor) {
  hd_op *arrive = hd_build_on(b, HD_OP_BARRIER_ARRIVE, r->empty, cursor);
  hd_op_set_str(r->module, arrive, HD_ATTR_SCOPE, "warp");
  if (r->sharers > 1)
    hd_op_set_int(r->module, arrive, HD_ATTR_RANK, (1 << r->sharers) - 1);
}

/* if x > y: release. */
static void release_where(hd_ring *r, hd_builder *b, hd_value *x, hd_value *y, hd_value *cursor) {
  hd_op *where = hd_build_if(b, hd_build_cmp(b, "gt", x, y), NULL, 0);
  hd_builder then = hd_builder_at_end(r->module, where->regions[0]);
  hd_builder otherwise = hd_builder_at_end(r->module, where->regions[1]);
  release(r, &then, cursor);
  hd_build_yield(&then, NULL, 0);
  hd_build_yield(&otherwise, NULL, 0);
}

/* One slot per iteration: waits for it at the beginning, and releases it after all its reads. */
static void place_single(hd_ring *r, hd_region *body, hd_value *cursor) {
  bool is_last = body->parent->kind != HD_OP_FOR; /* the odd iteration after the loop */
  hd_ring_wait_full(r, body->first, cursor);
  hd_builder end = hd_builder_before(r->module, body->last);
  bool releases = is_last ? r->repeats : r->empty != NULL;
  if (releases || r->drains)
    hd_place_meeting(&end);
  if (releases)
    release(r, &end, cursor);
}

/* Two slots per iteration, each read by a batch; the newest batch is in flight. A slot is released
 * when the next slot's reads have been issued: the second one in the next iteration, the last one
 * after the loop, if another tile may follow. Lanes synchronise once, after the loads of both. */
static void insert_pair(hd_ring *r, hd_op *loop, hd_op *const first[2], hd_op *const last[2]) {
  hd_module *m = r->module;
  hd_region *body = loop->regions[0];
  hd_value *cursor[] = {hd_cursor_of(first[0]), hd_cursor_of(first[1])};
  hd_ring_wait_full(r, body->first, cursor[0]);
  hd_ring_wait_full(r, first[1], cursor[1]);
  hd_builder b = hd_builder_after(m, r->empty ? last[1] : loop);
  if (r->empty || r->drains)
    hd_place_meeting(&b);
  if (!r->empty)
    return;
  release(r, &b, cursor[0]);
  hd_value *before = hd_carry(m, loop, hd_for_carried(loop)[cursor[0]->index - 1]);
  hd_op_add_operand(m, body->last, cursor[1]);
  b = hd_builder_after(m, last[0]);
  release_where(r, &b, body->args[0], hd_for_lo(loop), before);
  if (!r->repeats)
    return;
  b = hd_builder_after(m, loop);
  release_where(r, &b, hd_for_hi(loop), hd_for_lo(loop), loop->results[loop->n_results - 1]);
}

static void place_consumer(hd_ring *r) {
  const hd_accesses *reads = &r->reads;
  for (int32_t i = 0, end; i < reads->n; i = end) {
    end = hd_slot_end(reads, i);
    hd_op *op = reads->op[i];
    if (end < reads->n && reads->op[end]->region == op->region) {
      int32_t to = hd_slot_end(reads, end);
      insert_pair(r, op->region->parent, (hd_op *[]){op, reads->op[end]},
                 (hd_op *[]){reads->op[end - 1], reads->op[to - 1]});
      end = to;
    } else {
      place_single(r, op->region, hd_cursor_of(op));
    }
  }
}

/* --- rings and groups ----------------------------------------------------------------------- */

static hd_op *role_with(hd_op *kernel, bool (*want)(const hd_op *op), hd_accesses *found) {
  HD_FOR_OPS(op, kernel->regions[0]) {
    if (op->kind != HD_OP_ROLE)
      continue;
    hd_accesses_find(op->regions[0], want, found);
    if (found->n)
      return op;
  }
  return NULL;
}

static void insert_ring(hd_ring *r) {
  hd_value *buffer = NULL;
  for (int32_t i = 0; !buffer && i < r->copies.op[0]->n_operands; i++)
    if (r->copies.op[0]->operands[i]->type.kind == HD_TYPE_BUFFER)
      buffer = r->copies.op[0]->operands[i];
  r->stages = hd_op_int(buffer->op, HD_ATTR_STAGES, 0);
  r->sharers = 1; /* CTAs that receive a copy: a multicast copy goes to the whole cluster */
  for (int32_t i = 0; i < r->copies.n; i++)
    if (hd_op_has(r->copies.op[i], HD_ATTR_MULTICAST))
      r->sharers = hd_op_int(r->kernel, HD_ATTR_CLUSTER, 1);
  r->wraps = hd_most_turns(hd_loop_of(r->copies.op[r->copies.n - 1])) > r->stages;
  place_around_roles(r);
  hd_ring_place_producer(r);
  place_consumer(r);
}

/* A single role: one cp.async group per stage. A CTA barrier makes the stage readable by all, and
 * frees the slot of the previous iteration. If a CTA computes several tiles, another CTA barrier
 * after the loop precedes the copies of the next tile. */
static void place_groups(hd_ring *r) {
  hd_module *m = r->module;
  hd_op *loop = hd_loop_of(r->reads.op[0]);
  hd_op *first_fill = hd_loop_of(r->copies.op[0]);
  hd_builder head = hd_builder_before(m, loop->regions[0]->first);
  hd_op *wait = hd_build_op(&head, HD_OP_CP_ASYNC_WAIT, (hd_type){0}, 0);
  hd_op_set_int(m, wait, HD_ATTR_PENDING,
                hd_op_int(hd_find_op(r->kernel->regions[0], HD_OP_BUFFER), HD_ATTR_STAGES, 2) - 2);
  hd_build_op(&head, HD_OP_CTA_SYNC, (hd_type){0}, 0);
  hd_op *fills[] = {first_fill, loop};
  for (int i = 0; i < 2; i++) {
    hd_op *last = NULL;
    for (int32_t c = 0; c < r->copies.n; c++) {
      hd_op *in = hd_op_in_region(r->copies.op[c], fills[i]->regions[0]);
      last = in ? in : last;
    }
    hd_builder after = hd_builder_after(m, last);
    hd_build_op(&after, HD_OP_CP_ASYNC_COMMIT, (hd_type){0}, 0);
  }
  if (!r->repeats)
    return;
  hd_builder behind = hd_builder_after(m, loop);
  hd_build_op(&behind, HD_OP_CTA_SYNC, (hd_type){0}, 0);
}

/* The ops after partial.store in its block (sum, epilogue) are moved to the last arriver. The
 * counter is after the tile's first partial. */
static void place_arrival(hd_module *m, hd_op *kernel) {
  hd_op *partial = hd_find_op(kernel->regions[0], HD_OP_PARTIAL_STORE);
  if (!partial)
    return;
  hd_builder b = hd_builder_after(m, partial);
  hd_op *last =
      hd_build_op(&b, HD_OP_LAST_ARRIVER, (hd_type){0}, 3, hd_partial_store_workspace(partial),
                  hd_partial_store_place(partial), hd_partial_store_n_parts(partial));
  hd_op_set_int(m, last, HD_ATTR_OFFSET, hd_partial_bytes(partial));
  while (last->next && last->next->kind != HD_OP_YIELD)
    hd_op_move_to_end(last->next, last->regions[0]);
}

/* Synchronises lanes between their writes and the copy by one lane and, if the slot is filled
 * again, between the wait of this lane and the writes. */
static void place_lanes(hd_module *m, hd_op *kernel) {
  hd_accesses fills = {0};
  hd_accesses_find(kernel->regions[0], hd_is_fill, &fills);
  for (int32_t i = 0; i < fills.n; i++) {
    hd_builder b = hd_builder_before(m, fills.op[i]);
    if (hd_fills_again(&fills, i))
      hd_place_meeting(&b);
    b = hd_builder_after(m, fills.op[i]);
    hd_place_meeting(&b);
  }
  hd_accesses_free(&fills);
}

/* --- statistics ------------------------------------------------------------------------------ */

static bool is_scale(const hd_op *op) { return op->kind == HD_OP_SCALE_TILE; }

/* Named barriers, at most four each: the warps that combine statistics of D together may differ
 * from those that share scales of columns. */
enum { STATISTIC_ID = 1, COLUMN_ID = 5 };

static void meet_to_scale(hd_module *m, hd_builder b, const hd_op *scale, int64_t id) {
  hd_op *sync = hd_build_op(&b, HD_OP_ROLE_SYNC, (hd_type){0}, 0);
  hd_op_set_int(m, sync, HD_ATTR_ID, id);
  if (hd_op_has(scale, HD_ATTR_AMONG))
    hd_op_set_int(m, sync, HD_ATTR_AMONG, hd_op_int(scale, HD_ATTR_AMONG, 0));
}

/* The warps of a block synchronise after they have written their parts, before the statistics are
 * computed; and again before the factors are used or the parts of the next tile are written. */
static void place_statistics(hd_module *m, hd_op *kernel) {
  hd_accesses all = {0};
  hd_accesses_find(kernel->regions[0], is_scale, &all);
  for (int32_t i = 0; i < all.n; i++) {
    bool again = hd_op_has(kernel, HD_ATTR_PERSISTENT) || hd_op_has(all.op[i], HD_ATTR_SCALE_D);
    meet_to_scale(m, hd_builder_before(m, all.op[i]), all.op[i], STATISTIC_ID);
    if (again)
      meet_to_scale(m, hd_builder_after(m, all.op[i]), all.op[i], STATISTIC_ID);
  }
  hd_accesses_free(&all);
}

static bool is_columns(const hd_op *op) { return op->kind == HD_OP_SCALE_COLUMNS; }

/* Whether scales may be read from here on, or the op begins what a part of the warps executes. */
static bool ends_main_loop(const hd_op *op) {
  return op->kind == HD_OP_STORE_TILE || op->kind == HD_OP_STAGE_TILE ||
         op->kind == HD_OP_FINISH_TILE || op->kind == HD_OP_PARTIAL_STORE ||
         op->kind == HD_OP_PARTIAL_SEND;
}

static heddle_status find_end(void *user, hd_op *op) {
  (void)user;
  return ends_main_loop(op) ? HEDDLE_MISMATCH : HEDDLE_OK;
}

static bool has_end(hd_op *op) {
  bool has = ends_main_loop(op);
  for (int32_t i = 0; i < op->n_regions; i++)
    has |= hd_walk(op->regions[i], find_end, NULL) != HEDDLE_OK;
  return has;
}

/* Warps synchronise after the main loop, before they read the scales that others have written; and
 * if there is another tile, before these are overwritten. */
static void place_columns(hd_module *m, hd_op *kernel) {
  hd_accesses all = {0};
  hd_accesses_find(kernel->regions[0], is_columns, &all);
  for (int32_t i = 0; i < all.n; i++) {
    hd_op *at = all.op[i]->next;
    while (at && !has_end(at))
      at = at->next;
    if (hd_op_has(kernel, HD_ATTR_PERSISTENT))
      meet_to_scale(m, hd_builder_before(m, all.op[i]), all.op[i], COLUMN_ID);
    if (at)
      meet_to_scale(m, hd_builder_before(m, at), all.op[i], COLUMN_ID);
  }
  hd_accesses_free(&all);
}

/* --- the predecessor kernel ---------------------------------------------------------------- */

/* Whether the predecessor may write what the op reads, or access what the op writes. */
static heddle_status find_dependence(void *user, hd_op *op) {
  const hd_op *kernel = user;
  bool weights = hd_is_weights(op) && hd_op_has(kernel, HD_ATTR_WEIGHTS_READY);
  bool global = hd_op_effects(op->kind) & (HD_EFFECT_RD_GLOBAL | HD_EFFECT_WR_GLOBAL);
  return global && !weights ? HEDDLE_MISMATCH : HEDDLE_OK;
}

static bool depends(hd_op *kernel, hd_op *op) {
  if (find_dependence(kernel, op) != HEDDLE_OK)
    return true;
  for (int32_t i = 0; i < op->n_regions; i++)
    if (hd_walk(op->regions[i], find_dependence, kernel) != HEDDLE_OK)
      return true;
  return false;
}

/* Each role waits before its first dependent access. The dependent kernel is launched only after
 * the wait: when a kernel starts, all kernels before its predecessor have ended, so that
 * `weights_ready` concerns only the predecessor. */
static void place_grid_wait(hd_module *m, hd_op *kernel) {
  bool first = true;
  HD_FOR_OPS(role, kernel->regions[0]) {
    if (role->kind != HD_OP_ROLE)
      continue;
    hd_op *at = role->regions[0]->first;
    while (at && !depends(kernel, at))
      at = at->next;
    if (!at)
      continue;
    hd_builder b = hd_builder_before(m, at);
    hd_build_op(&b, HD_OP_GRID_WAIT, (hd_type){0}, 0);
    if (first)
      hd_build_op(&b, HD_OP_GRID_LAUNCH, (hd_type){0}, 0);
    first = false;
  }
}

/* --- groups -------------------------------------------------------------------------------- */

/* One warp writes the table of groups; the CTA synchronises before it is read. A relaxed cluster
 * sync does not count. The offsets come from the predecessor kernel, so all threads wait for it
 * here. */
static void place_groups_table(hd_module *m, hd_op *kernel) {
  hd_op *table = hd_find_op(kernel->regions[0], HD_OP_GROUP_TABLE);
  if (!table)
    return;
  const hd_op *sync = table->next;
  while (sync && sync->kind != HD_OP_ROLE && sync->kind != HD_OP_CTA_SYNC)
    sync = sync->next;
  hd_builder b = hd_builder_after(m, table);
  if (!sync || sync->kind == HD_OP_ROLE)
    hd_build_op(&b, HD_OP_CTA_SYNC, (hd_type){0}, 0);
  if (!hd_op_has(kernel, HD_ATTR_DEPENDENT))
    return;
  b = hd_builder_before(m, table);
  hd_build_op(&b, HD_OP_GRID_WAIT, (hd_type){0}, 0);
  hd_build_op(&b, HD_OP_GRID_LAUNCH, (hd_type){0}, 0);
}

/* --- all of a kernel ------------------------------------------------------------------------ */

static hd_ring open_ring(hd_module *m, hd_op *kernel) {
  hd_ring r = {
      .module = m, .kernel = kernel, .repeats = hd_op_has(kernel, HD_ATTR_PERSISTENT)};
  r.producer = role_with(kernel, hd_is_copy, &r.copies);
  r.consumer = role_with(kernel, hd_is_read, &r.reads);
  return r;
}

static void close_ring(hd_ring *r) {
  hd_accesses_free(&r->copies);
  hd_accesses_free(&r->reads);
}

static bool uses_tensor(hd_op *kernel) {
  return hd_find_op(kernel->regions[0], HD_OP_TCGEN05_MMA_SP) != NULL;
}

/* If two slots are read per iteration, then in a loop that carries the cursor of the first one. */
static bool reads_in_pairs(const hd_accesses *reads) {
  for (int32_t i = 0, end; i < reads->n; i = end) {
    const hd_op *op = reads->op[i];
    end = hd_slot_end(reads, i);
    if (end == reads->n || reads->op[end]->region != op->region)
      continue;
    if (op->region->parent->kind != HD_OP_FOR || hd_cursor_of(op)->region != op->region)
      return false;
    end = hd_slot_end(reads, end);
  }
  return true;
}

/* Whether insert_ring or place_groups can handle the kernel: the producer is the first role, or a
 * single role fills slots in the loop that reads them. */
static bool has_turns(const hd_ring *r) {
  const hd_op *loop = r->reads.n ? hd_loop_of(r->reads.op[0]) : NULL;
  bool fills = false;
  if (!r->copies.n || !r->reads.n || !hd_loop_of(r->copies.op[r->copies.n - 1]))
    return false;
  if (r->producer != r->consumer)
    return r->producer == hd_find_op(r->kernel->regions[0], HD_OP_ROLE) &&
           reads_in_pairs(&r->reads);
  for (int32_t i = 0; loop && i < r->copies.n; i++)
    fills |= hd_op_in_region(r->copies.op[i], loop->regions[0]) != NULL;
  return fills && hd_loop_of(r->copies.op[0]);
}

bool hd_is_pipelined(hd_op *kernel) {
  hd_ring r = open_ring(NULL, kernel);
  bool has = uses_tensor(kernel) ? hd_has_tensor_turns(&r) : has_turns(&r);
  close_ring(&r);
  return has;
}

heddle_status hd_pass_insert_barriers(hd_pass_context *pass, hd_module *module) {
  (void)pass;
  module->sync_placed = true;
  HD_FOR_OPS(kernel, module->body) {
    hd_ring r = open_ring(module, kernel);
    if (uses_tensor(kernel))
      hd_insert_tensor(&r);
    else if (r.producer != r.consumer)
      insert_ring(&r);
    else
      place_groups(&r);
    place_lanes(module, kernel);
    place_statistics(module, kernel);
    place_columns(module, kernel);
    place_arrival(module, kernel);
    place_groups_table(module, kernel);
    if (hd_op_has(kernel, HD_ATTR_DEPENDENT) && !hd_find_op(kernel->regions[0], HD_OP_GRID_WAIT))
      place_grid_wait(module, kernel);
    close_ring(&r);
  }
  return HEDDLE_OK;
}
