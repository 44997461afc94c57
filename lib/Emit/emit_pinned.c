/* Accumulators in registers that LLVM never sees. */
#include "Emit/emit_pinned.h"

/* ---- uses of the fragment ---- */

/* The values that occupy the same registers, one after the other. */
typedef struct chain {
  hd_emitter *e;
  const hd_value **value;
  int32_t n, cap;
} chain;

/* Uses of a value in a region, by ops or in their regions (index -1): the last, and how many. */
typedef struct uses {
  const hd_op *op;
  int32_t index, n;
} uses;

static uses find_uses(const hd_region *region, const hd_value *value) {
  uses found = {0};
  HD_FOR_OPS(op, region) {
    for (int32_t i = 0; i < op->n_operands; i++)
      if (op->operands[i] == value)
        found = (uses){op, i, found.n + 1};
    bool inside = false;
    for (int32_t i = 0; i < op->n_regions; i++)
      inside |= find_uses(op->regions[i], value).n > 0;
    if (inside)
      found = (uses){op, -1, found.n + 1};
  }
  return found;
}

static void add(chain *c, const hd_value *value) {
  if (c->n == c->cap) {
    const hd_value **old = c->value;
    c->cap = c->cap ? 2 * c->cap : 32;
    c->value = HD_NEW_ARRAY(&c->e->arena, const hd_value *, c->cap);
    for (int32_t i = 0; i < c->n; i++)
      c->value[i] = old[i];
  }
  c->value[c->n++] = value;
}

/* After these ops ordinary code may read the registers. */
static bool is_end(const hd_op *op) {
  return op && (op->kind == HD_OP_FOR || op->kind == HD_OP_IF ||
                (op->kind == HD_OP_WGMMA_WAIT && hd_op_int(op, HD_ATTR_PENDING, 0) == 0));
}

enum { READ = -1, SHARED = -2 };
static int32_t follow(chain *c, const hd_region *region, const hd_value *value);

/* The result of a loop that yields the value in its own position, or of an `if` whose branches both
 * yield it in the same position; else NULL. */
static const hd_value *behind_loop(chain *c, const hd_op *op, int32_t i) {
  return i >= 0 && follow(c, op->regions[0], op->regions[0]->args[i + 1]) == i ? op->results[i]
                                                                                : NULL;
}

static const hd_value *behind_branch(chain *c, const hd_op *op, const hd_value *value) {
  int32_t i = follow(c, op->regions[0], value);
  return i >= 0 && follow(c, op->regions[1], value) == i ? op->results[i] : NULL;
}

/* The result of the op that has the same registers as the operand; NULL: none. */
static const hd_value *handed_on(chain *c, const hd_op *op, int32_t index, const hd_value *value) {
  switch (op->kind) {
  case HD_OP_WGMMA_FENCE:
  case HD_OP_WGMMA_WAIT:
    return op->results[index];
  case HD_OP_WGMMA_SS:
  case HD_OP_WGMMA_RS:
    return index == 0 ? op->results[0] : NULL;
  case HD_OP_PROMOTE:
    return index >= HD_AT_promote_parts ? op->results[index - HD_AT_promote_parts] : NULL;
  case HD_OP_FOR:
    return behind_loop(c, op, index - 3);
  case HD_OP_IF:
    return index < 0 && op->n_results ? behind_branch(c, op, value) : NULL;
  default:
    return NULL;
  }
}

/* Whether a fragment that nothing can read yet is read behind an end in both branches of an `if`,
 * and not behind the `if`. */
static bool ends_in_branches(chain *c, const uses *found, const hd_value *value) {
  return !is_end(value->op) && found->n == 1 && found->index < 0 && found->op->kind == HD_OP_IF &&
         follow(c, found->op->regions[0], value) == READ &&
         follow(c, found->op->regions[1], value) == READ;
}

/* Follows the fragment through a region. Returns its index in the operands of yield, READ if it is
 * read after an end (is_end), or SHARED. */
static int32_t follow(chain *c, const hd_region *region, const hd_value *value) {
  for (;;) {
    uses found = find_uses(region, value);
    if (found.n == 1 && found.op->kind == HD_OP_YIELD) {
      add(c, value);
      return found.index;
    }
    if (ends_in_branches(c, &found, value)) {
      add(c, value);
      return READ;
    }
    const hd_value *next =
        found.n == 1 ? handed_on(c, found.op, found.index, value) : NULL;
    if (!next)
      return is_end(value->op) ? READ : SHARED;
    add(c, value);
    value = next;
  }
}

/* ---- the registers ---- */

static const char *zeros(hd_emitter *e, int32_t pinned, int32_t n) {
  hd_strbuf text = {0};
  for (int32_t i = 0; i < n; i++)
    hd_strbuf_printf(&text, "mov.b32 " HD_PINNED_REGISTER ", 0;\n\t", (int)(pinned + i));
  const char *list = hd_arena_strdup(&e->arena, hd_strbuf_text(&text));
  hd_strbuf_free(&text);
  return list;
}

/* Sets the registers to zero, as frag.undef does for LLVM values. */
bool hd_emit_pinned_open(hd_emitter *e, const hd_op *undef) {
  chain c = {.e = e};
  if (follow(&c, undef->region, undef->results[0]) != READ)
    return false;
  int32_t n = hd_emit_type_count(undef->results[0]->type), pinned = e->n_pinned;
  e->n_pinned += n;
  for (int32_t i = 0; i < c.n; i++)
    hd_emit_set_pinned(e, c.value[i], pinned);
  hd_emit_asm(e, e->none, zeros(e, pinned, n), "",
              NULL, 0, HD_ASM_MEMORY);
  return true;
}

void hd_emit_pinned_read(hd_emitter *e, const hd_value *from, const hd_value *to) {
  int32_t n = hd_emit_type_count(to->type), pinned = hd_emit_pinned_of(e, from);
  LLVMTypeRef *types = HD_NEW_ARRAY(&e->arena, LLVMTypeRef, n);
  LLVMValueRef *v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  hd_strbuf text = {0}, constraints = {0};
  for (int32_t i = 0; i < n; i++) {
    types[i] = hd_emit_type_of(e, to->type);
    hd_strbuf_printf(&text, "mov.b32 $%d, " HD_PINNED_REGISTER ";\n\t", (int)i, (int)(pinned + i));
    hd_strbuf_printf(&constraints, "%s=%c", i ? "," : "", types[i] == e->f32 ? 'f' : 'r');
  }
  hd_emit_asm_registers(e, hd_strbuf_text(&text), hd_strbuf_text(&constraints), NULL, 0,
                        HD_ASM_MEMORY, types, n, v);
  hd_emit_set(e, to, v, n);
  hd_strbuf_free(&text);
  hd_strbuf_free(&constraints);
}

void hd_emit_pinned_declare(hd_emitter *e) {
  if (!e->n_pinned)
    return;
  LLVMPositionBuilderBefore(e->b,
                            LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(e->function)));
  const char *text = hd_arena_printf(&e->arena, ".reg .b32 %%acc<%d>;", (int)e->n_pinned);
  hd_emit_asm(e, e->none, text, "", NULL, 0, HD_ASM_MEMORY);
}
