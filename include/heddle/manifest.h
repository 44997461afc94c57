/* heddle/manifest.h: reads the arguments of a kernel without loading it: for the simulator, and to
 * bind arguments without a device. */
#ifndef HEDDLE_MANIFEST_H
#define HEDDLE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/kernel.h"
#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A manifest. Immutable: any number of threads may use one. */
typedef struct heddle_manifest heddle_manifest;

/* Reads the text of heddle_compiled_manifest, or NAME.json of `heddle gen` (borrowed for the call);
 * *manifest is owned. HEDDLE_INVALID names the field that is wrong. */
HEDDLE_API heddle_status heddle_manifest_read(heddle_context *ctx, const char *json, size_t n_bytes,
                                              heddle_manifest **manifest);
/* Accepts NULL. */
HEDDLE_API void heddle_manifest_free(heddle_manifest *manifest);

/* Strings are borrowed: valid until heddle_manifest_free. */
HEDDLE_API const char *heddle_manifest_name(const heddle_manifest *manifest);
HEDDLE_API const char *heddle_manifest_target(const heddle_manifest *manifest);
/* How A must be packed (heddle_family_parse, heddle/sparse.h), and the C function of
 * heddle_kernel_function: as in heddle_kernel_family and heddle_kernel_prototype. */
HEDDLE_API const char *heddle_manifest_family(const heddle_manifest *manifest);
/* As heddle_kernel_takes_pairs. */
HEDDLE_API bool heddle_manifest_takes_pairs(const heddle_manifest *manifest);
HEDDLE_API const char *heddle_manifest_prototype(const heddle_manifest *manifest);

/* An argument of a launch, with the checks of a launch. */
typedef struct heddle_manifest_arg {
  const char *name; /* "a", "m", "ldb", … */
  heddle_arg_class arg_class;
  heddle_elem elem;     /* of a pointer: what it points to */
  int32_t align;        /* of a pointer: bytes; otherwise 1 */
  int64_t divisible_by; /* of a number; 1: anything */
  int64_t max;          /* of a size; 0: no bound */
} heddle_manifest_arg;

/* How many arguments a launch takes (fixed sizes are not passed), and the i-th. Their order is a,
 * b, c, d, bias, scale_a, scale_b, block_scale_a, block_scale_b, user, offsets, gather_b,
 * scatter_d, combine_d, scale_d, aux, m, n, k, g, t, ldb, ldc, ldd, ldsa, ldsb, ldsd, ldaux,
 * stride_a to stride_scale_b, alpha, beta, eps, workspace: those that the problem has.
 * HEDDLE_INVALID if i is out of range. */
HEDDLE_API size_t heddle_manifest_arg_count(const heddle_manifest *manifest);
HEDDLE_API heddle_status heddle_manifest_get_arg(const heddle_manifest *manifest, size_t i,
                                                 heddle_manifest_arg *arg);

#ifdef __cplusplus
}
#endif
#endif
