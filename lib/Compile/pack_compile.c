/* heddle_pack_compile: the pack kernel. It is short and written here as text of role level. The
 * verifier, check, emission and manifest are those of all kernels. */
#include "heddle/pack.h"

#include <stdlib.h>

#include "Check/check.h"
#include "Compile/compiled.h"
#include "Emit/emit.h"
#include "Layout/packed_format.h"
#include "Spec/spec.h"
#include "Support/diag.h"
#include "Support/strbuf.h"
#include "heddle/version.h"

/* A CTA takes a tile of one slab by TILE_K_BLOCKS k-blocks, each warp one strip of one k-block. */
enum { TILE_K_BLOCKS = 2, WARPS = TILE_K_BLOCKS * HD_SLAB_STRIPS, ALIGN = 128 };

/* Bytes per load of a lane. Each width has an entry point; a launch uses the first that fits. */
static const int32_t widths[] = {16, 4, 2, 1};

typedef enum form { PLAIN, TRANSPOSED, TWIN, TWO_WAY, MASKED, QUANTIZED } form;

/* What differs between the kernels. more: the arguments that not all forms have. min_ctas: with
 * wide loads so many CTAs fit into an SM, where ptxas would take registers for fewer, which have
 * too few loads in flight. */
enum { MOST_MORE = 2 };
static const struct form_row {
  const char *name, *op, *attrs, *about;
  hd_arg_kind more[MOST_MORE + 1]; /* NONE: the end */
  int32_t min_ctas;                /* 0: as many as ptxas' choice of registers allows */
} forms[] = {
    [PLAIN] = {"pack", "prune.pack", "", "pruned and packed", {HD_ARG_NONE}},
    [TRANSPOSED] = {"pack_transposed", "prune.pack", ", trans",
                    "whose transpose is in memory, pruned and packed", {HD_ARG_NONE}},
    [TWIN] = {"pack_twin", "prune.pack", "", "pruned and packed, with its transpose",
              {HD_ARG_TWIN, HD_ARG_NONE}, 4},
    [TWO_WAY] = {"pack_two_way", "prune.pack", "",
                 "pruned along rows and columns, and packed with its transpose",
                 {HD_ARG_TWIN, HD_ARG_MASK, HD_ARG_NONE}},
    [MASKED] = {"pack_masked", "mask.pack", "", "packed under a mask, with its transpose",
                {HD_ARG_TWIN, HD_ARG_KEEP, HD_ARG_NONE}, 4},
    [QUANTIZED] = {"pack_quantized", "quantize.pack", "", "pruned, quantized by row and packed",
                   {HD_ARG_SCALE_A, HD_ARG_NONE}, 4},
};

/* The matrix to pack. from: its type in memory (QUANTIZED: another one). */
typedef struct source {
  heddle_elem elem, from;
  form form;
} source;

/* Of an element in memory. */
static int32_t bytes_of(source from) {
  return heddle_elem_get(from.from)->container_bits / 8;
}

/* Widths that have an entry point: the element's own, and 4 and 16 bytes unless transposed. */
static bool has_width(source from, int32_t width) {
  return width == bytes_of(from) || (width >= 4 && from.form != TRANSPOSED);
}

static bool has_arg(source from, hd_arg_kind arg) {
  const hd_arg_kind *more = forms[from.form].more;
  while (*more != HD_ARG_NONE && *more != arg)
    more++;
  return *more == arg;
}

static bool in_all_forms(hd_arg_kind arg) {
  for (size_t i = 0; i < HD_COUNT(forms); i++)
    if (has_arg((source){.form = (form)i}, arg))
      return false;
  return true;
}

static heddle_elem elem_of_more(source from, hd_arg_kind arg) {
  return arg == HD_ARG_SCALE_A                       ? HEDDLE_F32
         : arg == HD_ARG_MASK || arg == HD_ARG_KEEP ? HEDDLE_U8
                                                    : from.elem;
}

/* What kernels with a twin have besides. The codes of a slab and k-block meet in a slot; two slots
 * take turns, so that warps of a slab may be one tile apart. */
static const struct twin_text {
  const char *buffer, *slots, *loop, *store, *yield; /* store: up to the type */
} alone = {"", "", "for %first, %tiles, %ctas (%tile: i32) {", "", "      yield"},
  with_twin = {"  %codes: buffer = buffer {name = \"codes\", space = shared, bytes = 512, "
               "stages = 4, align = 128, layout = linear, type = s32}\n",
               "    %two: i32 = const {value = 2}\n"
               "    %twice: i32 = mul %of_tile, %two\n"
               "    %turns: i32 = add %twice, %two\n",
               "%end: i32 = for %first, %tiles, %ctas, %of_tile (%tile: i32, %slot: i32) {",
               "      role.sync {id = 1, among = 4}\n"
               "      twin.codes %codes, %slot, %twin, %row, %k_block, %m, %k {type = ",
               "}\n"
               "      %next: i32 = sub %turns, %slot\n"
               "      yield %next"};
_Static_assert(HD_META_PLANE_BYTES == 512 && HD_SLAB_STRIPS == 4 && TILE_K_BLOCKS == 2,
               "slots of with_twin");

static void print_kernel(hd_arena *arena, hd_strbuf *out, source from, const char *target,
                         int32_t width) {
  heddle_elem elem = from.elem;
  const struct form_row *row = &forms[from.form];
  const char *type = heddle_elem_get(elem)->name, *dense = heddle_elem_get(from.from)->name;
  const char *operand = "", *more = "", *attrs = row->attrs;
  const struct twin_text *twin = has_arg(from, HD_ARG_TWIN) ? &with_twin : &alone;
  for (const hd_arg_kind *arg = row->more; *arg != HD_ARG_NONE; arg++) {
    const char *name = hd_arg_name(*arg), *of = heddle_elem_get(elem_of_more(from, *arg))->name;
    operand = hd_arena_printf(arena, "%s, %%%s%s", operand, name,
                              *arg == HD_ARG_TWIN ? ", %codes, %slot" : "");
    more = hd_arena_printf(arena, "%s  %%%s: ptr<%s> = arg {arg = %s, type = %s}\n", more, name, of,
                           name, of);
  }
  if (from.form == QUANTIZED)
    attrs = hd_arena_printf(arena, ", b_type = %s", dense);
  const char *occupancy = "";
  if (row->min_ctas && width == widths[0])
    occupancy = hd_arena_printf(arena, ", min_ctas = %d", (int)row->min_ctas);
  hd_strbuf_printf(
      out,
      "kernel {name = \"%s_%s_%d\", target = \"%s\", threads = %d%s, persistent} {\n"
      "  %%dense: ptr<%s> = arg {arg = b, type = %s}\n"
      "  %%packed: ptr<%s> = arg {arg = d, type = %s}\n"
      "%s"
      "  %%m: i32 = arg {arg = m}\n"
      "  %%k: i32 = arg {arg = k}\n"
      "  %%pitch: i64 = arg {arg = ldb}\n"
      "%s",
      row->name, type, (int)width, target, 32 * WARPS, occupancy, dense, dense, type, type, more,
      twin->buffer);
  hd_strbuf_printf(
      out,
      "  role {name = \"pack\", warp_lo = 0, n_warps = %d} {\n"
      "    %%slab_rows: i32 = const {value = %d}\n"
      "    %%strip_rows: i32 = const {value = %d}\n"
      "    %%strips: i32 = const {value = %d}\n"
      "    %%tile_k: i32 = const {value = %d}\n"
      "    %%tile_k_blocks: i32 = const {value = %d}\n"
      "    %%one: i32 = const {value = 1}\n",
      WARPS, HD_SLAB_ROWS, HD_STRIP_ROWS, HD_SLAB_STRIPS,
      (int)(TILE_K_BLOCKS * hd_k_block_size(elem)), TILE_K_BLOCKS);
  hd_strbuf_printf(
      out,
      "    %%m_last: i32 = add %%m, %%slab_rows\n"
      "    %%m_up: i32 = sub %%m_last, %%one\n"
      "    %%slabs: i32 = div %%m_up, %%slab_rows\n"
      "    %%k_last: i32 = add %%k, %%tile_k\n"
      "    %%k_up: i32 = sub %%k_last, %%one\n"
      "    %%tiles_k: i32 = div %%k_up, %%tile_k\n"
      "    %%tiles: i32 = mul %%slabs, %%tiles_k\n"
      "    %%warp: i32 = warp_index\n"
      "    %%strip: i32 = rem %%warp, %%strips\n"
      "    %%strip_row: i32 = mul %%strip, %%strip_rows\n"
      "    %%of_tile: i32 = div %%warp, %%strips\n"
      "    %%first: i32 = block_index\n"
      "    %%ctas: i32 = grid_size\n"
      "%s"
      "    %s\n"
      "      %%slab: i32 = div %%tile, %%tiles_k\n"
      "      %%before: i32 = mul %%slab, %%tiles_k\n"
      "      %%column: i32 = sub %%tile, %%before\n"
      "      %%slab_row: i32 = mul %%slab, %%slab_rows\n"
      "      %%row: i32 = add %%slab_row, %%strip_row\n"
      "      %%tile_block: i32 = mul %%column, %%tile_k_blocks\n"
      "      %%k_block: i32 = add %%tile_block, %%of_tile\n"
      "      %s %%dense, %%pitch, %%packed, %%row, %%k_block, %%m, %%k%s "
      "{type = %s, vec = %d%s}\n"
      "%s%s%s\n"
      "    }\n"
      "  }\n"
      "}\n",
      twin->slots, twin->loop, row->op, operand, type, (int)width, attrs, twin->store,
      twin == &with_twin ? type : "", twin->yield);
}

static heddle_status make_module(heddle_context *ctx, hd_arena *arena, source from,
                                 const char *target, hd_module **module) {
  hd_strbuf text = {0};
  hd_strbuf_add(&text, "module version=1 level=role sync=placed\n");
  for (size_t i = 0; i < HD_COUNT(widths); i++)
    if (has_width(from, widths[i]))
      print_kernel(arena, &text, from, target, widths[i]);
  heddle_status status = hd_parse_made(ctx, HD_NOWHERE, hd_strbuf_text(&text), module);
  hd_strbuf_free(&text);
  return status;
}

/* ---- the manifest ---- */

/* The twin has groups along m. */
static void add_args(source from, hd_manifest *m) {
  enum { MAX_SIZE = HD_SIZE_MOST, MASK_ALIGN = 8 };
  heddle_elem elem = from.elem;
  hd_arg_kind line = from.form == TRANSPOSED ? HD_ARG_M : HD_ARG_K;
  const heddle_elem_info *info = heddle_elem_get(elem);
  const hd_arg args[] = {
      {.kind = HD_ARG_B, .divisible_by = 1, .align = bytes_of(from),
       .elem = from.from},
      {.kind = HD_ARG_D, .divisible_by = 1, .align = ALIGN, .elem = elem},
      {.kind = HD_ARG_SCALE_A, .divisible_by = 1, .align = 4, .elem = HEDDLE_F32},
      {.kind = HD_ARG_TWIN, .divisible_by = 1, .align = ALIGN, .elem = elem},
      {.kind = HD_ARG_MASK, .divisible_by = 1, .align = MASK_ALIGN, .elem = HEDDLE_U8},
      {.kind = HD_ARG_KEEP, .divisible_by = 1, .align = MASK_ALIGN, .elem = HEDDLE_U8},
      {.kind = HD_ARG_M, .divisible_by = has_arg(from, HD_ARG_TWIN) ? info->group : 1, .align = 1,
       .max = MAX_SIZE},
      {.kind = HD_ARG_K, .divisible_by = info->group, .align = 1, .max = MAX_SIZE},
      {.kind = HD_ARG_LDB, .divisible_by = 1, .align = 1, .at_least = {line, 1, 0, 1}}};
  for (size_t i = 0; i < HD_COUNT(args); i++) {
    if (in_all_forms(args[i].kind) || has_arg(from, args[i].kind))
      m->arg[m->n_args++] = args[i];
  }
}

static void add_variant(source from, int32_t width, const hd_emit_kernel *emitted,
                        hd_arena *arena, hd_manifest *m) {
  hd_variant *v = &m->variant[m->n_variants++];
  *v = (hd_variant){.entry = hd_arena_strdup(arena, emitted->entry),
                    .path = hd_arena_printf(arena, "load%d", (int)width),
                    .n_threads = emitted->n_threads, .cluster = 1, .tile_cluster = 1,
                    .shared_bytes = emitted->shared_bytes, .tile_m = HD_SLAB_ROWS,
                    .tile_n = TILE_K_BLOCKS * hd_k_block_size(from.elem), .split_k = 1,
                    .persistent = true};
  /* The start and the end of each row are multiples of the width. */
  const hd_arg_kind aligned[] = {HD_ARG_B, HD_ARG_LDB, HD_ARG_K};
  for (size_t i = 0; i < HD_COUNT(aligned) && width > bytes_of(from); i++)
    v->requirement[v->n_requirements++] =
        (hd_requirement){{aligned[i], aligned[i] == HD_ARG_B ? 1 : bytes_of(from), 0, 1}, width, 0};
  for (int32_t i = 0; i < emitted->n_params; i++)
    v->param[v->n_params++] = (hd_param){.arg = hd_op_arg(emitted->param[i])};
}

static heddle_status make_manifest(heddle_context *ctx, source from, const hd_target *target,
                                   const hd_module *module, const hd_emit_result *emitted,
                                   heddle_compiled *c, hd_manifest *m) {
  heddle_elem elem = from.elem;
  *m = (hd_manifest){.name = c->name, .target = target->name, .ptx_version = target->llvm_ptx,
                     .a_elem = elem, .b_elem = from.from,
                     .c_elem = elem, .d_elem = elem,
                     .acc_elem = elem, .bias_elem = elem, .act = "none",
                     .family = "mma"};
  hd_hash_format(hd_module_hash(module), m->hash);
  add_args(from, m);
  for (size_t i = 0; i < HD_COUNT(widths); i++)
    if (has_width(from, widths[i]))
      add_variant(from, widths[i], &emitted->kernel[m->n_variants], &c->arena, m);
  HD_TRY(hd_manifest_check(ctx, m));
  hd_manifest_index(m);
  return HEDDLE_OK;
}

/* ---- compiling ---- */

static heddle_status build(heddle_context *ctx, source from, const hd_target *target,
                           const hd_module *module, const char *ptxas, heddle_compiled *c) {
  hd_emit_result emitted = {0};
  hd_manifest manifest;
  HD_TRY(hd_check(ctx, module, NULL, NULL));
  const char *type = heddle_elem_get(from.elem)->name;
  c->name = hd_arena_printf(&c->arena, "%s_%s", forms[from.form].name, type);
  c->schedule = "";
  const char *header = hd_arena_printf(
      &c->arena, "Heddle %s. A dense matrix of %s, %s.", HEDDLE_VERSION,
      heddle_elem_get(from.from)->name, forms[from.form].about);
  HD_TRY(hd_emit_ptx(ctx, module, &(hd_emit_options){.header = header}, &emitted));
  heddle_status status = make_manifest(ctx, from, target, module, &emitted, c, &manifest);
  if (status == HEDDLE_OK) {
    char *ptx = emitted.ptx;
    emitted.ptx = NULL;
    status = hd_compiled_finish(ctx, ptxas, &manifest, ptx, emitted.n_bytes, c, NULL);
  }
  hd_emit_result_free(&emitted);
  return status;
}

/* The types and targets that convert. */
static heddle_status check_quantized(heddle_context *ctx, source from, const hd_target *chip) {
  enum { FP8 = 89 };
  const heddle_elem_info *info = heddle_elem_get(from.from);
  if ((from.elem != HEDDLE_E4M3 && from.elem != HEDDLE_E5M2) ||
      (from.from != HEDDLE_BF16 && from.from != HEDDLE_F16))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.quantized-type",
                    "got %s from %s; legal: e4m3 or e5m2 from bf16 or f16; nearest: e4m3 from bf16",
                    heddle_elem_get(from.elem)->name, info ? info->name : "no type");
  if (chip->sm < FP8)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.target",
                    "got %s for %s; legal: sm_89 and later; nearest: sm_89", chip->name,
                    heddle_elem_get(from.elem)->name);
  return HEDDLE_OK;
}

static heddle_status compile(heddle_context *ctx, source from, const char *target,
                             const char *ptxas, heddle_compiled *c) {
  const hd_target *chip;
  hd_module *module;
  const heddle_elem_info *info = heddle_elem_get(from.elem);
  bool whole = info && info->group > 0 && info->container_bits >= 8 && info->group <= 4;
  if (!whole)
    return hd_error(
        ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.type",
        "got %s; legal: bf16, f16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1, s8, u8; nearest: %s",
        info ? info->name : "no type", info && info->kind != HEDDLE_FLOAT ? "s8" : "bf16");
  if (has_arg(from, HD_ARG_TWIN) && info->container_bits != 16)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.twin-type",
                    "got %s; legal: bf16, f16; nearest: a pack of each matrix", info->name);
  target = target ? target : "";
  if (hd_target_parse(target, &chip) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.target",
                    "unknown target %s; nearest: %s",
                    target, hd_target_nearest(target));
  if (from.form == QUANTIZED)
    HD_TRY(check_quantized(ctx, from, chip));
  HD_TRY(make_module(ctx, &c->arena, from, target, &module));
  heddle_status status = build(ctx, from, chip, module, ptxas, c);
  hd_module_free(module);
  return status;
}

static heddle_status compile_one(heddle_context *ctx, source from, const char *target,
                                 const char *ptxas, heddle_compiled **compiled) {
  uint64_t before = hd_memory_shortages();
  heddle_compiled *c = hd_try_zalloc(ctx, sizeof *c, "a kernel");
  heddle_status status = c ? compile(ctx, from, target, ptxas, c) : HEDDLE_NO_MEMORY;
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *compiled = c;
  else
    heddle_compiled_free(c);
  return status;
}

heddle_status heddle_pack_compile(heddle_context *ctx, heddle_elem elem, const char *target,
                                  const char *ptxas, heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, elem, PLAIN}, target, ptxas, compiled);
}

heddle_status heddle_pack_compile_transposed(heddle_context *ctx, heddle_elem elem,
                                             const char *target, const char *ptxas,
                                             heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, elem, TRANSPOSED}, target, ptxas, compiled);
}

heddle_status heddle_pack_compile_twin(heddle_context *ctx, heddle_elem elem, const char *target,
                                       const char *ptxas, heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, elem, TWIN}, target, ptxas, compiled);
}

heddle_status heddle_pack_compile_two_way(heddle_context *ctx, heddle_elem elem,
                                          const char *target, const char *ptxas,
                                          heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, elem, TWO_WAY}, target, ptxas, compiled);
}

heddle_status heddle_pack_compile_masked(heddle_context *ctx, heddle_elem elem, const char *target,
                                         const char *ptxas, heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, elem, MASKED}, target, ptxas, compiled);
}

heddle_status heddle_pack_compile_quantized(heddle_context *ctx, heddle_elem from, heddle_elem elem,
                                            const char *target, const char *ptxas,
                                            heddle_compiled **compiled) {
  return compile_one(ctx, (source){elem, from, QUANTIZED}, target, ptxas, compiled);
}
