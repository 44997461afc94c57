/* Passes/insert_ring.h: the ring of stages that barriers are placed around, and who fills it. */
#ifndef HD_INSERT_RING_H
#define HD_INSERT_RING_H

#include "Passes/accesses.h"

typedef struct hd_ring {
  hd_module *module;
  hd_op *kernel, *producer, *consumer;
  hd_accesses copies, reads;
  hd_value *full, *empty;
  int64_t sharers, stages; /* CTAs that copies reach */
  bool wraps, repeats;     /* slots are filled again: in a tile, for the next one */
  bool drains;             /* sums lie over it: their senders are told when it is read no more */
} hd_ring;

/* A barrier's declaration; a sync op on its slot `cursor`. */
hd_value *hd_ring_declare(hd_ring *ring, hd_builder *b, const char *name, int64_t stages,
                          int64_t count);
hd_op *hd_build_on(hd_builder *b, hd_op_kind kind, hd_value *barrier, hd_value *cursor);
/* The lanes of a warp meet: the one that arrives for all may tell what each has done. */
void hd_place_meeting(hd_builder *b);
/* Threads that write stages themselves: all of the producer's, or none. */
int64_t hd_ring_writers(const hd_ring *ring);
/* Waits for empty, arrivals at full. */
void hd_ring_place_producer(hd_ring *ring);
void hd_ring_wait_full(hd_ring *ring, hd_op *before, hd_value *cursor);

/* All barriers of a kernel with tensor memory. */
bool hd_has_tensor_turns(const hd_ring *r); /* of a kernel that multiplies there */
void hd_insert_tensor(hd_ring *ring);

#endif
