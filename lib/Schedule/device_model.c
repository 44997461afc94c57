#include "Schedule/device_model.h"

#include <stddef.h>
#include <string.h>

#include "Support/arena.h"

/* Output of `heddle tune calibrate` for docs/bench/sweep_train.csv and sweep_h100_train.csv. The
 * fastest schedules of each product have the highest weight. The rates are therefore those that
 * fit these schedules best, which can differ from the physical limits. Not of these files: copies
 * and gathers of B (docs/bench/copied.md, layers_tried.md), and beside_sectors, exchange_fours and
 * the H200's split_stage (docs/bench/sweep.md). All of these were measured on an H200 only. */
#define H200_RATES \
  .clock_hz = 1.791e+09,                \
  .batch_clocks = 135.8,                \
  .pair_clocks = 57.8,                  \
  .issue_clocks = 47.86,                \
  .gather_s = 5e-08,                    \
  .gather_column_s = 3.7e-09,           \
  .gather_byte_s = 4.9e-08,             \
  .gather_latency_s = 1e-06,            \
  .copy_s = 1e-06,                      \
  .copy_bytes = 6e+12,                  \
  .fill_bytes = 1.177e+13,              \
  .beside = 0.424,                      \
  .beside_in_cluster = 0.7096,          \
  .beside_splits = 0.5223,              \
  .beside_sectors = 1.5,                \
  .beside_a = 0.3606,                   \
  .beside_a_in_cluster = 0.5982,        \
  .split_stage = 1.16,                  \
  .stream_stage = 1.156,                \
  .overlap_stage = 2.611,               \
  .overlap_power = 3.804,               \
  .overlap_dram = 2.227,                \
  .crowd_fill = 0.05376,                \
  .crowd_shared = 0.2067,               \
  .cover_bytes = 6.98e+04,              \
  .void_bytes = 6.788e+12,              \
  .dram_bytes = 4.707e+12,              \
  .crowd = 0.07858,                     \
  .l2_latency_s = 4.698e-07,            \
  .dram_latency_s = 4e-07,              \
  .launch_s = 1.546e-06,                \
  .tile_s = 1.055e-06,                  \
  .ahead_tile_s = 5e-08,                \
  .next_tile_s = 6.946e-07,             \
  .store_sm_bytes = 1.34e+11,           \
  .reduce_s = 8.191e-07,                \
  .exchange_s = 5.782e-08,              \
  .exchange_sm_bytes = 5.565e+10,       \
  .exchange_fours = 7.3e+10,            \
  .drain_s = 2.688e-07,                 \
  .power_tensor = 1.007,                \
  .power_fill = 1.542e+14,              \
  .power_dram = 9.108e+12,              \
  .dense_flops = 6.9e+14,               \
  .dense_bytes = 4.5e+12,               \
  .dense_start_s = 2.9e-06
#define H100_RATES \
  .clock_hz = 1.671e+09,                \
  .batch_clocks = 106.2,                \
  .pair_clocks = 54.28,                 \
  .issue_clocks = 41.99,                \
  .gather_s = 1.548e-07,                \
  .gather_column_s = 3.039e-09,         \
  .gather_byte_s = 4.9e-08,             \
  .gather_latency_s = 1e-06,            \
  .copy_s = 7.946e-07,                  \
  .copy_bytes = 4.8e+12,                \
  .fill_bytes = 7.802e+12,              \
  .beside = 0.444,                      \
  .beside_in_cluster = 0.234,           \
  .beside_splits = 0.4233,              \
  .beside_sectors = 1,                  \
  .beside_a = 0.4171,                   \
  .beside_a_in_cluster = 0.8672,        \
  .split_stage = 1.03,                  \
  .stream_stage = 1,                    \
  .overlap_stage = 2.908,               \
  .overlap_power = 5.251,               \
  .overlap_dram = 2.658,                \
  .crowd_fill = 0.04202,                \
  .crowd_shared = 0.1304,               \
  .cover_bytes = 4.714e+04,             \
  .void_bytes = 7.711e+12,              \
  .dram_bytes = 2.98e+12,               \
  .crowd = 0.08603,                     \
  .l2_latency_s = 6.259e-07,            \
  .dram_latency_s = 4e-07,              \
  .launch_s = 1.042e-06,                \
  .tile_s = 1.388e-06,                  \
  .ahead_tile_s = 4.855e-07,            \
  .next_tile_s = 5e-08,                 \
  .store_sm_bytes = 8.416e+10,          \
  .reduce_s = 6.229e-07,                \
  .exchange_s = 7.145e-08,              \
  .exchange_sm_bytes = 5.935e+10,       \
  .exchange_fours = 7.3e+10,            \
  .drain_s = 9.942e-07,                 \
  .power_tensor = 0.9941,               \
  .power_fill = 5.251e+13,              \
  .power_dram = 5.619e+12,              \
  .dense_flops = 6.9e+14,               \
  .dense_bytes = 3.05e+12,              \
  .dense_start_s = 2.9e-06

/* By compute capability: a target uses the last entry that is not above its own. SM counts are from
 * NVIDIA's data sheets. The SMs for clusters of four were measured on sm_90 only. */
static const struct entry {
  int sm;
  bool is_measured;
  hd_device_model model;
} models[] = {
    {75, false, {.device = "NVIDIA T4", .n_sms = 40, .n_sms_of_fours = 40, H200_RATES}},
    {80, false, {.device = "NVIDIA A100", .n_sms = 108, .n_sms_of_fours = 108, H200_RATES}},
    {89, false, {.device = "NVIDIA L40S", .n_sms = 142, .n_sms_of_fours = 142, H200_RATES}},
    {90, true, {.device = "NVIDIA H100", .n_sms = 132, .n_sms_of_fours = 120, H100_RATES}},
    {90, true, {.device = "NVIDIA H200", .n_sms = 132, .n_sms_of_fours = 120, H200_RATES}},
    {100, false, {.device = "NVIDIA B200", .n_sms = 148, .n_sms_of_fours = 148, H200_RATES}},
    {120,
     false,
     {.device = "NVIDIA RTX PRO 6000", .n_sms = 188, .n_sms_of_fours = 188, H200_RATES}},
};

const hd_device_model *hd_device_model_of(const hd_target *target) {
  int sm = target ? target->sm : 90;
  size_t i = HD_COUNT(models) - 1;
  while (i > 0 && models[i].sm > sm)
    i--;
  return &models[i].model;
}

const hd_device_model *hd_device_model_named(const char *device) {
  for (size_t i = 0; device && i < HD_COUNT(models); i++)
    if (models[i].is_measured &&
        strncmp(device, models[i].model.device, strlen(models[i].model.device)) == 0)
      return &models[i].model;
  return NULL;
}

static const struct rate {
  const char *name;
  size_t at;
  double least, most;
  bool is_fitted; /* by calibrating */
} table[] = {
#define RATE(name, least, most) {#name, offsetof(hd_device_model, name), least, most, true}
#define GIVEN(name, least, most) {#name, offsetof(hd_device_model, name), least, most, false}
    RATE(clock_hz, 1e9, 2.1e9),                    RATE(batch_clocks, 1, 300),
    RATE(pair_clocks, 1, 300),                     RATE(issue_clocks, 1, 300),
    RATE(gather_s, 0.01e-6, 5e-6),                 RATE(gather_column_s, 0.1e-9, 50e-9),
    RATE(gather_byte_s, 1e-9, 500e-9),             RATE(gather_latency_s, 0.2e-6, 5e-6),
    RATE(fill_bytes, 1e12, 30e12),
    RATE(copy_s, 0.5e-6, 10e-6),                   RATE(copy_bytes, 1e12, 10e12),
    RATE(beside, 0.1, 1),
    RATE(beside_in_cluster, 0.1, 1.5),             RATE(beside_splits, 0.1, 1),
    RATE(beside_sectors, 1, 3),
    RATE(beside_a, 0.1, 1),                        RATE(beside_a_in_cluster, 0.1, 1.5),
    RATE(split_stage, 1, 1.5),                     RATE(stream_stage, 1, 2),
    RATE(overlap_stage, 1, 8),                     RATE(overlap_power, 1, 12),
    RATE(overlap_dram, 1, 8),
    RATE(crowd_fill, 0.001, 1),                    RATE(crowd_shared, 0.001, 1),
    RATE(cover_bytes, 30e3, 200e3),                RATE(void_bytes, 0.1e12, 30e12),
    RATE(dram_bytes, 0.5e12, 4.8e12),              RATE(crowd, 0.001, 0.5),
    RATE(l2_latency_s, 0.2e-6, 2e-6),              RATE(dram_latency_s, 0.4e-6, 4e-6),
    RATE(launch_s, 0.1e-6, 8e-6),                  RATE(tile_s, 0.05e-6, 5e-6),
    RATE(ahead_tile_s, 0.05e-6, 5e-6),             RATE(next_tile_s, 0.05e-6, 5e-6),
    RATE(store_sm_bytes, 20e9, 1000e9),            RATE(reduce_s, 0.1e-6, 10e-6),
    RATE(exchange_s, 0.01e-6, 10e-6),              RATE(exchange_sm_bytes, 5e9, 250e9),
    RATE(exchange_fours, 5e9, 1e12),
    RATE(power_tensor, 0.01, 1.5),                 RATE(power_fill, 5e12, 1e15),
    RATE(power_dram, 2e12, 1e15),
    RATE(drain_s, 0.01e-6, 2e-6),                  GIVEN(dense_flops, 10e12, 5e15),
    GIVEN(dense_bytes, 0.2e12, 10e12),             GIVEN(dense_start_s, 0.5e-6, 20e-6),
#undef RATE
#undef GIVEN
};

const char *hd_device_rate_name(size_t index) {
  return index < HD_COUNT(table) ? table[index].name : NULL;
}

double *hd_device_rate_at(hd_device_model *c, size_t index) {
  return (double *)((char *)c + table[index].at);
}

bool hd_device_rate_is_fitted(size_t index) { return table[index].is_fitted; }

void hd_device_rate_range(size_t index, double *least, double *most) {
  *least = table[index].least;
  *most = table[index].most;
}
