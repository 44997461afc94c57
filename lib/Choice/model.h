/* Choice/model.h: the products of a transformer: its linear layers, for given counts of tokens. */
#ifndef HD_MODEL_H
#define HD_MODEL_H

#include "Choice/product.h"

enum { HD_MODEL_MOST_TOKENS = 64 };

/* Zero-initialise. */
typedef struct hd_model_options {
  const char *target;
  heddle_elem type;      /* of A and B; HEDDLE_N_ELEMS: what the model says */
  const int64_t *tokens; /* N of each layer, or of what an expert gets of them */
  int32_t n_tokens;
  int64_t n_ways; /* tensor parallel; 0: 1 */
  bool apart;     /* q, k, v and gate, up by themselves, not as one matrix each */
} hd_model_options;

/* path: a config.json (Llama, Qwen, Mistral, Mixtral and what has their fields), a safetensors
 * index, or a safetensors file. A layer is one product a count of tokens, each once; *list is owned
 * (free()). HEDDLE_INVALID for what is none of these or lacks a size, HEDDLE_UNSUPPORTED for layers
 * of another kind, and for a type that is no operand's. What no kernel supports is left out, with a
 * note. */
heddle_status hd_model_read(heddle_context *ctx, const char *path, const hd_model_options *options,
                            hd_product **list, int32_t *n);

#endif
