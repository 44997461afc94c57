#include <string.h>

#include "Check/check_machine.h"
#include "Support/memory.h"

uint64_t hd_ck_matrix_tag(hd_ck_machine *m, const hd_op *op, int64_t g) {
  hd_ck_extents *x = m->extents;
  if (g == 0 || m->at.far)
    return 0;
  for (int32_t i = 1; i <= x->n_matrices; i++)
    if (x->matrix[i] == g)
      return (uint64_t)i;
  if (x->n_matrices == HD_CK_MATRICES - 1) {
    hd_ck_undecided(m, op, "a CTA that computes products of more than 255 matrices of a batch");
    return 0;
  }
  x->matrix[++x->n_matrices] = g;
  return (uint64_t)x->n_matrices;
}

/* --- rules ---------------------------------------------------------------------------------- */

static bool is_write(hd_ck_access_kind kind) {
  return kind == HD_CK_WRITE || kind == HD_CK_COPY || kind == HD_CK_BULK || kind == HD_CK_SENT;
}

static bool is_async(hd_ck_access_kind kind) {
  return kind == HD_CK_BULK || kind == HD_CK_WGMMA_READ || kind == HD_CK_OUT_READ ||
         kind == HD_CK_TENSOR_MMA;
}

static bool is_tensor(hd_ck_access_kind kind) {
  return kind == HD_CK_TENSOR_MMA || kind == HD_CK_TENSOR_MOVE;
}

/* Whether x is complete before y. A generic write before an async access also needs the writer's
 * proxy fence (R2); st.async cannot be fenced. A read needs a copy's bytes, not its phase (R1). */
static bool is_over(const hd_ck_machine *m, const hd_ck_access *x, const hd_ck_access *y,
                    const uint32_t *clock, bool before_async) {
  uint32_t component = x->component;
  if (x->kind == HD_CK_BULK && !is_write(y->kind))
    component += hd_ck_to_landings(m);
  if (before_async && x->kind == HD_CK_SENT)
    return false;
  if (before_async && x->kind == HD_CK_WRITE)
    component += hd_ck_component(m, 0, HD_CK_FENCED - HD_CK_LANES);
  if (before_async && x->kind == HD_CK_COPY)
    component += hd_ck_component(m, 0, HD_CK_FENCED_COPIES - HD_CK_COPIED);
  return clock[component] >= x->value;
}

typedef struct hazard {
  const char *rule, *verb, *remedy;
} hazard;

static hazard hazard_after_write(const hd_ck_machine *m, const hd_ck_access *x,
                                 const hd_ck_access *y, const uint32_t *clock) {
  if (x->kind == HD_CK_SENT && is_async(y->kind))
    return (hazard){"R2", "uses the async proxy after data that was sent by",
                    "a separate slot for sent data: no thread can fence it"};
  if (x->kind == HD_CK_BULK || x->kind == HD_CK_SENT)
    return (hazard){"R1", is_write(y->kind) ? "overwrites data that may not have arrived yet, from"
                                            : "reads data that may not have arrived yet, from",
                    clock[x->component] < x->value
                        ? "barrier.wait of that phase before the second access"
                        : "an arrive of scope cluster, by who has waited for that phase"};
  if (is_async(y->kind) && is_over(m, x, y, clock, false))
    return (hazard){"R2", "uses the async proxy after the generic write of",
                    "fence.proxy_async in every writing thread, after the write (and its "
                    "cp_async.wait) and before the barrier"};
  if (is_async(y->kind))
    return (hazard){"R2", "is not ordered after the write of",
                    "fence.proxy_async in every writing thread, then a barrier that the second "
                    "access waits for"};
  return (hazard){"R1", is_write(y->kind) ? "overwrites, without order, data written by"
                                          : "reads, without order, data written by",
                  x->kind == HD_CK_COPY ? "cp_async.wait that covers the group, then cta.sync"
                                        : "a barrier between the two, by all writing threads"};
}

/* x is not in the view that orders y: signalled but not fenced, or not signalled at all. */
static hazard tensor_hazard(const hd_ck_machine *m, const hd_ck_access *x, const hd_ck_access *y,
                            const uint32_t *clock) {
  if (is_over(m, x, y, clock, is_async(y->kind)))
    return (hazard){"R9", "may execute before what the warp has waited for:",
                    "tcgen05.fence_after after the wait"};
  return (hazard){
      "R9", "is not ordered after",
      x->kind == HD_CK_TENSOR_MMA
          ? "tcgen05.commit on a barrier that the second one waits for"
          : "its tcgen05.wait, tcgen05.fence_before, then an arrive that the second one "
            "waits for"};
}

static hazard hazard_of(const hd_ck_machine *m, const hd_ck_access *x, const hd_ck_access *y,
                        const uint32_t *clock) {
  bool both = is_tensor(x->kind) && (is_tensor(y->kind) || y->kind == HD_CK_TENSOR_FREE);
  if (both || (is_tensor(y->kind) && is_over(m, x, y, clock, is_async(y->kind))))
    return tensor_hazard(m, x, y, clock);
  if (is_write(x->kind))
    return hazard_after_write(m, x, y, clock);
  if (x->kind == HD_CK_OUT_READ)
    return (hazard){"R6", "overwrites data that may still be read by",
                    "bulk.wait that covers the group, then a warp.sync"};
  if (x->kind == HD_CK_READ && clock[hd_ck_component(m, x->warp, HD_CK_TIME)] >= x->value)
    return (hazard){"R3",
                    "overwrites data that lanes other than the arriving one may still read by",
                    "a warp.sync after the read, before the arrive of one lane for its warp"};
  return (hazard){"R3", "overwrites data that may still be read by",
                  x->kind == HD_CK_TENSOR_MMA
                      ? "tcgen05.commit on a barrier that the second access waits for"
                  : x->kind == HD_CK_WGMMA_READ
                      ? "wgmma.wait that covers the reading group, then an arrive that the second "
                        "access waits for"
                      : "an arrive or barrier after the read that the second access waits for"};
}

/* A thread's tcgen05.mma of one shape and kind execute in order, also after its tcgen05.cp (R9). */
static bool is_pipelined(const hd_ck_access *x, const hd_ck_access *y) {
  return x->kind == HD_CK_TENSOR_MMA && y->kind == HD_CK_TENSOR_MMA && x->warp == y->warp &&
         y->op->kind == HD_OP_TCGEN05_MMA_SP &&
         (x->op->kind == HD_OP_TCGEN05_CP ||
          !strcmp(hd_op_str(x->op, HD_ATTR_ROW), hd_op_str(y->op, HD_ATTR_ROW)));
}

/* --- spans ---------------------------------------------------------------------------------- */

/* One access to several spans. Recent comparisons are not repeated for the next spans. */
typedef struct pass {
  hd_ck_machine *m;
  const hd_ck_warp *w;
  uint32_t id, seen[4];
  int32_t at;
  int64_t *other; /* of a read: first byte whose tag does not follow; NULL: that is a finding */
} pass;

static void compare_once(pass *p, uint32_t first) {
  for (int32_t i = 0; i < 4; i++)
    if (p->seen[i] == first)
      return;
  p->seen[p->at++ & 3] = first;
  hd_ck_machine *m = p->m;
  const hd_ck_access *x = &m->accesses[first], *y = &m->accesses[p->id];
  m->report->n_pairs++;
  if (is_over(m, x, y, is_tensor(y->kind) ? p->w->view : p->w->clock, is_async(y->kind)) ||
      is_pipelined(x, y))
    return;
  hazard h = hazard_of(m, x, y, p->w->clock);
  hd_check_access a = hd_ck_there(m, x), b = hd_ck_there(m, y);
  hd_ck_find(m, h.rule, a, b, h.remedy, "%s %s %s", b.text, h.verb, a.text);
}

static uint32_t *ids_of(hd_ck_span *span) { return span->cap ? span->far : span->near; }

static void insert(hd_ck_span *span, int32_t at, uint32_t id) {
  if (span->n == (span->cap ? span->cap : HD_CK_NEAR)) {
    uint32_t *far = hd_xmalloc(sizeof *far * 2 * span->n);
    memcpy(far, ids_of(span), sizeof *far * span->n);
    hd_free(span->far);
    span->far = far;
    span->cap = (uint16_t)(2 * span->n);
  }
  uint32_t *ids = ids_of(span);
  memmove(ids + at + 1, ids + at, sizeof *ids * (size_t)(span->n - at));
  ids[at] = id;
  span->n++;
}

/* A later read of the same warp and kind completes no earlier, so it replaces the earlier one. */
static void enter_read(pass *p, hd_ck_span *span) {
  const hd_ck_access *mine = &p->m->accesses[p->id];
  uint32_t *ids = ids_of(span);
  for (int32_t i = span->n_writes; i < span->n; i++) {
    const hd_ck_access *x = &p->m->accesses[ids[i]];
    if (x->warp == mine->warp && x->kind == mine->kind) {
      ids[i] = p->id;
      return;
    }
  }
  insert(span, span->n, p->id);
}

static bool same_work(const hd_ck_access *x, const hd_ck_access *y) {
  return x->op == y->op && x->occurrence == y->occurrence && x->occurrence;
}

static void write_span(pass *p, hd_ck_span *span, uint64_t tag) {
  const hd_ck_access *mine = &p->m->accesses[p->id];
  bool joins = span->n_writes > 0 && same_work(&p->m->accesses[ids_of(span)[0]], mine);
  for (int32_t i = joins ? span->n_writes : 0; i < span->n; i++)
    compare_once(p, ids_of(span)[i]);
  if (joins) {
    insert(span, span->n_writes++, p->id);
    return;
  }
  span->n = span->n_writes = 0;
  insert(span, 0, p->id);
  span->n_writes = 1;
  span->tag = tag;
}

/* --- regions --------------------------------------------------------------------------------- */

bool hd_ck_region_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t cursor, hd_ck_region *region) {
  const hd_ck_ring *ring = hd_ck_buffer(m->program, step->op->operands[buffer]);
  int64_t at = w->env[step->args[cursor]].i;
  if (!ring) {
    hd_ck_undecided(m, step->op, "a buffer that is not named by its declaration");
    return false;
  }
  *region = (hd_ck_region){.buffer = ring, .cta = w->cta, .slot = hd_ck_slot(at)};
  if (hd_ck_stages(at) == ring->stages && hd_ck_slot(at) < ring->stages)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, hd_ck_slot(at)),
             "use a cursor of the buffer's own ring",
             "slot %d of a ring of %d stages in a buffer of %d", hd_ck_slot(at),
             hd_ck_stages(at), ring->stages);
  return false;
}

bool hd_ck_region_at(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t slot, hd_ck_region *region) {
  const hd_ck_ring *ring = hd_ck_buffer(m->program, step->op->operands[buffer]);
  int64_t at = w->env[step->args[slot]].i;
  if (!ring) {
    hd_ck_undecided(m, step->op, "a buffer that is not named by its declaration");
    return false;
  }
  *region = (hd_ck_region){.buffer = ring, .cta = w->cta, .slot = (int32_t)at};
  region->range = (hd_ck_range){.hi = ring->bytes, .n = 1};
  if (at >= 0 && at < ring->stages)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, (int32_t)at),
             "a slot of the buffer", "slot %lld of a buffer of %d", (long long)at, ring->stages);
  return false;
}

/* Bytes [lo, hi) of a slot; in a buffer over others, only those in one slot under it. */
typedef struct stretch {
  hd_ck_slot_spans *slot;
  int64_t lo, hi;
} stretch;

static const hd_ck_ring *buffer_at(const hd_ck_program *p, int64_t byte) {
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const hd_ck_ring *b = &p->buffers[i];
    if (!b->over && byte >= b->at && byte < b->at + b->bytes * b->stages)
      return b;
  }
  return NULL;
}

static stretch stretch_of(hd_ck_machine *m, const hd_ck_region *region, int64_t lo, int64_t hi) {
  const hd_ck_ring *b = region->buffer;
  int32_t index = region->slot;
  int64_t byte = b->at + b->bytes * index + lo;
  if (b->over && buffer_at(m->program, byte)) {
    b = buffer_at(m->program, byte);
    index = (int32_t)((byte - b->at) / b->bytes);
    int64_t begin = (byte - b->at) % b->bytes;
    hi = begin + hi - lo < b->bytes ? begin + hi - lo : b->bytes;
    lo = begin;
  }
  hd_ck_slot_spans *all = m->slots + region->cta * m->program->n_buffer_slots;
  return (stretch){all + b->first + index, lo, hi};
}

/* Index of the span that holds the cell, or of the first one after it. */
static int32_t find_span(const hd_ck_slot_spans *s, int32_t cell) {
  int32_t lo = 0, hi = s->n;
  while (lo < hi) {
    int32_t mid = (lo + hi) / 2;
    if (s->span[mid].hi <= cell)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* Splits span `at` so that `cell`, which it holds, begins a span; returns that span's index. */
static int32_t cut(hd_ck_slot_spans *s, int32_t at, int32_t cell) {
  if (at == s->n || s->span[at].lo == cell)
    return at;
  hd_ck_span rest = s->span[at];
  rest.tag += (uint64_t)(cell - rest.lo);
  rest.lo = s->span[at].hi = cell;
  if (rest.cap) {
    rest.far = hd_xmalloc(sizeof *rest.far * rest.cap);
    memcpy(rest.far, s->span[at].far, sizeof *rest.far * rest.n);
  }
  HD_PUSH(s->span, s->n, s->cap, rest);
  memmove(&s->span[at + 2], &s->span[at + 1], sizeof rest * (size_t)(s->n - at - 2));
  s->span[at + 1] = rest;
  return at + 1;
}

/* The spans that cover exactly the cells of bytes [lo, end) of a region. */
typedef struct piece {
  hd_ck_span *span;
  int32_t n, cell; /* cell: the first one */
  int64_t end;
} piece;

static piece piece_of(hd_ck_machine *m, const hd_ck_region *region, int64_t lo, int64_t hi) {
  stretch s = stretch_of(m, region, lo, hi);
  piece p = {.cell = (int32_t)(s.lo / HD_CK_CELL), .end = lo + s.hi - s.lo};
  int32_t first = cut(s.slot, find_span(s.slot, p.cell), p.cell), last = first;
  int32_t end = (int32_t)((s.hi + HD_CK_CELL - 1) / HD_CK_CELL);
  while (last < s.slot->n && s.slot->span[last].hi <= end)
    last++;
  p.n = cut(s.slot, last, end) - first;
  p.span = s.slot->span + first;
  return p;
}

/* The tag of the cell at `byte`, if the cell at `lo` has `tag` and the tags are consecutive. */
static uint64_t tag_at(uint64_t tag, int64_t lo, int64_t byte) {
  return tag + (uint64_t)(byte / HD_CK_CELL - lo / HD_CK_CELL);
}

static bool in_bounds(hd_ck_machine *m, const hd_ck_access *access, const hd_ck_region *region) {
  const hd_ck_range *r = &region->range;
  int64_t end = r->hi + (r->n - 1) * r->pitch;
  if (r->n < 1 || r->lo >= r->hi)
    return false;
  if (r->lo >= 0 && r->pitch >= 0 && end <= region->buffer->bytes)
    return true;
  hd_check_access at = hd_ck_there(m, access);
  hd_ck_find(m, "bounds", (hd_check_access){0}, at, "keep it inside the slot",
             "%s touches bytes [%lld, %lld) of a slot of %lld", at.text, (long long)r->lo,
             (long long)end, (long long)region->buffer->bytes);
  return false;
}

uint32_t hd_ck_access_add(hd_ck_machine *m, const hd_ck_warp *w, hd_ck_access access) {
  access.warp = w->id;
  access.iteration = hd_ck_iteration(w);
  m->report->n_accesses++;
  HD_PUSH(m->accesses, m->n_accesses, m->cap_accesses, access);
  return m->n_accesses - 1;
}

/* A partly written cell counts as written: copies of operands consist of whole cells
 * (check_copy.c), other writes fill their regions completely. */
static void write_range(pass *p, const hd_ck_region *region, int64_t lo, int64_t hi, uint64_t tag) {
  for (int64_t at = lo; at < hi && !p->m->stop;) {
    piece x = piece_of(p->m, region, at, hi);
    uint64_t base = tag_at(tag, lo, at);
    for (int32_t j = 0; j < x.n; j++)
      write_span(p, &x.span[j], base + (uint64_t)(x.span[j].lo - x.cell));
    at = x.end;
  }
}

static pass pass_of(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id) {
  return (pass){m, w, id, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0, NULL};
}

void hd_ck_access_write(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id, hd_ck_region region,
                        uint64_t tag) {
  const hd_ck_range *r = &region.range;
  pass p = pass_of(m, w, id);
  if (!in_bounds(m, &m->accesses[id], &region))
    return;
  for (int32_t i = 0; i < r->n && !m->stop; i++)
    write_range(&p, &region, r->lo + i * r->pitch, r->hi + i * r->pitch, tag);
}

static void unwritten(hd_ck_machine *m, uint32_t id, int64_t byte) {
  hd_check_access at = hd_ck_there(m, &m->accesses[id]);
  hd_ck_find(m, "R1", (hd_check_access){0}, at, "a copy that fills these bytes, and a wait for it",
             "%s reads byte %lld of a slot that was not written", at.text, (long long)byte);
}

static void mixed(pass *p, int64_t byte) {
  hd_ck_machine *m = p->m;
  if (p->other) {
    *p->other = byte < *p->other ? byte : *p->other;
    return;
  }
  hd_check_access at = hd_ck_there(m, &m->accesses[p->id]);
  hd_ck_find(m, "data", (hd_check_access){0}, at, "copy it completely from one range",
             "%s reads a piece of the operand that is mixed with another one, at byte %lld",
             at.text, (long long)byte);
}

/* expected NULL: any tag. Returns the tag of the first cell, which the others must follow. */
static uint64_t read_range(pass *p, const hd_ck_region *region, int64_t lo, int64_t hi,
                           const uint64_t *expected) {
  uint64_t tag = expected ? *expected : 0;
  for (int64_t at = lo; at < hi && !p->m->stop;) {
    piece x = piece_of(p->m, region, at, hi);
    if (!expected && at == lo)
      tag = x.span->tag;
    uint64_t base = tag_at(tag, lo, at);
    for (int32_t j = 0; j < x.n && !p->m->stop; j++) {
      int32_t cell = x.span[j].lo - x.cell;
      if (!x.span[j].n_writes)
        unwritten(p->m, p->id, at + (int64_t)cell * HD_CK_CELL);
      else if (x.span[j].tag != base + (uint64_t)cell)
        mixed(p, at + (int64_t)cell * HD_CK_CELL);
      for (int32_t i = 0; i < x.span[j].n_writes; i++)
        compare_once(p, ids_of(&x.span[j])[i]);
      enter_read(p, &x.span[j]);
    }
    at = x.end;
  }
  return tag;
}

static uint64_t read_region(pass *p, const hd_ck_region *region) {
  const hd_ck_range *r = &region->range;
  if (!in_bounds(p->m, &p->m->accesses[p->id], region))
    return 0;
  uint64_t tag = read_range(p, region, r->lo, r->hi, NULL);
  for (int32_t i = 1; i < r->n && !p->m->stop; i++) {
    uint64_t next = tag + (uint64_t)i * r->tag_step;
    read_range(p, region, r->lo + i * r->pitch, r->hi + i * r->pitch, &next);
  }
  return tag;
}

uint64_t hd_ck_access_read(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id,
                           hd_ck_region region) {
  pass p = pass_of(m, w, id);
  return read_region(&p, &region);
}

uint64_t hd_ck_access_read_any(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id,
                               hd_ck_region region, int64_t *other) {
  pass p = pass_of(m, w, id);
  p.other = other;
  *other = INT64_MAX;
  return read_region(&p, &region);
}
