/* Bench/predecessor.h: a small kernel that writes B ahead of each launch of a product, as the layer
 * before it would: what a launch under weights_ready finds in front of it in a program. */
#ifndef HD_PREDECESSOR_H
#define HD_PREDECESSOR_H

#include "Tune/rotated_kernel.h"

/* When it lets its dependent kernel start (griddepcontrol.launch_dependents): as its first
 * instruction, when B is written, or not before it has ended. ORDER PREDECESSORS. */
typedef enum hd_trigger {
  HD_TRIGGER_NONE, /* there is no such kernel */
  HD_TRIGGER_EARLY,
  HD_TRIGGER_LATE,
  HD_TRIGGER_NEVER,
  HD_N_TRIGGERS
} hd_trigger;
const char *hd_trigger_name(hd_trigger trigger); /* "none", "early", … */

typedef struct hd_predecessor {
  const hd_device *device; /* borrowed */
  void *module, *function[HD_N_TRIGGERS];
  hd_rotation values; /* one set: what B is to hold */
} hd_predecessor;

/* Of sm_90 and later devices; b: the values of B, in whole words of 4 bytes. */
heddle_status hd_predecessor_open(heddle_context *ctx, const hd_device *device, const void *b,
                                  size_t b_bytes, hd_predecessor *predecessor);
void hd_predecessor_close(hd_predecessor *predecessor);

/* A product behind it. All are borrowed. */
typedef struct hd_behind {
  const hd_predecessor *predecessor;
  hd_trigger trigger; /* not NONE */
  const hd_rotation *b;
  const hd_rotated_kernel *kernel;
} hd_behind;

/* An hd_launch_fn: B of this set is written, then the product is launched; user is an hd_behind. */
heddle_status hd_behind_launch(heddle_context *ctx, void *user, size_t index, void *stream);

#endif
