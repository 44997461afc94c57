/* A kernel that only reads what the product must read: packed A, and B, each byte once. No kernel
 * that streams its weights can be faster, so it is the ceiling of small n. */
#include <stdlib.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/strbuf.h"
#include "Tune/peer_table.h"

enum { THREADS = 256, LOADS = 8, PIECE = 16, CTA_PIECES = THREADS * LOADS };

typedef struct state {
  const hd_device *device;
  void *module, *kernel;
  hd_bench_case bench;
} state;

/* Pieces of 16 bytes; CTAs from `a_ctas` on read B. The store is never reached but for one word in
 * 2^32 of random data: it keeps the loads. */
static const char head[] =
    ".version 7.4\n.target sm_80\n.address_size 64\n"
    ".visible .entry hd_read(.param .u64 a, .param .u64 b, .param .u64 sink,\n"
    "                        .param .u32 a_ctas, .param .u32 a_pieces, .param .u32 b_pieces)\n"
    ".maxntid 256, 1, 1\n{\n"
    "  .reg .pred %is_b, %in, %hit;\n"
    "  .reg .u64 %base, %other, %at, %sink;\n"
    "  .reg .u32 %cta, %ctas, %n, %m, %i, %x, %all, %r<32>;\n"
    "  ld.param.u64 %base, [a];\n  ld.param.u64 %other, [b];\n  ld.param.u64 %sink, [sink];\n"
    "  ld.param.u32 %ctas, [a_ctas];\n  ld.param.u32 %n, [a_pieces];\n  ld.param.u32 %m, "
    "[b_pieces];\n"
    "  mov.u32 %cta, %ctaid.x;\n"
    "  setp.ge.u32 %is_b, %cta, %ctas;\n"
    "  @%is_b sub.u32 %cta, %cta, %ctas;\n"
    "  selp.u64 %base, %other, %base, %is_b;\n"
    "  selp.u32 %n, %m, %n, %is_b;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %cta, 2048, %i;\n"
    "  mad.wide.u32 %at, %i, 16, %base;\n"
    "  mov.u32 %all, 0;\n";
static const char tail[] = "  setp.eq.u32 %hit, %all, 0x5eed1e55;\n"
                           "  @%hit st.global.u32 [%sink], %all;\n"
                           "  ret;\n}\n";

static char *kernel_text(void) {
  hd_strbuf s = {0};
  hd_strbuf_add(&s, head);
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

static heddle_status open_stream(heddle_context *ctx, hd_peer *peer) {
  state *s = hd_try_zalloc(ctx, sizeof *s, "the stream");
  if (!s)
    return HEDDLE_NO_MEMORY;
  s->device = peer->device;
  const hd_driver *cu = &peer->device->runtime->cu;
  char *ptx = kernel_text();
  heddle_status status =
      hd_driver_check(ctx, cu, cu->module_load(&s->module, ptx, 0, NULL, NULL), "module_load");
  free(ptx);
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, cu, cu->module_function(&s->kernel, s->module, "hd_read"),
                             "module_function");
  if (status == HEDDLE_OK)
    peer->state = s;
  else
    free(s);
  return status;
}

static uint32_t pieces(size_t n_bytes) { return (uint32_t)((n_bytes + PIECE - 1) / PIECE); }

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  state *s = user;
  size_t set = index % s->bench.n_sets;
  const hd_buffer *a = &s->bench.a_packed->set[set], *b = &s->bench.b->set[set];
  uint64_t addresses[] = {a->address, b->address, s->bench.workspace};
  uint32_t a_pieces = pieces(a->n_bytes), b_pieces = pieces(b->n_bytes);
  uint32_t a_ctas = (a_pieces + CTA_PIECES - 1) / CTA_PIECES;
  void *params[] = {&addresses[0], &addresses[1], &addresses[2], &a_ctas, &a_pieces, &b_pieces};
  hd_cu_config config = {.grid_x = a_ctas + (b_pieces + CTA_PIECES - 1) / CTA_PIECES,
                         .grid_y = 1,
                         .grid_z = 1,
                         .block_x = THREADS,
                         .block_y = 1,
                         .block_z = 1,
                         .stream = stream};
  HD_CU_TRY(ctx, s->device->runtime, launch, &config, s->kernel, params, NULL);
  return HEDDLE_OK;
}

static heddle_status prepare_stream(heddle_context *ctx, hd_peer *peer,
                                    const hd_bench_case *bench) {
  (void)ctx;
  state *s = peer->state;
  s->bench = *bench;
  hd_peer_add(peer, "stream read", launch, s, HD_STORED_NOTHING);
  return HEDDLE_OK;
}

static void reset_stream(hd_peer *peer) { (void)peer; }

static void close_stream(hd_peer *peer) {
  state *s = peer->state;
  s->device->runtime->cu.module_unload(s->module);
  free(s);
}

const hd_peer_ops hd_peer_stream = {.name = "stream",
                                    .sonames = NULL,
                                    .open = open_stream,
                                    .prepare = prepare_stream,
                                    .reset = reset_stream,
                                    .close = close_stream};
