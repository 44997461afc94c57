/* Verifies that a run has written nothing outside of D, its statistics and aux. */
#include <stdio.h>
#include <string.h>

#include "Support/convert.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

/* Checks that [from, to) is unchanged; reports the first changed byte. */
static bool unchanged(trial_result *result, const trial_block *block, size_t from, size_t to) {
  if (!memcmp(block->all + from, block->before + from, to - from))
    return true;
  size_t i = from;
  while (block->all[i] == block->before[i])
    i++;
  long long at = (long long)i - (long long)(block->data - block->all);
  snprintf(result->why, sizeof result->why,
           "%s was written at byte %lld of its %zu: %02x became %02x", hd_arg_name(block->kind), at,
           block->n_bytes, block->before[i], block->all[i]);
  return false;
}

/* Checks guards and the gaps between the rows of D. */
static bool around_d_unchanged(trial_result *result, const trial_block *d, const trial_stored *s) {
  size_t first = (size_t)(d->data - d->all), row = hd_elem_bytes(d->elem, (size_t)s->cols),
         pitch = hd_elem_bytes(d->elem, (size_t)s->pitch);
  if (!unchanged(result, d, 0, first) ||
      !unchanged(result, d, first + d->n_bytes, d->all_bytes))
    return false;
  for (int64_t i = 0; i + 1 < s->rows; i++) {
    size_t end = first + (size_t)i * pitch + row;
    if (!unchanged(result, d, end, end + pitch - row))
      return false;
  }
  return true;
}

/* Marks the columns of a group: rows of a col_major D, or a part of each row of a row_major D. */
static void mark_group(const trial_data *data, const trial_block *d, const trial_stored *s,
                       bool col_major, int64_t g, uint8_t *is_element) {
  int64_t first, end;
  trial_columns(data, g, &first, &end);
  for (int64_t i = first; data->scatter && i < end; i++)
    if (trial_is_index(data->scatter[i], s->rows)) /* scattered columns: rows of a col_major D */
      memset(is_element + hd_elem_bytes(d->elem, (size_t)(data->scatter[i] * s->pitch)), 1,
             hd_elem_bytes(d->elem, (size_t)s->cols));
  if (data->scatter)
    return;
  int64_t from = col_major ? 0 : first, to = col_major ? s->cols : end;
  for (int64_t i = col_major ? first : 0; i < (col_major ? end : s->rows) && first < end; i++)
    memset(is_element + hd_elem_bytes(d->elem, (size_t)(i * s->pitch + from)), 1,
           hd_elem_bytes(d->elem, (size_t)(to - from)));
}

/* For a batch: checks all bytes that are not elements of the output's matrices, whose rows may
 * interleave. */
static bool around_batch_unchanged(trial_result *result, const trial_block *d,
                                   const trial_data *data, const trial_stored *s,
                                   bool col_major) {
  const trial_shape *shape = &data->shape;
  size_t first = (size_t)(d->data - d->all), row = hd_elem_bytes(d->elem, (size_t)s->cols);
  uint8_t *is_element = hd_xmalloc(d->n_bytes);
  bool right = unchanged(result, d, 0, first) &&
               unchanged(result, d, first + d->n_bytes, d->all_bytes);
  memset(is_element, 0, d->n_bytes);
  for (int64_t i = 0; !data->offsets && i < shape->g * s->rows; i++) {
    int64_t at = trial_before(shape, d->kind, i / s->rows) + i % s->rows * s->pitch;
    memset(is_element + hd_elem_bytes(d->elem, (size_t)at), 1, row);
  }
  for (int64_t g = 0; data->offsets && g < shape->g; g++)
    mark_group(data, d, s, col_major, g, is_element);
  for (size_t i = 0; right && i < d->n_bytes; i++)
    right = is_element[i] || unchanged(result, d, first + i, first + i + 1);
  hd_free(is_element);
  return right;
}

/* Checks all bytes that are not statistics. */
static bool around_statistics_unchanged(trial_result *result, const hd_manifest *manifest,
                                        const trial_block *block, const trial_data *data) {
  size_t first = (size_t)(block->data - block->all);
  bool right = unchanged(result, block, 0, first) &&
               unchanged(result, block, first + block->n_bytes, block->all_bytes);
  uint8_t *is_element = hd_xmalloc(block->n_bytes);
  memset(is_element, 0, block->n_bytes);
  trial_mark_statistics(manifest, data, is_element);
  for (size_t i = 0; right && i < block->n_bytes; i++)
    right = is_element[i] || unchanged(result, block, first + i, first + i + 1);
  hd_free(is_element);
  return right;
}

/* Checks all bytes of D, or aux, that are not elements. */
static bool around_output_unchanged(trial_result *result, const hd_manifest *manifest,
                                    const trial_block *block, const trial_data *data) {
  trial_stored s = block->kind == HD_ARG_D ? trial_stored_d(manifest, &data->shape)
                                           : trial_stored_aux(manifest, &data->shape);
  return (data->shape.g > 1 || data->offsets) && !data->combine
             ? around_batch_unchanged(result, block, data, &s, manifest->d_col_major)
             : around_d_unchanged(result, block, &s);
}

bool trial_memory_right(const hd_manifest *manifest, const trial_data *data,
                        trial_result *result) {
  for (int i = 0; i < data->n_blocks; i++) {
    const trial_block *block = &data->block[i];
    bool right = block->kind == HD_ARG_SCALE_D
                     ? around_statistics_unchanged(result, manifest, block, data)
                 : block->kind == HD_ARG_D || block->kind == HD_ARG_AUX
                     ? around_output_unchanged(result, manifest, block, data)
                     : unchanged(result, block, 0, block->all_bytes);
    if (!right)
      return false;
  }
  return true;
}
