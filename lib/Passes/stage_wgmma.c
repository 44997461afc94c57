#include <string.h>

#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Passes/stage.h"

enum { MAX_SLABS = 8 };

/* Strips of 16 rows that this warp owns: slab (warpgroup * slabs_each + i), quarter warp % 4. */
typedef struct warp_rows {
  int32_t slabs_each;
  hd_value *warp, *slab[MAX_SLABS], *strip[MAX_SLABS];
} warp_rows;

static void find_rows(hd_stage *st, hd_builder *b, warp_rows *rows) {
  int32_t groups = st->s.warps_m / 4;
  rows->slabs_each = st->s.tile_m / HD_SLAB_ROWS / groups;
  rows->warp = hd_build_value(b, HD_OP_WARP_INDEX, HD_I32, 0);
  hd_value *four = hd_i32(b, 4);
  hd_value *group = hd_arith(b, HD_OP_DIV, rows->warp, four);
  hd_value *quarter = hd_arith(b, HD_OP_REM, rows->warp, four);
  hd_value *first =
      hd_arith_const(b, HD_OP_MUL, group, rows->slabs_each);
  for (int32_t i = 0; i < rows->slabs_each; i++) {
    rows->slab[i] = hd_arith_const(b, HD_OP_ADD, first, i);
    hd_value *strip = hd_arith(b, HD_OP_MUL, rows->slab[i], four);
    rows->strip[i] = hd_arith(b, HD_OP_ADD, strip, quarter);
  }
}

static hd_value *load(hd_stage *st, hd_builder *b, hd_op_kind kind, hd_type type,
                      hd_value *cursor, hd_value *strip, int32_t index) {
  hd_op *op = hd_build_op(b, kind, type, 3, st->sa, cursor, strip);
  if (kind == HD_OP_LOAD_A)
    hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
  hd_op_set_int(st->module, op, kind == HD_OP_LOAD_A ? HD_ATTR_STEP : HD_ATTR_WORD, index);
  return op->results[0];
}

static hd_value *mma(hd_stage *st, hd_builder *b, hd_value *acc, hd_value *a, hd_value *slab,
                     hd_value *cursor, hd_value *meta, hd_value *scale_d, hd_value *columns,
                     int32_t step) {
  hd_value *registers[] = {acc, a, st->sb, cursor, meta, scale_d};
  hd_value *descriptor[] = {acc, st->sa, cursor, slab, st->sb, meta, scale_d};
  hd_op *op = a ? hd_build(b, HD_OP_WGMMA_RS, registers, 6, &acc->type, 1)
                : hd_build(b, HD_OP_WGMMA_SS, descriptor, 7, &acc->type, 1);
  hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
  hd_op_set_int(st->module, op, HD_ATTR_SELECTOR, hd_stage_selector(st, step));
  hd_op_set_int(st->module, op, HD_ATTR_STEP, step);
  if (columns)
    hd_op_add_operand(st->module, op, columns);
  if (st->p.b.transposed)
    hd_op_set_flag(st->module, op, HD_ATTR_TRANS);
  return op->results[0];
}

/* Computes one stage: loads metadata (and A's fragments), then issues the batch. Updates acc. */
static void compute(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                    const warp_rows *rows, hd_value *k, hd_value *cursor, hd_value **acc) {
  hd_value *word[MAX_SLABS][4], *a[MAX_SLABS][4];
  bool from_registers = st->row->a_in_registers;
  for (int32_t i = 0; i < rows->slabs_each; i++)
    for (int32_t step = 0; step < st->steps; step++) {
      int32_t w = hd_stage_word(st, step);
      word[i][step] = step && w == hd_stage_word(st, step - 1)
                          ? word[i][step - 1]
                          : load(st, b, HD_OP_LOAD_META, hd_stage_fragment(st, HD_OPERAND_META),
                                 cursor, rows->strip[i], w);
      a[i][step] = from_registers ? load(st, b, HD_OP_LOAD_A, hd_stage_fragment(st, HD_OPERAND_A),
                                         cursor, rows->strip[i], step)
                                  : NULL;
    }
  hd_value *more =
      hd_scales_promoted(&st->p) ? hd_build_i1(b, false) : hd_build_cmp(b, "ne", k, place->k_lo);
  hd_value *yes = hd_build_i1(b, true);
  bool by_slab = hd_scales_promoted(&st->p); /* one is promoted while the next ones multiply */
  int32_t n = rows->slabs_each;
  for (int32_t at = 0; at < n * st->steps; at++) {
    int32_t i = by_slab ? at / st->steps : at % n, step = by_slab ? at % st->steps : at / n;
    acc[i] = mma(st, b, acc[i], a[i][step], rows->slab[i], cursor, word[i][step],
                 step ? yes : more, place->columns, step);
  }
}

/* A warp's first row, counted from the first scale of A in the slot. */
static hd_value *first_row(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                           const warp_rows *rows) {
  hd_value *row = hd_arith_const(b, HD_OP_MUL, rows->strip[0], HD_STRIP_ROWS);
  int32_t unit = HD_SCALE_UNIT * st->p.block_rows;
  if (st->p.block_rows == 1 || st->s.tile_m % unit == 0)
    return row;
  hd_value *inside = hd_arith(b, HD_OP_REM, place->row0, hd_i32(b, unit));
  return hd_arith(b, HD_OP_ADD, row, inside); /* the box begins before the tile */
}

/* Adds the scaled results of a stage to the sums, each slab's by an op of its own; updates sums and
 * acc. The rows are computed before the batch, so that scales can be read before it. */
static void promote(hd_stage *st, hd_builder *b, const warp_rows *rows, hd_value *cursor,
                    hd_value *const *row, hd_value *column, hd_value **sums, hd_value **acc) {
  for (int32_t i = 0; i < rows->slabs_each; i++) {
    hd_value *operands[] = {st->scales[0], st->scales[1], cursor, row[i], column, sums[i], acc[i]};
    hd_type types[] = {sums[i]->type, acc[i]->type};
    hd_op *op = hd_build(b, HD_OP_PROMOTE, operands, 7, types, 2);
    hd_op_set_int(st->module, op, HD_ATTR_ROWS, st->p.block_rows);
    if (st->variant->permutes)
      hd_op_set_int(st->module, op, HD_ATTR_RUN, hd_d_run(&st->p));
    sums[i] = op->results[0];
    acc[i] = op->results[1];
  }
}

/* for k: copy the stage, compute the stage. Carries the cursor, with promotion the sums, and the
 * accumulators. */
static hd_op *stage_loop(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                         const warp_rows *rows, hd_value *cursor) {
  hd_value *carried[2 * MAX_SLABS + 1] = {cursor};
  int32_t n_sums = hd_scales_promoted(&st->p) ? rows->slabs_each : 0;
  int32_t n = n_sums + rows->slabs_each;
  for (int32_t i = 0; i < n; i++)
    carried[i + 1] = hd_build_value(b, i < n_sums ? HD_OP_FRAG_ZERO : HD_OP_FRAG_UNDEF,
                                    hd_stage_fragment(st, HD_OPERAND_D), 0);
  hd_op *loop = hd_build_for(b, place->k_lo, place->k_hi, st->one, carried, n + 1);
  if (st->s.wgmma_in_flight)
    hd_op_set_int(st->module, loop, HD_ATTR_UNROLL, 2);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args, *values[2 * MAX_SLABS], **acc = values + n_sums;
  memcpy(values, args + 2, sizeof *values * (size_t)n);
  hd_stage_copy(st, &in, place, args[0], args[1]);
  hd_value *row[MAX_SLABS];
  row[0] = n_sums ? first_row(st, &in, place, rows) : NULL;
  for (int32_t i = 1; i < n_sums; i++)
    row[i] = hd_arith_const(&in, HD_OP_ADD, row[0], i * HD_SLAB_ROWS);
  hd_value *column = n_sums ? hd_stage_scale_column(st, &in, place) : NULL;
  compute(st, &in, place, rows, args[0], args[1], acc);
  if (n_sums)
    promote(st, &in, rows, args[1], row, column, values, acc);
  carried[0] = hd_next_slot(&in, args[1], st->s.stages);
  memcpy(carried + 1, values, sizeof *values * (size_t)n);
  hd_build_yield(&in, carried, n + 1);
  return loop;
}

/* A statistic needs all rows of a column: all strips are finished before the first is stored. */
static void store_strips(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                         const hd_stage_strips *strips, hd_value *const *acc) {
  hd_value *results[MAX_SLABS];
  memcpy(results, acc, sizeof *acc * (size_t)strips->n);
  for (int32_t i = 0; st->sr && i < strips->n; i++)
    hd_stage_store_aux(st, b, place, strips->strip[i], place->col0, &acc[i], 1);
  if (st->sr) {
    hd_stage_finish(st, b, place, strips, place->col0, 1, acc, results);
    hd_stage_parts(st, b, place, strips, results);
    hd_stage_statistics(st, b, place);
  }
  for (int32_t i = 0; i < strips->n; i++) {
    if (!st->sr)
      hd_stage_store_aux(st, b, place, strips->strip[i], place->col0, &acc[i], 1);
    if (st->sd)
      hd_stage_store_staged(st, b, place, strips->warp, i, strips->strip[i], results[i]);
    else
      hd_stage_store(st, b, place, strips->strip[i], place->col0, &results[i], 1);
  }
}

void hd_stage_wgmma(hd_stage *st) {
  hd_builder b = hd_stage_begin_role(st, st->s.warps_m), in;
  warp_rows rows;
  find_rows(st, &b, &rows);
  hd_value *cursor = hd_first_slot(&b, st->s.stages);
  hd_stage_prefetch(st, &b, cursor);
  hd_tile_place place;
  hd_op *tiles = hd_stage_tiles(st, &b, &cursor, 1, &in, &place);
  hd_stage_columns(st, &in, &place, rows.warp);
  hd_op *loop = stage_loop(st, &in, &place, &rows, tiles->regions[0]->args[1]);
  hd_value *acc[MAX_SLABS];
  memcpy(acc, loop->results + 1, sizeof *acc * (size_t)rows.slabs_each);
  hd_stage_strips strips = {rows.warp, rows.strip, rows.slabs_each};
  if (st->along_k > 1) {
    hd_stage_exchange(st, &in, &place, &strips, acc, store_strips);
  } else {
    hd_stage_reduce(st, &in, &place, rows.warp, acc, rows.slabs_each);
    store_strips(st, &in, &place, &strips, acc);
  }
  hd_builder end = hd_builder_at_end(st->module, tiles->regions[0]);
  hd_build_yield(&end, &loop->results[0], 1);
}
