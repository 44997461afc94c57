#include "Schedule/device_model.h"

#include <stddef.h>
#include <string.h>

#include "Support/arena.h"

/* `heddle tune calibrate` of 9223 schedules of 222 products: the front of each weighs most, so a
 * ceiling is what fits there, not what physics would say of it alone. `crowd` came later, of
 * docs/bench/attempts.csv, run 9. */
#define H200_RATES \
  .clock_hz = 1.65e9,                    \
  .batch_clocks = 88.4,                  \
  .pair_clocks = 35.1,                   \
  .issue_clocks = 71.4,                  \
  .gather_s = 0.3e-6,                   \
  .gather_column_s = 6e-9,              \
  .fill_bytes = 13.1e12,                 \
  .beside = 0.522,                       \
  .void_bytes = 3.74e12,                 \
  .dram_bytes = 4.5e12,                  \
  .crowd = 0.04,                         \
  .l2_latency_s = 0.496e-6,              \
  .dram_latency_s = 0.615e-6,            \
  .multicast = 0.848,                    \
  .launch_s = 0.528e-6,                  \
  .tile_s = 2.1e-6,                      \
  .store_sm_bytes = 83.8e9,              \
  .reduce_s = 0.485e-6,                  \
  .exchange_s = 0.0925e-6,               \
  .exchange_sm_bytes = 65.2e9,           \
  .drain_s = 0.171e-6,                   \
  .dense_flops = 690e12

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
    RATE(clock_hz, 1e9, 2.1e9),           RATE(batch_clocks, 1, 300),
    RATE(pair_clocks, 1, 300),            RATE(issue_clocks, 1, 300),
    RATE(gather_s, 0.01e-6, 5e-6),           RATE(gather_column_s, 0.1e-9, 50e-9),
    RATE(fill_bytes, 1e12, 30e12),        RATE(beside, 0.1, 1),
    RATE(void_bytes, 0.1e12, 30e12),      RATE(dram_bytes, 0.5e12, 4.8e12),
    RATE(crowd, 0.001, 0.5),              RATE(l2_latency_s, 0.2e-6, 2e-6),
    RATE(dram_latency_s, 0.4e-6, 4e-6),   RATE(multicast, 0.5, 1),
    RATE(launch_s, 0.1e-6, 8e-6),         RATE(tile_s, 0.05e-6, 5e-6),
    RATE(store_sm_bytes, 20e9, 1000e9),   RATE(reduce_s, 0.1e-6, 10e-6),
    RATE(exchange_s, 0.01e-6, 10e-6),     RATE(exchange_sm_bytes, 5e9, 250e9),
    RATE(drain_s, 0.01e-6, 2e-6),         RATE(dense_flops, 690e12, 690e12)
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
