/* Loops of a warp. A long main loop does the same in every period of its rings. When two
 * consecutive periods took the same path, all but the last ones are skipped. Every warp of every
 * role skips the same iterations, because only the loop's bounds decide. If a warp did not, its
 * slots would hold other k-blocks than the accumulators expect, which is a finding. Skipped
 * k-blocks are added to the sums at the stride seen so far. */
#include "Check/check_machine.h"

void hd_ck_mix_path(hd_ck_warp *w, uint64_t what) {
  w->path = (w->path ^ what) * 0x9e3779b97f4a7c15u + 0x1234567;
  w->path ^= w->path >> 29;
  w->lap = (w->lap ^ what) * 0x9e3779b97f4a7c15u + 0x1234567;
  w->lap ^= w->lap >> 29;
}

/* R5: a fragment that a wgmma may still read must not be moved or overwritten. A fragment that was
 * loaded into the registers to which it is carried (load.meta's last operand) does not move. */
static void check_held(hd_ck_machine *m, const hd_ck_warp *w, int32_t from, int32_t to) {
  const hd_ck_frag *old = &w->env[to].frag, *moved = &w->env[from].frag;
  uint32_t done = w->clock[hd_ck_component(m, w->id, HD_CK_WGMMA)];
  bool same_load = moved->root >= 0 && moved->root == old->root && moved->touched == old->touched;
  bool comes = old->read_by > done && !same_load;
  if (!comes && (moved->read_by <= done || moved->home == to))
    return;
  hd_check_access here = hd_ck_here(m, w, m->program->steps[w->at].op, -1);
  hd_ck_find(m, "R5", (hd_check_access){0}, here, "wgmma.wait that covers the reading group",
             "%s %s registers that a wgmma may still read", here.text,
             comes ? "overwrites" : "moves");
}

/* Copies in parallel: the destination of one value may be the source of another. */
void hd_ck_copy_values(hd_ck_machine *m, hd_ck_warp *w, const int32_t *from, const int32_t *to,
                       int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    check_held(m, w, from[i], to[i]);
    m->held[i] = w->env[from[i]];
    m->held[i].frag.home = to[i];
  }
  for (int32_t i = 0; i < n; i++)
    w->env[to[i]] = m->held[i];
}

/* A loop's results are its carried values. */
static void leave_loop(hd_ck_warp *w, const hd_ck_step *loop) {
  for (int32_t i = 0; i < loop->n_results; i++)
    w->env[loop->results[i]] = w->env[loop->outs[1 + i]];
  w->at = loop->target;
}

void hd_ck_note_units(hd_ck_machine *m, int64_t units) {
  m->extents->units = units;
  m->stop = m->stop || m->counting;
}

void hd_ck_enter_loop(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t lo = w->env[step->args[HD_AT_for_lo]].i, hi = w->env[step->args[HD_AT_for_hi]].i;
  if (w->env[step->args[HD_AT_for_step]].i < 1)
    return hd_ck_undecided(m, step->op, "a loop whose step is not positive");
  if (w->depth == HD_CK_MAX_DEPTH)
    return hd_ck_undecided(m, step->op, "loops nested more than 8 deep");
  /* The loop over tiles starts at the CTA's (or cluster's) index, or at a select of it. */
  const hd_op *start = hd_for_lo(step->op)->op;
  if (start && start->kind == HD_OP_SELECT)
    start = hd_select_yes(start)->op;
  if (start && start->kind == HD_OP_DIV)
    start = hd_binary_x(start)->op;
  if (start && start->kind == HD_OP_BLOCK_INDEX)
    hd_ck_note_units(m, hi);
  hd_ck_copy_values(m, w, step->args + HD_AT_for_carried, step->outs + 1, step->n_outs - 1);
  hd_ck_mix_path(w, lo < hi);
  if (lo >= hi)
    return leave_loop(w, step);
  w->env[step->outs[0]].i = lo;
  w->loop[w->depth++] = (hd_ck_loop){.index = lo};
  w->at++;
}

/* --- periods -------------------------------------------------------------------------------- */

static void add_k_blocks(hd_ck_content *c, int64_t n) {
  if (!c->n_steps)
    return;
  c->sum += hd_ck_sum_of(c->last + c->stride, c->stride, n);
  c->n_steps += (int32_t)(2 * n);
  c->last += n * c->stride;
}

/* Adds n k-blocks to the accumulators that the loop carries, and to those in tensor memory. */
static void add_skipped(hd_ck_warp *w, const hd_ck_step *loop, int64_t n) {
  for (int32_t i = 1; i < loop->n_outs; i++)
    if (loop->op->regions[0]->args[i]->type.kind == HD_TYPE_FRAG)
      add_k_blocks(&w->env[loop->outs[i]].frag.content, n);
  for (int32_t i = 0; i < HD_CK_PAIR * HD_CK_MAX_SLABS; i++)
    if (w->sums[i / HD_CK_MAX_SLABS])
      add_k_blocks(&w->sums[i / HD_CK_MAX_SLABS][i % HD_CK_MAX_SLABS], n);
}

/* Number of index steps to skip now: whole periods, leaving two for the end. It depends only on the
 * loop's bounds, rounded down to even, so that a role that takes two stages per iteration skips the
 * same stages as the others. The first period is not compared: its first iteration starts the
 * sums. */
static int64_t skippable(const hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *loop) {
  int64_t period = m->program->period, by = w->env[loop->args[HD_AT_for_step]].i;
  int64_t whole =
      (w->env[loop->args[HD_AT_for_hi]].i - w->env[loop->args[HD_AT_for_lo]].i) & ~INT64_C(1);
  hd_ck_loop *l = &w->loop[w->depth - 1];
  if (!loop->skips || period == 0 || period % by || l->iterations * by % period)
    return 0;
  uint64_t lap = w->lap;
  bool same = l->iterations * by == 3 * period && lap == l->last_lap;
  l->last_lap = lap;
  w->lap = 0;
  return same && whole > 6 * period ? (whole - 5 * period) / period * period : 0;
}

void hd_ck_next_iteration(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_step *loop = &m->program->steps[step->target];
  int64_t by = w->env[loop->args[HD_AT_for_step]].i, hi = w->env[loop->args[HD_AT_for_hi]].i;
  int64_t i = w->env[loop->outs[0]].i + by;
  hd_ck_copy_values(m, w, step->args, loop->outs + 1, step->n_args);
  hd_ck_mix_path(w, i < hi);
  w->loop[w->depth - 1].iterations++;
  int64_t skipped = skippable(m, w, loop);
  if (skipped > 0)
    add_skipped(w, loop, skipped);
  i += skipped;
  if (i >= hi) {
    w->depth--;
    return leave_loop(w, loop);
  }
  w->env[loop->outs[0]].i = w->loop[w->depth - 1].index = i;
  w->at = step->target + 1;
}
