#include "Schedule/problem.h"

const hd_dense *hd_problem_operand(const hd_problem *p, hd_arg_kind arg) {
  switch (arg) {
  case HD_ARG_B:
  case HD_ARG_LDB:
  case HD_ARG_STRIDE_B:
    return &p->b;
  case HD_ARG_C:
  case HD_ARG_LDC:
  case HD_ARG_STRIDE_C:
    return &p->c;
  case HD_ARG_D:
  case HD_ARG_LDD:
  case HD_ARG_STRIDE_D:
    return &p->d;
  case HD_ARG_BIAS:
  case HD_ARG_STRIDE_BIAS:
    return &p->bias;
  case HD_ARG_SCALE_A:
  case HD_ARG_STRIDE_SCALE_A:
    return &p->scale_a;
  case HD_ARG_SCALE_B:
  case HD_ARG_STRIDE_SCALE_B:
    return &p->scale_b;
  case HD_ARG_BLOCK_SCALE_A:
  case HD_ARG_LDSA:
    return &p->block_a;
  case HD_ARG_BLOCK_SCALE_B:
    return &p->block_b;
  case HD_ARG_LDSB: /* of the rows of a statistic, or of block scales */
    return p->statistic ? &p->scale_b : &p->block_b;
  case HD_ARG_SCALE_D:
  case HD_ARG_LDSD:
    return &p->reduced;
  case HD_ARG_AUX:
  case HD_ARG_LDAUX:
  case HD_ARG_STRIDE_AUX:
    return &p->aux;
  default:
    return NULL;
  }
}

const hd_size *hd_problem_size(const hd_problem *p, hd_arg_kind arg) {
  return arg == HD_ARG_M   ? &p->m
         : arg == HD_ARG_N ? &p->n
         : arg == HD_ARG_K ? &p->k
         : arg == HD_ARG_G ? &p->g
         : arg == HD_ARG_T ? &p->t
                           : NULL;
}

heddle_elem hd_problem_pointee(const hd_problem *p, hd_arg_kind arg) {
  const hd_dense *x = hd_problem_operand(p, arg);
  bool index = arg >= HD_ARG_OFFSETS && arg <= HD_ARG_COMBINE_D;
  return arg == HD_ARG_A ? p->a_elem : index ? HEDDLE_S32 : x ? x->elem : HEDDLE_U8;
}

hd_arg_kind hd_problem_row_size(const hd_problem *p, hd_arg_kind pitch) {
  switch (pitch) {
  case HD_ARG_LDB:
    return p->b.transposed ? HD_ARG_N : HD_ARG_K;
  case HD_ARG_LDC:
  case HD_ARG_LDD:
  case HD_ARG_LDAUX:
    return hd_problem_operand(p, pitch)->transposed ? HD_ARG_M : HD_ARG_N;
  case HD_ARG_LDSB:
    return p->gather ? HD_ARG_T : HD_ARG_N;
  default:
    return pitch == HD_ARG_LDSA ? HD_ARG_M : HD_ARG_N;
  }
}

bool hd_problem_takes(const hd_problem *p, hd_arg_kind arg) {
  const hd_dense *x = hd_problem_operand(p, arg);
  switch (arg) {
  case HD_ARG_LDSA:
  case HD_ARG_LDSB:
    return x->op && !hd_scales_in_tiles(p);
  case HD_ARG_G:
    return hd_is_batch(p);
  case HD_ARG_STRIDE_A:
    return hd_is_batch(p) && !p->a_shared;
  case HD_ARG_OFFSETS:
    return hd_is_grouped(p);
  case HD_ARG_GATHER_B:
    return p->gather != NULL;
  case HD_ARG_T:
    return p->gather || p->combine;
  case HD_ARG_SCATTER_D:
    return p->scatter != NULL;
  case HD_ARG_COMBINE_D:
    return p->combine != NULL;
  case HD_ARG_USER:
    return p->user != NULL;
  case HD_ARG_ALPHA:
    return p->alpha;
  case HD_ARG_BETA:
    return p->beta;
  case HD_ARG_EPS:
    return p->statistic != NULL;
  case HD_ARG_NONE:
  case HD_ARG_TWIN:
  case HD_ARG_MASK:
  case HD_ARG_KEEP:
  case HD_ARG_WORKSPACE: /* depends on the schedule */
    return false;
  default:
    return hd_arg_is_batch_stride(arg) ? hd_has_stride(p, x) : !x || x->op;
  }
}
