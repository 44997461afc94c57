#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Bench/peer_table.h"

static const hd_peer_ops *const peers[] = {&hd_peer_cublas, &hd_peer_cusparselt, &hd_peer_stream};

static void *open_library(const hd_peer_ops *ops, const char *path) {
  if (path)
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *library = NULL;
  for (int i = 0; !library && ops->sonames[i]; i++)
    library = dlopen(ops->sonames[i], RTLD_NOW | RTLD_LOCAL);
  return library;
}

static const hd_peer_ops *ops_of(const char *name) {
  for (size_t i = 0; i < HD_COUNT(peers); i++)
    if (strcmp(peers[i]->name, name) == 0)
      return peers[i];
  return NULL;
}

const char *const *hd_peer_sonames(const char *name) {
  const hd_peer_ops *ops = ops_of(name);
  return ops ? ops->sonames : NULL;
}

heddle_status hd_peer_open(heddle_context *ctx, const char *name, const char *path,
                           const hd_device *device, hd_peer **peer) {
  const hd_peer_ops *ops = ops_of(name);
  if (!ops)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "peer.name",
                    "got \"%s\"; legal: cublas, cusparselt, stream", name);
  void *library = ops->sonames ? open_library(ops, path) : NULL;
  if (ops->sonames && !library)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "peer.library", "%s: %s", name,
                    dlerror());
  hd_peer *p = hd_xmalloc(sizeof *p);
  *p = (hd_peer){.ops = ops, .library = library, .device = device};
  heddle_status status = ops->open(ctx, p);
  if (status != HEDDLE_OK) {
    if (library)
      dlclose(library);
    hd_free(p);
    return status;
  }
  *peer = p;
  return HEDDLE_OK;
}

void hd_peer_close(hd_peer *peer) {
  if (!peer)
    return;
  peer->ops->reset(peer);
  peer->ops->close(peer);
  /* The libraries keep threads and atexit handlers: they stay loaded. */
  hd_free(peer->list);
  hd_free(peer);
}

const char *hd_peer_preparing(const hd_peer *peer) { return peer->preparing; }

heddle_status hd_peer_prepare(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                              const hd_contender **list, int32_t *n, int32_t *picked) {
  peer->ops->reset(peer);
  peer->n = 0;
  peer->picked = -1;
  snprintf(peer->preparing, sizeof peer->preparing, "%s", peer->ops->name);
  if (hd_bench_case_leaves_out(bench, peer->ops->name))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case",
                    "%s is left out: it broke the device", peer->ops->name);
  HD_TRY(peer->ops->prepare(ctx, peer, bench));
  if (peer->n == 0)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case",
                    "%s cannot compute this product",
                    peer->ops->name);
  *list = peer->list;
  *n = peer->n;
  if (picked)
    *picked = peer->picked;
  return HEDDLE_OK;
}

heddle_status hd_peer_product(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                              uint64_t d, bool *row_major) {
  if (!peer->ops->product)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.product",
                    "%s cannot compute a product to compare with", peer->ops->name);
  return peer->ops->product(ctx, peer, bench, d, row_major);
}
