/* heddle-sim/timeline.h: writes a run as JSON for Perfetto and chrome://tracing. A CTA is a
 * process, a warp is a track of slices (copy, MMA, wait, other). Asynchronous work is a slice from
 * issue to completion. One microsecond stands for one warp instruction: there are no cycles. */
#ifndef HD_TIMELINE_H
#define HD_TIMELINE_H

#include "Sim/sim.h"
#include "Support/strbuf.h"

/* Consecutive instructions of one kind, of one warp. */
typedef struct timeline_slice {
  const char *kind; /* NULL: no slice is open */
  uint64_t begin, last, n;
  uint32_t line;
  char text[64]; /* of the first instruction */
} timeline_slice;

/* Zero-initialise; release with timeline_free. */
typedef struct timeline {
  hd_strbuf json;
  timeline_slice *open; /* owned; [cta][n_warps] */
  uint32_t n_ctas, n_warps;
  uint64_t end; /* time after the last event */
} timeline;

/* Call it before the run, with the number of warps per CTA. A timeline records one run. */
void timeline_begin(timeline *t, uint32_t n_warps);
void timeline_add(timeline *t, const hd_sim_event *event);
/* Call it after the run. */
heddle_status timeline_write(heddle_context *ctx, timeline *t, const char *path);
void timeline_free(timeline *t);

#endif
