/* The arithmetic of a launch: checks, variant, grid, tensor maps. Allocates nothing. */
#include <inttypes.h>

#include "Kernel/manifest.h"
#include "Support/batch.h"
#include "Support/diag.h"

/* These bounds keep every expression of a checked manifest within 64 bits (hd_manifest_check limits
 * factors to 2^20). */
#define MAX_TMAP_DIM (UINT64_C(1) << 32)
#define MAX_TMAP_STRIDE ((uint64_t)HD_MAX_STRIDE)
#define TMAP_ALIGN 16

static heddle_status refuse(heddle_context *ctx, const hd_arg *arg, const char *rule, int64_t got,
                            const char *what, int64_t legal) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, rule,
                  "argument %s: got %" PRId64 "; legal: %s %" PRId64, hd_arg_name(arg->kind), got,
                  what, legal);
}

/* Without an argument g there is one product. A pack kernel has no n and tiles k instead. */
static void fill_fixed(const hd_manifest *manifest, hd_values *values) {
  bool is_batch = false, has_n = false;
  for (int i = 0; i < manifest->n_args; i++) {
    is_batch |= manifest->arg[i].kind == HD_ARG_G;
    has_n |= manifest->arg[i].kind == HD_ARG_N;
    if (manifest->arg[i].fixed > 0)
      values->v[manifest->arg[i].kind] = (uint64_t)manifest->arg[i].fixed;
  }
  if (!is_batch)
    values->v[HD_ARG_G] = 1;
  if (!has_n)
    values->v[HD_ARG_N] = values->v[HD_ARG_K];
}

static heddle_status check_size(heddle_context *ctx, const hd_arg *arg, int64_t value) {
  int64_t least = arg->kind == HD_ARG_K ? 1 : 0;
  int64_t most = arg->max > 0 ? arg->max : INT32_MAX;
  if (value < least)
    return refuse(ctx, arg, "launch.size", value, "at least", least);
  if (value > most)
    return refuse(ctx, arg, "launch.max", value, "at most", most);
  return HEDDLE_OK;
}

static heddle_status check_stride(heddle_context *ctx, const hd_arg *arg, int64_t value,
                                  const hd_values *values) {
  int64_t least = arg->at_least.div > 0 ? hd_expr_eval(&arg->at_least, values) : 1;
  int64_t most = arg->max > 0 && arg->max < HD_MAX_STRIDE ? arg->max : HD_MAX_STRIDE;
  if (value < least && arg->fixed > 0 && arg->at_least.mul > 0) {
    /* Rows are longer than the fixed pitch, so the error names the size that is too large. */
    hd_arg_kind rows = arg->at_least.arg;
    long long fits = (long long)(arg->fixed * arg->at_least.div / arg->at_least.mul);
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.stride",
                    "argument %s: got %lld; legal: at most %lld, for %s is fixed at %lld",
                    hd_arg_name(rows), (long long)values->v[rows], fits, hd_arg_name(arg->kind),
                    (long long)arg->fixed);
  }
  if (value < least)
    return refuse(ctx, arg, "launch.stride", value,
                  least ? "at least the row, that is" : "at least", least);
  if (value > most)
    return refuse(ctx, arg, "launch.max", value, "at most", most);
  return HEDDLE_OK;
}

static heddle_status check_divisible(heddle_context *ctx, const hd_arg *arg, int64_t value) {
  int64_t by = arg->divisible_by;
  if (by <= 1 || value % by == 0)
    return HEDDLE_OK;
  int64_t above = (value + by - 1) / by * by;
  return hd_error(
      ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.divisible",
      "argument %s: got %" PRId64 "; legal: a multiple of %" PRId64 "; nearest: %" PRId64,
      hd_arg_name(arg->kind), value, by, arg->max > 0 && above > arg->max ? above - by : above);
}

heddle_status hd_manifest_check_number(heddle_context *ctx, const hd_arg *arg,
                                       const hd_values *values) {
  int64_t value = (int64_t)values->v[arg->kind];
  HD_TRY(hd_arg_class_of(arg->kind) == HEDDLE_CLASS_I32 ? check_size(ctx, arg, value)
                                                    : check_stride(ctx, arg, value, values));
  return check_divisible(ctx, arg, value);
}

/* The products of a batch must not write the same elements of D, or of aux. */
static heddle_status check_apart(heddle_context *ctx, const hd_manifest *manifest,
                                 const hd_values *values, hd_arg_kind stride, hd_arg_kind ld) {
  const uint64_t *v = values->v;
  bool turned = manifest->d_col_major;
  int64_t m = hd_manifest_d_rows(manifest, (int64_t)v[HD_ARG_M]), n = (int64_t)v[HD_ARG_N];
  int64_t rows = turned ? n : m, row = turned ? m : n, pitch = (int64_t)v[ld];
  if (!hd_batch_overlaps((int64_t)v[HD_ARG_G], (int64_t)v[stride], rows, row, pitch))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.stride",
                  "argument %s: got %" PRId64 ", so that matrices of %" PRId64
                  " rows at a pitch of %" PRId64 " share elements; nearest: %" PRId64,
                  hd_arg_name(stride), (int64_t)v[stride], rows, pitch, rows * pitch);
}

/* ORDER launch checks. */
static heddle_status check_batch(heddle_context *ctx, const hd_manifest *manifest,
                                 const hd_values *values) {
  HD_TRY(check_apart(ctx, manifest, values, HD_ARG_STRIDE_D, HD_ARG_LDD));
  return manifest->aux ? check_apart(ctx, manifest, values, HD_ARG_STRIDE_AUX, HD_ARG_LDAUX)
                       : HEDDLE_OK;
}

/* Checks sizes first, because the minimum strides are expressions of sizes. */
static heddle_status check_numbers(heddle_context *ctx, const hd_manifest *manifest,
                                   const hd_values *values) {
  for (int pass = 0; pass < 2; pass++) {
    heddle_arg_class class = pass == 0 ? HEDDLE_CLASS_I32 : HEDDLE_CLASS_I64;
    for (int i = 0; i < manifest->n_args; i++) {
      const hd_arg *arg = &manifest->arg[i];
      if (hd_arg_class_of(arg->kind) == class)
        HD_TRY(hd_manifest_check_number(ctx, arg, values));
    }
  }
  bool is_batch = values->v[HD_ARG_G] > 1 && !hd_manifest_is_grouped(manifest);
  return is_batch ? check_batch(ctx, manifest, values) : HEDDLE_OK;
}

/* Checks all pointers, or if `only` is set, those that this variant takes. */
static heddle_status check_pointers(heddle_context *ctx, const hd_manifest *manifest,
                                    const hd_variant *only, const hd_values *values,
                                    uint64_t workspace_bytes) {
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    if (hd_arg_class_of(arg->kind) != HEDDLE_CLASS_PTR ||
        (only && !hd_variant_takes(only, arg->kind)))
      continue;
    uint64_t value = values->v[arg->kind];
    bool may_be_null =
        arg->kind == HD_ARG_USER || (arg->kind == HD_ARG_WORKSPACE && workspace_bytes == 0);
    if (value == 0 && !may_be_null)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.null",
                      "argument %s: got a null pointer; legal: device memory",
                      hd_arg_name(arg->kind));
    if (arg->align > 1 && (value & (uint64_t)(arg->align - 1)) != 0) /* a power of two */
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.align",
                      "argument %s: got address 0x%" PRIx64 "; legal: a multiple of %d bytes",
                      hd_arg_name(arg->kind), value, arg->align);
  }
  return HEDDLE_OK;
}

static const hd_requirement *unmet(const hd_manifest *manifest, const hd_variant *variant,
                                   const hd_values *values) {
  bool in_bucket = manifest->bucket_size != HD_ARG_NONE; /* first_of_bucket compared its border */
  for (int i = 0; i < variant->n_requirements; i++) {
    const hd_requirement *r = &variant->requirement[i];
    if (in_bucket && r->at_most > 0)
      continue;
    if (!hd_requirement_is_met(r, hd_expr_eval(&r->value, values)))
      return r;
  }
  return NULL;
}

/* The first variant whose bucket contains the launch's size. Counts the borders below the size with
 * vector instructions: those of whole blocks, then those of the block that it is in. A binary
 * search would be slower: sizes arrive in no order, so each of its steps waits for the previous one
 * or mispredicts a branch. */
static int first_of_bucket(const hd_manifest *manifest, const hd_values *values) {
  if (manifest->bucket_size == HD_ARG_NONE)
    return 0;
  int32_t size = (int32_t)values->v[manifest->bucket_size]; /* checked: 31 bits */
  int32_t block = 0, below = 0;
  for (int32_t i = 0; i < HD_BORDER_BLOCKS; i++)
    block += manifest->last_border[i] < size;
  for (int32_t i = 0; i < HD_BORDER_BLOCK; i++)
    below += manifest->border[block * HD_BORDER_BLOCK + i] < size;
  return manifest->bucket_first[block * HD_BORDER_BLOCK + below];
}

static heddle_status pick_variant(heddle_context *ctx, const hd_manifest *manifest,
                                  const hd_values *values, const hd_variant **variant) {
  const hd_requirement *missing = NULL;
  for (int i = first_of_bucket(manifest, values); i < manifest->n_variants; i++) {
    if (hd_variant_serves(&manifest->variant[i]))
      continue;
    missing = unmet(manifest, &manifest->variant[i], values);
    if (!missing) {
      *variant = &manifest->variant[i];
      return HEDDLE_OK;
    }
  }
  if (!missing)
    return HD_BUG(ctx, "a manifest without variants for every size");
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "launch.variant",
                  "no variant of %s fits: argument %s times %" PRId64 " plus %" PRId64
                  " gives %" PRId64 "; legal: a multiple of %" PRId64,
                  manifest->name, hd_arg_name(missing->value.arg), missing->value.mul,
                  missing->value.add, hd_expr_eval(&missing->value, values), missing->modulo);
}

/* For sizes, which fit 31 bits: a 32-bit division costs a third of a 64-bit division. */
static uint64_t ceil_div(uint64_t x, int32_t by) {
  return ((uint32_t)x + (uint32_t)by - 1) / (uint32_t)by;
}

/* Number of tiles along N. For groups the maximum, because each group may end with a partial tile.
 * ORDER group_columns: launcher_c.c. */
static uint64_t tile_columns(const hd_variant *variant, const hd_values *values,
                             bool is_grouped) {
  uint64_t n = values->v[HD_ARG_N], g = values->v[HD_ARG_G], whole = ceil_div(n, variant->tile_n);
  uint64_t t = values->v[HD_ARG_T];
  if (variant->runs_behind) /* a grid is never empty */
    return t > 0 ? ceil_div(t, variant->tile_n) : 1;
  if (!is_grouped)
    return whole;
  return g && n ? whole + (g < n ? g : n) - 1 : 0;
}

static heddle_status count_tiles(heddle_context *ctx, const hd_variant *variant,
                                 const hd_values *values, bool is_grouped, uint32_t *n_tiles) {
  int32_t cluster = variant->tile_cluster;
  uint64_t rows =
      hd_variant_serves(variant) ? 1 : ceil_div(values->v[HD_ARG_M], variant->tile_m * cluster);
  uint64_t tiles =
      rows * (uint64_t)cluster * tile_columns(variant, values, is_grouped);
  uint64_t most = (uint64_t)(INT32_MAX - variant->cluster) / (uint64_t)variant->split_k;
  uint64_t matrices = is_grouped ? 1 : values->v[HD_ARG_G];
  if (matrices > 1 && tiles > most / matrices)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "launch.grid",
                    "m %" PRIu64 " by n %" PRIu64 " makes %" PRIu64
                    " tiles of %dx%d in each of g %" PRIu64 "; legal: up to %" PRIu64
                    " in all, which fit a grid",
                    values->v[HD_ARG_M], values->v[HD_ARG_N], tiles, variant->tile_m,
                    variant->tile_n, matrices, most);
  if (tiles > most)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "launch.grid",
                    "m %" PRIu64 " by n %" PRIu64 " makes %" PRIu64
                    " tiles of %dx%d; legal: up to %" PRIu64 ", which fit a grid",
                    values->v[HD_ARG_M], values->v[HD_ARG_N], tiles, variant->tile_m,
                    variant->tile_n, most);
  *n_tiles = (uint32_t)tiles * (uint32_t)variant->split_k * (uint32_t)matrices;
  return HEDDLE_OK;
}

/* The tiles and CTAs of a launch, and the workspace slots that they use. */
typedef struct geometry {
  uint32_t n_tiles, grid, n_slots;
} geometry;

static uint32_t grid_of(const hd_variant *variant, uint32_t n_tiles, uint32_t resident) {
  uint32_t cluster = (uint32_t)variant->cluster, fit = resident / cluster * cluster;
  uint32_t grid = (n_tiles + cluster - 1) / cluster * cluster;
  if (variant->persistent && resident > 0 && grid > fit)
    grid = fit > 0 ? fit : cluster;
  return grid;
}

/* Stream-K: the tiles that `workers` share, those of the partial wave and of the last whole wave.
 * Groups may have fewer tiles than `tiles`, and so up to two waves less one tile. ORDER
 * count_shared: launcher_c.c. */
static uint32_t count_shared(uint32_t tiles, uint32_t workers, bool is_grouped) {
  if (is_grouped)
    return tiles == 0 || tiles < 2 * workers ? tiles : 2 * workers - 1;
  return workers == 0 || tiles % workers == 0
             ? 0
             : tiles - (tiles > workers ? tiles / workers - 1 : 0) * workers;
}

/* With fewer tiles than resident CTAs, all tiles are shared, by at most one CTA per k-block.
 * Kernels count the k-blocks of shared tiles in 31 bits. */
static heddle_status share_tiles(heddle_context *ctx, const hd_variant *variant,
                                 const hd_values *values, uint32_t resident,
                                 bool is_grouped, geometry *g) {
  uint32_t cluster = (uint32_t)variant->cluster, fit = resident / cluster,
           tiles = g->n_tiles / cluster;
  uint64_t k_blocks = ceil_div(values->v[HD_ARG_K], variant->stream_granule);
  uint64_t most = tiles * k_blocks < fit ? tiles * k_blocks : fit;
  uint32_t workers = tiles < most ? (uint32_t)most : g->grid / cluster;
  uint32_t shared = count_shared(tiles, workers, is_grouped);
  if (shared * k_blocks + workers > INT32_MAX)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "launch.grid",
                    "k %" PRIu64 " makes %" PRIu64
                    " k-blocks in each of %u tiles that %u CTAs share; legal: up to %" PRIu64,
                    values->v[HD_ARG_K], k_blocks, shared, workers,
                    (uint64_t)(INT32_MAX - (int64_t)workers) / shared);
  g->grid = workers * cluster;
  g->n_slots = shared > 0 ? (workers + shared) * cluster : 0;
  return HEDDLE_OK;
}

static heddle_status find_geometry(heddle_context *ctx, const hd_manifest *manifest,
                                   const hd_variant *variant, const hd_values *values,
                                   uint32_t resident, geometry *g) {
  *g = (geometry){0};
  bool is_grouped = hd_manifest_is_grouped(manifest);
  HD_TRY(count_tiles(ctx, variant, values, is_grouped, &g->n_tiles));
  g->grid = grid_of(variant, g->n_tiles, resident);
  g->n_slots = g->n_tiles;
  return variant->stream_granule ? share_tiles(ctx, variant, values, resident, is_grouped, g)
                                 : HEDDLE_OK;
}

static heddle_status workspace_of(heddle_context *ctx, const hd_variant *variant,
                                  const hd_values *values, uint32_t n_slots, uint64_t *n_bytes) {
  *n_bytes = 0;
  if (variant->workspace_bytes_per_tile.div <= 0)
    return HEDDLE_OK;
  int64_t each = hd_expr_eval(&variant->workspace_bytes_per_tile, values);
  if (each < 0 || (n_slots > 0 && (uint64_t)each > MAX_TMAP_STRIDE / n_slots))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "launch.workspace",
                    "%" PRId64 " bytes of workspace for each of %u tiles; legal: up to 2^40 in all",
                    each, n_slots);
  *n_bytes = (uint64_t)each * n_slots;
  return HEDDLE_OK;
}

static heddle_status fill_tmap(heddle_context *ctx, const hd_tmap_recipe *recipe,
                               const hd_values *values, hd_tmap *tmap) {
  const char *name = hd_arg_name(recipe->base);
  *tmap = (hd_tmap){.base = values->v[recipe->base], .elem = recipe->elem, .rank = recipe->rank,
                    .swizzle = recipe->swizzle};
  if (tmap->base % TMAP_ALIGN != 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.tmap",
                    "tensor map of %s: address 0x%" PRIx64 " is not a multiple of 16 bytes", name,
                    tmap->base);
  for (int i = 0; i < recipe->rank; i++) {
    tmap->dim[i] = (uint64_t)hd_expr_eval(&recipe->dim[i], values);
    tmap->stride[i] = i == 0 ? 0 : (uint64_t)hd_expr_eval(&recipe->stride[i], values);
    if (i > 0 && tmap->stride[i] == 0 && hd_arg_is_batch_stride(recipe->stride[i].arg))
      tmap->stride[i] = TMAP_ALIGN;
    tmap->box[i] = (uint32_t)recipe->box[i];
    if (tmap->dim[i] < 1 || tmap->dim[i] > MAX_TMAP_DIM)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.tmap",
                      "tensor map of %s: dimension %d is %" PRIu64 "; legal: 1 to 2^32", name, i,
                      tmap->dim[i]);
    if (tmap->stride[i] % TMAP_ALIGN != 0 || tmap->stride[i] >= MAX_TMAP_STRIDE)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.tmap",
                      "tensor map of %s: stride %d is %" PRIu64
                      " bytes; legal: a multiple of 16 below 2^40",
                      name, i, tmap->stride[i]);
  }
  return HEDDLE_OK;
}

/* Plans the variant that is launched before or after, and raises the workspace to its size. */
static heddle_status plan_serving(heddle_context *ctx, const hd_manifest *manifest,
                                  const hd_values *values, const uint32_t *max_resident,
                                  int32_t index, const hd_variant **serving, uint32_t *grid,
                                  hd_launch_plan *plan) {
  geometry g;
  uint64_t n_bytes;
  const hd_variant *variant = &manifest->variant[index];
  HD_TRY(find_geometry(ctx, manifest, variant, values, max_resident ? max_resident[index] : 0,
                       &g));
  HD_TRY(workspace_of(ctx, variant, values, g.n_slots, &n_bytes));
  *serving = variant;
  *grid = g.grid;
  plan->workspace_bytes = n_bytes > plan->workspace_bytes ? n_bytes : plan->workspace_bytes;
  return HEDDLE_OK;
}

/* Fills in the plan except its tensor maps. Requires M, N and G above 0. */
static heddle_status plan_grid(heddle_context *ctx, const hd_manifest *manifest,
                               const hd_values *values, const uint32_t *max_resident,
                               hd_launch_plan *plan) {
  geometry g;
  HD_TRY(pick_variant(ctx, manifest, values, &plan->variant));
  ptrdiff_t index = plan->variant - manifest->variant;
  uint32_t resident = max_resident ? max_resident[index] : 0;
  HD_TRY(find_geometry(ctx, manifest, plan->variant, values, resident, &g));
  HD_TRY(workspace_of(ctx, plan->variant, values, g.n_slots, &plan->workspace_bytes));
  if (plan->variant->ahead)
    HD_TRY(plan_serving(ctx, manifest, values, max_resident, plan->variant->ahead - 1,
                        &plan->ahead, &plan->ahead_grid, plan));
  if (plan->variant->behind)
    HD_TRY(plan_serving(ctx, manifest, values, max_resident, plan->variant->behind - 1,
                        &plan->behind, &plan->behind_grid, plan));
  HD_TRY(check_pointers(ctx, manifest, NULL, values, plan->workspace_bytes));
  plan->n_tiles = g.n_tiles;
  plan->grid_x = g.grid;
  return HEDDLE_OK;
}

/* The products are empty. With combine_d, the columns of D are empty sums, so the combine kernel
 * runs alone and writes zeros. */
static heddle_status plan_empty(heddle_context *ctx, const hd_manifest *manifest,
                                const hd_values *values, const uint32_t *max_resident,
                                hd_launch_plan *plan) {
  const hd_variant *combiner = hd_manifest_combiner(manifest);
  geometry g;
  if (!combiner || values->v[HD_ARG_M] == 0 || values->v[HD_ARG_T] == 0)
    return HEDDLE_OK;
  ptrdiff_t index = combiner - manifest->variant;
  uint32_t resident = max_resident ? max_resident[index] : 0;
  HD_TRY(find_geometry(ctx, manifest, combiner, values, resident, &g));
  HD_TRY(check_pointers(ctx, manifest, combiner, values, 0));
  plan->variant = combiner;
  plan->n_tiles = g.n_tiles;
  plan->grid_x = g.grid;
  return HEDDLE_OK;
}

/* Does not clear or copy unused tensor maps, which once took a third of the time. */
heddle_status hd_manifest_plan(heddle_context *ctx, const hd_manifest *manifest, hd_values *values,
                               const uint32_t *max_resident, hd_launch_plan *plan) {
  hd_launch_plan made;
  made.variant = &manifest->variant[0];
  made.ahead = made.behind = NULL;
  made.ahead_grid = made.behind_grid = 0;
  made.grid_x = made.n_tiles = 0;
  made.workspace_bytes = 0;
  fill_fixed(manifest, values);
  HD_TRY(check_numbers(ctx, manifest, values));
  bool is_empty =
      values->v[HD_ARG_M] == 0 || values->v[HD_ARG_N] == 0 || values->v[HD_ARG_G] == 0;
  HD_TRY(is_empty ? plan_empty(ctx, manifest, values, max_resident, &made)
                  : plan_grid(ctx, manifest, values, max_resident, &made));
  int32_t n_tmaps = is_empty ? 0 : made.variant->n_tmaps;
  for (int32_t i = 0; i < n_tmaps; i++)
    HD_TRY(fill_tmap(ctx, &made.variant->tmap[i], values, &made.tmap[i]));
  plan->variant = made.variant;
  plan->ahead = made.ahead;
  plan->ahead_grid = made.ahead_grid;
  plan->behind = made.behind;
  plan->behind_grid = made.behind_grid;
  plan->grid_x = made.grid_x;
  plan->n_tiles = made.n_tiles;
  plan->workspace_bytes = made.workspace_bytes;
  for (int32_t i = 0; i < n_tmaps; i++)
    plan->tmap[i] = made.tmap[i];
  return HEDDLE_OK;
}

/* True if the variant belongs to a bucket of smaller sizes, so that no pointers can select it. */
static bool is_out_of_bounds(const hd_variant *variant, const hd_values *values) {
  for (int i = 0; i < variant->n_requirements; i++) {
    const hd_requirement *r = &variant->requirement[i];
    if (r->at_most > 0 && hd_expr_eval(&r->value, values) > r->at_most)
      return true;
  }
  return false;
}

heddle_status hd_manifest_workspace(heddle_context *ctx, const hd_manifest *manifest,
                                    hd_values *values, const uint32_t *max_resident,
                                    uint64_t *n_bytes) {
  uint64_t most = 0;
  fill_fixed(manifest, values);
  HD_TRY(check_numbers(ctx, manifest, values));
  for (int i = 0; i < manifest->n_variants; i++) {
    const hd_variant *variant = &manifest->variant[i];
    geometry g;
    uint64_t each;
    if (is_out_of_bounds(variant, values))
      continue;
    HD_TRY(find_geometry(ctx, manifest, variant, values, max_resident ? max_resident[i] : 0, &g));
    HD_TRY(workspace_of(ctx, variant, values, g.n_slots, &each));
    most = each > most ? each : most;
  }
  *n_bytes = most;
  return HEDDLE_OK;
}
