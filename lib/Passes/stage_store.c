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

/* The attributes of a store of D or, with of_aux, of the second matrix. */
static void set_epilogue(hd_stage *st, hd_op *op, bool of_aux) {
  const hd_problem *p = &st->p;
  hd_module *m = st->module;
  bool input = of_aux && hd_aux_is_input(p);
  hd_op_set_elem(m, op, HD_ATTR_TYPE, of_aux ? p->aux.elem : p->d.elem);
  hd_op_set_str(m, op, HD_ATTR_ORDER, p->d.transposed ? "col_major" : "row_major");
  hd_op_set_str(m, op, HD_ATTR_ACT, input ? "none" : p->act);
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
               {p->scale_d && !of_aux, HD_ATTR_SCALE_D}};
  for (size_t i = 0; i < HD_COUNT(flags); i++)
    if (flags[i].there)
      hd_op_set_flag(m, op, flags[i].key);
  if (p->user && !input)
    hd_op_set_str(m, op, HD_ATTR_USER, p->user);
  if (p->reduce && !of_aux)
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

void hd_stage_set_epilogue(hd_stage *st, hd_op *op) { set_epilogue(st, op, false); }

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

/* A store of a strip from column `col` on to the matrix `to`, without its fragments. */
static hd_op *begin_store(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_arg_kind to,
                          hd_arg_kind pitch, hd_value *strip, hd_value *col) {
  hd_op *op = hd_build_op(b, HD_OP_STORE_TILE, (hd_type){0}, 6, st->arg[to], st->arg[pitch],
                          row_of(b, place, strip), col, st->arg[HD_ARG_M], place->end_n);
  if (place->g)
    hd_op_add_operand(st->module, op, place->g);
  return op;
}

/* The last blocks of a tile in tensor memory may be too few for `quad`. */
static void end_store(hd_stage *st, hd_op *op, hd_store path, hd_value *const *acc,
                      int32_t n_acc) {
  int32_t n_blocks = 0;
  for (int32_t i = 0; i < n_acc; i++) {
    hd_op_add_operand(st->module, op, acc[i]);
    n_blocks += acc[i]->type.n / BLOCK_ELEMS;
  }
  bool no_quad = path == HD_STORE_QUAD && n_blocks < HD_QUAD_BLOCKS;
  hd_op_set_str(st->module, op, HD_ATTR_PATH,
                hd_key_word(HD_KEY_STORE, no_quad ? HD_STORE_DIRECT : path));
}

void hd_stage_store(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                    hd_value *col, hd_value *const *acc, int32_t n_acc) {
  hd_value *factors = factor_slot(st, b, place, strip);
  hd_op *op = begin_store(st, b, place, HD_ARG_D, HD_ARG_LDD, strip, col);
  add_factors(st, place, op, factors);
  end_store(st, op, st->s.store, acc, n_acc);
  hd_stage_set_epilogue(st, op);
}

/* A staged D has a tensor map; aux is always written from registers. */
void hd_stage_store_aux(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                        hd_value *col, hd_value *const *acc, int32_t n_acc) {
  if (!st->p.aux_of)
    return;
  hd_value *slot = hd_stage_column_slot(st, b, place);
  hd_op *op = begin_store(st, b, place, HD_ARG_AUX, HD_ARG_LDAUX, strip, col);
  hd_stage_add_scales(st, place, op, slot);
  end_store(st, op, st->s.store == HD_STORE_STAGED ? HD_STORE_QUAD : st->s.store, acc, n_acc);
  set_epilogue(st, op, true);
  hd_op_set_str(st->module, op, HD_ATTR_AUX, st->p.aux_of);
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
