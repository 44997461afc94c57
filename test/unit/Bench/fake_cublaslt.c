/* A cuBLASLt for tests. It supports bf16 and s8 products and has one algorithm for each order of D.
 * Its f32 and s32 results are correct. For other types of D it stores nothing. The function that
 * fake_cublaslt_fails names returns an error. A product whose D has as many rows as
 * FAKE_CUBLASLT_BREAKS in the environment breaks the device (the driver made for tests), unless D
 * is f32 or s32. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_break.h"

#define EXPORT __attribute__((visibility("default")))

enum { F32 = 0, S8 = 3, S32 = 10, BF16 = 14 }; /* cudaDataType */

typedef struct layout {
  int type;
  uint64_t rows, cols;
  int64_t ld;
} layout;

typedef struct heuristic {
  uint64_t algo[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} heuristic;

EXPORT int cublasLtCreate(void **handle);
EXPORT int cublasLtDestroy(void *handle);
EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t n);
EXPORT int cublasLtMatmulDescDestroy(void *desc);
EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols,
                                      int64_t ld);
EXPORT int cublasLtMatrixLayoutSetAttribute(void *l, int attribute, const void *value, size_t n);
EXPORT int cublasLtMatrixLayoutDestroy(void *l);
EXPORT int cublasLtMatmulPreferenceCreate(void **preference);
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value,
                                                size_t n);
EXPORT int cublasLtMatmulPreferenceDestroy(void *preference);
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                          void *d, void *preference, int n, heuristic *list,
                                          int *n_found);
EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, void *a, layout *a_layout,
                          void *b, layout *b_layout, const void *beta, const void *c,
                          layout *c_layout, void *d, layout *d_layout, const void *algo,
                          void *workspace, size_t n_bytes, void *stream);

EXPORT extern const char *fake_cublaslt_fails;
const char *fake_cublaslt_fails;
static int thing; /* all handles point to it */

static bool fails(const char *name) {
  return fake_cublaslt_fails && strcmp(fake_cublaslt_fails, name) == 0;
}

static int give(void **handle) {
  *handle = &thing;
  return 0;
}

int cublasLtCreate(void **handle) { return fails("create") ? 1 : give(handle); }
int cublasLtDestroy(void *handle) { return handle != &thing; }
int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  (void)compute, (void)scale;
  return fails("desc") ? 15 : give(desc);
}
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t n) {
  (void)attribute, (void)value, (void)n;
  return desc != &thing;
}
int cublasLtMatmulDescDestroy(void *desc) { return desc != &thing; }
int cublasLtMatmulPreferenceCreate(void **preference) { return give(preference); }
int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, size_t n) {
  (void)attribute, (void)value, (void)n;
  return p != &thing;
}
int cublasLtMatmulPreferenceDestroy(void *preference) { return preference != &thing; }

int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  layout *l = malloc(sizeof *l);
  *l = (layout){type, rows, cols, ld};
  *out = l;
  return 0;
}

/* Only the attributes of batches are set in this way, and this library does not support batches. */
int cublasLtMatrixLayoutSetAttribute(void *l, int attribute, const void *value, size_t n) {
  (void)l, (void)attribute, (void)value, (void)n;
  return 1;
}

int cublasLtMatrixLayoutDestroy(void *l) {
  free(l);
  return 0;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int n, heuristic *list, int *n_found) {
  (void)handle, (void)desc, (void)b, (void)c, (void)d, (void)preference;
  int type = ((layout *)a)->type;
  *n_found = n > 0 && (type == BF16 || type == S8);
  if (*n_found)
    memset(list, 0, sizeof *list);
  return 0;
}

static double value_at(const void *data, int type, uint64_t i) {
  if (type == S8)
    return ((const int8_t *)data)[i];
  uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

/* A is k x rows and transposed, B is k x cols. Both are column-major. */
int cublasLtMatmul(void *handle, void *desc, const void *alpha, void *a, layout *a_layout, void *b,
                   layout *b_layout, const void *beta, const void *c, layout *c_layout, void *d,
                   layout *d_layout, const void *algo, void *workspace, size_t n_bytes,
                   void *stream) {
  (void)handle, (void)desc, (void)alpha, (void)beta, (void)c, (void)c_layout, (void)algo;
  (void)workspace, (void)n_bytes, (void)stream;
  if (fails("matmul"))
    return 13;
  if (d_layout->type != F32 && d_layout->type != S32) {
    fake_break("FAKE_CUBLASLT_BREAKS", d_layout->rows);
    return 0;
  }
  for (uint64_t j = 0; j < d_layout->cols; j++)
    for (uint64_t i = 0; i < d_layout->rows; i++) {
      double sum = 0;
      for (uint64_t k = 0; k < a_layout->rows; k++)
        sum += value_at(a, a_layout->type, i * (uint64_t)a_layout->ld + k) *
               value_at(b, b_layout->type, j * (uint64_t)b_layout->ld + k);
      if (d_layout->type == S32)
        ((int32_t *)d)[j * (uint64_t)d_layout->ld + i] = (int32_t)sum;
      else
        ((float *)d)[j * (uint64_t)d_layout->ld + i] = (float)sum;
    }
  return 0;
}
