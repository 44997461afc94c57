#include "Passes/arith.h"
#include "Passes/stage.h"

enum { BLOCK_ELEMS = 4 /* elements per lane of a block of 8 columns */ };

int32_t hd_stage_word(const hd_stage *st, int32_t step) {
  return st->row->n_selectors > 1 ? 0 : step;
}

int32_t hd_stage_selector(const hd_stage *st, int32_t step) {
  return st->row->n_selectors > 1 ? step : 0;
}

hd_type hd_stage_fragment(const hd_stage *st, hd_operand_id operand) {
  const hd_operand *o = &st->row->operand[operand];
  const hd_fragment_registers *f = &st->plan->fragments;
  int32_t registers = operand == HD_OPERAND_A      ? f->a
                      : operand == HD_OPERAND_B    ? f->b
                      : operand == HD_OPERAND_META ? f->metadata
                      : operand == HD_OPERAND_D    ? f->accumulators
                                                   : o->n_regs;
  if (operand == HD_OPERAND_META)
    return hd_type_frag(HEDDLE_S32, registers);
  return hd_type_frag(o->elem, registers * 32 / heddle_elem_get(o->elem)->container_bits);
}

void hd_stage_set_epilogue(hd_stage *st, hd_op *op) {
  const hd_problem *p = &st->p;
  hd_module *m = st->module;
  hd_op_set_elem(m, op, HD_ATTR_TYPE, p->d.elem);
  hd_op_set_str(m, op, HD_ATTR_ORDER, p->d.transposed ? "col_major" : "row_major");
  hd_op_set_str(m, op, HD_ATTR_ACT, p->act);
  const struct {
    bool there;
    hd_attr_key key;
  } flags[] = {{p->alpha, HD_ATTR_ALPHA},
               {p->beta, HD_ATTR_BETA},
               {p->c.op != NULL, HD_ATTR_C},
               {p->bias.op != NULL, HD_ATTR_BIAS},
               {p->scale_a.op != NULL, HD_ATTR_SCALE_A},
               {p->scale_b.op != NULL, HD_ATTR_SCALE_B},
               {p->scale_a.op && p->scale_a.one, HD_ATTR_SCALE_A_ONE},
               {p->scale_b.op && p->scale_b.one, HD_ATTR_SCALE_B_ONE},
               {p->scatter != NULL, HD_ATTR_SCATTER_D},
               {p->scale_d, HD_ATTR_SCALE_D}};
  for (size_t i = 0; i < HD_COUNT(flags); i++)
    if (flags[i].there)
      hd_op_set_flag(m, op, flags[i].key);
  if (p->user)
    hd_op_set_str(m, op, HD_ATTR_USER, p->user);
  if (p->reduce)
    hd_op_set_str(m, op, HD_ATTR_REDUCE, p->reduce);
  if (p->statistic)
    hd_op_set_str(m, op, HD_ATTR_STATISTIC, p->statistic);
  if (p->c.op) {
    hd_op_set_elem(m, op, HD_ATTR_C_TYPE, p->c.elem);
    hd_op_set_str(m, op, HD_ATTR_C_ORDER, p->c.transposed ? "col_major" : "row_major");
  }
  if (p->bias.op) {
    hd_op_set_elem(m, op, HD_ATTR_BIAS_TYPE, p->bias.elem);
    hd_op_set_str(m, op, HD_ATTR_BIAS_ALONG, p->bias_along_n ? "n" : "m");
  }
}

hd_value *hd_stage_cell(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *block) {
  if (!place->across)
    return block;
  hd_value *first = hd_arith_const(b, HD_OP_MUL, block, st->slots.across);
  return hd_arith(b, HD_OP_ADD, first, place->across);
}

/* The slots of factors follow those of statistics (stage_reduce.c): one slot per cell. Without
 * statistics of D the factors are scales of B's columns. */
static hd_value *factor_slot(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                             hd_value *strip) {
  if (!st->sr)
    return hd_stage_column_slot(st, b, place);
  if (!st->p.scale_d)
    return NULL;
  hd_value *block = hd_arith_const(b, HD_OP_DIV, strip, hd_reduce_rows(&st->p) / HD_STRIP_ROWS);
  return hd_arith_const(b, HD_OP_ADD, hd_stage_cell(st, b, place, block),
                        st->slots.blocks * st->slots.across * st->slots.rows);
}

/* Results of finish.tile are only converted, and multiplied by the factors of their rows. */
static void add_factors(hd_stage *st, const hd_tile_place *place, hd_op *op, hd_value *slot) {
  if (!st->sr)
    return hd_stage_add_scales(st, place, op, slot);
  hd_op_set_flag(st->module, op, HD_ATTR_FINISHED);
  if (!slot)
    return;
  hd_op_add_operand(st->module, op, st->sr);
  hd_op_add_operand(st->module, op, slot);
}

static hd_value *row_of(hd_builder *b, const hd_tile_place *place, hd_value *strip) {
  return hd_arith(b, HD_OP_ADD, place->row0, hd_arith_const(b, HD_OP_MUL, strip, HD_STRIP_ROWS));
}

void hd_stage_store(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                    hd_value *col, hd_value *const *acc, int32_t n_acc) {
  hd_value *row = row_of(b, place, strip), *factors = factor_slot(st, b, place, strip);
  hd_op *op = hd_build_op(b, HD_OP_STORE_TILE, (hd_type){0}, 6, st->arg[HD_ARG_D],
                          st->arg[HD_ARG_LDD], row, col, st->arg[HD_ARG_M], place->end_n);
  int32_t n_blocks = 0;
  if (place->g)
    hd_op_add_operand(st->module, op, place->g);
  add_factors(st, place, op, factors);
  for (int32_t i = 0; i < n_acc; i++) {
    hd_op_add_operand(st->module, op, acc[i]);
    n_blocks += acc[i]->type.n / BLOCK_ELEMS;
  }
  /* The plan's path, but the last blocks of a tile in tensor memory may be too few for `quad`. */
  bool no_quad = st->s.store == HD_STORE_QUAD && n_blocks < HD_QUAD_BLOCKS;
  hd_op_set_str(st->module, op, HD_ATTR_PATH,
                hd_key_word(HD_KEY_STORE, no_quad ? HD_STORE_DIRECT : st->s.store));
  hd_stage_set_epilogue(st, op);
}

void hd_stage_store_staged(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                           int32_t nth, hd_value *strip, hd_value *acc) {
  const hd_store_slot *slot = &st->slot;
  int32_t n_slices = st->own_n / slot->cols;
  hd_value *first = hd_arith_const(b, HD_OP_MUL, warp, slot->each);
  hd_value *row = row_of(b, place, strip);
  hd_value *row_of_d = st->p.pair ? hd_arith_const(b, HD_OP_DIV, row, 2) : row;
  hd_value *factors = factor_slot(st, b, place, strip);
  for (int32_t i = 0; i < n_slices; i++) {
    hd_value *own = hd_arith_const(b, HD_OP_ADD, first, (nth * n_slices + i) % slot->each);
    hd_value *col = hd_arith_const(b, HD_OP_ADD, place->col0, i * slot->cols);
    hd_op *fill = hd_build_op(b, HD_OP_STAGE_TILE, (hd_type){0}, 6, st->sd, own, row, col,
                              st->arg[HD_ARG_M], place->end_n);
    if (place->g)
      hd_op_add_operand(st->module, fill, place->g);
    add_factors(st, place, fill, factors);
    hd_op_add_operand(st->module, fill, acc);
    hd_op_set_int(st->module, fill, HD_ATTR_OFFSET, i * slot->cols);
    hd_stage_set_epilogue(st, fill);
    hd_value *across = st->p.d.transposed ? row_of_d : col;
    hd_value *down = st->p.d.transposed ? col : row_of_d;
    hd_op *out =
        hd_build_op(b, HD_OP_COPY_OUT, (hd_type){0}, 5, st->map_d, st->sd, own, across, down);
    if (place->g)
      hd_op_add_operand(st->module, out, st->groups ? place->end_n : place->g);
  }
}
