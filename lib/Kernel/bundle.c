#include "Kernel/bundle.h"

#include <jansson.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/zstd_frame.h"

static const char version_key[] = "heddle_bundle", zstd[] = "zstd";

/* ---- writing ---- */

static json_t *images_of(int32_t part, const hd_binary *binary) {
  json_t *list = json_array();
  for (int32_t i = 0; i < binary->n_images; i++) {
    const hd_binary_image *image = &binary->image[i];
    if (image->part != part)
      continue;
    json_t *object = json_pack("{s:s, s:I, s:I}", "kind", image->is_ptx ? "ptx" : "cubin",
                               "offset", (json_int_t)image->offset, "bytes",
                               (json_int_t)image->n_bytes);
    if (binary->compressed)
      json_object_set_new(object, "code_bytes", json_integer((json_int_t)image->code_bytes));
    json_array_append_new(list, object);
  }
  return list;
}

static heddle_status add_part(heddle_context *ctx, const hd_manifest *manifest, json_t *images,
                              json_t *targets) {
  char *text = NULL;
  heddle_status status = hd_manifest_write(ctx, manifest, &text);
  json_t *object = status == HEDDLE_OK ? json_loads(text, 0, NULL) : NULL;
  hd_free(text);
  if (object)
    json_array_append_new(targets, json_pack("{s:s, s:o, s:o}", "target", manifest->target,
                                             "images", images, "manifest", object));
  else
    json_decref(images);
  return status;
}

heddle_status hd_bundle_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                              const hd_binary *binary, char **json) {
  uint64_t before = hd_memory_shortages();
  json_t *targets = json_array();
  hd_strbuf file = {0};
  heddle_status status = HEDDLE_OK;
  hd_strbuf_printf(&file, "%s.c.bin", parts[0].manifest->name);
  for (int32_t i = 0; i < n && status == HEDDLE_OK; i++)
    status = add_part(ctx, parts[i].manifest, images_of(i, binary), targets);
  json_t *root = json_pack("{s:i, s:s, s:s, s:I, s:o}", version_key, HD_BUNDLE_VERSION, "name",
                           parts[0].manifest->name, "file", hd_strbuf_text(&file), "bytes",
                           (json_int_t)binary->n_bytes, "targets", targets);
  if (binary->compressed)
    json_object_set_new(root, "compression", json_string(zstd));
  char *text = status == HEDDLE_OK ? json_dumps(root, JSON_INDENT(1)) : NULL;
  json_decref(root);
  hd_strbuf_free(&file);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *json = text;
  else
    hd_free(text);
  return status;
}

/* ---- reading ---- */

bool hd_bundle_is(const char *json, size_t n_bytes) {
  json_t *root = json_loadb(json, n_bytes, JSON_REJECT_DUPLICATES, NULL);
  bool is = json_object_get(root, version_key) != NULL;
  json_decref(root);
  return is;
}

static heddle_status refuse(heddle_context *ctx, const char *what) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bundle.json",
                  "%s; legal: NAME.json of `heddle gen --targets`, version %d", what,
                  HD_BUNDLE_VERSION);
}

static heddle_status read_image(heddle_context *ctx, const json_t *json, const hd_bundle *bundle,
                                hd_binary_image *image) {
  uint64_t n_bytes = bundle->n_bytes;
  const char *kind = json_string_value(json_object_get(json, "kind"));
  json_int_t offset = json_integer_value(json_object_get(json, "offset"));
  json_int_t bytes = json_integer_value(json_object_get(json, "bytes"));
  json_int_t code_bytes =
      bundle->compressed ? json_integer_value(json_object_get(json, "code_bytes")) : bytes;
  if (!kind || (strcmp(kind, "ptx") != 0 && strcmp(kind, "cubin") != 0) ||
      offset < HD_BINARY_HEAD || bytes < 1 || (uint64_t)offset > n_bytes ||
      (uint64_t)bytes > n_bytes - (uint64_t)offset)
    return refuse(ctx, "an image's kind, offset or bytes are not of the file");
  if (code_bytes < 1 || code_bytes > HD_MAX_CODE_BYTES)
    return refuse(ctx, "code_bytes of an image is missing or out of range");
  *image = (hd_binary_image){0, strcmp(kind, "ptx") == 0, (uint64_t)offset, (uint64_t)bytes,
                             (uint64_t)code_bytes};
  return HEDDLE_OK;
}

static heddle_status read_part(heddle_context *ctx, const json_t *json, const hd_bundle *bundle,
                               hd_arena *arena, hd_bundle_part *part) {
  const json_t *images = json_object_get(json, "images");
  char *text = json_dumps(json_object_get(json, "manifest"), 0);
  if (!text || json_array_size(images) < 1 || json_array_size(images) > HD_COUNT(part->image)) {
    hd_free(text);
    return refuse(ctx, "a target has no manifest, or not one or two images");
  }
  heddle_status status = hd_manifest_read(ctx, text, strlen(text), arena, &part->manifest);
  hd_free(text);
  for (size_t i = 0; i < json_array_size(images) && status == HEDDLE_OK; i++)
    status = read_image(ctx, json_array_get(images, i), bundle, &part->image[part->n_images++]);
  return status;
}

static heddle_status read_root(heddle_context *ctx, const json_t *root, hd_arena *arena,
                               hd_bundle *bundle) {
  const char *name = json_string_value(json_object_get(root, "name"));
  const char *file = json_string_value(json_object_get(root, "file"));
  const json_t *targets = json_object_get(root, "targets");
  const json_t *compression = json_object_get(root, "compression");
  json_int_t n_bytes = json_integer_value(json_object_get(root, "bytes"));
  if (json_integer_value(json_object_get(root, version_key)) != HD_BUNDLE_VERSION)
    return refuse(ctx, "the version is another");
  if (!name || !file || strchr(file, '/') || n_bytes < HD_BINARY_HEAD ||
      json_array_size(targets) < 1 || json_array_size(targets) > HD_MAX_PARTS)
    return refuse(ctx, "name, file, bytes or targets are missing or out of range");
  if (compression && (!json_is_string(compression) ||
                      strcmp(json_string_value(compression), zstd) != 0))
    return refuse(ctx, "the compression is not zstd");
  *bundle = (hd_bundle){.name = hd_arena_strdup(arena, name),
                        .file = hd_arena_strdup(arena, file),
                        .n_bytes = (uint64_t)n_bytes,
                        .compressed = compression != NULL};
  for (size_t i = 0; i < json_array_size(targets); i++)
    HD_TRY(read_part(ctx, json_array_get(targets, i), bundle, arena,
                     &bundle->part[bundle->n_parts++]));
  return HEDDLE_OK;
}

heddle_status hd_bundle_read(heddle_context *ctx, const char *json, size_t n_bytes,
                             hd_arena *arena, hd_bundle *bundle) {
  json_error_t error;
  uint64_t before = hd_memory_shortages();
  json_t *root = json_loadb(json, n_bytes, JSON_REJECT_DUPLICATES, &error);
  heddle_status status = root ? read_root(ctx, root, arena, bundle) : refuse(ctx, error.text);
  json_decref(root);
  return hd_memory_status(ctx, before, status);
}

static heddle_status decompress(heddle_context *ctx, const hd_bundle *bundle,
                                const hd_binary_image *image, const unsigned char *frame,
                                void **code) {
  size_t n_bytes = (size_t)image->code_bytes;
  uint64_t before = hd_memory_shortages();
  heddle_status status = HEDDLE_OK;
  *code = hd_try_malloc(ctx, n_bytes, "the code of a kernel");
  if (*code && !hd_zstd_frame_read(frame, (size_t)image->n_bytes, *code, n_bytes) &&
      hd_memory_shortages() == before)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bundle.binary",
                      "a frame in %s is damaged, or not of %zu bytes; nearest: the files of one "
                      "`heddle gen`",
                      bundle->file, n_bytes);
  return hd_memory_status(ctx, before, status);
}

heddle_status hd_bundle_code(heddle_context *ctx, const hd_bundle *bundle, int32_t part,
                             const unsigned char *binary, size_t n_bytes, void *owned[2],
                             heddle_image *code) {
  const hd_bundle_part *p = &bundle->part[part];
  if (n_bytes != bundle->n_bytes ||
      memcmp(binary, HD_BINARY_MAGIC, strlen(HD_BINARY_MAGIC)) != 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bundle.binary",
                    "%s is not the binary file of the bundle (%zu bytes; legal: %llu); nearest: "
                    "the files of one `heddle gen`",
                    bundle->file, n_bytes, (unsigned long long)bundle->n_bytes);
  heddle_image found = {0};
  for (int32_t i = 0; i < p->n_images; i++) {
    const hd_binary_image *image = &p->image[i];
    const void *bytes = binary + image->offset;
    if (bundle->compressed) {
      HD_TRY(decompress(ctx, bundle, image, bytes, &owned[i]));
      bytes = owned[i];
    }
    if (image->is_ptx) {
      found.ptx = bytes;
      found.ptx_bytes = (size_t)image->code_bytes - 1;
    } else {
      found.cubin = bytes;
      found.cubin_bytes = (size_t)image->code_bytes;
    }
  }
  if (found.ptx && found.ptx[found.ptx_bytes])
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bundle.binary",
                    "the PTX of %s in %s is cut", p->manifest.target, bundle->file);
  HD_TRY(hd_manifest_check_code(ctx, &p->manifest, &found));
  *code = found;
  return HEDDLE_OK;
}
