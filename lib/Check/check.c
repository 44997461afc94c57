#include "Check/check.h"

#include <stdarg.h>
#include <string.h>

#include "Check/check_instances.h"
#include "Support/memory.h"

enum { MAX_STEPS = 40000000 };

static void check_kernel(const hd_op *op, const hd_check_options *options, uint64_t *steps_left,
                         hd_check_report *report) {
  hd_ck_kernel k = {.options = options, .report = report, .steps_left = *steps_left,
                    .shortages = hd_memory_shortages()};
  report->n_kernels++;
  hd_ck_program_build(&k.program, op);
  if (k.program.refusal)
    hd_ck_static_find(&k, "undecided", k.program.refused, "a form that is known", "%s",
                      k.program.refusal);
  else {
    hd_ck_check_budgets(&k);
    hd_ck_check_arguments(&k);
    hd_ck_check_product(&k);
  }
  if (report->n_findings == 0)
    hd_ck_run_instances(&k);
  *steps_left = k.steps_left;
  hd_free(k.accesses);
  hd_ck_program_free(&k.program);
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
    hd_note(ctx, from, f->rule, "the first access: %s", f->first.text);
  }
}

static bool is_checkable(const hd_module *module) {
  return module->level == HD_LEVEL_ROLE && module->sync_placed;
}

heddle_status hd_check(heddle_context *ctx, const hd_module *module,
                       const hd_check_options *options, hd_check_report *report) {
  hd_check_options none = {0};
  options = options ? options : &none;
  uint64_t steps_left = options->max_steps ? options->max_steps : MAX_STEPS;
  uint64_t before = hd_memory_shortages();
  if (!is_checkable(module))
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = module->file}, "check.level",
                    "got a module without its sync; legal: level=role sync=placed");
  HD_TRY(hd_verify(ctx, module, NULL));
  for (const hd_op *op = module->body->first; op && !report->n_findings; op = op->next)
    check_kernel(op, options, &steps_left, report);
  for (int32_t i = 0; i < report->n_findings && !options->quiet; i++)
    say(ctx, module, &report->findings[i]);
  HD_TRY(hd_memory_status(ctx, before, HEDDLE_OK));
  if (report->n_findings > report->n_undecided)
    return HEDDLE_MISMATCH;
  return report->n_findings ? HEDDLE_UNSUPPORTED : HEDDLE_OK;
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
