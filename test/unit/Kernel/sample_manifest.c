#include "sample_manifest.h"

#include <string.h>

static hd_expr plain(hd_arg_kind arg, int64_t mul) { return (hd_expr){arg, mul, 0, 1}; }

static void add_arg(hd_manifest *m, hd_arg arg) {
  if (arg.divisible_by == 0)
    arg.divisible_by = 1;
  m->arg[m->n_args++] = arg;
}

static void add_args(hd_manifest *m) {
  add_arg(m, (hd_arg){.kind = HD_ARG_A, .align = 128, .elem = HEDDLE_BF16});
  add_arg(m, (hd_arg){.kind = HD_ARG_B, .align = 2, .elem = HEDDLE_BF16});
  add_arg(m, (hd_arg){.kind = HD_ARG_C, .align = 2, .elem = HEDDLE_BF16});
  add_arg(m, (hd_arg){.kind = HD_ARG_D, .align = 2, .elem = HEDDLE_BF16});
  add_arg(m, (hd_arg){.kind = HD_ARG_USER});
  add_arg(m, (hd_arg){.kind = HD_ARG_M, .max = 100000});
  add_arg(m, (hd_arg){.kind = HD_ARG_N});
  add_arg(m, (hd_arg){.kind = HD_ARG_K, .divisible_by = 4});
  add_arg(m, (hd_arg){.kind = HD_ARG_LDB, .at_least = plain(HD_ARG_K, 1)});
  add_arg(m, (hd_arg){.kind = HD_ARG_LDC, .at_least = plain(HD_ARG_N, 1)});
  add_arg(m, (hd_arg){.kind = HD_ARG_LDD, .at_least = plain(HD_ARG_N, 1)});
  add_arg(m, (hd_arg){.kind = HD_ARG_ALPHA});
  add_arg(m, (hd_arg){.kind = HD_ARG_BETA});
  add_arg(m, (hd_arg){.kind = HD_ARG_WORKSPACE, .align = 16});
}

static const hd_arg_kind params[] = {HD_ARG_A,   HD_ARG_B,   HD_ARG_C,     HD_ARG_D,
                                     HD_ARG_USER, HD_ARG_M,   HD_ARG_N,     HD_ARG_K,
                                     HD_ARG_LDB, HD_ARG_LDC, HD_ARG_LDD,   HD_ARG_ALPHA,
                                     HD_ARG_BETA, HD_ARG_WORKSPACE};

static hd_variant common_variant(void) {
  hd_variant v = {.n_threads = 384, .cluster = 1, .tile_cluster = 1,
                  .shared_bytes = 200 * 1024, .tile_m = 128,
                  .tile_n = 64, .split_k = 1};
  for (size_t i = 0; i < HD_COUNT(params); i++)
    v.param[v.n_params++].arg = params[i];
  return v;
}

static hd_variant tma_variant(void) {
  hd_variant v = common_variant();
  v.entry = "sample_tma";
  v.path = "tma";
  v.cluster = v.tile_cluster = 2;
  v.persistent = v.dependent_launch = v.weights_ready = true;
  v.n_registers = 168;
  v.param[1] = (hd_param){HD_ARG_NONE, 0};
  v.tmap[v.n_tmaps++] = (hd_tmap_recipe){
      .base = HD_ARG_B, .elem = HEDDLE_BF16, .rank = 2,
      .dim = {plain(HD_ARG_K, 1), plain(HD_ARG_N, 1)}, .stride = {{0}, plain(HD_ARG_LDB, 2)},
      .box = {64, 64}, .swizzle = HD_SWIZZLE_128};
  v.requirement[v.n_requirements++] = (hd_requirement){plain(HD_ARG_B, 1), 16, 0};
  v.requirement[v.n_requirements++] = (hd_requirement){plain(HD_ARG_LDB, 2), 16, 0};
  return v;
}

static hd_variant gather_variant(void) {
  hd_variant v = common_variant();
  v.entry = "sample_gather";
  v.path = "gather";
  v.split_k = 3;
  v.workspace_bytes_per_tile = (hd_expr){HD_ARG_NONE, 4096, 4, 1};
  v.requirement[v.n_requirements++] = (hd_requirement){plain(HD_ARG_LDB, 2), 4, 0};
  return v;
}

hd_manifest sample_manifest(void) {
  hd_manifest m = {.name = "sample", .target = "sm_90a", .ptx_version = 86, .a_elem = HEDDLE_BF16,
                   .b_elem = HEDDLE_BF16, .c_elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16,
                   .acc_elem = HEDDLE_F32, .bias_elem = HEDDLE_F32, .act = "user",
                   .user_function = "my_act", .family = "wgmma"};
  add_args(&m);
  m.variant[m.n_variants++] = tma_variant();
  m.variant[m.n_variants++] = gather_variant();
  strcpy(m.hash, "0123456789abcdef0123456789abcdef");
  return m;
}

hd_values sample_values(void) {
  hd_values v = {{0}};
  for (unsigned i = HD_ARG_A; i < HD_N_ARG_KINDS; i++)
    v.v[i] = hd_arg_class_of((hd_arg_kind)i) == HEDDLE_CLASS_PTR ? 0x10000u * i : 0;
  v.v[HD_ARG_M] = 256;
  v.v[HD_ARG_N] = 128;
  v.v[HD_ARG_K] = 64;
  v.v[HD_ARG_LDB] = 64;
  v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 128;
  v.v[HD_ARG_ALPHA] = v.v[HD_ARG_BETA] = 0x3f800000u;
  return v;
}

hd_manifest sample_batch(void) {
  hd_manifest m = sample_manifest();
  hd_variant *tma = &m.variant[0];
  add_arg(&m, (hd_arg){.kind = HD_ARG_G, .max = 1 << 20});
  add_arg(&m, (hd_arg){.kind = HD_ARG_STRIDE_B, .at_least = {.div = 1}});
  add_arg(&m, (hd_arg){.kind = HD_ARG_STRIDE_D, .at_least = plain(HD_ARG_N, 1)});
  tma->tmap[0].rank = 3;
  tma->tmap[0].dim[2] = plain(HD_ARG_G, 1);
  tma->tmap[0].stride[2] = plain(HD_ARG_STRIDE_B, 2);
  tma->tmap[0].box[2] = 1;
  tma->requirement[tma->n_requirements++] = (hd_requirement){plain(HD_ARG_STRIDE_B, 2), 16, 0};
  return m;
}

hd_manifest sample_copied(void) {
  hd_manifest m = sample_manifest();
  hd_variant copy = common_variant();
  copy.entry = "sample_copy_b";
  copy.path = "copy_b";
  copy.tile_m = 1;
  copy.tile_n = 8;
  copy.persistent = copy.runs_ahead = true;
  copy.workspace_bytes_per_tile = (hd_expr){HD_ARG_NONE, 8 * 1024, 0, 1};
  m.variant[m.n_variants++] = copy;
  m.variant[SAMPLE_GATHER].ahead = m.n_variants;
  return m;
}

hd_manifest sample_groups(void) {
  hd_manifest m = sample_manifest();
  add_arg(&m, (hd_arg){.kind = HD_ARG_G, .max = 1 << 10});
  add_arg(&m, (hd_arg){.kind = HD_ARG_STRIDE_A, .divisible_by = 128, .at_least = {.div = 1}});
  add_arg(&m, (hd_arg){.kind = HD_ARG_OFFSETS, .elem = HEDDLE_S32, .align = 4});
  for (int i = 0; i < m.n_variants; i++) {
    m.variant[i].persistent = true;
    m.variant[i].split_k = 1;
  }
  return m;
}

hd_manifest sample_streamed(void) {
  hd_manifest m = sample_manifest();
  m.variant[0].stream_granule = 16;
  m.variant[0].workspace_bytes_per_tile = (hd_expr){HD_ARG_NONE, 65536, 0, 1};
  return m;
}

hd_manifest sample_streamed_groups(void) {
  hd_manifest m = sample_groups();
  m.variant[0].stream_granule = 16;
  m.variant[0].workspace_bytes_per_tile = (hd_expr){HD_ARG_NONE, 65536, 0, 1};
  return m;
}

static void drop_arg(hd_manifest *m, hd_arg_kind kind) {
  int n = 0;
  for (int i = 0; i < m->n_args; i++)
    if (m->arg[i].kind != kind)
      m->arg[n++] = m->arg[i];
  m->n_args = n;
}

static void replace_param(hd_variant *v, hd_arg_kind kind, hd_arg_kind by) {
  for (int i = 0; i < v->n_params; i++)
    if (v->param[i].arg == kind)
      v->param[i].arg = by;
}

hd_manifest sample_combined(void) {
  static const hd_arg_kind of_c[] = {HD_ARG_C, HD_ARG_LDC, HD_ARG_BETA},
                           others[] = {HD_ARG_D, HD_ARG_LDD, HD_ARG_ALPHA};
  hd_manifest m = sample_groups();
  hd_variant combine = common_variant();
  combine.entry = "sample_combine";
  combine.path = "combine";
  combine.tile_m = 1;
  combine.tile_n = 2;
  combine.persistent = combine.runs_behind = combine.dependent_launch = true;
  add_arg(&m, (hd_arg){.kind = HD_ARG_COMBINE_D, .elem = HEDDLE_S32, .align = 4});
  add_arg(&m, (hd_arg){.kind = HD_ARG_T, .max = 4096});
  m.variant[m.n_variants++] = combine;
  m.slots = 3;
  m.d_col_major = true;
  for (int i = 0; i < m.n_variants; i++) {
    m.variant[i].behind = i < m.n_variants - 1 ? m.n_variants : 0;
    for (size_t j = 0; j < HD_COUNT(of_c); j++)
      replace_param(&m.variant[i], of_c[j], others[j]);
  }
  for (size_t j = 0; j < HD_COUNT(of_c); j++)
    drop_arg(&m, of_c[j]);
  return m;
}
