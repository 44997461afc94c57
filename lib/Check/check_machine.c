#include "Check/check_machine.h"
#include "Support/memory.h"

/* --- setting up ----------------------------------------------------------------------------- */

/* The number of leading parts of a clock that accesses of the kernel may wait for. */
static int32_t parts_of(const hd_ck_program *p) {
  for (int32_t i = 0; i < p->n_buffers; i++)
    if (hd_op_is(p->buffers[i].op, HD_ATTR_SPACE, "tmem"))
      return HD_CK_N_PARTS;
  for (int32_t i = 0; i < p->n_steps; i++)
    if (p->steps[i].op->kind == HD_OP_COPY_CP_ASYNC)
      return HD_CK_MMA;
  return HD_CK_COPIED;
}

/* A warp before its first step. */
static void start_warp(const hd_ck_machine *m, int32_t i, hd_ck_warp *w) {
  const hd_ck_program *p = m->program;
  *w = (hd_ck_warp){.id = i, .cta = i / p->n_warps, .index = i % p->n_warps, .role = -1,
                    .env = w->env, .clock = w->clock, .view = w->view};
  w->clock[hd_ck_component(m, i, HD_CK_TIME)] = 0;
  w->clock[hd_ck_component(m, i, HD_CK_ORDER)] = 0;
  for (int32_t r = 0; r < p->n_roles; r++)
    if (w->index >= p->roles[r].warp_lo && w->index < p->roles[r].warp_lo + p->roles[r].n_warps)
      w->role = r;
}

static void create_warps(hd_ck_machine *m) {
  const hd_ck_program *p = m->program;
  m->n_warps = p->n_warps * p->cluster;
  m->n_parts = parts_of(p);
  m->n_components = m->n_warps * HD_CK_N_PARTS + p->cluster * p->n_barrier_slots +
                    (int32_t)hd_ck_to_landings(m) + 1;
  m->warps = HD_NEW_ARRAY(&m->arena, hd_ck_warp, m->n_warps);
  m->held = HD_NEW_ARRAY(&m->arena, hd_ck_value, p->n_values);
  for (int32_t i = 0; i < m->n_warps; i++) {
    hd_ck_warp *w = &m->warps[i];
    w->env = HD_NEW_ARRAY(&m->arena, hd_ck_value, p->n_values);
    w->clock = HD_NEW_ARRAY(&m->arena, uint32_t, m->n_components);
    w->view = HD_NEW_ARRAY(&m->arena, uint32_t, m->n_components);
    start_warp(m, i, w);
  }
}

static void create_shared(hd_ck_machine *m) {
  const hd_ck_program *p = m->program;
  m->slots = HD_NEW_ARRAY(&m->arena, hd_ck_slot_spans, p->n_buffer_slots * p->cluster);
  for (int32_t i = 0; i < p->n_buffers * p->cluster; i++) {
    const hd_ck_ring *b = &p->buffers[i % p->n_buffers];
    hd_ck_span whole = {.hi = (int32_t)((b->bytes + HD_CK_CELL - 1) / HD_CK_CELL)};
    hd_ck_slot_spans *slot = m->slots + i / p->n_buffers * p->n_buffer_slots + b->first;
    for (int32_t j = 0; j < b->stages; j++)
      HD_PUSH(slot[j].span, slot[j].n, slot[j].cap, whole);
  }
  m->tensors = HD_NEW_ARRAY(&m->arena, hd_ck_tensor, p->cluster);
  m->sums =
      hd_arena_alloc(&m->arena, sizeof *m->sums * (size_t)(p->n_buffer_slots * p->cluster + 1));
  m->mbarriers = HD_NEW_ARRAY(&m->arena, hd_ck_mbarrier, p->n_barrier_slots * p->cluster);
  for (int32_t i = 0; i < p->n_barrier_slots * p->cluster; i++) {
    m->mbarriers[i].arriving = HD_NEW_ARRAY(&m->arena, uint32_t, m->n_components);
    m->mbarriers[i].released = HD_NEW_ARRAY(&m->arena, uint32_t, m->n_components);
  }
}

void hd_ck_machine_free(hd_ck_machine *m) {
  const hd_ck_program *p = m->program;
  for (int32_t i = 0; m->slots && i < p->n_buffer_slots * p->cluster; i++) {
    for (int32_t j = 0; j < m->slots[i].n; j++)
      hd_free(m->slots[i].span[j].far);
    hd_free(m->slots[i].span);
  }
  for (int32_t i = 0; m->mbarriers && i < p->n_barrier_slots * p->cluster; i++)
    hd_free(m->mbarriers[i].waits);
  hd_free(m->counts);
  hd_arena_free(&m->arena);
}

/* --- control flow --------------------------------------------------------------------------- */

/* --- ops ------------------------------------------------------------------------------------ */

/* Thread-issued ops run in one lane of the role's first warp, or of the `warp` of the op. */
static bool is_mine(const hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  if (hd_op_get_info(step->op->kind)->issuer != HD_BY_THREAD)
    return true;
  int32_t first = step->role < 0 ? 0 : m->program->roles[step->role].warp_lo;
  return w->index == first + hd_op_int(step->op, HD_ATTR_WARP, 0);
}

static void wait_copies(hd_ck_warp *w, const hd_ck_step *step) {
  int64_t pending = hd_op_int(step->op, HD_ATTR_PENDING, 0);
  if (pending >= w->copies_committed)
    return;
  uint32_t done = w->copies_committed - (uint32_t)pending;
  w->copies_done = done > w->copies_done ? done : w->copies_done;
}

/* R8: no global access before grid.wait, except reads of A and its scales if weights_ready. */
static void check_dependence(hd_ck_machine *m, hd_ck_warp *w, const hd_op *op) {
  if (!m->dependent || w->clock[hd_ck_grid_component(m)])
    return;
  bool global = hd_op_effects(op->kind) & (HD_EFFECT_RD_GLOBAL | HD_EFFECT_WR_GLOBAL);
  const hd_op *from = op->kind == HD_OP_COPY_BULK ? hd_copy_bulk_source(op)->op : NULL;
  bool early = m->weights_ready && from &&
               (hd_op_arg(from) == HD_ARG_A || hd_op_arg(from) == HD_ARG_BLOCK_SCALE_A);
  if (!global || early)
    return;
  hd_check_access at = hd_ck_here(m, w, op, -1);
  hd_ck_find(m, "R8", (hd_check_access){0}, at, "grid.wait before the access",
             "%s touches global memory before grid.wait", at.text);
}

/* R8: the dependent kernel waits only for this kernel, not for this kernel's predecessor. */
static void check_launch(hd_ck_machine *m, hd_ck_warp *w, const hd_op *op) {
  if (!m->dependent || w->clock[hd_ck_grid_component(m)])
    return;
  hd_check_access at = hd_ck_here(m, w, op, -1);
  hd_ck_find(m, "R8", (hd_check_access){0}, at, "grid.wait before grid.launch",
             "%s lets the dependent kernel start before grid.wait", at.text);
}

typedef void run_op(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* Ops that touch memory, fragments or barriers. */
static run_op *const run_ops[HD_N_OPS] = {
    [HD_OP_COPY_BULK] = hd_ck_copy_bulk,
    [HD_OP_COPY_TMA] = hd_ck_copy_tma,
    [HD_OP_COPY_CP_ASYNC] = hd_ck_copy_rows,
    [HD_OP_COPY_LD_ST] = hd_ck_copy_rows,
    [HD_OP_LOAD_META] = hd_ck_load,
    [HD_OP_LOAD_A] = hd_ck_load,
    [HD_OP_LOAD_B] = hd_ck_load,
    [HD_OP_LOAD_SCALE] = hd_ck_load_scale,
    [HD_OP_FRAG_ZERO] = hd_ck_frag_constant,
    [HD_OP_FRAG_UNDEF] = hd_ck_frag_constant,
    [HD_OP_FRAG_COLUMNS] = hd_ck_frag_columns,
    [HD_OP_MMA_SP] = hd_ck_mma,
    [HD_OP_MMA_SP_SCALED] = hd_ck_mma,
    [HD_OP_WGMMA_SS] = hd_ck_wgmma,
    [HD_OP_WGMMA_RS] = hd_ck_wgmma,
    [HD_OP_PROMOTE] = hd_ck_promote,
    [HD_OP_TCGEN05_MMA_SP] = hd_ck_tensor_mma,
    [HD_OP_TCGEN05_CP] = hd_ck_tensor_cp,
    [HD_OP_TCGEN05_ST] = hd_ck_tensor_st,
    [HD_OP_TCGEN05_LD] = hd_ck_tensor_ld,
    [HD_OP_STORE_TILE] = hd_ck_store,
    [HD_OP_STAGE_TILE] = hd_ck_stage_tile,
    [HD_OP_COPY_OUT] = hd_ck_copy_out,
    [HD_OP_FINISH_TILE] = hd_ck_finish_tile,
    [HD_OP_REDUCE_TILE] = hd_ck_reduce_tile,
    [HD_OP_SCALE_TILE] = hd_ck_scale_tile,
    [HD_OP_SCALE_COLUMNS] = hd_ck_scale_columns,
    [HD_OP_PARTIAL_STORE] = hd_ck_partial_store,
    [HD_OP_PARTIAL_SUM] = hd_ck_partial_sum,
    [HD_OP_PARTIAL_SEND] = hd_ck_partial_send,
    [HD_OP_PARTIAL_ADD] = hd_ck_partial_add,
    [HD_OP_PRUNE_PACK] = hd_ck_prune_pack,
    [HD_OP_MASK_PACK] = hd_ck_prune_pack,
    [HD_OP_QUANTIZE_PACK] = hd_ck_prune_pack,
    [HD_OP_TWIN_CODES] = hd_ck_twin_codes,
    [HD_OP_COPY_GLOBAL] = hd_ck_copy_global,
    [HD_OP_COMBINE_GLOBAL] = hd_ck_combine,
    [HD_OP_BARRIER_INIT] = hd_ck_barrier_init,
    [HD_OP_BARRIER_EXPECT] = hd_ck_barrier_expect,
    [HD_OP_BARRIER_ARRIVE] = hd_ck_barrier_arrive,
    [HD_OP_WGMMA_FENCE] = hd_ck_wgmma_fence,
    [HD_OP_WGMMA_WAIT] = hd_ck_wgmma_wait,
    [HD_OP_LAST_ARRIVER] = hd_ck_last_arriver,
    [HD_OP_TCGEN05_COMMIT] = hd_ck_barrier_commit,
    [HD_OP_TCGEN05_WAIT_LD] = hd_ck_tensor_wait,
    [HD_OP_TCGEN05_WAIT_ST] = hd_ck_tensor_wait,
    [HD_OP_TCGEN05_FENCE_BEFORE] = hd_ck_tensor_fence,
    [HD_OP_TCGEN05_FENCE_AFTER] = hd_ck_tensor_fence,
    [HD_OP_TCGEN05_ALLOC] = hd_ck_tensor_columns,
    [HD_OP_TCGEN05_ADDRESS] = hd_ck_tensor_columns,
    [HD_OP_TCGEN05_DEALLOC] = hd_ck_tensor_columns,
    [HD_OP_GROUP_TABLE] = hd_ck_group_table,
    [HD_OP_GROUP_COUNT] = hd_ck_group_count,
    [HD_OP_GROUP_FIND] = hd_ck_group_find,
};

/* Sync ops that only change the warp's own state. False: another op. */
static bool own_op(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  switch (step->op->kind) {
  case HD_OP_FENCE_BARRIER_INIT:
    return hd_ck_barrier_fence_inits(m, w), true;
  case HD_OP_FENCE_PROXY:
    w->fenced = w->now;
    w->copies_fenced = w->copies_done;
    return true;
  case HD_OP_CP_ASYNC_COMMIT:
    return w->copies_committed++, true;
  case HD_OP_CP_ASYNC_WAIT:
    return wait_copies(w, step), true;
  case HD_OP_WGMMA_COMMIT:
    return w->wgmma_committed++, true;
  case HD_OP_WARP_SYNC:
    return hd_ck_meet_lanes(m, w), true;
  case HD_OP_BULK_COMMIT:
    return hd_ck_out_commit(w), true;
  case HD_OP_BULK_WAIT:
    return hd_ck_out_wait(w, step), true;
  case HD_OP_GRID_WAIT:
    return w->clock[hd_ck_grid_component(m)] = 1, true;
  case HD_OP_GRID_LAUNCH:
    return check_launch(m, w, step->op), true;
  default:
    return false;
  }
}

static void run_one(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_op_kind kind = step->op->kind;
  if (kind == HD_OP_SELECT && step->op->results[0]->type.kind == HD_TYPE_FRAG)
    return hd_ck_undecided(m, step->op, "a fragment chosen by select");
  if (hd_ck_scalar(m, w, step))
    return;
  hd_ck_mix_path(w, (uint64_t)w->at << 4);
  if (hd_op_get_info(kind)->issuer == HD_BY_WARPGROUP) {
    /* The operands that the four warps must agree on: scalars and cursors. */
    w->group_path = w->group_path * 31 + (uint64_t)w->at;
    for (int32_t i = 0; i < step->n_args; i++)
      if (step->op->operands[i]->type.kind != HD_TYPE_FRAG)
        w->group_path = (w->group_path ^ (uint64_t)w->env[step->args[i]].i) * 0x9e3779b97f4a7c15u;
  }
  if (!is_mine(m, w, step))
    return;
  check_dependence(m, w, step->op);
  if (run_ops[kind])
    run_ops[kind](m, w, step);
  else if (!own_op(m, w, step))
    hd_ck_undecided(m, step->op, "an op whose effects the checker does not know yet");
}

/* Skips cursors, and loops that carry nothing else: they do not affect control flow. Groups do:
 * they determine the number of tiles, and so the pieces of stream-K. */
static void list_one(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_type_kind makes = step->n_results ? step->op->results[0]->type.kind : HD_TYPE_CURSOR;
  hd_op_kind kind = step->op->kind;
  if (kind == HD_OP_LAST_ARRIVER)
    hd_ck_list_count(m, w, step);
  else if (kind == HD_OP_GROUP_TABLE || kind == HD_OP_GROUP_COUNT || kind == HD_OP_GROUP_FIND)
    run_ops[kind](m, w, step);
  else if (makes != HD_TYPE_CURSOR && makes != HD_TYPE_FRAG)
    hd_ck_scalar(m, w, step);
  w->at++;
}

/* Executes an op, or leaves the warp blocked at it. */
static void run_or_stop(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_op_kind kind = step->op->kind;
  if (kind == HD_OP_CTA_SYNC || kind == HD_OP_ROLE_SYNC || kind == HD_OP_CLUSTER_SYNC)
    w->state = HD_CK_AT_SYNC;
  else if (kind == HD_OP_BARRIER_WAIT && !hd_ck_barrier_wait(m, w, step))
    w->state = HD_CK_AT_BARRIER;
  else {
    if (kind == HD_OP_BARRIER_WAIT)
      hd_ck_mix_path(w, (uint64_t)w->at << 4);
    else
      run_one(m, w, step);
    w->at++;
  }
}

static void advance(hd_ck_machine *m, hd_ck_warp *w) {
  const hd_ck_step *step = &m->program->steps[w->at];
  w->now++;
  w->clock[hd_ck_component(m, w->id, HD_CK_TIME)] = w->now;
  w->clock[hd_ck_component(m, w->id, HD_CK_ORDER)] = w->now;
  switch (step->code) {
  case HD_CK_OP:
    return (m->listing ? list_one : run_or_stop)(m, w, step);
  case HD_CK_FOR:
    if (m->listing && !step->decides)
      w->at = step->target;
    else
      hd_ck_enter_loop(m, w, step);
    return;
  case HD_CK_NEXT:
    return hd_ck_next_iteration(m, w, step);
  case HD_CK_IF: {
    bool taken = w->env[step->args[HD_AT_if_condition]].i != 0;
    hd_ck_mix_path(w, taken ? 3 : 5);
    w->at = taken ? w->at + 1 : step->target;
    return;
  }
  case HD_CK_JOIN:
    hd_ck_copy_values(m, w, step->args, step->outs, step->n_args);
    w->at = step->target;
    return;
  case HD_CK_ROLE: { /* only the first warp executes a role of thread-issued work */
    const hd_ck_role *role = &m->program->roles[step->role];
    bool mine = w->role == step->role && (!role->single || w->index == role->warp_lo);
    w->at = mine ? w->at + 1 : step->target;
    return;
  }
  case HD_CK_LEAVE:
    w->at++;
    return hd_ck_leave_last(w);
  default:
    w->state = HD_CK_DONE;
  }
}

/* --- meeting points ------------------------------------------------------------------------- */

typedef struct group { /* warps that synchronise with each other */
  int32_t cta, role;   /* -1: all */
  int32_t lo, n;       /* of the role's warps; n 0: all */
} group;

static bool is_in(const hd_ck_machine *m, const hd_ck_warp *w, group g) {
  int32_t at = g.n ? w->index - m->program->roles[g.role].warp_lo : 0;
  return (g.cta < 0 || w->cta == g.cta) && (g.role < 0 || w->role == g.role) &&
         (!g.n || (at >= g.lo && at < g.lo + g.n));
}

static void meet(hd_ck_machine *m, group g, hd_ck_release how) {
  hd_arena scratch = {0};
  uint32_t *all = HD_NEW_ARRAY(&scratch, uint32_t, m->n_components);
  for (int32_t i = 0; i < m->n_warps; i++)
    if (is_in(m, &m->warps[i], g))
      hd_ck_release_to(m, &m->warps[i], how, all);
  for (int32_t i = 0; i < m->n_warps; i++) {
    hd_ck_warp *w = &m->warps[i];
    if (!is_in(m, w, g))
      continue;
    hd_ck_join(m, all, w->clock);
    w->met = how == HD_CK_PUBLISH ? w->now : w->met > w->inits_fenced ? w->met : w->inits_fenced;
    hd_ck_mix_path(w, (uint64_t)w->at << 4);
    w->state = HD_CK_RUNNING;
    w->at++;
  }
  hd_arena_free(&scratch);
}

static bool try_meeting(hd_ck_machine *m, group g, hd_op_kind kind) {
  int32_t at = -1; /* the step at which all warps of the group are blocked */
  for (int32_t i = 0; i < m->n_warps; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (!is_in(m, w, g))
      continue;
    if (w->state != HD_CK_AT_SYNC || (at >= 0 && w->at != at))
      return false;
    at = w->at;
  }
  const hd_op *op = at < 0 ? NULL : m->program->steps[at].op;
  if (!op || op->kind != kind || hd_op_int(op, HD_ATTR_AMONG, 0) != g.n)
    return false;
  meet(m, g, hd_op_has(op, HD_ATTR_RELAXED) ? HD_CK_FENCED_INITS : HD_CK_PUBLISH);
  return true;
}

static bool advance_meetings(hd_ck_machine *m) {
  bool any = try_meeting(m, (group){.cta = -1, .role = -1}, HD_OP_CLUSTER_SYNC);
  for (int32_t cta = 0; cta < m->program->cluster; cta++) {
    any = try_meeting(m, (group){.cta = cta, .role = -1}, HD_OP_CTA_SYNC) || any;
    for (int32_t role = 0; role < m->program->n_roles; role++)
      any = try_meeting(m, (group){.cta = cta, .role = role}, HD_OP_ROLE_SYNC) || any;
  }
  /* Role syncs among a part of the role: tries, for each blocked warp, the part it belongs to. */
  for (int32_t i = 0; i < m->n_warps; i++) {
    const hd_ck_warp *w = &m->warps[i];
    const hd_op *op = w->state == HD_CK_AT_SYNC ? m->program->steps[w->at].op : NULL;
    int32_t n = op ? (int32_t)hd_op_int(op, HD_ATTR_AMONG, 0) : 0;
    if (n < 1 || w->role < 0)
      continue;
    int32_t at = w->index - m->program->roles[w->role].warp_lo;
    any = try_meeting(m, (group){w->cta, w->role, at / n * n, n}, HD_OP_ROLE_SYNC) || any;
  }
  return any;
}

/* --- the end -------------------------------------------------------------------------------- */

static const hd_ck_warp *first_stuck(const hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps; i++)
    if (m->warps[i].state != HD_CK_DONE)
      return &m->warps[i];
  return NULL;
}

static void report_deadlock(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps && !m->stop; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (w->state == HD_CK_DONE)
      continue;
    const hd_ck_step *step = &m->program->steps[w->at];
    int64_t cursor = step->n_args == 2 ? w->env[step->args[HD_AT_barrier_cursor]].i : -1;
    int32_t slot = w->state == HD_CK_AT_BARRIER ? hd_ck_slot(cursor) : -1;
    hd_check_access at = hd_ck_here(m, w, step->op, slot);
    hd_ck_find(m, "deadlock", (hd_check_access){0}, at,
               "the arrivals (or the other warps' sync) that it waits for",
               "%s waits forever", at.text);
  }
}

static void check_agreement(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps; i++) {
    const hd_ck_warp *w = &m->warps[i];
    const hd_ck_role *role = w->role < 0 ? NULL : &m->program->roles[w->role];
    if (!role || role->single)
      continue;
    int32_t inside = w->index - role->warp_lo;
    const hd_ck_warp *lead = w - inside, *quad = w - inside % 4;
    hd_check_access at = hd_ck_here(m, w, role->op, -1);
    if (w->path != lead->path)
      hd_ck_find(m, "uniform", (hd_check_access){0}, at, "conditions of the role, not of a warp",
                 "warp %d takes another path through role \"%s\" than its first warp", w->index,
                 role->name);
    else if (w->group_path != quad->group_path)
      hd_ck_find(m, "uniform", (hd_check_access){0}, at,
                 "operands that are the same in the whole warpgroup",
                 "warp %d passes other operands to an op of the warpgroup than warp %d", w->index,
                 quad->index);
  }
}

/* R4: a CTA of a cluster may not end while another may still reach into it. */
static void check_reached(hd_ck_machine *m, int32_t cta, const uint32_t *known) {
  for (int32_t i = 0; i < m->n_warps && !m->stop; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (w->cta == cta || !w->remote_op ||
        known[hd_ck_component(m, i, HD_CK_TIME)] >= w->remote_time)
      continue;
    hd_check_access at = hd_ck_here(m, w, w->remote_op, -1);
    hd_ck_find(m, "R4", (hd_check_access){0}, at, "cluster.sync at the end of the kernel",
               "%s accesses a CTA that may have ended", at.text);
  }
}

static void check_landed(hd_ck_machine *m, int32_t cta, const uint32_t *known) {
  for (int32_t i = 0; i < m->program->n_barrier_slots && !m->stop; i++) {
    const hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, i);
    if (known[hd_ck_barrier_component(m, cta, i)] >= b->landing)
      continue;
    hd_check_access at = {.op = b->last, .text = hd_op_get_info(b->last->kind)->text,
                          .role = "kernel", .cta = cta, .slot = i, .iteration = -1};
    bool commit = b->last->kind == HD_OP_TCGEN05_COMMIT || b->last->kind == HD_OP_BARRIER_ARRIVE;
    hd_ck_find(m, "R1", (hd_check_access){0}, at,
               commit ? "barrier.wait for the last commit" : "barrier.wait for the last copy",
               commit ? "the kernel may end before a commit has arrived"
                      : "the kernel may end before a copy is complete");
  }
}

/* R8: otherwise the end of this kernel would not imply the end of its predecessor. */
static void check_waited(hd_ck_machine *m, int32_t cta, const uint32_t *known) {
  if (m->stop || !m->dependent || known[hd_ck_grid_component(m)])
    return;
  hd_check_access at = {.op = m->program->kernel, .text = "kernel", .role = "kernel", .cta = cta,
                        .slot = -1, .iteration = -1};
  hd_ck_find(m, "R8", (hd_check_access){0}, at, "grid.wait in every CTA",
             "the kernel ends without grid.wait");
}

static void check_leaving(hd_ck_machine *m) {
  hd_arena scratch = {0};
  for (int32_t cta = 0; cta < m->program->cluster && !m->stop; cta++) {
    uint32_t *known = HD_NEW_ARRAY(&scratch, uint32_t, m->n_components);
    for (int32_t i = 0; i < m->n_warps; i++)
      if (m->warps[i].cta == cta)
        hd_ck_join(m, m->warps[i].clock, known);
    check_reached(m, cta, known);
    check_landed(m, cta, known);
    check_waited(m, cta, known);
  }
  hd_arena_free(&scratch);
}

static void finish(hd_ck_machine *m) {
  if (m->stop)
    return;
  if (first_stuck(m)) {
    hd_ck_barriers_check_bytes(m);
    return report_deadlock(m);
  }
  hd_ck_barriers_finish(m);
  hd_ck_partials_finish(m);
  hd_ck_copies_finish(m);
  hd_ck_wgmma_finish(m);
  hd_ck_out_finish(m);
  hd_ck_tensor_finish(m);
  check_agreement(m);
  check_leaving(m);
}

static void run_warp(hd_ck_machine *m, hd_ck_warp *w) {
  if (w->state == HD_CK_AT_BARRIER)
    w->state = HD_CK_RUNNING;
  while (w->state == HD_CK_RUNNING && !m->stop) {
    if (m->steps_left-- == 0)
      return hd_ck_undecided(m, m->program->kernel,
                             "the kernel has too many steps for the checker; legal: a smaller k, "
                             "or a k known only at launch");
    m->report->n_steps++;
    advance(m, w);
    m->stop = m->stop || hd_memory_shortages() != m->shortages;
  }
}

/* Lists where warps will count arrivals. Only scalars decide the path that a warp takes. */
static void list_counts(hd_ck_machine *m) {
  m->listing = true;
  for (int32_t i = 0; i < m->n_warps; i++) {
    hd_ck_warp *w = &m->warps[i];
    if (w->role < 0 || !m->program->roles[w->role].counts)
      continue;
    run_warp(m, w);
    start_warp(m, i, w);
  }
  m->listing = false;
}

void hd_ck_run(hd_ck_machine *m) {
  create_warps(m);
  if (m->program->counts && !m->counting)
    list_counts(m);
  create_shared(m);
  bool again = true;
  while (again && !m->stop) {
    for (int32_t i = 0; i < m->n_warps; i++)
      run_warp(m, &m->warps[i]);
    again = !m->stop && first_stuck(m) && (advance_meetings(m) | hd_ck_barriers_advance(m));
  }
  finish(m);
}
