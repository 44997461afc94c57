/* heddle-opt/pass_diff.h: shows what each pass changes in the text of a module, as an HTML page:
 * one section per pass, changed lines side by side, unchanged lines folded. */
#ifndef HD_PASS_DIFF_H
#define HD_PASS_DIFF_H

#include "Passes/passes.h"
#include "Support/strbuf.h"

/* Zero-initialise; release with pass_diff_free. */
typedef struct pass_diff {
  hd_strbuf contents, sections;
  char *before; /* owned: the text before the next pass */
} pass_diff;

/* Call it before the first pass. */
void pass_diff_begin(pass_diff *d, const hd_module *module);
/* Call it after each pass. */
void pass_diff_add(pass_diff *d, const hd_pass *pass, const hd_module *module);
heddle_status pass_diff_write(heddle_context *ctx, const pass_diff *d, const char *path);
void pass_diff_free(pass_diff *d);

#endif
