/* Groups: the offsets of a launch, and which columns they give each product. */
#include <stdlib.h>
#include <string.h>

#include "Reference/routing.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

/* "0,3,17": g + 1 numbers, which may be any. */
static heddle_status read_list(heddle_context *ctx, const char *text, int64_t g,
                               int32_t *offsets) {
  int64_t n = 0;
  for (const char *at = text; *at; n++) {
    char *end;
    long long value = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || value < INT32_MIN || value > INT32_MAX)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.routing",
                      "got '%s'; legal: %s, or offsets as in 0,3,17", text, hd_routing_list);
    if (n <= g)
      offsets[n] = (int32_t)value;
    at = *end ? end + 1 : end;
  }
  if (n == g + 1)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.routing",
                  "got %lld offsets of %lld groups; legal: one more than groups, %lld",
                  (long long)n, (long long)g, (long long)g + 1);
}

heddle_status trial_make_offsets(heddle_context *ctx, const trial_request *request,
                                 const trial_shape *shape, int32_t *offsets) {
  const char *text = request->routing ? request->routing : hd_routing_name(HD_ROUTING_RANDOM);
  hd_routing routing;
  if (hd_routing_parse(text, &routing) != HEDDLE_OK)
    return read_list(ctx, text, shape->g, offsets);
  hd_routing_fill(routing, request->seed, shape->g, shape->n, offsets);
  return HEDDLE_OK;
}

void trial_columns(const trial_data *data, int64_t g, int64_t *first, int64_t *end) {
  *first = 0;
  *end = data->shape.n;
  if (data->offsets)
    hd_routing_columns(data->offsets, g, data->shape.n, first, end);
}

int64_t trial_injected_matrix(const trial_data *data) {
  int64_t first, end, last = trial_matrices(&data->shape, HD_ARG_STRIDE_A) - 1;
  for (int64_t g = last; data->offsets && g >= 0; g--) {
    trial_columns(data, g, &first, &end);
    if (first < end)
      return g;
  }
  return last;
}

static heddle_status nowhere(heddle_context *ctx) {
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                  "no group has a column: there is no place for that error");
}

heddle_status trial_check_injectable(heddle_context *ctx, const trial_data *data) {
  int64_t first, end;
  trial_columns(data, data->offsets ? trial_injected_matrix(data) : 0, &first, &end);
  return first < end ? HEDDLE_OK : nowhere(ctx);
}

/* The first column of a group becomes one of the group before, or of none. */
heddle_status trial_inject_offset(heddle_context *ctx, const trial_shape *shape,
                                  int32_t *offsets) {
  int64_t first, end;
  for (int64_t g = 0; g < shape->g; g++) {
    hd_routing_columns(offsets, g, shape->n, &first, &end);
    if (first == end)
      continue;
    offsets[g] = (int32_t)first + 1;
    return HEDDLE_OK;
  }
  return nowhere(ctx);
}
