/* What the examples of whole layers share: a product is compiled from its text, and runs once with
 * operands in host memory, on the GPU or, where there is none, in the simulator. */
#ifndef EXAMPLES_PRODUCT_H
#define EXAMPLES_PRODUCT_H

#include "heddle/compile.h"
#include "heddle/manifest.h"
#include "heddle/memory.h"

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

typedef struct product {
  heddle_compiled *code;
  heddle_manifest *takes; /* says which arguments, and how the weights are packed */
} product;

product product_compile(const char *path);

/* Runs the product with the operands that its manifest names, whose memory has the results when it
 * returns. Arguments without an operand are 0; a workspace is allocated. Frees the product. */
void product_run(product p, const operand *operands, size_t n);

#endif
