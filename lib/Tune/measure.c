#include "Tune/measure.h"

#include <string.h>
#include <time.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/statistics.h"

enum { MAX_GRAPH_LAUNCHES = 4096 };

size_t hd_measure_sets(size_t bytes_a_set) {
  enum { ROTATE_BYTES = 256 << 20, MIN_SETS = 2 };
  size_t n = hd_rotation_count(bytes_a_set, ROTATE_BYTES);
  return n < MIN_SETS ? MIN_SETS : n;
}

bool hd_measure_is_large(int64_t n) { return n >= 1024; }

hd_rounds hd_rounds_for(int64_t n) {
  return hd_measure_is_large(n) ? (hd_rounds){5, 12e-3, 12e-3, 0} : (hd_rounds){9, 3e-3, 0.3e-3, 0};
}

hd_rounds hd_rounds_quick(int64_t n) {
  return hd_measure_is_large(n) ? (hd_rounds){3, 4e-3, 4e-3, 0} : (hd_rounds){3, 1e-3, 0.3e-3, 0};
}

hd_rounds hd_rounds_long(int64_t n) {
  return hd_measure_is_large(n) ? (hd_rounds){12, 40e-3, 40e-3, 0}
                                 : (hd_rounds){40, 1e-3, 0.3e-3, 0};
}

hd_rounds hd_rounds_brief(int64_t n) {
  return hd_measure_is_large(n) ? (hd_rounds){2, 40e-3, 40e-3, 0} : hd_rounds_quick(n);
}

static hd_timing summary(double *samples, int32_t n) {
  hd_sort(samples, n);
  return (hd_timing){samples[n / 2], samples[0], samples[n - 1]};
}

/* Captures a graph of whole rotations; n_replays replays of it take about `seconds`. */
static heddle_status capture(heddle_context *ctx, const hd_device *device,
                             const hd_contender *contender, size_t n_sets, double seconds,
                             hd_graph *graph, size_t *n_replays) {
  double once;
  HD_TRY(hd_time_stream(ctx, device, contender->launch, contender->user, n_sets, &once));
  HD_TRY(hd_time_stream(ctx, device, contender->launch, contender->user, n_sets, &once));
  double turns = seconds / (once * (double)n_sets);
  size_t most = MAX_GRAPH_LAUNCHES / n_sets ? MAX_GRAPH_LAUNCHES / n_sets : 1;
  size_t rotations = turns < 1 ? 1 : turns > (double)most ? most : (size_t)turns;
  HD_TRY(hd_graph_capture(ctx, device, contender->launch, contender->user, rotations * n_sets,
                          graph));
  double replays = turns / (double)rotations;
  *n_replays = replays < 1 ? 1 : (size_t)(replays + 0.5);
  return HEDDLE_OK;
}

heddle_status hd_measure_quick(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               double *seconds_a_launch) {
  hd_graph graph;
  size_t n_replays;
  HD_TRY(capture(ctx, device, contender, n_sets, seconds, &graph, &n_replays));
  heddle_status status = hd_graph_time(ctx, device, &graph, n_replays, seconds_a_launch);
  hd_graph_free(device, &graph);
  return status;
}

static heddle_status take_turn(heddle_context *ctx, const hd_device *device, const hd_graph *graph,
                               size_t n_replays, const hd_rounds *rounds, double *sample) {
  double warm;
  size_t n_warm = (size_t)((double)n_replays * rounds->warm_seconds / rounds->seconds);
  HD_TRY(hd_graph_time(ctx, device, graph, n_warm ? n_warm : 1, &warm));
  return hd_graph_time(ctx, device, graph, n_replays, sample);
}

/* Whether the remaining rounds can be skipped (hd_rounds.enough). */
static bool settled(const hd_rounds *rounds, double *samples, int32_t n, int32_t done) {
  /* Each of a few contenders began as many rounds. n is 0 if all were wrong. */
  bool is_balanced = n == 0 || n > rounds->n_rounds / 2 || done % n == 0;
  if (done <= rounds->n_rounds / 2 || rounds->enough <= 0 || !is_balanced)
    return false;
  for (int32_t i = 0; i < n; i++) {
    hd_timing t = summary(&samples[i * rounds->n_rounds], done);
    if (t.max - t.min > rounds->enough * t.median)
      return false;
  }
  return true;
}

static int32_t greatest_divisor(int32_t x, int32_t y) {
  return y ? greatest_divisor(y, x % y) : x;
}

/* The i-th of the numbers from 1 to n - 1 that have no divisor in common with n; after the last one
 * comes the first again. */
static int32_t step_of(int32_t n, int32_t i) {
  int32_t step = 0;
  for (int32_t found = -1; found < i; found += greatest_divisor(n, step) == 1)
    step = step % (n - 1) + 1;
  return step;
}

int32_t hd_measure_contender(int32_t round, int32_t place, int32_t n) {
  return n < 2 ? 0 : (int32_t)((round + (int64_t)place * step_of(n, round)) % n);
}

heddle_status hd_measure_rounds(heddle_context *ctx, const hd_device *device,
                                const hd_contender *list, int32_t n, size_t n_sets,
                                const hd_rounds *rounds, hd_timing *timings, double *out) {
  hd_arena arena = {0};
  hd_graph *graph = HD_NEW_ARRAY(&arena, hd_graph, n);
  size_t *n_replays = HD_NEW_ARRAY(&arena, size_t, n);
  double *samples = HD_NEW_ARRAY(&arena, double, n * rounds->n_rounds);
  heddle_status status = HEDDLE_OK;
  int32_t n_captured = 0;
  for (; n_captured < n && status == HEDDLE_OK; n_captured++)
    status = capture(ctx, device, &list[n_captured], n_sets, rounds->seconds, &graph[n_captured],
                     &n_replays[n_captured]);
  if (status != HEDDLE_OK)
    n_captured--;
  int32_t done = 0; /* rounds */
  for (; done < rounds->n_rounds && status == HEDDLE_OK && !settled(rounds, samples, n, done);
       done++)
    for (int32_t place = 0; place < n && status == HEDDLE_OK; place++) {
      int32_t i = hd_measure_contender(done, place, n);
      status = take_turn(ctx, device, &graph[i], n_replays[i], rounds,
                         &samples[i * rounds->n_rounds + done]);
    }
  if (out && status == HEDDLE_OK)
    memcpy(out, samples, sizeof *out * (size_t)(n * rounds->n_rounds)); /* summary sorts them */
  for (int32_t i = 0; i < n && status == HEDDLE_OK; i++)
    timings[i] = summary(&samples[i * rounds->n_rounds], done);
  for (int32_t i = 0; i < n_captured; i++)
    hd_graph_free(device, &graph[i]);
  hd_arena_free(&arena);
  return status;
}

static void idle(double seconds) {
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static const double BURST_S = 4e-3;

/* Times `seconds` of launches without a pause, and reads power and clock at their end. once: the
 * estimated time of one launch. */
static heddle_status sustain(heddle_context *ctx, const hd_device *device, const hd_graph *graph,
                             double once, double seconds, const hd_nvml *nvml, hd_alone *alone) {
  size_t n_replays = (size_t)(seconds / HD_ALONE_WINDOWS / (once * (double)graph->n));
  double total = 0;
  for (int i = 0; i < HD_ALONE_WINDOWS; i++) {
    HD_TRY(hd_graph_time(ctx, device, graph, n_replays ? n_replays : 1, &alone->window[i]));
    total += alone->window[i];
  }
  alone->sustained = total / HD_ALONE_WINDOWS;
  hd_nvml_sample sample = {0};
  if (nvml && hd_nvml_read(NULL, nvml, &sample) == HEDDLE_OK) {
    alone->power_w = sample.power_w;
    alone->sm_mhz = sample.sm_mhz;
  }
  return HEDDLE_OK;
}

heddle_status hd_measure_alone(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               const hd_nvml *nvml, hd_alone *alone) {
  hd_graph graph;
  size_t n_replays;
  hd_alone result = {0};
  HD_TRY(capture(ctx, device, contender, n_sets, BURST_S, &graph, &n_replays));
  idle(0.2);
  heddle_status status = hd_graph_time(ctx, device, &graph, n_replays, &result.burst);
  if (status == HEDDLE_OK)
    status = sustain(ctx, device, &graph, result.burst, seconds, nvml, &result);
  hd_graph_free(device, &graph);
  if (status == HEDDLE_OK)
    *alone = result;
  return status;
}

heddle_status hd_measure_sustained(heddle_context *ctx, const hd_device *device,
                                   const hd_contender *contender, size_t n_sets, double settle,
                                   double seconds, const hd_nvml *nvml, hd_alone *alone) {
  hd_graph graph;
  size_t n_replays;
  double once;
  hd_alone result = {0};
  HD_TRY(capture(ctx, device, contender, n_sets, BURST_S, &graph, &n_replays));
  heddle_status status = hd_graph_time(ctx, device, &graph, n_replays, &once);
  if (status == HEDDLE_OK)
    status = sustain(ctx, device, &graph, once, settle, NULL, &result);
  if (status == HEDDLE_OK)
    status = sustain(ctx, device, &graph, once, seconds, nvml, &result);
  hd_graph_free(device, &graph);
  if (status == HEDDLE_OK)
    *alone = result;
  return status;
}
