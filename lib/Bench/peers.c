#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Bench/peer_table.h"

static const hd_peer_ops *const peers[] = {&hd_peer_cublas, &hd_peer_cusparselt, &hd_peer_stream};

int hd_cuda_type(heddle_elem elem) {
  switch (elem) {
  case HEDDLE_F32:
  case HEDDLE_TF32:
    return 0;
  case HEDDLE_F16:
    return 2;
  case HEDDLE_S8:
    return 3;
  case HEDDLE_S32:
    return 10;
  case HEDDLE_BF16:
    return 14;
  case HEDDLE_E4M3:
    return 28;
  case HEDDLE_E5M2:
    return 29;
  default:
    return -1;
  }
}

heddle_status hd_peer_symbols(heddle_context *ctx, hd_peer *peer, const char *const *names,
                              void **table, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    table[i] = dlsym(peer->library, names[i]);
    if (!table[i])
      return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "peer.symbol", "%s has no %s",
                      peer->ops->name, names[i]);
  }
  return HEDDLE_OK;
}

void hd_peer_add(hd_peer *peer, const char *name, hd_launch_fn launch, void *user,
                 hd_stored stored) {
  hd_contender c = {.launch = launch, .user = user, .stored = stored};
  strncpy(c.name, name, sizeof c.name - 1);
  HD_PUSH(peer->list, peer->n, peer->cap, c);
}

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

heddle_status hd_peer_prepare(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                              const hd_contender **list, int32_t *n, int32_t *picked) {
  peer->ops->reset(peer);
  peer->n = 0;
  peer->picked = -1;
  HD_TRY(peer->ops->prepare(ctx, peer, bench));
  if (peer->n == 0)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case", "%s has no way to compute it",
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
                    "%s makes no product to check against", peer->ops->name);
  return peer->ops->product(ctx, peer, bench, d, row_major);
}
