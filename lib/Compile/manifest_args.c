#include "Compile/manifest_make.h"
#include "Support/batch.h"

enum { PACKED_ALIGN = 128 };
enum { WORKSPACE_ALIGN = 16 }; /* each lane loads and stores 16 bytes of partial sums at a time */

static int64_t least_common_multiple(int64_t x, int64_t y) {
  int64_t a = x, b = y;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return x / a * y;
}

static void set_pointer(hd_arg *arg, const hd_problem *p) {
  arg->elem = hd_problem_pointee(p, arg->kind);
  int32_t bytes = heddle_elem_get(arg->elem)->container_bits / 8;
  switch (arg->kind) {
  case HD_ARG_A:
    arg->align = PACKED_ALIGN;
    break;
  case HD_ARG_BLOCK_SCALE_A:
  case HD_ARG_BLOCK_SCALE_B:
    arg->align = HD_SCALE_ALIGN;
    break;
  case HD_ARG_WORKSPACE:
    arg->align = WORKSPACE_ALIGN;
    break;
  default:
    arg->align = arg->kind != HD_ARG_USER && bytes ? bytes : 1;
  }
}

static void set_size(hd_arg *arg, const hd_problem *p) {
  const hd_size *size = hd_problem_size(p, arg->kind);
  int64_t most = arg->kind == HD_ARG_G ? HD_BATCH_MOST : HD_SIZE_MOST;
  int64_t group = arg->kind == HD_ARG_K ? heddle_elem_get(p->a_elem)->group : 1;
  arg->fixed = size->value;
  arg->max = size->value ? 0 : size->max ? size->max : most;
  arg->divisible_by = size->value ? 1 : least_common_multiple(size->divisible_by, group);
}

/* The pitch of block scales spans the scales of one k-block for all rows. */
static void set_pitch(hd_arg *arg, const hd_problem *p) {
  const hd_dense *x = hd_problem_operand(p, arg->kind);
  bool scales = p->block && (arg->kind == HD_ARG_LDSA || arg->kind == HD_ARG_LDSB);
  bool of_d = arg->kind == HD_ARG_LDD || arg->kind == HD_ARG_LDAUX;
  int32_t rows = of_d && x->transposed      ? hd_rows_of_d(p)
                 : arg->kind == HD_ARG_LDSA ? p->block_rows
                                            : 1;
  arg->fixed = x->ld;
  arg->at_least = (hd_expr){.arg = hd_problem_row_size(p, arg->kind),
                            .mul = scales ? hd_scales_a_row(p) : 1,
                            .div = rows};
  if (scales)
    arg->divisible_by = hd_scale_unit(p);
  else if (!x->ld)
    arg->divisible_by = least_common_multiple(x->divisible_by, hd_elems_per_byte(x->elem));
}

/* A stride of 0 shares an operand in the batch. The stride of D or aux must be at least one row. */
static void set_stride(hd_arg *arg, const hd_problem *p) {
  const hd_dense *x = hd_problem_operand(p, arg->kind);
  arg->at_least = (hd_expr){.div = 1};
  if (arg->kind == HD_ARG_STRIDE_D || arg->kind == HD_ARG_STRIDE_AUX)
    arg->at_least = (hd_expr){.arg = x->transposed ? HD_ARG_M : HD_ARG_N,
                              .mul = 1,
                              .div = x->transposed ? hd_rows_of_d(p) : 1};
  if (!x) {
    arg->divisible_by = PACKED_ALIGN;
    return;
  }
  arg->fixed = x->g_stride;
  arg->divisible_by = x->g_stride ? 1 : hd_elems_per_byte(x->elem);
}

void hd_manifest_args(const hd_problem *p, bool workspace, hd_manifest *m) {
  for (hd_arg_kind kind = HD_ARG_NONE + 1; kind < HD_N_ARG_KINDS; kind++) {
    if (!(kind == HD_ARG_WORKSPACE ? workspace : hd_problem_takes(p, kind)))
      continue;
    hd_arg *arg = &m->arg[m->n_args++];
    *arg = (hd_arg){.kind = kind, .divisible_by = 1, .align = 1};
    if (hd_arg_class_of(kind) == HEDDLE_CLASS_PTR)
      set_pointer(arg, p);
    else if (hd_arg_class_of(kind) == HEDDLE_CLASS_I32)
      set_size(arg, p);
    else if (hd_arg_is_batch_stride(kind))
      set_stride(arg, p);
    else if (hd_arg_class_of(kind) == HEDDLE_CLASS_I64)
      set_pitch(arg, p);
  }
}
