/* NAME.h and NAME.c of an ahead-of-time kernel: fixed text around what launcher_checks.c makes of
 * the manifest. In the fixed texts @ stands for the kernel's name. */
#include "Kernel/launcher_c.h"

#include <stdio.h>
#include <string.h>

#include "Support/diag.h"

static const char header_types[] =
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n"
    "\n"
    "#ifndef HEDDLE_LAUNCHER_TYPES\n"
    "#define HEDDLE_LAUNCHER_TYPES\n"
    "/* Entry points of the CUDA driver, as the caller got them (linked, dlsym, or\n"
    " * cuGetProcAddress), each cast to heddle_driver_fn. All must be set. */\n"
    "typedef void (*heddle_driver_fn)(void);\n"
    "typedef struct heddle_launcher_driver {\n"
    "  heddle_driver_fn module_load;      /* cuModuleLoadDataEx */\n"
    "  heddle_driver_fn module_unload;    /* cuModuleUnload */\n"
    "  heddle_driver_fn module_function;  /* cuModuleGetFunction */\n"
    "  heddle_driver_fn function_set;     /* cuFuncSetAttribute */\n"
    "  heddle_driver_fn blocks_per_sm;    /* cuOccupancyMaxActiveBlocksPerMultiprocessor */\n"
    "  heddle_driver_fn active_clusters;  /* cuOccupancyMaxActiveClusters */\n"
    "  heddle_driver_fn context_device;   /* cuCtxGetDevice */\n"
    "  heddle_driver_fn device_attribute; /* cuDeviceGetAttribute */\n"
    "  heddle_driver_fn launch;           /* cuLaunchKernelEx */\n"
    "  heddle_driver_fn tmap_encode;      /* cuTensorMapEncodeTiled */\n"
    "} heddle_launcher_driver;\n"
    "\n"
    "/* What the functions return; a positive code is the driver's CUresult. */\n"
    "enum {\n"
    "  HEDDLE_LAUNCH_OK = 0,\n"
    "  HEDDLE_LAUNCH_SIZE = -1,      /* m or n below 0, or k below 1 */\n"
    "  HEDDLE_LAUNCH_MAX = -2,       /* a size or stride above its bound */\n"
    "  HEDDLE_LAUNCH_STRIDE = -3,    /* a stride shorter than a row */\n"
    "  HEDDLE_LAUNCH_DIVISIBLE = -4, /* a size that is not the multiple it must be */\n"
    "  HEDDLE_LAUNCH_NULL = -5,      /* a null pointer */\n"
    "  HEDDLE_LAUNCH_ALIGN = -6,     /* a pointer that is not aligned */\n"
    "  HEDDLE_LAUNCH_VARIANT = -7,   /* no variant takes these strides and pointers */\n"
    "  HEDDLE_LAUNCH_GRID = -8,      /* too many tiles */\n"
    "  HEDDLE_LAUNCH_WORKSPACE = -9, /* too much workspace */\n"
    "  HEDDLE_LAUNCH_TMAP = -10,     /* a tensor map that the hardware cannot take */\n"
    "  HEDDLE_LAUNCH_RESIDENT = -11  /* load: no CTA fits the device */\n"
    "};\n"
    "#endif\n"
    "\n";

static const char source_types[] =
    "/* The driver's types, stated here so that no CUDA header is needed. */\n"
    "typedef struct hd_attribute {\n"
    "  int id;\n"
    "  char pad[4];\n"
    "  union {\n"
    "    char bytes[64];\n"
    "    unsigned cluster[3];\n"
    "    int number;\n"
    "  } value;\n"
    "} hd_attribute;\n"
    "\n"
    "typedef struct hd_config {\n"
    "  unsigned grid[3], block[3], shared_bytes;\n"
    "  void *stream;\n"
    "  hd_attribute *attributes;\n"
    "  unsigned n_attributes;\n"
    "} hd_config;\n"
    "\n"
    "typedef int hd_module_load_fn(void **, const void *, unsigned, int *, void **);\n"
    "typedef int hd_module_unload_fn(void *);\n"
    "typedef int hd_module_function_fn(void **, void *, const char *);\n"
    "typedef int hd_function_set_fn(void *, int, int);\n"
    "typedef int hd_blocks_per_sm_fn(int *, void *, int, size_t);\n"
    "typedef int hd_active_clusters_fn(int *, void *, const hd_config *);\n"
    "typedef int hd_context_device_fn(int *);\n"
    "typedef int hd_device_attribute_fn(int *, int, int);\n"
    "typedef int hd_launch_fn(const hd_config *, void *, void **, void **);\n"
    "#define HD_CALL(kernel, entry) (*(hd_##entry##_fn *)(kernel)->driver.entry)\n"
    "\n"
    "typedef struct hd_variant {\n"
    "  const char *entry;\n"
    "  int n_threads, shared_bytes;\n"
    "  unsigned cluster;\n"
    "  int tile_m, tile_n, split_k, persistent, stream_granule, dependent_launch;\n"
    "} hd_variant;\n"
    "\n";

static const char source_maps[] =
    "typedef struct hd_tmap {\n"
    "  _Alignas(128) uint64_t words[16];\n"
    "} hd_tmap;\n"
    "typedef int hd_tmap_encode_fn(hd_tmap *, int, uint32_t, void *, const uint64_t *,\n"
    "                              const uint64_t *, const uint32_t *, const uint32_t *, int, "
    "int,\n"
    "                              int, int);\n"
    "\n"
    "static int hd_encode(const @_kernel *kernel, hd_tmap *map, int type, int rank, uint64_t "
    "base,\n"
    "                     const int64_t *dims, const int64_t *strides, const uint32_t *box,\n"
    "                     int swizzle) {\n"
    "  static const uint32_t ones[5] = {1, 1, 1, 1, 1};\n"
    "  uint64_t dim[5] = {0}, stride[5] = {0};\n"
    "  if (base % 16 != 0)\n"
    "    return HEDDLE_LAUNCH_TMAP;\n"
    "  for (int i = 0; i < rank; i++) {\n"
    "    dim[i] = (uint64_t)dims[i];\n"
    "    stride[i] = i + 1 < rank ? (uint64_t)strides[i] : 0;\n"
    "    if (dim[i] < 1 || dim[i] > UINT64_C(1) << 32 || stride[i] % 16 != 0 ||\n"
    "        stride[i] >= UINT64_C(1) << 40)\n"
    "      return HEDDLE_LAUNCH_TMAP;\n"
    "  }\n"
    "  return HD_CALL(kernel, tmap_encode)(map, type, (uint32_t)rank, (void *)(uintptr_t)base, "
    "dim,\n"
    "                                      stride, box, ones, 0, swizzle, 3, 0);\n"
    "}\n"
    "\n";

static const char source_submit[] =
    "static unsigned hd_attributes(const hd_variant *variant, hd_attribute out[2]) {\n"
    "  unsigned n = 0;\n"
    "  if (variant->cluster > 1) {\n"
    "    hd_attribute cluster = {.id = 4, .value.cluster = {variant->cluster, 1, 1}};\n"
    "    out[n++] = cluster;\n"
    "  }\n"
    "  if (variant->dependent_launch) {\n"
    "    hd_attribute dependent = {.id = 6, .value.number = 1};\n"
    "    out[n++] = dependent;\n"
    "  }\n"
    "  return n;\n"
    "}\n"
    "\n"
    "static hd_config hd_configure(const hd_variant *variant, uint32_t grid, void *stream,\n"
    "                              hd_attribute *attributes, unsigned n_attributes) {\n"
    "  hd_config config = {{grid, 1, 1}, {(unsigned)variant->n_threads, 1, 1},\n"
    "                      (unsigned)variant->shared_bytes, stream, attributes, n_attributes};\n"
    "  return config;\n"
    "}\n"
    "\n"
    "static int hd_submit(const @_kernel *kernel, int index, uint32_t grid, void **params,\n"
    "                     void *stream) {\n"
    "  hd_attribute attributes[2];\n"
    "  unsigned n = hd_attributes(&hd_variants[index], attributes);\n"
    "  hd_config config = hd_configure(&hd_variants[index], grid, stream, attributes, n);\n"
    "  return HD_CALL(kernel, launch)(&config, kernel->function[index], params, NULL);\n"
    "}\n"
    "\n"
    "static int64_t hd_ceil_div(int64_t x, int64_t by) { return (x + by - 1) / by; }\n"
    "\n"
    "typedef struct hd_geometry {\n"
    "  uint32_t n_tiles, grid, n_slots;\n"
    "} hd_geometry;\n"
    "\n"
    "static int hd_count_tiles(const hd_variant *variant, const hd_values *v, uint32_t *n_tiles) "
    "{\n"
    "  int64_t tall = (int64_t)variant->tile_m * variant->cluster;\n"
    "  int64_t tiles = hd_ceil_div(v->m, tall) * variant->cluster *\n"
    "                  hd_ceil_div(v->n, variant->tile_n);\n"
    "  if (tiles > (INT32_MAX - (int64_t)variant->cluster) / variant->split_k)\n"
    "    return HEDDLE_LAUNCH_GRID;\n"
    "  *n_tiles = (uint32_t)(tiles * variant->split_k);\n"
    "  return HEDDLE_LAUNCH_OK;\n"
    "}\n"
    "\n"
    "static int hd_total_workspace(int64_t each, uint32_t n_slots, uint64_t *n_bytes) {\n"
    "  if (each < 0 || (n_slots > 0 && (uint64_t)each > (UINT64_C(1) << 40) / n_slots))\n"
    "    return HEDDLE_LAUNCH_WORKSPACE;\n"
    "  *n_bytes = (uint64_t)each * n_slots;\n"
    "  return HEDDLE_LAUNCH_OK;\n"
    "}\n"
    "\n"
    "/* A persistent grid is what is resident at once, in whole clusters. */\n"
    "static uint32_t hd_grid(const hd_variant *variant, uint32_t n_tiles, uint32_t resident) {\n"
    "  uint32_t grid = n_tiles;\n"
    "  uint32_t fit = resident / variant->cluster * variant->cluster;\n"
    "  if (variant->persistent && resident > 0 && grid > fit)\n"
    "    grid = fit > 0 ? fit : variant->cluster;\n"
    "  return grid;\n"
    "}\n"
    "\n"
    "/* Tiles that CTAs share over k: what whole waves leave over, and one wave more. */\n"
    "static int hd_share_tiles(const hd_variant *variant, const hd_values *v, uint32_t resident,\n"
    "                          hd_geometry *g) {\n"
    "  uint32_t fit = resident / variant->cluster, tiles = g->n_tiles / variant->cluster;\n"
    "  uint64_t granules = (uint64_t)hd_ceil_div(v->k, variant->stream_granule);\n"
    "  uint64_t most = tiles * granules < fit ? tiles * granules : fit;\n"
    "  uint32_t workers = tiles < most ? (uint32_t)most : g->grid / variant->cluster;\n"
    "  uint32_t waves = workers > 0 ? tiles / workers : 0;\n"
    "  uint32_t shared = waves * workers == tiles ? 0 : tiles - (waves > 0 ? waves - 1 : 0) * "
    "workers;\n"
    "  if (shared * granules + workers > INT32_MAX)\n"
    "    return HEDDLE_LAUNCH_GRID;\n"
    "  g->grid = workers * variant->cluster;\n"
    "  g->n_slots = shared > 0 ? (workers + shared) * variant->cluster : 0;\n"
    "  return HEDDLE_LAUNCH_OK;\n"
    "}\n"
    "\n"
    "static int hd_find_geometry(const hd_variant *variant, const hd_values *v, uint32_t "
    "resident,\n"
    "                            hd_geometry *g) {\n"
    "  int code = hd_count_tiles(variant, v, &g->n_tiles);\n"
    "  if (code != 0)\n"
    "    return code;\n"
    "  g->grid = hd_grid(variant, g->n_tiles, resident);\n"
    "  g->n_slots = g->n_tiles;\n"
    "  return variant->stream_granule ? hd_share_tiles(variant, v, resident, g) : 0;\n"
    "}\n"
    "\n";

static const char source_load[] =
    "static int hd_count_resident(const @_kernel *kernel, int index, uint32_t *resident) {\n"
    "  const hd_variant *variant = &hd_variants[index];\n"
    "  int code, n = 0, device = 0, n_sms = 0;\n"
    "  if (variant->cluster > 1) {\n"
    "    hd_attribute attribute = {.id = 4, .value.cluster = {variant->cluster, 1, 1}};\n"
    "    hd_config config = hd_configure(variant, variant->cluster, NULL, &attribute, 1);\n"
    "    code = HD_CALL(kernel, active_clusters)(&n, kernel->function[index], &config);\n"
    "    *resident = (uint32_t)n * variant->cluster;\n"
    "  } else {\n"
    "    code = HD_CALL(kernel, blocks_per_sm)(&n, kernel->function[index], variant->n_threads,\n"
    "                                          (size_t)variant->shared_bytes);\n"
    "    if (code == 0)\n"
    "      code = HD_CALL(kernel, context_device)(&device);\n"
    "    if (code == 0)\n"
    "      code = HD_CALL(kernel, device_attribute)(&n_sms, 16, device);\n"
    "    *resident = (uint32_t)n * (uint32_t)n_sms;\n"
    "  }\n"
    "  return code != 0 || n > 0 ? code : HEDDLE_LAUNCH_RESIDENT;\n"
    "}\n"
    "\n"
    "static int hd_load_variant(@_kernel *kernel, int index) {\n"
    "  const hd_variant *variant = &hd_variants[index];\n"
    "  void **function = &kernel->function[index];\n"
    "  int code = HD_CALL(kernel, module_function)(function, kernel->module, variant->entry);\n"
    "  if (code == 0 && variant->shared_bytes > 0)\n"
    "    code = HD_CALL(kernel, function_set)(*function, 8, variant->shared_bytes);\n"
    "  if (code == 0 && variant->cluster > 8)\n"
    "    code = HD_CALL(kernel, function_set)(*function, 14, 1);\n"
    "  return code != 0 ? code : hd_count_resident(kernel, index, &kernel->resident[index]);\n"
    "}\n"
    "\n"
    "/* CUDA_ERROR_INVALID_IMAGE, _NO_BINARY_FOR_GPU, _UNSUPPORTED_PTX_VERSION: try the next one. "
    "*/\n"
    "static int hd_does_not_fit(int code) { return code == 200 || code == 209 || code == 222; }\n"
    "\n"
    "int @_load(const heddle_launcher_driver *driver, @_kernel *kernel) {\n"
    "  @_kernel made = {.driver = *driver};\n"
    "  int code = 209;\n"
    "  for (size_t i = 0; i < sizeof hd_images / sizeof *hd_images && hd_does_not_fit(code); i++)\n"
    "    code = HD_CALL(&made, module_load)(&made.module, hd_images[i], 0, NULL, NULL);\n"
    "  if (code != 0)\n"
    "    return code;\n"
    "  for (int i = 0; i < HD_N_VARIANTS && code == 0; i++)\n"
    "    code = hd_load_variant(&made, i);\n"
    "  if (code != 0) {\n"
    "    @_unload(&made);\n"
    "    return code;\n"
    "  }\n"
    "  *kernel = made;\n"
    "  return HEDDLE_LAUNCH_OK;\n"
    "}\n"
    "\n"
    "void @_unload(@_kernel *kernel) {\n"
    "  if (kernel->module)\n"
    "    HD_CALL(kernel, module_unload)(kernel->module);\n"
    "  kernel->module = NULL;\n"
    "}\n"
    "\n"
    "const char *@_error(int code) {\n"
    "  static const char *const texts[] = {\n"
    "      \"done\",\n"
    "      \"m or n is below 0, or k below 1\",\n"
    "      \"a size or a stride is above its bound\",\n"
    "      \"a stride is shorter than a row\",\n"
    "      \"a size is not the multiple that it must be\",\n"
    "      \"a pointer is null\",\n"
    "      \"a pointer is not aligned\",\n"
    "      \"no variant of this kernel takes these strides and pointers\",\n"
    "      \"too many tiles for one grid\",\n"
    "      \"too much workspace\",\n"
    "      \"a tensor map is out of the hardware's bounds\",\n"
    "      \"no CTA of this kernel fits the device\"};\n"
    "  int index = code < 0 ? -code : 0;\n"
    "  if (code > 0)\n"
    "    return \"the CUDA driver refused; the code is its CUresult\";\n"
    "  return index < (int)(sizeof texts / sizeof *texts) ? texts[index] : \"unknown code\";\n"
    "}\n"
    "\n";

/* Adds a fixed text with the kernel's name in place of every @. */
static void add_named(hd_strbuf *out, const char *text, const char *name) {
  for (const char *at; (at = strchr(text, '@')) != NULL; text = at + 1) {
    hd_strbuf_addn(out, text, (size_t)(at - text));
    hd_strbuf_add(out, name);
  }
  hd_strbuf_add(out, text);
}

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
                  "kernel name \"%s\" is taken in C, C++ or the launcher, expected another such as "
                  "\"k_%s\"",
                  name, name);
}

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

/* Function types of the header: void when no number is passed. */
static char *make_header(const hd_manifest *manifest) {
  hd_strbuf out = {0};
  const char *name = manifest->name;
  add_problem(&out, manifest);
  hd_strbuf_printf(&out, "#ifndef HEDDLE_GENERATED_%s_H\n#define HEDDLE_GENERATED_%s_H\n\n", name,
                   name);
  hd_strbuf_add(&out, header_types);
  add_named(&out, "/* The kernel in one CUDA context. Its members are private. */\n"
                  "typedef struct @_kernel {\n"
                  "  heddle_launcher_driver driver;\n"
                  "  void *module;\n", name);
  hd_strbuf_printf(&out, "  void *function[%d];\n  uint32_t resident[%d];\n", manifest->n_variants,
                   manifest->n_variants);
  add_named(
      &out,
      "} @_kernel;\n"
      "\n"
      "/* Loads into the current context; on failure *kernel is untouched. */\n"
      "int @_load(const heddle_launcher_driver *driver, @_kernel *kernel);\n"
      "/* Unloads, with the same context current; no launch may be in flight. */\n"
      "void @_unload(@_kernel *kernel);\n"
      "\n"
      "/* Bytes of workspace that a launch of these sizes needs (0: pass NULL). The caller owns\n"
      " * it, zeroes it once for this kernel, and gives each concurrent launch its own. */\n"
      "int @_workspace(const @_kernel *kernel, ",
      name);
  hd_launcher_params(&out, manifest, true);
  add_named(
      &out,
      "uint64_t *n_bytes);\n"
      "\n"
      "/* Launches into a stream (CUstream; NULL: the default one) of the context that loaded\n"
      " * the kernel. Allocates, loads and waits for nothing. Thread-safe. */\n"
      "int @(const @_kernel *kernel, ",
      name);
  hd_launcher_params(&out, manifest, false);
  add_named(&out,
            "void *stream);\n"
            "\n"
            "/* The sentence of a code. */\n"
            "const char *@_error(int code);\n"
            "\n"
            "#ifdef __cplusplus\n"
            "}\n"
            "#endif\n"
            "#endif\n", name);
  return hd_strbuf_take(&out);
}

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
    hd_strbuf_printf(out, "    {\"%s\", %d, %d, %d, %d, %d, %d, %d, %d, %d},\n", v->entry,
                     v->n_threads, v->shared_bytes, v->cluster, v->tile_m, v->tile_n, v->split_k,
                     v->persistent, v->stream_granule, v->dependent_launch);
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

static void add_workspace_function(hd_strbuf *out, const hd_manifest *manifest) {
  add_named(out, "int @_workspace(const @_kernel *kernel, ", manifest->name);
  hd_launcher_params(out, manifest, true);
  hd_strbuf_add(out, "uint64_t *n_bytes) {\n  hd_values v = ");
  hd_launcher_initialiser(out, manifest, true);
  hd_strbuf_add(out,
                ";\n"
                "  uint64_t most = 0;\n"
                "  int code = hd_check_numbers(&v);\n"
                "  for (int i = 0; i < HD_N_VARIANTS && code == 0; i++) {\n"
                "    hd_geometry g;\n"
                "    uint64_t bytes = 0;\n"
                "    code = hd_find_geometry(&hd_variants[i], &v, kernel->resident[i], &g);\n"
                "    if (code == 0)\n"
                "      code = hd_total_workspace(hd_tile_workspace(i, &v), g.n_slots, &bytes);\n"
                "    most = bytes > most ? bytes : most;\n"
                "  }\n"
                "  if (code == 0)\n"
                "    *n_bytes = most;\n"
                "  return code;\n"
                "}\n\n");
}

static void add_launch_function(hd_strbuf *out, const hd_manifest *manifest) {
  add_named(out, "int @(const @_kernel *kernel, ", manifest->name);
  hd_launcher_params(out, manifest, false);
  hd_strbuf_add(out, "void *stream) {\n  hd_values v = ");
  hd_launcher_initialiser(out, manifest, false);
  hd_strbuf_add(out,
                ";\n"
                "  hd_geometry g;\n"
                "  uint64_t bytes = 0;\n"
                "  int index, code = hd_check_numbers(&v);\n"
                "  if (code != 0 || v.m == 0 || v.n == 0)\n"
                "    return code;\n"
                "  index = hd_pick(&v);\n"
                "  if (index < 0)\n"
                "    return index;\n"
                "  code = hd_find_geometry(&hd_variants[index], &v, kernel->resident[index], &g);\n"
                "  if (code == 0)\n"
                "    code = hd_total_workspace(hd_tile_workspace(index, &v), g.n_slots, &bytes);\n"
                "  if (code == 0)\n"
                "    code = hd_check_pointers(&v, bytes);\n"
                "  if (code != 0)\n"
                "    return code;\n"
                "  return hd_launch(index, kernel, &v, g.grid, stream);\n"
                "}\n");
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
  add_named(&out, "/* @.c: launcher of the kernel of @.h, generated by heddle. */\n"
                  "#include \"@.h\"\n\n", name);
  hd_strbuf_add(&out, source_types);
  hd_launcher_values(&out, manifest);
  add_variant_table(&out, manifest);
  if (has_maps(manifest))
    add_named(&out, source_maps, name);
  add_named(&out, source_submit, name);
  hd_launcher_checks(&out, manifest);
  for (int i = 0; i < manifest->n_variants; i++)
    hd_launcher_variant(&out, manifest, i);
  add_dispatch(&out, manifest);
  add_workspace_function(&out, manifest);
  add_launch_function(&out, manifest);
  hd_strbuf_add(&out, "\n/* Loading. */\n\n");
  add_code(&out, code);
  add_named(&out, source_load, name);
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
