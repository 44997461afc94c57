/* Schedule/device_model.h: the parameters of a device in the cost model: its SMs and rates. */
#ifndef HD_DEVICE_MODEL_H
#define HD_DEVICE_MODEL_H

#include <stdbool.h>

#include "Spec/spec.h"

/* Peak rates of a device, measured once. Unless noted, rates are per second of the whole device. */
typedef struct hd_device_model {
  const char *device;
  int32_t n_sms;
  int32_t n_sms_of_fours;   /* SMs that clusters of four CTAs can fill: GPC sizes vary */
  double clock_hz;          /* under the load of a product, where the power cap sets it */
  double batch_clocks;      /* wait for a wgmma batch if the next one is not issued before it */
  double pair_clocks;       /* additional clocks of a stage if two CTAs share an operand */
  double issue_clocks;      /* clocks of the issuing thread per copy */
  double gather_s;          /* gathered B: fixed time per stage, */
  double gather_column_s;   /* plus this time per column with cp.async, */
  double gather_byte_s;     /* or this time per column with loads of one byte */
  double gather_latency_s;  /* from a stage's cp.async to its signal, for rows by index */
  double copy_s;            /* b=copied: fixed time of the kernel that copies B, */
  double copy_bytes;        /* and the rate of its reads and writes */
  double fill_bytes;        /* L2 to shared memory */
  double beside;            /* fraction of B's traffic that remains if CTAs share its lines */
  double beside_in_cluster; /* the same if a cluster splits k */
  double beside_splits;     /* the same if CTAs outside a cluster split k */
  double beside_sectors;    /* factor of B's traffic if its rows straddle sectors (cost.c) */
  double beside_a;          /* fraction of A's traffic that remains if tiles of a row share it */
  double beside_a_in_cluster; /* the same if a cluster of two splits k */
  double split_stage;  /* factor of a stage's time for many columns, if CTAs are at different k, but
                        * for the width of the tile */
  double stream_stage; /* factor of a stage's time in the pieces of stream-K */
  /* Exponents of the norms that combine times: 1 if they add up, larger if they overlap. */
  double overlap_stage; /* of the resources of a stage */
  double overlap_power; /* of all waves with the time that the power cap allows */
  double overlap_dram;  /* of that with DRAM traffic */
  double crowd_fill;  /* relative slowdown of the fill per multiple of cover_bytes in excess */
  double crowd_shared; /* the same in addition, if tiles share A */
  double cover_bytes; /* bytes in flight to an SM that cover the latency of the fill */
  double void_bytes;        /* zeros for columns past B's end */
  double dram_bytes;        /* DRAM traffic */
  double crowd; /* relative slowdown of DRAM per multiple of the covering stages in excess */
  double l2_latency_s, dram_latency_s; /* from a copy's issue to its arrival, under load */
  double launch_s;          /* launch of an empty kernel */
  double tile_s;            /* first fill and last drain of a tile */
  double ahead_tile_s;      /* the same if A is read before griddepcontrol.wait */
  double next_tile_s;       /* the same for later tiles of a persistent CTA */
  double store_sm_bytes;    /* stores, and loads of partial sums, of one SM */
  double reduce_s;          /* split-K: counter and last arrival */
  double exchange_s; /* split-K in a cluster: its common start, and the latency of the last sums */
  double exchange_sm_bytes; /* partial sums that a CTA receives from its cluster */
  double exchange_fours;    /* in a cluster of four in addition: sums of a tile beyond 32 KB */
  double drain_s;           /* wait until the rings of the other CTAs are free for the sums */
  /* Under the power cap, which applies to many columns: the MMA time in units of
   * tensor_s, and the rates of the fill and of DRAM, each if nothing else drew power. */
  double power_tensor, power_fill, power_dram;
  /* A dense library, from docs/bench/h200.csv, not calibrated: */
  double dense_flops;       /* for 16-bit types, large sizes */
  double dense_bytes;       /* DRAM traffic */
  double dense_start_s;     /* launch, first fill and last drain */
} hd_device_model;

/* The default model of a target (NULL: sm_90a). For sm_90a this is the measured H200 (docs/bench).
 * Other targets were not measured. They use the H200's rates with the number of SMs of one of their
 * devices, which is enough to rank schedules. */
const hd_device_model *hd_device_model_of(const hd_target *target);

/* The model of a device, by the name that the driver reports ("NVIDIA H100 80GB HBM3"). NULL: the
 * device was not measured. */
const hd_device_model *hd_device_model_named(const char *device);

/* The rates by index, from 0: the name ("clock_hz"; NULL past the last), the value, its legal
 * range, and whether calibration fits it. */
const char *hd_device_rate_name(size_t index);
double *hd_device_rate_at(hd_device_model *model, size_t index);
bool hd_device_rate_is_fitted(size_t index);
void hd_device_rate_range(size_t index, double *least, double *most);

#endif
