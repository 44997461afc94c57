#include "simhw_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "matrix_move.h"
#include "simhw_device.h"

enum { MAX_CASES = 32 };

/* The first half of the cases are small integers, the others random normal values. */
typedef struct comparison {
  const sides *s;
  const form *f;
  packing *packing;
  problem p;
  encoders numbers; /* of the current case */
  unsigned n_cases;
  uint8_t *in;
  uint32_t *sim, *other; /* D of every case, in registers */
  double *exact, *scale; /* in double precision, m * n a case: D, and |c| + sum of |a*b| */
} comparison;

/* ---- random values ---- */

static double uniform(problem *p) {
  return (problem_random(p) + 0.5) / 4294967296.0;
}

/* A quarter of the range is one standard deviation of an integer type. */
static double deviation(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  bool integer = info->kind == HEDDLE_SIGNED || info->kind == HEDDLE_UNSIGNED;
  return !integer ? 1 : info->value_bits == 32 ? 1000 : 1 << (info->value_bits - 1) >> 2;
}

static void random_encoder(encoder *e, heddle_elem elem, problem *p) {
  double value[256], sigma = deviation(elem);
  for (unsigned i = 0; i < 256; i++) {
    double x = sigma * sqrt(-2 * log(uniform(p))) * cos(6.283185307179586 * uniform(p));
    value[i] = hd_elem_has_sign(elem) ? x : fabs(x);
  }
  encoder_set(e, elem, value);
}

static void random_numbers(problem *p, int8_t *at, size_t n) {
  for (size_t i = 0; i < n; i++)
    at[i] = (int8_t)(problem_random(p) >> 24);
}

/* Each operand takes 256 different normal values in random positions. */
static void random_case(comparison *c) {
  const hd_spec_row *row = c->f->row;
  problem *p = &c->p;
  random_encoder(&c->numbers.a, row->operand[HD_OPERAND_A].elem, p);
  random_encoder(&c->numbers.b, row->operand[HD_OPERAND_B].elem, p);
  random_encoder(&c->numbers.c, row->operand[HD_OPERAND_D].elem, p);
  random_numbers(p, p->a[0], sizeof p->a);
  random_numbers(p, p->b[0], sizeof p->b);
  random_numbers(p, p->c[0], sizeof p->c);
}

/* ---- the product in double precision ---- */

static void add_product(const comparison *c, unsigned m, double *d, double *scale) {
  const problem *p = &c->p;
  double sign = c->f->negate_a != c->f->negate_b ? -1 : 1;
  for (unsigned cc = 0; cc < p->row->k / 2u; cc++) {
    double a = sign * c->numbers.a.value[(uint8_t)p->a[m][cc]];
    const int8_t *b = p->b[problem_k(p, m, cc)];
    for (unsigned n = 0; n < p->row->n; n++) {
      double product = a * c->numbers.b.value[(uint8_t)b[n]];
      d[n] += product;
      scale[n] += fabs(product);
    }
  }
}

static void multiply(const comparison *c, double *d, double *scale) {
  unsigned n_cols = c->p.row->n;
  for (unsigned m = 0; m < c->p.row->m; m++, d += n_cols, scale += n_cols) {
    for (unsigned n = 0; n < n_cols; n++)
      d[n] = scale[n] = 0;
    add_product(c, m, d, scale);
    for (unsigned n = 0; n < n_cols; n++) {
      double value = c->numbers.c.value[(uint8_t)c->p.c[m][n]];
      d[n] += value;
      scale[n] += fabs(value);
    }
  }
}

/* ---- running both sides ---- */

static size_t tile_of(const comparison *c) {
  return (size_t)c->f->row->m * c->f->row->n;
}

static void make_cases(comparison *c) {
  for (unsigned i = 0; i < c->n_cases; i++) {
    problem_random_codes(&c->p);
    if (i < c->n_cases / 2) {
      encoders_integers(&c->numbers, c->f);
      problem_random_values(&c->p);
    } else {
      random_case(c);
    }
    packing_pack(c->packing, &c->numbers, &c->p, c->in + i * packing_in_bytes(c->packing));
    multiply(c, c->exact + i * tile_of(c), c->scale + i * tile_of(c));
  }
}

static void flip_all(comparison *c) {
  for (unsigned i = 0; c->s->inject && i < c->n_cases; i++)
    packing_flip(c->packing, c->in + i * packing_in_bytes(c->packing));
}

static bool on_device(const sides *s, const char *text, const gpu_job *job) {
  gpu_kernel kernel;
  if (!gpu_load(s->g, text, job->shared_bytes, &kernel))
    return false;
  bool ran = gpu_run(s->g, &kernel, job);
  gpu_unload(s->g, &kernel);
  return ran;
}

static bool run_both(comparison *c) {
  char *text = kernel_text_oldest(c->f, c->s->target);
  gpu_job job = packing_job(c->packing, c->in, c->other, c->n_cases);
  bool ran = !c->s->g || on_device(c->s, text, &job);
  job.out = c->sim;
  flip_all(c);
  ran = ran && sim_device_run(c->f->row->name, text, &job);
  free(text);
  return ran;
}

/* ---- comparing ---- */

static void add_difference(apart *r, double x, double y, double scale) {
  double abs = fabs(x - y), rel = scale > 0 ? abs / scale : abs;
  abs = isnan(abs) ? INFINITY : abs;
  rel = isnan(rel) ? INFINITY : rel;
  r->max_abs = fmax(r->max_abs, abs);
  r->max_rel = fmax(r->max_rel, rel);
}

/* D in double precision, converted to the type of the row. */
static uint32_t exact_d(const comparison *c, double value) {
  heddle_elem elem = c->f->row->operand[HD_OPERAND_D].elem;
  return c->f->c_base ? (uint32_t)form_bounded(c->f, (int64_t)value)
                      : hd_elem_from_double(elem, value);
}

static void compare_case(const comparison *c, unsigned index, apart *r) {
  heddle_elem elem = c->f->row->operand[HD_OPERAND_D].elem;
  size_t first = index * (packing_out_bytes(c->packing) / 4), tile = index * tile_of(c);
  for (size_t i = 0; i < packing_n_d(c->packing); i++) {
    unsigned row, col;
    uint32_t sim = packing_d(c->packing, c->sim + first, i, &row, &col);
    size_t at = tile + row * c->f->row->n + col;
    uint32_t other = c->s->g ? packing_d(c->packing, c->other + first, i, &row, &col)
                             : exact_d(c, c->exact[at]);
    if (index >= c->n_cases / 2) {
      if (sim != other)
        add_difference(r, hd_elem_to_double(elem, sim), hd_elem_to_double(elem, other),
                       c->scale[at]);
      continue;
    }
    r->n_exact++;
    r->n_unequal += sim != other;
  }
}

static void make_room(comparison *c) {
  size_t out_bytes = packing_out_bytes(c->packing) * c->n_cases;
  c->in = hd_xmalloc(packing_in_bytes(c->packing) * c->n_cases);
  memset(c->in, 0, packing_in_bytes(c->packing) * c->n_cases);
  c->sim = hd_xmalloc(out_bytes);
  c->other = hd_xmalloc(out_bytes);
  c->exact = hd_xmalloc(tile_of(c) * c->n_cases * sizeof *c->exact);
  c->scale = hd_xmalloc(tile_of(c) * c->n_cases * sizeof *c->scale);
}

static void comparison_free(comparison *c) {
  packing_free(c->packing);
  free(c->in);
  free(c->sim);
  free(c->other);
  free(c->exact);
  free(c->scale);
  free(c);
}

bool simhw_form(const sides *s, const form *f, apart *r) {
  comparison *c = hd_xmalloc(sizeof *c);
  memset(c, 0, sizeof *c);
  c->s = s;
  c->f = f;
  c->n_cases = f->row->issuer == HD_ISSUER_WARPGROUP ? 8 : MAX_CASES;
  c->packing = packing_open(f);
  problem_init(&c->p, f->row, false);
  bool ran = false;
  if (c->packing) {
    make_room(c);
    make_cases(c);
    ran = run_both(c);
  }
  for (unsigned i = 0; ran && i < c->n_cases; i++)
    compare_case(c, i, r);
  comparison_free(c);
  return ran;
}

/* ---- ldmatrix and stmatrix ---- */

static unsigned bytes_apart(const matrix_move *a, const matrix_move *b) {
  const uint8_t *x = (const uint8_t *)a->out, *y = (const uint8_t *)b->out;
  unsigned n = 0;
  for (unsigned i = 0; i < MOVE_BYTES; i++)
    n += x[i] != y[i];
  return n;
}

static bool compare_moves(const sides *s, const hd_spec_row *row, const char *text, apart *r) {
  matrix_move sim, device;
  unsigned n_checks = MOVE_BYTES, n_wrong;
  gpu_job job = matrix_move_job(&device);
  if (s->g && !on_device(s, text, &job))
    return false;
  job = matrix_move_job(&sim);
  uint32_t first = sim.in[0];
  sim.in[0] ^= s->inject;
  if (!sim_device_run(row->name, text, &job))
    return false;
  sim.in[0] = first;
  n_wrong = s->g ? bytes_apart(&sim, &device) : matrix_move_wrong(row, &sim, false, &n_checks);
  r->n_exact += n_checks;
  r->n_unequal += n_wrong;
  return true;
}

bool simhw_move(const sides *s, const hd_spec_row *row, apart *r) {
  char *text = matrix_move_text(row, s->target);
  bool ran = compare_moves(s, row, text, r);
  free(text);
  return ran;
}
