/* Stores of D as inline asm. */
#include "Emit/emit_strip.h"

enum { N_COLUMNS = 3 /* operand number in hd_emit_put_checked */ };

void hd_emit_put_words(hd_emitter *e, hd_place at, LLVMValueRef const *w, int32_t n) {
  static const struct form {
    const char *type, *registers, *constraints;
  } words[] = {{0}, {"b32", "$1", "l,r"}, {"v2.b32", "{$1, $2}", "l,r,r"}, {0},
               {"v4.b32", "{$1, $2, $3, $4}", "l,r,r,r,r"}},
    byte = {"b8", "$1", "l,h"}, half = {"b16", "$1", "l,h"};
  LLVMTypeRef type = LLVMTypeOf(w[0]);
  const struct form *form = type == e->i8 ? &byte : type == e->i16 ? &half : &words[n];
  LLVMValueRef args[6] = {at.ptr};
  for (int32_t i = 0; i < n; i++)
    args[1 + i] = type == e->i8 ? LLVMBuildZExt(e->b, w[i], e->i16, "") : w[i];
  const char *where = "", *constraints = form->constraints;
  if (at.where) {
    args[1 + n] = at.where;
    where = hd_arena_printf(&e->arena, "@$%d ", 1 + (int)n);
    constraints = hd_arena_printf(&e->arena, "%s,b", constraints);
  }
  char *text = hd_arena_printf(&e->arena, "%sst.global.%s [$0+%lld], %s;", where, form->type,
                               (long long)at.bytes, form->registers);
  hd_emit_asm(e, e->none, text, constraints, args, 1 + n + (at.where != NULL), HD_ASM_MEMORY);
}

/* The address of element j of block b. Row-major: an immediate. Column-major: one multiplication by
 * the column; if columns are scattered, operand `to` is the column. */
static void add_address(hd_strbuf *text, const hd_strip *s, int32_t b, int h, int j, int to) {
  const hd_view *d = &s->d;
  int32_t column = hd_strip_column(s, b, j);
  if (s->to)
    hd_strbuf_printf(text, "cvt.u64.u32 at%d, $%d;\n\tmad.lo.s64 at%d, $2, at%d, $0;\n\t", j,
                     to + j, j, j);
  else if (d->col_major)
    hd_strbuf_printf(text, "mad.lo.s64 at%d, $2, %d, $0;\n\t", j, column);
  hd_strbuf_printf(text, "@in%d st.global.b%d [", j, (int)d->bytes * 8);
  if (d->col_major)
    hd_strbuf_printf(text, "at%d+%d], ", j, 8 * h * (int)d->bytes);
  else
    hd_strbuf_printf(text, "$0+%d], ", column * (int)d->bytes);
}

/* Splits operand `at` into two elements; with 4 bytes they are operands `at` and `at` + 1. */
static void add_split(hd_strbuf *text, int64_t bytes, int at) {
  if (bytes == 2)
    hd_strbuf_printf(text, "mov.b32 {x0, x1}, $%d;\n\t", at);
  else if (bytes == 1)
    hd_strbuf_printf(text, "mov.b16 x0, $%d;\n\tshr.u16 x1, $%d, 8;\n\t", at, at);
}

static void add_pair(hd_strbuf *text, const hd_strip *s, int32_t b, int h, int at, int to) {
  int64_t bytes = s->d.bytes;
  add_split(text, bytes, at);
  for (int j = 0; j < 2; j++)
    hd_strbuf_printf(text, "setp.gt.s32 in%d, $1, %d;\n\t", j, hd_strip_column(s, b, j));
  for (int j = 0; s->to && j < 2; j++)
    hd_strbuf_printf(text, "setp.lt.and.u32 in%d, $%d, $%d, in%d;\n\t", j, to + j, N_COLUMNS, j);
  for (int j = 0; j < 2; j++) {
    add_address(text, s, b, h, j, to);
    hd_strbuf_printf(text, bytes == 4 ? "$%d;\n\t" : "x%d;\n\t", bytes == 4 ? at + j : j);
  }
}

/* Operands: $0 base, $1 columns left, $2 pitch (column-major), from $3 on the pairs. With scattered
 * columns, $3 is the number of columns of D; two columns of D per block follow, then the pairs. */
void hd_emit_put_checked(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, int h,
                         const hd_pair *pair) {
  const hd_view *d = &s->d;
  hd_strbuf text = {0}, constraints = {0};
  LLVMValueRef args[4 + 4 * HD_PUT_BLOCKS] = {h && d->below ? d->below : d->base, s->cols_left[h],
                                              d->ld_bytes};
  int at = N_COLUMNS, to = N_COLUMNS + 1;
  hd_strbuf_add(&constraints, "l,r,l");
  if (s->to) {
    args[at++] = s->n_columns;
    hd_strbuf_add(&constraints, ",r");
  }
  for (int32_t i = 0; s->to && i < 2 * n; i++) {
    LLVMValueRef x = hd_emit_addi(e, hd_emit_sub(e, s->col, s->col0), i % 2);
    args[at++] = hd_emit_scattered(e, s, b + i / 2, x);
    hd_strbuf_add(&constraints, ",r");
  }
  hd_strbuf_add(&text, "{ .reg .pred in0, in1;\n\t");
  if (d->col_major)
    hd_strbuf_add(&text, ".reg .b64 at0, at1;\n\t");
  if (d->bytes < 4)
    hd_strbuf_add(&text, ".reg .b16 x0, x1;\n\t");
  for (int32_t i = 0; i < n; i++) {
    const hd_pair *p = &pair[2 * i + h];
    add_pair(&text, s, b + i, h, at, to + 2 * i);
    for (int32_t j = 0; j < p->n; j++) {
      args[at++] = p->v[j];
      hd_strbuf_add(&constraints, d->bytes == 1 ? ",h" : ",r");
    }
  }
  hd_strbuf_add(&text, "}");
  hd_emit_asm(e, e->none, hd_strbuf_text(&text), hd_strbuf_text(&constraints), args, at,
              HD_ASM_MEMORY);
  hd_strbuf_free(&text);
  hd_strbuf_free(&constraints);
}
