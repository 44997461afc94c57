/* Passes/insert_ring.h: a ring of stages, its producer and consumer, and its barriers. */
#ifndef HD_INSERT_RING_H
#define HD_INSERT_RING_H

#include "Passes/accesses.h"

typedef struct hd_ring {
  hd_module *module;
  hd_op *kernel, *producer, *consumer;
  hd_accesses copies, reads;
  hd_value *full, *empty;
  int64_t sharers, stages; /* sharers: CTAs that receive a copy */
  bool wraps, repeats;     /* slots are filled again: within a tile, for the next tile */
  bool drains;             /* partial sums overlay the ring: senders must wait for its reads */
} hd_ring;

/* Declares a barrier; builds a sync op on its slot `cursor`. */
hd_value *hd_ring_declare(hd_ring *ring, hd_builder *b, const char *name, int64_t stages,
                          int64_t count);
hd_op *hd_build_on(hd_builder *b, hd_op_kind kind, hd_value *barrier, hd_value *cursor);
/* Synchronizes the lanes of a warp, so that one lane may arrive for the work of all. */
void hd_place_meeting(hd_builder *b);
/* Number of threads that write stages themselves: all threads of the producer, or 0. */
int64_t hd_ring_writers(const hd_ring *ring);
/* Inserts the producer's waits for `empty` and its arrivals at `full`. */
void hd_ring_place_producer(hd_ring *ring);
void hd_ring_wait_full(hd_ring *ring, hd_op *before, hd_value *cursor);

bool hd_has_tensor_turns(const hd_ring *r); /* the kernel accumulates in tensor memory */
/* Inserts all barriers of a kernel with tensor memory. */
void hd_insert_tensor(hd_ring *ring);

#endif
