#include "IR/shared_layout.h"
#include "Support/batch.h"
#include "Passes/arith.h"
#include "Schedule/resources.h"
#include "Passes/stage.h"

/* The value of an argument that is fixed at compile time; 0: a parameter. The pitch of rows whose
 * length is a launch argument stays a parameter, since the check runs launches of all lengths; the
 * launcher validates it. C's pitch and batch strides are always parameters of the store. */
static int64_t fixed_value(const hd_problem *p, hd_arg_kind arg) {
  const hd_size *size = hd_problem_size(p, arg);
  if (size)
    return size->value;
  switch (arg) {
  case HD_ARG_LDB:
  case HD_ARG_LDD:
  case HD_ARG_LDSA:
  case HD_ARG_LDSB:
    return hd_problem_size(p, hd_problem_row_size(p, arg))->value ? hd_problem_operand(p, arg)->ld
                                                                  : 0;
  default:
    return 0;
  }
}

/* The workspace holds a copy of B's rows (gathered rows are in order there). */
static bool is_copied(const hd_stage *st) { return st->variant->path == HD_B_COPIED; }

/* B or D with a tensor map needs no address and pitch arguments: the map contains them. */
static bool is_of_b(hd_arg_kind scales) {
  return scales == HD_ARG_BLOCK_SCALE_B || scales == HD_ARG_LDSB;
}

static bool is_needed(const hd_stage *st, hd_arg_kind arg) {
  switch (arg) {
  case HD_ARG_B:
  case HD_ARG_LDB:
    return !hd_b_path_has_map(st->variant->path);
  case HD_ARG_D:
  case HD_ARG_LDD:
  case HD_ARG_STRIDE_D:
    return !st->variant->staged && hd_problem_takes(&st->p, arg) &&
           (arg != HD_ARG_D || !st->p.combine);
  case HD_ARG_T:
    return st->p.gather != NULL;
  case HD_ARG_BLOCK_SCALE_A:
  case HD_ARG_BLOCK_SCALE_B:
  case HD_ARG_LDSA:
  case HD_ARG_LDSB:
    return hd_problem_takes(&st->p, arg) &&
           (!hd_scales_promoted(&st->p) || (is_of_b(arg) && hd_scales_by_index(&st->p)));
  case HD_ARG_COMBINE_D: /* NAME_combine reads it */
    return false;
  case HD_ARG_WORKSPACE:
    return st->s.split_k > st->along_k || st->s.stream_k || st->p.combine;
  default:
    return hd_problem_takes(&st->p, arg);
  }
}

/* A map of `rows` of B in run order. Bits of the row index with doubling strides: one dimension. */
static void set_permuted(hd_stage *st, hd_op *op, int32_t bytes, int64_t rows) {
  enum { MAX_RANK = 5 };
  hd_layout order = hd_layout_run_order((uint32_t)hd_d_run(&st->p), (uint32_t)rows);
  hd_expr dims[MAX_RANK] = {{HD_ARG_K, 1, 0, 1}}, strides[MAX_RANK] = {{0}};
  int64_t box[MAX_RANK] = {HD_K_BLOCK_BYTES / bytes}, step[MAX_RANK] = {0};
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
    dims[i] =
        i < rank - 1 ? (hd_expr){HD_ARG_NONE, box[i], 0, 1} : (hd_expr){HD_ARG_N, 1, 0, group};
    strides[i] = (hd_expr){HD_ARG_LDB, step[i] * bytes, 0, 1};
  }
  hd_op_set_exprs(st->module, op, HD_ATTR_DIMS, dims, rank);
  hd_op_set_exprs(st->module, op, HD_ATTR_STRIDES, strides, rank);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, box, rank);
}

/* The map of a stored matrix with boxes of `line` x `lines`. The contiguous dimension is first, the
 * index in a batch last. A pair of 4-bit elements counts as a byte. */
static void set_plane(hd_stage *st, hd_op *op, hd_expr along, hd_expr across, int64_t line,
                      int64_t lines, bool is_batch) {
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE);
  bool of_b = hd_op_arg(op) == HD_ARG_B;
  int32_t rank = is_batch ? 3 : 2, bytes = hd_map_bytes(elem), pairs = hd_elems_per_byte(elem);
  along.div *= pairs;
  hd_expr dims[] = {along, across, {HD_ARG_G, 1, 0, 1}};
  hd_expr strides[] = {{0},
                       {of_b ? HD_ARG_LDB : HD_ARG_LDD, bytes, 0, pairs},
                       {of_b ? HD_ARG_STRIDE_B : HD_ARG_STRIDE_D, bytes, 0, pairs}};
  if (hd_op_arg(op) == HD_ARG_WORKSPACE)
    strides[1] = (hd_expr){HD_ARG_NONE, hd_copied_pitch(&st->p), 0, 1};
  if (pairs > 1)
    hd_op_set_elem(st->module, op, HD_ATTR_TYPE, HEDDLE_U8);
  hd_op_set_exprs(st->module, op, HD_ATTR_DIMS, dims, rank);
  hd_op_set_exprs(st->module, op, HD_ATTR_STRIDES, strides, rank);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, (int64_t[]){line, lines, 1}, rank);
}

static void set_b_box(hd_stage *st, hd_op *op, int64_t rows) {
  const hd_expr n = {HD_ARG_N, 1, 0, 1}, k = {HD_ARG_K, 1, 0, 1};
  int32_t bytes = hd_map_bytes(st->p.b.elem);
  int64_t line = HD_K_BLOCK_BYTES / bytes;
  bool is_batch = hd_has_stride(&st->p, &st->p.b);
  if (st->variant->permutes)
    set_permuted(st, op, bytes, (int32_t)rows);
  else if (st->p.b.transposed)
    set_plane(st, op, n, k, line, st->s.tile_k, is_batch);
  else
    set_plane(st, op, k, n, line, rows, is_batch);
}
static void set_box(hd_stage *st, hd_op *op) { set_b_box(st, op, st->plan->b_box); }
static void set_whole_box(hd_stage *st, hd_op *op) {
  set_b_box(st, op, st->b_n / hd_stage_b_sharers(st));
}

/* Some tiles end before N, and their columns of B are more than a box of map_b. */
static bool has_whole_box(const hd_stage *st) {
  return !st->p.b.transposed && !hd_schedule_is_whole_n(&st->p, &st->s) &&
         st->plan->b_box < st->b_n / hd_stage_b_sharers(st);
}

/* The map of D with groups. A tensor map clips only at its own sizes, but a group may end before D,
 * so the coordinates are shifted to make the end of the group the end of the map. Dimension 1 is
 * 2^30 - (end - column), dimension 2 is the end, both with a stride of one pitch. Dimension 3 is
 * 2^30 with a stride of 2^34 elements - pitch, which modulo 2^64 subtracts 2^30 pitches. The sum is
 * the address of the column. */
static void set_ragged(hd_stage *st, hd_op *op) {
  enum { SPAN_BITS = 34, RANK = 4 };
  int64_t bytes = hd_map_bytes(hd_op_elem(op, HD_ATTR_TYPE));
  const hd_expr dims[RANK] = {{HD_ARG_M, 1, 0, hd_rows_of_d(&st->p)},
                              {HD_ARG_NONE, 0, HD_RAGGED_MOST, 1},
                              {HD_ARG_NONE, 0, (int64_t)HD_RAGGED_MOST + 1, 1},
                              {HD_ARG_NONE, 0, (int64_t)HD_RAGGED_MOST + 1, 1}};
  const hd_expr strides[RANK] = {{0},
                                 {HD_ARG_LDD, bytes, 0, 1},
                                 {HD_ARG_LDD, bytes, 0, 1},
                                 {HD_ARG_LDD, -bytes, bytes << SPAN_BITS, 1}};
  const int64_t box[RANK] = {st->slot.rows, st->slot.cols, 1, 1};
  hd_op_set_exprs(st->module, op, HD_ATTR_DIMS, dims, RANK);
  hd_op_set_exprs(st->module, op, HD_ATTR_STRIDES, strides, RANK);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, box, RANK);
}

static void set_slot(hd_stage *st, hd_op *op) {
  const hd_expr m = {HD_ARG_M, 1, 0, hd_rows_of_d(&st->p)}, n = {HD_ARG_N, 1, 0, 1};
  if (hd_is_grouped(&st->p))
    set_ragged(st, op);
  else if (st->p.d.transposed)
    set_plane(st, op, m, n, st->slot.rows, st->slot.cols, hd_is_batch(&st->p));
  else
    set_plane(st, op, n, m, st->slot.cols, st->slot.rows, hd_is_batch(&st->p));
}

/* The map of f32 block scales: one line per k-block; a box is a part of a line. In a batch the last
 * dimension is the product's index, whose scales begin after the lines of the product before. */
static void set_scale_map(hd_stage *st, hd_op *op, int which) {
  enum { BYTES = 4 };
  int32_t rows = which ? 1 : st->p.block_rows, rank = hd_scales_apart(&st->p, which) ? 3 : 2;
  int64_t lines = (st->p.k.value + st->p.block - 1) / st->p.block;
  hd_arg_kind pitch = which ? HD_ARG_LDSB : HD_ARG_LDSA;
  hd_expr dims[] = {{which ? HD_ARG_N : HD_ARG_M, 1, 0, rows},
                    {HD_ARG_K, 1, 0, st->p.block},
                    {HD_ARG_G, 1, 0, 1}};
  hd_expr strides[] = {{0}, {pitch, BYTES, 0, 1}, {pitch, BYTES * lines, 0, 1}};
  hd_op_set_exprs(st->module, op, HD_ATTR_DIMS, dims, rank);
  hd_op_set_exprs(st->module, op, HD_ATTR_STRIDES, strides, rank);
  hd_op_set_ints(st->module, op, HD_ATTR_BOX, (int64_t[]){hd_stage_scale_box(st, which), 1, 1},
                 rank);
}
static void set_scale_map_a(hd_stage *st, hd_op *op) { set_scale_map(st, op, 0); }
static void set_scale_map_b(hd_stage *st, hd_op *op) { set_scale_map(st, op, 1); }

static hd_value *declare_tmap(hd_stage *st, hd_arg_kind arg, heddle_elem elem, int32_t swizzle,
                              void (*set)(hd_stage *st, hd_op *op)) {
  hd_op *op = hd_build_op(&st->b, HD_OP_TMAP, HD_TMAP, 0);
  hd_op_set_arg(st->module, op, arg);
  hd_op_set_elem(st->module, op, HD_ATTR_TYPE, elem);
  set(st, op);
  hd_op_set_int(st->module, op, HD_ATTR_SWIZZLE, swizzle);
  return op->results[0];
}

/* Bytes of the workspace per unit of a cluster: slots for its tiles, unused ones included, and for
 * their parts; with `combine`, the tiles of D. */
static void set_workspace(hd_stage *st, hd_op *op) {
  int64_t tile[] = {(int64_t)st->s.tile_m * st->cluster, st->s.tile_n};
  hd_op_set_ints(st->module, op, HD_ATTR_TILE, tile, 2);
  int64_t columns = tile[0] * tile[1] / hd_rows_of_d(&st->p) *
                    heddle_elem_get(st->p.d.elem)->container_bits / 8;
  hd_op_set_int(st->module, op, HD_ATTR_BYTES,
                st->p.combine ? columns : st->cluster * st->s.split_k * hd_stage_slot_bytes(st));
  if (st->s.stream_k)
    hd_op_set_flag(st->module, op, HD_ATTR_STREAM_K);
}

static hd_value *declare_arg(hd_stage *st, hd_arg_kind arg) {
  static const hd_type_kind kinds[] = {[HEDDLE_CLASS_PTR] = HD_TYPE_PTR,
                                       [HEDDLE_CLASS_I32] = HD_TYPE_I32,
                                       [HEDDLE_CLASS_I64] = HD_TYPE_I64,
                                       [HEDDLE_CLASS_F32] = HD_TYPE_F32};
  hd_type type = {.kind = kinds[hd_arg_class_of(arg)]};
  int64_t value = fixed_value(&st->p, arg);
  if (value)
    return type.kind == HD_TYPE_I32 ? hd_i32(&st->b, value) : hd_i64(&st->b, value);
  bool products = arg == HD_ARG_WORKSPACE && st->p.combine;
  if (type.kind == HD_TYPE_PTR)
    type = hd_type_ptr(products ? st->p.d.elem : hd_problem_pointee(&st->p, arg));
  hd_op *op = hd_build_op(&st->b, HD_OP_ARG, type, 0);
  hd_op_set_arg(st->module, op, arg);
  if (type.kind == HD_TYPE_PTR)
    hd_op_set_elem(st->module, op, HD_ATTR_TYPE, type.elem);
  if (arg == HD_ARG_WORKSPACE)
    set_workspace(st, op);
  const hd_size *size = hd_problem_size(&st->p, arg);
  if (size && size->max)
    hd_op_set_int(st->module, op, HD_ATTR_MAX, size->max);
  return op->results[0];
}

/* Declares arguments in the order of the kernel's parameters, not of the typed function's. */
static void declare_args(hd_stage *st) {
  static const hd_arg_kind runs[][2] = {{HD_ARG_A, HD_ARG_B},
                                        {HD_ARG_D, HD_ARG_D},
                                        {HD_ARG_C, HD_ARG_C},
                                        {HD_ARG_BIAS, HD_ARG_AUX},
                                        {HD_ARG_WORKSPACE, HD_ARG_WORKSPACE},
                                        {HD_ARG_M, HD_ARG_K},
                                        {HD_ARG_LDB, HD_ARG_LDAUX},
                                        {HD_ARG_ALPHA, HD_ARG_EPS},
                                        {HD_ARG_G, HD_ARG_T},
                                        {HD_ARG_STRIDE_A, HD_ARG_STRIDE_SCALE_B}};
  for (size_t i = 0; i < HD_COUNT(runs); i++)
    for (hd_arg_kind arg = runs[i][0]; arg <= runs[i][1]; arg++) {
      if (is_needed(st, arg))
        st->arg[arg] = declare_arg(st, arg);
      if (arg == HD_ARG_B && hd_b_path_has_map(st->variant->path)) {
        hd_arg_kind from = is_copied(st) ? HD_ARG_WORKSPACE : HD_ARG_B;
        st->map_b = declare_tmap(st, from, st->p.b.elem, st->plan->swizzle, set_box);
        if (has_whole_box(st)) {
          st->map_b_whole =
              declare_tmap(st, from, st->p.b.elem, st->plan->swizzle, set_whole_box);
          st->map_b_whole->name = "map_b_whole";
        }
      }
      if (arg == HD_ARG_D && st->variant->staged)
        st->map_d = declare_tmap(st, HD_ARG_D, st->p.d.elem, st->slot.swizzle, set_slot);
      if (arg == HD_ARG_BLOCK_SCALE_A && hd_scales_promoted(&st->p))
        st->map_scales[0] = declare_tmap(st, arg, HEDDLE_F32, 0, set_scale_map_a);
      if (arg == HD_ARG_BLOCK_SCALE_B && hd_scales_promoted(&st->p) && !hd_scales_by_index(&st->p))
        st->map_scales[1] = declare_tmap(st, arg, HEDDLE_F32, 0, set_scale_map_b);
    }
  if (st->p.combine)
    st->arg[HD_ARG_D] = st->arg[HD_ARG_WORKSPACE];
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

/* Slots of D: the slots of a warp are consecutive. */
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

/* Buffers of block scales: per row the scales of the k-block, or tiles, which tensor memory holds
 * once for each 32 lanes. */
static void declare_scales(hd_stage *st) {
  static const char *const names[] = {"scale_a", "scale_b"}, *const in_tensor[] = {"tscale_a",
                                                                                   "tscale_b"};
  enum { LINE = 128 /* alignment of a box of a tensor map */ };
  const hd_dense *scales[] = {&st->p.block_a, &st->p.block_b};
  bool tensor = hd_schedule_is_tensor(&st->s);
  int64_t align = hd_scales_promoted(&st->p) ? LINE : HD_SCALE_ALIGN;
  for (int i = 0; st->p.block && i < 2; i++) {
    int64_t bytes = hd_schedule_scale_bytes(&st->p, &st->s, i);
    st->scales[i] = declare_buffer(st, names[i], bytes, align, "linear", scales[i]->elem,
                                   st->s.stages)->results[0];
    if (!tensor)
      continue;
    hd_op *op = declare_buffer(st, in_tensor[i], bytes * HD_SCALE_TILE_COPIES,
                               HD_TENSOR_COLUMN_BYTES, "linear", scales[i]->elem, st->s.stages);
    hd_op_set_str(st->module, op, HD_ATTR_SPACE, "tmem");
    st->factors[i] = op->results[0];
  }
}

/* One slot for the partial sums of each other split. */
static void declare_partials(hd_stage *st) {
  if (st->along_k == 1)
    return;
  hd_op *sums = declare_buffer(st, "partials", hd_stage_own_bytes(st), 128, "linear",
                               st->p.acc_elem, st->along_k - 1);
  if (hd_schedule_over_ring(&st->s))
    hd_op_add_operand(st->module, sums, st->sb);
  st->partials = sums->results[0];
}

/* Buffers in tensor memory: accumulators, and the metadata of each stage. */
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
  enum { ALIGN = 128 };
  int64_t block = hd_block_bytes(st->p.a_elem);
  int64_t rows = st->p.b.transposed ? st->s.tile_k : st->b_n;
  /* D and B first, since their atoms need the larger alignment. B and A form the ring. */
  declare_slots(st);
  hd_op *b = declare_buffer(st, "b", (int64_t)st->b_n * HD_K_BLOCK_BYTES, 1024, "rows",
                            st->p.b.elem, st->s.stages);
  hd_op_set_int(st->module, b, HD_ATTR_ROWS, rows);
  hd_op_set_int(st->module, b, HD_ATTR_PANEL, HD_K_BLOCK_BYTES);
  if (st->variant->permutes)
    hd_op_set_int(st->module, b, HD_ATTR_RUN, hd_d_run(&st->p));
  hd_op_set_int(st->module, b, HD_ATTR_SWIZZLE, st->plan->swizzle);
  hd_op *a = declare_buffer(st, "a", st->s.tile_m / HD_SLAB_ROWS * block, ALIGN, "packed_a",
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
  st->slots = hd_schedule_reduce_slots(&st->p, &st->s); /* parts of statistics, and factors */
  if (st->slots.blocks)
    st->sr = declare_buffer(st, "statistics", st->slots.n_bytes, ALIGN, "linear", HEDDLE_F32,
                            st->slots.n)->results[0];
  st->columns = hd_schedule_column_slots(&st->p, &st->s);
  if (st->columns.sets)
    st->sc = declare_buffer(st, "column_scales", st->columns.n_bytes, ALIGN, "linear", HEDDLE_F32,
                            st->columns.n)->results[0];
  if (hd_is_grouped(&st->p))
    st->groups = declare_buffer(st, "groups", hd_schedule_group_bytes(&st->p), ALIGN, "linear",
                                HEDDLE_S32, 1)->results[0];
}

/* ceil(x / unit) */
static hd_value *ceil_div(hd_builder *b, hd_value *x, int64_t unit) {
  hd_value *up = hd_arith_const(b, HD_OP_ADD, x, unit - 1);
  return hd_arith_const(b, HD_OP_DIV, up, unit);
}

/* Block scales in tiles: the tiles along k (of whole k-blocks); the index of the last 128 rows. */
static void find_scale_tiles(hd_stage *st) {
  static const hd_arg_kind size[] = {HD_ARG_M, HD_ARG_N};
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

/* Tiles along `size`. If all sizes of a bucket have the same number, it is a constant, and a kernel
 * needs no division to find a tile. Smaller sizes would have more tiles than the launch has slots
 * for partial sums, so that such a kernel's number must be the same from 1 on. */
static hd_value *count_tiles(hd_stage *st, const char *dim, const hd_size *size, hd_arg_kind arg,
                             int64_t unit) {
  const hd_op *kernel = st->p.kernel;
  bool has_slots = st->s.split_k > st->along_k || st->s.stream_k;
  int64_t least = hd_op_is(kernel, HD_ATTR_BUCKET, dim) && !has_slots
                      ? hd_op_int(kernel, HD_ATTR_AT_LEAST, 1)
                      : 1;
  int64_t n = (size->max + unit - 1) / unit;
  return !size->value && size->max && (least + unit - 1) / unit == n
             ? hd_i32(&st->b, n)
             : ceil_div(&st->b, st->arg[arg], unit);
}

/* A unit is the tile of a CTA, or the tiles of a cluster. With groups, their number is in a table
 * that is computed before the roles start. */
static void find_units(hd_stage *st) {
  hd_builder *b = &st->b;
  int32_t unit_n = st->s.tile_n * hd_stage_along_n(st);
  st->units_m = count_tiles(st, "m", &st->p.m, HD_ARG_M,
                            (int64_t)st->s.tile_m * hd_stage_along_m(st));
  if (st->groups) {
    hd_op *table = hd_build_op(b, HD_OP_GROUP_TABLE, (hd_type){0}, 5, st->arg[HD_ARG_OFFSETS],
                               st->groups, st->arg[HD_ARG_G], st->arg[HD_ARG_N], st->units_m);
    hd_op_set_int(st->module, table, HD_ATTR_TILE_COLUMNS, unit_n);
    return;
  }
  st->tiles_n = count_tiles(st, "n", &st->p.n, HD_ARG_N, unit_n);
  st->n_units = hd_arith(b, HD_OP_MUL, st->units_m, st->tiles_n);
  if (hd_is_batch(&st->p))
    st->n_units = hd_arith(b, HD_OP_MUL, st->n_units, st->arg[HD_ARG_G]);
}

/* Declares the product, which the check compares with the kernel. */
static void declare_product(hd_stage *st) {
  static const struct {
    hd_attr_key key;
    hd_arg_kind arg;
  } fixed[] = {{HD_ATTR_M, HD_ARG_M},       {HD_ATTR_N, HD_ARG_N},
               {HD_ATTR_K, HD_ARG_K},       {HD_ATTR_G, HD_ARG_G},
               {HD_ATTR_T, HD_ARG_T},
               {HD_ATTR_LDB, HD_ARG_LDB},   {HD_ATTR_LDD, HD_ARG_LDD},
               {HD_ATTR_LDSA, HD_ARG_LDSA}, {HD_ATTR_LDSB, HD_ARG_LDSB}};
  hd_op *op = hd_build_op(&st->b, HD_OP_PRODUCT, (hd_type){0}, 0);
  for (size_t i = 0; i < HD_COUNT(fixed); i++) {
    bool taken = hd_problem_takes(&st->p, fixed[i].arg);
    int64_t value = taken ? fixed_value(&st->p, fixed[i].arg) : 0;
    if (value)
      hd_op_set_int(st->module, op, fixed[i].key, value);
  }
  hd_op_set_elem(st->module, op, HD_ATTR_A_TYPE, st->p.a_elem);
  hd_op_set_elem(st->module, op, HD_ATTR_B_TYPE, st->p.b.elem);
  hd_op_set_str(st->module, op, HD_ATTR_B_ORDER, st->p.b.transposed ? "mn_major" : "k_major");
  hd_op_set_elem(st->module, op, HD_ATTR_ACC, st->p.acc_elem);
  if (st->p.block)
    hd_op_set_int(st->module, op, HD_ATTR_BLOCK, st->p.block);
  if (hd_scales_promoted(&st->p))
    hd_op_set_int(st->module, op, HD_ATTR_ROWS, st->p.block_rows);
  if (st->p.gather)
    hd_op_set_flag(st->module, op, HD_ATTR_GATHER_B);
  if (st->p.combine)
    hd_op_set_flag(st->module, op, HD_ATTR_COMBINE_D);
  if (is_copied(st))
    hd_op_set_str(st->module, op, HD_ATTR_B_PATH, hd_key_word(HD_KEY_B_PATH, HD_B_COPIED));
  hd_stage_set_epilogue(st, op);
  if (!st->p.aux_of)
    return;
  hd_op_set_str(st->module, op, HD_ATTR_AUX, st->p.aux_of);
  hd_op_set_elem(st->module, op, HD_ATTR_AUX_TYPE, st->p.aux.elem);
}

void hd_stage_declare(hd_stage *st) {
  hd_builder *b = &st->b;
  declare_product(st);
  declare_args(st);
  declare_buffers(st);
  st->zero = hd_i32(b, 0);
  st->one = hd_i32(b, 1);
  st->n_k_blocks = ceil_div(b, st->arg[HD_ARG_K], hd_k_block_size(st->p.a_elem));
  find_scale_tiles(st);
  hd_value *slabs = ceil_div(b, st->arg[HD_ARG_M], HD_SLAB_ROWS);
  st->last_slab = hd_arith(b, HD_OP_SUB, slabs, st->one);
  find_units(st);
  if (st->s.split_k == 1)
    return;
  /* A short K has fewer splits, so that no split is empty. */
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
