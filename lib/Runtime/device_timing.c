/* Timing on the device. Events enclose work that is queued after a spin kernel, so that the time
 * excludes the host's launch overhead. */
#include "Runtime/device.h"
#include "Support/diag.h"

/* Generous estimates of the time to queue a launch. A spin never exceeds MAX_SPIN_NS. */
#define SPIN_BASE_NS UINT64_C(50000)
#define SPIN_LAUNCH_NS UINT64_C(5000)
#define MAX_SPIN_NS UINT64_C(20000000)

typedef heddle_status (*work_fn)(heddle_context *ctx, const hd_device *device, void *work);

/* Queues the work between two events after a spin. *seconds is the time of all the work. */
static heddle_status between_events(heddle_context *ctx, const hd_device *device, void *from,
                                    void *to, uint64_t spin_ns, work_fn work, void *user,
                                    double *seconds) {
  float milliseconds;
  HD_TRY(hd_device_spin(ctx, device, spin_ns < MAX_SPIN_NS ? spin_ns : MAX_SPIN_NS));
  HD_CU_TRY(ctx, device->runtime, event_record, from, device->stream);
  HD_TRY(work(ctx, device, user));
  HD_CU_TRY(ctx, device->runtime, event_record, to, device->stream);
  HD_CU_TRY(ctx, device->runtime, event_sync, to);
  HD_CU_TRY(ctx, device->runtime, event_elapsed, &milliseconds, from, to);
  *seconds = (double)milliseconds * 1e-3;
  return HEDDLE_OK;
}

static heddle_status time_work(heddle_context *ctx, const hd_device *device, uint64_t spin_ns,
                               work_fn work, void *user, double *seconds) {
  const hd_driver *cu = &device->runtime->cu;
  void *from = NULL, *to = NULL;
  heddle_status status = hd_driver_check(ctx, cu, cu->event_create(&from, 0), "event_create");
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, cu, cu->event_create(&to, 0), "event_create");
  if (status == HEDDLE_OK)
    status = between_events(ctx, device, from, to, spin_ns, work, user, seconds);
  if (from)
    cu->event_destroy(from);
  if (to)
    cu->event_destroy(to);
  return status;
}

typedef struct launches {
  hd_launch_fn launch;
  void *user;
  size_t n;
} launches;

static heddle_status launch_all(heddle_context *ctx, const hd_device *device, void *work) {
  const launches *all = work;
  for (size_t i = 0; i < all->n; i++)
    HD_TRY(all->launch(ctx, all->user, i, device->stream));
  return HEDDLE_OK;
}

heddle_status hd_time_stream(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                             void *user, size_t n, double *seconds) {
  launches all = {launch, user, n};
  double total;
  if (n == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "time.count", "nothing to time");
  HD_TRY(time_work(ctx, device, SPIN_BASE_NS + SPIN_LAUNCH_NS * n, launch_all, &all, &total));
  *seconds = total / (double)n;
  return HEDDLE_OK;
}

/* Ends the capture even after an error. Otherwise the stream would stay unusable. */
heddle_status hd_graph_capture(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                               void *user, size_t n, hd_graph *graph) {
  const hd_driver *cu = &device->runtime->cu;
  launches all = {launch, user, n};
  hd_graph made = {.n = n};
  HD_CU_TRY(ctx, device->runtime, capture_begin, device->stream, HD_CU_CAPTURE_THREAD_LOCAL);
  heddle_status status = launch_all(ctx, device, &all);
  int ended = cu->capture_end(device->stream, &made.graph);
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, cu, ended, "capture_end");
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, cu, cu->graph_instantiate(&made.exec, made.graph, 0),
                             "graph_instantiate");
  if (status != HEDDLE_OK) {
    hd_graph_free(device, &made);
    return status;
  }
  *graph = made;
  return HEDDLE_OK;
}

typedef struct replays {
  const hd_graph *graph;
  size_t n;
} replays;

static heddle_status replay_all(heddle_context *ctx, const hd_device *device, void *work) {
  const replays *all = work;
  for (size_t i = 0; i < all->n; i++)
    HD_CU_TRY(ctx, device->runtime, graph_launch, all->graph->exec, device->stream);
  return HEDDLE_OK;
}

heddle_status hd_graph_time(heddle_context *ctx, const hd_device *device, const hd_graph *graph,
                            size_t n_replays, double *seconds) {
  replays all = {graph, n_replays};
  double total;
  if (n_replays == 0 || graph->n == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "time.count", "nothing to time");
  HD_TRY(time_work(ctx, device, SPIN_BASE_NS + 4 * SPIN_LAUNCH_NS * n_replays, replay_all, &all,
                   &total));
  *seconds = total / (double)(n_replays * graph->n);
  return HEDDLE_OK;
}

void hd_graph_free(const hd_device *device, hd_graph *graph) {
  if (graph->exec)
    device->runtime->cu.graph_exec_destroy(graph->exec);
  if (graph->graph)
    device->runtime->cu.graph_destroy(graph->graph);
  *graph = (hd_graph){0};
}
