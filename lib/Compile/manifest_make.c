#include "Compile/manifest_make.h"

#include <string.h>

#include "Compile/combine_kernel.h"
#include "Compile/copy_kernel.h"
#include "Schedule/resources.h"
#include "Support/batch.h"

static hd_swizzle swizzle_of(int64_t bytes) {
  return bytes == 128  ? HD_SWIZZLE_128
         : bytes == 64 ? HD_SWIZZLE_64
         : bytes == 32 ? HD_SWIZZLE_32
                       : HD_SWIZZLE_NONE;
}

static void make_tmap(const hd_op *op, hd_tmap_recipe *recipe) {
  const hd_attr *dims = hd_op_attr(op, HD_ATTR_DIMS), *strides = hd_op_attr(op, HD_ATTR_STRIDES);
  const hd_attr *box = hd_op_attr(op, HD_ATTR_BOX);
  *recipe = (hd_tmap_recipe){.base = hd_op_arg(op),
                             .elem = hd_op_elem(op, HD_ATTR_TYPE),
                             .rank = dims->n,
                             .swizzle = swizzle_of(hd_op_int(op, HD_ATTR_SWIZZLE, 0))};
  for (int32_t i = 0; i < dims->n; i++) {
    recipe->dim[i] = dims->exprs[i];
    recipe->stride[i] = i > 0 ? strides->exprs[i] : (hd_expr){0};
    recipe->box[i] = (int32_t)box->ints[i];
  }
}

/* Whether a variant can hold the kernel's parameters. */
static bool params_fit(const hd_emit_kernel *kernel) {
  int32_t n_tmaps = 0;
  for (int32_t i = 0; i < kernel->n_params; i++)
    n_tmaps += kernel->param[i]->kind == HD_OP_TMAP;
  return kernel->n_params <= HD_MAX_PARAMS && n_tmaps <= HD_MAX_TMAPS;
}

static void make_params(const hd_emit_kernel *kernel, hd_variant *variant) {
  for (int32_t i = 0; i < kernel->n_params; i++) {
    const hd_op *op = kernel->param[i];
    hd_param *param = &variant->param[variant->n_params++];
    *param = (hd_param){0};
    if (op->kind == HD_OP_TMAP) {
      param->tmap = variant->n_tmaps;
      make_tmap(op, &variant->tmap[variant->n_tmaps++]);
    } else {
      param->arg = hd_op_arg(op);
    }
  }
}

static void require(hd_arg_kind arg, int64_t mul, int64_t div, int64_t modulo,
                    hd_variant *variant) {
  variant->requirement[variant->n_requirements++] =
      (hd_requirement){{.arg = arg, .mul = mul, .div = div}, modulo, 0};
}

/* Requires that the size is at most the bucket's limit. */
static void require_bucket(const hd_op *kernel, hd_variant *variant) {
  static const char *const dims[] = {"m", "n", "k"};
  for (int i = 0; hd_op_has(kernel, HD_ATTR_BUCKET) && i < 3; i++)
    if (hd_op_is(kernel, HD_ATTR_BUCKET, dims[i]))
      variant->requirement[variant->n_requirements++] =
          (hd_requirement){{HD_ARG_M + i, 1, 0, 1}, 1, hd_op_int(kernel, HD_ATTR_AT_MOST, 0)};
}

/* Requires that base, pitch and batch stride of a matrix are multiples of `align` bytes. NONE: no
 * such argument. A vector has only a base. */
static void require_aligned(hd_arg_kind base, hd_arg_kind pitch, hd_arg_kind stride,
                            heddle_elem elem, int32_t align, hd_variant *variant) {
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  if (align <= (bytes ? bytes : 1))
    return;
  require(base, 1, 1, align, variant);
  if (pitch != HD_ARG_NONE)
    require(pitch, bytes ? bytes : 1, hd_elems_per_byte(elem), align, variant);
  if (stride != HD_ARG_NONE)
    require(stride, bytes ? bytes : 1, hd_elems_per_byte(elem), align, variant);
}

/* Requires that N consists of whole runs, and that operands which the epilogue reads by runs are
 * aligned. Variants with runs have no batch. */
static void require_runs(const hd_problem *p, hd_variant *variant) {
  require(HD_ARG_N, 1, 1, 4 * hd_d_run(p), variant);
  if (hd_reads_c_rows(p))
    require_aligned(HD_ARG_C, HD_ARG_LDC, HD_ARG_NONE, p->c.elem,
                    hd_run_align(p, p->c.elem), variant);
  if (hd_reads_bias_n(p))
    require_aligned(HD_ARG_BIAS, HD_ARG_NONE, HD_ARG_NONE, p->bias.elem,
                    hd_run_align(p, p->bias.elem), variant);
  if (hd_reads_scale_n(p))
    require_aligned(HD_ARG_SCALE_B, HD_ARG_NONE, HD_ARG_NONE, HEDDLE_F32,
                    hd_run_align(p, HEDDLE_F32), variant);
}

/* Requires that operands are aligned to the units that the variant copies. */
static void make_requirements(const hd_problem *p, const hd_b_variant *b, hd_variant *variant) {
  if (b->permutes)
    require_runs(p, variant);
  require_aligned(HD_ARG_B, HD_ARG_LDB,
                  hd_has_stride(p, &p->b) ? HD_ARG_STRIDE_B : HD_ARG_NONE, p->b.elem,
                  hd_b_variant_align(b, p->b.elem), variant);
  if (b->staged)
    require_aligned(HD_ARG_D, HD_ARG_LDD, hd_has_stride(p, &p->d) ? HD_ARG_STRIDE_D : HD_ARG_NONE,
                    p->d.elem,
                    HD_STAGED_ALIGN, variant);
  if (b->staged && hd_is_grouped(p) && !p->n.value)
    variant->requirement[variant->n_requirements++] =
        (hd_requirement){{HD_ARG_N, 1, 0, 1}, 1, HD_RAGGED_MOST};
}

/* Converts the kernel's workspace bytes per cluster tile of D to bytes per CTA tile and split. */
static void make_workspace(const hd_emit_kernel *kernel, hd_variant *variant) {
  for (int32_t i = 0; i < kernel->n_params; i++)
    if (kernel->param[i]->kind == HD_OP_ARG && hd_op_has(kernel->param[i], HD_ATTR_BYTES))
      variant->workspace_bytes_per_tile =
          (hd_expr){.add = hd_op_int(kernel->param[i], HD_ATTR_BYTES, 0),
                    .div = (int64_t)variant->tile_cluster * variant->split_k};
}

static void make_variant(const hd_plan *plan, const hd_emit_kernel *emitted, hd_arena *arena,
                         hd_variant *variant) {
  const hd_problem *p = &plan->p;
  const hd_schedule *s = &plan->s;
  char words[HD_SCHEDULE_TEXT];
  int32_t along_k =
      hd_schedule_along_k(s); /* CTAs of a cluster that share one tile; each counts for a part */
  hd_schedule_print(s, words);
  *variant = (hd_variant){.entry = hd_arena_strdup(arena, emitted->entry),
                          .path = plan->variant->name,
                          .schedule = hd_arena_strdup(arena, words),
                          .n_threads = emitted->n_threads,
                          .cluster = s->cluster_launch > 1 ? s->cluster_launch : emitted->cluster,
                          .tile_cluster = emitted->cluster,
                          .shared_bytes = emitted->shared_bytes,
                          .tile_m = s->tile_m / along_k,
                          .tile_n = s->tile_n,
                          .split_k = s->split_k / along_k,
                          .persistent = s->persistent,
                          .stream_granule = s->stream_k ? hd_k_block_size(p->a_elem) : 0,
                          .dependent_launch = hd_op_has(p->kernel, HD_ATTR_DEPENDENT),
                          .weights_ready = hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY)};
  if (variant->weights_ready && variant->shared_bytes < hd_schedule_shared_claim(p, s))
    variant->shared_bytes = hd_schedule_shared_claim(p, s);
  require_bucket(p->kernel, variant);
  make_requirements(p, plan->variant, variant);
  make_workspace(emitted, variant);
  make_params(emitted, variant);
}

/* tcgen05 reads the metadata format of wgmma, or that of mma for types that wgmma lacks. */
const char *hd_manifest_family(const hd_problem *p, const hd_schedule *s) {
  bool mma = hd_schedule_is_mma(s) || hd_elems_per_byte(p->a_elem) > 1;
  return mma ? "mma" : "wgmma";
}

/* The kernel that copies B runs before those that read the copy. Its tiles are rows of B. */
static void make_copy(const hd_problem *p, const hd_emit_kernel *emitted, hd_arena *arena,
                      hd_manifest *m) {
  int32_t rows = hd_copy_kernel_rows(p);
  hd_variant *v = &m->variant[m->n_variants++];
  *v = (hd_variant){.entry = hd_arena_strdup(arena, emitted->entry), .path = "copy_b",
                    .n_threads = emitted->n_threads, .cluster = 1, .tile_cluster = 1,
                    .shared_bytes = emitted->shared_bytes, .tile_m = 1, .tile_n = rows,
                    .split_k = 1, .persistent = true, .runs_ahead = true,
                    .workspace_bytes_per_tile = {.add = rows * hd_copied_pitch(p), .div = 1}};
  make_params(emitted, v);
}

/* The combine kernel runs after those whose columns it combines. Its tiles are columns of D. */
static void make_combine(const hd_problem *p, const hd_emit_kernel *emitted, hd_arena *arena,
                         hd_manifest *m) {
  hd_variant *v = &m->variant[m->n_variants++];
  *v = (hd_variant){.entry = hd_arena_strdup(arena, emitted->entry), .path = "combine",
                    .n_threads = emitted->n_threads, .cluster = 1, .tile_cluster = 1,
                    .shared_bytes = emitted->shared_bytes, .tile_m = 1,
                    .tile_n = hd_combine_kernel_columns(p), .split_k = 1, .persistent = true,
                    .runs_behind = true,
                    .dependent_launch = hd_combine_kernel_is_dependent(p)};
  make_params(emitted, v);
}

/* The counters of split-K and stream-K would lie where another bucket's launch copies B to. */
heddle_status hd_refuse_copied_split(heddle_context *ctx, const hd_problem *p, const char *what) {
  return hd_error(ctx, HEDDLE_INVALID, p->kernel->loc, "schedule.copied-split",
                  "one %s has b=copied, and another one shares tiles through the workspace; legal: "
                  "one of them in a kernel; nearest: b=auto",
                  what);
}

/* Makes the variants of all buckets, which must all read the same packed A. */
static heddle_status make_variants(heddle_context *ctx, const hd_problem *p,
                                   const hd_plan *const *plans, const hd_emit_result *emitted,
                                   hd_arena *arena, hd_manifest *m) {
  bool shares = false, served = !plans[emitted->n_kernels - 1], copies = served && !p->combine;
  int32_t n_plans = emitted->n_kernels - served;
  m->family = hd_manifest_family(p, &plans[n_plans - 1]->s);
  for (; m->n_variants < n_plans; m->n_variants++) {
    const hd_plan *plan = plans[m->n_variants];
    const char *plane = hd_manifest_family(p, &plan->s);
    if (strcmp(plane, m->family) != 0)
      return hd_error(ctx, HEDDLE_INVALID, plan->p.kernel->loc, "schedule.buckets",
                      "family=%s reads A packed for %s, but the last bucket reads A packed for %s; "
                      "legal: one family in all buckets",
                      hd_key_word(HD_KEY_FAMILY, plan->s.family), plane, m->family);
    make_variant(plan, &emitted->kernel[m->n_variants], arena, &m->variant[m->n_variants]);
    m->variant[m->n_variants].ahead = plan->s.b_path == HD_B_COPIED ? n_plans + 1 : 0;
    m->variant[m->n_variants].behind = p->combine ? n_plans + 1 : 0;
    shares |= plan->s.split_k > hd_schedule_along_k(&plan->s) || plan->s.stream_k;
  }
  if (copies)
    make_copy(p, &emitted->kernel[n_plans], arena, m);
  else if (served)
    make_combine(p, &emitted->kernel[n_plans], arena, m);
  hd_manifest_args(p, shares || served, m);
  return shares && copies ? hd_refuse_copied_split(ctx, p, "bucket") : HEDDLE_OK;
}

heddle_status hd_manifest_make(heddle_context *ctx, const hd_problem *p,
                               const hd_plan *const *plans, const hd_emit_result *emitted,
                               hd_hash hash, hd_arena *arena, hd_manifest *manifest) {
  hd_manifest m = {.name = hd_arena_strdup(arena, hd_op_str(p->kernel, HD_ATTR_NAME)),
                   .target = p->target->name,
                   .ptx_version = p->target->llvm_ptx,
                   .a_elem = p->a_elem,
                   .b_elem = p->b.elem,
                   .c_elem = p->c.elem,
                   .d_elem = p->d.elem,
                   .acc_elem = p->acc_elem,
                   .bias_elem = p->bias.elem,
                   .b_mn_major = p->b.transposed,
                   .d_col_major = p->d.transposed,
                   .c_col_major = p->c.transposed,
                   .bias_along_n = p->bias_along_n,
                   .scale_a_one = p->scale_a.one,
                   .scale_b_one = p->scale_b.one,
                   .slots = p->combine ? (int32_t)hd_combine_slots(p) : 0,
                   .statistic = !p->reduce ? NULL
                                : p->scale_d ? "scale"
                                             : hd_arena_strdup(arena, p->reduce),
                   .scale_b_statistic =
                       p->statistic ? hd_arena_strdup(arena, p->statistic) : NULL,
                   .aux = p->aux_of ? hd_arena_strdup(arena, p->aux_of) : NULL,
                   .scale_block = p->block,
                   .scale_tiles = hd_scales_in_tiles(p),
                   .scale_rows = p->block_rows,
                   .act = hd_arena_strdup(arena, p->act),
                   .user_function = p->user ? hd_arena_strdup(arena, p->user) : NULL};
  hd_hash_format(hash, m.hash);
  for (int32_t i = 0; i < emitted->n_kernels; i++)
    if (!params_fit(&emitted->kernel[i]))
      return HD_BUG(ctx, "a kernel has more parameters or tensor maps than a manifest holds");
  HD_TRY(make_variants(ctx, p, plans, emitted, arena, &m));
  HD_TRY(hd_manifest_check(ctx, &m));
  hd_manifest_index(&m);
  *manifest = m;
  return HEDDLE_OK;
}
