#include "Bench/stream_kernel.h"

#include <stdlib.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/strbuf.h"

enum { THREADS = 256, LOADS = 8, PIECE = 16, CTA_PIECES = THREADS * LOADS };

/* Pieces of 16 bytes of up to three ranges, each read by CTAs of its own. The store is never
 * reached but for one word in 2^32 of random data: it keeps the loads. */
static const char head[] =
    ".version 7.4\n.target sm_80\n.address_size 64\n"
    ".visible .entry hd_read(.param .u64 at0, .param .u64 at1, .param .u64 at2, .param .u64 sink,\n"
    "                        .param .u32 ctas0, .param .u32 ctas1, .param .u32 pieces0,\n"
    "                        .param .u32 pieces1, .param .u32 pieces2)\n"
    ".maxntid 256, 1, 1\n{\n"
    "  .reg .pred %past, %in, %hit;\n"
    "  .reg .u64 %base, %other, %at, %sink;\n"
    "  .reg .u32 %cta, %ctas, %n, %m, %i, %x, %all, %r<32>;\n"
    "  ld.param.u64 %base, [at0];\n  ld.param.u32 %n, [pieces0];\n"
    "  ld.param.u64 %sink, [sink];\n"
    "  mov.u32 %cta, %ctaid.x;\n"
    "  setp.eq.u32 %past, 0, 0;\n";
static const char next_range[] = "  ld.param.u32 %%ctas, [ctas%d];\n"
                                 "  ld.param.u64 %%other, [at%d];\n"
                                 "  ld.param.u32 %%m, [pieces%d];\n"
                                 "  setp.ge.and.u32 %%past, %%cta, %%ctas, %%past;\n"
                                 "  @%%past sub.u32 %%cta, %%cta, %%ctas;\n"
                                 "  selp.u64 %%base, %%other, %%base, %%past;\n"
                                 "  selp.u32 %%n, %%m, %%n, %%past;\n";
static const char places[] = "  mov.u32 %i, %tid.x;\n"
                             "  mad.lo.u32 %i, %cta, 2048, %i;\n"
                             "  mad.wide.u32 %at, %i, 16, %base;\n"
                             "  mov.u32 %all, 0;\n";
static const char tail[] = "  setp.eq.u32 %hit, %all, 0x5eed1e55;\n"
                           "  @%hit st.global.u32 [%sink], %all;\n"
                           "  ret;\n}\n";

static char *kernel_text(void) {
  hd_strbuf s = {0};
  hd_strbuf_add(&s, head);
  for (int i = 1; i < HD_STREAM_RANGES; i++)
    hd_strbuf_printf(&s, next_range, i - 1, i, i);
  hd_strbuf_add(&s, places);
  for (int i = 0; i < LOADS * 4; i++)
    hd_strbuf_printf(&s, "  mov.u32 %%r%d, 0;\n", i);
  for (int i = 0; i < LOADS; i++)
    hd_strbuf_printf(&s,
                     "  add.u32 %%x, %%i, %d;\n  setp.lt.u32 %%in, %%x, %%n;\n"
                     "  @%%in ld.global.nc.L1::no_allocate.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, "
                     "[%%at + %d];\n",
                     i * THREADS, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, i * THREADS * PIECE);
  for (int i = 0; i < LOADS * 4; i++)
    hd_strbuf_printf(&s, "  xor.b32 %%all, %%all, %%r%d;\n", i);
  hd_strbuf_add(&s, tail);
  return hd_strbuf_take(&s);
}

void hd_stream_close(hd_stream *s) {
  if (s->module)
    s->device->runtime->cu.module_unload(s->module);
  s->module = NULL;
}

heddle_status hd_stream_open(heddle_context *ctx, const hd_device *device, hd_stream *s) {
  const hd_driver *cu = &device->runtime->cu;
  char *ptx = kernel_text();
  *s = (hd_stream){.device = device};
  heddle_status status =
      hd_driver_check(ctx, cu, cu->module_load(&s->module, ptx, 0, NULL, NULL), "module_load");
  hd_free(ptx);
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, cu, cu->module_function(&s->kernel, s->module, "hd_read"),
                             "module_function");
  if (status != HEDDLE_OK)
    hd_stream_close(s);
  return status;
}

heddle_status hd_stream_read(heddle_context *ctx, const hd_stream *s, const hd_stream_range *range,
                             int n, uint64_t sink, void *stream) {
  uint64_t at[HD_STREAM_RANGES];
  uint32_t pieces[HD_STREAM_RANGES] = {0}, ctas[HD_STREAM_RANGES] = {0};
  for (int i = 0; i < HD_STREAM_RANGES; i++)
    at[i] = range[i < n ? i : 0].address;
  for (int i = 0; i < n; i++) {
    pieces[i] = (uint32_t)((range[i].n_bytes + PIECE - 1) / PIECE);
    ctas[i] = (pieces[i] + CTA_PIECES - 1) / CTA_PIECES;
  }
  void *params[] = {&at[0],   &at[1],     &at[2],     &sink,     &ctas[0],
                    &ctas[1], &pieces[0], &pieces[1], &pieces[2]};
  return hd_device_launch(ctx, s->device, s->kernel, ctas[0] + ctas[1] + ctas[2], THREADS, params,
                          stream);
}
