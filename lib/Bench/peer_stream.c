/* Kernels that only read: packed A and B, each byte once, or as many bytes of D, too. No kernel
 * that streams its weights can be faster, so they are the ceilings of small n: of what the product
 * must read, and of all that it must move. */
#include <stdlib.h>

#include "Bench/peer_table.h"
#include "Bench/stream_kernel.h"
#include "Support/memory.h"

typedef struct state {
  hd_stream kernel;
  hd_bench_case bench;
} state;

static void close_stream(hd_peer *peer) {
  state *s = peer->state;
  hd_stream_close(&s->kernel);
  hd_free(s);
}

static heddle_status open_stream(heddle_context *ctx, hd_peer *peer) {
  state *s = hd_try_zalloc(ctx, sizeof *s, "the stream");
  if (!s)
    return HEDDLE_NO_MEMORY;
  heddle_status status = hd_stream_open(ctx, peer->device, &s->kernel);
  peer->state = s;
  if (status != HEDDLE_OK)
    close_stream(peer);
  return status;
}

/* Reads that set of the first n of packed A, B and D. */
static heddle_status read_ranges(heddle_context *ctx, const state *s, size_t set, int n,
                                 void *stream) {
  const hd_bench_case *c = &s->bench;
  const hd_buffer *buffer[] = {&c->a_packed->set[set], &c->b->set[set], &c->d->set[set]};
  hd_stream_range range[HD_STREAM_RANGES];
  for (int i = 0; i < HD_STREAM_RANGES; i++)
    range[i] = (hd_stream_range){buffer[i]->address, buffer[i]->n_bytes};
  return hd_stream_read(ctx, &s->kernel, range, n, c->workspace, stream);
}

static heddle_status read_operands(heddle_context *ctx, void *user, size_t index, void *stream) {
  const state *s = user;
  return read_ranges(ctx, s, index % s->bench.n_sets, 2, stream);
}

static heddle_status read_all(heddle_context *ctx, void *user, size_t index, void *stream) {
  const state *s = user;
  return read_ranges(ctx, s, index % s->bench.n_sets, HD_STREAM_RANGES, stream);
}

static heddle_status prepare_stream(heddle_context *ctx, hd_peer *peer,
                                    const hd_bench_case *bench) {
  (void)ctx;
  state *s = peer->state;
  s->bench = *bench;
  hd_peer_add(peer, "stream read", read_operands, s, HD_STORED_NOTHING);
  hd_peer_add(peer, "stream all", read_all, s, HD_STORED_NOTHING);
  return HEDDLE_OK;
}

static void reset_stream(hd_peer *peer) { (void)peer; }

const hd_peer_ops hd_peer_stream = {.name = "stream",
                                    .sonames = NULL,
                                    .open = open_stream,
                                    .prepare = prepare_stream,
                                    .reset = reset_stream,
                                    .close = close_stream};
