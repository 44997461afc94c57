/* copy.ld_st: global to shared memory through registers, for what cp.async cannot take. */
#include <stdio.h>

#include "Emit/emit_copy_rows.h"

enum {
  BATCH_BYTES = 128,     /* that a thread has in flight before it stores */
  MAX_CHUNKS_PER_ROW = 4 /* per thread */
};

/* Load and store of a chunk, by its size. In the texts $0.. are the registers and %lld is the
 * store's offset. */
static const struct width {
  int64_t vec;
  int n_regs;
  const char *load, *load_constraints;
  const char *store, *store_constraints;
} widths[] = {
    {1, 1, "mov.b16 $0, 0;\n\t@$2 ld.global.b8 $0, [$1];", "=&h,l,b",
     "@$1 st.shared.b8 [$0+%lld], $2;", "r,b,h"},
    {2, 1, "mov.b16 $0, 0;\n\t@$2 ld.global.b16 $0, [$1];", "=&h,l,b",
     "@$1 st.shared.b16 [$0+%lld], $2;", "r,b,h"},
    {4, 1, "mov.b32 $0, 0;\n\t@$2 ld.global.b32 $0, [$1];", "=&r,l,b",
     "@$1 st.shared.b32 [$0+%lld], $2;", "r,b,r"},
    {8, 2, "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\t@$3 ld.global.v2.b32 {$0, $1}, [$2];",
     "=&r,=&r,l,b", "@$1 st.shared.v2.b32 [$0+%lld], {$2, $3};", "r,b,r,r"},
    {16, 4,
     "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\tmov.b32 $2, 0;\n\tmov.b32 $3, 0;\n\t"
     "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
     "=&r,=&r,=&r,=&r,l,b", "@$1 st.shared.v4.b32 [$0+%lld], {$2, $3, $4, $5};", "r,b,r,r,r,r"},
};

static const struct width *find_width(int64_t vec) {
  for (size_t i = 0; i < HD_COUNT(widths); i++)
    if (widths[i].vec == vec)
      return &widths[i];
  return NULL;
}

void hd_emit_load_vec(hd_emitter *e, int64_t vec, LLVMValueRef from, LLVMValueRef exists,
                      LLVMValueRef *v) {
  const struct width *w = find_width(vec);
  LLVMTypeRef reg = w->vec <= 2 ? e->i16 : e->i32;
  LLVMTypeRef regs[] = {reg, reg, reg, reg};
  LLVMTypeRef type =
      w->n_regs == 1 ? reg : LLVMStructTypeInContext(e->llvm, regs, (unsigned)w->n_regs, false);
  LLVMValueRef args[] = {from, exists};
  LLVMValueRef all = hd_emit_asm(e, type, w->load, w->load_constraints, args, 2, HD_ASM_MEMORY);
  for (int i = 0; i < w->n_regs; i++)
    v[i] = w->n_regs == 1 ? all : LLVMBuildExtractValue(e->b, all, (unsigned)i, "");
}

/* Copies the end of a row that is not a whole chunk, element by element, over the zeros stored
 * before. */
static void copy_elements(hd_emitter *e, const hd_chunk *chunk, int64_t vec, int64_t elem) {
  const char *bits = elem == 1 ? "b8" : elem == 2 ? "b16" : "b32";
  for (int64_t at = 0; at < vec; at += elem) {
    char text[160];
    snprintf(text, sizeof text,
             "{ .reg .b%d t; @$2 ld.global.%s t, [$0+%d];\n\t@$2 st.shared.%s [$1+%d], t; }",
             elem == 4 ? 32 : 16, bits, (int)at, bits, (int)(chunk->offset + at));
    LLVMValueRef args[] = {chunk->src, chunk->dst,
                           hd_emit_lt(e, hd_emit_i32(e, at), chunk->size)};
    hd_emit_asm(e, e->none, text, "l,r,b", args, 3, HD_ASM_MEMORY);
  }
}

/* ---- partial chunks ---- */

/* Rare: the bytes of a row are not a multiple of `vec`. This code is separate from the main path,
 * and in loops, so that it takes no registers there. */

static LLVMValueRef is_partial(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef size) {
  LLVMValueRef some = hd_emit_lt(e, hd_emit_i32(e, 0), size);
  return hd_emit_and(e, some, hd_emit_lt(e, size, hd_emit_i32(e, c->vec)));
}

/* DOWN: all chunks of the thread are in one column, so all or none are partial. Each iteration of
 * the loop copies `period` chunks. */
static void copy_partial_column(hd_emitter *e, const hd_rows_copy *c, const hd_rows_place *p,
                                LLVMValueRef size, int64_t elem) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = hd_emit_block(e, "partial_chunks");
  LLVMValueRef zero = hd_emit_i32(e, 0),
               turns = hd_emit_i32(e, (c->n_mine + c->period - 1) / c->period);
  hd_emit_jump(e, loop);
  hd_emit_at(e, loop);
  LLVMValueRef turn = LLVMBuildPhi(e->b, e->i32, "turn");
  LLVMValueRef src = LLVMBuildPhi(e->b, e->global_ptr, "src"), at = src;
  LLVMValueRef slot = hd_emit_add(e, p->slot, hd_emit_muli(e, turn, c->stride));
  LLVMValueRef rows = hd_emit_sub(e, p->rows, hd_emit_muli(e, turn, c->period * c->row_step));
  for (int64_t i = 0; i < c->period && i < c->n_mine; i++) {
    LLVMValueRef exists = hd_emit_lt(e, hd_emit_i32(e, i * c->row_step), rows);
    hd_chunk chunk = {.src = at, .dst = hd_emit_add(e, slot, c->base[i]),
                      .size = hd_emit_select(e, exists, size, zero)};
    copy_elements(e, &chunk, c->vec, elem);
    at = hd_emit_global_at(e, at, p->step);
  }
  LLVMValueRef next = hd_emit_addi(e, turn, 1);
  LLVMBasicBlockRef done = hd_emit_block(e, "whole_chunks"), end = LLVMGetInsertBlock(e->b);
  LLVMAddIncoming(turn, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMAddIncoming(src, (LLVMValueRef[]){p->source, at}, (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, next, turns), loop, done);
  hd_emit_at(e, done);
}

static void copy_partial(hd_emitter *e, const hd_rows_copy *c, const hd_rows_place *p,
                         int64_t elem) {
  if (c->order == HD_CHUNKS_DOWN) {
    LLVMValueRef size = hd_emit_chunk_bytes(e, c, p->bytes, c->col[0]);
    LLVMBasicBlockRef join = hd_emit_if(e, is_partial(e, c, size), "partial_column");
    copy_partial_column(e, c, p, size, elem);
    hd_emit_endif(e, join);
    return;
  }
  for (int64_t i = 0; i < c->n_mine; i++) {
    hd_chunk chunk = hd_emit_chunk(e, c, p, i, NULL);
    if (chunk.mine)
      chunk.size = hd_emit_select(e, chunk.mine, chunk.size, hd_emit_i32(e, 0));
    LLVMBasicBlockRef join = hd_emit_if(e, is_partial(e, c, chunk.size), "partial_chunk");
    copy_elements(e, &chunk, c->vec, elem);
    hd_emit_endif(e, join);
  }
}

/* ---- the op ---- */

/* Loads, then stores. A chunk that is not this thread's is neither loaded nor stored. */
static void copy_batch(hd_emitter *e, const struct width *w, hd_chunk *chunk, int64_t n) {
  LLVMValueRef v[BATCH_BYTES / 2][4];
  for (int64_t i = 0; i < n; i++) {
    if (chunk[i].mine)
      chunk[i].size = hd_emit_select(e, chunk[i].mine, chunk[i].size, hd_emit_i32(e, 0));
    /* A chunk that does not exist completely is loaded as zeros. */
    hd_emit_load_vec(e, w->vec, chunk[i].src, hd_emit_eqi(e, chunk[i].size, w->vec), v[i]);
  }
  for (int64_t i = 0; i < n; i++) {
    LLVMValueRef always = LLVMConstInt(e->i1, 1, false);
    LLVMValueRef args[6] = {chunk[i].dst, chunk[i].mine ? chunk[i].mine : always};
    for (int r = 0; r < w->n_regs; r++)
      args[2 + r] = v[i][r];
    const char *text = hd_arena_printf(&e->arena, w->store, (long long)chunk[i].offset);
    hd_emit_asm(e, e->none, text, w->store_constraints, args, 2 + w->n_regs, HD_ASM_MEMORY);
  }
}

/* Chunks first to first + n - 1: all loads, then all stores. Returns the last chunk's source. */
static LLVMValueRef copy_chunks(hd_emitter *e, const struct width *w, const hd_rows_copy *c,
                                const hd_rows_place *p, int64_t first, int64_t n,
                                hd_chunk *chunk) {
  for (int64_t i = first; i < first + n; i++) {
    bool chained = i && c->order == HD_CHUNKS_DOWN;
    LLVMValueRef src = chained ? hd_emit_global_at(e, chunk[i - 1].src, p->step) : NULL;
    chunk[i] = hd_emit_chunk(e, c, p, i, src);
  }
  copy_batch(e, w, chunk + first, n);
  return chunk[first + n - 1].src;
}

/* Many batches of a regular copy become a loop: if unrolled, their addresses and loads in flight
 * would not fit into a producer's registers. */
static void copy_loop(hd_emitter *e, const struct width *w, const hd_rows_copy *c,
                      const hd_rows_place *p, int64_t batch, hd_chunk *chunk) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = hd_emit_block(e, "batches");
  int64_t turns = c->n_mine / batch;
  hd_emit_jump(e, loop);
  hd_emit_at(e, loop);
  LLVMValueRef turn = LLVMBuildPhi(e->b, e->i32, "batch");
  LLVMValueRef src = LLVMBuildPhi(e->b, e->global_ptr, "src");
  hd_rows_place now = *p;
  now.source = src;
  now.slot = hd_emit_add(e, p->slot, hd_emit_muli(e, turn, batch / c->period * c->stride));
  now.rows = hd_emit_sub(e, p->rows, hd_emit_muli(e, turn, batch * c->row_step));
  LLVMValueRef last = copy_chunks(e, w, c, &now, 0, batch, chunk);
  LLVMValueRef next = hd_emit_addi(e, turn, 1), after = hd_emit_global_at(e, last, p->step);
  LLVMBasicBlockRef done = hd_emit_block(e, "copied"), end = LLVMGetInsertBlock(e->b);
  LLVMAddIncoming(turn, (LLVMValueRef[]){hd_emit_i32(e, 0), next},
                  (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMAddIncoming(src, (LLVMValueRef[]){p->source, after}, (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, next, hd_emit_i32(e, turns)), loop, done);
  hd_emit_at(e, done);
}

/* A loop over groups of 8 rows, in which each thread copies fixed columns of every row. All
 * addresses in a group follow from one address by XOR with the row's swizzle, since slots, panels
 * and groups start at multiples of 1024 bytes. */
static void copy_row_groups(hd_emitter *e, const struct width *w, const hd_rows_copy *c,
                            const hd_rows_place *p, const hd_rows *rows, hd_chunk *chunk) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = hd_emit_block(e, "row_groups");
  int64_t turns = c->per_row / c->threads, across = c->threads * c->vec;
  LLVMValueRef first =
      hd_emit_add(e, p->slot, hd_emit_rows_byte(e, rows, hd_emit_i32(e, 0), c->col[0]));
  LLVMValueRef size[MAX_CHUNKS_PER_ROW];
  for (int64_t t = 0; t < turns; t++)
    size[t] = hd_emit_chunk_bytes(e, c, p->bytes, hd_emit_addi(e, c->col[0], t * across));
  hd_emit_jump(e, loop);
  hd_emit_at(e, loop);
  LLVMValueRef group = LLVMBuildPhi(e->b, e->i32, "group");
  LLVMValueRef src = LLVMBuildPhi(e->b, e->global_ptr, "src"), row = src;
  LLVMValueRef left = hd_emit_sub(e, p->rows, hd_emit_muli(e, group, HD_SWIZZLE_ROWS));
  LLVMValueRef dst =
      hd_emit_add(e, first, hd_emit_muli(e, group, HD_SWIZZLE_ROWS * rows->panel));
  for (int64_t r = 0; r < HD_SWIZZLE_ROWS; r++) {
    LLVMValueRef swizzled = hd_emit_xor(e, dst, hd_emit_i32(e, r << 4 & rows->mask));
    for (int64_t t = 0; t < turns; t++)
      chunk[t] = (hd_chunk){.src = hd_emit_global_at(e, row, hd_emit_i64(e, t * across)),
                            .dst = swizzled,
                            .offset = r * rows->panel +
                                      t * (across / rows->panel) * rows->rows * rows->panel,
                            .size = hd_emit_select(e, hd_emit_lt(e, hd_emit_i32(e, r), left),
                                                   size[t], hd_emit_i32(e, 0))};
    copy_batch(e, w, chunk, turns);
    row = hd_emit_global_at(e, row, hd_emit_get1(e, hd_copy_rows_pitch(c->op)));
  }
  LLVMValueRef next = hd_emit_addi(e, group, 1);
  LLVMBasicBlockRef done = hd_emit_block(e, "copied"), end = LLVMGetInsertBlock(e->b);
  LLVMAddIncoming(group, (LLVMValueRef[]){hd_emit_i32(e, 0), next},
                  (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMAddIncoming(src, (LLVMValueRef[]){p->source, row}, (LLVMBasicBlockRef[]){before, end}, 2);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, next, hd_emit_i32(e, c->rows / HD_SWIZZLE_ROWS)), loop, done);
  hd_emit_at(e, done);
}

/* Whether the copy can be divided into groups of 8 rows. */
static bool has_row_groups(hd_emitter *e, const hd_rows_copy *c, hd_rows *rows) {
  const hd_op *buffer = hd_emit_def(hd_copy_rows_buffer(c->op));
  if (c->order != HD_CHUNKS_ALONG || !hd_op_is(buffer, HD_ATTR_LAYOUT, "rows") ||
      hd_emit_rows(e, c->op, hd_copy_rows_buffer(c->op), rows) != HEDDLE_OK)
    return false;
  int64_t group = HD_SWIZZLE_ROWS * rows->panel;
  return c->rows % HD_SWIZZLE_ROWS == 0 && rows->panel == 128 && rows->slot_bytes % group == 0 &&
         rows->rows * rows->panel % group == 0 && hd_op_int(c->op, HD_ATTR_OFFSET, 0) == 0 &&
         hd_op_int(buffer, HD_ATTR_ALIGN, 0) % group == 0 &&
         c->threads * c->vec % rows->panel == 0 && c->per_row / c->threads <= MAX_CHUNKS_PER_ROW;
}

/* DOWN, with several whole batches, each a whole number of swizzle periods. */
static bool has_batches(const hd_rows_copy *c, int64_t batch) {
  return c->order == HD_CHUNKS_DOWN && c->period && batch % c->period == 0 && !c->last_is_mine &&
         c->n_mine > batch && c->n_mine % batch == 0;
}

heddle_status hd_emit_op_copy_ld_st(hd_emitter *e, const hd_op *op) {
  hd_rows_copy copy;
  hd_rows rows;
  HD_TRY(hd_emit_plan_rows(e, op, &copy));
  const struct width *w = find_width(copy.vec);
  const heddle_elem_info *info =
      heddle_elem_get(hd_op_elem(hd_emit_def(hd_copy_rows_buffer(op)), HD_ATTR_TYPE));
  int64_t elem = info && info->container_bits >= 8 ? info->container_bits / 8 : 1;
  /* Chunks in flight: as many as the role's registers can hold. */
  int64_t registers = e->role.op ? hd_op_int(e->role.op, HD_ATTR_REGISTERS, 0) : 0;
  int64_t bytes = registers && registers < 64 ? BATCH_BYTES / 2 : BATCH_BYTES;
  int64_t batch = bytes / (w->vec < 8 ? 8 : w->vec);
  hd_rows_place place = hd_emit_place_rows(e, &copy);
  hd_chunk *chunk = HD_NEW_ARRAY(&e->arena, hd_chunk, copy.n_mine);
  if (has_batches(&copy, batch))
    copy_loop(e, w, &copy, &place, batch, chunk);
  else if (has_row_groups(e, &copy, &rows))
    copy_row_groups(e, w, &copy, &place, &rows, chunk);
  else
    for (int64_t i = 0; i < copy.n_mine; i += batch)
      copy_chunks(e, w, &copy, &place, i, copy.n_mine - i < batch ? copy.n_mine - i : batch, chunk);
  if (w->vec > elem)
    copy_partial(e, &copy, &place, elem);
  return HEDDLE_OK;
}
