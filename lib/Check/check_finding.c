#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Check/check_instances.h"

static hd_check_access describe(hd_ck_machine *m, const hd_ck_warp *w, const hd_op *op,
                                int32_t slot, int64_t iteration) {
  hd_arena *arena = &m->report->arena;
  hd_check_access at = {.op = op, .cta = w->cta, .warp = w->index, .slot = slot};
  at.role = w->role < 0 ? "kernel" : m->program->roles[w->role].name;
  at.iteration = iteration;
  at.text = hd_arena_printf(arena, "%s (%u:%u)", hd_op_get_info(op->kind)->text, op->loc.line,
                            op->loc.col);
  return at;
}

hd_check_access hd_ck_here(hd_ck_machine *m, const hd_ck_warp *w, const hd_op *op, int32_t slot) {
  return describe(m, w, op, slot, hd_ck_iteration(w));
}

hd_check_access hd_ck_there(hd_ck_machine *m, const hd_ck_access *x) {
  return describe(m, &m->warps[x->warp], x->op, x->slot, x->iteration);
}

static bool is_known(const hd_check_report *r, const char *rule, const hd_op *a, const hd_op *b) {
  for (int32_t i = 0; i < r->n_findings; i++) {
    const hd_check_finding *f = &r->findings[i];
    if (!strcmp(f->rule, rule) && f->first.op == a && f->second.op == b)
      return true;
  }
  return false;
}

/* The launch that shows a finding: the sizes that it sets, and the grid. */
static void where(char *out, size_t n, const hd_ck_instance *at) {
  const char *names[] = {"m", "n", "k", "g"};
  int64_t values[] = {at->m, at->n, at->k, at->g};
  int used = snprintf(out, n, "; in a grid of %d", at->grid);
  for (int i = 0; i < 4 && used >= 0 && (size_t)used < n; i++)
    if (values[i] >= 0)
      used += snprintf(out + used, n - (size_t)used, ", %s = %lld", names[i],
                       (long long)values[i]);
  if (at->grid == 0)
    out[0] = 0; /* the finding needs no launch */
}

static void witness(char *out, size_t n, const hd_check_access *at) {
  if (!at->op) {
    out[0] = 0;
    return;
  }
  int used = snprintf(out, n, "; %s: role %s, cta %d, warp %d", at->text, at->role, at->cta,
                      at->warp);
  if (at->slot >= 0 && used >= 0 && (size_t)used < n)
    used += snprintf(out + used, n - (size_t)used, ", stage %d", at->slot);
  if (at->iteration >= 0 && used >= 0 && (size_t)used < n)
    snprintf(out + used, n - (size_t)used, ", iteration %lld", (long long)at->iteration);
}

static void add(hd_ck_machine *m, hd_check_finding finding) {
  hd_check_report *r = m->report;
  enum { MAXIMUM = 64 }; /* findings of all kernels in a report */
  if (!r->findings)
    r->findings = HD_NEW_ARRAY(&r->arena, hd_check_finding, MAXIMUM);
  if (r->n_findings < MAXIMUM)
    r->findings[r->n_findings++] = finding;
  int32_t most = m->options->max_findings > 0 ? m->options->max_findings : 8;
  m->stop = m->stop || r->n_findings >= most || r->n_findings == MAXIMUM;
}

void hd_ck_find(hd_ck_machine *m, const char *rule, hd_check_access first, hd_check_access second,
                const char *remedy, const char *format, ...) {
  if (m->at.far && (m->counting || strcmp(rule, "overflow"))) {
    m->went_on = true;
    return;
  }
  if (is_known(m->report, rule, first.op, second.op))
    return;
  char sentence[512], a[256], b[256], at[128];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  witness(a, sizeof a, &first);
  witness(b, sizeof b, &second);
  where(at, sizeof at, &m->at);
  hd_check_finding finding = {.rule = rule, .first = first, .second = second, .remedy = remedy};
  finding.launch = (hd_check_launch){m->at.m, m->at.n, m->at.k, m->at.grid};
  finding.text = hd_arena_printf(&m->report->arena, "%s%s%s%s", sentence, a, b, at);
  add(m, finding);
}

void hd_ck_differ(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *rule,
                  const char *remedy, const char *what, int64_t got, int64_t expected) {
  hd_ck_find(m, rule, (hd_check_access){0}, hd_ck_here(m, w, step->op, -1), remedy,
             "%s: got %lld, expected %lld", what, (long long)got, (long long)expected);
}

void hd_ck_undecided(hd_ck_machine *m, const hd_op *op, const char *why) {
  hd_check_access at = {.op = op, .text = hd_op_get_info(op->kind)->text, .role = "kernel",
                        .slot = -1, .iteration = -1};
  m->stop = true;
  if (m->went_on || is_known(m->report, "undecided", NULL, op))
    return;
  m->report->n_undecided++;
  add(m, (hd_check_finding){.rule = "undecided", .text = why, .remedy = "a form that Check knows",
                            .second = at});
}

void hd_ck_static_find(hd_ck_kernel *k, const char *rule, const hd_op *op, const char *remedy,
                       const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  hd_ck_warp nobody = {.role = -1};
  hd_ck_machine m = {.program = &k->program, .options = k->options, .report = k->report};
  m.at = (hd_ck_instance){.m = -1, .n = -1, .k = -1};
  if (!strcmp(rule, "undecided"))
    return hd_ck_undecided(&m, op, hd_arena_strdup(&k->report->arena, text));
  hd_ck_find(&m, rule, (hd_check_access){0}, hd_ck_here(&m, &nobody, op, -1), remedy, "%s", text);
}
