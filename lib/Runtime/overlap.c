#include "Runtime/overlap.h"

#include <pthread.h>

#include "Support/arena.h"
#include "Support/diag.h"

struct hd_early {
  pthread_mutex_t lock;
  void **function;
  size_t n, cap;
};

heddle_status hd_early_create(heddle_context *ctx, hd_early **early) {
  hd_early *made = hd_try_zalloc(ctx, sizeof *made, "the functions that trigger early");
  if (!made)
    return HEDDLE_NO_MEMORY;
  pthread_mutex_init(&made->lock, NULL);
  *early = made;
  return HEDDLE_OK;
}

void hd_early_free(hd_early *early) {
  if (!early)
    return;
  pthread_mutex_destroy(&early->lock);
  hd_free(early->function);
  hd_free(early);
}

/* The index of a function, or n. The caller holds the lock. */
static size_t find(const hd_early *early, const void *function) {
  size_t i = 0;
  while (i < early->n && early->function[i] != function)
    i++;
  return i;
}

heddle_status hd_early_add(heddle_context *ctx, hd_early *early, void *function) {
  uint64_t before = hd_memory_shortages();
  if (!function)
    return HEDDLE_OK;
  pthread_mutex_lock(&early->lock);
  if (find(early, function) == early->n)
    HD_PUSH(early->function, early->n, early->cap, function);
  pthread_mutex_unlock(&early->lock);
  return hd_memory_status(ctx, before, HEDDLE_OK);
}

void hd_early_remove(hd_early *early, void *function) {
  pthread_mutex_lock(&early->lock);
  size_t i = find(early, function);
  if (i < early->n)
    early->function[i] = early->function[--early->n];
  pthread_mutex_unlock(&early->lock);
}

static bool has(hd_early *early, const void *function) {
  pthread_mutex_lock(&early->lock);
  bool found = find(early, function) < early->n;
  pthread_mutex_unlock(&early->lock);
  return found;
}

/* A query that fails leaves the capture as it is; the launch is then an ordinary one. */
bool hd_follows_early(const heddle_runtime *runtime, void *stream) {
  const hd_driver *cu = &runtime->cu;
  int status = 0, type = -1;
  void *const *nodes = NULL;
  size_t n = 0;
  hd_cu_kernel_node node = {0};
  return cu->capture_info(stream, &status, NULL, NULL, &nodes, &n) == HD_CU_SUCCESS &&
         status == HD_CU_CAPTURE_ACTIVE && n == 1 &&
         cu->node_type(nodes[0], &type) == HD_CU_SUCCESS && type == HD_CU_KERNEL_NODE &&
         cu->kernel_node(nodes[0], &node) == HD_CU_SUCCESS && has(runtime->early, node.function);
}

heddle_status heddle_runtime_add_early(heddle_context *ctx, heddle_runtime *runtime,
                                       void *function) {
  if (!function)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "runtime.early",
                    "got no function; legal: a CUfunction, or a cudaFunction_t");
  return hd_early_add(ctx, runtime->early, function);
}
