/* NAME.h and NAME.c of an ahead-of-time kernel: the fixed text of launcher_text.c.in around what
 * launcher_checks.c makes of the manifest. */
#include "Kernel/launcher_c.h"

#include <stdio.h>
#include <string.h>

#include "Kernel/launcher_text.h" /* made by the build */
#include "Support/diag.h"

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

/* Those of the functions' declarations: what is passed, and the values made of it. */
static void add_declared(hd_strbuf *out, const char *text, const hd_manifest *m) {
  char n_variants[16];
  hd_strbuf numbers = {0}, all = {0}, number_values = {0}, all_values = {0};
  snprintf(n_variants, sizeof n_variants, "%d", m->n_variants);
  hd_launcher_params(&numbers, m, true);
  hd_launcher_params(&all, m, false);
  hd_launcher_initialiser(&number_values, m, true);
  hd_launcher_initialiser(&all_values, m, false);
  const filling list[] = {{"n_variants", n_variants},
                          {"numbers", hd_strbuf_text(&numbers)},
                          {"all", hd_strbuf_text(&all)},
                          {"number_values", hd_strbuf_text(&number_values)},
                          {"all_values", hd_strbuf_text(&all_values)}};
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
        m->scale_tiles ? "tile" : "granule");
}

static void add_problem(hd_strbuf *out, const hd_manifest *m) {
  hd_strbuf_printf(out,
                   "/* %s: D[m,n] = epilogue(A[m,k] sparse * B[k,n]) for %s, generated by heddle.\n"
                   " * a: %s, packed (%s); b: %s, %s; d: %s, %s; epilogue: %s\n",
                   m->name, m->target, heddle_elem_get(m->a_elem)->name, m->family,
                   heddle_elem_get(m->b_elem)->name, order_name(m->b_mn_major, "n x k", "k x n"),
                   heddle_elem_get(m->d_elem)->name, order_name(m->d_col_major, "m x n", "n x m"),
                   m->act);
  add_inputs(out, m);
  hd_strbuf_printf(out, " * kernel %s\n *\n", m->hash[0] ? m->hash : "(no hash)");
  hd_strbuf_add(out, " * Sizes and strides are in elements; pointers are device addresses. */\n");
}

static char *make_header(const hd_manifest *manifest) {
  hd_strbuf out = {0};
  add_problem(&out, manifest);
  add_declared(&out, launcher_header, manifest);
  return hd_strbuf_take(&out);
}

/* ---- NAME.c ---- */

/* Decimal, since it is shorter; one NUL more, since PTX is a string. */
static void add_bytes(hd_strbuf *out, const char *name, const unsigned char *bytes, size_t n) {
  enum { PER_LINE = 24 };
  char item[8];
  hd_strbuf_printf(out, "static _Alignas(16) const unsigned char %s[] = {", name);
  for (size_t i = 0; i <= n; i++) {
    int length = snprintf(item, sizeof item, "%s%d,", i % PER_LINE == 0 ? "\n" : "",
                          i < n ? bytes[i] : 0);
    hd_strbuf_addn(out, item, (size_t)length);
  }
  hd_strbuf_add(out, "\n};\n\n");
}

static void add_code(hd_strbuf *out, const hd_launcher_code *code) {
  if (code->cubin_bytes > 0)
    add_bytes(out, "hd_cubin", code->cubin, code->cubin_bytes);
  if (code->ptx_bytes > 0)
    add_bytes(out, "hd_ptx", (const unsigned char *)code->ptx, code->ptx_bytes);
  hd_strbuf_printf(out, "static const unsigned char *const hd_images[] = {%s%s%s};\n\n",
                   code->cubin_bytes > 0 ? "hd_cubin" : "",
                   code->cubin_bytes > 0 && code->ptx_bytes > 0 ? ", " : "",
                   code->ptx_bytes > 0 ? "hd_ptx" : "");
}

static void add_variant_table(hd_strbuf *out, const hd_manifest *manifest) {
  hd_strbuf_printf(out, "enum { HD_N_VARIANTS = %d };\n\n", manifest->n_variants);
  hd_strbuf_add(out, "static const hd_variant hd_variants[HD_N_VARIANTS] = {\n");
  for (int i = 0; i < manifest->n_variants; i++) {
    const hd_variant *v = &manifest->variant[i];
    hd_strbuf_printf(out, "    {\"%s\", %d, %d, %d, %d, %d, %d, %d, %d, %d, %d},\n", v->entry,
                     v->n_threads, v->shared_bytes, v->cluster, v->tile_cluster, v->tile_m,
                     v->tile_n, v->split_k, v->persistent, v->stream_granule, v->dependent_launch);
  }
  hd_strbuf_add(out, "};\n\n");
}

/* Two switches over the variants: what each needs of workspace, and its launch. */
static void add_dispatch(hd_strbuf *out, const hd_manifest *manifest) {
  const int n = manifest->n_variants;
  hd_strbuf_add(out, "static int hd_pick(const hd_values *v) {\n");
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(out, "  if (hd_fits_%d(v))\n    return %d;\n", i, i);
  hd_strbuf_add(out, "  return HEDDLE_LAUNCH_VARIANT;\n}\n\n"
                     "static int64_t hd_tile_workspace(int index, const hd_values *v) {\n"
                     "  switch (index) {\n");
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(out, "  case %d:\n    return hd_tile_workspace_%d(v);\n", i, i);
  add_named(out, "  }\n  return 0;\n}\n\n"
                 "static int hd_launch(int index, const @_kernel *kernel, const hd_values *v,\n"
                 "                     uint32_t grid, void *stream) {\n"
                 "  switch (index) {\n", manifest->name);
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(out, "  case %d:\n    return hd_launch_%d(kernel, v, grid, stream);\n", i, i);
  hd_strbuf_add(out, "  }\n  return HEDDLE_LAUNCH_VARIANT;\n}\n\n");
}

static bool has_maps(const hd_manifest *manifest) {
  for (int i = 0; i < manifest->n_variants; i++) {
    if (manifest->variant[i].n_tmaps > 0)
      return true;
  }
  return false;
}

static char *make_source(const hd_manifest *manifest, const hd_launcher_code *code) {
  hd_strbuf out = {0};
  const char *name = manifest->name;
  add_named(&out, launcher_types, name);
  hd_launcher_values(&out, manifest);
  add_variant_table(&out, manifest);
  if (has_maps(manifest))
    add_named(&out, launcher_maps, name);
  add_named(&out, launcher_submit, name);
  hd_launcher_checks(&out, manifest);
  for (int i = 0; i < manifest->n_variants; i++)
    hd_launcher_variant(&out, manifest, i);
  add_dispatch(&out, manifest);
  add_declared(&out, launcher_calls, manifest);
  add_code(&out, code);
  add_named(&out, launcher_load, name);
  return hd_strbuf_take(&out);
}

heddle_status hd_launcher_write(heddle_context *ctx, const hd_manifest *manifest,
                                const hd_launcher_code *code, char **header, char **source) {
  HD_TRY(hd_manifest_check(ctx, manifest));
  HD_TRY(check_name(ctx, manifest->name));
  if (code->cubin_bytes == 0 && code->ptx_bytes == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.code",
                    "kernel %s: neither cubin nor PTX to embed", manifest->name);
  *header = make_header(manifest);
  *source = make_source(manifest, code);
  return HEDDLE_OK;
}
