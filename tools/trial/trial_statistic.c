/* Statistics of D for each 128 rows of a column: the largest absolute value, the sum of squares, or
 * the scale that divides them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/convert.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

enum { ROWS = 128 };

static const double least_scale = 0x1p-126;
/* Relative rounding error of a sum of squares in f32. */
static const double sum_error = 0x1p-20;
/* Relative error of a division by multiplication with an inverse: two roundings. */
static const double inverse_error = 0x1p-22;

static bool is(const hd_manifest *manifest, const char *statistic) {
  return strcmp(manifest->statistic, statistic) == 0;
}

trial_stored trial_stored_statistic(const hd_manifest *manifest, const trial_shape *s) {
  int64_t height = hd_manifest_d_rows(manifest, s->m);
  return (trial_stored){(height + ROWS - 1) / ROWS, s->n, s->ldsd};
}

size_t trial_statistic_rows(uint64_t height, uint64_t rows[2 * ROWS]) {
  uint64_t last = (height - 1) / ROWS * ROWS;
  size_t n = 0;
  for (uint64_t i = 0; i < height && i < ROWS; i++)
    rows[n++] = i;
  for (uint64_t i = last; i < height && last; i++)
    rows[n++] = i;
  return n;
}

static float stored_at(const trial_data *data, uint64_t band, int64_t column) {
  const trial_block *block = trial_data_block(data, HD_ARG_SCALE_D);
  float x;
  memcpy(&x, block->data + ((int64_t)band * data->shape.ldsd + column) * (int64_t)sizeof x,
         sizeof x);
  return x;
}

static double largest_of(heddle_elem elem) {
  return elem == HEDDLE_E4M3 ? 448 : elem == HEDDLE_E5M2 ? 57344 : 127;
}

typedef struct interval {
  double lo, hi;
} interval;

/* The range of a column's statistic, if each result x may be off by `near`. */
static interval expected_of(const hd_manifest *manifest, const double *x, const double *near,
                            size_t n, size_t apart) {
  double most = 0, least = 0, sum = 0, off = 0;
  for (size_t i = 0; i < n * apart; i += apart) {
    most = fmax(most, fabs(x[i]) + near[i]);
    least = fmax(least, fabs(x[i]) - near[i]);
    sum += x[i] * x[i];
    off += near[i] * (2 * fabs(x[i]) + near[i]);
  }
  if (is(manifest, "absmax"))
    return (interval){least, most};
  if (is(manifest, "sumsq"))
    return (interval){sum - off - sum_error * sum, sum + off + sum_error * sum};
  double by = largest_of(manifest->d_elem);
  return (interval){fmax(least / by, least_scale), fmax(most / by, least_scale)};
}

/* A value that is rounded once (a maximum, a quotient) lies between the rounded limits. */
static void keep(const hd_manifest *manifest, uint64_t band, int64_t column, double got,
                 interval right, trial_result *result) {
  result->n_statistics++;
  if (got >= (double)(float)right.lo && got <= (double)(float)right.hi)
    return;
  result->n_statistics_wrong++;
  if (!result->why[0])
    snprintf(result->why, sizeof result->why,
             "scale_d[%" PRIu64 ", %" PRId64 "] is %.9g, the reference's %s from %.9g to %.9g",
             band, column, got, manifest->statistic, right.lo, right.hi);
}

static uint64_t row_at(const uint64_t *rows, size_t i) {
  return rows ? rows[i] : i;
}

/* The number of rows from i on that belong to the same 128 rows. */
static size_t rows_of_band(const uint64_t *rows, size_t i, size_t n_rows) {
  size_t n = 1;
  while (i + n < n_rows && row_at(rows, i + n) / ROWS == row_at(rows, i) / ROWS)
    n++;
  return n;
}

/* Divides the results by the stored scale, as D is; adds the error of the division. */
static void divide(double scale, double *x, double *near, size_t n, size_t apart) {
  for (size_t i = 0; i < n * apart; i += apart) {
    near[i] = (near[i] + inverse_error * fabs(x[i])) / scale;
    x[i] /= scale;
  }
}

void trial_check_statistic(const hd_manifest *manifest, const trial_data *data, int64_t first,
                           uint64_t n, const uint64_t *rows, size_t n_rows, double *x, double *near,
                           trial_result *result) {
  for (size_t i = 0, count; i < n_rows; i += count) {
    uint64_t band = row_at(rows, i) / ROWS;
    count = rows_of_band(rows, i, n_rows);
    for (uint64_t j = 0; j < n; j++) {
      double got = stored_at(data, band, first + (int64_t)j);
      size_t at = i * n + j;
      keep(manifest, band, first + (int64_t)j, got,
           expected_of(manifest, x + at, near + at, count, n), result);
      if (is(manifest, "scale"))
        divide(got, x + at, near + at, count, n);
    }
  }
}

void trial_show_scaled(const hd_manifest *manifest, uint64_t n, const uint64_t *rows, size_t n_rows,
                       double *x) {
  heddle_elem elem = manifest->d_elem;
  for (size_t i = 0, count; i < n_rows; i += count) {
    count = rows_of_band(rows, i, n_rows);
    for (uint64_t j = 0; j < n; j++) {
      double *column = x + i * n + j, most = 0;
      for (size_t r = 0; r < count; r++)
        most = fmax(most, fabs(column[r * n]));
      double scale = fmax(most / largest_of(elem), least_scale);
      for (size_t r = 0; r < count; r++)
        column[r * n] =
            scale * hd_elem_to_double(elem, hd_elem_from_double(elem, column[r * n] / scale));
    }
  }
}

/* Columns without a group have no statistics. */
void trial_mark_statistics(const hd_manifest *manifest, const trial_data *data,
                           uint8_t *is_element) {
  trial_stored s = trial_stored_statistic(manifest, &data->shape);
  for (int64_t g = 0; g < data->shape.g; g++) {
    int64_t first, end;
    trial_columns(data, g, &first, &end);
    for (int64_t i = 0; i < s.rows && first < end; i++)
      memset(is_element + (size_t)(i * s.pitch + first) * sizeof(float), 1,
             (size_t)(end - first) * sizeof(float));
  }
}
