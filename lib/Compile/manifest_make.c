#include "Compile/manifest_make.h"

#include <stdlib.h>
#include <string.h>

#include "Passes/schedule_room.h"
#include "Passes/variants.h"

enum { WORKSPACE_ALIGN = 16 }; /* partials move 16 bytes a lane */

static hd_arg *add_arg(hd_manifest *m, hd_arg_kind kind) {
  hd_arg *arg = &m->arg[m->n_args++];
  *arg = (hd_arg){.kind = kind, .divisible_by = 1, .align = 1};
  return arg;
}

static void add_pointer(hd_manifest *m, hd_arg_kind kind, heddle_elem elem, int32_t align) {
  hd_arg *arg = add_arg(m, kind);
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  arg->elem = elem;
  arg->align = align ? align : bytes ? bytes : 1;
}

static int64_t least_common_multiple(int64_t x, int64_t y) {
  int64_t a = x, b = y;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return x / a * y;
}

static void add_size(hd_manifest *m, hd_arg_kind kind, const hd_size *size, int64_t group) {
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = size->value;
  arg->max = size->value ? 0 : size->max ? size->max : HD_SIZE_MOST;
  arg->divisible_by = size->value ? 1 : least_common_multiple(size->divisible_by, group);
}

static void add_pitch(hd_manifest *m, hd_arg_kind kind, const hd_dense *x, hd_arg_kind row) {
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = x->ld;
  arg->divisible_by =
      x->ld ? 1 : least_common_multiple(x->divisible_by, hd_elems_per_byte(x->elem));
  arg->at_least = (hd_expr){.arg = row, .mul = 1, .div = 1};
}

/* A granule's scales of all rows. */
static void add_scale_pitch(hd_manifest *m, hd_arg_kind kind, const hd_problem *p,
                            const hd_dense *x, hd_arg_kind rows) {
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = x->ld;
  arg->divisible_by = HD_SCALE_ALIGN;
  arg->at_least = (hd_expr){.arg = rows, .mul = hd_scales_a_row(p), .div = 1};
}

static void add_args(const hd_problem *p, const hd_schedule *s, hd_manifest *m) {
  add_pointer(m, HD_ARG_A, p->a_elem, 128);
  add_pointer(m, HD_ARG_B, p->b.elem, 0);
  if (p->c.op)
    add_pointer(m, HD_ARG_C, p->c.elem, 0);
  add_pointer(m, HD_ARG_D, p->d.elem, 0);
  if (p->bias.op)
    add_pointer(m, HD_ARG_BIAS, p->bias.elem, 0);
  if (p->scale_a.op)
    add_pointer(m, HD_ARG_SCALE_A, p->scale_a.elem, 0);
  if (p->scale_b.op)
    add_pointer(m, HD_ARG_SCALE_B, p->scale_b.elem, 0);
  if (p->block) {
    add_pointer(m, HD_ARG_BLOCK_SCALE_A, p->block_a.elem, HD_SCALE_ALIGN);
    add_pointer(m, HD_ARG_BLOCK_SCALE_B, p->block_b.elem, HD_SCALE_ALIGN);
  }
  if (p->user)
    add_pointer(m, HD_ARG_USER, HEDDLE_U8, 1);
  add_size(m, HD_ARG_M, &p->m, 1);
  add_size(m, HD_ARG_N, &p->n, 1);
  add_size(m, HD_ARG_K, &p->k, heddle_elem_get(p->a_elem)->group);
  add_pitch(m, HD_ARG_LDB, &p->b, p->b.transposed ? HD_ARG_N : HD_ARG_K);
  if (p->c.op)
    add_pitch(m, HD_ARG_LDC, &p->c, p->c.transposed ? HD_ARG_M : HD_ARG_N);
  add_pitch(m, HD_ARG_LDD, &p->d, p->d.transposed ? HD_ARG_M : HD_ARG_N);
  if (p->block && !hd_scales_in_tiles(p)) {
    add_scale_pitch(m, HD_ARG_LDSA, p, &p->block_a, HD_ARG_M);
    add_scale_pitch(m, HD_ARG_LDSB, p, &p->block_b, HD_ARG_N);
  }
  if (p->alpha)
    add_arg(m, HD_ARG_ALPHA);
  if (p->beta)
    add_arg(m, HD_ARG_BETA);
  if (s->split_k > hd_schedule_along_k(s) || s->stream_k)
    add_pointer(m, HD_ARG_WORKSPACE, HEDDLE_U8, WORKSPACE_ALIGN);
}

/* "ldb*2+0/1": every part but the first may be absent, which is a name or a number. */
static heddle_status parse_expr(const char *text, hd_expr *expr) {
  char name[16] = "", *at = (char *)text;
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
  if (n >= sizeof name)
    return HEDDLE_INVALID;
  *expr = (hd_expr){.mul = 1, .div = 1};
  if (n == 0)
    expr->mul = strtoll(text, &at, 10);
  else
    HD_TRY(hd_arg_parse(memcpy(name, text, n), &expr->arg));
  for (at += n; *at;) {
    char op = *at;
    int64_t value = strtoll(at + 1, &at, 10);
    if (op == '*')
      expr->mul = value;
    else if (op == '+')
      expr->add = value;
    else if (op == '/')
      expr->div = value;
    else
      return HEDDLE_INVALID;
  }
  return HEDDLE_OK;
}

static hd_swizzle swizzle_of(int64_t bytes) {
  return bytes == 128  ? HD_SWIZZLE_128
         : bytes == 64 ? HD_SWIZZLE_64
         : bytes == 32 ? HD_SWIZZLE_32
                       : HD_SWIZZLE_NONE;
}

static heddle_status make_tmap(heddle_context *ctx, const hd_op *op, hd_tmap_recipe *recipe) {
  const hd_attr *dims = hd_op_attr(op, HD_ATTR_DIMS), *strides = hd_op_attr(op, HD_ATTR_STRIDES);
  const hd_attr *box = hd_op_attr(op, HD_ATTR_BOX);
  *recipe = (hd_tmap_recipe){.elem = hd_op_elem(op, HD_ATTR_TYPE),
                             .rank = dims->n,
                             .swizzle = swizzle_of(hd_op_int(op, HD_ATTR_SWIZZLE, 0))};
  HD_TRY(hd_arg_parse(hd_op_str(op, HD_ATTR_ARG), &recipe->base));
  for (int32_t i = 0; i < dims->n; i++) {
    heddle_status status = parse_expr(dims->strings[i], &recipe->dim[i]);
    if (status == HEDDLE_OK && i > 0)
      status = parse_expr(strides->strings[i], &recipe->stride[i]);
    if (status != HEDDLE_OK)
      return hd_error(ctx, HEDDLE_INTERNAL, op->loc, "manifest.expr", "bad expression of a tmap");
    recipe->box[i] = (int32_t)box->ints[i];
  }
  return HEDDLE_OK;
}

static heddle_status make_params(heddle_context *ctx, const hd_emit_kernel *kernel,
                                 hd_variant *variant) {
  for (int32_t i = 0; i < kernel->n_params; i++) {
    const hd_op *op = kernel->param[i];
    hd_param *param = &variant->param[variant->n_params++];
    *param = (hd_param){0};
    if (op->kind == HD_OP_TMAP) {
      param->tmap = variant->n_tmaps;
      HD_TRY(make_tmap(ctx, op, &variant->tmap[variant->n_tmaps++]));
    } else {
      HD_TRY(hd_arg_parse(hd_op_str(op, HD_ATTR_ARG), &param->arg));
    }
  }
  return HEDDLE_OK;
}

static void require(hd_arg_kind arg, int64_t mul, int64_t div, int64_t modulo,
                    hd_variant *variant) {
  variant->requirement[variant->n_requirements++] =
      (hd_requirement){{.arg = arg, .mul = mul, .div = div}, modulo};
}

/* Base and pitch of a matrix are multiples of `align` bytes; of a vector (pitch NONE) its base. */
static void require_aligned(hd_arg_kind base, hd_arg_kind pitch, heddle_elem elem, int32_t align,
                            hd_variant *variant) {
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  if (align <= (bytes ? bytes : 1))
    return;
  require(base, 1, 1, align, variant);
  if (pitch != HD_ARG_NONE)
    require(pitch, bytes ? bytes : 1, hd_elems_per_byte(elem), align, variant);
}

/* N in whole runs, and what the epilogue reads by runs. */
static void require_runs(const hd_problem *p, hd_variant *variant) {
  require(HD_ARG_N, 1, 1, 4 * hd_d_run(p), variant);
  if (hd_reads_c_rows(p))
    require_aligned(HD_ARG_C, HD_ARG_LDC, p->c.elem, hd_run_align(p, p->c.elem), variant);
  if (hd_reads_bias_n(p))
    require_aligned(HD_ARG_BIAS, HD_ARG_NONE, p->bias.elem, hd_run_align(p, p->bias.elem), variant);
  if (hd_reads_scale_n(p))
    require_aligned(HD_ARG_SCALE_B, HD_ARG_NONE, HEDDLE_F32, hd_run_align(p, HEDDLE_F32), variant);
}

/* Whole units of what the variant copies at once. */
static void make_requirements(const hd_problem *p, const hd_b_variant *b, hd_variant *variant) {
  if (b->permutes)
    require_runs(p, variant);
  require_aligned(HD_ARG_B, HD_ARG_LDB, p->b.elem, hd_b_variant_align(b, p->b.elem), variant);
  if (b->staged)
    require_aligned(HD_ARG_D, HD_ARG_LDD, p->d.elem, HD_STAGED_ALIGN, variant);
}

/* The kernel's bytes for a tile of D (in clusters), as bytes for each split or part of each
 * tile. */
static void make_workspace(const hd_emit_kernel *kernel, hd_variant *variant) {
  for (int32_t i = 0; i < kernel->n_params; i++)
    if (kernel->param[i]->kind == HD_OP_ARG && hd_op_has(kernel->param[i], HD_ATTR_BYTES))
      variant->workspace_bytes_per_tile =
          (hd_expr){.add = hd_op_int(kernel->param[i], HD_ATTR_BYTES, 0),
                    .div = (int64_t)variant->cluster * variant->split_k};
}

static heddle_status make_variant(heddle_context *ctx, const hd_problem *p, const hd_schedule *s,
                                  const hd_op *kernel, const hd_emit_kernel *emitted,
                                  hd_arena *arena, hd_variant *variant) {
  const hd_b_variant *b = hd_b_variant_find(hd_op_str(kernel, HD_ATTR_VARIANT));
  int32_t along_k =
      hd_schedule_along_k(s); /* a cluster has one tile: each CTA counts for a part of it */
  *variant = (hd_variant){.entry = hd_arena_strdup(arena, emitted->entry),
                          .path = b->name,
                          .n_threads = emitted->n_threads,
                          .cluster = emitted->cluster,
                          .shared_bytes = emitted->shared_bytes,
                          .tile_m = s->tile_m / along_k,
                          .tile_n = s->tile_n,
                          .split_k = s->split_k / along_k,
                          .persistent = hd_op_has(kernel, HD_ATTR_PERSISTENT),
                          .stream_granule = s->stream_k ? hd_granule_k(p->a_elem) : 0,
                          .dependent_launch = hd_op_has(kernel, HD_ATTR_DEPENDENT),
                          .weights_ready = hd_op_has(kernel, HD_ATTR_WEIGHTS_READY)};
  if (variant->weights_ready && variant->shared_bytes < hd_schedule_shared_claim(p, s))
    variant->shared_bytes = hd_schedule_shared_claim(p, s);
  make_requirements(p, b, variant);
  make_workspace(emitted, variant);
  return make_params(ctx, emitted, variant);
}

/* The plane of A's metadata: tcgen05 takes those of wgmma, and of types that wgmma has not the
 * other's. */
static const char *plane_of(const hd_problem *p, const hd_schedule *s) {
  bool mma = strcmp(s->family, "mma") == 0 || hd_elems_per_byte(p->a_elem) > 1;
  return mma ? "mma" : "wgmma";
}

heddle_status hd_manifest_make(heddle_context *ctx, const hd_problem *p, const hd_schedule *s,
                               const hd_module *module, const hd_emit_result *emitted, hd_hash key,
                               hd_arena *arena, hd_manifest *manifest) {
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
                   .scale_block = p->block,
                   .scale_tiles = hd_scales_in_tiles(p),
                   .act = hd_arena_strdup(arena, p->act),
                   .user_function = p->user ? hd_arena_strdup(arena, p->user) : NULL,
                   .family = plane_of(p, s)};
  add_args(p, s, &m);
  hd_hash_format(key, m.hash);
  HD_FOR_OPS(kernel, module->body) {
    if (m.n_variants == HD_MAX_VARIANTS || m.n_variants == emitted->n_kernels)
      return HD_BUG(ctx, "more kernels than variants");
    HD_TRY(make_variant(ctx, p, s, kernel, &emitted->kernel[m.n_variants], arena,
                        &m.variant[m.n_variants]));
    m.n_variants++;
  }
  HD_TRY(hd_manifest_check(ctx, &m));
  *manifest = m;
  return HEDDLE_OK;
}
