/* A cuSPARSELt for tests. It takes a K that is a multiple of 8, has one algorithm, and stores
 * nothing. Compressing a matrix with as many columns as FAKE_CUSPARSELT_BREAKS in the environment
 * breaks the device (the driver made for tests). */
#include <string.h>

#include "fake_break.h"

#define EXPORT __attribute__((visibility("default")))

/* What all the library's opaque structures begin with here. */
typedef struct thing {
  int64_t k;
} thing;

EXPORT int cusparseLtInit(thing *handle);
EXPORT int cusparseLtDestroy(const thing *handle);
EXPORT int cusparseLtStructuredDescriptorInit(const thing *handle, thing *mat, int64_t rows,
                                              int64_t cols, int64_t ld, uint32_t alignment,
                                              int type, int order, int sparsity);
EXPORT int cusparseLtDenseDescriptorInit(const thing *handle, thing *mat, int64_t rows,
                                         int64_t cols, int64_t ld, uint32_t alignment, int type,
                                         int order);
EXPORT int cusparseLtMatDescSetAttribute(const thing *handle, thing *mat, int attribute,
                                         const void *value, size_t n_bytes);
EXPORT int cusparseLtMatmulDescriptorInit(const thing *handle, thing *matmul, int op_a, int op_b,
                                          const thing *a, const thing *b, const thing *c,
                                          const thing *d, int compute);
EXPORT int cusparseLtMatmulAlgSelectionInit(const thing *handle, thing *select,
                                            const thing *matmul, int alg);
EXPORT int cusparseLtMatmulAlgSetAttribute(const thing *handle, thing *select, int attribute,
                                           const void *value, size_t n_bytes);
EXPORT int cusparseLtMatmulAlgGetAttribute(const thing *handle, const thing *select, int attribute,
                                           void *value, size_t n_bytes);
EXPORT int cusparseLtMatmulPlanInit(const thing *handle, thing *plan, const thing *matmul,
                                    const thing *select);
EXPORT int cusparseLtMatmulPlanDestroy(const thing *plan);
EXPORT int cusparseLtMatmulGetWorkspace(const thing *handle, const thing *plan, size_t *n_bytes);
EXPORT int cusparseLtSpMMACompressedSize(const thing *handle, const thing *plan, size_t *n_bytes,
                                         size_t *scratch_bytes);
EXPORT int cusparseLtSpMMACompress(const thing *handle, const thing *plan, const void *dense,
                                   void *compressed, void *scratch, void *stream);
EXPORT int cusparseLtMatmul(const thing *handle, const thing *plan, const void *alpha,
                            const void *a, const void *b, const void *beta, const void *c, void *d,
                            void *workspace, void **streams, int32_t n_streams);

int cusparseLtInit(thing *handle) {
  handle->k = 0;
  return 0;
}

int cusparseLtDestroy(const thing *handle) { return handle->k != 0; }

int cusparseLtStructuredDescriptorInit(const thing *handle, thing *mat, int64_t rows, int64_t cols,
                                       int64_t ld, uint32_t alignment, int type, int order,
                                       int sparsity) {
  (void)handle, (void)rows, (void)alignment, (void)type, (void)order, (void)sparsity;
  mat->k = cols;
  return cols % 8 || ld != cols;
}

int cusparseLtDenseDescriptorInit(const thing *handle, thing *mat, int64_t rows, int64_t cols,
                                  int64_t ld, uint32_t alignment, int type, int order) {
  (void)handle, (void)cols, (void)ld, (void)alignment, (void)type, (void)order;
  mat->k = rows;
  return 0;
}

/* Only batches are set in this way, and this library does not support them. */
int cusparseLtMatDescSetAttribute(const thing *handle, thing *mat, int attribute,
                                  const void *value, size_t n_bytes) {
  (void)handle, (void)mat, (void)attribute, (void)value, (void)n_bytes;
  return 1;
}

int cusparseLtMatmulDescriptorInit(const thing *handle, thing *matmul, int op_a, int op_b,
                                   const thing *a, const thing *b, const thing *c, const thing *d,
                                   int compute) {
  (void)handle, (void)op_a, (void)op_b, (void)b, (void)c, (void)d, (void)compute;
  *matmul = *a;
  return 0;
}

int cusparseLtMatmulAlgSelectionInit(const thing *handle, thing *select, const thing *matmul,
                                     int alg) {
  (void)handle, (void)alg;
  *select = *matmul;
  return 0;
}

int cusparseLtMatmulAlgSetAttribute(const thing *handle, thing *select, int attribute,
                                    const void *value, size_t n_bytes) {
  (void)handle, (void)select, (void)attribute, (void)value, (void)n_bytes;
  return 0;
}

int cusparseLtMatmulAlgGetAttribute(const thing *handle, const thing *select, int attribute,
                                    void *value, size_t n_bytes) {
  const int one = 1; /* the number of algorithms */
  (void)handle, (void)select, (void)attribute;
  memcpy(value, &one, n_bytes);
  return 0;
}

int cusparseLtMatmulPlanInit(const thing *handle, thing *plan, const thing *matmul,
                             const thing *select) {
  (void)handle, (void)select;
  *plan = *matmul;
  return 0;
}

int cusparseLtMatmulPlanDestroy(const thing *plan) { return plan->k == 0; }

int cusparseLtMatmulGetWorkspace(const thing *handle, const thing *plan, size_t *n_bytes) {
  (void)handle, (void)plan;
  *n_bytes = 0;
  return 0;
}

int cusparseLtSpMMACompressedSize(const thing *handle, const thing *plan, size_t *n_bytes,
                                  size_t *scratch_bytes) {
  (void)handle, (void)plan;
  *n_bytes = *scratch_bytes = 16;
  return 0;
}

int cusparseLtSpMMACompress(const thing *handle, const thing *plan, const void *dense,
                            void *compressed, void *scratch, void *stream) {
  (void)handle, (void)dense, (void)compressed, (void)scratch, (void)stream;
  fake_break("FAKE_CUSPARSELT_BREAKS", (uint64_t)plan->k);
  return 0;
}

int cusparseLtMatmul(const thing *handle, const thing *plan, const void *alpha, const void *a,
                     const void *b, const void *beta, const void *c, void *d, void *workspace,
                     void **streams, int32_t n_streams) {
  (void)handle, (void)plan, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)d;
  (void)workspace, (void)streams, (void)n_streams;
  return 0;
}
