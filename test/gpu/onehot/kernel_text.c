/* The PTX of one form: load registers (and shared memory), one instruction, store the accumulators.
 * Order of a case's registers: A, B, accumulators, metadata, as packing.c packs them. */
#include "packing.h"

#include <string.h>

#include "Support/strbuf.h"

/* Registers `name` 0 to n-1 as "{a0,a1}". */
static void vector(hd_strbuf *out, const char *name, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    hd_strbuf_printf(out, "%s%s%u", i ? "," : "{", name, i);
  hd_strbuf_add(out, "}");
}

static unsigned registers_of(const hd_spec_row *row, hd_operand_id id) {
  return row->operand[id].space == HD_SPACE_REGISTER ? row->operand[id].n_regs : 0;
}

static void declare(hd_strbuf *out, const hd_spec_row *row, const hd_target *target, unsigned ptx,
                    unsigned n_lanes) {
  hd_strbuf_printf(out, ".version %u.%u\n.target %s\n.address_size 64\n", ptx / 10, ptx % 10,
                   target->name);
  hd_strbuf_add(out, ".extern .shared .align 1024 .b8 image[];\n"
                     ".visible .entry onehot(.param .u64 p_in, .param .u64 p_out,\n"
                     "  .param .u32 p_in_stride, .param .u32 p_out_stride, .param .u32 p_image,\n"
                     "  .param .u64 p_a, .param .u64 p_b)\n");
  hd_strbuf_printf(out, ".reqntid %u\n{\n", n_lanes);
  hd_strbuf_printf(out, "  .reg .b32 a<8>, b<8>, meta0, tid, cta, stride, size, base, w<4>;\n"
                        "  .reg .%s d<%u>;\n  .reg .b64 in, out, x, da, db;\n  .reg .pred p, q;\n",
                   row->operand[HD_OPERAND_D].reg == 'f' ? "f32" : "b32",
                   registers_of(row, HD_OPERAND_D));
  hd_strbuf_add(out, "  mov.u32 tid, %tid.x;\n  mov.u32 cta, %ctaid.x;\n"
                     "  ld.param.u64 in, [p_in];\n  ld.param.u64 out, [p_out];\n"
                     "  ld.param.u32 stride, [p_in_stride];\n  mad.wide.u32 in, cta, stride, in;\n"
                     "  ld.param.u32 stride, [p_out_stride];\n"
                     "  mad.wide.u32 out, cta, stride, out;\n"
                     "  mad.wide.u32 out, tid, 4, out;\n");
}

/* Copies the image after the registers into shared memory, 16 bytes per thread and iteration. */
static void copy_image(hd_strbuf *out, unsigned register_bytes, unsigned n_lanes) {
  hd_strbuf_printf(out,
                   "  ld.param.u32 size, [p_image];\n  shl.b32 stride, tid, 4;\n"
                   "  mov.u32 base, image;\n  add.u32 base, base, stride;\n"
                   "  cvt.u64.u32 x, stride;\n  add.u64 x, x, in;\n  add.u64 x, x, %u;\n"
                   "copy:\n  setp.ge.u32 p, stride, size;\n  @p bra copied;\n"
                   "  ld.global.v4.b32 {w0,w1,w2,w3}, [x];\n"
                   "  st.shared.v4.b32 [base], {w0,w1,w2,w3};\n"
                   "  add.u32 base, base, %u;\n  add.u64 x, x, %u;\n  add.u32 stride, stride, %u;\n"
                   "  bra copy;\ncopied:\n  fence.proxy.async;\n  bar.sync 0;\n",
                   register_bytes, n_lanes * 16, n_lanes * 16, n_lanes * 16);
  hd_strbuf_add(out, "  ld.param.u64 da, [p_a];\n  ld.param.u64 db, [p_b];\n"
                     "  mov.u32 base, image;\n  shr.u32 base, base, 4;\n  cvt.u64.u32 x, base;\n"
                     "  add.u64 da, da, x;\n  add.u64 db, db, x;\n");
}

static unsigned load(hd_strbuf *out, const char *name, unsigned n, unsigned first,
                     unsigned n_lanes) {
  for (unsigned i = 0; i < n; i++)
    hd_strbuf_printf(out, "  ld.global.b32 %s%u, [in+%u];\n", name, i, (first + i) * n_lanes * 4);
  return first + n;
}

/* The row's PTX; .satfinite precedes the type of D. */
static void instruction(hd_strbuf *out, const form *f) {
  const char *text = f->row->ptx, *type = f->satfinite ? strstr(text, ".s32.") : NULL;
  int n = (int)(type ? type - text : 0);
  hd_strbuf_printf(out, "%.*s%s%s ", n, text, type ? ".satfinite" : "", text + n);
}

static void mma(hd_strbuf *out, const form *f, unsigned n_a, unsigned n_b, unsigned n_d) {
  hd_strbuf_add(out, "  ");
  instruction(out, f);
  vector(out, "d", n_d);
  hd_strbuf_add(out, ", ");
  vector(out, "a", n_a);
  hd_strbuf_add(out, ", ");
  vector(out, "b", n_b);
  hd_strbuf_add(out, ", ");
  vector(out, "d", n_d);
  hd_strbuf_printf(out, ", meta0, %u;\n", f->selector);
}

static void wgmma(hd_strbuf *out, const form *f, unsigned n_a, unsigned n_d) {
  hd_strbuf_add(out, "  setp.eq.u32 q, 0, 0;\n  wgmma.fence.sync.aligned;\n  ");
  instruction(out, f);
  vector(out, "d", n_d);
  hd_strbuf_add(out, ", ");
  if (n_a)
    vector(out, "a", n_a);
  else
    hd_strbuf_add(out, "da");
  hd_strbuf_printf(out, ", db, meta0, %u, q", f->selector);
  if (f->row->modifiers & HD_MOD_NEGATE_A)
    hd_strbuf_printf(out, ", %d, %d", f->negate_a ? -1 : 1, f->negate_b ? -1 : 1);
  if (f->row->modifiers & HD_MOD_TRANS_A)
    hd_strbuf_printf(out, ", %d", f->trans_a);
  if (f->row->modifiers & HD_MOD_TRANS_B)
    hd_strbuf_printf(out, ", %d", f->trans_b);
  hd_strbuf_add(out, ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n");
}

char *kernel_text(const form *f, const hd_target *target, unsigned ptx) {
  hd_strbuf out = {0};
  const hd_spec_row *row = f->row;
  bool group = row->issuer == HD_ISSUER_WARPGROUP;
  unsigned n_lanes = group ? 128 : 32, n_a = registers_of(row, HD_OPERAND_A);
  unsigned n_b = registers_of(row, HD_OPERAND_B), n_d = registers_of(row, HD_OPERAND_D);
  declare(&out, row, target, ptx, n_lanes);
  if (group)
    copy_image(&out, (n_a + n_b + n_d + 1) * n_lanes * 4, n_lanes);
  hd_strbuf_add(&out, "  mad.wide.u32 in, tid, 4, in;\n");
  unsigned first = load(&out, "a", n_a, 0, n_lanes);
  first = load(&out, "b", n_b, first, n_lanes);
  first = load(&out, "d", n_d, first, n_lanes);
  load(&out, "meta", 1, first, n_lanes);
  if (group)
    wgmma(&out, f, n_a, n_d);
  else
    mma(&out, f, n_a, n_b, n_d);
  for (unsigned i = 0; i < n_d; i++)
    hd_strbuf_printf(&out, "  st.global.b32 [out+%u], d%u;\n", i * n_lanes * 4, i);
  hd_strbuf_add(&out, "  ret;\n}\n");
  return hd_strbuf_take(&out);
}

char *kernel_text_oldest(const form *f, const hd_target *target) {
  unsigned ptx = hd_spec_min_ptx(f->row, target);
  return kernel_text(f, target, ptx < 80 ? 80 : ptx);
}
