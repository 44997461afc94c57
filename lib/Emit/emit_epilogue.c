/* The epilogue of one element: D = act(alpha * (acc * scale_a * scale_b) + beta * C + bias). */
#include <string.h>

#include "Emit/emit_llvm.h"
#include "Emit/emit_strip.h"
#include "Support/activations.h"

/* ---- addresses and bounds ---- */

LLVMValueRef hd_emit_inside(hd_emitter *e, const hd_strip *s, int32_t b, int h, int j) {
  return hd_emit_lt(e, hd_emit_i32(e, hd_strip_column(s, b, j)), s->cols_left[h]);
}

hd_place hd_emit_place(hd_emitter *e, const hd_strip *s, const hd_view *view, int32_t b, int h,
                       int j) {
  int32_t column = hd_strip_column(s, b, j);
  if (!view->col_major)
    return (hd_place){h ? view->below : view->base, column * view->bytes, NULL};
  if (s->to) {
    LLVMValueRef x = hd_emit_addi(e, hd_emit_sub(e, s->col, s->col0), j);
    hd_place at = hd_emit_in_column(e, s, view->base, hd_emit_scattered(e, s, b, x));
    at.bytes = 8 * h * view->bytes;
    return at;
  }
  LLVMValueRef across = hd_emit_muli(e, view->ld_bytes, column);
  return (hd_place){hd_emit_global_at(e, view->base, across), 8 * h * view->bytes, NULL};
}

LLVMValueRef hd_emit_scattered(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef x) {
  enum { BLOCK = 8, BLOCKS = HD_LANES / BLOCK };
  return hd_emit_shfl_from(e, s->to[b / BLOCKS], hd_emit_addi(e, x, b % BLOCKS * BLOCK));
}

hd_place hd_emit_in_column(hd_emitter *e, const hd_strip *s, LLVMValueRef ptr,
                           LLVMValueRef column) {
  LLVMValueRef across = hd_emit_mul(e, hd_emit_widen(e, column), s->d.ld_bytes);
  return (hd_place){hd_emit_global_at(e, ptr, across), 0,
                    LLVMBuildICmp(e->b, LLVMIntULT, column, s->n_columns, "")};
}

/* ---- loads ---- */

static LLVMTypeRef bits_type(hd_emitter *e, int64_t bytes) {
  return bytes == 1 ? e->i8 : bytes == 2 ? e->i16 : e->i32;
}

/* inside NULL: the element is known to be inside. */
static LLVMValueRef load_element(hd_emitter *e, hd_place at, heddle_elem elem, bool integer,
                                 LLVMValueRef inside) {
  int64_t bytes = heddle_elem_get(elem)->container_bits / 8;
  LLVMValueRef bits;
  if (inside) {
    /* A predicated load: 0 outside of the matrix, where memory must not be accessed. */
    bool word = bytes == 4;
    const char *text =
        hd_arena_printf(&e->arena, "mov.b%d $0, 0;\n\t@$2 ld.global.b%d $0, [$1+%lld];",
                        word ? 32 : 16, (int)bytes * 8, (long long)at.bytes);
    bits = hd_emit_asm(e, word ? e->i32 : e->i16, text, word ? "=&r,l,b" : "=&h,l,b",
                       (LLVMValueRef[]){at.ptr, inside}, 2, HD_ASM_MEMORY);
    if (bytes == 1)
      bits = LLVMBuildTrunc(e->b, bits, e->i8, "");
  } else {
    LLVMValueRef ptr = hd_emit_global_at(e, at.ptr, hd_emit_i64(e, at.bytes));
    bits = LLVMBuildLoad2(e->b, bits_type(e, bytes), ptr, "");
    LLVMSetAlignment(bits, (unsigned)bytes);
  }
  return hd_emit_from_bits(e, elem, bits, integer);
}

/* A vector along m: the elements of this lane's two rows. */
static void load_rows(hd_emitter *e, const hd_strip *s, LLVMValueRef base, heddle_elem elem,
                      bool integer, LLVMValueRef out[2]) {
  int64_t bytes = heddle_elem_get(elem)->container_bits / 8;
  LLVMValueRef first = hd_emit_global_at(e, base, hd_emit_muli(e, hd_emit_widen(e, s->row), bytes));
  hd_place second = {first, 8 * bytes, NULL};
  if (s->pair) { /* the elements of up follow all elements of the gate */
    LLVMValueRef half = hd_emit_muli(e, hd_emit_widen(e, s->m), bytes);
    second = (hd_place){hd_emit_global_at(e, first, half), 0, NULL};
  }
  out[0] = load_element(e, (hd_place){first, 0, NULL}, elem, integer, s->row_ok[0]);
  out[1] = load_element(e, second, elem, integer, s->row_ok[1]);
}

/* A vector along n from this lane's first column on. */
static hd_along open_along(hd_emitter *e, const hd_strip *s, LLVMValueRef base, heddle_elem elem) {
  hd_along v = {.elem = elem, .bytes = heddle_elem_get(elem)->container_bits / 8};
  v.at = hd_emit_global_at(e, base, hd_emit_muli(e, hd_emit_widen(e, s->col), v.bytes));
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, v.at, e->i64, "");
  v.paired = hd_emit_eqi(e, hd_emit_and(e, address, hd_emit_i64(e, 2 * v.bytes - 1)), 0);
  return v;
}

/* Two adjacent elements of 4 bytes: one load if their address is aligned. */
static void load_wide_pair(hd_emitter *e, const hd_along *v, int32_t column,
                           LLVMValueRef const inside[2], LLVMValueRef bits[2]) {
  LLVMValueRef both = LLVMBuildAnd(e->b, inside[1], v->paired, "");
  LLVMValueRef alone = LLVMBuildNot(e->b, both, "");
  LLVMValueRef args[] = {v->at, both, LLVMBuildAnd(e->b, inside[0], alone, ""),
                         LLVMBuildAnd(e->b, inside[1], alone, "")};
  LLVMTypeRef two[] = {e->i32, e->i32};
  int offset = column * (int)v->bytes;
  const char *text = hd_arena_printf(&e->arena,
                                     "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\t"
                                     "@$3 ld.global.v2.b32 {$0, $1}, [$2+%d];\n\t"
                                     "@$4 ld.global.b32 $0, [$2+%d];\n\t"
                                     "@$5 ld.global.b32 $1, [$2+%d];",
                                     offset, offset, offset + 4);
  LLVMValueRef got = hd_emit_asm(e, LLVMStructTypeInContext(e->llvm, two, 2, false), text,
                                 "=&r,=&r,l,b,b,b", args, 4, HD_ASM_MEMORY);
  for (unsigned j = 0; j < 2; j++)
    bits[j] = LLVMBuildExtractValue(e->b, got, j, "");
}

/* Two adjacent elements that exist and are aligned as a pair: one load without predicates. */
static void load_whole_pair(hd_emitter *e, const hd_along *v, bool integer, int32_t column,
                            LLVMValueRef out[2]) {
  static const struct form {
    const char *text, *constraints;
  } forms[] = {[1] = {"ld.global.b16 $0, [$1+%d];", "=h,l"},
               [2] = {"ld.global.b32 $0, [$1+%d];", "=r,l"},
               [4] = {"ld.global.v2.b32 {$0, $1}, [$2+%d];", "=r,=r,l"}};
  LLVMTypeRef two[] = {e->i32, e->i32};
  LLVMTypeRef type = v->bytes == 1   ? e->i16
                     : v->bytes == 2 ? e->i32
                                     : LLVMStructTypeInContext(e->llvm, two, 2, false);
  const char *text = hd_arena_printf(&e->arena, forms[v->bytes].text, (int)(column * v->bytes));
  LLVMValueRef at = v->at;
  LLVMValueRef got =
      hd_emit_asm(e, type, text, forms[v->bytes].constraints, &at, 1, HD_ASM_MEMORY);
  hd_pair pair = {{got}, 1};
  if (v->bytes == 4)
    pair = (hd_pair){{LLVMBuildExtractValue(e->b, got, 0, ""),
                      LLVMBuildExtractValue(e->b, got, 1, "")}, 2};
  for (int j = 0; j < 2; j++)
    out[j] = hd_emit_from_bits(e, v->elem, hd_emit_unpack(e, v->elem, pair, j), integer);
}

/* The elements of two adjacent columns. */
static void load_pair(hd_emitter *e, const hd_along *v, bool integer, int32_t column,
                      LLVMValueRef const inside[2], LLVMValueRef out[2]) {
  if (v->bytes == 4) {
    LLVMValueRef bits[2];
    load_wide_pair(e, v, column, inside, bits);
    for (int j = 0; j < 2; j++)
      out[j] = hd_emit_from_bits(e, v->elem, bits[j], integer);
    return;
  }
  for (int j = 0; j < 2; j++)
    out[j] =
        load_element(e, (hd_place){v->at, (column + j) * v->bytes, NULL}, v->elem, integer,
                     inside[j]);
}

enum { WIDE = 16 };

/* n words of 32 bits; zeros unless `inside`. */
static void load_words(hd_emitter *e, hd_place at, int32_t n, LLVMValueRef inside,
                       LLVMValueRef *words) {
  static const struct form {
    const char *text, *constraints;
  } forms[] = {{0}, {"@$2 ld.global.b32 $0, [$1+%lld];", "=&r,l,b"},
               {"@$3 ld.global.v2.b32 {$0, $1}, [$2+%lld];", "=&r,=&r,l,b"}, {0},
               {"@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4+%lld];", "=&r,=&r,=&r,=&r,l,b"}};
  LLVMTypeRef types[] = {e->i32, e->i32, e->i32, e->i32};
  LLVMTypeRef type = n > 1 ? LLVMStructTypeInContext(e->llvm, types, (unsigned)n, false) : e->i32;
  hd_strbuf text = {0};
  for (int32_t i = 0; i < n; i++)
    hd_strbuf_printf(&text, "mov.b32 $%d, 0;\n\t", (int)i);
  hd_strbuf_printf(&text, forms[n].text, (long long)at.bytes);
  LLVMValueRef got = hd_emit_asm(e, type, hd_strbuf_text(&text), forms[n].constraints,
                                 (LLVMValueRef[]){at.ptr, inside}, 2, HD_ASM_MEMORY);
  hd_strbuf_free(&text);
  for (int32_t i = 0; i < n; i++)
    words[i] = n > 1 ? LLVMBuildExtractValue(e->b, got, (unsigned)i, "") : got;
}

/* Loads a lane's run, which is contiguous and aligned: the launch has checked that. */
static void load_run(hd_emitter *e, const hd_strip *s, hd_place at, heddle_elem elem,
                     bool integer, LLVMValueRef inside, LLVMValueRef *out) {
  int32_t bits = heddle_elem_get(elem)->container_bits, bytes = s->run * bits / 8;
  int32_t n = bytes < WIDE ? bytes / 4 : WIDE / 4, each = 32 / bits;
  for (int32_t from = 0; from < bytes; from += 4 * n) {
    LLVMValueRef words[WIDE / 4];
    load_words(e, (hd_place){at.ptr, at.bytes + from, NULL}, n, inside, words);
    for (int32_t i = 0; i < n * each; i++) {
      LLVMValueRef x = LLVMBuildLShr(e->b, words[i / each], hd_emit_i32(e, i % each * bits), "");
      x = bits == 32 ? x : LLVMBuildTrunc(e->b, x, bits_type(e, bits / 8), "");
      *out++ = hd_emit_from_bits(e, elem, x, integer);
    }
  }
}

static void read_along(hd_emitter *e, const hd_strip *s, const hd_along *v, bool integer, int32_t b,
                       bool checked, LLVMValueRef *out) {
  int32_t column = hd_strip_column(s, b, 0);
  LLVMValueRef inside[2];
  for (int j = 0; j < 2; j++)
    inside[j] = checked ? hd_emit_lt(e, hd_emit_addi(e, s->col, column + j), s->n)
                        : LLVMConstInt(e->i1, 1, false);
  if (s->run > 2)
    load_run(e, s, (hd_place){v->at, column * v->bytes, NULL}, v->elem, integer, inside[0], out);
  else if (v->whole)
    load_whole_pair(e, v, integer, column, out);
  else
    load_pair(e, v, integer, column, inside, out);
}

/* Row h of C. */
static void read_c(hd_emitter *e, const hd_strip *s, int32_t b, int h, bool checked,
                   LLVMValueRef *out) {
  if (s->run > 2 && !s->c.col_major) {
    LLVMValueRef inside = checked ? hd_emit_inside(e, s, b, h, 0) : LLVMConstInt(e->i1, 1, false);
    load_run(e, s, hd_emit_place(e, s, &s->c, b, h, 0), s->c.elem, s->integer, inside, out);
    return;
  }
  for (int32_t i = 0; i < s->run; i++)
    out[i] = load_element(e, hd_emit_place(e, s, &s->c, b + i / 2, h, i % 2), s->c.elem, s->integer,
                          checked ? hd_emit_inside(e, s, b + i / 2, h, i % 2) : NULL);
}

void hd_emit_read_inputs(hd_emitter *e, const hd_strip *s, int32_t b, bool checked, hd_inputs *in) {
  LLVMValueRef bias[HD_MOST_RUN], scale[HD_MOST_RUN], c[2][HD_MOST_RUN];
  if (s->finished && s->factors)
    return hd_emit_read_factors(e, s, b, in->scale_b);
  if (s->has_bias_n)
    read_along(e, s, &s->bias_n, s->integer, b, checked, bias);
  if (s->scale_b.at)
    read_along(e, s, &s->scale_b, false, b, checked, scale);
  for (int32_t i = 0; s->factors && i < s->run; i += 2)
    hd_emit_read_factors(e, s, b + i / 2, scale + i);
  for (int h = 0; h < 2 && s->has_c && !s->c_words; h++)
    read_c(e, s, b, h, checked, c[h]);
  for (int32_t i = 0; i < s->run; i++) {
    hd_inputs *block = &in[i / 2];
    block->bias[i % 2] = s->has_bias_n ? bias[i] : NULL;
    block->scale_b[i % 2] = s->scale_b.at || s->factors ? scale[i] : s->scale_b_one;
    for (int h = 0; h < 2; h++)
      block->c[h][i % 2] = s->has_c && !s->c_words ? c[h][i] : NULL;
  }
  if (s->c_words)
    hd_emit_read_c_words(e, s, b, in->c_word);
}

/* ---- vectors of several blocks ---- */

bool hd_emit_reads_vectors(const hd_strip *s) {
  return (s->has_bias_n || s->scale_b.at) && !s->has_c && !s->user;
}

bool hd_emit_reads_ahead(const hd_strip *s) { return hd_emit_reads_vectors(s) || s->c_words; }

/* If several CTAs share an SM, or D is stored after aux, there are not enough registers for the
 * values of both paths. */
bool hd_emit_reads_at_once(const hd_emitter *e, const hd_strip *s) {
  return hd_emit_reads_vectors(s) && s->run == 2 && !hd_op_has(s->op, HD_ATTR_AUX) &&
         hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1) == 1;
}

/* i1: the columns before block `end` exist, and pairs are aligned. Warp-uniform. */
static LLVMValueRef vectors_are_whole(hd_emitter *e, const hd_strip *s, int32_t end) {
  enum { BLOCK = 8 };
  LLVMValueRef whole = hd_emit_lt(e, hd_emit_addi(e, s->col0, BLOCK * end - 1), s->n);
  if (s->has_bias_n)
    whole = hd_emit_and(e, whole, s->bias_n.paired);
  return s->scale_b.at ? hd_emit_and(e, whole, s->scale_b.paired) : whole;
}

/* Merges the values that were loaded on the two paths. */
static void join_inputs(hd_emitter *e, hd_inputs *in, const hd_inputs *other,
                        const LLVMBasicBlockRef from[2]) {
  for (int j = 0; j < 2; j++) {
    LLVMValueRef *mine[] = {&in->bias[j], &in->scale_b[j]};
    LLVMValueRef theirs[] = {other->bias[j], other->scale_b[j]};
    for (int i = 0; i < 2; i++) {
      if (*mine[i] == theirs[i])
        continue;
      LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(theirs[i]), "");
      LLVMAddIncoming(phi, (LLVMValueRef[]){*mine[i], theirs[i]}, (LLVMBasicBlockRef *)from, 2);
      *mine[i] = phi;
    }
  }
}

void hd_emit_read_vectors(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, hd_inputs *in) {
  hd_strip whole = *s;
  whole.bias_n.whole = whole.scale_b.whole = true;
  hd_inputs *checked = HD_NEW_ARRAY(&e->arena, hd_inputs, n);
  LLVMBasicBlockRef from[2], join = hd_emit_block(e, "read"), edge = hd_emit_block(e, "edge");
  LLVMBasicBlockRef inside = hd_emit_block(e, "inside");
  LLVMBuildCondBr(e->b, vectors_are_whole(e, s, b + n), inside, edge);
  hd_emit_at(e, inside);
  for (int32_t i = 0; i < n; i++)
    hd_emit_read_inputs(e, &whole, b + i, false, &in[i]);
  from[0] = LLVMGetInsertBlock(e->b);
  hd_emit_jump(e, join);
  LLVMMoveBasicBlockAfter(edge, from[0]);
  hd_emit_at(e, edge);
  for (int32_t i = 0; i < n; i++)
    hd_emit_read_inputs(e, s, b + i, true, &checked[i]);
  from[1] = LLVMGetInsertBlock(e->b);
  hd_emit_jump(e, join);
  LLVMMoveBasicBlockAfter(join, from[1]);
  hd_emit_at(e, join);
  for (int32_t i = 0; i < n; i++)
    join_inputs(e, &in[i], &checked[i], from);
}

/* ---- arithmetic ---- */

static LLVMValueRef add_integer(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                   LLVMValueRef x, int h, int j) {
  if (in->c[h][j])
    x = hd_emit_add(e, x, in->c[h][j]);
  if (s->has_bias)
    x = hd_emit_add(e, x, s->has_bias_n ? in->bias[j] : s->bias_m[h]);
  return x;
}

/* One rounding per term: C is added by fma if it is scaled. */
static LLVMValueRef add_float(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                 LLVMValueRef x, int h, int j) {
  if (LLVMTypeOf(x) == e->i32)
    x = LLVMBuildSIToFP(e->b, x, e->f32, "");
  if (s->has_scale_a)
    x = LLVMBuildFMul(e->b, x, s->scale_a[h], "");
  if (in->scale_b[j])
    x = LLVMBuildFMul(e->b, x, in->scale_b[j], "");
  if (s->alpha)
    x = LLVMBuildFMul(e->b, x, s->alpha, "");
  if (in->c[h][j])
    x = s->beta ? hd_emit_fma(e, s->beta, in->c[h][j], x) : LLVMBuildFAdd(e->b, x, in->c[h][j], "");
  if (s->has_bias)
    x = LLVMBuildFAdd(e->b, x, s->has_bias_n ? in->bias[j] : s->bias_m[h], "");
  return x;
}

/* The argument of the activation. */
static LLVMValueRef before_act(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b,
                               int h, int j) {
  LLVMValueRef x = s->acc[4 * b + 2 * h + j];
  return s->integer ? add_integer(e, s, in, x, h, j) : add_float(e, s, in, x, h, j);
}

LLVMValueRef hd_emit_finish_by_user(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                    int32_t b, int h, int j) {
  LLVMValueRef args[5] = {before_act(e, s, in, b, h, j)};
  unsigned n = 1;
  if (s->pair)
    args[n++] = before_act(e, s, in, b, 1, j);
  args[n++] = hd_emit_addi(e, s->row, 8 * h);
  args[n++] = hd_emit_addi(e, s->col, hd_strip_column(s, b, j));
  args[n++] = s->user_ptr;
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(s->user), s->user, args, n, "");
}

static LLVMValueRef already_finished(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                     int32_t b, int h, int j) {
  LLVMValueRef acc = s->acc[4 * b + 2 * h + j];
  return s->factors ? LLVMBuildFMul(e->b, acc, in->scale_b[j], "") : acc;
}

static void relu_of_integers(hd_emitter *e, LLVMValueRef x[2]) {
  for (int j = 0; j < 2; j++)
    x[j] = hd_emit_max(e, x[j], hd_emit_i32(e, 0));
}

static void activate(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b,
                     LLVMValueRef x[2]) {
  LLVMValueRef up[2];
  for (int j = 0; s->pair && j < 2; j++)
    up[j] = before_act(e, s, in, b, 1, j);
  hd_emit_activation(e, s->act, s->coarse, x);
  for (int j = 0; s->pair && j < 2; j++)
    x[j] = LLVMBuildFMul(e->b, x[j], up[j], "");
}

void hd_emit_finish(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b, int h,
                    LLVMValueRef out[2]) {
  hd_inputs taken;
  if (s->c_words) {
    taken = *in;
    hd_emit_take_c_words(e, s, in->c_word[h], taken.c[h]);
    in = &taken;
  }
  for (int j = 0; j < 2; j++)
    out[j] = s->finished ? already_finished(e, s, in, b, h, j)
             : s->user   ? hd_emit_finish_by_user(e, s, in, b, h, j)
                         : before_act(e, s, in, b, h, j);
  if (s->finished || s->user)
    return;
  if (!s->integer)
    activate(e, s, in, b, out);
  else if (strcmp(s->act, "relu") == 0)
    relu_of_integers(e, out);
}

/* ---- attributes and arguments of the op ---- */

/* A view of matrix `name` with pitch `ld` (elements, i64) from this lane's first element on. */
static hd_view make_view(hd_emitter *e, const hd_strip *s, LLVMValueRef base, LLVMValueRef ld,
                         heddle_elem elem, bool col_major) {
  hd_view v = {.elem = elem, .bytes = heddle_elem_get(elem)->container_bits / 8,
               .col_major = col_major};
  v.ld_bytes = hd_emit_muli(e, ld, v.bytes);
  LLVMValueRef at[2];
  for (int lane = 0; lane < 2; lane++) {
    LLVMValueRef row = hd_emit_widen(e, lane ? s->row : s->row0);
    LLVMValueRef col = s->to ? hd_emit_i64(e, 0) : hd_emit_widen(e, lane ? s->col : s->col0);
    LLVMValueRef across = hd_emit_mul(e, col_major ? col : row, v.ld_bytes);
    LLVMValueRef along = hd_emit_muli(e, col_major ? row : col, v.bytes);
    at[lane] = hd_emit_global_at(e, base, hd_emit_add(e, across, along));
  }
  v.origin = at[0];
  v.base = at[1];
  v.below = col_major ? NULL : hd_emit_global_at(e, v.base, hd_emit_muli(e, v.ld_bytes, 8));
  return v;
}

/* Each load reads the indices of 32 columns. All loads are in flight together, after the main
 * loop. */
static heddle_status open_scatter(hd_emitter *e, hd_strip *s) {
  enum { BLOCK = 8 };
  LLVMValueRef at;
  if (!hd_op_has(s->op, HD_ATTR_SCATTER_D))
    return HEDDLE_OK;
  HD_TRY(hd_emit_arg(e, s->op, HD_ARG_SCATTER_D, &at));
  HD_TRY(hd_emit_size(e, s->op, HD_ARG_N, HD_ATTR_N, &s->n_columns));
  int32_t n = (s->n_blocks * BLOCK + HD_LANES - 1) / HD_LANES;
  s->to = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  LLVMValueRef first = hd_emit_add(e, s->col0, e->lane), left = hd_emit_sub(e, s->n, first);
  at = hd_emit_global_at(e, at, hd_emit_muli(e, hd_emit_widen(e, first), 4));
  for (int32_t i = 0; i < n; i++)
    s->to[i] = hd_emit_index(e, at, left, i * HD_LANES);
  return HEDDLE_OK;
}

static heddle_status open_c(hd_emitter *e, hd_strip *s) {
  LLVMValueRef c, ldc;
  heddle_elem elem = hd_op_elem(s->op, HD_ATTR_C_TYPE);
  if (!hd_emit_can_load(elem))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, s->op->loc, "emit.c",
                    "C cannot be read as this type; legal: f16, bf16, f32, s32, s8 or u8");
  HD_TRY(hd_emit_matrix(e, s->op, HD_ARG_C, HD_ARG_STRIDE_C, elem, &c));
  HD_TRY(hd_emit_arg(e, s->op, HD_ARG_LDC, &ldc));
  s->c = make_view(e, s, c, ldc, elem, hd_op_is(s->op, HD_ATTR_C_ORDER, "col_major"));
  if (s->c.col_major && s->c.bytes == 2 && s->run == 2 && !s->pair && !s->to &&
      !hd_act_is_user(s->act))
    hd_emit_open_c_words(e, s);
  return HEDDLE_OK;
}

static bool is_read(const hd_emitter *e, const hd_strip *s) {
  return e->ahead && e->ahead->op == s->op;
}

/* Takes values that were already loaded for this op, by h. Returns false if there are none. */
static bool take_ahead(const LLVMValueRef ahead[2], LLVMValueRef out[2]) {
  for (int h = 0; h < 2; h++)
    out[h] = ahead ? ahead[h] : NULL;
  return ahead != NULL;
}

static heddle_status open_bias(hd_emitter *e, hd_strip *s) {
  LLVMValueRef bias;
  heddle_elem elem = hd_op_elem(s->op, HD_ATTR_BIAS_TYPE);
  if (!hd_emit_can_load(elem))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, s->op->loc, "emit.bias",
                    "bias cannot be read as this type; legal: f16, bf16, f32, s32, s8 or u8");
  HD_TRY(hd_emit_matrix(e, s->op, HD_ARG_BIAS, HD_ARG_STRIDE_BIAS, elem, &bias));
  if (s->has_bias_n)
    s->bias_n = open_along(e, s, bias, elem);
  else if (!take_ahead(is_read(e, s) ? e->ahead->bias_m : NULL, s->bias_m))
    load_rows(e, s, bias, elem, s->integer, s->bias_m);
  return HEDDLE_OK;
}

static LLVMValueRef load_one(hd_emitter *e, LLVMValueRef at) {
  return load_element(e, (hd_place){at, 0, NULL}, HEDDLE_F32, false, NULL);
}

static heddle_status open_scales(hd_emitter *e, hd_strip *s) {
  LLVMValueRef a, b;
  if (s->has_scale_a)
    HD_TRY(hd_emit_matrix(e, s->op, HD_ARG_SCALE_A, HD_ARG_STRIDE_SCALE_A, HEDDLE_F32, &a));
  bool statistic = hd_op_has(s->op, HD_ATTR_STATISTIC);
  if (statistic)
    s->factors = hd_emit_factors(e, s);
  else if (s->has_scale_b)
    HD_TRY(hd_emit_matrix(e, s->op, HD_ARG_SCALE_B, HD_ARG_STRIDE_SCALE_B, HEDDLE_F32, &b));
  if (s->has_scale_a && hd_op_has(s->op, HD_ATTR_SCALE_A_ONE))
    s->scale_a[0] = s->scale_a[1] = load_one(e, a);
  else if (s->has_scale_a && !take_ahead(is_read(e, s) ? e->ahead->scale_a : NULL, s->scale_a))
    load_rows(e, s, a, HEDDLE_F32, false, s->scale_a);
  if (s->has_scale_b && hd_op_has(s->op, HD_ATTR_SCALE_B_ONE))
    s->scale_b_one = load_one(e, b);
  else if (s->has_scale_b && !statistic)
    s->scale_b = open_along(e, s, b, HEDDLE_F32);
  if (hd_op_has(s->op, HD_ATTR_ALPHA))
    HD_TRY(hd_emit_arg(e, s->op, HD_ARG_ALPHA, &s->alpha));
  if (hd_op_has(s->op, HD_ATTR_BETA))
    HD_TRY(hd_emit_arg(e, s->op, HD_ARG_BETA, &s->beta));
  return HEDDLE_OK;
}

/* The user's function gets the f32 result, or the i32 result of an epilogue that stays integer. */
static heddle_status open_user(hd_emitter *e, hd_strip *s) {
  const char *name = hd_op_str(s->op, HD_ATTR_USER);
  if (!name)
    return hd_error(e->ctx, HEDDLE_INVALID, s->op->loc, "emit.user",
                    "act = user without the function; legal: user = \"NAME\"");
  if (s->acc_elem == HEDDLE_S32 && !s->integer)
    return hd_error(
        e->ctx, HEDDLE_UNSUPPORTED, s->op->loc, "emit.user",
        "the user function takes the unscaled i32 sum of an integer product; legal: no alpha, "
        "beta, scales, and only integer C and bias");
  HD_TRY(hd_emit_find_user(e, s->op, name, s->integer ? e->i32 : e->f32, s->pair, &s->user));
  LLVMValueRef user;
  HD_TRY(hd_emit_arg(e, s->op, HD_ARG_USER, &user));
  s->user_ptr = LLVMBuildAddrSpaceCast(e->b, user, e->generic_ptr, "");
  return HEDDLE_OK;
}

static bool is_integer(heddle_elem elem) {
  return elem == HEDDLE_S32 || elem == HEDDLE_S8 || elem == HEDDLE_U8;
}

/* Whether the epilogue of an integer product needs no floating point. */
static bool stays_integer(const hd_strip *s) {
  bool user = hd_act_is_user(s->act);
  bool act = user || (!s->pair && (strcmp(s->act, "none") == 0 || strcmp(s->act, "relu") == 0));
  return s->acc_elem == HEDDLE_S32 && act && !s->has_scale_a && !s->has_scale_b &&
         !hd_op_has(s->op, HD_ATTR_REDUCE) &&
         !hd_op_has(s->op, HD_ATTR_ALPHA) && !hd_op_has(s->op, HD_ATTR_BETA) &&
         (!s->has_c || is_integer(hd_op_elem(s->op, HD_ATTR_C_TYPE))) &&
         (!s->has_bias || is_integer(hd_op_elem(s->op, HD_ATTR_BIAS_TYPE))) &&
         (user || is_integer(s->d.elem));
}

/* The epilogue was applied before: only the factors are left to read. */
static heddle_status open_finished(hd_emitter *e, hd_strip *s) {
  s->has_c = s->has_bias = s->has_bias_n = s->has_scale_a = s->has_scale_b = false;
  if (hd_strip_factors_at(s->op) < s->op->n_operands)
    s->factors = hd_emit_factors(e, s);
  return HEDDLE_OK;
}

heddle_status hd_emit_epilogue_open(hd_emitter *e, hd_strip *s) {
  const hd_op *op = s->op;
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE);
  s->act = hd_op_str(op, HD_ATTR_ACT);
  bool user = hd_act_is_user(s->act);
  s->finished = hd_op_has(op, HD_ATTR_FINISHED);
  if (s->pair && !user)
    s->act = hd_act_name(hd_act_of_gate(s->act));
  s->has_c = hd_op_has(op, HD_ATTR_C);
  s->has_bias = hd_op_has(op, HD_ATTR_BIAS);
  s->has_bias_n = s->has_bias && hd_op_is(op, HD_ATTR_BIAS_ALONG, "n");
  s->has_scale_a = hd_op_has(op, HD_ATTR_SCALE_A);
  s->has_scale_b = hd_op_has(op, HD_ATTR_SCALE_B);
  if (!hd_emit_can_store(e, elem))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.type",
                    "D of type %s on %s; legal: f32, s32, s8, u8, from sm_80 f16, bf16, from sm_89 "
                    "e4m3, e5m2",
                    heddle_elem_get(elem)->name, e->target->name);
  if (!user && !hd_emit_is_activation(s->act))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.act",
                    "unknown activation %s; legal: %s", s->act ? s->act : "", hd_act_list);
  if (op->kind == HD_OP_STORE_TILE) {
    LLVMValueRef d;
    /* The destination is D, the second matrix, or the workspace. */
    hd_arg_kind to = hd_op_arg(hd_store_tile_d(op)->op);
    HD_TRY(hd_emit_matrix(e, op, to, to == HD_ARG_AUX ? HD_ARG_STRIDE_AUX : HD_ARG_STRIDE_D, elem,
                          &d));
    HD_TRY(open_scatter(e, s));
    s->d = make_view(e, s, d, hd_emit_get1(e, hd_store_tile_ldd(op)), elem,
                     hd_op_is(op, HD_ATTR_ORDER, "col_major"));
  }
  s->d.elem = elem;
  s->d.bytes = heddle_elem_get(elem)->container_bits / 8;
  s->coarse = hd_act_is_coarse(elem);
  s->integer = stays_integer(s);
  if (s->finished)
    return open_finished(e, s);
  HD_TRY(open_scales(e, s));
  if (s->has_c)
    HD_TRY(open_c(e, s));
  if (s->has_bias)
    HD_TRY(open_bias(e, s));
  return user ? open_user(e, s) : HEDDLE_OK;
}
