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

/* The upper bound of the variant's size bucket; NULL: the variant takes any size. */
static const hd_requirement *bound_of(const hd_variant *variant) {
  for (int i = 0; i < variant->n_requirements; i++)
    if (variant->requirement[i].at_most > 0)
      return &variant->requirement[i];
  return NULL;
}

/* True if the bound is a plain size, which has 31 bits, and so can be a border between buckets. */
static bool is_border(const hd_requirement *bound) {
  const hd_expr *e = &bound->value;
  return e->arg != HD_ARG_NONE && hd_arg_class_of(e->arg) == HEDDLE_CLASS_I32 && e->mul == 1 &&
         e->add == 0 && e->div <= 1 && bound->at_most < INT32_MAX;
}

void hd_manifest_index(hd_manifest *manifest) {
  hd_arg_kind size = HD_ARG_NONE;
  int64_t last = 0;
  int32_t n_buckets = 0;
  manifest->bucket_size = HD_ARG_NONE;
  for (int i = 0; i < HD_MAX_VARIANTS; i++)
    manifest->border[i] = INT32_MAX;
  for (int i = 0; i < manifest->n_variants; i++) {
    const hd_requirement *bound = bound_of(&manifest->variant[i]);
    int64_t to = bound ? bound->at_most : INT64_MAX;
    bool same = !bound || size == HD_ARG_NONE || bound->value.arg == size;
    if (to < last || !same || (bound && !is_border(bound)))
      return;
    size = bound ? bound->value.arg : size;
    if (to > last) {
      manifest->bucket_first[n_buckets] = (uint8_t)i;
      manifest->border[n_buckets++] = bound ? (int32_t)to : INT32_MAX;
    }
    last = to;
  }
  manifest->n_borders = n_buckets - 1;
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
