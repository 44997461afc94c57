/* A CUDA driver for tests: memory is the host's, launches are recorded, errors come on demand. */
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
  uint64_t params[32]; /* first 8 bytes of each, as many as n_params says */
  bool captured;
} fake_launch;

typedef struct fake_cuda {
  /* Set by the test. */
  unsigned n_processes; /* that NVML tells of */
  int n_devices, init_result, cubin_result, ptx_result, local_bytes, resident, n_sms;
  int n_spilling; /* of the modules loaded first that have local memory; 0: as local_bytes says */
  const char *fail; /* symbol that fails, with fail_result */
  int fail_result;
  const char *info_log, *error_log;
  int n_params; /* how many parameters a recorded launch has */
  void (*on_launch)(void *user);
  void *user;
  /* Seen. */
  _Atomic(void *) current; /* context */
  atomic_int n_live_modules, n_loads; /* of any thread */
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

/* fake_driver.c: the state of an opened fake, reset to one healthy device with nothing current. */
fake_cuda *fake_reset(const char *path);
/* Calls of malloc, calloc and realloc by the code under test, ever, in whatever thread. */
extern atomic_int fake_n_allocations;
/* The so-many-th next of malloc, calloc and libffi's gives NULL, once; 0: none. */
extern atomic_int fake_refuse_in;

#endif
