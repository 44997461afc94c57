/* group.table, group.count, group.find: how a launch's offsets divide the columns of B and D. The
 * offsets are the instance's; the table is as the ops' documentation says. That it is read only
 * after a synchronisation with the threads that wrote it follows from the history of its bytes. */
#include "Check/check_machine.h"
#include "IR/shared_layout.h"

int64_t hd_ck_group_columns(int64_t routing, int64_t g, int64_t unit) {
  const int64_t sizes[] = {0, 1, unit - 1, unit, unit + 1}; /* around the size of a tile */
  int64_t n = routing;
  for (int64_t i = 0; i < g; i++)
    n += sizes[(uint64_t)(i + routing) % HD_COUNT(sizes)];
  return n;
}

/* Offset i of g + 1. No group begins before the previous one has ended (make_groups). */
static int64_t offset(const hd_ck_instance *at, int64_t i, int64_t n, int64_t unit) {
  if (at->routing == HD_CK_ONE_GROUP)
    return i == 0 ? 0 : n;
  if (at->routing == HD_CK_WILD) /* below 0, above n, and decreasing */
    return i == 0 ? -5 : i == 1 ? n + 7 : 3;
  return hd_ck_group_columns(at->routing, i, unit);
}

static int64_t inside(int64_t x, int64_t n) { return x < 0 ? 0 : x > n ? n : x; }

static hd_ck_groups *make_groups(hd_ck_machine *m, const hd_op *op, int64_t g, int64_t n,
                                 int64_t tiles_m) {
  hd_arena *arena = &m->extents->arena;
  hd_ck_groups *x = HD_NEW(arena, hd_ck_groups);
  int64_t unit = hd_op_int(op, HD_ATTR_TILE_COLUMNS, 1);
  *x = (hd_ck_groups){.op = op, .g = g, .n = n, .tiles_m = tiles_m};
  x->first = HD_NEW_ARRAY(arena, int64_t, g);
  x->end = HD_NEW_ARRAY(arena, int64_t, g);
  x->before = HD_NEW_ARRAY(arena, int64_t, g + 1);
  int64_t at = inside(offset(&m->at, 0, n, unit), n);
  for (int64_t i = 0; i < g; i++) {
    int64_t end = inside(offset(&m->at, i + 1, n, unit), n);
    x->first[i] = at;
    x->end[i] = at = end > at ? end : at;
    x->before[i + 1] = x->before[i] + (x->end[i] - x->first[i] + unit - 1) / unit * tiles_m;
  }
  return x;
}

/* All threads write parts of the table; to other warps this is one write. */
void hd_ck_group_table(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_ring *ring = hd_ck_buffer(m->program, step->op->operands[HD_AT_group_table_buffer]);
  int64_t g = w->env[step->args[HD_AT_group_table_g]].i,
          n = w->env[step->args[HD_AT_group_table_n]].i,
          tiles_m = w->env[step->args[HD_AT_group_table_tiles_m]].i;
  hd_ck_groups *x = m->extents->groups;
  if (!ring || g < 1 || n < 0 || tiles_m < 0)
    return hd_ck_undecided(m, step->op, "groups that the checker does not know");
  if ((g + 1) * HD_GROUP_BYTES > ring->bytes)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, 0),
                      "a buffer of 16 bytes a group, and 16 more",
                      "a table of %lld groups in %lld bytes", (long long)g, (long long)ring->bytes);
  if ((m->at.g >= 0 && g != m->at.g) || (m->at.n >= 0 && n != m->at.n))
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, 0),
                      "the problem's own g and n",
                      "a table of %lld groups of %lld columns; the problem has %lld of %lld",
                      (long long)g, (long long)n, (long long)m->at.g, (long long)m->at.n);
  if (!x)
    x = m->extents->groups = make_groups(m, step->op, g, n, tiles_m);
  if (x->op != step->op)
    return hd_ck_undecided(m, step->op, "a second table of groups");
  m->extents->g = g;
  if (m->listing)
    return;
  hd_ck_region region = {.buffer = ring, .cta = w->cta, .range = {.hi = ring->bytes, .n = 1}};
  hd_ck_access a = {.op = step->op, .kind = HD_CK_WRITE, .occurrence = ++w->n_shared_work,
                    .component = hd_ck_component(m, w->id, HD_CK_LANES), .value = w->now};
  hd_ck_access_write(m, w, hd_ck_access_add(m, w, a), region, 0);
}

/* The groups of the table that the op names, read by generic code; NULL after a finding. */
static const hd_ck_groups *read_groups(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_groups *x = m->extents->groups;
  const hd_ck_ring *ring = hd_ck_buffer(m->program, step->op->operands[HD_AT_group_find_buffer]);
  int64_t g = w->env[step->args[HD_AT_group_find_g]].i;
  if (!x || !ring || hd_group_table_buffer(x->op)->op != ring->op || g != x->g) {
    hd_ck_undecided(m, step->op, "groups of another table, or of another number of them");
    return NULL;
  }
  if (m->listing)
    return x;
  hd_ck_region region = {.buffer = ring, .cta = w->cta, .range = {.hi = ring->bytes, .n = 1}};
  hd_ck_access a = {.op = step->op, .kind = HD_CK_READ,
                    .component = hd_ck_component(m, w->id, HD_CK_READS), .value = w->now};
  int64_t other = INT64_MAX;
  hd_ck_access_read_any(m, w, hd_ck_access_add(m, w, a), region, &other);
  return m->stop ? NULL : x;
}

void hd_ck_group_count(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_groups *x = read_groups(m, w, step);
  if (!x)
    return;
  w->env[step->results[0]].i = x->before[x->g];
  if (m->program->streams)
    hd_ck_note_units(m, x->before[x->g]);
}

void hd_ck_group_find(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_groups *x = read_groups(m, w, step);
  int64_t index = w->env[step->args[HD_AT_group_find_index]].i, i = 0;
  if (!x)
    return;
  if (index < 0 || index >= x->before[x->g])
    return hd_ck_undecided(m, step->op, "a tile index past the last tile of all groups");
  while (x->before[i + 1] <= index)
    i++;
  const int64_t results[] = {i, index - x->before[i], x->first[i], x->end[i]};
  for (size_t r = 0; r < HD_COUNT(results); r++)
    w->env[step->results[r]].i = results[r];
}
