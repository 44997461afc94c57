#include "Sparse/npy.h"

#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"

enum { MAGIC_BYTES = 6, HEADER_ALIGN = 64, MAX_HEADER_BYTES = 1 << 20 };

static const char magic[] = "\x93NUMPY";

/* A cursor over the header's Python dictionary literal. */
typedef struct reader {
  heddle_context *ctx;
  const char *file, *at, *end;
} reader;

static heddle_status malformed(const reader *r, const char *what) {
  return hd_error(r->ctx, HEDDLE_INVALID, (hd_loc){.file = r->file}, "npy.header",
                  "%s in the header of the .npy file", what);
}

static void skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
    r->at++;
}

static bool take(reader *r, char c) {
  skip_space(r);
  if (r->at == r->end || *r->at != c)
    return false;
  r->at++;
  return true;
}

/* 'text' or "text". There are no escapes, because NumPy writes none. */
static bool take_string(reader *r, char *out, size_t out_bytes) {
  skip_space(r);
  if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
    return false;
  char quote = *r->at++;
  size_t n = 0;
  while (r->at < r->end && *r->at != quote) {
    if (n + 1 >= out_bytes)
      return false;
    out[n++] = *r->at++;
  }
  out[n] = 0;
  return take(r, quote);
}

static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  skip_space(r);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
    return false;
  r->at += n;
  return true;
}

static bool take_number(reader *r, uint64_t *number) {
  skip_space(r);
  uint64_t value = 0;
  const char *start = r->at;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
    if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
      return false;
  *number = value;
  return r->at > start;
}

static heddle_status read_shape(reader *r, hd_npy *npy) {
  uint64_t sizes[2] = {1, 1};
  int n = 0;
  if (!take(r, '('))
    return malformed(r, "no shape tuple");
  while (!take(r, ')')) {
    uint64_t size;
    if (!take_number(r, &size))
      return malformed(r, "a shape that is not a tuple of sizes");
    if (n == 2)
      return hd_error(r->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = r->file}, "npy.shape",
                      "got more than 2 dimensions; legal: 1, 2");
    sizes[n++] = size;
    if (!take(r, ',') && !(r->at < r->end && *r->at == ')'))
      return malformed(r, "a shape that is not a tuple of sizes");
  }
  npy->rows = n == 2 ? sizes[0] : 1;
  npy->cols = n == 2 ? sizes[1] : sizes[0];
  return HEDDLE_OK;
}

static heddle_status read_dtype(reader *r, hd_npy *npy) {
  char text[16];
  if (!take_string(r, text, sizeof text))
    return hd_error(r->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = r->file}, "npy.dtype",
                    "a structured or unusual dtype; legal: a plain one such as '<f2'");
  unsigned item_bytes = strlen(text) == 3 && text[2] >= '1' && text[2] <= '8' ? text[2] - '0' : 0;
  bool order = text[0] == '<' || text[0] == '|' || (text[0] == '>' && item_bytes == 1);
  bool known = item_bytes == 1 || item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
  if (!order || !known || !strchr("fiuV", text[1]))
    return hd_error(r->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = r->file}, "npy.dtype",
                    "dtype '%s'; legal: a little-endian '<f2', '<f4', '<i4', '<u2', '|u1' or '|i1'",
                    text);
  npy->kind = text[1];
  npy->item_bytes = item_bytes;
  return HEDDLE_OK;
}

static heddle_status read_order(reader *r, hd_npy *npy) {
  if (take_word(r, "True"))
    npy->fortran = true;
  else if (take_word(r, "False"))
    npy->fortran = false;
  else
    return malformed(r, "fortran_order that is neither True nor False");
  return HEDDLE_OK;
}

/* Each of the three keys must occur once, in any order. */
static heddle_status read_dictionary(reader *r, hd_npy *npy) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  static heddle_status (*const readers[])(reader *, hd_npy *) = {read_dtype, read_order,
                                                                 read_shape};
  unsigned seen = 0;
  if (!take(r, '{'))
    return malformed(r, "no dictionary");
  while (!take(r, '}')) {
    char key[16];
    unsigned i = 0;
    if (!take_string(r, key, sizeof key) || !take(r, ':'))
      return malformed(r, "a broken dictionary");
    while (i < 3 && strcmp(key, keys[i]) != 0)
      i++;
    if (i == 3 || (seen >> i & 1))
      return malformed(r, "an unknown or repeated key");
    seen |= 1u << i;
    HD_TRY(readers[i](r, npy));
    (void)take(r, ',');
  }
  return seen == 7 ? HEDDLE_OK : malformed(r, "one of descr, fortran_order and shape is missing");
}

/* Finds the dictionary. Version 1 has a 16-bit length, 2 and 3 have a 32-bit length. */
static heddle_status find_dictionary(reader *r, const uint8_t *image, size_t n_bytes) {
  if (n_bytes < MAGIC_BYTES + 4 || memcmp(image, magic, MAGIC_BYTES) != 0)
    return hd_error(r->ctx, HEDDLE_INVALID, (hd_loc){.file = r->file}, "npy.magic",
                    n_bytes ? "not a .npy file" : "the file is empty; legal: a .npy file");
  unsigned version = image[6], length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    return hd_error(r->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = r->file}, "npy.version",
                    ".npy version %u; legal: 1, 2 or 3", version);
  size_t start = MAGIC_BYTES + 2 + length_bytes, length = 0;
  if (n_bytes < start)
    return malformed(r, "a truncated length");
  for (unsigned i = 0; i < length_bytes; i++)
    length |= (size_t)image[MAGIC_BYTES + 2 + i] << (8 * i);
  if (length > MAX_HEADER_BYTES || length > n_bytes - start)
    return malformed(r, "a length past the end of the file");
  r->at = (const char *)image + start;
  r->end = r->at + length;
  return HEDDLE_OK;
}

/* Reads the header and computes the size of the data, which need not be in the image. */
static heddle_status open_header(reader *r, const void *image, size_t n_bytes, hd_npy *npy) {
  hd_npy found = {0};
  HD_TRY(find_dictionary(r, image, n_bytes));
  HD_TRY(read_dictionary(r, &found));
  found.data = (const uint8_t *)r->end;
  size_t most = SIZE_MAX - (size_t)(found.data - (const uint8_t *)image);
  if (__builtin_mul_overflow(found.rows, found.cols, &found.data_bytes) ||
      __builtin_mul_overflow(found.data_bytes, found.item_bytes, &found.data_bytes) ||
      found.data_bytes > most)
    return hd_error(r->ctx, HEDDLE_INVALID, (hd_loc){.file = r->file}, "npy.size",
                    "%llu x %llu items of %u bytes are too many; legal: up to %zu bytes",
                    (unsigned long long)found.rows, (unsigned long long)found.cols,
                    found.item_bytes, most);
  *npy = found;
  return HEDDLE_OK;
}

heddle_status hd_npy_open(heddle_context *ctx, const char *file, const void *image, size_t n_bytes,
                          hd_npy *npy) {
  reader r = {.ctx = ctx, .file = file};
  hd_npy found;
  HD_TRY(open_header(&r, image, n_bytes, &found));
  size_t data_bytes = n_bytes - (size_t)(found.data - (const uint8_t *)image);
  if (data_bytes != found.data_bytes)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = file}, "npy.size",
                    "%zu bytes of data; legal: %llu x %llu items of %u bytes", data_bytes,
                    (unsigned long long)found.rows, (unsigned long long)found.cols,
                    found.item_bytes);
  *npy = found;
  return HEDDLE_OK;
}

bool hd_npy_is(const void *image, size_t n_bytes) {
  return n_bytes > 0 && *(const char *)image == magic[0];
}

_Static_assert(MAX_HEADER_BYTES + MAGIC_BYTES + 6 <= HD_FILE_HEAD_BYTES, "a head holds a header");

heddle_status hd_npy_size(heddle_context *ctx, const char *path, const void *head, size_t n_bytes,
                           size_t *whole_bytes) {
  reader r = {.ctx = ctx, .file = path};
  hd_npy npy;
  HD_TRY(open_header(&r, head, n_bytes, &npy));
  *whole_bytes = (size_t)(npy.data - (const uint8_t *)head) + npy.data_bytes;
  return HEDDLE_OK;
}

/* The legal dtypes of a type; Heddle writes the first one. V is for types that NumPy lacks. */
static const char *dtypes_of(heddle_elem elem) {
  switch (elem) {
  case HEDDLE_F16:
    return "f2 u2";
  case HEDDLE_BF16:
    return "u2 i2 V2";
  case HEDDLE_TF32:
  case HEDDLE_F32:
    return "f4";
  case HEDDLE_S32:
    return "i4";
  case HEDDLE_S8:
    return "i1";
  case HEDDLE_U8:
    return "u1";
  default:
    return "u1 i1 V1";
  }
}

heddle_status hd_npy_check_elem(heddle_context *ctx, const char *file, const hd_npy *npy,
                                heddle_elem elem, uint64_t *n_rows, uint64_t *n_cols) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  const char dtype[3] = {npy->kind, (char)('0' + npy->item_bytes), 0};
  if (!strstr(dtypes_of(elem), dtype))
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = file}, "npy.dtype",
                    "dtype '%s' does not hold %s; legal: %s%s", dtype, info->name, dtypes_of(elem),
                    strchr(dtypes_of(elem), 'V') ? " (its bits)" : "");
  uint64_t per_item = info->container_bits == 4 ? 2 : 1;
  if (npy->cols > UINT64_MAX / per_item)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = file}, "npy.size",
                    "%llu columns are too many", (unsigned long long)npy->cols);
  *n_rows = npy->rows;
  *n_cols = npy->cols * per_item;
  return HEDDLE_OK;
}

heddle_status hd_npy_copy_rows(heddle_context *ctx, const hd_npy *npy, void **rows_data) {
  uint8_t *copy = hd_try_malloc(ctx, npy->data_bytes, "the array");
  if (!copy)
    return HEDDLE_NO_MEMORY;
  size_t n = npy->item_bytes, rows = (size_t)npy->rows, cols = (size_t)npy->cols;
  if (!npy->fortran && npy->data_bytes)
    memcpy(copy, npy->data, npy->data_bytes);
  for (size_t i = 0; npy->fortran && npy->data_bytes && i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      memcpy(copy + (i * cols + j) * n, npy->data + (j * rows + i) * n, n);
  *rows_data = copy;
  return HEDDLE_OK;
}

heddle_status hd_npy_read(heddle_context *ctx, const char *path, heddle_elem elem, void **data,
                          uint64_t *n_rows, uint64_t *n_cols) {
  char *image;
  size_t n_bytes;
  uint64_t rows = 0, cols = 0;
  hd_npy npy;
  HD_TRY(hd_file_read_sized(ctx, path, hd_npy_size, &image, &n_bytes));
  heddle_status status = hd_npy_open(ctx, path, image, n_bytes, &npy);
  if (status == HEDDLE_OK)
    status = hd_npy_check_elem(ctx, path, &npy, elem, &rows, &cols);
  if (status == HEDDLE_OK)
    status = hd_npy_copy_rows(ctx, &npy, data);
  if (status == HEDDLE_OK) {
    *n_rows = rows;
    *n_cols = cols;
  }
  hd_free(image);
  return status;
}

/* Pads the header with spaces and a newline, so that the data is aligned to 64 bytes. */
static void write_header(hd_strbuf *out, heddle_elem elem, uint64_t rows, uint64_t items) {
  const char *dtype = dtypes_of(elem);
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, "{'descr': '%c%.2s', 'fortran_order': False, 'shape': (%llu, %llu), }",
                   dtype[1] == '1' ? '|' : '<', dtype, (unsigned long long)rows,
                   (unsigned long long)items);
  while ((MAGIC_BYTES + 4 + text.len + 1) % HEADER_ALIGN != 0)
    hd_strbuf_add(&text, " ");
  hd_strbuf_add(&text, "\n");
  const char prefix[4] = {1, 0, (char)(text.len & 0xff), (char)(text.len >> 8)};
  hd_strbuf_addn(out, magic, MAGIC_BYTES);
  hd_strbuf_addn(out, prefix, sizeof prefix);
  hd_strbuf_addn(out, text.text, text.len);
  hd_strbuf_free(&text);
}

heddle_status hd_npy_write(heddle_context *ctx, const char *path, heddle_elem elem,
                           uint64_t n_rows, uint64_t n_cols, const void *data, size_t row_bytes) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  uint64_t items = info->container_bits == 4 ? n_cols / 2 : n_cols;
  size_t used = (size_t)items * (info->container_bits == 4 ? 1 : info->container_bits / 8);
  if (info->container_bits == 4 && n_cols % 2)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "npy.shape",
                    "%llu columns of %s do not fill whole bytes; nearest: %llu",
                    (unsigned long long)n_cols, info->name, (unsigned long long)n_cols + 1);
  hd_strbuf header = {0};
  write_header(&header, elem, n_rows, items);
  heddle_status status = HEDDLE_NO_MEMORY;
  size_t n_bytes = header.len + (size_t)n_rows * used;
  char *image = hd_try_malloc(ctx, n_bytes, "the .npy file");
  if (image) {
    memcpy(image, header.text, header.len);
    for (uint64_t i = 0; i < n_rows && used; i++)
      memcpy(image + header.len + i * used, (const char *)data + i * row_bytes, used);
    status = hd_file_write(ctx, path, image, n_bytes);
  }
  hd_free(image);
  hd_strbuf_free(&header);
  return status;
}
