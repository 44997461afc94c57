#include "Choice/model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"

/* D[m, tokens] = W[m, k] x. The layer of an expert has only the tokens routed to it. */
typedef struct layer {
  int64_t m, k;
  bool expert;
} layer;

typedef struct model {
  const char *path;
  layer *list; /* owned */
  int32_t n, cap;
  heddle_elem type;
  int64_t n_experts, n_chosen; /* 0: none */
} model;

static void add_layer(model *x, int64_t m, int64_t k, bool expert) {
  for (int32_t i = 0; i < x->n; i++)
    if (x->list[i].m == m && x->list[i].k == k && x->list[i].expert == expert)
      return;
  layer l = {m, k, expert};
  HD_PUSH(x->list, x->n, x->cap, l);
}

static hd_loc in_file(const model *x) {
  return (hd_loc){.file = x->path};
}

/* ---- types ---- */

static const struct dtype {
  const char *name;
  heddle_elem elem;
} dtypes[] = {{"bfloat16", HEDDLE_BF16},
              {"BF16", HEDDLE_BF16},
              {"float16", HEDDLE_F16},
              {"F16", HEDDLE_F16},
              {"fp8", HEDDLE_E4M3},
              {"F8_E4M3", HEDDLE_E4M3},
              {"float8_e4m3fn", HEDDLE_E4M3},
              {"int8", HEDDLE_S8},
              {"I8", HEDDLE_S8}};

static heddle_status read_type(heddle_context *ctx, model *x, const char *name) {
  for (size_t i = 0; i < HD_COUNT(dtypes); i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      x->type = dtypes[i].elem;
      return HEDDLE_OK;
    }
  return hd_error(ctx, HEDDLE_UNSUPPORTED, in_file(x), "model.type",
                  "got weights of type \"%.40s\"; legal: bfloat16, float16, fp8, int8; nearest: "
                  "--type bf16",
                  name);
}

/* ---- config.json ---- */

static heddle_status size_in(heddle_context *ctx, const model *x, const json_t *config,
                             const char *field, int64_t otherwise, int64_t *size) {
  const json_t *value = json_object_get(config, field);
  *size = json_is_integer(value) ? json_integer_value(value) : otherwise;
  if (*size >= 1 && *size <= HD_PRODUCT_MOST_SIZE)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, in_file(x), "model.size",
                  "got %s = %lld; legal: 1 to %d, in a config.json of a transformer", field,
                  (long long)*size, HD_PRODUCT_MOST_SIZE);
}

/* Divides `whole` into n_ways parts. */
static heddle_status part_of(heddle_context *ctx, const model *x, const char *what, int64_t whole,
                             int64_t n_ways, int64_t *part) {
  *part = whole / n_ways;
  if (whole % n_ways == 0)
    return HEDDLE_OK;
  int64_t nearest = n_ways;
  while (whole % nearest)
    nearest--;
  return hd_error(ctx, HEDDLE_INVALID, in_file(x), "model.parallel",
                  "got tensor parallelism %lld for %s = %lld; legal: its divisors; nearest: %lld",
                  (long long)n_ways, what, (long long)whole, (long long)nearest);
}

static heddle_status add_attention(heddle_context *ctx, model *x, const json_t *c, int64_t hidden,
                                   const hd_model_options *o) {
  int64_t heads, kv_heads, head, own_heads, n_ways = o->n_ways ? o->n_ways : 1;
  if (json_object_get(c, "kv_lora_rank"))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, in_file(x), "model.attention",
                    "got latent attention (kv_lora_rank); legal: q, k, v and o projections; "
                    "nearest: the model's safetensors index");
  HD_TRY(size_in(ctx, x, c, "num_attention_heads", 0, &heads));
  HD_TRY(size_in(ctx, x, c, "num_key_value_heads", heads, &kv_heads));
  HD_TRY(size_in(ctx, x, c, "head_dim", hidden / heads, &head));
  HD_TRY(part_of(ctx, x, "num_attention_heads", heads, n_ways, &own_heads));
  int64_t own_kv = kv_heads < n_ways ? 1 : kv_heads / n_ways; /* fewer heads: replicated */
  if (o->apart) {
    add_layer(x, own_heads * head, hidden, false);
    add_layer(x, own_kv * head, hidden, false);
  } else {
    add_layer(x, (own_heads + 2 * own_kv) * head, hidden, false);
  }
  add_layer(x, hidden, own_heads * head, false);
  return HEDDLE_OK;
}

static heddle_status add_mlp(heddle_context *ctx, model *x, int64_t inner, int64_t hidden,
                             bool expert, const hd_model_options *o) {
  int64_t own;
  HD_TRY(part_of(ctx, x, "the inner size", inner, o->n_ways ? o->n_ways : 1, &own));
  add_layer(x, o->apart ? own : 2 * own, hidden, expert);
  add_layer(x, hidden, own, expert);
  return HEDDLE_OK;
}

static heddle_status add_experts(heddle_context *ctx, model *x, const json_t *c, int64_t inner,
                                 int64_t hidden, const hd_model_options *o) {
  static const char *const counts[] = {"num_local_experts", "num_experts", "n_routed_experts"};
  int64_t size;
  for (size_t i = 0; i < HD_COUNT(counts) && !x->n_experts; i++)
    x->n_experts = json_integer_value(json_object_get(c, counts[i]));
  if (x->n_experts <= 0)
    return add_mlp(ctx, x, inner, hidden, false, o);
  HD_TRY(size_in(ctx, x, c, "num_experts_per_tok", 0, &x->n_chosen));
  HD_TRY(size_in(ctx, x, c, "moe_intermediate_size", inner, &size));
  HD_TRY(add_mlp(ctx, x, size, hidden, true, o));
  size = json_integer_value(json_object_get(c, "shared_expert_intermediate_size"));
  return size > 0 ? add_mlp(ctx, x, size, hidden, false, o) : HEDDLE_OK;
}

static heddle_status read_config(heddle_context *ctx, model *x, const json_t *root,
                                 const hd_model_options *o) {
  const json_t *c = json_object_get(root, "text_config"); /* in multimodal models */
  int64_t hidden, inner;
  c = json_is_object(c) ? c : root;
  HD_TRY(size_in(ctx, x, c, "hidden_size", 0, &hidden));
  HD_TRY(size_in(ctx, x, c, "intermediate_size", 0, &inner));
  HD_TRY(add_attention(ctx, x, c, hidden, o));
  HD_TRY(add_experts(ctx, x, c, inner, hidden, o));
  if (x->type != HEDDLE_N_ELEMS)
    return HEDDLE_OK;
  const json_t *quantized = json_object_get(root, "quantization_config");
  const char *type = json_string_value(json_object_get(quantized, "quant_method"));
  const char *names[] = {"torch_dtype", "dtype"};
  for (size_t i = 0; i < HD_COUNT(names) && !type; i++) {
    type = json_string_value(json_object_get(c, names[i]));
    if (!type)
      type = json_string_value(json_object_get(root, names[i]));
  }
  return read_type(ctx, x, type ? type : "bfloat16");
}

/* ---- safetensors ---- */

/* Whether a tensor is a linear layer, and no embedding, norm or router. */
static bool is_layer(const char *name) {
  static const char *const others[] = {"embed",        "norm",   "lm_head", "router",
                                       ".gate.weight", "rotary", "vision",  "visual"};
  size_t len = strlen(name);
  for (size_t i = 0; i < HD_COUNT(others); i++)
    if (strstr(name, others[i]))
      return false;
  return len > 7 && strcmp(name + len - 7, ".weight") == 0;
}

/* "The first 8 bytes: N, an unsigned little-endian 64-bit integer, the size of the header. N bytes:
 * a JSON string" (the format's own description). */
static json_t *read_header(const char *path) {
  enum { MAX_BYTES = 100 << 20 };
  unsigned char size[8];
  uint64_t n_bytes = 0;
  if (hd_file_read_head(path, size, sizeof size) != sizeof size)
    return NULL;
  for (int i = 0; i < 8; i++)
    n_bytes |= (uint64_t)size[i] << 8 * i;
  if (n_bytes > MAX_BYTES)
    return NULL;
  char *text = hd_try_malloc(NULL, n_bytes + sizeof size, "a header");
  size_t all = n_bytes + sizeof size;
  bool whole = text && hd_file_read_head(path, text, all) == all;
  json_t *header = whole ? json_loadb(text + sizeof size, n_bytes, 0, NULL) : NULL;
  hd_free(text);
  return header;
}

static heddle_status read_tensors(heddle_context *ctx, model *x, const char *path) {
  json_t *header = read_header(path), *tensor;
  const char *name;
  heddle_status status =
      header ? HEDDLE_OK
             : hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "model.tensors",
                        "the file has no safetensors header; legal: a complete safetensors file");
  json_object_foreach(header, name, tensor) {
    const json_t *shape = json_object_get(tensor, "shape");
    const char *type = json_string_value(json_object_get(tensor, "dtype"));
    int64_t m = json_integer_value(json_array_get(shape, 0));
    int64_t k = json_integer_value(json_array_get(shape, 1));
    if (status != HEDDLE_OK || json_array_size(shape) != 2 || !is_layer(name))
      continue;
    if (m < 1 || k < 1 || m > HD_PRODUCT_MOST_SIZE || k > HD_PRODUCT_MOST_SIZE)
      continue;
    if (x->type == HEDDLE_N_ELEMS)
      status = read_type(ctx, x, type ? type : "");
    add_layer(x, m, k, false);
  }
  json_decref(header);
  return status;
}

static heddle_status read_index(heddle_context *ctx, model *x, json_t *map) {
  const char *slash = strrchr(x->path, '/'), *name;
  json_t *file, *seen = json_object();
  heddle_status status = HEDDLE_OK;
  json_object_foreach(map, name, file) {
    const char *of = json_string_value(file);
    if (status != HEDDLE_OK || !of || strchr(of, '/') || json_object_get(seen, of))
      continue;
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%.*s%s", slash ? (int)(slash - x->path + 1) : 0, x->path, of);
    status = read_tensors(ctx, x, hd_strbuf_text(&path));
    hd_strbuf_free(&path);
    json_object_set_new(seen, of, json_true());
  }
  json_decref(seen);
  return status;
}

/* ---- products ---- */

static int64_t tokens_of(const model *x, const layer *l, int64_t tokens) {
  if (!l->expert)
    return tokens;
  int64_t n = (tokens * x->n_chosen + x->n_experts - 1) / x->n_experts;
  return n < 1 ? 1 : n;
}

static void make_products(heddle_context *ctx, const model *x, const hd_model_options *o,
                          hd_product **list, int32_t *n) {
  int32_t cap = 0;
  for (int32_t i = 0; i < x->n; i++)
    for (int32_t t = 0; t < o->n_tokens; t++) {
      hd_product p = {.a = x->type,
                      .b = x->type,
                      .acc = heddle_elem_get(x->type)->acc,
                      .d = heddle_elem_get(x->type)->d,
                      .m = x->list[i].m,
                      .n = tokens_of(x, &x->list[i], o->tokens[t]),
                      .k = x->list[i].k};
      hd_front front = {0};
      snprintf(p.target, sizeof p.target, "%s", o->target);
      bool known = false;
      for (int32_t j = 0; j < *n && !known; j++)
        known = hd_product_same_sizes(&(*list)[j], &p);
      if (known)
        continue;
      heddle_context *why = heddle_context_create();
      if (hd_product_build(why, HD_NOWHERE, &p, &front) == HEDDLE_OK)
        HD_PUSH(*list, *n, cap, p);
      else
        hd_note(ctx, in_file(x), "model.layer", "%lld x %lld is left out: %s", (long long)p.m,
                (long long)p.k, hd_first_error_text(why, "no kernel supports it"));
      hd_front_free(&front);
      heddle_context_free(why);
    }
}

static heddle_status read_layers(heddle_context *ctx, model *x, const hd_model_options *o) {
  static const char ending[] = ".safetensors";
  size_t len = strlen(x->path), n_bytes;
  if (len > sizeof ending && strcmp(x->path + len - sizeof ending + 1, ending) == 0)
    return read_tensors(ctx, x, x->path);
  char *text;
  json_error_t error;
  HD_TRY(hd_file_read_text(ctx, x->path, &text, &n_bytes));
  json_t *root = json_loadb(text, n_bytes, 0, &error);
  hd_free(text);
  if (!root)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){x->path, (uint32_t)error.line, 1}, "model.file",
                    "the file is not JSON: %s; legal: a config.json, a safetensors index",
                    error.text);
  json_t *map = json_object_get(root, "weight_map");
  heddle_status status =
      json_is_object(map) ? read_index(ctx, x, map) : read_config(ctx, x, root, o);
  json_decref(root);
  return status;
}

heddle_status hd_model_read(heddle_context *ctx, const char *path, const hd_model_options *options,
                            hd_product **list, int32_t *n) {
  model x = {.path = path, .type = options->type};
  uint64_t before = hd_memory_shortages();
  heddle_status status = read_layers(ctx, &x, options);
  *list = NULL;
  *n = 0;
  if (status == HEDDLE_OK)
    make_products(ctx, &x, options, list, n);
  hd_free(x.list);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK && *n == 0)
    status = hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "model.layers",
                      "the file has no linear layer that a kernel supports; legal: a transformer's "
                      "config.json, a safetensors index or file");
  if (status != HEDDLE_OK) {
    hd_free(*list);
    *list = NULL;
  }
  return status;
}
