/* Choice/model.h: the products of a transformer's linear layers, for given counts of tokens. */
#ifndef HD_MODEL_H
#define HD_MODEL_H

#include "Choice/product.h"

enum { HD_MODEL_MOST_TOKENS = 64 };

/* Zero-initialise. */
typedef struct hd_model_options {
  const char *target;
  heddle_elem type;      /* type of A and B; HEDDLE_N_ELEMS: the type of the model */
  const int64_t *tokens; /* N of each layer; each expert gets a fraction of them */
  int32_t n_tokens;
  int64_t n_ways; /* tensor parallelism; 0: 1 */
  bool apart;     /* separate matrices for q, k, v and for gate, up, instead of fused ones */
} hd_model_options;

/* path: a config.json (Llama, Qwen, Mistral, Mixtral and models with the same fields), an index of
 * safetensors files, or a safetensors file. Each layer yields one product per count of tokens,
 * without duplicates. *list is owned (free()). HEDDLE_INVALID for another file or a missing size,
 * HEDDLE_UNSUPPORTED for other kinds of layers or types of weights. Products that no kernel
 * supports are omitted with a note. */
heddle_status hd_model_read(heddle_context *ctx, const char *path, const hd_model_options *options,
                            hd_product **list, int32_t *n);

#endif
