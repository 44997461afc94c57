/* One warp: 32 rows of 16 bytes in shared memory; lane i has the address of row i.
 * ldmatrix: the input is the image, the output is the registers; stmatrix the reverse. All data is
 * compared byte by byte. For a 6- or 4-bit format, a byte in a register is an unpacked element. */
#include "matrix_move.h"

#include <stdlib.h>
#include <string.h>

#include "Support/strbuf.h"

static void registers(hd_strbuf *out, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    hd_strbuf_printf(out, "%sr%u", i ? "," : "{", i);
  hd_strbuf_add(out, "}");
}

char *matrix_move_text(const hd_spec_row *row, const hd_target *target) {
  hd_strbuf out = {0};
  unsigned n = row->operand[HD_OPERAND_D].n_regs;
  bool load = row->family == HD_FAMILY_LDMATRIX;
  unsigned ptx = hd_spec_min_ptx(row, target);
  ptx = ptx < 80 ? 80 : ptx;
  hd_strbuf_printf(&out, ".version %u.%u\n.target %s\n.address_size 64\n", ptx / 10, ptx % 10,
                   target->name);
  hd_strbuf_add(
      &out, ".shared .align 16 .b8 rows[512];\n.extern .shared .align 1024 .b8 image[];\n"
            ".visible .entry onehot(.param .u64 p_in, .param .u64 p_out,\n"
            "  .param .u32 p2, .param .u32 p3, .param .u32 p4, .param .u64 p5, .param .u64 p6)\n"
            ".reqntid 32\n{\n  .reg .b32 r<4>, w<4>, tid, at;\n  .reg .b64 in, out;\n"
            "  mov.u32 tid, %tid.x;\n  mov.u32 at, rows;\n  mad.lo.u32 at, tid, 16, at;\n"
            "  ld.param.u64 in, [p_in];\n  ld.param.u64 out, [p_out];\n");
  hd_strbuf_printf(&out, "  mad.wide.u32 in, tid, %u, in;\n  mad.wide.u32 out, tid, %u, out;\n",
                   load ? 16 : 4, load ? 4 : 16);
  if (load)
    hd_strbuf_add(&out, "  ld.global.v4.b32 {w0,w1,w2,w3}, [in];\n");
  else
    hd_strbuf_add(&out, "  mov.b32 w0, 0xffffffff;\n  mov.b32 w1, w0;\n  mov.b32 w2, w0;\n"
                        "  mov.b32 w3, w0;\n");
  hd_strbuf_add(&out, "  st.shared.v4.b32 [at], {w0,w1,w2,w3};\n  bar.sync 0;\n");
  for (unsigned i = 0; !load && i < n; i++)
    hd_strbuf_printf(&out, "  ld.global.b32 r%u, [in+%u];\n", i, i * 128);
  hd_strbuf_printf(&out, "  %s ", row->ptx);
  if (!load)
    hd_strbuf_add(&out, "[at], ");
  registers(&out, n);
  hd_strbuf_add(&out, load ? ", [at];\n" : ";\n  bar.sync 0;\n");
  for (unsigned i = 0; load && i < n; i++)
    hd_strbuf_printf(&out, "  st.global.b32 [out+%u], r%u;\n", i * 128, i);
  if (!load)
    hd_strbuf_add(&out, "  ld.shared.v4.b32 {w0,w1,w2,w3}, [at];\n"
                        "  st.global.v4.b32 [out], {w0,w1,w2,w3};\n");
  hd_strbuf_add(&out, "  ret;\n}\n");
  return hd_strbuf_take(&out);
}

/* Byte `col` of a memory row as it appears in a register: a 6-bit row packs its 16 elements into 12
 * bytes, a 4-bit row into 8. */
static uint8_t unpacked(const hd_spec_row *row, const uint8_t *memory, unsigned col) {
  unsigned bits = strstr(row->ptx, ".b6x16") ? 6 : strstr(row->ptx, ".b4x16") ? 4 : 8;
  unsigned at = col * bits, two = memory[at / 8] | (at / 8 < 15 ? memory[at / 8 + 1] << 8 : 0);
  return (uint8_t)(two >> at % 8 & ((1u << bits) - 1));
}

/* The results of ldmatrix are registers (word reg * 32 + lane), those of stmatrix the image. */
static unsigned count_wrong(const hd_spec_row *row, const uint8_t *image, const uint32_t *words,
                            bool inject, unsigned *n_checks) {
  const hd_fragment *f = row->fragment[HD_OPERAND_D];
  unsigned n_wrong = 0, bytes = f->field_bits / 8;
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned byte = 0; byte < 4; byte++) {
        uint32_t r, c;
        hd_fragment_at(f, lane, reg, byte / bytes, &r, &c);
        uint8_t expected =
            unpacked(row, image + (r ^ inject) * 16, c * bytes + byte % bytes);
        ++*n_checks;
        n_wrong += expected != (uint8_t)(words[reg * 32 + lane] >> 8 * byte);
      }
  return n_wrong;
}

gpu_job matrix_move_job(matrix_move *move) {
  uint16_t *number = (uint16_t *)(void *)move->in;
  for (unsigned i = 0; i < MOVE_BYTES / 2; i++)
    number[i] = (uint16_t)(i * 40503 + 1); /* odd: all differ, and their bytes look random */
  memset(move->out, 0, MOVE_BYTES);
  return (gpu_job){.in = move->in,
                   .out = move->out,
                   .in_bytes = MOVE_BYTES,
                   .out_bytes = MOVE_BYTES,
                   .n_cases = 1,
                   .n_threads = 32};
}

unsigned matrix_move_wrong(const hd_spec_row *row, matrix_move *move, bool inject,
                           unsigned *n_checks) {
  bool load = row->family == HD_FAMILY_LDMATRIX;
  *n_checks = 0;
  return count_wrong(row, (const uint8_t *)(load ? move->in : move->out),
                     load ? move->out : move->in, inject, n_checks);
}

bool matrix_move_run(gpu *g, const hd_spec_row *row, const hd_target *target, bool inject,
                     totals *t) {
  matrix_move move;
  gpu_kernel kernel;
  unsigned n_checks;
  char *text = matrix_move_text(row, target);
  bool loaded = gpu_load(g, text, 0, &kernel);
  free(text);
  if (!loaded)
    return false;
  gpu_job job = matrix_move_job(&move);
  bool ran = gpu_run(g, &kernel, &job);
  gpu_unload(g, &kernel);
  if (ran) {
    t->mismatches += matrix_move_wrong(row, &move, inject, &n_checks);
    t->checks += n_checks;
  }
  t->cases++;
  return ran;
}
