/* heddle-opt/pass_diff.h: what each pass changes in the text of a module, as one HTML page: a
 * section a pass, changed lines side by side, unchanged ones folded. */
#ifndef HD_PASS_DIFF_H
#define HD_PASS_DIFF_H

#include "Passes/passes.h"
#include "Support/strbuf.h"

/* Zero-initialise; pass_diff_free. */
typedef struct pass_diff {
  hd_strbuf contents, sections;
  char *before; /* owned: the text ahead of the next pass */
} pass_diff;

/* Ahead of the first pass. */
void pass_diff_begin(pass_diff *d, const hd_module *module);
/* Behind each. */
void pass_diff_add(pass_diff *d, const hd_pass *pass, const hd_module *module);
heddle_status pass_diff_write(heddle_context *ctx, const pass_diff *d, const char *path);
void pass_diff_free(pass_diff *d);

#endif
