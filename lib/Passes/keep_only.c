#include "Passes/keep_only.h"
#include "Support/memory.h"

#include <string.h>

/* A set of needed ops and values, with a work list of the values to visit. */
typedef struct needs {
  const void **slot; /* open addressing; owned */
  size_t n_slots, n_used;
  const hd_value **todo; /* owned */
  size_t n_todo, cap_todo;
} needs;

static size_t slot_of(const needs *set, const void *p) {
  size_t i = ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u % set->n_slots;
  while (set->slot[i] && set->slot[i] != p)
    i = (i + 1) % set->n_slots;
  return i;
}

static bool has(const needs *set, const void *p) { return set->slot[slot_of(set, p)] == p; }

static void grow(needs *set) {
  needs bigger = {.n_slots = set->n_slots * 2};
  bigger.slot = hd_xzalloc(bigger.n_slots * sizeof *bigger.slot);
  for (size_t i = 0; i < set->n_slots; i++)
    if (set->slot[i])
      bigger.slot[slot_of(&bigger, set->slot[i])] = set->slot[i];
  hd_free(set->slot);
  set->slot = bigger.slot;
  set->n_slots = bigger.n_slots;
}

/* False if the set had p already. */
static bool add(needs *set, const void *p) {
  if (has(set, p))
    return false;
  if (++set->n_used * 2 > set->n_slots)
    grow(set);
  set->slot[slot_of(set, p)] = p;
  return true;
}

static void need_value(needs *set, const hd_value *value) {
  if (add(set, value))
    HD_PUSH(set->todo, set->n_todo, set->cap_todo, value);
}

/* Adds an op and the ops around it. Carried and yielded operands are added one by one later. */
static void need_op(needs *set, hd_op *op) {
  if (!op || !add(set, op))
    return;
  int32_t n = op->kind == HD_OP_FOR ? 3 : op->kind == HD_OP_YIELD ? 0 : op->n_operands;
  for (int32_t i = 0; i < n; i++)
    need_value(set, op->operands[i]);
  need_op(set, op->region->parent);
}

/* Adds carried value i of a loop: its initial and yielded values, its argument and result. */
static void need_carried(needs *set, hd_op *loop, int32_t i) {
  need_value(set, hd_for_carried(loop)[i]);
  need_value(set, loop->regions[0]->last->operands[i]);
  need_value(set, loop->regions[0]->args[1 + i]);
  need_value(set, loop->results[i]);
}

static void look_at(needs *set, const hd_value *value) {
  if (value->op) {
    need_op(set, value->op);
    if (value->op->kind == HD_OP_FOR)
      need_carried(set, value->op, value->index);
    else if (value->op->kind == HD_OP_IF)
      for (int32_t r = 0; r < value->op->n_regions; r++)
        need_value(set, value->op->regions[r]->last->operands[value->index]);
    return;
  }
  hd_op *parent = value->region->parent;
  need_op(set, parent);
  if (parent && parent->kind == HD_OP_FOR && value->index > 0)
    need_carried(set, parent, value->index - 1);
}

static void find_roots(needs *set, hd_region *region, hd_is_root *is_root) {
  HD_FOR_OPS(op, region) {
    if (is_root(op))
      need_op(set, op);
    for (int32_t r = 0; r < op->n_regions; r++)
      find_roots(set, op->regions[r], is_root);
  }
}

static void remove_at(hd_value **list, int32_t *n, int32_t at) {
  memmove(list + at, list + at + 1, sizeof *list * (size_t)(*n - at - 1));
  *n -= 1;
}

static void renumber(hd_value **list, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    list[i]->index = i;
}

static void drop_carried(hd_op *loop, int32_t i) {
  hd_region *body = loop->regions[0];
  remove_at(loop->operands, &loop->n_operands, 3 + i);
  remove_at(loop->results, &loop->n_results, i);
  remove_at(body->args, &body->n_args, 1 + i);
  remove_at(body->last->operands, &body->last->n_operands, i);
  renumber(loop->results, loop->n_results);
  renumber(body->args, body->n_args);
}

static void sweep(const needs *set, hd_region *region) {
  HD_FOR_OPS(op, region) {
    if (op->kind == HD_OP_YIELD)
      continue;
    if (!has(set, op)) {
      hd_op_erase(op);
      continue;
    }
    for (int32_t i = op->kind == HD_OP_FOR ? op->n_results : 0; i-- > 0;)
      if (!has(set, op->results[i]))
        drop_carried(op, i);
    for (int32_t r = 0; r < op->n_regions; r++)
      sweep(set, op->regions[r]);
  }
}

void hd_keep_only(hd_region *region, hd_is_root *is_root) {
  needs set = {.n_slots = 1024};
  set.slot = hd_xzalloc(set.n_slots * sizeof *set.slot);
  find_roots(&set, region, is_root);
  while (set.n_todo)
    look_at(&set, set.todo[--set.n_todo]);
  sweep(&set, region);
  hd_free(set.slot);
  hd_free(set.todo);
}
