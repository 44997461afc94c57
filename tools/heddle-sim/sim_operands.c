#include "sim_operands.h"

#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

/* ---- sizes and strides ---- */

static uint32_t elem_bits(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  return info ? info->container_bits : 8;
}

static int64_t default_size(const hd_manifest *manifest, const hd_arg *arg) {
  const hd_variant *v = &manifest->variant[0];
  int64_t by = arg->divisible_by > 0 ? arg->divisible_by : 1;
  int64_t size = arg->kind == HD_ARG_M ? 2 * v->tile_m : arg->kind == HD_ARG_N ? v->tile_n : 256;
  size = size > 0 ? (size + by - 1) / by * by : by;
  return arg->max > 0 && size > arg->max ? arg->max / by * by : size;
}

/* NAME=VALUE of an argument that the kernel leaves open. */
static heddle_status read_kind(heddle_context *ctx, const hd_manifest *manifest, const char *text,
                               hd_arg_kind *kind, const char **value) {
  char name[32];
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : sizeof name;
  if (n >= sizeof name)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg", "got `%s`; legal: NAME=VALUE",
                    text);
  memcpy(name, text, n);
  name[n] = 0;
  if (hd_arg_parse(name, kind) != HEDDLE_OK || hd_arg_class_of(*kind) == HEDDLE_CLASS_PTR ||
      !hd_manifest_arg(manifest, *kind))
    return hd_error(
        ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg",
        "got `%s`; legal: a size, stride or scalar of the kernel (m, n, k, ldb, alpha ...)", name);
  *value = equals + 1;
  return HEDDLE_OK;
}

static heddle_status read_arg(heddle_context *ctx, const hd_manifest *manifest, const char *text,
                              hd_values *values, bool given[HD_N_ARG_KINDS]) {
  hd_arg_kind kind;
  const char *value = NULL;
  HD_TRY(read_kind(ctx, manifest, text, &kind, &value));
  int64_t whole = 0, fixed = hd_manifest_arg(manifest, kind)->fixed;
  bool scalar = hd_arg_class_of(kind) == HEDDLE_CLASS_F32;
  char *end = NULL;
  float f = strtof(value, &end);
  if (scalar ? end == value || *end : !cli_parse_int(value, &whole))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg", "got `%s`; legal: %s", value,
                    scalar ? "a number" : "an integer");
  if (fixed > 0 && whole != fixed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg",
                    "got `%s`, but the kernel fixes it; nearest: %lld", text, (long long)fixed);
  given[kind] = true;
  values->v[kind] = (uint64_t)whole;
  if (scalar)
    memcpy(&values->v[kind], &f, sizeof f);
  return HEDDLE_OK;
}

heddle_status sim_values_fill(heddle_context *ctx, const hd_manifest *manifest,
                              const cli_texts *args, hd_values *values) {
  bool given[HD_N_ARG_KINDS] = {false};
  for (int i = 0; i < args->n; i++)
    HD_TRY(read_arg(ctx, manifest, args->text[i], values, given));
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    if (arg->fixed > 0)
      values->v[arg->kind] = (uint64_t)arg->fixed;
    else if (!given[arg->kind] && hd_arg_class_of(arg->kind) == HEDDLE_CLASS_I32)
      values->v[arg->kind] = (uint64_t)default_size(manifest, arg);
    else if (!given[arg->kind] && hd_arg_class_of(arg->kind) == HEDDLE_CLASS_F32)
      values->v[arg->kind] = 0x3f800000;
  }
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    if (arg->fixed > 0 || given[arg->kind] || hd_arg_class_of(arg->kind) != HEDDLE_CLASS_I64)
      continue;
    int64_t by = arg->divisible_by > 0 ? arg->divisible_by : 1;
    int64_t row = arg->at_least.div > 0 ? hd_expr_eval(&arg->at_least, values) : 1;
    values->v[arg->kind] = (uint64_t)((row + by - 1) / by * by);
  }
  return HEDDLE_OK;
}

/* ---- bytes of an operand ---- */

static uint64_t value_of(const hd_values *values, hd_arg_kind kind) { return values->v[kind]; }

/* Rows of `row` elements, `pitch` apart; the last one ends with its elements. */
static uint64_t matrix_bytes(uint64_t rows, uint64_t row, uint64_t pitch, uint32_t bits) {
  return rows == 0 ? 0 : ((rows - 1) * pitch + row) * bits / 8;
}

static uint64_t packed_bytes(const hd_manifest *manifest, const hd_values *values) {
  uint32_t bits = elem_bits(manifest->a_elem);
  uint64_t k_block = 128 * 8 / bits, block = 4096 + (bits >= 16 ? 512 : 1024);
  return (value_of(values, HD_ARG_M) + 63) / 64 *
         ((value_of(values, HD_ARG_K) + k_block - 1) / k_block) * block;
}

/* A row's scales of a k-block together, k-blocks at the pitch; or tiles of 128 rows by 4 scales. */
static uint64_t block_scales(const hd_manifest *manifest, uint64_t k, uint64_t rows,
                             uint64_t pitch) {
  uint64_t k_block = 128 * 8 / elem_bits(manifest->a_elem), block = (uint64_t)manifest->scale_block;
  uint64_t k_blocks = (k + k_block - 1) / k_block, each = block ? k_block / block : 0;
  return manifest->scale_tiles ? (rows + 127) / 128 * ((k_blocks * each + 3) / 4) * 512
                               : (k_blocks - 1) * pitch + rows * each;
}

static uint64_t operand_bytes(const hd_manifest *manifest, const hd_values *values,
                              hd_arg_kind kind) {
  uint64_t m = value_of(values, HD_ARG_M), n = value_of(values, HD_ARG_N),
           k = value_of(values, HD_ARG_K);
  switch (kind) {
  case HD_ARG_A: return packed_bytes(manifest, values);
  case HD_ARG_B:
    return manifest->b_mn_major
               ? matrix_bytes(k, n, value_of(values, HD_ARG_LDB), elem_bits(manifest->b_elem))
               : matrix_bytes(n, k, value_of(values, HD_ARG_LDB), elem_bits(manifest->b_elem));
  case HD_ARG_C:
    return manifest->c_col_major
               ? matrix_bytes(n, m, value_of(values, HD_ARG_LDC), elem_bits(manifest->c_elem))
               : matrix_bytes(m, n, value_of(values, HD_ARG_LDC), elem_bits(manifest->c_elem));
  case HD_ARG_D:
    m = (uint64_t)hd_manifest_d_rows(manifest, (int64_t)m);
    return manifest->d_col_major
               ? matrix_bytes(n, m, value_of(values, HD_ARG_LDD), elem_bits(manifest->d_elem))
               : matrix_bytes(m, n, value_of(values, HD_ARG_LDD), elem_bits(manifest->d_elem));
  case HD_ARG_BIAS: return (manifest->bias_along_n ? n : m) * elem_bits(manifest->bias_elem) / 8;
  case HD_ARG_SCALE_A: return (manifest->scale_a_one ? 1 : m) * 4;
  case HD_ARG_SCALE_B: return (manifest->scale_b_one ? 1 : n) * 4;
  case HD_ARG_BLOCK_SCALE_A:
    return block_scales(manifest, k, m, value_of(values, HD_ARG_LDSA));
  case HD_ARG_BLOCK_SCALE_B:
    return block_scales(manifest, k, n, value_of(values, HD_ARG_LDSB));
  default: return 256;
  }
}

/* ---- seeded values ---- */

static uint32_t next(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

/* A small magnitude in any element type: no NaN, no Inf. */
static void fill_values(uint8_t *data, uint64_t n_bytes, heddle_elem elem, uint64_t *state) {
  uint32_t bytes = elem_bits(elem) / 8;
  for (uint64_t i = 0; i + (bytes ? bytes : 1) <= n_bytes; i += bytes ? bytes : 1) {
    uint32_t r = next(state), sign = r & 1, word;
    switch (elem) {
    case HEDDLE_F16: word = sign << 15 | (0x3800 + (r >> 8) % 0x800); break;
    case HEDDLE_BF16: word = sign << 15 | (0x3f00 + (r >> 8) % 0x100); break;
    case HEDDLE_F32:
    case HEDDLE_TF32: word = sign << 31 | (0x3f000000 + (r >> 8) % 0x1000000); break;
    case HEDDLE_E4M3: word = sign << 7 | (0x30 + (r >> 8) % 16); break;
    case HEDDLE_E5M2: word = sign << 7 | (0x38 + (r >> 8) % 8); break;
    case HEDDLE_UE8M0: word = 0x7e + r % 4; break;
    case HEDDLE_UE4M3: word = 0x30 + r % 16; break;
    default: word = r >> 3; break;
    }
    memcpy(data + i, &word, bytes ? bytes : 1);
  }
}

static void fill_metadata(uint8_t *data, uint32_t n_bytes, heddle_elem elem, uint64_t *state) {
  static const uint8_t codes[6] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
  for (uint32_t i = 0; i < n_bytes; i++) {
    uint32_t r = next(state);
    data[i] = elem == HEDDLE_TF32 ? (uint8_t)((r & 1 ? 0xe : 0x4) | (r & 2 ? 0xe0 : 0x40))
                                  : (uint8_t)(codes[r % 6] | codes[r / 6 % 6] << 4);
  }
}

static void fill_packed(uint8_t *data, uint64_t n_bytes, heddle_elem elem, uint64_t *state) {
  uint32_t meta = elem_bits(elem) >= 16 ? 512 : 1024;
  for (uint64_t at = 0; at + 4096 + meta <= n_bytes; at += 4096 + meta) {
    fill_values(data + at, 4096, elem, state);
    fill_metadata(data + at + 4096, meta, elem, state);
  }
}

static heddle_elem element_of(const hd_manifest *manifest, hd_arg_kind kind) {
  switch (kind) {
  case HD_ARG_B: return manifest->b_elem;
  case HD_ARG_C: return manifest->c_elem;
  case HD_ARG_BIAS: return manifest->bias_elem;
  case HD_ARG_BLOCK_SCALE_A:
  case HD_ARG_BLOCK_SCALE_B: return hd_manifest_arg(manifest, kind)->elem;
  default: return HEDDLE_F32;
  }
}

/* ---- buffers ---- */

static const char *file_of(const cli_texts *files, const char *name) {
  size_t n = strlen(name);
  for (int i = 0; i < files->n; i++)
    if (strncmp(files->text[i], name, n) == 0 && files->text[i][n] == '=')
      return files->text[i] + n + 1;
  return NULL;
}

static heddle_status make_one(heddle_context *ctx, const hd_manifest *manifest, hd_arg_kind kind,
                              const char *path, uint64_t *state, hd_sim_buffer *b) {
  if (kind == HD_ARG_WORKSPACE)
    return HEDDLE_OK;
  if (path)
    return hd_file_read_bytes(ctx, path, b->data, b->n_bytes);
  if (kind == HD_ARG_A)
    fill_packed(b->data, b->n_bytes, manifest->a_elem, state);
  else if (kind == HD_ARG_D)
    memset(b->data, 0xc5, b->n_bytes);
  else
    fill_values(b->data, b->n_bytes, element_of(manifest, kind), state);
  return HEDDLE_OK;
}

/* Every file is some operand's. */
static heddle_status check_files(heddle_context *ctx, const hd_manifest *manifest,
                                 const cli_texts *files) {
  for (int i = 0; i < files->n; i++) {
    bool taken = false;
    for (int j = 0; j < manifest->n_args; j++) {
      const char *name = hd_arg_name(manifest->arg[j].kind);
      size_t n = strlen(name);
      taken |= hd_arg_class_of(manifest->arg[j].kind) == HEDDLE_CLASS_PTR &&
               strncmp(files->text[i], name, n) == 0 && files->text[i][n] == '=';
    }
    if (!taken)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.data",
                      "got --data %.60s; the kernel %s has no such operand; as in a=FILE",
                      files->text[i], manifest->name);
  }
  return HEDDLE_OK;
}

heddle_status sim_operands_make(heddle_context *ctx, const hd_manifest *manifest,
                                const cli_texts *files, uint64_t seed, uint64_t workspace_bytes,
                                hd_values *values, sim_operands *operands) {
  uint64_t state = seed * 2 + 1;
  HD_TRY(check_files(ctx, manifest, files));
  for (int i = 0; i < manifest->n_args && operands->n < SIM_MAX_OPERANDS; i++) {
    hd_arg_kind kind = manifest->arg[i].kind;
    if (hd_arg_class_of(kind) != HEDDLE_CLASS_PTR)
      continue;
    uint64_t n_bytes = kind == HD_ARG_WORKSPACE ? workspace_bytes
                                                : operand_bytes(manifest, values, kind);
    if (n_bytes > 1ull << 30)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.size",
                      "operand %s has %llu bytes; legal: at most 1 GiB", hd_arg_name(kind),
                      (unsigned long long)n_bytes);
    uint32_t at = operands->n++;
    hd_sim_buffer *b = &operands->buffer[at];
    *b = (hd_sim_buffer){.name = hd_arg_name(kind), .address = (uint64_t)(at + 1) << 32,
                         .n_bytes = n_bytes, .data = hd_xzalloc(n_bytes + 1),
                         .writable = kind == HD_ARG_D || kind == HD_ARG_WORKSPACE,
                         .undefined = kind == HD_ARG_D, .weights = hd_arg_is_weights(kind)};
    operands->kind[at] = kind;
    values->v[kind] = b->address;
    HD_TRY(make_one(ctx, manifest, kind, file_of(files, b->name), &state, b));
  }
  return HEDDLE_OK;
}

void sim_operands_free(sim_operands *operands) {
  for (uint32_t i = 0; i < operands->n; i++)
    hd_free(operands->buffer[i].data);
}
