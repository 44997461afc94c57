#include "Schedule/device_model.h"

#include <stddef.h>

#include "Support/arena.h"

/* `heddle tune calibrate` of docs/bench/sweep_train.csv: the front of each product weighs most, so
 * that a ceiling is what fits there, not what physics would say of it alone. */
#define H200_RATES \
  .clock_hz = 1.59e+09,                   \
  .batch_clocks = 172,                    \
  .pair_clocks = 49.3,                    \
  .issue_clocks = 54.4,                   \
  .gather_s = 5e-08,                      \
  .gather_column_s = 3.7e-09,             \
  .gather_byte_s = 4.9e-08,               \
  .copy_s = 1.6e-06,                      \
  .copy_bytes = 4e+12,                    \
  .fill_bytes = 9.72e+12,                 \
  .beside = 0.251,                        \
  .beside_in_cluster = 0.585,             \
  .void_bytes = 2.84e+12,                 \
  .dram_bytes = 4.22e+12,                 \
  .crowd = 0.0941,                        \
  .l2_latency_s = 5.4e-07,                \
  .dram_latency_s = 5.12e-07,             \
  .launch_s = 1.06e-06,                   \
  .tile_s = 1.67e-06,                     \
  .ahead_tile_s = 4.17e-07,               \
  .next_tile_s = 1.34e-06,                \
  .store_sm_bytes = 8.27e+10,             \
  .reduce_s = 9.85e-07,                   \
  .exchange_s = 1e-08,                    \
  .exchange_sm_bytes = 3.5e+10,           \
  .drain_s = 4.66e-07,                    \
  .dense_flops = 6.9e+14,                 \
  .dense_bytes = 4.5e+12,                 \
  .dense_start_s = 2.9e-06

/* By compute capability: a target has the last one that is not above its own. SMs as NVIDIA's data
 * sheets have them; in clusters of four as many as were found to run at once (sm_90). */
static const struct entry {
  int sm;
  hd_device_model model;
} models[] = {
    {75, {.device = "NVIDIA T4", .n_sms = 40, .n_sms_of_fours = 40, H200_RATES}},
    {80, {.device = "NVIDIA A100", .n_sms = 108, .n_sms_of_fours = 108, H200_RATES}},
    {89, {.device = "NVIDIA L40S", .n_sms = 142, .n_sms_of_fours = 142, H200_RATES}},
    {90, {.device = "NVIDIA H200", .n_sms = 132, .n_sms_of_fours = 120, H200_RATES}},
    {100, {.device = "NVIDIA B200", .n_sms = 148, .n_sms_of_fours = 148, H200_RATES}},
    {120, {.device = "NVIDIA RTX PRO 6000", .n_sms = 188, .n_sms_of_fours = 188, H200_RATES}},
};

const hd_device_model *hd_device_model_of(const hd_target *target) {
  int sm = target ? target->sm : 90;
  size_t i = HD_COUNT(models) - 1;
  while (i > 0 && models[i].sm > sm)
    i--;
  return &models[i].model;
}

/* least == most: calibrating leaves it alone. */
static const struct rate {
  const char *name;
  size_t at;
  double least, most;
} table[] = {
#define RATE(name, least, most) {#name, offsetof(hd_device_model, name), least, most}
    RATE(clock_hz, 1e9, 2.1e9),                    RATE(batch_clocks, 1, 300),
    RATE(pair_clocks, 1, 300),                     RATE(issue_clocks, 1, 300),
    RATE(gather_s, 0.01e-6, 5e-6),                 RATE(gather_column_s, 0.1e-9, 50e-9),
    RATE(gather_byte_s, 1e-9, 500e-9),             RATE(fill_bytes, 1e12, 30e12),
    RATE(copy_s, 0.5e-6, 10e-6),                   RATE(copy_bytes, 1e12, 4.8e12),
    RATE(beside, 0.1, 1),
    RATE(beside_in_cluster, 0.1, 1.5),             RATE(void_bytes, 0.1e12, 30e12),
    RATE(dram_bytes, 0.5e12, 4.8e12),              RATE(crowd, 0.001, 0.5),
    RATE(l2_latency_s, 0.2e-6, 2e-6),              RATE(dram_latency_s, 0.4e-6, 4e-6),
    RATE(launch_s, 0.1e-6, 8e-6),                  RATE(tile_s, 0.05e-6, 5e-6),
    RATE(ahead_tile_s, 0.05e-6, 5e-6),             RATE(next_tile_s, 0.05e-6, 5e-6),
    RATE(store_sm_bytes, 20e9, 1000e9),            RATE(reduce_s, 0.1e-6, 10e-6),
    RATE(exchange_s, 0.01e-6, 10e-6),              RATE(exchange_sm_bytes, 5e9, 250e9),
    RATE(drain_s, 0.01e-6, 2e-6),                  RATE(dense_flops, 690e12, 690e12),
    RATE(dense_bytes, 4.5e12, 4.5e12),             RATE(dense_start_s, 2.9e-6, 2.9e-6),
#undef RATE
};

const char *hd_device_rate_name(size_t index) {
  return index < HD_COUNT(table) ? table[index].name : NULL;
}

double *hd_device_rate_at(hd_device_model *c, size_t index) {
  return (double *)((char *)c + table[index].at);
}

void hd_device_rate_range(size_t index, double *least, double *most) {
  *least = table[index].least;
  *most = table[index].most;
}
