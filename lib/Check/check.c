#include "Check/check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "Check/check_instances.h"
#include "Support/memory.h"
#include "Support/parallel.h"

enum { MAX_STEPS = 40000000 };

/* ---- kernels ---- */

typedef struct checks {
  const hd_check_options *options;
  struct checked {
    const hd_op *kernel;
    hd_check_report report;
  } *of;
  atomic_bool found; /* kernels that have not started yet are skipped */
} checks;

static void check_one(void *user, int32_t i) {
  checks *all = user;
  hd_check_report *report = &all->of[i].report;
  uint64_t max_steps = all->options->max_steps;
  hd_ck_kernel k = {.options = all->options,
                    .report = report,
                    .steps_left = max_steps ? max_steps : MAX_STEPS,
                    .shortages = hd_memory_shortages()};
  if (all->found)
    return;
  report->n_kernels++;
  hd_ck_program_build(&k.program, all->of[i].kernel);
  if (k.program.refusal) {
    hd_ck_static_find(&k, "undecided", k.program.refused, "a form that Check knows", "%s",
                      k.program.refusal);
  } else {
    hd_ck_check_budgets(&k);
    hd_ck_check_arguments(&k);
    hd_ck_check_product(&k);
  }
  if (report->n_findings == 0)
    hd_ck_run_instances(&k);
  hd_free(k.accesses);
  hd_ck_program_free(&k.program);
  if (report->n_findings)
    all->found = true;
}

/* Keeps the findings of the first kernel that has any. Kernels start in the order of the module. */
static void add_report(hd_check_report *sum, hd_check_report *one) {
  sum->n_kernels += one->n_kernels;
  sum->n_instances += one->n_instances;
  sum->n_steps += one->n_steps;
  sum->n_accesses += one->n_accesses;
  sum->n_pairs += one->n_pairs;
  sum->n_assumed_r3 += one->n_assumed_r3;
  if (one->n_findings) {
    sum->findings = one->findings;
    sum->n_findings = one->n_findings;
    sum->n_undecided = one->n_undecided;
    hd_arena_free(&sum->arena);
    sum->arena = one->arena;
    one->arena = (hd_arena){0};
  }
}

static void check_kernels(const hd_module *module, const hd_check_options *options,
                          hd_check_report *report) {
  hd_arena arena = {0};
  checks all = {.options = options};
  int32_t n = 0;
  HD_FOR_OPS(op, module->body)
    n++;
  all.of = HD_NEW_ARRAY(&arena, struct checked, n);
  n = 0;
  HD_FOR_OPS(op, module->body)
    all.of[n++].kernel = op;
  hd_parallel(options->n_threads, n, check_one, &all);
  for (int32_t i = 0; i < n; i++) {
    if (!report->n_findings)
      add_report(report, &all.of[i].report);
    hd_check_report_free(&all.of[i].report);
  }
  hd_arena_free(&arena);
}

static void say(heddle_context *ctx, const hd_module *module, const hd_check_finding *f) {
  hd_loc at = f->second.op ? f->second.op->loc : HD_NOWHERE;
  bool undecided = !strcmp(f->rule, "undecided");
  at.file = at.file ? at.file : module->file;
  hd_error(ctx, undecided ? HEDDLE_UNSUPPORTED : HEDDLE_MISMATCH, at, f->rule, "%s; missing: %s",
           f->text, f->remedy);
  if (f->first.op) {
    hd_loc from = f->first.op->loc;
    from.file = from.file ? from.file : module->file;
    hd_note(ctx, from, f->rule, "first access: %s", f->first.text);
  }
}

static heddle_status check(heddle_context *ctx, const hd_module *module,
                           const hd_check_options *options, hd_check_report *report) {
  uint64_t before = hd_memory_shortages();
  if (module->level != HD_LEVEL_ROLE || !module->sync_placed)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = module->file}, "check.level",
                    "got a module without synchronisation; legal: level=role sync=placed");
  HD_TRY(hd_verify(ctx, module, NULL));
  check_kernels(module, options, report);
  for (int32_t i = 0; i < report->n_findings && !options->quiet; i++)
    say(ctx, module, &report->findings[i]);
  HD_TRY(hd_memory_status(ctx, before, HEDDLE_OK));
  if (report->n_findings > report->n_undecided)
    return HEDDLE_MISMATCH;
  return report->n_findings ? HEDDLE_UNSUPPORTED : HEDDLE_OK;
}

heddle_status hd_check(heddle_context *ctx, const hd_module *module,
                       const hd_check_options *options, hd_check_report *report) {
  static const hd_check_options defaults;
  hd_check_report own = {0};
  heddle_status status =
      check(ctx, module, options ? options : &defaults, report ? report : &own);
  hd_check_report_free(&own);
  return status;
}

void hd_check_report_free(hd_check_report *report) {
  hd_arena_free(&report->arena);
  *report = (hd_check_report){0};
}

void hd_check_report_print(const hd_check_report *r, hd_strbuf *out) {
  for (int32_t i = 0; i < r->n_findings; i++) {
    const hd_check_finding *f = &r->findings[i];
    hd_strbuf_printf(out, "%s: %s\n  missing: %s\n", f->rule, f->text, f->remedy);
  }
  hd_strbuf_printf(out,
                   "kernels=%d instances=%llu steps=%llu accesses=%llu pairs=%llu assumes_r3=%llu "
                   "findings=%d undecided=%d\n",
                   r->n_kernels, (unsigned long long)r->n_instances,
                   (unsigned long long)r->n_steps, (unsigned long long)r->n_accesses,
                   (unsigned long long)r->n_pairs, (unsigned long long)r->n_assumed_r3,
                   r->n_findings - r->n_undecided, r->n_undecided);
}
