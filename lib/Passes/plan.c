#include "Passes/plan.h"

#include <string.h>

#include "IR/op_info.h"
#include "Schedule/legality.h"
#include "Support/strbuf.h"

#define REFUSE(op, rule, ...) return hd_error(ctx, HEDDLE_INVALID, (op)->loc, rule, __VA_ARGS__)

/* ORDER PLAN: the op and the attribute that hold each key of the schedule at tile level. The family
 * is the instruction's. */
static const struct place {
  hd_key key;
  hd_op_kind op;
  hd_attr_key attr;
} places[] = {
    {HD_KEY_TILE, HD_OP_WORK, HD_ATTR_TILE},
    {HD_KEY_RASTER_GROUP, HD_OP_WORK, HD_ATTR_GROUP},
    {HD_KEY_K_ORDER, HD_OP_WORK, HD_ATTR_K_ORDER},
    {HD_KEY_PERSISTENT, HD_OP_WORK, HD_ATTR_PERSISTENT},
    {HD_KEY_SPLIT_K, HD_OP_WORK, HD_ATTR_SPLIT_K},
    {HD_KEY_REDUCE, HD_OP_WORK, HD_ATTR_REDUCE},
    {HD_KEY_STREAM_K, HD_OP_WORK, HD_ATTR_STREAM_K},
    {HD_KEY_CLUSTER, HD_OP_WORK, HD_ATTR_CLUSTER},
    {HD_KEY_MULTICAST, HD_OP_WORK, HD_ATTR_MULTICAST_OPERAND},
    {HD_KEY_CLUSTER_LAUNCH, HD_OP_WORK, HD_ATTR_CLUSTER_LAUNCH},
    {HD_KEY_CTAS_PER_SM, HD_OP_WORK, HD_ATTR_CTAS_PER_SM},
    {HD_KEY_WARPS, HD_OP_MATMUL, HD_ATTR_WARPS},
    {HD_KEY_STAGES, HD_OP_MATMUL, HD_ATTR_STAGES},
    {HD_KEY_A_PATH, HD_OP_MATMUL, HD_ATTR_A_PATH},
    {HD_KEY_B_PATH, HD_OP_MATMUL, HD_ATTR_B_PATH},
    {HD_KEY_WGMMA_IN_FLIGHT, HD_OP_MATMUL, HD_ATTR_IN_FLIGHT},
    {HD_KEY_STORE, HD_OP_STORE, HD_ATTR_PATH},
};

static hd_op *op_of(const hd_plan *plan, const struct place *place) {
  return place->op == HD_OP_WORK     ? plan->work
         : place->op == HD_OP_MATMUL ? plan->p.matmul
                                     : plan->p.store;
}

/* ---- writing ---- */

void hd_plan_write_schedule(hd_module *m, const hd_plan *plan) {
  for (const struct place *at = places; at < places + HD_COUNT(places); at++) {
    hd_op *op = op_of(plan, at);
    int64_t list[3];
    int32_t v[3], n = hd_schedule_get(&plan->s, at->key, v);
    if (hd_schedule_keys[at->key].kind == HD_KEY_WORD) {
      hd_op_set_str(m, op, at->attr, hd_key_word(at->key, *v));
    } else if (n > 1) {
      for (int32_t i = 0; i < n; i++)
        list[i] = v[i];
      hd_op_set_ints(m, op, at->attr, list, n);
    } else if (hd_attr_get_kind(at->attr) == HD_ATTR_KIND_INT) {
      hd_op_set_int(m, op, at->attr, *v);
    } else if (*v) {
      hd_op_set_flag(m, op, at->attr);
    }
  }
}

void hd_plan_write_fragments(hd_module *m, const hd_plan *plan) {
  const hd_fragment_registers *f = &plan->fragments;
  int64_t list[] = {f->a, f->b, f->metadata, f->accumulators};
  hd_op_set_ints(m, plan->p.matmul, HD_ATTR_FRAGMENTS, list, HD_COUNT(list));
}

void hd_plan_write_paths(hd_module *m, const hd_plan *plan) {
  hd_op *matmul = plan->p.matmul;
  hd_plan_write_schedule(m, plan);
  hd_op_set_int(m, matmul, HD_ATTR_SWIZZLE, plan->swizzle);
  hd_op_set_int(m, matmul, HD_ATTR_B_ALIGN, hd_b_variant_align(plan->variant, plan->p.b.elem));
  if (plan->b_box)
    hd_op_set_int(m, matmul, HD_ATTR_B_BOX, plan->b_box);
}

/* ---- reading ---- */

static heddle_status read_word(heddle_context *ctx, const hd_op *op, hd_attr_key name,
                               const char *const *words, const char *got, int32_t *value) {
  hd_strbuf legal = {0};
  for (int32_t i = 0; words[i]; i++) {
    if (strcmp(words[i], got) == 0) {
      *value = i;
      hd_strbuf_free(&legal);
      return HEDDLE_OK;
    }
    hd_strbuf_printf(&legal, "%s%s", i ? " " : "", words[i]);
  }
  heddle_status status = hd_error(ctx, HEDDLE_INVALID, op->loc, "plan.attribute",
                                  "got %s = %s; legal: %s", hd_attr_name(name), got,
                                  hd_strbuf_text(&legal));
  hd_strbuf_free(&legal);
  return status;
}

static heddle_status read_key(heddle_context *ctx, const hd_op *op, hd_attr_key name, hd_key key,
                              hd_schedule *s) {
  const hd_schedule_key *of = &hd_schedule_keys[key];
  const hd_attr *attr = hd_op_attr(op, name);
  int32_t v[3], n = hd_schedule_get(s, key, v);
  bool is_flag = hd_attr_get_kind(name) == HD_ATTR_KIND_FLAG;
  if (!is_flag && !attr)
    REFUSE(op, "plan.attribute", "%s has no %s; legal: one at tile level",
           hd_op_get_info(op->kind)->text, hd_attr_name(name));
  if (n > 1 && attr->n != n)
    REFUSE(op, "plan.attribute", "%s has %d elements; legal: %d", hd_attr_name(name), attr->n, n);
  if (is_flag)
    *v = attr != NULL;
  else if (of->kind == HD_KEY_WORD)
    HD_TRY(read_word(ctx, op, name, of->words, attr->s, v));
  else if (n == 1)
    *v = (int32_t)attr->i;
  for (int32_t i = 0; n > 1 && i < n; i++)
    v[i] = (int32_t)attr->ints[i];
  hd_schedule_set(s, key, v);
  return HEDDLE_OK;
}

static heddle_status check_row(heddle_context *ctx, const hd_plan *plan) {
  const hd_spec_row *row = hd_plan_row(&plan->p, &plan->s);
  if (row != plan->row)
    REFUSE(plan->p.matmul, "plan.row",
           "got row \"%s\" with a_path = %s and tile n %d; nearest: \"%s\"", plan->row->name,
           hd_key_word(HD_KEY_A_PATH, plan->s.a_path), plan->s.tile_n, row->name);
  return HEDDLE_OK;
}

static heddle_status read_fragments(heddle_context *ctx, hd_plan *plan) {
  const hd_attr *got = hd_op_attr(plan->p.matmul, HD_ATTR_FRAGMENTS);
  hd_fragment_registers f = hd_plan_fragments(plan->row);
  const int64_t legal[] = {f.a, f.b, f.metadata, f.accumulators};
  if (!got)
    return HEDDLE_OK;
  if (got->n != HD_COUNT(legal) || memcmp(got->ints, legal, sizeof legal))
    REFUSE(plan->p.matmul, "plan.fragments",
           "the fragments are not those of \"%s\"; legal: [%d, %d, %d, %d], the registers of A, B, "
           "metadata and accumulators",
           plan->row->name, f.a, f.b, f.metadata, f.accumulators);
  plan->fragments = f;
  return HEDDLE_OK;
}

static heddle_status check_box(heddle_context *ctx, const hd_plan *plan) {
  const hd_op *matmul = plan->p.matmul;
  bool has_map = hd_b_path_has_map(plan->s.b_path);
  int32_t unit, share = hd_schedule_b_share(&plan->p, &plan->s, &unit), most = 256;
  if (has_map ? plan->b_box > 0 && plan->b_box <= most && plan->b_box % unit == 0 &&
                    share % plan->b_box == 0
              : plan->b_box == 0)
    return HEDDLE_OK;
  int32_t nearest = plan->b_box < unit ? unit : plan->b_box < share ? plan->b_box : share;
  while (nearest > most || nearest % unit || share % nearest)
    nearest--;
  if (!has_map)
    REFUSE(matmul, "plan.b-box", "got b_box = %d with b_path = %s; legal: none", plan->b_box,
           hd_key_word(HD_KEY_B_PATH, plan->s.b_path));
  REFUSE(matmul, "plan.b-box",
         "got b_box = %d; legal: multiples of %d to %d that divide the %d columns of B that a CTA "
         "copies; nearest: %d",
         plan->b_box, unit, most, share, nearest);
}

/* Reads the operand paths, if select_operand_path has run. */
static heddle_status read_paths(heddle_context *ctx, hd_plan *plan) {
  const hd_op *matmul = plan->p.matmul;
  if (!hd_op_has(matmul, HD_ATTR_SWIZZLE))
    return HEDDLE_OK;
  int64_t align = hd_op_int(matmul, HD_ATTR_B_ALIGN, 0);
  int32_t swizzle = hd_plan_swizzle();
  plan->variant = hd_b_variant_match(&plan->p, &plan->s, align);
  plan->swizzle = (int32_t)hd_op_int(matmul, HD_ATTR_SWIZZLE, 0);
  plan->b_box = (int32_t)hd_op_int(matmul, HD_ATTR_B_BOX, 0);
  if (plan->swizzle != swizzle)
    REFUSE(matmul, "plan.swizzle", "got swizzle = %d; legal: %d, free of bank conflicts",
           plan->swizzle, swizzle);
  if (!plan->variant) {
    const hd_b_variant *nearest = hd_b_variant_get(&plan->p, &plan->s, 0);
    REFUSE(matmul, "plan.b-align",
           "got b_path = %s, b_align = %lld and path = %s; nearest: b_path = %s, b_align = %d",
           hd_key_word(HD_KEY_B_PATH, plan->s.b_path), (long long)align,
           hd_key_word(HD_KEY_STORE, plan->s.store), hd_key_word(HD_KEY_B_PATH, nearest->path),
           hd_b_variant_align(nearest, plan->p.b.elem));
  }
  HD_TRY(check_box(ctx, plan));
  int32_t blocks = hd_plan_store_blocks(plan);
  if (plan->s.store == HD_STORE_QUAD && blocks < HD_QUAD_BLOCKS)
    REFUSE(plan->p.store, "plan.path",
           "got path = quad where a warp stores %d blocks of 8 columns at once; legal: from "
           "%d on; nearest: path = direct",
           blocks, HD_QUAD_BLOCKS);
  return HEDDLE_OK;
}

static heddle_status read_tile_level(heddle_context *ctx, hd_plan *plan) {
  plan->work = hd_find_op(plan->p.kernel->regions[0], HD_OP_WORK);
  if (!plan->work)
    REFUSE(plan->p.kernel, "plan.attribute",
           "the kernel has no `work`; legal: a kernel at tile level");
  const char *row = hd_op_str(plan->p.matmul, HD_ATTR_ROW);
  plan->row = row ? hd_spec_find(row) : NULL;
  if (!plan->row || plan->row->family > HD_FAMILY_TCGEN05_SP)
    REFUSE(plan->p.matmul, "plan.row",
           "got row \"%s\"; legal: a sparse mma, wgmma or tcgen05.mma", row ? row : "");
  plan->s.family = plan->row->family;
  for (size_t i = 0; i < HD_COUNT(places); i++)
    HD_TRY(read_key(ctx, op_of(plan, &places[i]), places[i].attr, places[i].key, &plan->s));
  HD_TRY(hd_schedule_check(ctx, &plan->p, &plan->s));
  HD_TRY(check_row(ctx, plan));
  HD_TRY(read_fragments(ctx, plan));
  return read_paths(ctx, plan);
}

/* Reads the results of select_shape: the schedule's words and the row. */
static heddle_status read_problem_level(heddle_context *ctx, hd_plan *plan) {
  const char *words = hd_op_str(plan->p.kernel, HD_ATTR_SCHEDULE);
  if (!words || !hd_op_has(plan->p.matmul, HD_ATTR_ROW))
    return HEDDLE_OK;
  hd_schedule_words all = {0};
  HD_TRY(hd_schedule_parse(ctx, plan->p.kernel->loc, words, &all));
  plan->s = all.value;
  HD_TRY(hd_schedule_check(ctx, &plan->p, &plan->s));
  plan->row = hd_spec_find(hd_op_str(plan->p.matmul, HD_ATTR_ROW));
  return check_row(ctx, plan);
}

static hd_plan *add_plan(hd_module *m, hd_plan plan) {
  plan.next = m->plans;
  m->plans = hd_arena_copy(&m->arena, &plan, sizeof plan);
  return m->plans;
}

heddle_status hd_plan_of(heddle_context *ctx, hd_module *m, hd_op *kernel, hd_plan **out) {
  hd_plan read = {0};
  hd_plan *plan = m->plans;
  while (plan && plan->p.kernel != kernel)
    plan = plan->next;
  if (!plan) {
    HD_TRY(hd_problem_read(ctx, kernel, &read.p));
    HD_TRY(m->level == HD_LEVEL_PROBLEM ? read_problem_level(ctx, &read)
                                        : read_tile_level(ctx, &read));
    plan = add_plan(m, read);
  }
  *out = plan;
  return HEDDLE_OK;
}

hd_plan *hd_plan_clone(hd_module *m, const hd_plan *old, hd_op *kernel, const hd_value_map *map) {
  hd_plan *plan = add_plan(m, *old);
  hd_problem *p = &plan->p;
  hd_op **const ops[] = {&p->m.op,       &p->n.op,       &p->k.op,       &p->g.op,       &p->sparse,
                         &p->matmul,     &p->epilogue,   &p->b.op,       &p->c.op,
                         &p->bias.op,    &p->scale_a.op, &p->scale_b.op, &p->block_a.op,
                         &p->block_b.op};
  for (size_t i = 0; i < HD_COUNT(ops); i++)
    if (*ops[i])
      *ops[i] = hd_value_map_get(map, (*ops[i])->results[0])->op;
  p->kernel = kernel;
  p->store = p->d.op = hd_find_op(kernel->regions[0], HD_OP_STORE);
  p->reduced.op = p->reduced.op ? p->store : NULL;
  p->aux.op = p->aux.op ? p->store : NULL;
  plan->work = hd_find_op(kernel->regions[0], HD_OP_WORK);
  return plan;
}

/* ---- the instruction ---- */

const hd_spec_row *hd_plan_row(const hd_problem *p, const hd_schedule *s) {
  int32_t n = hd_schedule_is_wgmma(s) ? s->tile_n : 0;
  return hd_schedule_is_pair(s)
             ? hd_problem_pair_row(p)
             : hd_problem_row(p, s->family, n, s->a_path == HD_A_REG);
}

/* Blocks per load from tensor memory, a power of two. A second matrix is a second epilogue of the
 * same sums. A gathered B needs more warps, which have
 * fewer registers each, and fewer still with elements of C. With 64 columns of a sum in registers,
 * no consecutive registers are left for a wide load. */
static int32_t tensor_blocks(const hd_plan *plan) {
  enum { MAX_BLOCKS = 16 /* 64 registers */ };
  bool has_map = hd_b_path_has_map(plan->s.b_path);
  int32_t blocks = plan->p.block && hd_schedule_shares_tiles(&plan->s) ? MAX_BLOCKS / 8
                   : has_map && !plan->p.aux_of                        ? MAX_BLOCKS
                   : plan->p.c.op                                      ? MAX_BLOCKS / 4
                                                                       : MAX_BLOCKS / 2;
  while (blocks > plan->s.tile_n / 8)
    blocks /= 2;
  return blocks;
}

int32_t hd_plan_store_blocks(const hd_plan *plan) {
  const hd_schedule *s = &plan->s;
  int32_t columns = s->tile_n / s->warps_n / hd_schedule_owners(&plan->p, s);
  return plan->row->family == HD_FAMILY_TCGEN05_SP ? tensor_blocks(plan) : columns / 8;
}

static int32_t registers(const hd_spec_row *row, hd_operand_id operand) {
  const hd_operand *o = &row->operand[operand];
  return o->space == HD_SPACE_REGISTER ? o->n_regs : 0;
}

hd_fragment_registers hd_plan_fragments(const hd_spec_row *row) {
  return (hd_fragment_registers){registers(row, HD_OPERAND_A), registers(row, HD_OPERAND_B),
                                 registers(row, HD_OPERAND_META), registers(row, HD_OPERAND_D)};
}

int32_t hd_plan_swizzle(void) {
  enum { UNIT = 16 };
  int bits = hd_swizzle_for_rows(HD_K_BLOCK_BYTES);
  return bits > 0 ? UNIT << bits : 0;
}
