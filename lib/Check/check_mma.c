/* Check/check_mma.c: mma.sp, whose operands are all in registers. */
#include "Check/check_machine.h"

/* Operands c, a, b, metadata, and block scales where the op has them. */
void hd_ck_mma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  for (int32_t i = 0; i < step->n_args; i++)
    hd_ck_frag_use(m, w, step, i);
  const hd_ck_content *c = &w->env[step->args[HD_AT_mma_acc]].frag.content;
  const hd_ck_content *a = &w->env[step->args[HD_AT_mma_a]].frag.content;
  const hd_ck_content *b = &w->env[step->args[HD_AT_mma_b]].frag.content;
  const hd_ck_content *meta = &w->env[step->args[HD_AT_mma_metadata]].frag.content;
  hd_ck_frag d = hd_ck_no_frag;
  d.state = HD_CK_FRAG_READY;
  d.content = hd_ck_accumulate(m, w, step, c, a, meta, b);
  if (step->op->kind == HD_OP_MMA_SP_SCALED)
    hd_ck_scale(m, w, step, c, b, &d.content);
  w->env[step->results[0]].frag.read_by = 0;
  hd_ck_frag_define(m, w, step, d);
}
