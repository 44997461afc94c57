/* What the examples of whole layers share: a product is compiled from its text, and runs once with
 * weights and operands in host memory, on the GPU or, where there is none, in the simulator. */
#ifndef EXAMPLES_PRODUCT_H
#define EXAMPLES_PRODUCT_H

#include "heddle/memory.h"
#include "heddle/types.h"

extern heddle_context *ctx;
extern heddle_runtime *cuda; /* NULL: there is no GPU */

/* Ends the program with the diagnostics and the exit code of status, if it is an error. */
void must(heddle_status status);

/* Sets ctx and cuda. */
void product_open(void);

/* The argument of a kernel that has this name. */
typedef struct operand {
  const char *name;
  void *data; /* host memory; NULL: a number */
  size_t bytes;
  int64_t number;
  float real;
} operand;

operand memory(const char *name, void *data, size_t bytes);
operand number(const char *name, int64_t value);
operand real(const char *name, float value);

/* `count` row-major matrices of m x k, one behind the other. */
typedef struct weights {
  heddle_elem type;
  size_t count, m, k;
  void *dense;
} weights;

/* Prunes the weights to 2:4, and multiplies by the product of the text at `path`. The weights are
 * the arguments a and stride_a; operands are the others that the product needs. When it returns,
 * their memory has the results. */
void product_run(const char *path, const weights *w, const operand *operands, size_t n);

#endif
