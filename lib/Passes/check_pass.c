/* check: verifies that the synchronisation is sufficient.
 *
 * Requires   insert_fences.
 * Ensures    every access of the kernel is ordered as R1-R9 require. lib/Check decides this and
 *            shares no code with the passes above. A kernel that it cannot decide is refused.
 * Why here   last: after it, only lane-local arithmetic is lowered.
 * Does not   change the module.
 */
#include "Check/check.h"
#include "Passes/pass_list.h"

heddle_status hd_pass_check(hd_pass_context *pass, hd_module *module) {
  hd_check_options options = {.n_threads = pass->n_threads};
  return hd_check(pass->ctx, module, &options, NULL);
}
