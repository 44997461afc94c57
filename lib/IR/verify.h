/* IR/verify.h: shared declarations of the verifier's files.
 *
 * verify.c        the walk: levels, places, links, dominance, operand and result types, yields
 * verify_report.c reports errors to the context
 * verify_attrs.c  presence, kinds, words and ranges of attributes, from tables
 * verify_rules.c  rules of single ops
 * verify_reduce.c rules of reductions over rows of D
 * verify_aux.c    rules of a second matrix beside D
 * verify_slots.c  rules of ops that access buffers and barriers: cursors, slots, sizes
 * verify_spec.c   targets and instruction rows, by lib/Spec
 * verify_pack.c   rules of ops that pack a matrix with its twin
 * verify_kernel.c rules of a whole kernel: names, roles, registers, arguments
 *
 * Later files may rely on the checks of earlier ones: the rules of an op run only if its operands,
 * results and attributes are correct. */
#ifndef HD_VERIFY_H
#define HD_VERIFY_H

#include "IR/op_info.h"
#include "IR/scope.h"

/* Facts about defined values. An error in the definition of a HD_DEFINED_BADLY value has been
 * reported: rules that would inspect its op are skipped. */
enum { HD_DEFINED = 1, HD_DEFINED_BADLY = 2 };

enum { HD_MAX_ERRORS = 20 }; /* reported per module */
enum { HD_MAX_TX = (1 << 20) - 1 }; /* mbarrier: pending counts and tx-counts have 20 bits */

typedef struct hd_verifier {
  heddle_context *ctx;
  const hd_module *module;
  const char *blame;   /* the pass at fault; NULL: the input */
  const hd_op *kernel; /* around the current op; NULL in the module's region */
  const hd_op *role;   /* around the current op; NULL outside of roles */
  int32_t n_roles, tensor_ctas; /* of the kernel; see hd_tensor_ctas */
  hd_facts defined;    /* HD_DEFINED… of each value that was visited */
  hd_facts stages;     /* stages of each cursor's ring */
  int32_t n_errors;
  heddle_status status; /* of the most severe error so far */
} hd_verifier;

/* Reports an error at the op. The walk continues, to find more errors. */
void hd_verify_fail(hd_verifier *v, const hd_op *op, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for IR that is well-formed but not supported. */
void hd_verify_unsupported(hd_verifier *v, const hd_op *op, const char *rule, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

void hd_verify_attrs(hd_verifier *v, const hd_op *op);
void hd_verify_op_rules(hd_verifier *v, const hd_op *op);
void hd_verify_reduce(hd_verifier *v, const hd_op *op);
void hd_verify_aux(hd_verifier *v, const hd_op *op);
void hd_verify_slots(hd_verifier *v, const hd_op *op);
void hd_verify_pack(hd_verifier *v, const hd_op *op);
void hd_verify_spec(hd_verifier *v, const hd_op *op);
/* Called once per kernel, after its ops. */
void hd_verify_kernel(hd_verifier *v, const hd_op *kernel);

/* Stages of the ring of a cursor that is defined; HD_NO_FACT if unknown. */
int64_t hd_verify_stages(const hd_verifier *v, const hd_value *cursor);
void hd_verify_result_cursors(hd_verifier *v, const hd_op *op); /* after the op's regions */

#endif
