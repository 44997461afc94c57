/* Checks if a row or a text is legal on a target at a PTX version, and explains why not. */
#include <stdarg.h>
#include <stdio.h>

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

static hd_legality refuse_undefined(char *reason, size_t reason_bytes) {
  return refuse(HD_UNDEFINED, reason, reason_bytes, "undefined (ptxas accepts)");
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

/* The first version at which the row is defined (or undefined but accepted) on the target; 0: none.
 * `base` is the first version of the target itself. */
static unsigned least_ptx(const hd_spec_row *row, const hd_target *target, unsigned base,
                          bool undefined) {
  unsigned least = 0;
  for (unsigned i = 0; i < row->n_avail; i++) {
    if (row->avail[i].undefined != undefined || !avail_covers(&row->avail[i], target))
      continue;
    unsigned ptx = row->avail[i].ptx > base ? row->avail[i].ptx : base;
    if (!least || ptx < least)
      least = ptx;
  }
  return least;
}

unsigned hd_spec_min_ptx(const hd_spec_row *row, const hd_target *target) {
  return least_ptx(row, target, target->min_ptx, false);
}

/* Lists the targets of the row: "sm_90a", "sm_80 or later", "sm_120f and its family". */
static void describe_avail(const hd_spec_row *row, char *out, size_t n_bytes) {
  size_t used = 0;
  for (unsigned i = 0; i < row->n_avail && used < n_bytes; i++) {
    if (row->avail[i].undefined)
      continue;
    static const char *const form[] = {"sm_%u or later", "sm_%ua", "sm_%uf and its family"};
    char one[64];
    snprintf(one, sizeof one, form[row->avail[i].kind], row->avail[i].sm);
    int n = snprintf(out + used, n_bytes - used, "%s%s (PTX %u.%u)", used ? ", " : "", one,
                     row->avail[i].ptx / 10, row->avail[i].ptx % 10);
    used += n > 0 ? (size_t)n : 0;
  }
}

/* Refuses selectors that neither the ISA nor ptxas accepts, and those that only ptxas accepts. */
static hd_legality check_selector(const hd_spec_row *row, int selector, char *reason,
                                  size_t reason_bytes) {
  if (selector < 0 || selector < row->n_selectors)
    return HD_LEGAL;
  if (!row->n_selectors)
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.selector: sparsity selector %d; legal: none", selector);
  if (selector < row->n_selectors_taken)
    return refuse_undefined(reason, reason_bytes);
  return refuse(HD_ILLEGAL, reason, reason_bytes,
                "spec.selector: sparsity selector %d; legal: 0..%d", selector,
                row->n_selectors - 1);
}

/* True if ptxas accepts the row, but the ISA does not define it: the target is too new for the
 * version, or the row is not defined on the target, or only by a later version. */
static bool taken_but_undefined(const hd_spec_row *row, const hd_legal_query *query) {
  const hd_target *t = query->target;
  unsigned early = least_ptx(row, t, t->taken_ptx, false);
  unsigned undefined = least_ptx(row, t, t->taken_ptx, true);
  if (query->ptx < t->min_ptx && early && query->ptx >= early)
    return true;
  unsigned defined = least_ptx(row, t, t->min_ptx, false);
  return !(defined && query->ptx >= defined) && undefined && query->ptx >= undefined;
}

static hd_legality refuse_version(const char *what, unsigned least, const hd_legal_query *query,
                                  char *reason, size_t reason_bytes) {
  return refuse(HD_ILLEGAL, reason, reason_bytes,
                "spec.ptx-version: %s by PTX %u.%u on %s; legal: PTX %u.%u and later", what,
                query->ptx / 10, query->ptx % 10, query->target->name, least / 10, least % 10);
}

hd_legality hd_spec_legal(const hd_spec_row *row, const hd_legal_query *query, char *reason,
                          size_t reason_bytes) {
  const hd_target *target = query->target;
  unsigned least = hd_spec_min_ptx(row, target);
  if (taken_but_undefined(row, query)) {
    hd_legality selector = check_selector(row, query->selector, reason, reason_bytes);
    return selector != HD_LEGAL
               ? selector
               : refuse_undefined(reason, reason_bytes);
  }
  if (query->ptx < target->min_ptx)
    return refuse_version("any instruction", target->min_ptx, query, reason, reason_bytes);
  if (!least) {
    char where[256] = "";
    describe_avail(row, where, sizeof where);
    return refuse(HD_ILLEGAL, reason, reason_bytes, "spec.target: not on %s; legal: %s",
                  target->name, *where ? where : "no target");
  }
  if (query->ptx < least)
    return refuse_version("the instruction", least, query, reason, reason_bytes);
  return check_selector(row, query->selector, reason, reason_bytes);
}

/* ---- texts ---- */

hd_legality hd_spec_legal_text(const char *instruction, const hd_legal_query *query, char *reason,
                               size_t reason_bytes) {
  hd_instruction in;
  if (!hd_instruction_parse(instruction, &in))
    return refuse(HD_ILLEGAL, reason, reason_bytes, "spec.instruction: malformed instruction");
  const hd_spec_row *row = hd_instruction_row(&in);
  if (!row)
    row = hd_instruction_respelled(&in);
  if (!row)
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.instruction: no such instruction; nearest: %s",
                  hd_instruction_nearest(&in)->ptx);
  /* A collector that keeps A excludes .ashift. */
  if (in.keeps_collector && (in.modifiers & HD_MOD_ASHIFT))
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.collector: .ashift with ::use or ::fill; legal: ::lastuse, ::discard");
  if (query->ptx < in.min_ptx)
    return refuse(HD_ILLEGAL, reason, reason_bytes,
                  "spec.ptx-version: this spelling needs PTX %u.%u, got %u.%u", in.min_ptx / 10,
                  in.min_ptx % 10, query->ptx / 10, query->ptx % 10);
  hd_legality verdict = hd_spec_legal(row, query, reason, reason_bytes);
  bool undefined = in.misplaced || query->ptx < in.defined_ptx;
  return verdict == HD_LEGAL && undefined ? refuse_undefined(reason, reason_bytes) : verdict;
}
