#include "problem.h"

#include <string.h>

void problem_init(problem *p, const hd_spec_row *row, bool inject) {
  const heddle_elem_info *a = heddle_elem_get(row->operand[HD_OPERAND_A].elem);
  const heddle_elem_info *b = heddle_elem_get(row->operand[HD_OPERAND_B].elem);
  memset(p, 0, sizeof *p);
  p->row = row;
  p->inject = inject;
  p->group = a->group;
  p->kept = a->kept;
  p->is_unsigned_a = a->kind == HEDDLE_UNSIGNED;
  p->is_unsigned_b = b->kind == HEDDLE_UNSIGNED;
  p->seed = 0x9E3779B97F4A7C15u ^ ((uint64_t)row->m << 40 | (uint64_t)row->n << 20 | row->k);
}

void problem_clear(problem *p) {
  memset(p->a, 0, sizeof p->a);
  memset(p->b, 0, sizeof p->b);
  memset(p->c, 0, sizeof p->c);
}

/* xorshift64* */
uint32_t problem_random(problem *p) {
  p->seed ^= p->seed >> 12;
  p->seed ^= p->seed << 25;
  p->seed ^= p->seed >> 27;
  return (uint32_t)(p->seed * 0x2545F4914F6CDD1Du >> 32);
}

static const uint8_t codes4[] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
static const uint8_t codes2[] = {0x4, 0xE};

unsigned problem_n_codes(const problem *p) {
  return p->group == 2 ? sizeof codes2 : sizeof codes4;
}

uint8_t problem_code(const problem *p, unsigned i) {
  return p->group == 2 ? codes2[i] : codes4[i];
}

void problem_random_codes(problem *p) {
  for (unsigned m = 0; m < p->row->m; m++)
    for (unsigned g = 0; g < p->row->k / p->group; g++)
      p->code[m][g] = problem_code(p, problem_random(p) % problem_n_codes(p));
}

static int8_t small_value(problem *p, bool is_unsigned, bool nonzero) {
  static const int8_t any[] = {-2, -1, 1, 2, 3, 0}, positive[] = {1, 2, 3, 0};
  unsigned n = is_unsigned ? 4 : 6;
  unsigned i = problem_random(p) % (nonzero ? n - 1 : n);
  return is_unsigned ? positive[i] : any[i];
}

void problem_random_values(problem *p) {
  const hd_spec_row *row = p->row;
  for (unsigned m = 0; m < row->m; m++)
    for (unsigned cc = 0; cc < row->k / 2u; cc++)
      p->a[m][cc] = small_value(p, p->is_unsigned_a, true);
  for (unsigned k = 0; k < row->k; k++)
    for (unsigned n = 0; n < row->n; n++)
      p->b[k][n] = small_value(p, p->is_unsigned_b, false);
  for (unsigned m = 0; m < row->m; m++)
    for (unsigned n = 0; n < row->n; n++)
      p->c[m][n] = small_value(p, false, false);
}

static unsigned injected_code(const problem *p, unsigned code) {
  unsigned first = 0x4, second = p->group == 2 ? 0xE : 0x8;
  return !p->inject ? code : code == first ? second : code == second ? first : code;
}

unsigned problem_k(const problem *p, unsigned m, unsigned cc) {
  unsigned g = cc / p->kept, slot = cc % p->kept, code = injected_code(p, p->code[m][g]);
  if (p->group == 2)
    return g * 2 + (code == 0xE);
  if (p->group == 4)
    return g * 4 + (code >> 2 * slot & 3);
  return g * 8 + 2 * (code >> 2 * (slot / 2) & 3) + slot % 2;
}

static void add_row(const problem *p, int sign, unsigned m, int32_t *d) {
  for (unsigned cc = 0; cc < p->row->k / 2u; cc++) {
    int32_t a = sign * p->a[m][cc];
    if (!a)
      continue;
    const int8_t *b = p->b[problem_k(p, m, cc)];
    for (unsigned n = 0; n < p->row->n; n++)
      d[n] += a * b[n];
  }
}

void problem_expect(const problem *p, int sign, int32_t *d) {
  for (unsigned m = 0; m < p->row->m; m++, d += p->row->n) {
    for (unsigned n = 0; n < p->row->n; n++)
      d[n] = p->c[m][n];
    add_row(p, sign, m, d);
  }
}
