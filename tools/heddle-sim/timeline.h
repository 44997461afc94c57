/* heddle-sim/timeline.h: a run as JSON that Perfetto and chrome://tracing show. A CTA is a process,
 * a warp a track of slices (copy, MMA, wait, other); asynchronous work is a slice from its issue to
 * its completion. A microsecond of the picture is a warp instruction: there are no cycles. */
#ifndef HD_TIMELINE_H
#define HD_TIMELINE_H

#include "Sim/sim.h"
#include "Support/strbuf.h"

/* Instructions of one kind, one after the other, of a warp. */
typedef struct timeline_slice {
  const char *kind; /* NULL: none has begun */
  uint64_t begin, last, n;
  uint32_t line;
  char text[64]; /* of the first */
} timeline_slice;

/* Zero-initialise; timeline_free. */
typedef struct timeline {
  hd_strbuf json;
  timeline_slice *open; /* owned; [cta][n_warps] */
  uint32_t n_ctas, n_warps;
  uint64_t end; /* after the last event */
} timeline;

/* Before the run: so many warps a CTA. One run a timeline. */
void timeline_begin(timeline *t, uint32_t n_warps);
void timeline_add(timeline *t, const hd_sim_event *event);
/* After the run. */
heddle_status timeline_write(heddle_context *ctx, timeline *t, const char *path);
void timeline_free(timeline *t);

#endif
