/* Schedule/variants.h: the ways B can come and D can go, one kernel each. */
#ifndef HD_VARIANTS_H
#define HD_VARIANTS_H

#include "Schedule/problem.h"
#include "Schedule/schedule.h"

enum { HD_STAGED_ALIGN = 16, HD_COPY_ALIGN = 16 };
enum { HD_GATHER_STAGES = 3 /* at least, of a B that is gathered by index */ };

/* How a variant brings B and stores D. The launcher takes the first whose alignment holds. */
typedef struct hd_b_variant {
  const char *name;   /* in manifests, and behind the kernel's name */
  hd_family family;   /* MMA_SP; WGMMA_SP, and what reads B as it does */
  hd_b_path path;     /* not AUTO */
  int32_t align;      /* bytes that B's base and row pitch must be multiples of; 0: its element */
  bool permutes;      /* B's rows, so that a lane stores 16 bytes of D: store=permuted */
  bool staged; /* D through shared memory: its base and row pitch multiples of HD_STAGED_ALIGN */
} hd_b_variant;

/* The i-th variant that a schedule and a problem ask for; NULL at the end. */
const hd_b_variant *hd_b_variant_get(const hd_problem *problem, const hd_schedule *schedule, int i);
/* HEDDLE_UNSUPPORTED when there is none. */
heddle_status hd_b_variant_check(heddle_context *ctx, const hd_problem *problem,
                                 const hd_schedule *schedule);
/* The variant whose path, store and alignment (bytes) these are; NULL: there is none. */
const hd_b_variant *hd_b_variant_match(const hd_problem *problem, const hd_schedule *schedule,
                                       int64_t align);
/* The schedule as this variant has it: its own paths, and a cluster only where copies go to it. */
void hd_b_variant_narrow(const hd_b_variant *variant, hd_schedule *schedule);
/* Bytes that a lane then reads together of C's rows or of a vector along N, whose elements are
 * these. */
int32_t hd_run_align(const hd_problem *problem, heddle_elem elem);
/* C is read by rows, a bias or scale along N: by permuting kernels only at such addresses. */
bool hd_reads_c_rows(const hd_problem *problem);
bool hd_reads_bias_n(const hd_problem *problem);
bool hd_reads_scale_n(const hd_problem *problem);
/* B comes by a tensor map: of B, or of its copy. */
static inline bool hd_b_path_has_map(int32_t path) {
  return path == HD_B_TMA || path == HD_B_COPIED;
}
/* Bytes from row to row of B's copy: whole lines. */
int64_t hd_copied_pitch(const hd_problem *problem);
/* Its alignment in bytes, the element's size standing for 0. */
int32_t hd_b_variant_align(const hd_b_variant *variant, heddle_elem elem);
/* Are B's rows copied by cp.async, which takes 4, 8 or 16 bytes? */
bool hd_b_variant_is_async(const hd_b_variant *variant, heddle_elem elem);

#endif
