/* Schedule/device_model.h: a device as the cost model sees it: its SMs and rates. */
#ifndef HD_DEVICE_MODEL_H
#define HD_DEVICE_MODEL_H

#include <stdbool.h>

#include "Spec/spec.h"

/* What a device does at best, measured once. Rates a second of the whole device unless said. */
typedef struct hd_device_model {
  const char *device;
  int32_t n_sms;
  int32_t n_sms_of_fours;   /* of those, how many clusters of four CTAs fill: GPCs are odd */
  double clock_hz;          /* under a product's load: the power cap decides */
  double batch_clocks;      /* to wait for a batch of wgmma, where the next is not issued before */
  double pair_clocks;       /* that a stage takes longer when two CTAs share an operand */
  double issue_clocks;      /* of the thread that issues the copies, for each */
  double gather_s;          /* a stage of B takes at least, where its rows are gathered; */
  double gather_column_s;   /* and for each of its columns, by cp.async */
  double gather_byte_s;     /* the same by loads of one byte */
  double copy_s;            /* that a kernel which copies B ahead adds at least, */
  double copy_bytes;        /* and by what it reads and writes */
  double fill_bytes;        /* L2 to shared memory */
  double beside;            /* what is left of B's traffic where CTAs side by side read it */
  double beside_in_cluster; /* the same where a cluster splits k */
  double beside_splits;     /* and where CTAs that are no cluster do */
  double beside_a;          /* what is left of A's, where tiles of one row share it */
  double crowd_fill;  /* that the fill takes longer, for each time more on the way to an SM than */
  double cover_bytes; /* these bytes, which cover its latency */
  double void_bytes;        /* zeros for columns past B's end */
  double dram_bytes;        /* read */
  double crowd; /* that DRAM takes longer, for each time more on the way than covers its latency */
  double l2_latency_s, dram_latency_s; /* from a copy's issue to its arrival, loaded */
  double launch_s;          /* of a kernel that does nothing */
  double tile_s;            /* first fill and last drain of a tile */
  double ahead_tile_s;      /* the same where A is read ahead of the kernel's turn */
  double next_tile_s;       /* the same behind another tile of a persistent CTA */
  double store_sm_bytes;    /* one SM's stores, and loads of partial sums */
  double reduce_s;          /* split-K: counter and last arrival */
  double exchange_s; /* split-K in a cluster: its start together, and the way of the last sums */
  double exchange_sm_bytes; /* what a CTA receives of the others of its cluster */
  double drain_s;           /* to hear that their rings are free for it */
  /* Under the power cap, which many columns meet: the share of the clocks that multiplying alone
   * would take, and what could be moved a second if nothing else drew power. */
  double power_tensor, power_fill, power_dram;
  /* Of a dense library, from docs/bench/h200.csv, not by calibrating: */
  double dense_flops;       /* for 16-bit types, large sizes */
  double dense_bytes;       /* of DRAM */
  double dense_start_s;     /* launch, first fill and last drain */
} hd_device_model;

/* The model that a target (NULL: sm_90a) has unless the caller brings another. That of sm_90a is
 * the H200's, measured (docs/bench). Of the others nothing was measured: they have the H200's rates
 * with the number of SMs of a device of theirs, which is enough to say which schedule to look at
 * first. */
const hd_device_model *hd_device_model_of(const hd_target *target);

/* That of a device by its name, as the driver says it ("NVIDIA H100 80GB HBM3"); NULL: none was
 * measured. */
const hd_device_model *hd_device_model_named(const char *device);

/* The rates by number, from 0: a name ("clock_hz"; NULL past the last), a value, its legal range,
 * and whether calibrating finds it. */
const char *hd_device_rate_name(size_t index);
double *hd_device_rate_at(hd_device_model *model, size_t index);
bool hd_device_rate_is_fitted(size_t index);
void hd_device_rate_range(size_t index, double *least, double *most);

#endif
