/* A fake driver for a generated launcher: the results that it returns, and a record of its
 * calls. */
#ifndef FAKE_LAUNCH_H
#define FAKE_LAUNCH_H

#include <stdint.h>

#include "Kernel/manifest.h"

/* The declarations of NAME.h, for any kernel. The kernel struct is opaque bytes here. */
typedef void (*driver_fn)(void);
typedef struct driver_table {
  driver_fn module_load, module_unload, module_function, function_set, blocks_per_sm,
      active_clusters, context_device, device_attribute, launch, tmap_encode;
} driver_table;

typedef struct config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  struct {
    int id;
    char pad[4];
    unsigned value[16];
  } *attributes;
  unsigned n_attributes;
} config;

/* The state of the fake driver and a record of its calls. */
typedef struct fake_seen {
  int image_code[2], n_loads, n_unloads; /* image_code: results of the loads */
  char image[2][32]; /* the start of the text, or of a cubin */
  int set_attribute[8], set_value[8], n_sets;
  int resident;
  int n_maps, map_type, map_swizzle;
  uint32_t map_rank, map_box[5];
  uint64_t map_base, map_dim[5], map_stride[5];
  int n_launches, launch_code;
  unsigned first_grid; /* of the first launch */
  unsigned grid, block, shared_bytes, cluster, dependent;
  const char *function;
  void *stream;
  void *params[HD_MAX_PARAMS];
  uint64_t b_param, ldb, alpha_bits, m;
} fake_seen;
extern fake_seen seen;

extern int seen_capability; /* capability of the device: 90 */
extern const driver_table fake_table;

#endif
