/* Implements heddle/manifest.h on top of Kernel/manifest.h. */
#include "heddle/manifest.h"

#include "Kernel/manifest.h"
#include "Support/diag.h"
#include "Support/memory.h"

struct heddle_manifest {
  hd_arena arena; /* owns the strings */
  hd_manifest read;
  const char *prototype;
};

heddle_status heddle_manifest_read(heddle_context *ctx, const char *json, size_t n_bytes,
                                   heddle_manifest **manifest) {
  heddle_manifest *made = hd_try_zalloc(ctx, sizeof *made, "a manifest");
  if (!made)
    return HEDDLE_NO_MEMORY;
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_manifest_read(ctx, json, n_bytes, &made->arena, &made->read);
  if (status == HEDDLE_OK)
    made->prototype = hd_manifest_prototype(&made->arena, &made->read);
  status = hd_memory_status(ctx, before, status);
  if (status != HEDDLE_OK) {
    heddle_manifest_free(made);
    return status;
  }
  *manifest = made;
  return HEDDLE_OK;
}

void heddle_manifest_free(heddle_manifest *manifest) {
  if (!manifest)
    return;
  hd_arena_free(&manifest->arena);
  hd_free(manifest);
}

const char *heddle_manifest_name(const heddle_manifest *manifest) { return manifest->read.name; }

const char *heddle_manifest_target(const heddle_manifest *manifest) {
  return manifest->read.target;
}

const char *heddle_manifest_family(const heddle_manifest *manifest) {
  return manifest->read.family;
}

bool heddle_manifest_takes_pairs(const heddle_manifest *manifest) {
  return hd_act_is_pair(manifest->read.act);
}

const char *heddle_manifest_prototype(const heddle_manifest *manifest) {
  return manifest->prototype;
}

/* The i-th argument that the caller passes, or NULL. Sets *n to the number of these arguments. */
static const hd_arg *find_passed(const hd_manifest *manifest, size_t i, size_t *n) {
  const hd_arg *found = NULL;
  *n = 0;
  for (int32_t a = 0; a < manifest->n_args; a++)
    if (hd_arg_is_passed(&manifest->arg[a]) && (*n)++ == i)
      found = &manifest->arg[a];
  return found;
}

size_t heddle_manifest_arg_count(const heddle_manifest *manifest) {
  size_t n;
  find_passed(&manifest->read, 0, &n);
  return n;
}

heddle_status heddle_manifest_get_arg(const heddle_manifest *manifest, size_t i,
                                      heddle_manifest_arg *arg) {
  size_t n;
  const hd_arg *a = find_passed(&manifest->read, i, &n);
  if (!a)
    return HEDDLE_INVALID;
  *arg = (heddle_manifest_arg){.name = hd_arg_name(a->kind), .arg_class = hd_arg_class_of(a->kind),
                               .elem = a->elem, .align = a->align,
                               .divisible_by = a->divisible_by, .max = a->max};
  return HEDDLE_OK;
}
