#include <string.h>

#include "IR/shared_layout.h"
#include "Passes/arith.h"
#include "Schedule/resources.h"
#include "Passes/stage.h"

/* ORDER ARGS: by hd_stage_arg. */
static const struct stage_arg {
  const char *name;
  hd_type_kind kind;
} stage_args[] = {
    {"a", HD_TYPE_PTR},       {"b", HD_TYPE_PTR},       {"b", HD_TYPE_TMAP},
    {"d", HD_TYPE_PTR},       {"d", HD_TYPE_TMAP},      {"c", HD_TYPE_PTR},
    {"bias", HD_TYPE_PTR},    {"scale_a", HD_TYPE_PTR}, {"scale_b", HD_TYPE_PTR},
    {"block_scale_a", HD_TYPE_PTR}, {"block_scale_b", HD_TYPE_PTR},
    {"user", HD_TYPE_PTR},    {"workspace", HD_TYPE_PTR}, {"m", HD_TYPE_I32},
    {"n", HD_TYPE_I32},       {"k", HD_TYPE_I32},       {"ldb", HD_TYPE_I64},
    {"ldc", HD_TYPE_I64},     {"ldd", HD_TYPE_I64},     {"ldsa", HD_TYPE_I64},
    {"ldsb", HD_TYPE_I64},    {"alpha", HD_TYPE_F32},   {"beta", HD_TYPE_F32},
    {"g", HD_TYPE_I32},       {"stride_a", HD_TYPE_I64},    {"stride_b", HD_TYPE_I64},
    {"stride_c", HD_TYPE_I64}, {"stride_d", HD_TYPE_I64},   {"stride_bias", HD_TYPE_I64},
    {"stride_scale_a", HD_TYPE_I64}, {"stride_scale_b", HD_TYPE_I64},
};
_Static_assert(HD_COUNT(stage_args) == HD_N_STAGE_ARGS, "ORDER ARGS");

/* A pitch of rows whose length a launch says stays a parameter, and the launcher's to compare with
 * it: the check runs launches of all lengths. */
static int64_t fixed_pitch(const hd_dense *x, const hd_size *row) {
  return row->value ? x->ld : 0;
}

/* Constants stand for what the problem fixes; of C's pitch and of strides of a batch the store asks
 * for the parameters. */
static int64_t fixed_value(const hd_problem *p, hd_stage_arg which) {
  switch (which) {
  case HD_STAGE_M:
    return p->m.value;
  case HD_STAGE_N:
    return p->n.value;
  case HD_STAGE_K:
    return p->k.value;
  case HD_STAGE_LDB:
    return fixed_pitch(&p->b, p->b.transposed ? &p->n : &p->k);
  case HD_STAGE_LDD:
    return fixed_pitch(&p->d, p->d.transposed ? &p->m : &p->n);
  case HD_STAGE_G:
    return p->g.value;
  case HD_STAGE_LDSA:
    return fixed_pitch(&p->block_a, &p->m);
  case HD_STAGE_LDSB:
    return fixed_pitch(&p->block_b, &p->n);
  default:
    return 0;
  }
}

static bool is_needed(const hd_stage *st, hd_stage_arg which) {
  bool tma = st->variant->path == HD_B_TMA;
  switch (which) {
  case HD_STAGE_B:
  case HD_STAGE_LDB:
    return !tma;
  case HD_STAGE_TMAP_B:
    return tma;
  case HD_STAGE_D:
  case HD_STAGE_LDD:
    return !st->variant->staged;
  case HD_STAGE_TMAP_D:
    return st->variant->staged;
  case HD_STAGE_C:
  case HD_STAGE_LDC:
    return st->p.c.op != NULL;
  case HD_STAGE_BIAS:
    return st->p.bias.op != NULL;
  case HD_STAGE_SCALE_A:
    return st->p.scale_a.op != NULL;
  case HD_STAGE_SCALE_B:
    return st->p.scale_b.op != NULL;
  case HD_STAGE_BLOCK_SCALE_A:
  case HD_STAGE_BLOCK_SCALE_B:
    return st->p.block != 0;
  case HD_STAGE_LDSA:
  case HD_STAGE_LDSB:
    return st->p.block && !hd_scales_in_tiles(&st->p);
  case HD_STAGE_USER:
    return st->p.user != NULL;
  case HD_STAGE_WORKSPACE:
    return st->s.split_k > st->along_k || st->s.stream_k;
  case HD_STAGE_ALPHA:
    return st->p.alpha;
  case HD_STAGE_BETA:
    return st->p.beta;
  case HD_STAGE_G:
    return hd_is_batch(&st->p);
  case HD_STAGE_STRIDE_A:
    return hd_is_batch(&st->p) && !st->p.a_shared;
  case HD_STAGE_STRIDE_B:
    return hd_has_stride(&st->p, &st->p.b);
  case HD_STAGE_STRIDE_C:
    return hd_has_stride(&st->p, &st->p.c);
  case HD_STAGE_STRIDE_D:
    return hd_is_batch(&st->p) && !st->variant->staged;
  case HD_STAGE_STRIDE_BIAS:
    return hd_has_stride(&st->p, &st->p.bias);
  case HD_STAGE_STRIDE_SCALE_A:
    return hd_has_stride(&st->p, &st->p.scale_a);
  case HD_STAGE_STRIDE_SCALE_B:
    return hd_has_stride(&st->p, &st->p.scale_b);
  default:
    return true;
  }
}

static heddle_elem pointee(const hd_stage *st, hd_stage_arg which) {
  switch (which) {
  case HD_STAGE_A:
    return st->p.a_elem;
  case HD_STAGE_B:
    return st->p.b.elem;
  case HD_STAGE_C:
    return st->p.c.elem;
  case HD_STAGE_BIAS:
    return st->p.bias.elem;
  case HD_STAGE_SCALE_A:
    return st->p.scale_a.elem;
  case HD_STAGE_SCALE_B:
    return st->p.scale_b.elem;
  case HD_STAGE_BLOCK_SCALE_A:
    return st->p.block_a.elem;
  case HD_STAGE_BLOCK_SCALE_B:
    return st->p.block_b.elem;
  case HD_STAGE_D:
    return st->p.d.elem;
  default:
    return HEDDLE_U8;
  }
}

/* `rows` of B in run order: a dimension for each digit of a place. */
static void set_permuted(hd_stage *st, hd_op *op, int32_t bytes, int64_t rows) {
  enum { MOST = 5 };
  hd_arena *arena = &st->module->arena;
  hd_layout order = hd_layout_run_order((uint32_t)hd_d_run(&st->p), (uint32_t)rows);
  const char *dims[MOST] = {"k"}, *strides[MOST] = {""};
  int64_t box[MOST] = {HD_K_BLOCK_BYTES / bytes}, step[MOST] = {0};
  int32_t rank = 1, group = 1 << order.in[0].bits;
  for (unsigned bit = 0; bit < order.in[0].bits; bit++) {
    bool grows = rank > 1 && order.column[bit] == step[rank - 1] * box[rank - 1];
    rank += !grows;
    step[rank - 1] = grows ? step[rank - 1] : order.column[bit];
    box[rank - 1] = grows ? 2 * box[rank - 1] : 2;
  }
  step[rank] = group;
  box[rank++] = rows / group;
  for (int32_t i = 1; i < rank; i++) {
    dims[i] = i < rank - 1 ? hd_arena_printf(arena, "%d", (int)box[i])
                           : hd_arena_printf(arena, "n/%d", group);
    strides[i] = hd_arena_printf(arena, "ldb*%d", (int)step[i] * bytes);
  }
  hd_op_set_strings(st->module, op, HD_ATTR_DIMS, dims, rank);
  hd_op_set_strings(st->module, op, HD_ATTR_STRIDES, strides, rank);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, box, rank);
}

/* The map of a stored matrix: the names of its sizes, the contiguous one first; of a batch its g
 * last. Pairs of 4-bit elements are bytes. */
static void set_plane(hd_stage *st, hd_op *op, const char *const dims[2], int64_t line,
                      int64_t lines, bool is_batch) {
  hd_arena *arena = &st->module->arena;
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE);
  const char *arg = hd_op_str(op, HD_ATTR_ARG);
  int32_t rank = is_batch ? 3 : 2;
  const char *sizes[] = {dims[0], dims[1], "g"};
  const char *strides[] = {"", hd_arena_printf(arena, "ld%s*%d", arg, hd_map_bytes(elem)),
                           hd_arena_printf(arena, "stride_%s*%d", arg, hd_map_bytes(elem))};
  if (hd_elems_per_byte(elem) > 1) {
    sizes[0] = hd_arena_printf(arena, "%s/2", dims[0]);
    strides[1] = hd_arena_printf(arena, "ld%s/2", arg);
    strides[2] = hd_arena_printf(arena, "stride_%s/2", arg);
    hd_op_set_elem(st->module, op, HD_ATTR_TYPE, HEDDLE_U8);
  }
  hd_op_set_strings(st->module, op, HD_ATTR_DIMS, sizes, rank);
  hd_op_set_strings(st->module, op, HD_ATTR_STRIDES, strides, rank);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, (int64_t[]){line, lines, 1}, rank);
}

/* B's box: a range of columns, or one panel when transposed. */
static void set_box(hd_stage *st, hd_op *op) {
  static const char *const k_major[] = {"k", "n"}, *const mn_major[] = {"n", "k"};
  int32_t bytes = hd_map_bytes(st->p.b.elem);
  int64_t rows = st->plan->b_box, line = HD_K_BLOCK_BYTES / bytes;
  bool is_batch = hd_has_stride(&st->p, &st->p.b);
  if (st->variant->permutes)
    set_permuted(st, op, bytes, rows);
  else if (st->p.b.transposed)
    set_plane(st, op, mn_major, line, st->s.tile_k, is_batch);
  else
    set_plane(st, op, k_major, line, rows, is_batch);
}

static void set_slot(hd_stage *st, hd_op *op) {
  const char *m = st->p.pair ? "m/2" : "m";
  if (st->p.d.transposed)
    set_plane(st, op, (const char *[]){m, "n"}, st->slot.rows, st->slot.cols, hd_is_batch(&st->p));
  else
    set_plane(st, op, (const char *[]){"n", m}, st->slot.cols, st->slot.rows, hd_is_batch(&st->p));
}

static hd_value *declare_tmap(hd_stage *st, const char *arg, heddle_elem elem, int32_t swizzle,
                              void (*set)(hd_stage *st, hd_op *op)) {
  hd_op *op = hd_build_op(&st->b, HD_OP_TMAP, HD_TMAP, 0);
  hd_op_set_str(st->module, op, HD_ATTR_ARG, arg);
  hd_op_set_elem(st->module, op, HD_ATTR_TYPE, elem);
  set(st, op);
  hd_op_set_int(st->module, op, HD_ATTR_SWIZZLE, swizzle);
  return op->results[0];
}

/* Slots for each tile of a cluster, idle ones counted; with stream_k for each of its parts. */
static void set_workspace(hd_stage *st, hd_op *op) {
  int64_t tile[] = {(int64_t)st->s.tile_m * st->cluster, st->s.tile_n};
  hd_op_set_ints(st->module, op, HD_ATTR_TILE, tile, 2);
  hd_op_set_int(st->module, op, HD_ATTR_BYTES,
                st->cluster * st->s.split_k * hd_stage_slot_bytes(st));
  if (st->s.stream_k)
    hd_op_set_flag(st->module, op, HD_ATTR_STREAM_K);
}

static hd_value *declare_arg(hd_stage *st, hd_stage_arg which) {
  const struct stage_arg *row = &stage_args[which];
  int64_t value = fixed_value(&st->p, which);
  if (row->kind == HD_TYPE_TMAP)
    return which == HD_STAGE_TMAP_B
               ? declare_tmap(st, row->name, st->p.b.elem, st->plan->swizzle, set_box)
               : declare_tmap(st, row->name, st->p.d.elem, st->slot.swizzle, set_slot);
  if (value)
    return row->kind == HD_TYPE_I32 ? hd_i32(&st->b, value) : hd_i64(&st->b, value);
  hd_type type = {.kind = row->kind};
  if (row->kind == HD_TYPE_PTR)
    type = hd_type_ptr(pointee(st, which));
  hd_op *op = hd_build_op(&st->b, HD_OP_ARG, type, 0);
  hd_op_set_str(st->module, op, HD_ATTR_ARG, row->name);
  if (row->kind == HD_TYPE_PTR)
    hd_op_set_elem(st->module, op, HD_ATTR_TYPE, type.elem);
  if (which == HD_STAGE_WORKSPACE)
    set_workspace(st, op);
  return op->results[0];
}

static hd_op *declare_buffer(hd_stage *st, const char *name, int64_t bytes, int64_t align,
                             const char *layout, heddle_elem elem, int32_t stages) {
  hd_op *op = hd_build_op(&st->b, HD_OP_BUFFER, HD_BUFFER, 0);
  hd_op_set_str(st->module, op, HD_ATTR_NAME, name);
  hd_op_set_str(st->module, op, HD_ATTR_SPACE, "shared");
  hd_op_set_int(st->module, op, HD_ATTR_BYTES, bytes);
  hd_op_set_int(st->module, op, HD_ATTR_STAGES, stages);
  hd_op_set_int(st->module, op, HD_ATTR_ALIGN, align);
  hd_op_set_str(st->module, op, HD_ATTR_LAYOUT, layout);
  hd_op_set_elem(st->module, op, HD_ATTR_TYPE, elem);
  return op;
}

/* Slots of D: each warp's own, one behind the other. */
static void declare_slots(hd_stage *st) {
  const hd_store_slot *slot = &st->slot;
  enum { ATOM = 1024 };
  if (!slot->cols)
    return;
  hd_op *d = declare_buffer(st, "d", slot->bytes, slot->bytes < ATOM ? slot->bytes : ATOM, "box",
                            st->p.d.elem, slot->each * st->s.warps_m);
  hd_op_set_int(st->module, d, HD_ATTR_PANEL, slot->line_bytes);
  hd_op_set_int(st->module, d, HD_ATTR_SWIZZLE, slot->swizzle);
  st->sd = d->results[0];
}

/* Of each operand a row's scales of the k-block, row after row; or in tiles, which tensor memory
 * holds once for each 32 lanes. */
static void declare_scales(hd_stage *st) {
  static const char *const names[] = {"scale_a", "scale_b"}, *const in_tensor[] = {"tscale_a",
                                                                                   "tscale_b"};
  const hd_dense *scales[] = {&st->p.block_a, &st->p.block_b};
  const int32_t rows[] = {st->s.tile_m, st->s.tile_n};
  bool tensor = hd_schedule_is_tensor(&st->s);
  for (int i = 0; st->p.block && i < 2; i++) {
    int64_t bytes = hd_schedule_scale_bytes(&st->p, &st->s, rows[i]);
    st->scales[i] = declare_buffer(st, names[i], bytes, HD_SCALE_ALIGN, "linear", scales[i]->elem,
                                   st->s.stages)->results[0];
    if (!tensor)
      continue;
    hd_op *op = declare_buffer(st, in_tensor[i], bytes * HD_SCALE_TILE_COPIES,
                               HD_TENSOR_COLUMN_BYTES, "linear", scales[i]->elem, st->s.stages);
    hd_op_set_str(st->module, op, HD_ATTR_SPACE, "tmem");
    st->factors[i] = op->results[0];
  }
}

/* A slot for what each other split sends. */
static void declare_partials(hd_stage *st) {
  if (st->along_k == 1)
    return;
  hd_op *sums = declare_buffer(st, "partials", hd_stage_own_bytes(st), 128, "linear",
                               st->p.acc_elem, st->along_k - 1);
  if (hd_schedule_over_ring(&st->s))
    hd_op_add_operand(st->module, sums, st->sb);
  st->partials = sums->results[0];
}

/* In tensor memory: accumulators, and the metadata of each stage. */
static void declare_tensor(hd_stage *st) {
  int32_t columns = 2 * hd_block_meta_words(st->p.a_elem);
  hd_op *sums = declare_buffer(st, "sums", (int64_t)st->s.tile_n * HD_TENSOR_COLUMN_BYTES,
                               HD_TENSOR_COLUMN_BYTES, "linear", st->p.acc_elem,
                               hd_schedule_sum_slots(&st->p, &st->s));
  hd_op *meta = declare_buffer(st, "meta", (int64_t)columns * HD_TENSOR_COLUMN_BYTES,
                               HD_TENSOR_COLUMN_BYTES, "linear", HEDDLE_S32, st->s.stages);
  hd_op_set_str(st->module, sums, HD_ATTR_SPACE, "tmem");
  hd_op_set_str(st->module, meta, HD_ATTR_SPACE, "tmem");
  st->sums = sums->results[0];
  st->meta = meta->results[0];
}

static void declare_buffers(hd_stage *st) {
  int64_t block = hd_block_bytes(st->p.a_elem);
  int64_t rows = st->p.b.transposed ? st->s.tile_k : st->b_n;
  /* D and B first: their atoms need the larger alignment. B and A together: the ring. */
  declare_slots(st);
  hd_op *b = declare_buffer(st, "b", (int64_t)st->b_n * HD_K_BLOCK_BYTES, 1024, "rows",
                            st->p.b.elem, st->s.stages);
  hd_op_set_int(st->module, b, HD_ATTR_ROWS, rows);
  hd_op_set_int(st->module, b, HD_ATTR_PANEL, HD_K_BLOCK_BYTES);
  if (st->variant->permutes)
    hd_op_set_int(st->module, b, HD_ATTR_RUN, hd_d_run(&st->p));
  hd_op_set_int(st->module, b, HD_ATTR_SWIZZLE, st->plan->swizzle);
  hd_op *a = declare_buffer(st, "a", st->s.tile_m / HD_SLAB_ROWS * block, 128, "packed_a",
                            st->p.a_elem, st->s.stages);
  hd_op_set_int(st->module, a, HD_ATTR_SLAB_BYTES, block);
  hd_op_set_int(st->module, a, HD_ATTR_META_OFFSET, HD_BLOCK_VALUE_BYTES);
  if (hd_schedule_is_tensor(&st->s)) {
    hd_op_set_flag(st->module, a, HD_ATTR_BY_STEP);
    declare_tensor(st);
  }
  st->sa = a->results[0];
  st->sb = b->results[0];
  declare_scales(st);
  declare_partials(st);
}

/* ceil(x / unit) */
static hd_value *ceil_div(hd_builder *b, hd_value *x, int64_t unit) {
  hd_value *up = hd_arith_const(b, HD_OP_ADD, x, unit - 1);
  return hd_arith_const(b, HD_OP_DIV, up, unit);
}

/* Where block scales come in tiles: how many along k, of whole k-blocks, and the last 128 rows. */
static void find_scale_tiles(hd_stage *st) {
  static const hd_stage_arg size[] = {HD_STAGE_M, HD_STAGE_N};
  hd_builder *b = &st->b;
  if (!st->factors[0])
    return;
  hd_value *scales = hd_arith_const(b, HD_OP_MUL, st->n_k_blocks, hd_scales_a_row(&st->p));
  st->n_scale_tiles = ceil_div(b, scales, HD_SCALES_A_WORD);
  for (int i = 0; i < 2; i++) {
    hd_value *bands = ceil_div(b, st->arg[size[i]], HD_SCALE_TILE_ROWS);
    st->last_band[i] = hd_arith(b, HD_OP_SUB, bands, st->one);
  }
}

void hd_stage_declare(hd_stage *st) {
  hd_builder *b = &st->b;
  for (hd_stage_arg i = 0; i < HD_N_STAGE_ARGS; i++)
    st->arg[i] = is_needed(st, i) ? declare_arg(st, i) : NULL;
  declare_buffers(st);
  st->zero = hd_i32(b, 0);
  st->one = hd_i32(b, 1);
  st->n_k_blocks = ceil_div(b, st->arg[HD_STAGE_K], hd_k_block_size(st->p.a_elem));
  find_scale_tiles(st);
  hd_value *slabs = ceil_div(b, st->arg[HD_STAGE_M], HD_SLAB_ROWS);
  st->last_slab = hd_arith(b, HD_OP_SUB, slabs, st->one);
  st->units_m = ceil_div(b, st->arg[HD_STAGE_M], (int64_t)st->s.tile_m * hd_stage_along_m(st));
  st->tiles_n = ceil_div(b, st->arg[HD_STAGE_N], (int64_t)st->s.tile_n * hd_stage_along_n(st));
  st->n_units = hd_arith(b, HD_OP_MUL, st->units_m, st->tiles_n);
  if (hd_is_batch(&st->p))
    st->n_units = hd_arith(b, HD_OP_MUL, st->n_units, st->arg[HD_STAGE_G]);
  if (st->s.split_k == 1)
    return;
  /* No split is ever empty: a short K has fewer of them. */
  st->n_splits = hd_arith(b, HD_OP_MIN, hd_i32(b, st->s.split_k), st->n_k_blocks);
  if (st->along_k == 1)
    st->n_units = hd_arith(b, HD_OP_MUL, st->n_units, st->n_splits);
}

hd_builder hd_stage_begin_role(hd_stage *st, int32_t n_warps) {
  hd_op *role = hd_build_op(&st->b, HD_OP_ROLE, (hd_type){0}, 0);
  hd_op_set_str(st->module, role, HD_ATTR_NAME, "main");
  hd_op_set_int(st->module, role, HD_ATTR_WARP_LO, 0);
  hd_op_set_int(st->module, role, HD_ATTR_N_WARPS, n_warps);
  return hd_builder_at_end(st->module, role->regions[0]);
}
