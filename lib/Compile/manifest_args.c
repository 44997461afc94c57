#include "Compile/manifest_make.h"
#include "Support/batch.h"

enum { PACKED_ALIGN = 128 };
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

/* A row has arg `row` over `div` elements. */
static void add_pitch(hd_manifest *m, hd_arg_kind kind, const hd_dense *x, hd_arg_kind row,
                      int64_t div) {
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = x->ld;
  arg->divisible_by =
      x->ld ? 1 : least_common_multiple(x->divisible_by, hd_elems_per_byte(x->elem));
  arg->at_least = (hd_expr){.arg = row, .mul = 1, .div = div};
}

/* A k-block's scales of all rows. */
static void add_scale_pitch(hd_manifest *m, hd_arg_kind kind, const hd_problem *p,
                            const hd_dense *x, hd_arg_kind rows) {
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = x->ld;
  arg->divisible_by = HD_SCALE_ALIGN;
  arg->at_least = (hd_expr){.arg = rows, .mul = hd_scales_a_row(p), .div = 1};
}

/* Of a batch: 0 where a launch shares the operand. */
static void add_stride(hd_manifest *m, hd_arg_kind kind, const hd_problem *p, const hd_dense *x) {
  if (!hd_has_stride(p, x))
    return;
  hd_arg *arg = add_arg(m, kind);
  arg->fixed = x->g_stride;
  arg->divisible_by = x->g_stride ? 1 : hd_elems_per_byte(x->elem);
  arg->at_least = (hd_expr){.div = 1};
}

/* D's matrices are no nearer than a row. */
static void add_strides(hd_manifest *m, const hd_problem *p) {
  if (!hd_is_batch(p))
    return;
  if (!p->a_shared) {
    hd_arg *a = add_arg(m, HD_ARG_STRIDE_A);
    a->divisible_by = PACKED_ALIGN;
    a->at_least = (hd_expr){.div = 1};
  }
  add_stride(m, HD_ARG_STRIDE_B, p, &p->b);
  add_stride(m, HD_ARG_STRIDE_C, p, &p->c);
  add_stride(m, HD_ARG_STRIDE_D, p, &p->d);
  m->arg[m->n_args - 1].at_least =
      (hd_expr){.arg = p->d.transposed ? HD_ARG_M : HD_ARG_N,
                .mul = 1,
                .div = p->d.transposed ? hd_rows_of_d(p) : 1};
  add_stride(m, HD_ARG_STRIDE_BIAS, p, &p->bias);
  add_stride(m, HD_ARG_STRIDE_SCALE_A, p, &p->scale_a);
  add_stride(m, HD_ARG_STRIDE_SCALE_B, p, &p->scale_b);
}

void hd_manifest_args(const hd_problem *p, bool workspace, hd_manifest *m) {
  add_pointer(m, HD_ARG_A, p->a_elem, PACKED_ALIGN);
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
  if (hd_is_batch(p))
    add_size(m, HD_ARG_G, &(hd_size){p->g.op, p->g.value, p->g.max ? p->g.max : HD_BATCH_MOST,
                                     p->g.divisible_by},
             1);
  add_pitch(m, HD_ARG_LDB, &p->b, p->b.transposed ? HD_ARG_N : HD_ARG_K, 1);
  if (p->c.op)
    add_pitch(m, HD_ARG_LDC, &p->c, p->c.transposed ? HD_ARG_M : HD_ARG_N, 1);
  add_pitch(m, HD_ARG_LDD, &p->d, p->d.transposed ? HD_ARG_M : HD_ARG_N,
            p->d.transposed ? hd_rows_of_d(p) : 1);
  if (p->block && !hd_scales_in_tiles(p)) {
    add_scale_pitch(m, HD_ARG_LDSA, p, &p->block_a, HD_ARG_M);
    add_scale_pitch(m, HD_ARG_LDSB, p, &p->block_b, HD_ARG_N);
  }
  add_strides(m, p);
  if (p->alpha)
    add_arg(m, HD_ARG_ALPHA);
  if (p->beta)
    add_arg(m, HD_ARG_BETA);
  if (workspace)
    add_pointer(m, HD_ARG_WORKSPACE, HEDDLE_U8, WORKSPACE_ALIGN);
}
