#include "fake_launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

fake_seen seen;
int seen_capability = 90;

static int fake_load(void **module, const void *image, unsigned n, int *options, void **values) {
  (void)n, (void)options, (void)values;
  bool is_cubin = *(const char *)image == 0x7f;
  strncpy(seen.image[seen.n_loads], image, is_cubin ? 4 : sizeof seen.image[0] - 1);
  *module = &seen;
  return seen.image_code[seen.n_loads++];
}
static int fake_unload(void *module) {
  assert_ptr_equal(module, &seen);
  seen.n_unloads++;
  return 0;
}
static int fake_function(void **function, void *module, const char *name) {
  (void)module;
  *function = (void *)(uintptr_t)name;
  return 0;
}
static int fake_set(void *function, int attribute, int value) {
  (void)function;
  seen.set_attribute[seen.n_sets] = attribute;
  seen.set_value[seen.n_sets++] = value;
  return 0;
}
static int fake_blocks(int *n, void *function, int n_threads, size_t shared_bytes) {
  (void)function, (void)n_threads, (void)shared_bytes;
  *n = seen.resident;
  return 0;
}
static int fake_clusters(int *n, void *function, const config *c) {
  (void)function;
  assert_int_equal(c->attributes[0].id, 4);
  *n = seen.resident;
  return 0;
}
static int fake_device(int *device) {
  *device = 0;
  return 0;
}
static int fake_attribute(int *value, int attribute, int device) {
  (void)device;
  assert_true(attribute == 16 || attribute == 75 || attribute == 76);
  *value = attribute == 16 ? 10 : attribute == 75 ? seen_capability / 10 : seen_capability % 10;
  return 0;
}
static int fake_encode(void *map, int type, uint32_t rank, void *base, const uint64_t *dims,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *ones,
                       int interleave, int swizzle, int promotion, int fill) {
  assert_int_equal((uintptr_t)map % 64, 0);
  assert_int_equal(interleave + fill, 0);
  assert_int_equal(promotion, 3);
  seen.n_maps++;
  seen.map_type = type;
  seen.map_swizzle = swizzle;
  seen.map_rank = rank;
  seen.map_base = (uint64_t)(uintptr_t)base;
  for (uint32_t i = 0; i < rank; i++) {
    seen.map_dim[i] = dims[i];
    seen.map_box[i] = box[i];
    assert_int_equal(ones[i], 1);
    if (i > 0)
      seen.map_stride[i] = strides[i - 1];
  }
  memset(map, 0xab, 128);
  return 0;
}
static int fake_launch(const config *c, void *function, void **params, void **extra) {
  assert_null(extra);
  if (seen.n_launches++ == 0)
    seen.first_grid = c->grid[0];
  seen.grid = c->grid[0];
  seen.block = c->block[0];
  assert_int_equal(c->grid[1] * c->grid[2] * c->block[1] * c->block[2], 1);
  seen.shared_bytes = c->shared_bytes;
  seen.stream = c->stream;
  seen.function = function;
  for (unsigned i = 0; i < c->n_attributes; i++) {
    if (c->attributes[i].id == 4)
      seen.cluster = c->attributes[i].value[0];
    if (c->attributes[i].id == 6)
      seen.dependent = c->attributes[i].value[0];
  }
  memcpy(&seen.b_param, params[1], 8);
  memcpy(&seen.m, params[5], 4);
  memcpy(&seen.ldb, params[8], 8);
  memcpy(&seen.alpha_bits, params[11], 4);
  return seen.launch_code;
}

const driver_table fake_table = {
    (driver_fn)fake_load,   (driver_fn)fake_unload,   (driver_fn)fake_function,
    (driver_fn)fake_set,    (driver_fn)fake_blocks,   (driver_fn)fake_clusters,
    (driver_fn)fake_device, (driver_fn)fake_attribute, (driver_fn)fake_launch,
    (driver_fn)fake_encode};
