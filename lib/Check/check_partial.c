/* Tiles that CTAs share over k (R7). Partials are stored to separate ranges, each covers its part
 * of k, and only a warp that has seen all of them counted reads them.
 *
 * The parts of a tile finish in any order. A warp may be the last arriver where it counts for a
 * tile the last time, and it certainly is where it has counted all parts. In both cases it runs the
 * last arriver's region; in a `late` instance only in the second case. The partials of other CTAs
 * are assumed to be as the op describes them. This is checked where they are stored: same offset,
 * same strips and columns, each part once, starting at the k-block where the previous part ends,
 * published by the same counter. A tile of one part is not stored, counted or read, so that no warp
 * has to be the last. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"

enum { COUNTER_BYTES = 4, LANE_BYTES = 16 };

static void wrong(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const hd_op *first,
                  const char *remedy, const char *what) {
  hd_check_access here = hd_ck_here(m, w, step->op, -1);
  hd_check_access before = first ? hd_ck_here(m, w, first, -1) : (hd_check_access){0};
  hd_ck_find(m, "R7", before, here, remedy, "%s %s", here.text, what);
}

/* A stored partial of a tile that has other parts. */
static bool is_shared(const hd_ck_partial *p) { return p->op && p->n > 1; }

/* --- the workspace -------------------------------------------------------------------------- */

static bool overlaps(const hd_ck_claim *x, int64_t lo, int64_t hi) {
  return lo < x->hi && x->lo < hi;
}

/* Parts of one tile with consecutive numbers must be consecutive in k. */
static bool joins(const hd_ck_claim *x, const hd_ck_claim *y) {
  if (x->is_counter || y->is_counter || x->offset != y->offset)
    return true;
  return (x->part + 1 != y->part || x->k_hi == y->k_lo) &&
         (y->part + 1 != x->part || y->k_hi == x->k_lo);
}

/* The claim of these bytes, new or earlier by the same owner. If they have another owner: a
 * finding. */
static hd_ck_claim *claim(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          hd_ck_claim made) {
  hd_ck_extents *x = m->extents;
  if (made.lo < 0 || made.lo % (made.is_counter ? COUNTER_BYTES : LANE_BYTES)) {
    wrong(m, w, step, NULL, "an offset in the workspace, a multiple of 16 bytes",
          "touches bytes before the workspace, or misaligned ones");
    return NULL;
  }
  for (int32_t i = 0; i < x->n_claims; i++) {
    hd_ck_claim *old = &x->claims[i];
    bool same = old->lo == made.lo && old->hi == made.hi && old->offset == made.offset &&
                old->is_counter == made.is_counter;
    if (same && old->tile == made.tile && old->n == made.n)
      return old;
    if (!joins(old, &made))
      hd_ck_find(m, "data", hd_ck_here(m, w, old->op, -1), hd_ck_here(m, w, step->op, -1),
                 "parts of a tile that follow each other in k",
                 "part %lld of %lld holds k-blocks [%lld, %lld), part %lld [%lld, %lld)",
                 (long long)old->part, (long long)old->n, (long long)old->k_lo,
                 (long long)old->k_hi, (long long)made.part, (long long)made.k_lo,
                 (long long)made.k_hi);
    if (!overlaps(old, made.lo, made.hi))
      continue;
    wrong(m, w, step, old->op, "a range of its own for each tile, warp, part and counter",
          same ? "and another one, of a different tile or number of parts, use the same bytes"
               : "touches bytes of the workspace that belong to another partial or counter");
    return NULL;
  }
  if (made.hi > x->workspace_end) {
    x->workspace_end = made.hi;
    x->workspace_op = step->op;
  }
  HD_PUSH(x->claims, x->n_claims, x->cap_claims, made);
  return &x->claims[x->n_claims - 1];
}

/* --- partial.store -------------------------------------------------------------------------- */

/* Hash of the fragments' content except the k-blocks: the same in every part of a tile. */
static uint64_t tile_of(const hd_ck_warp *w, const hd_ck_step *step) {
  uint64_t hash = 0;
  for (int32_t i = HD_AT_partial_store_acc; i < step->n_args; i++) {
    const hd_ck_content *c = &w->env[step->args[i]].frag.content;
    int64_t parts[] = {c->block, c->strip, c->col, c->end};
    for (size_t p = 0; p < HD_COUNT(parts); p++)
      hash = (hash ^ ((uint64_t)parts[p] + 2)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 31;
  }
  return hash;
}

/* The fragments must hold exactly the k-blocks that the op states. */
static void check_k_blocks(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                           const hd_ck_partial *p) {
  int64_t n = p->k_hi - p->k_lo;
  for (int32_t i = HD_AT_partial_store_acc; i < step->n_args && !m->stop; i++) {
    const hd_ck_content *c = &w->env[step->args[i]].frag.content;
    if (c->n_steps != HD_K_STEPS * n || c->sum != hd_ck_sum_of(p->k_lo, 1, n))
      hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                 "the k-blocks that it names, each once",
                 "part %lld of %lld holds other k-blocks of %lld than [%lld, %lld)",
                 (long long)p->part, (long long)p->n, (long long)p->k_blocks, (long long)p->k_lo,
                 (long long)p->k_hi);
  }
}

/* Not empty; the first part begins with the first k-block, the last part ends with the last one. */
static bool is_part(const hd_ck_partial *p, int64_t most) {
  return p->n >= 1 && p->n <= most && p->part >= 0 && p->part < p->n && p->k_lo < p->k_hi &&
         (p->k_lo == 0) == (p->part == 0) && (p->k_hi == p->k_blocks) == (p->part == p->n - 1) &&
         p->k_lo >= 0 && p->k_hi <= p->k_blocks;
}

static void claim_part(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_partial *p) {
  int64_t lo = p->offset + p->part * hd_op_int(step->op, HD_ATTR_BYTES, 0);
  hd_ck_claim *c = claim(m, w, step,
                         (hd_ck_claim){.op = step->op,
                                       .offset = p->offset,
                                       .lo = lo,
                                       .hi = lo + hd_partial_bytes(step->op),
                                       .n = p->n,
                                       .part = p->part,
                                       .k_lo = p->k_lo,
                                       .k_hi = p->k_hi,
                                       .tile = p->tile});
  if (c && c->times++ && !m->stop)
    wrong(m, w, step, NULL, "each part of a tile once", "is stored a second time");
}

void hd_ck_partial_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  const hd_ck_value *env = w->env;
  hd_ck_partial p = {.op = op,
                     .offset = env[step->args[HD_AT_partial_store_place]].i,
                     .part = env[step->args[HD_AT_partial_store_part]].i,
                     .n = env[step->args[HD_AT_partial_store_n_parts]].i,
                     .k_lo = env[step->args[HD_AT_partial_store_k_lo]].i,
                     .k_hi = env[step->args[HD_AT_partial_store_k_hi]].i,
                     .k_blocks = env[step->args[HD_AT_partial_store_k_blocks]].i};
  for (int32_t i = HD_AT_partial_store_acc; i < step->n_args; i++)
    hd_ck_frag_use(m, w, step, i);
  if (!is_part(&p, hd_op_int(op, HD_ATTR_SPLITS, p.n)))
    return wrong(m, w, step, NULL, "1 to `splits` parts, none of them empty, from 0 to all of k",
                 "names a part that does not exist");
  if (is_shared(&w->partial) || (is_shared(&p) && w->last))
    wrong(m, w, step, w->partial.op, "last_arriver after every partial",
          "comes before another partial is counted");
  check_k_blocks(m, w, step, &p);
  p.tile = tile_of(w, step);
  if (is_shared(&p))
    claim_part(m, w, step, &p);
  w->partial = p;
}

/* --- last_arriver --------------------------------------------------------------------------- */

static int64_t counter_of(const hd_ck_warp *w, const hd_ck_step *step) {
  return w->env[step->args[HD_AT_last_arriver_place]].i + hd_op_int(step->op, HD_ATTR_OFFSET, 0);
}

/* The warp's count at the counter; NULL: none. */
static hd_ck_count *find_count(const hd_ck_machine *m, const hd_ck_warp *w, int64_t at) {
  for (int32_t i = 0; i < m->n_counts; i++)
    if (m->counts[i].warp == w->id && m->counts[i].at == at)
      return &m->counts[i];
  return NULL;
}

void hd_ck_list_count(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_count made = {.warp = w->id, .at = counter_of(w, step), .total = 1};
  hd_ck_count *c = find_count(m, w, made.at);
  if (c)
    c->total++;
  else
    HD_PUSH(m->counts, m->n_counts, m->cap_counts, made);
}

/* Counts one arrival; whether the warp is, or may be, the last arriver. */
static bool comes_last(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_count *c = find_count(m, w, counter_of(w, step));
  if (!c) /* no part was stored, which was reported */
    return false;
  c->so_far++;
  c->parts |= UINT64_C(1) << (w->partial.part & (HD_CK_PARTS - 1));
  w->parts = c->parts;
  return m->at.late ? c->so_far == w->partial.n : c->so_far == c->total;
}

void hd_ck_last_arriver(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t offset = w->env[step->args[HD_AT_last_arriver_place]].i,
          n = w->env[step->args[HD_AT_last_arriver_n]].i;
  int64_t lo = counter_of(w, step);
  const hd_ck_partial *p = &w->partial;
  hd_ck_meet_lanes(m, w);
  if (n == 1 && !is_shared(p)) {
    w->last = step->op;
    w->parts = 1;
    return;
  }
  if (!p->op || w->last)
    wrong(m, w, step, w->last, "partial.store before it", "counts without a stored partial");
  else if (p->offset != offset || p->n != n)
    wrong(m, w, step, p->op, "the offset and number of parts of the partial",
          "counts at another offset, or up to another number, than the partial");
  hd_ck_claim *c = claim(m, w, step,
                         (hd_ck_claim){.op = step->op,
                                       .offset = offset,
                                       .lo = lo,
                                       .hi = lo + COUNTER_BYTES,
                                       .n = n,
                                       .tile = p->tile,
                                       .is_counter = true});
  if (c)
    c->times++;
  if (comes_last(m, w, step))
    w->last = step->op;
  else
    w->at = step->target - 1; /* the next step is the region's end */
}

void hd_ck_leave_last(hd_ck_warp *w) {
  w->last = NULL;
  w->partial = (hd_ck_partial){0};
}

/* --- partial.sum ---------------------------------------------------------------------------- */

static void check_source(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_partial *p = &w->partial;
  const hd_op *op = step->op;
  if (!w->last || !p->op)
    return wrong(m, w, step, p->op, "last_arriver around it",
                 "reads partials that other CTAs may not have stored");
  enum { FEWER = HD_AT_partial_store_acc - HD_AT_partial_sum_acc };
  bool same = w->env[step->args[HD_AT_partial_sum_place]].i == p->offset &&
              w->env[step->args[HD_AT_partial_sum_part]].i == p->part &&
              w->env[step->args[HD_AT_partial_sum_n_parts]].i == p->n &&
              op->n_operands + FEWER == p->op->n_operands &&
              hd_op_int(op, HD_ATTR_BYTES, 0) == hd_op_int(p->op, HD_ATTR_BYTES, 0);
  for (int32_t i = HD_AT_partial_sum_acc; same && i < step->n_args; i++)
    same = op->operands[i] == p->op->operands[i + FEWER];
  if (!same)
    wrong(m, w, step, p->op, "what the partial's store says",
          "reads other partials than were stored and counted");
}

/* A tile of one part is passed on unchanged. */
void hd_ck_partial_sum(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  bool is_whole = w->env[step->args[HD_AT_partial_sum_part]].i == 0 &&
                  w->env[step->args[HD_AT_partial_sum_n_parts]].i == 1;
  for (int32_t i = HD_AT_partial_sum_acc; i < step->n_args; i++)
    hd_ck_frag_use(m, w, step, i);
  if (!is_whole)
    check_source(m, w, step);
  for (int32_t i = 0; i < step->n_results; i++) {
    hd_ck_frag f = {.state = HD_CK_FRAG_READY, .root = -1, .made = step->op, .touched = w->now};
    f.content = w->env[step->args[HD_AT_partial_sum_acc + i]].frag.content;
    if (!is_whole) {
      f.content.n_steps = (int32_t)(HD_K_STEPS * w->partial.k_blocks);
      f.content.sum = hd_ck_sum_of(0, 1, w->partial.k_blocks);
    }
    w->env[step->results[i]].frag = f;
  }
}

/* --- the end -------------------------------------------------------------------------------- */

void hd_ck_partials_finish(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps; i++) {
    const hd_ck_warp *w = &m->warps[i];
    hd_ck_step store = {.op = w->partial.op};
    if (is_shared(&w->partial))
      wrong(m, w, &store, NULL, "last_arriver after it", "is never counted, so no CTA adds it up");
  }
}

const hd_ck_claim *hd_ck_partials_missing(const hd_ck_extents *x) {
  for (int32_t i = 0; i < x->n_claims; i++)
    if (x->claims[i].is_counter && x->claims[i].times != x->claims[i].n)
      return &x->claims[i];
  return NULL;
}
