/* Passes/pass_list.h: the passes, each in the file of its name. */
#ifndef HD_PASS_LIST_H
#define HD_PASS_LIST_H

#include "Passes/passes.h"

heddle_status hd_pass_legalize(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_select_shape(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_tile(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_assign_fragments(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_select_operand_path(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_build_mainloop(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_split_roles(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_unroll(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_insert_barriers(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_insert_fences(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_unswitch(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_narrow(hd_pass_context *pass, hd_module *module);
heddle_status hd_pass_check(hd_pass_context *pass, hd_module *module);

/* Detect passes that leave no attribute (hd_pass.unfit). Split: the copies have their own role if
 * possible. Pipelined: loops fill and read the slots of a ring buffer. Fenced: there are fences
 * where barriers are initialised, else where D is staged. */
int32_t hd_n_roles(const hd_op *kernel);
bool hd_is_split(hd_op *kernel);
bool hd_is_pipelined(hd_op *kernel);
bool hd_has_fences(hd_op *kernel);

#endif
