/* narrow: a narrower instruction for tiles with few columns.
 *
 * Requires   unswitch.
 * Ensures    where a wgmma says how many columns of its sum are used (`columns`: a group can end
 *            anywhere in a tile), the tile's loop over k exists twice: if they are at most half of
 *            the tile's, a wgmma multiplies the first half of B's slot only. The second half of the
 *            accumulators then has no value. It is not stored. Accumulators that nothing reads
 *            behind the loop (parts of a promote) are made in each branch: ptxas serialises wgmmas
 *            of two loops that promote from the same registers (C7511).
 * Why here   the copy already has its waits, arrivals and fences, which are the same: both loops
 *            read the same stages. check sees both.
 * Does not   change what is loaded or stored.
 */
#include "Passes/pass_list.h"

#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Spec/spec.h"
#include "Support/arena.h"

/* A wgmma in the regions of an op, or NULL. */
static const hd_op *find_wgmma(const hd_op *op) {
  const hd_op *found = NULL;
  for (int32_t i = 0; i < op->n_regions && !found; i++) {
    found = hd_find_op(op->regions[i], HD_OP_WGMMA_SS);
    found = found ? found : hd_find_op(op->regions[i], HD_OP_WGMMA_RS);
  }
  return found;
}

/* The same instruction with half the columns, or NULL. */
static const hd_spec_row *half_of(const hd_spec_row *row) {
  hd_mma_query query = HD_MMA_ANY;
  query.family = (int)row->family;
  query.a = row->operand[HD_OPERAND_A].elem;
  query.b = row->operand[HD_OPERAND_B].elem;
  query.d = row->operand[HD_OPERAND_D].elem;
  query.n = row->n / 2;
  query.k = row->k;
  query.a_in_registers = row->a_in_registers;
  size_t at = 0;
  const hd_spec_row *half = hd_spec_next_mma(&query, &at);
  while (half && !hd_spec_can_generate(half))
    half = hd_spec_next_mma(&query, &at);
  return half;
}

static void set_row(hd_module *m, hd_op *op, const char *name) {
  if (hd_is_wgmma(op))
    hd_op_set_str(m, op, HD_ATTR_ROW, name);
  for (int32_t i = 0; i < op->n_regions; i++)
    HD_FOR_OPS(inner, op->regions[i])
      set_row(m, inner, name);
}

/* The ops that multiply a tile: from its loop over k to the wait for the last batch. */
typedef struct product {
  hd_op *first, *behind;
} product;

static product product_from(hd_op *loop) {
  product p = {loop, loop->next};
  for (hd_op *op = loop->next; op; op = op->next)
    if (op->kind == HD_OP_WGMMA_WAIT || find_wgmma(op))
      p.behind = op->next;
  return p;
}

static bool is_used_from(const hd_op *op, const hd_value *value) {
  for (; op; op = op->next) {
    for (int32_t i = 0; i < op->n_operands; i++)
      if (op->operands[i] == value)
        return true;
    for (int32_t i = 0; i < op->n_regions; i++)
      if (is_used_from(op->regions[i]->first, value))
        return true;
  }
  return false;
}

/* The results of the product that ops behind it use. Returns their number. */
static int32_t find_results(hd_module *m, const product *p, hd_value ***results) {
  int32_t n = 0, cap = 0;
  for (const hd_op *op = p->first; op != p->behind; op = op->next)
    cap += op->n_results;
  *results = HD_NEW_ARRAY(&m->arena, hd_value *, cap);
  for (const hd_op *op = p->first; op != p->behind; op = op->next)
    for (int32_t i = 0; i < op->n_results; i++)
      if (is_used_from(p->behind, op->results[i]))
        (*results)[n++] = op->results[i];
  return n;
}

/* Whether an initial value of the loop has no meaning, and its final value no use. */
static bool is_scratch(hd_op *loop, int32_t i) {
  const hd_value *value = hd_for_carried(loop)[i];
  return value->op && value->op->kind == HD_OP_FRAG_UNDEF &&
         !is_used_from(loop->next, loop->results[i]);
}

/* Makes the product a choice between two of them. Returns the choice. */
static hd_op *choose(hd_module *m, const product *p, hd_value *is_few, const char *half) {
  hd_value **results;
  int32_t n = find_results(m, p, &results);
  hd_value **halves = HD_NEW_ARRAY(&m->arena, hd_value *, n);
  hd_type *types = HD_NEW_ARRAY(&m->arena, hd_type, n);
  for (int32_t i = 0; i < n; i++)
    types[i] = results[i]->type;
  hd_builder b = hd_builder_before(m, p->first);
  hd_op *choice = hd_build_if(&b, is_few, types, n);
  for (int32_t i = 0; i < n; i++)
    hd_replace_uses(choice->region, results[i], choice->results[i], p->behind->prev);
  hd_builder few = hd_builder_at_end(m, choice->regions[0]);
  hd_builder many = hd_builder_at_end(m, choice->regions[1]);
  hd_value_map map = {0};
  for (int32_t i = 0; i < p->first->n_results; i++)
    if (is_scratch(p->first, i)) {
      hd_op *undef = hd_for_carried(p->first)[i]->op;
      hd_op_clone(&few, undef, &map);
      hd_op_move_to_end(undef, choice->regions[1]);
    }
  for (hd_op *op = p->first, *next; op != p->behind; op = next) {
    next = op->next;
    set_row(m, hd_op_clone(&few, op, &map), half);
    hd_op_move_to_end(op, choice->regions[1]);
  }
  for (int32_t i = 0; i < n; i++)
    halves[i] = hd_value_map_get(&map, results[i]);
  hd_value_map_free(&map);
  hd_build_yield(&few, halves, n);
  hd_build_yield(&many, results, n);
  return choice;
}

/* Returns the op with which to go on. The columns are computed beside the loop over k, in the loop
 * over tiles. A product of a single stage, whose loop over pairs of stages is empty, stays: LLVM
 * removes such loops, and ptxas serialises the wgmmas of what is left (C7511). */
static hd_op *narrow(hd_module *m, hd_op *loop) {
  const hd_op *wgmma = find_wgmma(loop);
  hd_value *columns = wgmma ? hd_wgmma_columns(wgmma) : NULL;
  if (!columns || !columns->op || columns->op->region != loop->region)
    return loop;
  const hd_spec_row *row = hd_spec_find(hd_op_str(wgmma, HD_ATTR_ROW)), *half = half_of(row);
  if (!half || hd_most_turns(loop) == 0)
    return loop;
  hd_builder b = hd_builder_before(m, loop);
  hd_value *is_few = hd_build_cmp(&b, "le", columns, hd_i32(&b, half->n));
  product p = product_from(loop);
  return choose(m, &p, is_few, half->name);
}

static void narrow_loops(hd_module *m, hd_region *region) {
  HD_FOR_OPS(op, region) {
    if (op->kind == HD_OP_FOR)
      op = narrow(m, op);
    for (int32_t i = 0; i < op->n_regions; i++)
      narrow_loops(m, op->regions[i]);
  }
}

heddle_status hd_pass_narrow(hd_pass_context *pass, hd_module *module) {
  (void)pass;
  narrow_loops(module, module->body);
  return HEDDLE_OK;
}
