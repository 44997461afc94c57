#include "sim_operands.h"

#include <stdlib.h>
#include <string.h>

#include "Support/activations.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

/* ---- sizes and strides ---- */

static int64_t default_size(const hd_manifest *manifest, const hd_arg *arg) {
  const hd_variant *v = &manifest->variant[0];
  int64_t by = arg->divisible_by > 0 ? arg->divisible_by : 1;
  int64_t size = arg->kind == HD_ARG_M ? 2 * v->tile_m : arg->kind == HD_ARG_N ? v->tile_n : 256;
  size = size > 0 ? (size + by - 1) / by * by : by;
  return arg->max > 0 && size > arg->max ? arg->max / by * by : size;
}

/* Parses NAME=VALUE for an argument that the kernel does not fix. */
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
                              trial_request *request) {
  hd_arg_kind kind;
  const char *value = NULL;
  HD_TRY(read_kind(ctx, manifest, text, &kind, &value));
  if (hd_arg_class_of(kind) == HEDDLE_CLASS_F32) {
    char *end = NULL;
    float f = strtof(value, &end);
    if (end == value || *end || f == 0)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg",
                      "got `%s`; legal: a number but 0", value);
    *(kind == HD_ARG_ALPHA  ? &request->alpha
      : kind == HD_ARG_BETA ? &request->beta
                            : &request->eps) = f;
    return HEDDLE_OK;
  }
  int64_t whole = 0, fixed = hd_manifest_arg(manifest, kind)->fixed;
  bool stride = kind >= HD_ARG_STRIDE_A && kind <= HD_ARG_STRIDE_SCALE_B;
  if (!cli_parse_int(value, &whole) || whole < !stride)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg",
                    "got `%s`; legal: an integer from %d", value, !stride);
  if (fixed > 0 && whole != fixed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.arg",
                    "got `%s`, but the kernel fixes it; nearest: %lld", text, (long long)fixed);
  request->size[kind] = stride && !whole ? TRIAL_SHARED : whole;
  return HEDDLE_OK;
}

static heddle_status read_args(heddle_context *ctx, const hd_manifest *manifest,
                               const cli_texts *args, trial_request *request) {
  static const hd_arg_kind sizes[] = {HD_ARG_M, HD_ARG_N, HD_ARG_K};
  for (int i = 0; i < args->n; i++)
    HD_TRY(read_arg(ctx, manifest, args->text[i], request));
  for (size_t i = 0; i < HD_COUNT(sizes); i++) {
    const hd_arg *arg = hd_manifest_arg(manifest, sizes[i]);
    if (arg && arg->fixed <= 0 && !request->size[sizes[i]])
      request->size[sizes[i]] = default_size(manifest, arg);
  }
  return HEDDLE_OK;
}

/* ---- bytes of an operand ---- */

static const char *file_of(const cli_texts *files, const char *name) {
  size_t n = strlen(name);
  for (int i = 0; i < files->n; i++)
    if (strncmp(files->text[i], name, n) == 0 && files->text[i][n] == '=')
      return files->text[i] + n + 1;
  return NULL;
}

/* Checks that each file belongs to an operand. */
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

static heddle_status check_bytes(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *request) {
  enum { MAX_LOG2 = 30 };
  trial_shape s;
  const hd_arg *aux = hd_manifest_arg(manifest, HD_ARG_AUX);
  HD_TRY(trial_shape_resolve(ctx, manifest, request->size, &s));
  const struct {
    hd_arg_kind kind;
    heddle_elem elem;
    trial_stored stored;
  } operands[] = {{HD_ARG_A, manifest->a_elem, {s.m, s.k, s.k}},
                  {HD_ARG_B, manifest->b_elem, trial_stored_b(manifest, &s)},
                  {HD_ARG_C, manifest->c_elem, trial_stored_c(manifest, &s)},
                  {HD_ARG_D, manifest->d_elem, trial_stored_d(manifest, &s)},
                  {HD_ARG_AUX, aux ? aux->elem : manifest->d_elem,
                   trial_stored_aux(manifest, &s)}};
  for (size_t i = 0; i < HD_COUNT(operands); i++) {
    double bytes = (double)operands[i].stored.rows * (double)operands[i].stored.pitch *
                   (double)trial_matrices(&s, trial_stride_of(operands[i].kind));
    if (!hd_manifest_arg(manifest, operands[i].kind))
      continue;
    bytes *= heddle_elem_get(operands[i].elem)->container_bits / 8.0;
    if (bytes > (double)(1u << MAX_LOG2))
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sim.size",
                      "operand %s has %.0f bytes; legal: at most 1 GiB",
                      hd_arg_name(operands[i].kind), bytes);
  }
  return HEDDLE_OK;
}

/* Unpacks A from a file to a dense matrix for the reference. */
static heddle_status unpack_matrix(heddle_context *ctx, const hd_manifest *manifest,
                                   const heddle_sparse_info *info, const uint8_t *packed,
                                   size_t row_bytes, uint8_t *dense) {
  bool pairs = hd_act_is_pair(manifest->act);
  size_t whole = (size_t)info->m * row_bytes;
  uint8_t *memory =
      hd_try_zalloc(ctx, info->values_bytes + info->codes_bytes + whole, "a dense A");
  if (!memory)
    return HEDDLE_NO_MEMORY;
  uint8_t *codes = memory + info->values_bytes, *paired = codes + info->codes_bytes;
  heddle_status status = heddle_sparse_unpack(ctx, info->elem, trial_kernel_family(manifest),
                                              info->m, info->k, packed, memory, codes);
  if (status == HEDDLE_OK)
    status = heddle_sparse_decompress(ctx, info->elem, info->m, info->k, memory, codes,
                                      pairs ? paired : dense, row_bytes);
  if (status == HEDDLE_OK && pairs)
    status = heddle_sparse_unpair_rows(ctx, info->m, row_bytes, paired, dense);
  hd_free(memory);
  return status;
}

static heddle_status unpack_a(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_block *block, trial_data *data) {
  const trial_shape *s = &data->shape;
  heddle_sparse_info info;
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, manifest->a_elem, HEDDLE_FAMILY_NONE,
                            (uint64_t)s->m, (uint64_t)s->k, &info));
  size_t dense_bytes = (size_t)s->m * data->a_row_bytes;
  memset(data->a_dense, 0, dense_bytes * (size_t)trial_matrices(s, HD_ARG_STRIDE_A));
  for (int64_t i = 0; i < trial_matrices(s, HD_ARG_STRIDE_A); i++)
    HD_TRY(unpack_matrix(ctx, manifest, &info, block->data + trial_before(s, HD_ARG_A, i),
                         data->a_row_bytes,
                         (uint8_t *)data->a_dense + (size_t)i * dense_bytes));
  return HEDDLE_OK;
}

static heddle_status read_file(heddle_context *ctx, const hd_manifest *manifest,
                               const char *path, trial_block *block, sim_operands *operands) {
  if (!path)
    return HEDDLE_OK;
  HD_TRY(hd_file_read_bytes(ctx, path, block->data, block->n_bytes));
  memcpy(block->before, block->all, block->all_bytes);
  if (block->kind == HD_ARG_BLOCK_SCALE_A || block->kind == HD_ARG_BLOCK_SCALE_B)
    operands->unknown = "block scales of a file";
  return block->kind == HD_ARG_A ? unpack_a(ctx, manifest, block, &operands->data) : HEDDLE_OK;
}

/* ---- buffers ---- */

enum { ADDRESS_STEP_LOG2 = 32 /* 4 GiB per buffer, so that an overrun does not reach another */ };

static hd_sim_buffer place(sim_operands *operands, hd_arg_kind kind, void *data, uint64_t n_bytes) {
  uint64_t address = (uint64_t)(operands->n + 1) << ADDRESS_STEP_LOG2;
  operands->data.values.v[kind] = address;
  return (hd_sim_buffer){.name = hd_arg_name(kind), .address = address, .n_bytes = n_bytes,
                         .data = data,
                         .writable = hd_arg_is_written(kind),
                         .undefined = hd_arg_is_result(kind), .weights = hd_arg_is_weights(kind)};
}

heddle_status sim_operands_make(heddle_context *ctx, const hd_manifest *manifest,
                                const cli_texts *args, const cli_texts *files, uint64_t seed,
                                sim_operands *operands) {
  static const uint8_t user[256]; /* memory for a user's function to read */
  trial_request *request = &operands->request;
  *request = (trial_request){.seed = seed, .bare = true, .user_bytes = user,
                             .n_user_bytes = sizeof user};
  HD_TRY(check_files(ctx, manifest, files));
  HD_TRY(read_args(ctx, manifest, args, request));
  HD_TRY(check_bytes(ctx, manifest, request));
  HD_TRY(trial_data_make(ctx, manifest, request, &operands->data));
  operands->unknown = manifest->user_function ? "a user's function" : NULL;
  for (int i = 0; i < operands->data.n_blocks; i++) {
    trial_block *block = &operands->data.block[i];
    HD_TRY(read_file(ctx, manifest, file_of(files, hd_arg_name(block->kind)), block, operands));
    operands->buffer[operands->n] = place(operands, block->kind, block->data, block->n_bytes);
    operands->n++;
  }
  return HEDDLE_OK;
}

heddle_status sim_operands_add_workspace(heddle_context *ctx, uint64_t n_bytes,
                                         sim_operands *operands) {
  if (!n_bytes)
    return HEDDLE_OK;
  operands->workspace = hd_try_zalloc(ctx, n_bytes, "the workspace");
  if (!operands->workspace)
    return HEDDLE_NO_MEMORY;
  operands->buffer[operands->n] =
      place(operands, HD_ARG_WORKSPACE, operands->workspace, n_bytes);
  operands->n++;
  return HEDDLE_OK;
}

void sim_operands_free(sim_operands *operands) {
  trial_data_free(&operands->data);
  hd_free(operands->workspace);
}

/* ---- D ---- */

hd_sim_buffer *sim_operands_d(sim_operands *operands) {
  for (int i = 0; i < operands->data.n_blocks; i++)
    if (operands->data.block[i].kind == HD_ARG_D)
      return &operands->buffer[i];
  return NULL;
}

bool sim_operands_unwritten(const hd_manifest *manifest, const sim_operands *operands,
                            const uint8_t *written, int64_t *g, int64_t *row, int64_t *col) {
  const trial_shape *s = &operands->data.shape;
  trial_stored d = trial_stored_d(manifest, s);
  for (int64_t i = 0; i < s->g * d.rows; i++)
    for (int64_t j = 0; j < d.cols; j++) {
      int64_t at = trial_before(s, HD_ARG_D, i / d.rows) + i % d.rows * d.pitch + j;
      if (written[hd_elem_bytes(manifest->d_elem, (size_t)at)])
        continue;
      *g = i / d.rows;
      *row = manifest->d_col_major ? j : i % d.rows;
      *col = manifest->d_col_major ? i % d.rows : j;
      return true;
    }
  return false;
}

heddle_status sim_operands_verify(heddle_context *ctx, const hd_manifest *manifest,
                                  const sim_operands *operands, trial_result *result) {
  *result = (trial_result){.ok = true, .g = operands->data.shape.g};
  if (operands->unknown)
    return HEDDLE_OK;
  return trial_verify(ctx, manifest, &operands->request, &operands->data, result);
}
