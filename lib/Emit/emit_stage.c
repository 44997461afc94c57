/* stage.tile and copy.out: stores of D through shared memory. A slot holds 16 rows (gated: 8) of
 * some columns in the layout of a tensor map's box, in lines of `panel` bytes: a row's columns, or
 * (col_major) a column's rows.
 *
 * With a swizzle, byte c of line r is at r * panel + (c ^ bits of r). The part that depends on the
 * lane is computed once; the part that depends on the block is one XOR (row-major) or an immediate
 * (col_major). */
#include "Emit/emit_buffer.h"
#include "Emit/emit_strip.h"

enum { BLOCK = 8, MATRIX_BYTES = 16 /* a line of an 8 x 8 matrix of 16-bit elements */ };

typedef struct slot {
  const hd_strip *strip;
  LLVMValueRef base; /* i32: address of the slot */
  hd_rows rows;
  bool col_major;
  int64_t bytes; /* of an element */
} slot;

static slot find_slot(hd_emitter *e, const hd_op *op, const hd_strip *s) {
  const hd_op *def = hd_emit_def(hd_stage_tile_buffer(op));
  int64_t swizzle = hd_op_int(def, HD_ATTR_SWIZZLE, 0);
  slot at = {
      .strip = s, .col_major = hd_op_is(op, HD_ATTR_ORDER, "col_major"), .bytes = s->d.bytes};
  at.rows = (hd_rows){.slot_bytes = hd_op_int(def, HD_ATTR_BYTES, 0),
                      .panel = hd_op_int(def, HD_ATTR_PANEL, 0),
                      .mask = swizzle ? swizzle - 16 : 0};
  LLVMValueRef offset =
      hd_emit_muli(e, hd_emit_get1(e, hd_stage_tile_slot(op)), at.rows.slot_bytes);
  at.base = hd_emit_add(e, hd_emit_get1(e, hd_stage_tile_buffer(op)), offset);
  return at;
}

static int64_t columns_of(const slot *at) {
  return at->rows.slot_bytes / (at->strip->halves * BLOCK * at->bytes);
}

/* The offset of (line, byte) in the slot; both depend only on the lane. */
static LLVMValueRef lane_address(hd_emitter *e, const slot *at, LLVMValueRef line,
                                 LLVMValueRef byte) {
  LLVMValueRef linear = hd_emit_add(e, hd_emit_muli(e, line, at->rows.panel), byte);
  return hd_emit_swizzle(e, &at->rows, linear);
}

static LLVMValueRef xor_bytes(hd_emitter *e, LLVMValueRef address, int64_t bytes) {
  return bytes ? hd_emit_xor(e, address, hd_emit_i32(e, bytes)) : address;
}

/* ---- 16-bit types: four 8 x 8 matrices at a time, two blocks of both halves ---- */

/* Lane l gives the address of line l % 8 of matrix l / 8: half l / 8 % 2 of block l / 16.
 * Column-major, the matrices are stored transposed. */
static LLVMValueRef matrix_address(hd_emitter *e, const slot *at) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef line = hd_emit_remi(e, e->lane, BLOCK), block = hd_emit_divi(e, e->lane, 2 * BLOCK);
  LLVMValueRef half = hd_emit_remi(e, hd_emit_divi(e, e->lane, BLOCK), 2);
  LLVMValueRef down = at->col_major ? block : half, along = at->col_major ? half : block;
  line = hd_emit_add(e, line, hd_emit_muli(e, down, BLOCK));
  LLVMValueRef address = lane_address(e, at, line, hd_emit_muli(e, along, MATRIX_BYTES));
  hd_emit_return_from_entry(e, here);
  return hd_emit_add(e, at->base, address);
}

/* Gated: the only half, four (or two) blocks at a time; lane l gives an address in block l / 8. */
static void put_matrices_of_pairs(hd_emitter *e, const slot *at, const hd_pair *pair) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef line = hd_emit_remi(e, e->lane, BLOCK), block = hd_emit_divi(e, e->lane, BLOCK);
  LLVMValueRef across = hd_emit_muli(e, block, at->col_major ? BLOCK : MATRIX_BYTES);
  LLVMValueRef address = at->col_major
                             ? lane_address(e, at, hd_emit_add(e, line, across), hd_emit_i32(e, 0))
                             : lane_address(e, at, line, across);
  hd_emit_return_from_entry(e, here);
  address = hd_emit_add(e, at->base, address);
  int64_t n_blocks = columns_of(at) / BLOCK, n = n_blocks % 4 ? 2 : 4;
  for (int64_t b = 0; b < n_blocks; b += n) {
    int64_t bytes = at->col_major ? b * BLOCK * at->rows.panel : 0;
    char *text = hd_arena_printf(&e->arena,
                                 "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$0+%lld], "
                                 "{$1, $2%s};",
                                 (int)n, at->col_major ? ".trans" : "", (long long)bytes,
                                 n == 4 ? ", $3, $4" : "");
    LLVMValueRef args[5] = {at->col_major ? address : xor_bytes(e, address, b * MATRIX_BYTES)};
    for (int64_t i = 0; i < n; i++)
      args[1 + i] = pair[2 * (b + i)].v[0];
    hd_emit_asm(e, e->none, text, n == 4 ? "r,r,r,r,r" : "r,r,r", args, 1 + (int)n, HD_ASM_MEMORY);
  }
}

static void put_matrices(hd_emitter *e, const slot *at, const hd_pair *pair) {
  LLVMValueRef address = matrix_address(e, at);
  for (int64_t b = 0; b < columns_of(at) / BLOCK; b += 2) {
    int64_t bytes = at->col_major ? b * BLOCK * at->rows.panel : 0;
    char *text = hd_arena_printf(&e->arena,
                                 "stmatrix.sync.aligned.m8n8.x4%s.shared.b16 [$0+%lld], "
                                 "{$1, $2, $3, $4};",
                                 at->col_major ? ".trans" : "", (long long)bytes);
    LLVMValueRef args[5] = {at->col_major ? address : xor_bytes(e, address, b * MATRIX_BYTES)};
    for (int i = 0; i < 4; i++)
      args[1 + i] = pair[2 * b + i].v[0];
    hd_emit_asm(e, e->none, text, "r,r,r,r,r", args, 5, HD_ASM_MEMORY);
  }
}

/* ---- other types: each lane stores its own elements ---- */

static void put_words(hd_emitter *e, LLVMValueRef address, int64_t bytes, LLVMValueRef const *w,
                      int n) {
  LLVMTypeRef type = LLVMTypeOf(w[0]);
  const char *kind = type == e->i8 ? "b8" : type == e->i16 ? "b16" : n == 2 ? "v2.b32" : "b32";
  LLVMValueRef args[3] = {address, w[0], w[n - 1]};
  if (type == e->i8)
    args[1] = LLVMBuildZExt(e->b, w[0], e->i16, "");
  char *text = hd_arena_printf(&e->arena, "st.shared.%s [$0+%lld], %s;", kind, (long long)bytes,
                               n == 2 ? "{$1, $2}" : "$1");
  hd_emit_asm(e, e->none, text, n == 2 ? "r,r,r" : type == e->i32 ? "r,r" : "r,h", args, 1 + n,
              HD_ASM_MEMORY);
}

/* Address of element (h = 0, j = 0) of block 0: row lane / 4, column 2 * (lane % 4). */
static LLVMValueRef element_address(hd_emitter *e, const slot *at) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef row = hd_emit_divi(e, e->lane, 4),
               col = hd_emit_muli(e, hd_emit_remi(e, e->lane, 4), 2);
  LLVMValueRef address = lane_address(e, at, at->col_major ? col : row,
                                      hd_emit_muli(e, at->col_major ? row : col, at->bytes));
  hd_emit_return_from_entry(e, here);
  return hd_emit_add(e, at->base, address);
}

static void put_rows(hd_emitter *e, const slot *at, const hd_pair *pair) {
  LLVMValueRef address = element_address(e, at);
  for (int64_t b = 0; b < columns_of(at) / BLOCK; b++)
    for (int h = 0; h < at->strip->halves; h++)
      put_words(e, xor_bytes(e, address, b * BLOCK * at->bytes), h * BLOCK * at->rows.panel,
                pair[2 * b + h].v, pair[2 * b + h].n);
}

static void put_columns(hd_emitter *e, const slot *at, const hd_pair *pair) {
  LLVMValueRef address = element_address(e, at);
  for (int64_t b = 0; b < columns_of(at) / BLOCK; b++)
    for (int i = 0; i < 2 * at->strip->halves; i++) {
      LLVMValueRef bits = hd_emit_unpack(e, at->strip->d.elem, pair[2 * b + i / 2], i % 2);
      put_words(e, xor_bytes(e, address, i / 2 * BLOCK * at->bytes),
                (b * BLOCK + i % 2) * at->rows.panel, &bits, 1);
    }
}

/* ---- the epilogue ---- */

/* A user's function may load, so it is called only for elements that exist. */
static LLVMValueRef finish_existing(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                    int32_t b, int h, int j) {
  LLVMBasicBlockRef outside = LLVMGetInsertBlock(e->b);
  LLVMBasicBlockRef join = hd_emit_if(e, hd_emit_inside(e, s, b, h, j), "element");
  LLVMValueRef x = hd_emit_finish_by_user(e, s, in, b, h, j), none = LLVMConstNull(LLVMTypeOf(x));
  LLVMBasicBlockRef inside = LLVMGetInsertBlock(e->b);
  hd_emit_endif(e, join);
  LLVMValueRef either = LLVMBuildPhi(e->b, LLVMTypeOf(x), "");
  LLVMAddIncoming(either, (LLVMValueRef[]){x, none}, (LLVMBasicBlockRef[]){inside, outside}, 2);
  return either;
}

void hd_emit_finish_user(hd_emitter *e, const hd_strip *s, int32_t end, hd_pair *pair) {
  for (int32_t b = 0; b < end; b++) {
    hd_inputs in;
    hd_emit_read_inputs(e, s, b, true, &in);
    for (int h = 0; h < s->halves; h++) {
      LLVMValueRef x = finish_existing(e, s, &in, b, h, 0), y = finish_existing(e, s, &in, b, h, 1);
      pair[2 * b + h] = hd_emit_pack(e, s->d.elem, x, y);
    }
  }
}

/* ---- reading ahead ---- */

/* A value as a base plus a constant. */
typedef struct sum {
  const hd_value *base;
  int64_t beyond;
} sum;

static sum sum_of(const hd_value *v) {
  const hd_op *def = hd_emit_def(v);
  if (!def || def->kind != HD_OP_ADD)
    return (sum){v, 0};
  const hd_op *beyond = hd_emit_def(def->operands[1]);
  return beyond && beyond->kind == HD_OP_CONST
             ? (sum){def->operands[0], hd_op_int(beyond, HD_ATTR_VALUE, 0)}
             : (sum){v, 0};
}

/* The next slice of the same rows; *blocks: its distance to the right, in blocks. NULL: none. */
static const hd_op *next_slice(const hd_op *op, int64_t *blocks) {
  const hd_op *next = op->next;
  while (next && next->kind != HD_OP_STAGE_TILE)
    next = next->next;
  if (!next || hd_stage_tile_row(next) != hd_stage_tile_row(op) ||
      hd_stage_tile_m(next) != hd_stage_tile_m(op) ||
      hd_stage_tile_n(next) != hd_stage_tile_n(op) ||
      hd_stage_tile_g(next) != hd_stage_tile_g(op) ||
      hd_stage_tile_buffer(next) != hd_stage_tile_buffer(op))
    return NULL;
  sum here = sum_of(hd_stage_tile_column(op)), there = sum_of(hd_stage_tile_column(next));
  *blocks = (there.beyond - here.beyond) / BLOCK;
  return here.base == there.base && (there.beyond - here.beyond) % BLOCK == 0 ? next : NULL;
}

static hd_inputs *read_blocks(hd_emitter *e, const hd_strip *s, int64_t first) {
  hd_inputs *in = HD_NEW_ARRAY(&e->arena, hd_inputs, s->n_blocks);
  if (hd_emit_reads_at_once(e, s))
    hd_emit_read_vectors(e, s, (int32_t)first, s->n_blocks, in);
  else
    for (int32_t b = 0; b < s->n_blocks; b++)
      hd_emit_read_inputs(e, s, (int32_t)first + b, true, &in[b]);
  return in;
}

/* Loads the next slice's inputs while this slice is finished and stored. */
static void finish_slice(hd_emitter *e, const hd_strip *s, hd_pair *pair) {
  bool is_read = e->ahead && e->ahead->op == s->op;
  int64_t blocks;
  hd_inputs *in = is_read ? e->ahead->in : read_blocks(e, s, 0);
  const hd_op *next = next_slice(s->op, &blocks);
  e->ahead = NULL;
  if (next) {
    hd_read_ahead *ahead = HD_NEW(&e->arena, hd_read_ahead);
    *ahead = (hd_read_ahead){.op = next, .in = read_blocks(e, s, blocks)};
    for (int h = 0; h < 2; h++) {
      ahead->scale_a[h] = s->scale_a[h];
      ahead->bias_m[h] = s->bias_m[h];
    }
    e->ahead = ahead;
  }
  hd_emit_finish_read(e, s, in, s->n_blocks, pair);
}

heddle_status hd_emit_op_stage_tile(hd_emitter *e, const hd_op *op) {
  hd_strip s = {.op = op, .run = 2};
  HD_TRY(hd_emit_strip_open(e, &s));
  slot at = find_slot(e, op, &s);
  s.acc += 4 * hd_op_int(op, HD_ATTR_OFFSET, 0) / BLOCK;
  s.n_blocks = (int32_t)columns_of(&at) / BLOCK;
  hd_pair *pair = HD_NEW_ARRAY(&e->arena, hd_pair, 2 * s.n_blocks);
  if (s.user)
    hd_emit_finish_user(e, &s, s.n_blocks, pair);
  else if (hd_emit_reads_ahead(&s))
    finish_slice(e, &s, pair);
  else
    hd_emit_finish_all(e, &s, 0, s.n_blocks, true, pair);
  if (at.bytes == 2 && s.pair)
    put_matrices_of_pairs(e, &at, pair);
  else if (at.bytes == 2)
    put_matrices(e, &at, pair);
  else if (at.col_major)
    put_columns(e, &at, pair);
  else
    put_rows(e, &at, pair);
  return HEDDLE_OK;
}

/* Operands: tensor map, buffer, slot, coordinates of dimensions 0 and 1; of a batch also of
 * dimension 2. For a map of four dimensions that operand is the end column of the group, and
 * dimension 1 counts columns relative to it, so that columns past the end are out of bounds. */
heddle_status hd_emit_op_copy_out(hd_emitter *e, const hd_op *op) {
  int64_t bytes = hd_op_int(hd_emit_def(hd_copy_out_buffer(op)), HD_ATTR_BYTES, 0);
  LLVMValueRef offset = hd_emit_muli(e, hd_emit_get1(e, hd_copy_out_slot(op)), bytes);
  LLVMValueRef from = hd_emit_add(e, hd_emit_get1(e, hd_copy_out_buffer(op)), offset);
  enum { PLANE = 2, RAGGED = 4, MAX_COLUMNS = 1 << 30 };
  static const char *const names[] = {"llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d",
                                      "llvm.nvvm.cp.async.bulk.tensor.s2g.tile.3d",
                                      "llvm.nvvm.cp.async.bulk.tensor.s2g.tile.4d"};
  int32_t rank = hd_op_attr(hd_emit_def(hd_copy_out_map(op)), HD_ATTR_BOX)->n;
  LLVMValueRef args[8] = {hd_emit_shared_ptr(e, from, HD_AS_SHARED),
                          hd_emit_get1(e, hd_copy_out_map(op)),
                          hd_emit_get1(e, hd_copy_out_first(op)),
                          hd_emit_get1(e, hd_copy_out_last(op))};
  unsigned n = 4;
  if (hd_copy_out_g(op))
    args[n++] = hd_emit_get1(e, hd_copy_out_g(op));
  if (rank == RAGGED) {
    LLVMValueRef left = hd_emit_sub(e, args[n - 1], args[n - 2]);
    args[n - 2] = hd_emit_sub(e, hd_emit_i32(e, MAX_COLUMNS), left);
    args[n++] = hd_emit_i32(e, MAX_COLUMNS);
  }
  args[n++] = hd_emit_i64(e, 0);
  args[n++] = LLVMConstInt(e->i1, 0, false);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef first = hd_emit_eqi(e, e->lane, 0);
  hd_emit_return_from_entry(e, here);
  LLVMBasicBlockRef join = hd_emit_if(e, first, "out");
  hd_emit_intrinsic(e, names[rank - PLANE], args, n);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
