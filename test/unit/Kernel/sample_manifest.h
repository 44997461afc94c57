/* A manifest with every feature, for tests: two variants (tma with a persistent grid in clusters of
 * two, and gather), sizes known at launch, a workspace, an epilogue with scalars. */
#ifndef SAMPLE_MANIFEST_H
#define SAMPLE_MANIFEST_H

#include "Kernel/manifest.h"

enum { SAMPLE_TMA, SAMPLE_GATHER };

/* Strings are literals. */
hd_manifest sample_manifest(void);
/* The same, with tiles that the first variant splits along k between CTAs (stream-k). */
hd_manifest sample_streamed(void);
/* Groups whose tiles are shared so. */
hd_manifest sample_streamed_groups(void);

/* The same as a batch: g, stride_b and stride_d follow all other arguments. */
hd_manifest sample_batch(void);
/* The same as groups: g, stride_a and offsets follow all other arguments. */
hd_manifest sample_groups(void);

/* The same, with a variant that a launch of the gather variant runs first. */
hd_manifest sample_copied(void);

/* The groups, with a variant that runs after every launch of either variant. */
hd_manifest sample_combined(void);

/* Values that are valid for the sample: M 256, N 128, K 64, pointers at 0x10000·n. */
hd_values sample_values(void);

#endif
