/* Groups: the offsets of a launch, and the columns that belong to each product. */
#include <stdlib.h>
#include <string.h>

#include "Reference/routing.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

/* Parses "0,3,17": g + 1 arbitrary numbers. */
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

/* ---- indices ---- */

/* The groups together have one range of columns. Removes indices outside it, because these columns
 * of the workspace are not written. */
static void drop_unrouted(const trial_data *data, int64_t n_indices, int32_t *index) {
  int64_t low, high, unused;
  trial_columns(data, 0, &low, &unused);
  trial_columns(data, data->shape.g - 1, &unused, &high);
  for (int64_t i = 0; i < n_indices; i++)
    if (trial_is_index(index[i], data->shape.n) && (index[i] < low || index[i] >= high))
      index[i] = -1;
}

void trial_make_index(const trial_request *request, const trial_data *data, hd_arg_kind kind,
                      int64_t n_indices, int32_t *index) {
  const trial_shape *shape = &data->shape;
  hd_routing routing = HD_ROUTING_RANDOM;
  if (request->routing) /* with given offsets, routing is random */
    hd_routing_parse(request->routing, &routing);
  if (kind == HD_ARG_SCATTER_D)
    hd_routing_scatter(routing, request->seed, shape->n, index);
  else if (kind == HD_ARG_COMBINE_D) {
    hd_routing_combine(routing, request->seed, shape->n, n_indices, index);
    drop_unrouted(data, n_indices, index);
  } else
    hd_routing_gather(routing, request->seed, shape->n, shape->t, index);
}

heddle_status trial_inject_index(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                                 int64_t n, int64_t n_indices, int32_t *index) {
  int64_t first, end;
  for (int64_t i = 0; kind == HD_ARG_COMBINE_D && i < n_indices; i++)
    if (trial_is_index(index[i], n)) {
      index[i] = -1;
      return HEDDLE_OK;
    }
  if (kind == HD_ARG_COMBINE_D)
    return nowhere(ctx);
  for (int64_t g = 0; g < data->shape.g; g++) {
    trial_columns(data, g, &first, &end);
    for (int64_t i = first; i < end; i++)
      if (trial_is_index(index[i], n)) {
        index[i] = -1;
        return HEDDLE_OK;
      }
  }
  return nowhere(ctx);
}

bool trial_is_shown(const hd_manifest *manifest, const trial_data *data, int64_t column) {
  int64_t n = data->combine ? data->shape.t * manifest->slots : 0;
  for (int64_t i = 0; i < n; i++)
    if (data->combine[i] == column)
      return true;
  return !data->combine;
}

/* The first column of a group, or the first one with an index. */
static int64_t faulty_column(trial_fault fault, const trial_data *data) {
  int64_t first, end;
  for (int64_t g = 0; g < data->shape.g; g++) {
    trial_columns(data, g, &first, &end);
    for (int64_t i = first; i < end; i++)
      if (fault == TRIAL_FAULT_OFFSETS || trial_is_index(data->gather[i], data->shape.t))
        return i;
  }
  return -1;
}

heddle_status trial_check_shown(heddle_context *ctx, const hd_manifest *manifest,
                                trial_fault fault, const trial_data *data) {
  bool of_column = fault == TRIAL_FAULT_OFFSETS || fault == TRIAL_FAULT_GATHER;
  if (!of_column || trial_is_shown(manifest, data, faulty_column(fault, data)))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                  "no sum has the column with that error");
}

uint8_t *trial_take_columns(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                            const int32_t *index, int64_t n_columns, const trial_stored *stored) {
  const trial_block *block = trial_data_block(data, kind);
  size_t row = hd_elem_bytes(block->elem, (size_t)stored->cols);
  size_t pitch = hd_elem_bytes(block->elem, (size_t)stored->pitch);
  uint8_t *taken = hd_try_malloc(ctx, row * (size_t)data->shape.n, "columns by index");
  for (int64_t i = 0; taken && i < data->shape.n; i++)
    if (trial_is_index(index[i], n_columns))
      memcpy(taken + (size_t)i * row, block->data + (size_t)index[i] * pitch, row);
    else
      memset(taken + (size_t)i * row, 0, row);
  return taken;
}

/* ---- injected ---- */

/* Moves the first column of a group to the previous group, or to none. */
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
