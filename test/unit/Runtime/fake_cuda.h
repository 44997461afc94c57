/* A CUDA driver for tests: device memory is host memory, launches are recorded, and errors occur on
 * request. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "Runtime/driver.h"

enum { FAKE_MAX_LAUNCHES = 64 };

typedef struct fake_launch {
  const char *function;
  hd_cu_config config;
  hd_cu_attribute attribute[4];
  uint64_t params[32]; /* the first 8 bytes of each of the n_params parameters */
  bool captured;
} fake_launch;

typedef struct fake_cuda {
  /* Set by the test. */
  unsigned n_processes; /* reported by NVML */
  int n_devices, init_result, cubin_result, ptx_result, local_bytes, resident, n_sms;
  int n_spilling; /* number of first loaded modules that have local memory; 0: see local_bytes */
  const char *fail; /* the symbol that fails with fail_result */
  int fail_result;
  int broken; /* the result of every call of the driver; 0: they succeed */
  const char *info_log, *error_log;
  int n_params; /* number of recorded parameters of a launch */
  size_t n_nodes; /* that the next captured launch depends on */
  int node_type;  /* of these; 0: a kernel */
  void (*on_launch)(void *user);
  void *user;
  /* Recorded. */
  _Atomic(void *) current; /* context */
  atomic_int n_live_modules, n_loads; /* by all threads */
  int n_live_allocations, n_live_streams, n_live_events, n_live_graphs, n_retained;
  int n_syncs, n_launches;
  atomic_int max_shared, non_portable;
  bool capturing;
  char last_image[64];
  fake_launch launch[FAKE_MAX_LAUNCHES];
  int tmap_type, tmap_swizzle;
  uint32_t tmap_rank, tmap_box[5];
  uint64_t tmap_base, tmap_dim[5], tmap_stride[5];
} fake_cuda;

/* fake_driver.c: resets the state of an opened fake to one working device without a current
 * context. */
fake_cuda *fake_reset(const char *path);
/* Number of calls of malloc, calloc and realloc by the code under test, in all threads. */
extern atomic_int fake_n_allocations;
/* The n-th next allocation by malloc, calloc or libffi returns NULL, once; 0: none. */
extern atomic_int fake_refuse_in;

#endif
