/* Partial sums that are sent across a cluster. Each covers its part of k, arrives in a slot of its
 * own in the receiving CTA, and is added there to accumulators of the same strip and columns.
 *
 * The cells of a slot hold a hash of what was sent (strip, columns, split and k-blocks), so that
 * the value added is identified by what was written, independently of addresses. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"

enum { LANES = 32, ELEM_BYTES = 4, ALIGN = 16 };

/* Split `split` of n over k_blocks k-blocks; content: of the fragment sent, or of that added to. */
typedef struct share {
  int64_t offset, split, n, k_blocks;
  const hd_ck_content *content;
} share;

static share share_of(const hd_ck_warp *w, const hd_ck_step *step, int32_t first) {
  const hd_ck_value *env = w->env;
  return (share){env[step->args[first]].i, env[step->args[first + 1]].i,
                 env[step->args[first + 2]].i, env[step->args[first + 3]].i,
                 &env[step->args[first + 4]].frag.content};
}

static int64_t lo_of(const share *s) {
  return s->split * s->k_blocks / s->n;
}

static int64_t count_of(const share *s) {
  return (s->split + 1) * s->k_blocks / s->n - lo_of(s);
}

static uint64_t tag_of(const share *s) {
  int64_t parts[] = {s->content->block, s->content->strip, s->content->col, s->content->end,
                     s->split, s->n, s->k_blocks};
  uint64_t hash = 0;
  for (size_t i = 0; i < HD_COUNT(parts); i++)
    hash = (hash ^ ((uint64_t)parts[i] + 2)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 31;
  return hash;
}

/* The slot and bytes in CTA `to` of a fragment that is sent as s. False after a finding. */
static bool find_region(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                        const share *s, int32_t to, hd_type type, hd_ck_region *region) {
  const hd_ck_ring *buffer = hd_ck_buffer(m->program, hd_partial_send_buffer(step->op));
  if (!buffer) {
    hd_ck_undecided(m, step->op, "a buffer that is not named by its declaration");
    return false;
  }
  *region =
      (hd_ck_region){.buffer = buffer, .cta = to, .slot = (int32_t)s->split - (s->split > to)};
  region->range = (hd_ck_range){
      .lo = s->offset, .hi = s->offset + (int64_t)type.n * LANES * ELEM_BYTES, .n = 1};
  if (s->n >= 1 && s->split >= 0 && s->split != to && s->split < s->n &&
      s->n <= buffer->stages + 1 && s->k_blocks >= s->n && s->offset % ALIGN == 0)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
             "a split of another CTA, of as many as the buffer has slots and one, at a multiple of "
             "16 bytes",
             "split %lld of %lld at byte %lld of a slot, over %lld k-blocks", (long long)s->split,
             (long long)s->n, (long long)s->offset, (long long)s->k_blocks);
  return false;
}

/* Operands: buffer, offset, split, splits, k-blocks, fragment, barrier. */
void hd_ck_partial_send(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  enum { FRAGMENT = HD_AT_partial_send_acc, BARRIER = HD_AT_partial_send_barrier };
  share s = share_of(w, step, HD_AT_partial_send_place);
  int32_t to = (int32_t)hd_op_int(step->op, HD_ATTR_OWNER, 0);
  hd_ck_region region;
  hd_ck_frag_use(m, w, step, FRAGMENT);
  if (!find_region(m, w, step, &s, to, step->op->operands[FRAGMENT]->type, &region) ||
      !hd_ck_same_ring(m, w, step, BARRIER, &region))
    return;
  if (s.content->n_steps != HD_K_STEPS * count_of(&s) ||
      s.content->sum != hd_ck_sum_of(lo_of(&s), 1, count_of(&s)))
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "the k-blocks [s * g / n, (s + 1) * g / n), each once",
               "split %lld of %lld holds other k-blocks of %lld than its share", (long long)s.split,
               (long long)s.n, (long long)s.k_blocks);
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[BARRIER]);
  uint32_t phase = hd_ck_barrier_land(m, w, step, BARRIER, region.cta, region.slot,
                                      region.range.hi - region.range.lo);
  hd_ck_access x = {.op = step->op, .kind = HD_CK_SENT, .slot = region.slot, .value = phase + 1};
  x.component = hd_ck_barrier_component(m, region.cta, ring->first + region.slot);
  hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), region, tag_of(&s));
}

/* Operands: buffer, cursor, offset, split, splits, k-blocks, fragment. */
void hd_ck_partial_add(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  enum { FRAGMENT = HD_AT_partial_add_acc };
  share s = share_of(w, step, HD_AT_partial_add_place);
  hd_ck_region region, named;
  hd_ck_frag_use(m, w, step, FRAGMENT);
  if (!find_region(m, w, step, &s, w->cta, step->op->operands[FRAGMENT]->type, &region) ||
      !hd_ck_region_of(m, w, step, HD_AT_partial_add_buffer, HD_AT_partial_add_cursor, &named))
    return;
  region.slot = named.slot;
  hd_ck_access x = {.op = step->op, .kind = HD_CK_READ, .slot = region.slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_READS);
  if (hd_ck_access_read(m, w, hd_ck_access_add(m, w, x), region) != tag_of(&s) && !m->stop)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "the slot and offset that the split's partial.send names",
               "adds something else than split %lld's partial of this strip and these columns",
               (long long)s.split);
  hd_ck_frag f = {.state = HD_CK_FRAG_READY, .root = -1, .content = *s.content};
  f.content.n_steps += (int32_t)(HD_K_STEPS * count_of(&s));
  f.content.sum += hd_ck_sum_of(lo_of(&s), 1, count_of(&s));
  w->env[step->results[0]].frag.read_by = 0;
  hd_ck_frag_define(m, w, step, f);
}
