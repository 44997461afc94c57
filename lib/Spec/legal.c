/* Is a row, or a text, legal on a target at a PTX version; if not, why and what would be. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Spec/tables.h"
#include "Spec/text.h"

static hd_legality refuse(hd_legality verdict, char *reason, size_t reason_bytes,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
static hd_legality refuse(hd_legality verdict, char *reason, size_t reason_bytes,
                          const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (reason && reason_bytes)
    vsnprintf(reason, reason_bytes, format, args);
  va_end(args);
  return verdict;
}

/* ---- targets ---- */

static uint16_t family_of(uint16_t sm) {
  for (size_t i = 0; i < hd_spec_n_targets; i++)
    if (hd_spec_targets[i].sm == sm)
      return hd_spec_targets[i].family;
  return 0;
}

static bool avail_covers(const hd_avail *avail, const hd_target *target) {
  switch (avail->kind) {
  case HD_AVAIL_SINCE:
    return target->sm >= avail->sm;
  case HD_AVAIL_ARCH:
    return target->sm == avail->sm && target->suffix == 'a';
  case HD_AVAIL_FAMILY:
    return target->suffix && target->sm >= avail->sm && target->family == family_of(avail->sm);
  }
  return false;
}

unsigned hd_spec_min_ptx(const hd_spec_row *row, const hd_target *target) {
  unsigned least = 0;
  for (unsigned i = 0; i < row->n_avail; i++) {
    if (!avail_covers(&row->avail[i], target))
      continue;
    unsigned ptx = row->avail[i].ptx > target->min_ptx ? row->avail[i].ptx : target->min_ptx;
    if (!least || ptx < least)
      least = ptx;
  }
  return least;
}

/* "sm_90a" or "sm_80 or later" or "sm_120f family": where the row is legal. */
static void describe_avail(const hd_spec_row *row, char *out, size_t n_bytes) {
  size_t used = 0;
  for (unsigned i = 0; i < row->n_avail && used < n_bytes; i++) {
    static const char *const form[] = {"sm_%u or later", "sm_%ua", "sm_%uf and its family"};
    char one[64];
    snprintf(one, sizeof one, form[row->avail[i].kind], row->avail[i].sm);
    int n = snprintf(out + used, n_bytes - used, "%s%s (PTX %u.%u)", i ? ", " : "", one,
                     row->avail[i].ptx / 10, row->avail[i].ptx % 10);
    used += n > 0 ? (size_t)n : 0;
  }
}

hd_legality hd_spec_legal(const hd_spec_row *row, const hd_legal_query *query, char *reason,
                          size_t reason_bytes) {
  char where[256] = "";
  const hd_target *target = query->target;
  if (query->ptx < target->min_ptx)
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.ptx-version: %s needs PTX %u.%u, got %u.%u", target->name,
                  target->min_ptx / 10, target->min_ptx % 10, query->ptx / 10, query->ptx % 10);
  unsigned least = hd_spec_min_ptx(row, target);
  if (!least) {
    describe_avail(row, where, sizeof where);
    return refuse(HD_ILLEGAL, reason, reason_bytes, "spec.target: not on %s; legal on %s",
                  target->name, where);
  }
  if (query->ptx < least)
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.ptx-version: needs PTX %u.%u on %s, got %u.%u", least / 10, least % 10,
                  target->name, query->ptx / 10, query->ptx % 10);
  if (query->selector >= 0 && row->n_selectors && query->selector >= row->n_selectors) {
    if (query->selector < row->n_selectors_taken)
      return refuse(HD_UNDEFINED, reason, reason_bytes, "undefined (ptxas accepts)");
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.selector: sparsity selector %d; legal: 0..%d", query->selector,
                  row->n_selectors - 1);
  }
  return HD_LEGAL;
}

/* ---- texts ---- */

bool hd_instruction_normalize(const char *instruction, char out[HD_INSTRUCTION_BYTES],
                              uint32_t *modifiers) {
  size_t length = strlen(instruction);
  *modifiers = 0;
  if (length >= HD_INSTRUCTION_BYTES)
    return false;
  memcpy(out, instruction, length + 1);
  char *satfinite = strstr(out, ".satfinite.s32.");
  if (satfinite) {
    memmove(satfinite, satfinite + 10, strlen(satfinite + 10) + 1);
    *modifiers |= HD_MOD_SATFINITE;
  }
  return true;
}

/* Equal, or equal but for a .scale_vec that the row lets out. */
static bool same_text(const char *text, const hd_spec_row *row) {
  if (!strcmp(text, row->ptx))
    return true;
  if (!(row->modifiers & HD_MOD_SCALE_VEC))
    return false;
  const char *vec = strstr(row->ptx, ".scale_vec::");
  size_t head = (size_t)(vec - row->ptx), vec_bytes = strlen(".scale_vec::1X");
  return !strncmp(text, row->ptx, head) && !strcmp(text + head, vec + vec_bytes);
}

const hd_spec_row *hd_instruction_row(const char *normalized, uint32_t modifiers) {
  const hd_spec_row *from_registers = NULL; /* same text as the row with a descriptor */
  for (size_t i = 0; i < hd_spec_n_rows; i++) {
    const hd_spec_row *row = &hd_spec_rows[i];
    if ((modifiers & ~row->modifiers) || !same_text(normalized, row))
      continue;
    if (row->family == HD_FAMILY_MMA_SP || !row->a_in_registers)
      return row;
    from_registers = row;
  }
  return from_registers;
}

/* Length of the common beginning plus the common end. */
static size_t likeness(const char *a, const char *b) {
  size_t n_a = strlen(a), n_b = strlen(b), head = 0, tail = 0, least = n_a < n_b ? n_a : n_b;
  while (head < least && a[head] == b[head])
    head++;
  while (tail < least - head && a[n_a - 1 - tail] == b[n_b - 1 - tail])
    tail++;
  return head + tail;
}

static const hd_spec_row *nearest_row(const char *text) {
  const hd_spec_row *best = &hd_spec_rows[0];
  size_t best_likeness = 0;
  for (size_t i = 0; i < hd_spec_n_rows; i++) {
    size_t here = likeness(text, hd_spec_rows[i].ptx);
    if (here > best_likeness) {
      best_likeness = here;
      best = &hd_spec_rows[i];
    }
  }
  return best;
}

hd_legality hd_spec_legal_text(const char *instruction, const hd_legal_query *query, char *reason,
                               size_t reason_bytes) {
  char text[HD_INSTRUCTION_BYTES];
  uint32_t modifiers;
  if (!hd_instruction_normalize(instruction, text, &modifiers))
    return refuse(HD_ILLEGAL, reason, reason_bytes, "spec.instruction: malformed instruction");
  const hd_spec_row *row = hd_instruction_row(text, modifiers);
  if (row)
    return hd_spec_legal(row, query, reason, reason_bytes);
  return refuse(HD_ILLEGAL, reason, reason_bytes, "spec.instruction: no such instruction; nearest: %s",
                nearest_row(text)->ptx);
}
