#include "cases.h"

static void same_codes(problem *p, uint8_t code) {
  for (unsigned m = 0; m < p->row->m; m++)
    for (unsigned g = 0; g < p->row->k / p->group; g++)
      p->code[m][g] = code;
}

/* B[k][n] = bit n of k: the row of D for a single nonzero element of A encodes its k. */
static void spell_k(problem *p) {
  for (unsigned k = 0; k < p->row->k; k++)
    for (unsigned n = 0; n < p->row->n; n++)
      p->b[k][n] = (int8_t)(k >> n % 8 & 1);
}

static bool one_a(batch *b, problem *p, unsigned m, unsigned cc) {
  p->a[m][cc] = 1;
  bool ok = batch_add(b, p);
  p->a[m][cc] = 0;
  return ok;
}

static bool hot_a(batch *b, problem *p) {
  problem_clear(p);
  spell_k(p);
  for (unsigned i = 0; i < problem_n_codes(p); i++) {
    same_codes(p, problem_code(p, i));
    for (unsigned m = 0; m < p->row->m; m++)
      for (unsigned cc = 0; cc < p->row->k / 2u; cc++)
        if (!one_a(b, p, m, cc))
          return false;
  }
  return true;
}

/* One nonzero element of B: a column of D shows which rows keep its k. The values of A depend on
 * the row. */
static bool hot_b(batch *b, problem *p, unsigned step) {
  problem_clear(p);
  problem_random_codes(p);
  for (unsigned m = 0; m < p->row->m; m++)
    for (unsigned cc = 0; cc < p->row->k / 2u; cc++)
      p->a[m][cc] = (int8_t)(1 + (m * 5 + cc * 3) % 3);
  for (unsigned i = 0; i < p->row->k * p->row->n; i += step) {
    unsigned k = i / p->row->n, n = i % p->row->n;
    p->b[k][n] = 1;
    bool ok = batch_add(b, p);
    p->b[k][n] = 0;
    if (!ok)
      return false;
  }
  return true;
}

/* Each metadata field takes each code while all other fields hold random ones. */
static bool hot_meta(batch *b, problem *p) {
  problem_random_codes(p);
  problem_random_values(p);
  for (unsigned m = 0; m < p->row->m; m++)
    for (unsigned g = 0; g < p->row->k / p->group; g++) {
      uint8_t was = p->code[m][g];
      for (unsigned i = 0; i < problem_n_codes(p); i++) {
        p->code[m][g] = problem_code(p, i);
        if (!batch_add(b, p))
          return false;
      }
      p->code[m][g] = was;
    }
  return true;
}

bool cases_random(batch *b, problem *p, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    problem_random_codes(p);
    problem_random_values(p);
    if (!batch_add(b, p))
      return false;
  }
  return true;
}

bool cases_full(batch *b, problem *p) {
  return hot_a(b, p) && hot_b(b, p, 1) && hot_meta(b, p) && cases_random(b, p, 16);
}

bool cases_light(batch *b, problem *p) {
  problem_clear(p);
  problem_random_codes(p);
  for (unsigned k = 0; k < p->row->k; k++) /* column n of D spells n */
    for (unsigned n = 0; n < p->row->n; n++)
      p->b[k][n] = (int8_t)(n >> k % 8 & 1);
  for (unsigned m = 0; m < p->row->m; m++)
    if (!one_a(b, p, m, (m * 7) % (p->row->k / 2u)))
      return false;
  return hot_b(b, p, 37) && cases_random(b, p, 3);
}
