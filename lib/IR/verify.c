/* The verifier's walk. For each op in program order it checks, in this order:
 *   1. the op is allowed at this level, with or without sync placed, and inside its parent
 *   2. every operand is defined before, in this region or an enclosing one
 *   3. operands and results have the types of ops.def
 *   4. attributes (verify_attrs.c)
 *   5. the op's own rules (verify_rules.c, verify_slots.c, verify_spec.c), when 1 to 4 hold
 *   6. after its regions: they end with the required yield
 * and for each kernel the rules of the whole kernel (verify_kernel.c).
 * It does not check that a problem makes sense (legalize), that the synchronisation suffices
 * (lib/Check), or that names of values differ: names are for readers. */
#include "IR/shared_layout.h"
#include "IR/verify.h"

#include <stdarg.h>

static void check_level(hd_verifier *v, const hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  bool is_sync = *info->levels == 'S';
  if (is_sync && v->module->level == HD_LEVEL_ROLE && !v->module->sync_placed)
    hd_verify_fail(v, op, "ir.sync",
                   "a sync op in a module that says sync=none; legal: sync=placed");
  else if (!hd_op_is_of_level(info, v->module->level))
    hd_verify_fail(v, op, "ir.level", "does not exist at %s level; nearest: %s level",
                   hd_level_name(v->module->level),
                   hd_level_name(is_sync || *info->levels == 'R' ? HD_LEVEL_ROLE
                                 : *info->levels == 'T'          ? HD_LEVEL_TILE
                                                                 : HD_LEVEL_PROBLEM));
}

/* Legal positions of an op. KERNEL_ONLY: directly in the kernel's region; ROLE_ONLY: in a role. */
typedef enum place { ANYWHERE, MODULE_ONLY, KERNEL_ONLY, ROLE_ONLY, WORK_ONLY, BLOCK_END } place;

static place place_of_kind(const hd_verifier *v, const hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  switch (op->kind) {
  case HD_OP_KERNEL:
    return MODULE_ONLY;
  case HD_OP_SIZE:
  case HD_OP_SPARSE:
  case HD_OP_DENSE:
  case HD_OP_VECTOR:
  case HD_OP_WORK:
  case HD_OP_ROLE:
  case HD_OP_PRODUCT:
  case HD_OP_ARG:
  case HD_OP_TMAP:
  case HD_OP_BUFFER:
  case HD_OP_BARRIER:
  case HD_OP_BARRIER_INIT:
  case HD_OP_FENCE_BARRIER_INIT:
    return KERNEL_ONLY;
  case HD_OP_MATMUL:
  case HD_OP_EPILOGUE:
  case HD_OP_STORE:
    return v->module->level == HD_LEVEL_TILE ? WORK_ONLY : KERNEL_ONLY;
  case HD_OP_YIELD:
    return BLOCK_END;
  case HD_OP_FOR:
  case HD_OP_IF:
  case HD_OP_WARP_INDEX:
    return ROLE_ONLY;
  case HD_OP_GRID_WAIT:
  case HD_OP_GRID_LAUNCH:
    return ANYWHERE;
  case HD_OP_GROUP_TABLE:
    return KERNEL_ONLY;
  default:
    return info->issuer == HD_BY_NONE || info->issuer == HD_BY_CTA || info->issuer == HD_BY_CLUSTER
               ? ANYWHERE
               : ROLE_ONLY;
  }
}

static void misplaced(hd_verifier *v, const hd_op *op, const char *rule, const char *legal) {
  const hd_op *parent = op->region->parent;
  hd_verify_fail(v, op, rule, "is inside %s; legal: %s",
                 parent ? hd_op_get_info(parent->kind)->text : "the module", legal);
}

static void check_place(hd_verifier *v, const hd_op *op) {
  const hd_op *parent = op->region->parent;
  hd_op_kind in = parent ? parent->kind : HD_N_OPS;
  switch (place_of_kind(v, op)) {
  case MODULE_ONLY:
    if (parent)
      misplaced(v, op, "ir.place", "the module");
    return;
  case KERNEL_ONLY:
    if (in != HD_OP_KERNEL)
      misplaced(v, op, "ir.place", "the region of a kernel itself");
    return;
  case WORK_ONLY:
    if (in != HD_OP_WORK)
      misplaced(v, op, "ir.place", "the region of a work");
    return;
  case ROLE_ONLY:
    if (!v->role)
      misplaced(v, op, "ir.place", "a role");
    return;
  case BLOCK_END:
    if ((in != HD_OP_FOR && in != HD_OP_IF && in != HD_OP_WORK) || op->next)
      misplaced(v, op, "ir.yield", "the end of a for, an if or a work");
    return;
  case ANYWHERE:
    if (!v->kernel)
      misplaced(v, op, "ir.place", "a kernel");
    return;
  }
}

/* CTA- and cluster-wide ops need every thread, so they are legal only outside of roles or in the
 * only role, and not for a single lane. */
static void check_wide(hd_verifier *v, const hd_op *op) {
  hd_op_issuer issuer = hd_op_get_info(op->kind)->issuer;
  if (v->role && v->n_roles > 1 && (issuer == HD_BY_CTA || issuer == HD_BY_CLUSTER))
    hd_verify_fail(v, op, "ir.wide",
                   "needs all threads of the CTA, but is inside one of %d roles; legal: outside",
                   (int)v->n_roles);
}

/* A `single` role is run by one lane, so its ops must not need a whole warp. */
static void check_single(hd_verifier *v, const hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  if (!v->role || !hd_op_has(v->role, HD_ATTR_SINGLE))
    return;
  bool is_sync = *info->levels == 'S';
  bool wide = info->issuer >= HD_BY_WARPGROUP && op->kind != HD_OP_CP_ASYNC_COMMIT &&
              op->kind != HD_OP_CP_ASYNC_WAIT;
  if (wide || (info->issuer == HD_BY_WARP && !is_sync))
    hd_verify_fail(v, op, "ir.single",
                   "needs more than the one lane of a `single` role; legal: another role");
}

static void check_warp(hd_verifier *v, const hd_op *op) {
  int64_t warp = hd_op_int(op, HD_ATTR_WARP, 0), n = 1;
  if (v->role && !hd_op_has(v->role, HD_ATTR_SINGLE))
    n = hd_op_int(v->role, HD_ATTR_N_WARPS, 1);
  if (warp >= n)
    hd_verify_fail(v, op, "ir.warp",
                   "warp = %lld; legal: 0 to %lld, the warps of its role that run it",
                   (long long)warp, (long long)n - 1);
}

static bool is_inside(const hd_region *region, const hd_region *outer) {
  while (region != outer && region->parent && region->parent->region)
    region = region->parent->region;
  return region == outer;
}

static void check_links(hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++) {
    const hd_value *value = op->operands[i];
    const hd_region *home = value->op ? value->op->region : value->region;
    if (hd_facts_get(&v->defined, value) == HD_NO_FACT)
      hd_verify_fail(v, op, "ir.dominance",
                     "operand %d (%%%s) is not defined before its use; legal: values defined above",
                     (int)i,
                     value->name ? value->name : "?");
    else if (!home || !is_inside(op->region, home))
      hd_verify_fail(v, op, "ir.dominance",
                     "operand %d (%%%s) is defined in a region that does not enclose this op; "
                     "legal: values that a yield returns from there",
                     (int)i, value->name ? value->name : "?");
  }
}

static void type_error(hd_verifier *v, const hd_op *op, const char *what, int32_t i, hd_type got,
                       char letter) {
  hd_strbuf text = {0};
  hd_type_print(got, &text);
  hd_verify_fail(v, op, "ir.type", "%s %d is %s; legal: %s", what, (int)i, hd_strbuf_text(&text),
                 hd_slot_text(letter));
  hd_strbuf_free(&text);
}

/* Reports "2 operands; legal: a matrix, a matrix": optional in brackets, repeated with dots. */
static void count_error(hd_verifier *v, const hd_op *op, const char *what, int32_t n,
                        const char *letters) {
  hd_strbuf text = {0};
  hd_slot slot;
  for (const char *cursor = letters; hd_slot_next(&cursor, &slot);)
    hd_strbuf_printf(&text, "%s%s%s%s%s", text.len ? ", " : "", slot.optional ? "[" : "",
                     hd_slot_text(slot.letter), slot.optional ? "]" : "",
                     slot.repeated ? " ..." : "");
  hd_verify_fail(v, op, "ir.count", "%d %s%s; legal: %s", (int)n, what, n == 1 ? "" : "s",
                 text.len ? hd_strbuf_text(&text) : "none");
  hd_strbuf_free(&text);
}

/* Whether an optional value may be missing: fewer values than letters, or a list of any length. */
static bool lacks_some(const char *letters, int32_t n) {
  hd_slot slot = {0};
  for (const char *cursor = letters; hd_slot_next(&cursor, &slot); n--)
    if (slot.repeated)
      return true;
  return n < 0;
}

/* Checks values by the letters of ops.def. An optional value may be missing at the end, or if the
 * value at its position has another type. */
static void check_types(hd_verifier *v, const hd_op *op, hd_value *const *values, int32_t n,
                        const char *letters, const char *what) {
  const char *cursor = letters;
  hd_slot slot;
  int32_t i = 0;
  while (hd_slot_next(&cursor, &slot)) {
    do {
      if (i == n) {
        if (!slot.optional && !slot.repeated)
          count_error(v, op, what, n, letters);
        if (!slot.repeated && !slot.optional)
          return;
        break;
      }
      if (slot.optional && lacks_some(letters, n) && !hd_slot_takes(slot.letter, values[i]->type))
        break;
      if (!hd_slot_takes(slot.letter, values[i]->type))
        type_error(v, op, what, i, values[i]->type, slot.letter);
      i++;
    } while (slot.repeated);
  }
  if (i < n)
    count_error(v, op, what, n, letters);
}

static void check_yielded(hd_verifier *v, const hd_op *op, const hd_region *region) {
  const hd_op *last = region->last;
  if (!last || last->kind != HD_OP_YIELD) {
    hd_verify_fail(v, last ? last : op, "ir.yield", "%s of %s; legal: a yield",
                   last ? "ends the region" : "nothing ends the region",
                   hd_op_get_info(op->kind)->text);
    return;
  }
  if (last->n_operands != op->n_results) {
    hd_verify_fail(v, last, "ir.yield", "returns %d values; legal: %d", (int)last->n_operands,
                   (int)op->n_results);
    return;
  }
  for (int32_t i = 0; i < op->n_results; i++)
    if (!hd_type_equal(last->operands[i]->type, op->results[i]->type))
      hd_verify_fail(v, last, "ir.yield",
                     "value %d has another type; legal: the type of the result",
                     (int)i);
}

static void check_yields(hd_verifier *v, const hd_op *op) {
  const hd_op *last = op->n_regions ? op->regions[0]->last : NULL;
  if (op->kind == HD_OP_FOR || op->kind == HD_OP_IF)
    for (int32_t i = 0; i < op->n_regions; i++)
      check_yielded(v, op, op->regions[i]);
  else if (op->kind == HD_OP_WORK && last && last->kind == HD_OP_YIELD && last->n_operands)
    hd_verify_fail(v, last, "ir.yield", "returns %d values from a work; legal: 0",
                   (int)last->n_operands);
}

static void define(hd_verifier *v, hd_value *const *values, int32_t n, int64_t fact) {
  for (int32_t i = 0; i < n; i++)
    hd_facts_set(&v->defined, values[i], fact);
}

/* Only the region of a loop has arguments. */
static void check_args(hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_regions; i++)
    if (op->kind != HD_OP_FOR && op->regions[i]->n_args)
      hd_verify_fail(v, op, "ir.region", "its region has %d arguments; legal: 0",
                     (int)op->regions[i]->n_args);
}

static void check_op(hd_verifier *v, const hd_op *op, int32_t depth);

static void check_region(hd_verifier *v, const hd_region *region, int32_t depth) {
  define(v, region->args, region->n_args, HD_DEFINED);
  for (const hd_op *op = region->first; op; op = op->next)
    check_op(v, op, depth);
}

static void check_one(hd_verifier *v, const hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  int32_t before = v->n_errors;
  check_level(v, op);
  check_place(v, op);
  check_wide(v, op);
  check_single(v, op);
  check_warp(v, op);
  check_args(v, op);
  check_links(v, op);
  check_types(v, op, op->operands, op->n_operands, info->operands, "operand");
  check_types(v, op, op->results, op->n_results, info->results, "result");
  hd_verify_attrs(v, op);
  if (v->n_errors == before)
    hd_verify_op_rules(v, op);
  if (v->n_errors == before)
    hd_verify_reduce(v, op);
  if (v->n_errors == before)
    hd_verify_aux(v, op);
  if (v->n_errors == before)
    hd_verify_slots(v, op);
  if (v->n_errors == before)
    hd_verify_pack(v, op);
  if (v->n_errors == before)
    hd_verify_spec(v, op);
}

/* Checks an op and its regions, and tracks the kernel and role around them. The ops of a kernel or
 * role that has errors itself are not checked, since rules read its cluster and warps. */
static void check_op(hd_verifier *v, const hd_op *op, int32_t depth) {
  const hd_op *kernel = v->kernel, *role = v->role;
  int32_t before = v->n_errors;
  check_one(v, op);
  if (depth == HD_MAX_DEPTH)
    hd_verify_fail(v, op, "ir.nesting", "regions nest too deep; legal: up to %d", HD_MAX_DEPTH);
  bool frame = op->kind == HD_OP_KERNEL || op->kind == HD_OP_ROLE;
  if (depth == HD_MAX_DEPTH || (frame && v->n_errors != before))
    return;
  if (op->kind == HD_OP_KERNEL) {
    v->kernel = op;
    v->role = NULL;
    v->n_roles = 0;
    for (const hd_op *child = op->regions[0]->first; child; child = child->next)
      v->n_roles += child->kind == HD_OP_ROLE;
    v->tensor_ctas = hd_tensor_ctas(op);
  } else if (op->kind == HD_OP_ROLE) {
    v->role = op;
  }
  for (int32_t i = 0; i < op->n_regions; i++)
    check_region(v, op->regions[i], depth + 1);
  check_yields(v, op);
  define(v, op->results, op->n_results, v->n_errors == before ? HD_DEFINED : HD_DEFINED_BADLY);
  if (v->n_errors == before)
    hd_verify_result_cursors(v, op);
  if (v->n_errors == before && op->kind == HD_OP_KERNEL)
    hd_verify_kernel(v, op);
  v->kernel = kernel;
  v->role = role;
}

static void check_names(hd_verifier *v) {
  hd_scope names = {0};
  for (const hd_op *kernel = v->module->body->first; kernel; kernel = kernel->next) {
    const char *name = hd_op_str(kernel, HD_ATTR_NAME);
    if (hd_scope_find(&names, name))
      hd_verify_fail(v, kernel, "ir.kernel-name",
                     "two kernels have the name \"%s\"; legal: different names", name);
    hd_scope_add(&names, name, NULL);
  }
  hd_scope_free(&names);
}

heddle_status hd_verify(heddle_context *ctx, const hd_module *module, const char *blame) {
  hd_verifier v = {.ctx = ctx, .module = module, .blame = blame, .status = HEDDLE_OK};
  if (module->sync_placed && module->level != HD_LEVEL_ROLE) {
    v.n_errors++;
    v.status = hd_error(ctx, blame ? HEDDLE_INTERNAL : HEDDLE_INVALID, (hd_loc){module->file, 1, 1},
                        "ir.sync", "sync=placed at %s level; nearest: sync=none",
                        hd_level_name(module->level));
  }
  check_region(&v, module->body, 0);
  if (!v.n_errors)
    check_names(&v);
  hd_facts_free(&v.defined);
  hd_facts_free(&v.stages);
  if (v.n_errors > HD_MAX_ERRORS)
    hd_note(ctx, HD_NOWHERE, "ir.more", "%d more errors", (int)v.n_errors - HD_MAX_ERRORS);
  return v.status;
}
