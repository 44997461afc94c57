/* NAME.h and NAME.c of an ahead-of-time kernel: the fixed text of launcher_text.c.in around what
 * launcher_checks.c makes of the manifest. */
#include "Kernel/launcher_c.h"

#include <stdio.h>
#include <string.h>

#include "Kernel/launcher_text.h" /* made by the build */
#include "Support/diag.h"
#include "Support/memory.h"

/* One problem's kernels, as they are written. */
typedef struct launcher {
  const hd_launcher_part *parts;
  int32_t n_parts, n_variants;
  const hd_manifest *shared; /* whose arguments are all that any part takes */
  hd_binary_image image[2 * HD_MAX_PARTS];
  int32_t n_images;
  char hash[33]; /* of the images */
} launcher;

/* ---- filling in ---- */

/* What stands for a word of the fixed texts. */
typedef struct filling {
  const char *word, *text;
} filling;

/* Adds a fixed text with the kernel's name for every @ and the fillings for every $word$. */
static void add_filled(hd_strbuf *out, const char *text, const char *name, const filling *list,
                       size_t n_list) {
  for (size_t n; n = strcspn(text, "@$"), text[n]; text += n + 1) {
    hd_strbuf_addn(out, text, n);
    if (text[n] == '@') {
      hd_strbuf_add(out, name);
      continue;
    }
    text += n + 1;
    n = strcspn(text, "$");
    for (size_t i = 0; i < n_list; i++)
      if (strlen(list[i].word) == n && strncmp(list[i].word, text, n) == 0)
        hd_strbuf_add(out, list[i].text);
  }
  hd_strbuf_add(out, text);
}

static void add_named(hd_strbuf *out, const char *text, const char *name) {
  add_filled(out, text, name, NULL, 0);
}

/* Tile columns. ORDER group_columns: manifest_plan.c. */
static const char of_product[] = "hd_ceil_div(v->n, variant->tile_n)";
static const char of_groups[] =
    "(v->g > 0 && v->n > 0 ?\n"
    "                   hd_ceil_div(v->n, variant->tile_n) + (v->g < v->n ? v->g : v->n) - 1 : 0)";

static const char of_combined[] =
    "(variant->runs_behind ? hd_ceil_div(v->t > 0 ? v->t : 1, variant->tile_n) :\n"
    "                   v->g > 0 && v->n > 0 ?\n"
    "                   hd_ceil_div(v->n, variant->tile_n) + (v->g < v->n ? v->g : v->n) - 1 : 0)";

static const char of_nothing[] =
    "code != 0 || v.m == 0 || v.t == 0 ? code : hd_combine_nothing(kernel, &v, stream)";

/* Those of the functions' declarations: what is passed, and the values made of it. */
static void add_declared(hd_strbuf *out, const char *text, const launcher *l) {
  const hd_manifest *m = l->shared;
  char n_variants[16];
  bool is_batch = hd_manifest_arg(m, HD_ARG_G) != NULL, is_grouped = hd_manifest_is_grouped(m);
  hd_strbuf numbers = {0}, all = {0}, number_values = {0}, all_values = {0};
  snprintf(n_variants, sizeof n_variants, "%d", l->n_variants);
  hd_launcher_params(&numbers, m, true);
  hd_launcher_params(&all, m, false);
  hd_launcher_initialiser(&number_values, m, true);
  hd_launcher_initialiser(&all_values, m, false);
  const filling list[] = {{"n_variants", n_variants},
                          {"code", l->hash},
                          {"numbers", hd_strbuf_text(&numbers)},
                          {"all", hd_strbuf_text(&all)},
                          {"number_values", hd_strbuf_text(&number_values)},
                          {"all_values", hd_strbuf_text(&all_values)},
                          {"of_batch", is_batch && !is_grouped ? " / (v->g > 1 ? v->g : 1)" : ""},
                          {"times_batch", is_batch && !is_grouped ? " * v->g" : ""},
                          {"columns", m->slots ? of_combined : is_grouped ? of_groups : of_product},
                          {"no_batch", is_batch ? " || v.g == 0" : ""},
                          {"empty", m->slots ? of_nothing : "code"}};
  add_filled(out, text, m->name, list, HD_COUNT(list));
  hd_strbuf_free(&numbers);
  hd_strbuf_free(&all);
  hd_strbuf_free(&number_values);
  hd_strbuf_free(&all_values);
}

/* ---- the kernel's name ---- */

/* Names that C, C++ or the launcher itself takes; functions of the C library too, whose types a
 * compiler knows without a header. */
static heddle_status check_name(heddle_context *ctx, const char *name) {
  static const char taken[] =
      " alignas alignof and asm auto bitand bitor bool break case catch char class compl const "
      "constexpr continue default delete do double else enum errno explicit export extern false "
      "float for friend goto if inline int int32_t int64_t long main mutable namespace new not "
      "nullptr operator or private protected public register restrict return short signed size_t "
      "sizeof static struct switch template this throw true try typedef typename uint32_t uint64_t "
      "uintptr_t union unsigned using virtual void volatile while xor bool requires concept "
      "wchar_t "
      "NULL INT32_MAX INT64_MAX UINT32_MAX UINT64_MAX SIZE_MAX abort abs acos asin atan atan2 "
      "atexit "
      "bcmp bcopy bzero calloc cbrt ceil cos cosh erf erfc exit exp exp2 expm1 fabs fdim floor fma "
      "fmax fmin fmod fprintf fputc fputs fread free frexp fscanf fwrite gamma hypot index isalpha "
      "isdigit isnan isspace labs ldexp lgamma log log10 log1p log2 malloc memchr memcmp memcpy "
      "memmove memset modf pow printf putchar puts realloc remquo rindex rint round scanf signbit "
      "sin sinh snprintf sprintf sqrt sscanf strcat strchr strcmp strcpy strcspn strdup strlen "
      "strncat strncmp strncpy strpbrk strrchr strspn strstr tan tanh tgamma tolower toupper trunc "
      "vprintf y0 y1 yn j0 j1 jn ";
  hd_strbuf word = {0};
  hd_strbuf_printf(&word, " %s ", name);
  bool is_taken = strstr(taken, hd_strbuf_text(&word)) != NULL;
  hd_strbuf_free(&word);
  if (!is_taken && name[0] != '_' && strncmp(name, "hd_", 3) != 0 &&
      strncmp(name, "heddle", 6) != 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.name",
                  "kernel name \"%s\" is taken in C, C++ or the launcher; nearest: \"k_%s\"", name,
                  name);
}

/* ---- NAME.h ---- */

static const char *order_name(bool transposed, const char *plain, const char *turned) {
  return transposed ? turned : plain;
}

/* "bias: f32, n values", for each that the kernel takes. */
static void add_inputs(hd_strbuf *out, const hd_manifest *m) {
  const struct {
    hd_arg_kind kind;
    const char *values;
  } inputs[] = {{HD_ARG_C, order_name(m->c_col_major, "m x n", "n x m")},
                {HD_ARG_BIAS, m->bias_along_n ? "n values" : "m values"},
                {HD_ARG_SCALE_A, m->scale_a_one ? "1 value" : "m values"},
                {HD_ARG_SCALE_B, m->scale_b_one ? "1 value" : "n values"}};
  const char *separator = " * ";
  for (size_t i = 0; i < HD_COUNT(inputs); i++) {
    const hd_arg *arg = hd_manifest_arg(m, inputs[i].kind);
    if (!arg)
      continue;
    hd_strbuf_printf(out, "%s%s: %s, %s", separator, hd_arg_name(arg->kind),
                     heddle_elem_get(arg->elem)->name, inputs[i].values);
    separator = "; ";
  }
  hd_strbuf_add(out, separator[0] == ';' ? "\n" : "");
  if (m->scale_block)
    hd_strbuf_printf(
        out, " * block_scale_a, block_scale_b: %s, one for %d of k, in %s order\n",
        heddle_elem_get(hd_manifest_arg(m, HD_ARG_BLOCK_SCALE_A)->elem)->name, m->scale_block,
        m->scale_tiles ? "tile" : "k-block");
  if (m->scale_rows > 1)
    hd_strbuf_printf(out, " * block_scale_a: one for %d rows of A\n", m->scale_rows);
}

/* How A is packed: for one family, or as the loaded target's. */
static const char *families(const launcher *l) {
  for (int32_t i = 1; i < l->n_parts; i++)
    if (strcmp(l->parts[i].manifest->family, l->parts[0].manifest->family) != 0)
      return "as the family of the loaded target says";
  return l->parts[0].manifest->family;
}

static void add_problem(hd_strbuf *out, const launcher *l) {
  const hd_manifest *m = l->shared;
  hd_strbuf_printf(out, "/* %s: D[m,n] = epilogue(A[m,k] sparse * B[k,n]) for", m->name);
  for (int32_t i = 0; i < l->n_parts; i++)
    hd_strbuf_printf(out, " %s%s", l->parts[i].manifest->target, i + 1 < l->n_parts ? "," : "");
  hd_strbuf_printf(out,
                   ", generated by heddle.\n"
                   " * a: %s, packed (%s); b: %s, %s; d: %s, %s; epilogue: %s\n",
                   heddle_elem_get(m->a_elem)->name, families(l),
                   heddle_elem_get(m->b_elem)->name, order_name(m->b_mn_major, "n x k", "k x n"),
                   heddle_elem_get(m->d_elem)->name, order_name(m->d_col_major, "m x n", "n x m"),
                   m->act);
  if (hd_act_is_pair(m->act))
    hd_strbuf_add(out, " * a: m/2 rows of gate and of up, interleaved (heddle pack --pair); d has "
                       "m/2 rows\n");
  add_inputs(out, m);
  for (int32_t i = 0; i < l->n_parts; i++)
    hd_strbuf_printf(out, " * kernel %s\n", l->parts[i].manifest->hash);
  if (hd_manifest_is_grouped(m))
    hd_strbuf_add(out,
                  " * g groups: i has columns offsets[i] to offsets[i + 1] of b and d, and\n"
                  " * matrix i of a, stride_a bytes behind the first; the kernel reads offsets\n");
  else if (hd_manifest_arg(m, HD_ARG_G))
    hd_strbuf_add(out,
                  " * g products: matrix i of an operand lies i strides behind the first\n"
                  " * (stride_a: bytes, else elements; 0: one that all share)\n");
  if (hd_manifest_arg(m, HD_ARG_GATHER_B))
    hd_strbuf_add(out, " * gather_b: column j of b is its column gather_b[j], of t\n");
  if (hd_manifest_arg(m, HD_ARG_SCATTER_D))
    hd_strbuf_add(out, " * scatter_d: column j of d is its column scatter_d[j]\n");
  if (hd_manifest_arg(m, HD_ARG_COMBINE_D))
    hd_strbuf_printf(out,
                     " * combine_d: column i of d, of t, is the sum of the products' columns\n"
                     " * combine_d[%d * i + s], s = 0 to %d, in this order\n",
                     m->slots, m->slots - 1);
  if (m->statistic)
    hd_strbuf_printf(out,
                     " * scale_d: f32, %s of rows 128 i to 128 i + 127 of column j of d\n"
                     " * at i * ldsd + j\n",
                     strcmp(m->statistic, "scale") == 0 ? "the scale that divides"
                     : strcmp(m->statistic, "sumsq") == 0 ? "the sum of squares"
                                                          : "the largest absolute value");
  hd_strbuf_add(out, " *\n");
  hd_strbuf_add(out, " * Sizes and strides are in elements; pointers are device addresses. */\n");
}

static char *make_header(const launcher *l) {
  hd_strbuf out = {0};
  add_problem(&out, l);
  add_declared(&out, launcher_header, l);
  return hd_strbuf_take(&out);
}

/* ---- NAME.c ---- */

static void add_variant_table(hd_strbuf *out, const launcher *l) {
  hd_strbuf_printf(out, "enum { HD_N_VARIANTS = %d, HD_N_TARGETS = %d };\n\n", l->n_variants,
                   l->n_parts);
  hd_strbuf_add(out, "static const hd_variant hd_variants[HD_N_VARIANTS] = {\n");
  for (int32_t p = 0, first = 0; p < l->n_parts; first += l->parts[p++].manifest->n_variants)
    for (int32_t i = 0; i < l->parts[p].manifest->n_variants; i++) {
      const hd_variant *v = &l->parts[p].manifest->variant[i];
      hd_strbuf_printf(out, "    {\"%s\", %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, "
                       "%d, %d},\n",
                       v->entry, v->n_threads, v->shared_bytes, v->cluster, v->tile_cluster,
                       v->tile_m, v->tile_n, v->split_k, v->persistent, v->stream_granule,
                       v->dependent_launch, v->ahead ? first + v->ahead : 0, v->runs_ahead,
                       v->behind ? first + v->behind : 0, v->runs_behind);
    }
  hd_strbuf_add(out, "};\n\n");
}

/* "sm_100a": 100, 'a'. */
static int capability_of(const char *target, char *feature) {
  int number = 0;
  *feature = 0;
  sscanf(target, "sm_%d%c", &number, feature);
  return number;
}

static int32_t images_of(const launcher *l, int32_t part, int32_t *first) {
  int32_t n = 0;
  for (int32_t i = l->n_images - 1; i >= 0; i--)
    if (l->image[i].part == part) {
      *first = i;
      n++;
    }
  return n;
}

static void add_targets(hd_strbuf *out, const launcher *l) {
  int32_t variant = 0;
  hd_strbuf_add(out, "static const hd_target hd_targets[HD_N_TARGETS] = {\n");
  for (int32_t p = 0; p < l->n_parts; p++) {
    const hd_manifest *m = l->parts[p].manifest;
    char feature;
    int32_t first = 0, n = images_of(l, p, &first);
    int capability = capability_of(m->target, &feature);
    hd_strbuf_printf(out, "    {\"%s\", \"%s\", %d, %d, %d, %d, %d, %d},\n", m->target, m->family,
                     capability, feature, variant, m->n_variants, first, n);
    variant += m->n_variants;
  }
  hd_strbuf_add(out, "};\n\nstatic const hd_image hd_images[] = {\n");
  for (int32_t i = 0; i < l->n_images; i++)
    hd_strbuf_printf(out, "    {%llu, %llu}, /* %s, %s */\n",
                     (unsigned long long)l->image[i].offset,
                     (unsigned long long)l->image[i].n_bytes,
                     l->parts[l->image[i].part].manifest->target,
                     l->image[i].is_ptx ? "PTX" : "cubin");
  hd_strbuf_printf(out, "};\n#define HD_BINARY_HEAD \"HEDDLE-BINARY-1\\n%s\"\n\n", l->hash);
}

/* Switches over targets and variants: which takes a launch, what it needs of workspace, its
 * launch. */
static void add_dispatch(hd_strbuf *out, const launcher *l) {
  int32_t variant = 0;
  hd_strbuf_add(out, "static int hd_pick(int target, const hd_values *v) {\n"
                     "  switch (target) {\n");
  for (int32_t p = 0; p < l->n_parts; p++) {
    hd_strbuf_printf(out, "  case %d:\n", p);
    for (int32_t i = 0; i < l->parts[p].manifest->n_variants; i++, variant++)
      if (!hd_variant_serves(&l->parts[p].manifest->variant[i]))
        hd_strbuf_printf(out, "    if (hd_fits_%d(v))\n      return %d;\n", variant, variant);
    hd_strbuf_add(out, "    break;\n");
  }
  hd_strbuf_add(out, "  }\n  return HEDDLE_LAUNCH_VARIANT;\n}\n\n"
                     "static int64_t hd_tile_workspace(int index, const hd_values *v) {\n"
                     "  switch (index) {\n");
  for (int32_t i = 0; i < l->n_variants; i++)
    hd_strbuf_printf(out, "  case %d:\n    return hd_tile_workspace_%d(v);\n", i, i);
  add_named(out, "  }\n  return 0;\n}\n\n"
                 "static int hd_launch(int index, const @_kernel *kernel, const hd_values *v,\n"
                 "                     uint32_t grid, void *stream) {\n"
                 "  switch (index) {\n", l->shared->name);
  for (int32_t i = 0; i < l->n_variants; i++)
    hd_strbuf_printf(out, "  case %d:\n    return hd_launch_%d(kernel, v, grid, stream);\n", i, i);
  hd_strbuf_add(out, "  }\n  return HEDDLE_LAUNCH_VARIANT;\n}\n\n");
}

static bool has_maps(const launcher *l) {
  for (int32_t p = 0; p < l->n_parts; p++)
    for (int32_t i = 0; i < l->parts[p].manifest->n_variants; i++)
      if (l->parts[p].manifest->variant[i].n_tmaps > 0)
        return true;
  return false;
}

static char *make_source(const launcher *l) {
  hd_strbuf out = {0};
  const hd_manifest *m = l->shared;
  int32_t variant = 0;
  add_declared(&out, launcher_types, l);
  hd_launcher_values(&out, m);
  add_variant_table(&out, l);
  add_targets(&out, l);
  add_named(&out, launcher_binary, m->name);
  if (has_maps(l))
    add_named(&out, launcher_maps, m->name);
  add_declared(&out, launcher_submit, l);
  hd_launcher_checks(&out, m);
  for (int32_t p = 0; p < l->n_parts; p++)
    for (int32_t i = 0; i < l->parts[p].manifest->n_variants; i++)
      hd_launcher_variant(&out, m->name, &l->parts[p].manifest->variant[i], variant++);
  add_dispatch(&out, l);
  if (m->slots)
    add_named(&out, launcher_empty, m->name);
  add_declared(&out, launcher_calls, l);
  add_named(&out, launcher_load, m->name);
  return hd_strbuf_take(&out);
}

/* ---- parts ---- */

static bool same_arg(const hd_arg *x, const hd_arg *y) {
  return x->kind == y->kind && x->fixed == y->fixed && x->divisible_by == y->divisible_by &&
         x->max == y->max && x->align == y->align && x->elem == y->elem;
}

/* But for a workspace, which stands last, and which not every target needs. */
static heddle_status check_same(heddle_context *ctx, const hd_manifest *x, const hd_manifest *y) {
  int32_t n = 0;
  while (n < x->n_args && n < y->n_args && same_arg(&x->arg[n], &y->arg[n]))
    n++;
  bool rest = (n == x->n_args || x->arg[n].kind == HD_ARG_WORKSPACE) &&
              (n == y->n_args || y->arg[n].kind == HD_ARG_WORKSPACE);
  if (rest && strcmp(x->name, y->name) == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.parts",
                  "kernel %s for %s takes other arguments than %s for %s (argument %d); legal: one "
                  "problem, whose operands are stored alike for all targets",
                  y->name, y->target, x->name, x->target, n + 1);
}

static heddle_status check_part(heddle_context *ctx, const hd_launcher_part *part) {
  HD_TRY(hd_manifest_check(ctx, part->manifest));
  HD_TRY(check_name(ctx, part->manifest->name));
  if (part->code.cubin_bytes == 0 && part->code.ptx_bytes == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.code",
                    "kernel %s: neither cubin nor PTX to embed", part->manifest->name);
  return hd_manifest_check_code(ctx, part->manifest, &part->code);
}

static heddle_status gather(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                            launcher *l) {
  *l = (launcher){.parts = parts, .n_parts = n, .shared = parts[0].manifest};
  if (n > HD_MAX_PARTS)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.parts",
                    "got %d targets; legal: up to %d in one launcher", n, HD_MAX_PARTS);
  for (int32_t i = 0; i < n; i++) {
    HD_TRY(check_part(ctx, &parts[i]));
    HD_TRY(check_same(ctx, l->shared, parts[i].manifest));
    if (parts[i].manifest->n_args > l->shared->n_args)
      l->shared = parts[i].manifest;
    l->n_variants += parts[i].manifest->n_variants;
  }
  return HEDDLE_OK;
}

heddle_status hd_launcher_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                                hd_launcher_files *files, hd_binary_image *image,
                                int32_t *n_images) {
  launcher l;
  hd_strbuf binary = {0};
  uint64_t before = hd_memory_shortages();
  HD_TRY(gather(ctx, parts, n, &l));
  hd_binary_make(parts, n, &binary, l.hash, l.image, &l.n_images);
  hd_launcher_files made = {make_header(&l), make_source(&l), NULL, binary.len};
  made.binary = (unsigned char *)hd_strbuf_take(&binary);
  heddle_status status = hd_memory_status(ctx, before, HEDDLE_OK);
  if (status != HEDDLE_OK) {
    hd_launcher_files_free(&made);
    return status;
  }
  *files = made;
  if (image) {
    memcpy(image, l.image, sizeof *image * (size_t)l.n_images);
    *n_images = l.n_images;
  }
  return HEDDLE_OK;
}

void hd_launcher_files_free(hd_launcher_files *files) {
  hd_free(files->header);
  hd_free(files->source);
  hd_free(files->binary);
  *files = (hd_launcher_files){0};
}
