#include "Sparse/sparse_file.h"

#include <string.h>

#include "Sparse/npy.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"

enum {
  MAGIC_BYTES = 8,
  AT_VERSION = 8,
  AT_HEADER_BYTES = 12,
  AT_FORM = 16,
  AT_ELEM = 17,
  AT_FAMILY = 18,
  AT_M = 24,
  AT_K = 32,
  AT_NAME = 80,
  NAME_BYTES = 16,
  AT_ROWS = 96,
  AT_CHECKSUM = 112,
  CHECKSUM_BYTES = 16
};

/* As in PNG: the high bit and the two line ends detect a file that was transferred as text. */
static const uint8_t magic[MAGIC_BYTES] = {0x89, 'H', 'D', 'L', '\r', '\n', 0x1a, '\n'};

static void put(uint8_t *at, unsigned n_bytes, uint64_t value) {
  for (unsigned i = 0; i < n_bytes; i++)
    at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, unsigned n_bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < n_bytes; i++)
    value |= (uint64_t)at[i] << (8 * i);
  return value;
}

/* Makes the whole header of a plan, with a checksum of zeros. Every field follows from the plan, so
 * a header is valid if and only if it equals this header. */
static void make_header(const heddle_sparse_info *info, uint8_t *header) {
  const heddle_elem_info *elem = heddle_elem_get(info->elem);
  bool packed = info->form == HEDDLE_SPARSE_PACKED;
  memset(header, 0, HEDDLE_SPARSE_HEADER_BYTES);
  memcpy(header, magic, MAGIC_BYTES);
  put(header + AT_VERSION, 4, HD_SPARSE_VERSION);
  put(header + AT_HEADER_BYTES, 4, HEDDLE_SPARSE_HEADER_BYTES);
  header[AT_FORM] = (uint8_t)info->form;
  header[AT_ELEM] = (uint8_t)info->elem;
  header[AT_FAMILY] = (uint8_t)info->family;
  header[19] = elem->container_bits;
  header[20] = elem->group;
  header[21] = elem->kept;
  put(header + 22, 2, packed ? HEDDLE_SPARSE_BLOCK_ROWS : 0);
  put(header + AT_M, 8, info->m);
  put(header + AT_K, 8, info->k);
  put(header + 40, 8, packed ? info->payload_offset : info->values_offset);
  put(header + 48, 8, packed ? info->payload_bytes : info->values_bytes);
  put(header + 56, 8, packed ? info->block_meta_offset : info->codes_offset);
  put(header + 64, 8, packed ? info->block_bytes - info->block_meta_offset : info->codes_bytes);
  put(header + 72, 4, info->k_block_size);
  put(header + 76, 4, info->block_bytes);
  strncpy((char *)header + AT_NAME, elem->name, NAME_BYTES);
  header[AT_ROWS] = info->pair;
}

/* `header` has zeros in place of the checksum. */
static void make_checksum(const uint8_t *header, const void *payload, size_t payload_bytes,
                          uint8_t checksum[CHECKSUM_BYTES]) {
  hd_hash sum = hd_hash_combine(hd_hash_bytes(header, HEDDLE_SPARSE_HEADER_BYTES),
                                hd_hash_bytes(payload, payload_bytes));
  put(checksum, 8, sum.lo);
  put(checksum + 8, 8, sum.hi);
}

/* Only a packed matrix can have interleaved rows of gate and up. */
static heddle_status take_pair(heddle_context *ctx, bool pair, heddle_sparse_info *plan) {
  plan->pair = pair;
  if (pair && plan->form != HEDDLE_SPARSE_PACKED)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.pair",
                    "a canonical matrix of interleaved rows; legal: a packed one");
  return pair ? hd_sparse_pair_check(ctx, plan->m) : HEDDLE_OK;
}

heddle_status heddle_sparse_seal(heddle_context *ctx, const heddle_sparse_info *info,
                                 void *image) {
  heddle_sparse_info plan;
  HD_TRY(heddle_sparse_plan(ctx, info->form, info->elem, info->family, info->m, info->k, &plan));
  HD_TRY(take_pair(ctx, info->pair, &plan));
  uint8_t *bytes = image;
  if (plan.form == HEDDLE_SPARSE_CANONICAL) {
    size_t gap = plan.values_offset + plan.values_bytes;
    memset(bytes + gap, 0, plan.codes_offset - gap);
  }
  make_header(&plan, bytes);
  make_checksum(bytes, bytes + plan.payload_offset, plan.payload_bytes, bytes + AT_CHECKSUM);
  return HEDDLE_OK;
}

static heddle_status malformed(heddle_context *ctx, const char *rule, const char *field,
                               uint64_t got, uint64_t expected) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, rule, "%s is %llu; legal: %llu", field,
                  (unsigned long long)got, (unsigned long long)expected);
}

/* Compares the bytes that exist, so that a truncated magic is accepted. */
static bool has_magic(const void *image, size_t n_bytes) {
  return memcmp(image, magic, n_bytes < MAGIC_BYTES ? n_bytes : MAGIC_BYTES) == 0;
}

/* The checks that are needed before any other field is used. */
static heddle_status check_preamble(heddle_context *ctx, const uint8_t *image, size_t n_bytes) {
  if (n_bytes == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.file-empty",
                    "the file is empty; legal: a header of %d bytes", HEDDLE_SPARSE_HEADER_BYTES);
  if (!has_magic(image, n_bytes))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.file-magic",
                    "not a canonical or packed file: it begins with 0x%02x; legal: 89 'HDL' 0d 0a "
                    "1a 0a (a .npy file needs `heddle compress` or `heddle pack`)",
                    image[0]);
  if (n_bytes < HEDDLE_SPARSE_HEADER_BYTES)
    return malformed(ctx, "sparse.file-truncated", "the file's size", n_bytes,
                     HEDDLE_SPARSE_HEADER_BYTES);
  if (get(image + AT_VERSION, 4) != HD_SPARSE_VERSION)
    return malformed(ctx, "sparse.file-version", "the format version",
                     get(image + AT_VERSION, 4), HD_SPARSE_VERSION);
  return HEDDLE_OK;
}

/* Every other field is a function of form, type, family, M, K and row order. Compares the header
 * with the expected one and reports the first byte that differs. */
static heddle_status compare_header(heddle_context *ctx, const uint8_t *image,
                                    const heddle_sparse_info *plan) {
  uint8_t expected[HEDDLE_SPARSE_HEADER_BYTES];
  make_header(plan, expected);
  for (unsigned i = 0; i < AT_CHECKSUM; i++) {
    if (image[i] != expected[i])
      return hd_error(
          ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.file-header",
          "byte %u of the header is 0x%02x; legal: 0x%02x for a %s matrix of %llu x %llu %s", i,
          image[i], expected[i], plan->form == HEDDLE_SPARSE_PACKED ? "packed" : "canonical",
          (unsigned long long)plan->m, (unsigned long long)plan->k,
          heddle_elem_get(plan->elem)->name);
  }
  return HEDDLE_OK;
}

static heddle_status open_header(heddle_context *ctx, const uint8_t *bytes, size_t n_bytes,
                                 heddle_sparse_info *info) {
  heddle_sparse_info plan;
  HD_TRY(check_preamble(ctx, bytes, n_bytes));
  heddle_status status =
      heddle_sparse_plan(ctx, (heddle_sparse_form)bytes[AT_FORM], (heddle_elem)bytes[AT_ELEM],
                         (heddle_family)bytes[AT_FAMILY], get(bytes + AT_M, 8),
                         get(bytes + AT_K, 8), &plan);
  if (status != HEDDLE_OK)
    return HEDDLE_INVALID; /* a valid header is never unsupported */
  HD_TRY(take_pair(ctx, bytes[AT_ROWS] == 1, &plan));
  HD_TRY(compare_header(ctx, bytes, &plan));
  *info = plan;
  return HEDDLE_OK;
}

heddle_status heddle_sparse_open(heddle_context *ctx, const void *image, size_t n_bytes,
                                 heddle_sparse_info *info) {
  heddle_sparse_info plan;
  HD_TRY(open_header(ctx, image, n_bytes, &plan));
  if (n_bytes != plan.file_bytes)
    return malformed(ctx, n_bytes < plan.file_bytes ? "sparse.file-truncated" : "sparse.file-tail",
                     "the file's size", n_bytes, plan.file_bytes);
  *info = plan;
  return HEDDLE_OK;
}

heddle_status hd_sparse_checksum_check(heddle_context *ctx, const void *image,
                                       const heddle_sparse_info *info) {
  const uint8_t *bytes = image;
  uint8_t header[HEDDLE_SPARSE_HEADER_BYTES], checksum[CHECKSUM_BYTES];
  make_header(info, header);
  make_checksum(header, bytes + info->payload_offset, info->payload_bytes, checksum);
  if (memcmp(checksum, bytes + AT_CHECKSUM, CHECKSUM_BYTES) == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.file-checksum",
                  "the file is damaged: its checksum is %016llx%016llx; legal: %016llx%016llx",
                  (unsigned long long)get(bytes + AT_CHECKSUM + 8, 8),
                  (unsigned long long)get(bytes + AT_CHECKSUM, 8),
                  (unsigned long long)get(checksum + 8, 8), (unsigned long long)get(checksum, 8));
}

static heddle_status size_of_head(heddle_context *ctx, const char *path, const void *head,
                                  size_t n_bytes, size_t *whole_bytes) {
  heddle_sparse_info info;
  if (hd_npy_is(head, n_bytes))
    return hd_npy_size(ctx, path, head, n_bytes, whole_bytes);
  if (!has_magic(head, n_bytes))
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "sparse.file-magic",
                    "neither a .npy file nor a canonical or packed one: it begins with 0x%02x; "
                    "legal: 93 'NUMPY', 89 'HDL' 0d 0a 1a 0a",
                    *(const uint8_t *)head);
  HD_TRY(open_header(ctx, head, n_bytes, &info));
  *whole_bytes = info.file_bytes;
  return HEDDLE_OK;
}

heddle_status hd_sparse_file_read(heddle_context *ctx, const char *path, char **image,
                                  size_t *n_bytes) {
  return hd_file_read_sized(ctx, path, size_of_head, image, n_bytes);
}
