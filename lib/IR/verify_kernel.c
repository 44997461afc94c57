/* Rules of a whole kernel: name, names of storage, arguments, roles, registers, named barriers. */
#include <string.h>

#include "IR/verify.h"

/* Ops of one kind directly in the kernel have distinct names. */
static void check_unique(hd_verifier *v, const hd_op *kernel, hd_op_kind kind, hd_attr_key key) {
  hd_scope names = {0};
  for (const hd_op *op = kernel->regions[0]->first; op; op = op->next) {
    if (op->kind != kind)
      continue;
    const char *name = hd_op_str(op, key);
    if (hd_scope_find(&names, name))
      hd_verify_fail(v, op, "ir.twice", "%s = \"%s\" is given twice; legal: once",
                     hd_attr_name(key), name);
    hd_scope_add(&names, name, NULL);
  }
  hd_scope_free(&names);
}

/* The name becomes a PTX entry (`_` alone is not an identifier, WARP_SZ is a constant) and a C
 * function. The limit at problem level leaves room for the suffixes of entry points. */
static void check_name(hd_verifier *v, const hd_op *kernel) {
  enum { PROBLEM_NAME = 160, ENTRY_NAME = 200 };
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const char *name = hd_op_str(kernel, HD_ATTR_NAME);
  size_t n = strspn(name, letters);
  size_t most = v->module->level == HD_LEVEL_PROBLEM ? PROBLEM_NAME : ENTRY_NAME;
  if (name[n] || n > most || strchr("0123456789", name[0]) || strcmp(name, "_") == 0 ||
      strcmp(name, "WARP_SZ") == 0)
    hd_verify_fail(v, kernel, "ir.kernel-name",
                   "name = \"%.60s\"; legal: a C identifier of at most %zu characters, not WARP_SZ",
                   name, most);
}

static const hd_op *role_at(const hd_op *kernel, int64_t warp) {
  for (const hd_op *op = kernel->regions[0]->first; op; op = op->next)
    if (op->kind == HD_OP_ROLE && hd_op_int(op, HD_ATTR_WARP_LO, 0) <= warp &&
        warp < hd_op_int(op, HD_ATTR_WARP_LO, 0) + hd_op_int(op, HD_ATTR_N_WARPS, 0))
      return op;
  return NULL;
}

/* Every warp below the sum of n_warps has a role, so by counting no warp has two. */
static int64_t check_partition(hd_verifier *v, const hd_op *kernel) {
  int64_t warps = 0;
  for (const hd_op *op = kernel->regions[0]->first; op; op = op->next)
    if (op->kind == HD_OP_ROLE)
      warps += hd_op_int(op, HD_ATTR_N_WARPS, 0);
  int64_t threads = hd_op_int(kernel, HD_ATTR_THREADS, 32 * warps);
  if (warps == 0)
    hd_verify_fail(v, kernel, "ir.roles", "has no role; legal: 1 or more");
  else if (warps > 32)
    hd_verify_fail(v, kernel, "ir.roles", "roles of %lld warps; legal: up to 32 a CTA",
                   (long long)warps);
  else if (threads != 32 * warps)
    hd_verify_fail(v, kernel, "ir.roles", "threads = %lld; legal: %lld, as the roles have",
                   (long long)threads, (long long)(32 * warps));
  for (int64_t warp = 0; warp < warps && warps <= 32; warp++)
    if (!role_at(kernel, warp)) {
      hd_verify_fail(v, kernel, "ir.roles",
                     "warp %lld has no role, or another warp has two; legal: one for each warp",
                     (long long)warp);
      break;
    }
  return warps;
}

/* setmaxnreg allocates from a pool of max_registers per thread, and blocks forever beyond it. */
static void check_registers(hd_verifier *v, const hd_op *kernel, int64_t warps) {
  int64_t entry = hd_op_int(kernel, HD_ATTR_MAX_REGISTERS, 0), wanted = 0;
  bool any = false;
  for (const hd_op *op = kernel->regions[0]->first; op; op = op->next) {
    if (op->kind != HD_OP_ROLE)
      continue;
    bool sets = hd_op_has(op, HD_ATTR_REGISTERS);
    any = any || sets;
    wanted += hd_op_int(op, HD_ATTR_N_WARPS, 0) * hd_op_int(op, HD_ATTR_REGISTERS, entry);
    if (sets && (hd_op_int(op, HD_ATTR_WARP_LO, 0) % 4 || hd_op_int(op, HD_ATTR_N_WARPS, 0) % 4))
      hd_verify_fail(v, op, "ir.registers",
                     "registers of a part of 4 warps; legal: of whole groups, for setmaxnreg");
  }
  if (any && !entry)
    hd_verify_fail(v, kernel, "ir.registers",
                   "roles set registers, without max_registers; legal: both");
  else if (any && wanted > entry * warps)
    hd_verify_fail(
        v, kernel, "ir.registers",
        "roles request %lld registers per lane in total; legal: up to %lld, from max_registers = "
        "%lld",
        (long long)wanted, (long long)(entry * warps), (long long)entry);
}

enum { IDS = 16 /* named barriers of a CTA; cta.sync uses 0 */ };

struct id_user {
  hd_verifier *v;
  const hd_op *role, *owner[IDS];
  int64_t among[IDS];
};

/* The number of parts of the role that execute an op separately; 0 after an error. */
static int64_t shares_of(hd_verifier *v, const hd_op *role, const hd_op *op) {
  int64_t warps = hd_op_int(role, HD_ATTR_N_WARPS, 1);
  int64_t among = hd_op_int(op, HD_ATTR_AMONG, warps);
  if (among >= 1 && warps % among == 0)
    return warps / among;
  hd_verify_fail(v, op, "ir.among",
                 "among = %lld in a role of %lld warps; legal: a divisor of %lld; nearest: %lld",
                 (long long)among, (long long)warps, (long long)warps, (long long)warps);
  return 0;
}

static void note_ids(struct id_user *ids, hd_op *op) {
  int64_t first = hd_op_int(op, HD_ATTR_ID, 1), among = hd_op_int(op, HD_ATTR_AMONG, 0);
  int64_t end = first + shares_of(ids->v, ids->role, op);
  if (end > IDS)
    hd_verify_fail(ids->v, op, "ir.barrier-id", "ids %lld to %lld; legal: 1 to %d",
                   (long long)first, (long long)end - 1, IDS - 1);
  for (int64_t id = first; id < end && id < IDS; id++) {
    if (ids->owner[id] && ids->owner[id] != ids->role)
      hd_verify_fail(ids->v, op, "ir.barrier-id",
                     "id = %lld belongs to role \"%s\"; legal: an id of its own", (long long)id,
                     hd_op_str(ids->owner[id], HD_ATTR_NAME));
    else if (ids->owner[id] && ids->among[id] != among)
      hd_verify_fail(ids->v, op, "ir.barrier-id",
                     "id = %lld is of %lld warps elsewhere; legal: the same everywhere",
                     (long long)id, (long long)ids->among[id]);
    ids->owner[id] = ids->role;
    ids->among[id] = among;
  }
}

/* Each part of the role must have whole cells. */
static void check_shares(hd_verifier *v, const hd_op *role, const hd_op *op) {
  const hd_op *buffer = hd_scale_tile_buffer(op)->op;
  int64_t each = hd_op_int(op, HD_ATTR_ROWS, 1) + hd_op_has(op, HD_ATTR_SCALE_D);
  int64_t shares = shares_of(v, role, op);
  int64_t cells = buffer && each > 0 ? hd_op_int(buffer, HD_ATTR_STAGES, 0) / each : 0;
  if (shares && cells % shares)
    hd_verify_fail(v, op, "ir.among", "%lld cells among %lld parts of the role; legal: multiples",
                   (long long)cells, (long long)shares);
}

/* Each part of the role has slots of its own. */
static void check_sets(hd_verifier *v, const hd_op *role, const hd_op *op) {
  const hd_op *buffer = hd_scale_columns_buffer(op)->op;
  int64_t across = hd_op_int(op, HD_ATTR_ACROSS, 1), sets = shares_of(v, role, op);
  int64_t slots = buffer ? hd_op_int(buffer, HD_ATTR_STAGES, 0) : 0;
  if (sets && slots != sets * across)
    hd_verify_fail(v, op, "ir.among", "%lld slots for %lld parts of the role; legal: %lld",
                   (long long)slots, (long long)sets, (long long)(sets * across));
}

static heddle_status note_op(void *user, hd_op *op) {
  struct id_user *ids = user;
  if (op->kind == HD_OP_ROLE_SYNC)
    note_ids(ids, op);
  else if (op->kind == HD_OP_SCALE_TILE)
    check_shares(ids->v, ids->role, op);
  else if (op->kind == HD_OP_SCALE_COLUMNS)
    check_sets(ids->v, ids->role, op);
  return HEDDLE_OK;
}

void hd_verify_kernel(hd_verifier *v, const hd_op *kernel) {
  check_name(v, kernel);
  check_unique(v, kernel, HD_OP_SIZE, HD_ATTR_DIM);
  if (hd_op_has(kernel, HD_ATTR_WEIGHTS_READY) && !hd_op_has(kernel, HD_ATTR_DEPENDENT))
    hd_verify_fail(v, kernel, "ir.weights-ready",
                   "weights_ready needs dependent; nearest: dependent, weights_ready");
  if (v->module->level != HD_LEVEL_ROLE)
    return;
  check_unique(v, kernel, HD_OP_ARG, HD_ATTR_ARG);
  check_unique(v, kernel, HD_OP_BUFFER, HD_ATTR_NAME);
  check_unique(v, kernel, HD_OP_BARRIER, HD_ATTR_NAME);
  check_unique(v, kernel, HD_OP_ROLE, HD_ATTR_NAME);
  int64_t warps = check_partition(v, kernel);
  check_registers(v, kernel, warps);
  /* A named barrier may be used by one role only, or by one part of a role. */
  struct id_user ids = {.v = v};
  for (const hd_op *op = kernel->regions[0]->first; op; op = op->next) {
    ids.role = op;
    if (op->kind == HD_OP_ROLE)
      hd_walk(op->regions[0], note_op, &ids);
  }
}
