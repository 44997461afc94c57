/* Schedule/variants.h: the ways to load B and to store D, one kernel each. */
#ifndef HD_VARIANTS_H
#define HD_VARIANTS_H

#include "Schedule/problem.h"
#include "Schedule/schedule.h"

enum { HD_STAGED_ALIGN = 16, HD_COPY_ALIGN = 16, HD_MAP_ALIGN = 16, HD_L2_SECTOR = 32 /* bytes */ };
enum { HD_GATHER_STAGES = 3 /* minimum number of stages if B is gathered by index */ };

/* How a variant loads B and stores D. The launcher uses the first one whose alignment holds. */
typedef struct hd_b_variant {
  const char *name;   /* in manifests, and as suffix of the kernel's name */
  hd_family family;   /* MMA_SP; or WGMMA_SP, also for tcgen05, which reads B in the same way */
  hd_b_path path;     /* not AUTO */
  int32_t align;      /* alignment of B's base and row pitch in bytes; 0: the size of an element */
  bool permutes;      /* permutes B's rows, so that a lane stores 16 bytes of D: store=permuted */
  bool staged; /* D through shared memory: base and pitch are multiples of HD_STAGED_ALIGN */
} hd_b_variant;

/* The i-th variant for a schedule and a problem; NULL at the end. */
const hd_b_variant *hd_b_variant_get(const hd_problem *problem, const hd_schedule *schedule, int i);
/* HEDDLE_UNSUPPORTED if there is no variant. */
heddle_status hd_b_variant_check(heddle_context *ctx, const hd_problem *problem,
                                 const hd_schedule *schedule);
/* The variant with the schedule's path and store and this alignment in bytes; NULL: none. */
const hd_b_variant *hd_b_variant_match(const hd_problem *problem, const hd_schedule *schedule,
                                       int64_t align);
/* Adapts the schedule to a variant: its paths, and no cluster if gathered rows cannot use it. */
void hd_b_variant_narrow(const hd_b_variant *variant, hd_schedule *schedule);
/* Alignment in bytes with which a lane of a permuting kernel reads runs of C's rows, or of a vector
 * along N, with elements of this type. */
int32_t hd_run_align(const hd_problem *problem, heddle_elem elem);
/* Whether C is read by rows, or a bias or scale along N. Permuting kernels need that alignment. */
bool hd_reads_c_rows(const hd_problem *problem);
bool hd_reads_bias_n(const hd_problem *problem);
bool hd_reads_scale_n(const hd_problem *problem);
/* Whether B is loaded through a tensor map, of B or of its copy. */
static inline bool hd_b_path_has_map(int32_t path) {
  return path == HD_B_TMA || path == HD_B_COPIED;
}
/* Bytes from a row of B to the next. A pitch that the launch gives counts as that of whole rows. */
int64_t hd_b_pitch_bytes(const hd_problem *problem);
/* Whether no tensor map can load B: an index selects its rows, or their pitch is not legal there.
 * Then a copy of B saves every CTA gathering them. */
bool hd_lacks_map(const hd_problem *problem);
/* Whether that pitch is legal in a tensor map, but rows begin inside of a sector of L2. */
bool hd_straddles_sectors(const hd_problem *problem);
/* Whether b=copied copies B: one of the two. */
bool hd_copy_serves(const hd_problem *problem);
/* Row pitch of B's copy in bytes: a multiple of a cache line. */
int64_t hd_copied_pitch(const hd_problem *problem);
/* The alignment of a variant in bytes, with 0 replaced by the element's size. */
int32_t hd_b_variant_align(const hd_b_variant *variant, heddle_elem elem);
/* Whether B's rows are copied by cp.async, which copies 4, 8 or 16 bytes. */
bool hd_b_variant_is_async(const hd_b_variant *variant, heddle_elem elem);

#endif
