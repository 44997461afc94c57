/* Groups: builds the table of groups, and finds the group of a tile. An entry has 16 bytes: number
 * of tiles before the group, its first column, its end, 0. After the last group follows an entry
 * with the number of all tiles. */
#include "Emit/emit_state.h"

enum { FIRST_COLUMN = 4, END_COLUMN = 8 /* byte offsets in an entry */ };

/* ---- the table ---- */

typedef struct groups {
  const hd_op *op;
  LLVMValueRef offsets, g, n, tiles_m, table;
  int32_t each, n_lanes; /* consecutive groups per lane; lanes that have groups */
} groups;

/* Clamps the offset to 0 … n, whatever the memory contains. */
static LLVMValueRef load_offset(hd_emitter *e, const groups *s, LLVMValueRef first, int32_t j) {
  LLVMValueRef at = hd_emit_global_at(e, s->offsets, hd_emit_muli(e, hd_emit_widen(e, first), 4));
  LLVMValueRef past = hd_emit_lt(e, s->g, hd_emit_addi(e, first, j));
  const char *text =
      hd_arena_printf(&e->arena, "mov.b32 $0, 0;\n\t@!$2 ld.global.b32 $0, [$1+%d];", 4 * (int)j);
  LLVMValueRef offset =
      hd_emit_asm(e, e->i32, text, "=&r,l,b", (LLVMValueRef[]){at, past}, 2, HD_ASM_MEMORY);
  return hd_emit_min(e, hd_emit_max(e, offset, hd_emit_i32(e, 0)), s->n);
}

/* The sum, or the maximum, of the values of all lower lanes; 0 in lane 0. */
static LLVMValueRef of_lower(hd_emitter *e, const groups *s, LLVMValueRef own, bool sum) {
  LLVMValueRef zero = hd_emit_i32(e, 0), all = own, below = NULL;
  for (int32_t by = 1; by < s->n_lanes; by *= 2) {
    below = hd_emit_shfl_up(e, all, by);
    below = hd_emit_select(e, hd_emit_lt(e, e->lane, hd_emit_i32(e, by)), zero, below);
    all = sum ? hd_emit_add(e, all, below) : hd_emit_max(e, all, below);
  }
  below = hd_emit_shfl_up(e, all, 1);
  return hd_emit_select(e, hd_emit_eqi(e, e->lane, 0), zero, below);
}

static void store_entry(hd_emitter *e, const groups *s, LLVMValueRef i, LLVMValueRef before,
                        LLVMValueRef first, LLVMValueRef end) {
  LLVMValueRef args[] = {hd_emit_add(e, s->table, hd_emit_muli(e, i, HD_GROUP_BYTES)),
                         hd_emit_lt(e, s->g, i), before, first, end, hd_emit_i32(e, 0)};
  hd_emit_asm(e, e->none, "@!$1 st.shared.v4.b32 [$0], {$2, $3, $4, $5};", "r,b,r,r,r,r", args, 6,
              HD_ASM_MEMORY);
}

/* i1: some lane has an offset that is less than its predecessor. at: each + 1 offsets per lane;
 * the last one is the next lane's first. */
static LLVMValueRef is_cut(hd_emitter *e, const groups *s, LLVMValueRef first,
                           LLVMValueRef *const at) {
  LLVMValueRef any = LLVMConstInt(e->i1, 0, false);
  for (int32_t j = 0; j < s->each; j++) {
    LLVMValueRef is_group = hd_emit_lt(e, hd_emit_addi(e, first, j), s->g);
    LLVMValueRef is_less = hd_emit_lt(e, at[j + 1], at[j]);
    any = LLVMBuildOr(e->b, any, LLVMBuildAnd(e->b, is_group, is_less, ""), "");
  }
  return hd_emit_asm(e, e->i1, "vote.sync.any.pred $0, $1, 0xffffffff;", "=b,b", &any, 1,
                     HD_ASM_VOLATILE);
}

/* The largest offset of the lower lanes; 0 if offsets never decrease, as those of a router. */
static LLVMValueRef least_of(hd_emitter *e, const groups *s, LLVMValueRef first,
                             LLVMValueRef *const at) {
  LLVMBasicBlockRef before[2];
  LLVMValueRef values[2] = {hd_emit_i32(e, 0)};
  LLVMValueRef cut = is_cut(e, s, first, at);
  before[0] = LLVMGetInsertBlock(e->b);
  LLVMBasicBlockRef join = hd_emit_if(e, cut, "cut");
  LLVMValueRef largest = at[0];
  for (int32_t j = 1; j < s->each; j++)
    largest = hd_emit_max(e, largest, at[j]);
  values[1] = of_lower(e, s, largest, false);
  before[1] = LLVMGetInsertBlock(e->b);
  hd_emit_endif(e, join);
  LLVMValueRef least = LLVMBuildPhi(e->b, e->i32, "least");
  LLVMAddIncoming(least, values, before, 2);
  return least;
}

/* Raises each offset to at least its predecessor, so that groups never overlap. The entry after the
 * last group holds only the sum. */
static void make_table(hd_emitter *e, const groups *s) {
  int64_t unit = hd_op_int(s->op, HD_ATTR_TILE_COLUMNS, 1);
  LLVMValueRef *at = HD_NEW_ARRAY(&e->arena, LLVMValueRef, s->each + 1);
  LLVMValueRef *tiles = HD_NEW_ARRAY(&e->arena, LLVMValueRef, s->each);
  LLVMValueRef i = hd_emit_muli(e, e->lane, s->each), sum = hd_emit_i32(e, 0);
  for (int32_t j = 0; j <= s->each; j++)
    at[j] = load_offset(e, s, i, j);
  LLVMValueRef least = least_of(e, s, i, at);
  for (int32_t j = 0; j <= s->each; j++)
    at[j] = hd_emit_max(e, at[j], j ? at[j - 1] : least);
  for (int32_t j = 0; j < s->each; j++) {
    LLVMValueRef columns = hd_emit_addi(e, hd_emit_sub(e, at[j + 1], at[j]), unit - 1);
    tiles[j] = hd_emit_mul(e, hd_emit_divi(e, columns, unit), s->tiles_m);
    sum = hd_emit_add(e, sum, tiles[j]);
  }
  LLVMValueRef before = of_lower(e, s, sum, true);
  for (int32_t j = 0; j < s->each; j++) {
    store_entry(e, s, hd_emit_addi(e, i, j), before, at[j], at[j + 1]);
    before = hd_emit_add(e, before, tiles[j]);
  }
}

/* The maximum number of groups: g if it is constant, else the capacity of the table. */
static int64_t most_groups(const hd_value *buffer, LLVMValueRef g) {
  int64_t room = hd_op_int(hd_emit_def(buffer), HD_ATTR_BYTES, 0) / HD_GROUP_BYTES - 1;
  return LLVMIsAConstantInt(g) ? LLVMConstIntGetSExtValue(g) : room;
}

/* One warp builds the table, with all loads in flight together. It is warp 1 if there is one,
 * because warp 0 initialises the barriers. */
heddle_status hd_emit_op_group_table(hd_emitter *e, const hd_op *op) {
  groups s = {.op = op,
              .offsets = hd_emit_get1(e, hd_group_table_offsets(op)),
              .table = hd_emit_get1(e, hd_group_table_buffer(op)),
              .g = hd_emit_get1(e, hd_group_table_g(op)),
              .n = hd_emit_get1(e, hd_group_table_n(op)),
              .tiles_m = hd_emit_get1(e, hd_group_table_tiles_m(op))};
  int64_t n = most_groups(hd_group_table_buffer(op), s.g) + 1; /* plus the entry of the sum */
  s.each = (int32_t)((n - 1) / HD_LANES + 1);
  s.n_lanes = (int32_t)((n + s.each - 1) / s.each);
  int64_t own = e->role.n_warps > 1;
  LLVMBasicBlockRef join = hd_emit_if(e, hd_emit_eqi(e, e->warp, own), "groups");
  make_table(e, &s);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

/* ---- readers of the table ---- */

static LLVMValueRef load_word(hd_emitter *e, LLVMValueRef table, LLVMValueRef i, int bytes) {
  LLVMValueRef at = hd_emit_add(e, table, hd_emit_muli(e, i, HD_GROUP_BYTES));
  const char *text = hd_arena_printf(&e->arena, "ld.shared.b32 $0, [$1+%d];", bytes);
  return hd_emit_asm(e, e->i32, text, "=r,r", &at, 1, HD_ASM_MEMORY);
}

heddle_status hd_emit_op_group_count(hd_emitter *e, const hd_op *op) {
  LLVMValueRef table = hd_emit_get1(e, hd_group_count_buffer(op));
  hd_emit_set1(e, op->results[0],
               load_word(e, table, hd_emit_get1(e, hd_group_count_g(op)), 0));
  return HEDDLE_OK;
}

/* Binary search for the last group with at most `index` tiles before it. An empty group has the
 * same number as the next group. The entry after the last group is greater than any index. */
heddle_status hd_emit_op_group_find(hd_emitter *e, const hd_op *op) {
  LLVMValueRef table = hd_emit_get1(e, hd_group_find_buffer(op));
  LLVMValueRef g = hd_emit_get1(e, hd_group_find_g(op));
  LLVMValueRef index = hd_emit_get1(e, hd_group_find_index(op)), at = hd_emit_i32(e, 0);
  int64_t most = most_groups(hd_group_find_buffer(op), g), step = 1;
  while (2 * step < most)
    step *= 2;
  for (step = most > 1 ? step : 0; step; step /= 2) {
    LLVMValueRef next = hd_emit_addi(e, at, step);
    LLVMValueRef before = load_word(e, table, hd_emit_min(e, next, g), 0);
    at = hd_emit_select(e, hd_emit_lt(e, index, before), at, next);
  }
  hd_emit_set1(e, op->results[0], at);
  hd_emit_set1(e, op->results[1], hd_emit_sub(e, index, load_word(e, table, at, 0)));
  hd_emit_set1(e, op->results[2], load_word(e, table, at, FIRST_COLUMN));
  hd_emit_set1(e, op->results[3], load_word(e, table, at, END_COLUMN));
  return HEDDLE_OK;
}
