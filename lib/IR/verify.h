/* IR/verify.h: what the files of the verifier share.
 *
 * verify.c        the walk: levels, places, links, dominance, operand and result types, yields
 * verify_report.c what was found, told to the context
 * verify_attrs.c  presence, kinds, words and ranges of attributes, from tables
 * verify_rules.c  rules of single ops
 * verify_reduce.c rules of what is reduced over rows of D
 * verify_slots.c  rules of ops that touch buffers and barriers: cursors, slots, sizes
 * verify_spec.c   targets and instruction rows, as lib/Spec has them
 * verify_kernel.c rules over a kernel: names, roles, registers, arguments
 *
 * A later file may rely on what an earlier one checked: rules run for an op only when its operands,
 * results and attributes are in order. */
#ifndef HD_VERIFY_H
#define HD_VERIFY_H

#include "IR/op_info.h"
#include "IR/scope.h"

/* Facts about defined values. What is defined badly has been reported: rules that would look at its
 * op stay silent. */
enum { HD_DEFINED = 1, HD_DEFINED_BADLY = 2 };

enum { HD_MAX_ERRORS = 20 }; /* told of one module */
enum { HD_MAX_TX = (1 << 20) - 1 }; /* mbarrier: pending counts and tx-counts have 20 bits */

typedef struct hd_verifier {
  heddle_context *ctx;
  const hd_module *module;
  const char *blame;   /* NULL: the input */
  const hd_op *kernel; /* around the op in hand, NULL in the module's region */
  const hd_op *role;   /* NULL outside */
  int32_t n_roles, tensor_ctas; /* of the kernel: its roles; hd_tensor_ctas */
  hd_facts defined;    /* HD_DEFINED… of each value that the walk has passed */
  hd_facts stages;     /* of a cursor's ring */
  int32_t n_errors;
  heddle_status status; /* of the gravest error so far */
} hd_verifier;

/* Reports an error at the op; the walk goes on, to report more. */
void hd_verify_fail(hd_verifier *v, const hd_op *op, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for what is well-formed but not supported. */
void hd_verify_unsupported(hd_verifier *v, const hd_op *op, const char *rule, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

void hd_verify_attrs(hd_verifier *v, const hd_op *op);
void hd_verify_op_rules(hd_verifier *v, const hd_op *op);
void hd_verify_reduce(hd_verifier *v, const hd_op *op);
void hd_verify_slots(hd_verifier *v, const hd_op *op);
void hd_verify_spec(hd_verifier *v, const hd_op *op);
/* Once for a kernel, after its ops. */
void hd_verify_kernel(hd_verifier *v, const hd_op *kernel);

/* Stages of a cursor's ring, HD_NO_FACT when unknown; said once the cursor is defined. */
int64_t hd_verify_stages(const hd_verifier *v, const hd_value *cursor);
void hd_verify_result_cursors(hd_verifier *v, const hd_op *op); /* after the op's regions */

#endif
