/* heddle-opt/opt.h: shared by the files of heddle-opt. */
#ifndef HD_OPT_H
#define HD_OPT_H

#include "Passes/passes.h"
#include "cli.h"

typedef struct opt_options {
  cli_texts passes; /* --pass */
  cli_texts print_after;
  const char *pass_list, *stop_after, *target, *schedule, *out, *intro, *diff;
  bool verify_only, no_verify, print_after_all, verify_each, time_passes, list_passes, check,
      print_ops_md, print_schedule_md;
} opt_options;

/* Runs the passes that the options name, and prints and times them as the options say. */
heddle_status opt_run_passes(heddle_context *ctx, const opt_options *options, hd_module *module);
void opt_list_passes(void);
/* True if the options print modules after passes, or an HTML page of them. The final module is then
 * printed only with -o. */
bool opt_prints_after(const opt_options *options);
/* The part of docs/ir.md that is generated from ops.def. */
void opt_ops_markdown(hd_strbuf *out);

#endif
