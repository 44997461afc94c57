/* split_roles: splits the kernel into producer, consumer and other warp roles.
 *
 * Requires   build_mainloop.
 * Ensures    A kernel whose copies can be issued by threads that do not compute (wgmma) has a
 *            producer and a consumer role, each with only the loops and values that its ops need,
 *            with warps and registers. A kernel that multiplies in tensor memory also has metadata
 *            warps and an MMA warp, and its consumer writes D; in a pair of CTAs only the MMA warp
 *            of the first one is active. Other kernels keep their single role.
 * Why here   before synchronisation, which depends on the roles.
 * Does not   reorder anything inside a role.
 */
#include "IR/shared_layout.h"
#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Passes/keep_only.h"
#include "Passes/pass_list.h"

/* ORDER WARPS: Schedule/resources. setmaxnreg acts on whole warpgroups. */
enum { PRODUCER_WARPS = 4 };
/* Registers per thread of kernels with 10 and 13 warps: a quarter of the SM's registers, divided by
 * 3 and 4 warps. With fewer, ptxas spills for an occupancy that tensor memory does not allow. */
enum { TMA_REGISTERS = 168, GATHER_REGISTERS = 128 };

/* Registers at entry and after setmaxnreg, by the threads of a CTA that is alone on its SM:
 * multiples of 8 that fill the SM's 65536 registers. A producer that gathers needs more than one
 * that only issues copies; one that computes its split of every tile needs most. setmaxnreg is not
 * used without a row, nor if CTAs share the SM: small tiles have enough registers there. */
static const struct register_plan {
  int32_t threads;
  bool gathers, splits;
  int32_t entry, producer, consumer;
} register_plans[] = {
    {384, false, false, 168, 40, 232},
    {384, true, false, 168, 56, 224},
    {384, false, true, 168, 88, 208},
    {384, true, true, 168, 88, 208},
};

static bool is_store(const hd_op *op) {
  return op->kind == HD_OP_STORE_TILE || op->kind == HD_OP_PARTIAL_STORE ||
         op->kind == HD_OP_STAGE_TILE || op->kind == HD_OP_COPY_OUT ||
         op->kind == HD_OP_PARTIAL_SEND || op->kind == HD_OP_REDUCE_TILE ||
         op->kind == HD_OP_SCALE_TILE || op->kind == HD_OP_SCALE_COLUMNS;
}

/* All threads of the producer copy rows; otherwise one thread issues the copies. */
static bool is_gathering(hd_op *producer) {
  return hd_find_op(producer->regions[0], HD_OP_COPY_LD_ST) ||
         hd_find_op(producer->regions[0], HD_OP_COPY_CP_ASYNC);
}

static bool is_move(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_ST;
}
static bool is_issued(const hd_op *op) {
  return op->kind == HD_OP_TCGEN05_MMA_SP || op->kind == HD_OP_TCGEN05_CP;
}

static void set_registers(hd_module *m, hd_op *kernel, hd_op *producer, hd_op *consumer,
                          int32_t threads, bool gathers) {
  hd_op *partial = hd_find_op(consumer->regions[0], HD_OP_PARTIAL_STORE);
  bool splits =
      hd_find_op(consumer->regions[0], HD_OP_PARTIAL_SEND) ||
      (partial && hd_op_has(partial, HD_ATTR_SPLITS)); /* stream_k divides before the loop */
  for (size_t i = 0; i < HD_COUNT(register_plans); i++) {
    const struct register_plan *plan = &register_plans[i];
    if (plan->threads != threads || plan->gathers != gathers || plan->splits != splits ||
        hd_op_has(kernel, HD_ATTR_MIN_CTAS))
      continue;
    hd_op_set_int(m, kernel, HD_ATTR_MAX_REGISTERS, plan->entry);
    hd_op_set_int(m, producer, HD_ATTR_REGISTERS, plan->producer);
    hd_op_set_int(m, consumer, HD_ATTR_REGISTERS, plan->consumer);
  }
}

/* The producer's loops are not unrolled. */
static heddle_status keep_rolled(void *user, hd_op *op) {
  (void)user;
  hd_op_remove_attr(op, HD_ATTR_UNROLL);
  return HEDDLE_OK;
}

typedef struct deal {
  hd_module *module;
  int64_t n;
} deal;

/* The bulk copies of a stage take turns at the warps: one thread that issues all of them would take
 * longer than its part of the rows that the warps gather. */
static heddle_status deal_copy(void *user, hd_op *op) {
  deal *d = user;
  if (op->kind != HD_OP_COPY_BULK)
    return HEDDLE_OK;
  int64_t warp = d->n++ % PRODUCER_WARPS;
  if (warp)
    hd_op_set_int(d->module, op, HD_ATTR_WARP, warp);
  return HEDDLE_OK;
}

static void split(hd_module *m, hd_op *kernel, hd_op *consumer) {
  hd_builder b = hd_builder_before(m, consumer);
  hd_value_map map = {0};
  hd_op *producer = hd_op_clone(&b, consumer, &map);
  hd_value_map_free(&map);
  hd_keep_only(producer->regions[0], hd_is_copy);
  hd_walk(producer->regions[0], keep_rolled, NULL);
  hd_keep_only(consumer->regions[0], is_store);
  bool gathers = is_gathering(producer);
  int64_t warps = hd_op_int(consumer, HD_ATTR_N_WARPS, 0);
  int32_t threads = (int32_t)(32 * (warps + PRODUCER_WARPS));
  hd_op_set_str(m, producer, HD_ATTR_NAME, "producer");
  hd_op_set_str(m, consumer, HD_ATTR_NAME, "consumer");
  hd_op_set_int(m, producer, HD_ATTR_N_WARPS, PRODUCER_WARPS);
  hd_op_set_int(m, consumer, HD_ATTR_WARP_LO, PRODUCER_WARPS);
  if (gathers)
    hd_walk(producer->regions[0], deal_copy, &(deal){m, 0});
  else
    hd_op_set_flag(m, producer, HD_ATTR_SINGLE);
  set_registers(m, kernel, producer, consumer, threads, gathers);
  hd_op_set_int(m, kernel, HD_ATTR_THREADS, threads);
}

/* Inserts, before `role`, a clone that keeps only the roots and the ops that they need. */
static hd_op *part_of(hd_module *m, hd_op *role, const char *name, hd_is_root *is_root) {
  hd_builder b = hd_builder_before(m, role);
  hd_value_map map = {0};
  hd_op *part = hd_op_clone(&b, role, &map);
  hd_value_map_free(&map);
  hd_keep_only(part->regions[0], is_root);
  hd_op_set_str(m, part, HD_ATTR_NAME, name);
  return part;
}

static int64_t set_warps(hd_module *m, hd_op *role, int64_t from, int64_t n) {
  hd_op_set_int(m, role, HD_ATTR_WARP_LO, from);
  hd_op_set_int(m, role, HD_ATTR_N_WARPS, n);
  return from + n;
}

/* In a pair of CTAs the first one multiplies for both. */
static void leave_to_first(hd_module *m, hd_op *role) {
  hd_builder b = hd_builder_before(m, role->regions[0]->first);
  hd_value *rank = hd_build_value(&b, HD_OP_CTA_RANK, HD_I32, 0);
  hd_op *where = hd_build_if(&b, hd_build_cmp(&b, "eq", rank, hd_i32(&b, 0)), NULL, 0);
  while (where->next)
    hd_op_move_to_end(where->next, where->regions[0]);
  for (int32_t i = 0; i < 2; i++) {
    hd_builder end = hd_builder_at_end(m, where->regions[i]);
    hd_build_yield(&end, NULL, 0);
  }
}

/* A warp can access only the 32 lanes of tensor memory that its index modulo 4 selects: roles that
 * read or write them are whole warpgroups. */
static void split_tensor(hd_module *m, hd_op *kernel, hd_op *consumer) {
  hd_op *metadata = part_of(m, consumer, "metadata", is_move);
  hd_op *producer = part_of(m, consumer, "producer", hd_is_copy);
  hd_op *mma = part_of(m, consumer, "mma", is_issued);
  hd_keep_only(consumer->regions[0], is_store);
  hd_op_set_str(m, consumer, HD_ATTR_NAME, "consumer");
  bool gathers = is_gathering(producer);
  int64_t warps = hd_op_int(consumer, HD_ATTR_N_WARPS, 4);
  int64_t at = set_warps(m, metadata, 0, warps);
  at = set_warps(m, consumer, at, warps);
  at = set_warps(m, producer, at, gathers ? PRODUCER_WARPS : 1);
  at = set_warps(m, mma, at, 1);
  if (!gathers)
    hd_op_set_flag(m, producer, HD_ATTR_SINGLE);
  hd_op_set_flag(m, mma, HD_ATTR_SINGLE);
  if (hd_tensor_ctas(kernel) > 1)
    leave_to_first(m, mma);
  hd_op_set_int(m, kernel, HD_ATTR_THREADS, 32 * at);
  if (!hd_op_has(kernel, HD_ATTR_MIN_CTAS))
    hd_op_set_int(m, kernel, HD_ATTR_MAX_REGISTERS, gathers ? GATHER_REGISTERS : TMA_REGISTERS);
}

static bool splits_tensor(const hd_op *role) {
  return hd_find_op(role->regions[0], HD_OP_TCGEN05_MMA_SP) != NULL;
}

static bool splits(const hd_op *role) {
  return hd_find_op(role->regions[0], HD_OP_COPY_BULK) != NULL;
}

int32_t hd_n_roles(const hd_op *kernel) {
  int32_t n = 0;
  HD_FOR_OPS(op, kernel->regions[0])
    n += op->kind == HD_OP_ROLE;
  return n;
}

bool hd_is_split(hd_op *kernel) {
  const hd_op *role = hd_find_op(kernel->regions[0], HD_OP_ROLE);
  return hd_n_roles(kernel) != 1 || !(splits_tensor(role) || splits(role));
}

heddle_status hd_pass_split_roles(hd_pass_context *pass, hd_module *module) {
  (void)pass;
  HD_FOR_OPS(kernel, module->body) {
    hd_op *role = hd_find_op(kernel->regions[0], HD_OP_ROLE);
    if (splits_tensor(role))
      split_tensor(module, kernel, role);
    else if (splits(role))
      split(module, kernel, role);
  }
  return HEDDLE_OK;
}
