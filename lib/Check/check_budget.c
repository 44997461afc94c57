/* Checks that need no run: registers, shared memory, barriers, and the features of the target. */
#include "Check/check_instances.h"
#include "IR/shared_layout.h"

enum { MIN_SETMAXNREG = 24, MAX_SETMAXNREG = 256, SETMAXNREG_UNIT = 8, MBARRIER_BYTES = 8,
       CTA_BYTES = 1024, /* shared memory that the system reserves for each CTA */
       MAX_MBARRIER_COUNT = (1 << 20) - 1 };

static int64_t round_up(int64_t value, int64_t unit) {
  return unit > 0 ? (value + unit - 1) / unit * unit : value;
}

static int64_t ctas_of(const hd_ck_kernel *k) {
  return hd_op_int(k->program.kernel, HD_ATTR_MIN_CTAS, 1);
}

static void check_shared(hd_ck_kernel *k, const hd_ck_limits *limits) {
  const hd_ck_program *p = &k->program;
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const hd_op *op = p->buffers[i].op;
    int64_t align = hd_op_int(op, HD_ATTR_ALIGN, 1);
    if (hd_op_is(op, HD_ATTR_SPACE, "tmem"))
      continue;
    if (p->buffers[i].bytes > limits->shared_bytes || align > limits->shared_bytes)
      return hd_ck_static_find(k, "shared", op, "a smaller tile",
                               "a slot has %lld bytes; the target has %lld",
                               (long long)p->buffers[i].bytes, (long long)limits->shared_bytes);
    int64_t begin = p->buffers[i].over ? p->buffers[i].at : round_up(bytes, align);
    int64_t end = begin + round_up(p->buffers[i].bytes, align) * p->buffers[i].stages;
    bytes = end > bytes ? end : bytes;
  }
  bytes = round_up(bytes, MBARRIER_BYTES) + (int64_t)p->n_barrier_slots * MBARRIER_BYTES;
  if (hd_find_op(p->kernel->regions[0], HD_OP_TCGEN05_ALLOC))
    bytes += MBARRIER_BYTES; /* the address that it writes */
  if (bytes > limits->shared_bytes)
    hd_ck_static_find(k, "shared", p->kernel, "fewer stages or a smaller tile",
                      "buffers and barriers need %lld bytes; the target has %lld",
                      (long long)bytes, (long long)limits->shared_bytes);
  else if (ctas_of(k) > 1 && ctas_of(k) * (bytes + CTA_BYTES) > limits->shared_sm)
    hd_ck_static_find(k, "shared", p->kernel, "fewer stages or a smaller min_ctas",
                      "%lld CTAs need %lld bytes and %d of the system each; an SM has %lld",
                      (long long)ctas_of(k), (long long)bytes, CTA_BYTES,
                      (long long)limits->shared_sm);
}

/* The CTAs of an SM share its columns. A CTA that finds too few waits until another one ends. */
static void check_tensor(hd_ck_kernel *k, const hd_ck_limits *limits) {
  const hd_op *kernel = k->program.kernel,
              *alloc = hd_find_op(kernel->regions[0], HD_OP_TCGEN05_ALLOC);
  int64_t used = hd_tensor_column(kernel, NULL), taken = used;
  if (alloc)
    taken = hd_op_int(alloc, HD_ATTR_COLUMNS, 0);
  if (taken < used)
    hd_ck_static_find(k, "tensor", alloc, "as many columns as the buffers have",
                      "allocates %lld columns for buffers of %lld", (long long)taken,
                      (long long)used);
  else if (taken * ctas_of(k) > limits->tensor_columns)
    hd_ck_static_find(k, "tensor", alloc ? alloc : kernel, "a narrower tile, or a smaller min_ctas",
                      "%lld CTAs of %lld columns of tensor memory; an SM has %lld",
                      (long long)ctas_of(k), (long long)taken, (long long)limits->tensor_columns);
}

static void check_barriers(hd_ck_kernel *k) {
  for (int32_t i = 0; i < k->program.n_barriers; i++) {
    const hd_ck_ring *ring = &k->program.barriers[i];
    if (ring->count < 1 || ring->count > MAX_MBARRIER_COUNT)
      hd_ck_static_find(k, "arrivals", ring->op, "a count of 1 to 1048575",
                        "a barrier of count %lld", (long long)ring->count);
  }
}

/* --- registers ------------------------------------------------------------------------------ */

/* Registers of fragments that an op holds at once: of its operands or results, if those are
 * more. */
static int64_t fragments_at(const hd_op *op) {
  int64_t in = 0, out = 0;
  for (int32_t i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type.kind == HD_TYPE_FRAG)
      in += hd_type_registers(op->operands[i]->type);
  for (int32_t i = 0; i < op->n_results; i++)
    if (op->results[i]->type.kind == HD_TYPE_FRAG)
      out += hd_type_registers(op->results[i]->type);
  return in > out ? in : out;
}

typedef struct widest {
  int64_t registers;
  const hd_op *op;
} widest;

static heddle_status note_widest(void *user, hd_op *op) {
  widest *w = user;
  if (fragments_at(op) > w->registers)
    *w = (widest){fragments_at(op), op};
  return HEDDLE_OK;
}

static void check_role(hd_ck_kernel *k, const hd_ck_role *role, int64_t at_entry) {
  int64_t own = hd_op_int(role->op, HD_ATTR_REGISTERS, at_entry);
  bool sets = hd_op_has(role->op, HD_ATTR_REGISTERS);
  if (sets && (own < MIN_SETMAXNREG || own > MAX_SETMAXNREG || own % SETMAXNREG_UNIT))
    hd_ck_static_find(k, "registers", role->op, "a multiple of 8 from 24 to 256",
                      "setmaxnreg to %lld registers", (long long)own);
  if (sets && (role->warp_lo % 4 || role->n_warps % 4))
    hd_ck_static_find(k, "registers", role->op, "roles of whole warpgroups",
                      "setmaxnreg in warps %d to %d", role->warp_lo,
                      role->warp_lo + role->n_warps - 1);
  widest w = {0};
  hd_walk(role->op->regions[0], note_widest, &w);
  if (w.registers >= own)
    hd_ck_static_find(k, "registers", w.op, "a smaller tile, or more registers for the role",
                      "fragments of %lld registers in a role of %lld", (long long)w.registers,
                      (long long)own);
}

/* setmaxnreg takes registers from the launch's allocation. A request for more waits forever. */
static void check_registers(hd_ck_kernel *k, const hd_ck_limits *limits) {
  const hd_ck_program *p = &k->program;
  int64_t threads = 32 * (int64_t)p->n_warps, on_sm = threads * ctas_of(k), sum = 0;
  int64_t entry = hd_op_int(p->kernel, HD_ATTR_MAX_REGISTERS, 0);
  int64_t fair = limits->registers_sm / on_sm / 8 * 8;
  int64_t most = entry ? entry : fair < limits->registers_thread ? fair : limits->registers_thread;
  if (on_sm * round_up(entry, 8) > limits->registers_sm)
    hd_ck_static_find(k, "registers", p->kernel, "fewer threads or registers",
                      "%lld threads of %lld registers; the target has %lld", (long long)on_sm,
                      (long long)entry, (long long)limits->registers_sm);
  for (int32_t i = 0; i < p->n_roles; i++) {
    check_role(k, &p->roles[i], most);
    sum += 32 * p->roles[i].n_warps * hd_op_int(p->roles[i].op, HD_ATTR_REGISTERS, entry);
  }
  if (entry && sum > threads * entry)
    hd_ck_static_find(k, "registers", p->kernel, "roles that share max_registers x threads",
                      "the roles request %lld registers of %lld", (long long)sum,
                      (long long)(threads * entry));
}

/* --- the target ----------------------------------------------------------------------------- */

typedef struct needs {
  bool bulk;
  const hd_op *op;
} needs;

static heddle_status note_bulk(void *user, hd_op *op) {
  needs *n = user;
  bool bulk = op->kind == HD_OP_COPY_BULK || op->kind == HD_OP_COPY_TMA ||
              op->kind == HD_OP_COPY_OUT;
  if (bulk && !n->bulk)
    *n = (needs){true, op};
  return HEDDLE_OK;
}

void hd_ck_check_budgets(hd_ck_kernel *k) {
  const hd_op *kernel = k->program.kernel;
  const char *target = hd_op_str(kernel, HD_ATTR_TARGET);
  hd_ck_limits limits;
  if (!hd_ck_limits_of(target, &limits))
    return hd_ck_static_find(k, "undecided", kernel, "a known target", "unknown target %.40s",
                             target ? target : "");
  needs n = {0};
  hd_walk(kernel->regions[0], note_bulk, &n);
  if (n.bulk && !limits.has_tma)
    hd_ck_static_find(k, "target", n.op, "cp.async", "%s has no bulk copies", target);
  if (k->program.cluster > 1 && !limits.has_cluster)
    hd_ck_static_find(k, "target", kernel, "cluster = 1", "%s has no clusters", target);
  check_shared(k, &limits);
  check_tensor(k, &limits);
  check_barriers(k);
  check_registers(k, &limits);
}
