#include "Kernel/manifest.h"

#include "Support/strbuf.h"

const hd_arg *hd_manifest_arg(const hd_manifest *manifest, hd_arg_kind kind) {
  for (int i = 0; i < manifest->n_args; i++) {
    if (manifest->arg[i].kind == kind)
      return &manifest->arg[i];
  }
  return NULL;
}

int32_t hd_tmap_data_type(heddle_elem elem) {
  switch (elem) {
  case HEDDLE_F16:
    return 6;
  case HEDDLE_BF16:
    return 9;
  case HEDDLE_F32:
  case HEDDLE_TF32:
    return 7;
  case HEDDLE_S32:
    return 3;
  default:
    return 0;
  }
}

void hd_manifest_copy(hd_arena *arena, const hd_manifest *from, hd_manifest *to) {
  *to = *from;
  to->name = hd_arena_strdup(arena, from->name);
  to->target = hd_arena_strdup(arena, from->target);
  to->act = hd_arena_strdup(arena, from->act);
  to->family = hd_arena_strdup(arena, from->family);
  if (from->statistic)
    to->statistic = hd_arena_strdup(arena, from->statistic);
  if (from->scale_b_statistic)
    to->scale_b_statistic = hd_arena_strdup(arena, from->scale_b_statistic);
  if (from->aux)
    to->aux = hd_arena_strdup(arena, from->aux);
  if (from->user_function)
    to->user_function = hd_arena_strdup(arena, from->user_function);
  for (int i = 0; i < from->n_variants; i++) {
    to->variant[i].entry = hd_arena_strdup(arena, from->variant[i].entry);
    to->variant[i].path = hd_arena_strdup(arena, from->variant[i].path);
    if (from->variant[i].schedule)
      to->variant[i].schedule = hd_arena_strdup(arena, from->variant[i].schedule);
    if (from->variant[i].instead_of)
      to->variant[i].instead_of = hd_arena_strdup(arena, from->variant[i].instead_of);
  }
}

/* The upper bound of the variant's size bucket, and the number of upper bounds. NULL: the variant
 * takes any size. */
static const hd_requirement *bound_of(const hd_variant *variant, int32_t *n) {
  const hd_requirement *bound = NULL;
  *n = 0;
  for (int i = variant->n_requirements - 1; i >= 0; i--)
    if (variant->requirement[i].at_most > 0) {
      bound = &variant->requirement[i];
      ++*n;
    }
  return bound;
}

/* True if the bound only limits a plain size, which has 31 bits, so that it can be a border between
 * buckets. */
static bool is_border(const hd_requirement *bound) {
  const hd_expr *e = &bound->value;
  return e->arg != HD_ARG_NONE && hd_arg_class_of(e->arg) == HEDDLE_CLASS_I32 && e->mul == 1 &&
         e->add == 0 && e->div <= 1 && bound->modulo == 1 && bound->at_most < INT32_MAX;
}

void hd_manifest_index(hd_manifest *manifest) {
  hd_arg_kind size = HD_ARG_NONE;
  int64_t last = 0;
  int32_t n_buckets = 0;
  manifest->bucket_size = HD_ARG_NONE;
  for (int i = 0; i < HD_MAX_VARIANTS; i++)
    manifest->border[i] = INT32_MAX;
  for (int i = 0; i < HD_BORDER_BLOCKS; i++)
    manifest->last_border[i] = INT32_MAX;
  for (int i = 0; i < manifest->n_variants; i++) {
    int32_t n_bounds;
    const hd_requirement *bound = bound_of(&manifest->variant[i], &n_bounds);
    int64_t to = bound ? bound->at_most : INT64_MAX;
    bool same = !bound || size == HD_ARG_NONE || bound->value.arg == size;
    if (to < last || !same || n_bounds > 1 || (bound && !is_border(bound)))
      return;
    size = bound ? bound->value.arg : size;
    if (to > last) {
      manifest->bucket_first[n_buckets] = (uint8_t)i;
      manifest->border[n_buckets++] = bound ? (int32_t)to : INT32_MAX;
    }
    last = to;
  }
  for (int i = 0; i < HD_MAX_VARIANTS / HD_BORDER_BLOCK; i++)
    manifest->last_border[i] = manifest->border[(i + 1) * HD_BORDER_BLOCK - 1];
  if (last == INT64_MAX) /* the last variants take every size */
    manifest->bucket_size = size;
}

const char *hd_manifest_prototype(hd_arena *arena, const hd_manifest *manifest) {
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, "int %s(", manifest->name);
  for (int i = 0; i < manifest->n_args; i++) {
    hd_arg_kind kind = manifest->arg[i].kind;
    if (hd_arg_is_passed(&manifest->arg[i]))
      hd_strbuf_printf(&text, "%s%s, ", hd_arg_c_type(kind), hd_arg_name(kind));
  }
  hd_strbuf_add(&text, "void *stream)");
  const char *copy = hd_arena_strdup(arena, hd_strbuf_text(&text));
  hd_strbuf_free(&text);
  return copy;
}
