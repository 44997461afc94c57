#include "Reference/reference_compare.h"

#include <float.h>
#include <math.h>

#include "Support/convert.h"

/* The relative rounding error of a conversion to D's type; 0 for f32 and integers. */
static double rounding_of(heddle_elem d) {
  return d == HEDDLE_F16    ? 4e-4
         : d == HEDDLE_BF16 ? 3e-3
         : d == HEDDLE_E4M3 ? 0x1p-4
         : d == HEDDLE_E5M2 ? 0x1p-3
                            : 0;
}

double hd_error_bound(heddle_elem d, heddle_elem a, heddle_elem accumulator, uint64_t k) {
  enum { INSTRUCTION_BITS = 512 }; /* of a row of A, per instruction */
  const heddle_elem_info *info = heddle_elem_get(a);
  double n_instructions = ceil((double)k / (INSTRUCTION_BITS / info->container_bits));
  bool narrow = info->kind == HEDDLE_FLOAT && info->container_bits <= 8;
  double out = rounding_of(d), u = narrow ? 4e-5 : 0x1p-22;
  if (accumulator == HEDDLE_F16)
    u = 0x1p-11;
  else if (accumulator == HEDDLE_S32)
    u = 0;
  return out + n_instructions * u;
}

double hd_promoted_bound(heddle_elem d, uint64_t k) {
  enum { BLOCK = 128 };
  double n = ceil((double)k / BLOCK);
  return rounding_of(d) + sqrt(n) * 2 * 4e-5 + n * 0x1p-22;
}

/* The inputs of both kinds of comparison. */
typedef struct walk {
  const hd_matrix *d;
  uint64_t n;
  const uint64_t *rows;
  size_t n_rows;
  const double *expected, *slack;
} walk;

static uint64_t row_of(const walk *w, size_t i) {
  return w->rows ? w->rows[i] : i;
}

static double right_at(const walk *w, size_t i, uint64_t j) {
  return w->expected[i * w->n + j];
}

static double slack_at(const walk *w, size_t i, uint64_t j) {
  return w->slack ? w->slack[i * w->n + j] : 0;
}

static uint32_t bits_of(const walk *w, size_t i, uint64_t j) {
  return hd_elem_get_bits(w->d->elem, w->d->data,
                          (size_t)(row_of(w, i) * w->d->row_stride + j * w->d->col_stride));
}

static void blame(hd_comparison *c, const walk *w, size_t i, uint64_t j, double got) {
  c->row = row_of(w, i);
  c->col = j;
  c->got = got;
  c->expected = right_at(w, i, j);
}

static bool same_bits(heddle_elem elem, uint32_t got, double expected) {
  return isnan(expected) ? isnan(hd_elem_to_double(elem, got))
                         : got == hd_elem_from_double(elem, expected);
}

static double rounded(heddle_elem elem, double x) {
  return hd_elem_to_double(elem, hd_elem_from_double(elem, x));
}

/* True if got is the rounding of a value within slack of right. */
static bool is_rounding_near(heddle_elem elem, double got, double right, double slack) {
  return got >= rounded(elem, right - slack) && got <= rounded(elem, right + slack);
}

hd_comparison hd_compare_exact(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                               size_t n_rows, const double *expected, const double *slack) {
  walk w = {d, n, rows, n_rows, expected, slack};
  hd_comparison c = {.n_compared = n * n_rows};
  for (size_t i = 0; i < n_rows; i++)
    for (uint64_t j = 0; j < n; j++) {
      uint32_t bits = bits_of(&w, i, j);
      double got = hd_elem_to_double(d->elem, bits), right = right_at(&w, i, j);
      double may = slack_at(&w, i, j), off = fabs(got - rounded(d->elem, right));
      if (isfinite(off) && off > c.max_error)
        c.max_error = off;
      if (same_bits(d->elem, bits, right) ||
          (may > 0 && is_rounding_near(d->elem, got, right, may)))
        continue;
      if (c.n_wrong++ == 0)
        blame(&c, &w, i, j, got);
    }
  c.error = (double)c.n_wrong;
  c.ok = c.n_wrong == 0;
  return c;
}

static bool is_narrow(heddle_elem elem) {
  return heddle_elem_get(elem)->container_bits == 8;
}

/* The expected value, saturated to the range of D's type if it has 8 bits. */
static double reachable(heddle_elem elem, double right) {
  if (!is_narrow(elem) || isnan(right))
    return right;
  return fmin(fmax(right, rounded(elem, -HUGE_VAL)), rounded(elem, HUGE_VAL));
}

/* The root mean square of the finite part of the reference. */
static double mean_size(const walk *w) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < w->n_rows * (size_t)w->n; i++)
    if (isfinite(w->expected[i])) {
      double x = reachable(w->d->elem, w->expected[i]);
      sum += x * x;
      n++;
    }
  return n ? sqrt(sum / n) : 0;
}

/* The error of an element. For integers, rounding by up to 0.5 is not an error. */
static double distance(heddle_elem elem, double got, double right) {
  double off = fabs(got - right);
  return heddle_elem_get(elem)->kind == HEDDLE_FLOAT ? off : fmax(0, off - 0.5);
}

/* The maximum error of a single element, in units of the bound. */
static const double REACH = 16;

/* The bound without the rounding to D's type. */
static double before_rounding(heddle_elem elem, double bound) {
  return fmax(0, bound - rounding_of(elem));
}

/* The element is wrong if its score is above 1. A rounding of a value within the bound is always
 * correct. This is the only criterion for 8-bit types; for wider ones it matters for subnormals. */
static double score_of(heddle_elem elem, double got, double right, double slack, double bound,
                       double size) {
  double reach = REACH * (fabs(right) + size), near = REACH * slack;
  double score =
      is_narrow(elem) ? INFINITY : distance(elem, got, right) / (bound * reach + near);
  near += before_rounding(elem, bound) * reach;
  return score > 1 && is_rounding_near(elem, got, right, near) ? 0 : score;
}

/* The rounding error of x relative to right; 0 on overflow, which the comparison handles. */
static double rounding_error(heddle_elem elem, double x, double right) {
  double off = distance(elem, rounded(elem, x), right);
  return isfinite(off) ? off : 0;
}

/* The maximum sum of squared errors of correctly rounded values. With many elements it is below the
 * bound. With few elements, or a dominating one, all can be half a unit off or round to zero. */
static double rounding_square(const walk *w, double bound) {
  heddle_elem elem = w->d->elem;
  double sum = 0, near = before_rounding(elem, bound);
  for (size_t i = 0; i < w->n_rows * (size_t)w->n; i++) {
    double right = reachable(elem, w->expected[i]);
    double slack = near * fabs(right) + (w->slack ? w->slack[i] : 0);
    double off = fmax(rounding_error(elem, right - slack, right),
                      rounding_error(elem, right + slack, right));
    sum += off * off;
  }
  return sum;
}

hd_comparison hd_compare_bounded(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                                 size_t n_rows, const double *expected, const double *slack,
                                 double bound) {
  walk w = {d, n, rows, n_rows, expected, slack};
  double size = fmax(mean_size(&w), DBL_MIN), errors = 0, sizes = 0, farthest = -1;
  if (bound == 0)
    return hd_compare_exact(d, n, rows, n_rows, expected, slack);
  hd_comparison c = {.n_compared = n * n_rows, .bound = bound};
  for (size_t i = 0; i < n_rows; i++)
    for (uint64_t j = 0; j < n; j++) {
      uint32_t bits = bits_of(&w, i, j);
      double got = hd_elem_to_double(d->elem, bits);
      double right = reachable(d->elem, right_at(&w, i, j));
      double off = distance(d->elem, got, right);
      double score = score_of(d->elem, got, right, slack_at(&w, i, j), bound, size);
      if (!isfinite(got) || !isfinite(rounded(d->elem, right))) /* no error if both overflow */
        score = same_bits(d->elem, bits, right) ? 0 : INFINITY;
      else {
        errors += off * off;
        sizes += right * right;
        c.max_error = fmax(c.max_error, off);
      }
      c.n_wrong += !(score <= 1);
      if (score > farthest) {
        farthest = score;
        blame(&c, &w, i, j, got);
      }
    }
  c.error = sizes > 0 ? sqrt(errors / sizes) : 0;
  if (c.n_wrong == 0 && c.error > bound)
    c.bound = fmax(bound, sqrt(rounding_square(&w, bound) / sizes));
  c.ok = c.n_wrong == 0 && c.error <= c.bound;
  return c;
}
