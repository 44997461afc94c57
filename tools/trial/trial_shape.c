#include "trial/trial_parts.h"

#include "Support/diag.h"
#include "Support/convert.h"

enum { DEFAULT_SIZE = 512, DEFAULT_BATCH = 3 };

static int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

/* Given sizes must not contradict the problem. */
static heddle_status check_asked(heddle_context *ctx, const hd_manifest *manifest,
                                 hd_arg_kind kind, const int64_t *asked) {
  const hd_arg *arg = hd_manifest_arg(manifest, kind);
  long long value = asked[kind] == TRIAL_SHARED ? 0 : asked[kind];
  if (arg && asked[kind] && arg->fixed > 0 && value != arg->fixed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                    "got %s = %lld, but the problem fixes it; nearest: %lld", hd_arg_name(kind),
                    value, (long long)arg->fixed);
  if (arg && arg->max && value > arg->max)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                    "got %s = %lld, more than the problem's max; nearest: %lld", hd_arg_name(kind),
                    value, (long long)arg->max);
  return HEDDLE_OK;
}

heddle_status trial_check_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                const int64_t size[HD_N_ARG_KINDS]) {
  hd_values values = {0}; /* unknown sizes make no pitch too short */
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    int64_t asked = size[arg->kind] == TRIAL_SHARED ? 0 : size[arg->kind];
    values.v[arg->kind] = (uint64_t)(arg->fixed > 0 ? arg->fixed : asked);
  }
  for (hd_arg_kind kind = 0; kind < HD_N_ARG_KINDS; kind++) {
    const hd_arg *arg = hd_manifest_arg(manifest, kind);
    if (!hd_arg_is_size(kind))
      continue;
    if (size[kind] && !arg)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                      "got %s = %lld, but the kernel has no such argument; nearest: without it",
                      hd_arg_name(kind), size[kind] == TRIAL_SHARED ? 0LL : (long long)size[kind]);
    HD_TRY(check_asked(ctx, manifest, kind, size));
    if (size[kind])
      HD_TRY(hd_manifest_check_number(ctx, arg, &values));
  }
  return HEDDLE_OK;
}

static heddle_status choose_size(heddle_context *ctx, const hd_manifest *manifest,
                                 hd_arg_kind kind, const int64_t *asked, int64_t *size) {
  const hd_arg *arg = hd_manifest_arg(manifest, kind);
  int64_t fixed = arg && arg->fixed > 0 ? arg->fixed : 0;
  HD_TRY(check_asked(ctx, manifest, kind, asked));
  if (fixed || asked[kind]) {
    *size = fixed ? fixed : asked[kind];
    return HEDDLE_OK;
  }
  int64_t unit = arg && arg->divisible_by > 1 ? arg->divisible_by : 1;
  *size = round_up(DEFAULT_SIZE, unit);
  if (arg && arg->max && *size > arg->max)
    *size = arg->max / unit * unit;
  return HEDDLE_OK;
}

static void choose_pitch(const hd_manifest *manifest, hd_arg_kind kind, const int64_t *asked,
                         int64_t row, int64_t *pitch) {
  const hd_arg *arg = hd_manifest_arg(manifest, kind);
  int64_t unit = arg && arg->divisible_by > 1 ? arg->divisible_by : 1;
  *pitch = arg && arg->fixed > 0 ? arg->fixed : asked[kind] ? asked[kind] : round_up(row, unit);
}

hd_arg_kind trial_stride_of(hd_arg_kind kind) {
  static const hd_arg_kind operands[] = {HD_ARG_A,   HD_ARG_B,    HD_ARG_C,       HD_ARG_D,
                                         HD_ARG_AUX, HD_ARG_BIAS, HD_ARG_SCALE_A, HD_ARG_SCALE_B};
  for (int i = 0; i < (int)HD_COUNT(operands); i++) /* ORDER STRIDES: Kernel/args.def */
    if (operands[i] == kind)
      return (hd_arg_kind)((int)HD_ARG_STRIDE_A + i);
  return HD_ARG_NONE;
}

int64_t trial_before(const trial_shape *s, hd_arg_kind kind, int64_t i) {
  hd_arg_kind stride = trial_stride_of(kind);
  return stride == HD_ARG_NONE ? 0 : i * trial_stride(s, stride);
}

static int64_t elements(trial_stored x) { return x.rows * x.pitch; }

/* Matrices are contiguous unless a stride is given. */
static heddle_status choose_strides(heddle_context *ctx, const hd_manifest *manifest,
                                    const int64_t *asked, trial_shape *s) {
  size_t packed;
  HD_TRY(heddle_sparse_packed_bytes(ctx, manifest->a_elem, trial_kernel_family(manifest),
                                    (uint64_t)s->m, (uint64_t)s->k, &packed));
  const struct {
    hd_arg_kind kind;
    int64_t whole;
  } strides[] = {
      {HD_ARG_STRIDE_A, (int64_t)packed},
      {HD_ARG_STRIDE_B, elements(trial_stored_b(manifest, s))},
      {HD_ARG_STRIDE_C, elements(trial_stored_c(manifest, s))},
      {HD_ARG_STRIDE_D, elements(trial_stored_d(manifest, s))},
      {HD_ARG_STRIDE_AUX, elements(trial_stored_aux(manifest, s))},
      {HD_ARG_STRIDE_BIAS, manifest->bias_along_n ? s->n : s->m},
      {HD_ARG_STRIDE_SCALE_A, manifest->scale_a_one ? 1 : s->m},
      {HD_ARG_STRIDE_SCALE_B, manifest->scale_b_one ? 1 : s->n}};
  for (size_t i = 0; i < HD_COUNT(strides); i++) {
    hd_arg_kind kind = strides[i].kind;
    int64_t *stride = &s->stride[kind - HD_ARG_STRIDE_A];
    HD_TRY(check_asked(ctx, manifest, kind, asked));
    choose_pitch(manifest, kind, asked, strides[i].whole, stride);
    if (!hd_manifest_arg(manifest, kind) || *stride == TRIAL_SHARED)
      *stride = 0;
  }
  return HEDDLE_OK;
}

heddle_status trial_shape_resolve(heddle_context *ctx, const hd_manifest *manifest,
                                  const int64_t *asked, trial_shape *s) {
  HD_TRY(choose_size(ctx, manifest, HD_ARG_M, asked, &s->m));
  HD_TRY(choose_size(ctx, manifest, HD_ARG_N, asked, &s->n));
  HD_TRY(choose_size(ctx, manifest, HD_ARG_K, asked, &s->k));
  s->t = s->n;
  if (hd_manifest_arg(manifest, HD_ARG_T))
    HD_TRY(choose_size(ctx, manifest, HD_ARG_T, asked, &s->t));
  choose_pitch(manifest, HD_ARG_LDB, asked, trial_stored_b(manifest, s).cols, &s->ldb);
  choose_pitch(manifest, HD_ARG_LDC, asked, trial_stored_c(manifest, s).cols, &s->ldc);
  choose_pitch(manifest, HD_ARG_LDD, asked, trial_stored_d(manifest, s).cols, &s->ldd);
  choose_pitch(manifest, HD_ARG_LDAUX, asked, trial_stored_aux(manifest, s).cols, &s->ldaux);
  choose_pitch(manifest, HD_ARG_LDSD, asked, s->n, &s->ldsd);
  /* The pitch of a k-block of all rows; for tiles, of the whole k-blocks of 128 rows. */
  int64_t each = trial_scales_a_k_block(manifest);
  choose_pitch(manifest, HD_ARG_LDSA, asked, trial_scaled_rows(manifest, s, 0) * each, &s->ldsa);
  int64_t scales_b = manifest->scale_b_statistic ? s->n : trial_scaled_rows(manifest, s, 1) * each;
  choose_pitch(manifest, HD_ARG_LDSB, asked, scales_b, &s->ldsb);
  if (manifest->scale_tiles)
    s->ldsa = s->ldsb = (round_up(trial_scales_a_row(manifest, s), each) + 3) / 4 * 512;
  s->g = 1;
  if (!hd_manifest_arg(manifest, HD_ARG_G))
    return HEDDLE_OK;
  HD_TRY(choose_size(ctx, manifest, HD_ARG_G, asked, &s->g));
  if (!asked[HD_ARG_G] && s->g == DEFAULT_SIZE)
    s->g = DEFAULT_BATCH;
  return choose_strides(ctx, manifest, asked, s);
}

static trial_stored stored(bool transposed, int64_t rows, int64_t cols, int64_t pitch) {
  return transposed ? (trial_stored){cols, rows, pitch} : (trial_stored){rows, cols, pitch};
}

trial_stored trial_stored_b(const hd_manifest *manifest, const trial_shape *s) {
  int64_t columns = hd_manifest_arg(manifest, HD_ARG_GATHER_B) ? s->t : s->n;
  return stored(!manifest->b_mn_major, s->k, columns, s->ldb);
}

trial_stored trial_stored_c(const hd_manifest *manifest, const trial_shape *s) {
  return stored(manifest->c_col_major, s->m, s->n, s->ldc);
}

trial_stored trial_stored_d(const hd_manifest *manifest, const trial_shape *s) {
  return stored(manifest->d_col_major, hd_manifest_d_rows(manifest, s->m),
                hd_manifest_d_columns(manifest, s->n, s->t), s->ldd);
}

trial_stored trial_stored_aux(const hd_manifest *manifest, const trial_shape *s) {
  trial_stored d = trial_stored_d(manifest, s);
  d.pitch = s->ldaux;
  return d;
}
