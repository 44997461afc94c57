#include "Bench/peer_table.h"

#include <dlfcn.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"

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

bool hd_bench_case_leaves_out(const hd_bench_case *bench, const char *name) {
  for (int32_t i = 0; i < bench->n_left_out; i++)
    if (strcmp(bench->left_out[i], name) == 0)
      return true;
  return false;
}
