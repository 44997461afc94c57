/* Stores of D as inline asm. */
#include "Emit/emit_strip.h"

void hd_emit_put_words(hd_emitter *e, hd_place at, LLVMValueRef const *w, int32_t n) {
  static const struct form {
    const char *type, *registers, *constraints;
  } words[] = {{0}, {"b32", "$1", "l,r"}, {"v2.b32", "{$1, $2}", "l,r,r"}, {0},
               {"v4.b32", "{$1, $2, $3, $4}", "l,r,r,r,r"}},
    byte = {"b8", "$1", "l,h"}, half = {"b16", "$1", "l,h"};
  LLVMTypeRef type = LLVMTypeOf(w[0]);
  const struct form *form = type == e->i8 ? &byte : type == e->i16 ? &half : &words[n];
  LLVMValueRef args[5] = {at.ptr};
  for (int32_t i = 0; i < n; i++)
    args[1 + i] = type == e->i8 ? LLVMBuildZExt(e->b, w[i], e->i16, "") : w[i];
  char *text = hd_arena_printf(&e->arena, "st.global.%s [$0+%lld], %s;", form->type,
                               (long long)at.bytes, form->registers);
  hd_emit_asm(e, e->none, text, form->constraints, args, 1 + n, HD_ASM_MEMORY);
}

/* Where element j stands: row-major in the instruction; column-major one multiplication away. */
static void add_address(hd_strbuf *text, const hd_strip *s, int32_t b, int h, int j) {
  const hd_view *d = &s->d;
  int32_t column = hd_strip_column(s, b, j);
  if (d->col_major)
    hd_strbuf_printf(text, "mad.lo.s64 at%d, $2, %d, $0;\n\t", j, column);
  hd_strbuf_printf(text, "@in%d st.global.b%d [", j, (int)d->bytes * 8);
  if (d->col_major)
    hd_strbuf_printf(text, "at%d+%d], ", j, 8 * h * (int)d->bytes);
  else
    hd_strbuf_printf(text, "$0+%d], ", column * (int)d->bytes);
}

/* The registers of the two elements: halves of one, or two. */
static void add_split(hd_strbuf *text, int64_t bytes) {
  if (bytes == 2)
    hd_strbuf_add(text, ".reg .b16 x0, x1;\n\tmov.b32 {x0, x1}, $3;\n\t");
  else if (bytes == 1)
    hd_strbuf_add(text, ".reg .b16 x0, x1;\n\tmov.b16 x0, $3;\n\tshr.u16 x1, $3, 8;\n\t");
}

/* Operands: $0 base, $1 columns left, $2 pitch (column-major), $3 (and $4) the elements. */
void hd_emit_put_checked(hd_emitter *e, const hd_strip *s, int32_t b, int h, hd_pair pair) {
  const hd_view *d = &s->d;
  hd_strbuf text = {0};
  hd_strbuf_add(&text, "{ .reg .pred in0, in1;\n\t");
  if (d->col_major)
    hd_strbuf_add(&text, ".reg .b64 at0, at1;\n\t");
  add_split(&text, d->bytes);
  for (int j = 0; j < 2; j++)
    hd_strbuf_printf(&text, "setp.gt.s32 in%d, $1, %d;\n\t", j, hd_strip_column(s, b, j));
  for (int j = 0; j < 2; j++) {
    add_address(&text, s, b, h, j);
    hd_strbuf_printf(&text, d->bytes == 4 ? "$%d;\n\t" : "x%d;\n\t", d->bytes == 4 ? 3 + j : j);
  }
  hd_strbuf_add(&text, "}");
  LLVMValueRef args[] = {h && d->below ? d->below : d->base, s->cols_left[h], d->ld_bytes,
                         pair.v[0], pair.v[1]};
  hd_emit_asm(e, e->none, hd_strbuf_text(&text),
              d->bytes == 1 ? "l,r,l,h" : d->bytes == 2 ? "l,r,l,r" : "l,r,l,r,r", args,
              3 + pair.n, HD_ASM_MEMORY);
  hd_strbuf_free(&text);
}
