/* Sim/sim_tensor.c: tiled tensor copies between a box of a tensor in global memory and its swizzled
 * tile in shared memory. */
#include <string.h>

#include "Sim/sim_machine.h"
#include "Sim/sim_maps.h"
#include "Sim/sim_reduce.h"
#include "Sim/sim_types.h"

uint32_t hd_sim_element_bytes(heddle_elem elem) {
  static const uint8_t bits[] = {
#define HEDDLE_ELEM(name, text, value_bits, container_bits, ...) container_bits,
#include "heddle/types.def"
#undef HEDDLE_ELEM
  };
  return bits[elem] / 8;
}

uint32_t hd_sim_box_bytes(const hd_tmap *map) {
  uint32_t n = hd_sim_element_bytes(map->elem);
  for (int32_t i = 0; i < map->rank; i++)
    n *= map->box[i];
  return n;
}

/* One row of the box (dimension 0): the part inside the tensor. */
typedef struct row {
  uint64_t address; /* of the first element that is inside */
  uint32_t skip, n; /* bytes before it, bytes inside */
} row;

static row row_of(const sim_async *op, const uint32_t at[5]) {
  const hd_tmap *map = op->tmap;
  int64_t e = hd_sim_element_bytes(map->elem), width = (int64_t)map->box[0];
  row r = {map->base, 0, 0};
  for (int32_t i = 1; i < map->rank; i++) {
    int64_t x = (int64_t)op->coord[i] + at[i];
    if (x < 0 || (uint64_t)x >= map->dim[i])
      return r;
    r.address += (uint64_t)x * map->stride[i];
  }
  int64_t from = op->coord[0], to = from + width, low = from < 0 ? 0 : from;
  int64_t high = to > (int64_t)map->dim[0] ? (int64_t)map->dim[0] : to;
  if (low >= high)
    return r;
  r.address += (uint64_t)(low * e);
  r.skip = (uint32_t)((low - from) * e);
  r.n = (uint32_t)((high - low) * e);
  return r;
}

static bool next_row(const hd_tmap *map, uint32_t at[5]) {
  for (int32_t i = 1; i < map->rank; i++) {
    if (++at[i] < map->box[i])
      return true;
    at[i] = 0;
  }
  return false;
}

static sim_step check_map(sim_machine *m, const sim_async *op) {
  const hd_tmap *map = op->tmap;
  uint32_t width = map->box[0] * hd_sim_element_bytes(map->elem);
  uint32_t span = map->swizzle == HD_SWIZZLE_NONE ? 0 : 16u << map->swizzle;
  bool strides = map->base % 16 == 0;
  for (int32_t i = 1; i < map->rank; i++)
    strides &= map->stride[i] % 16 == 0;
  if (!strides || width % 16 || (span && width > span))
    return hd_sim_fault(m, "tensor-map", op->warp, op->lane, op->insn,
                        "rows of %u bytes with swizzle span %u: base, strides and rows must be "
                        "multiples of 16 bytes, rows at most the span", width, span);
  if (op->shared % 128)
    return hd_sim_fault(m, "alignment", op->warp, op->lane, op->insn,
                        "shared byte %u; legal: a multiple of 128", op->shared);
  return SIM_NEXT;
}

/* A reduction has the type of the map. */
static uint8_t type_of(const hd_tmap *map) {
  static const char *const names[] = {
#define HEDDLE_ELEM(name, text, ...) text,
#include "heddle/types.def"
#undef HEDDLE_ELEM
  };
  return hd_sim_type_find(names[map->elem]);
}

/* Swizzles move units of 16 bytes, so that an element is contiguous. */
static void reduce_row(const sim_async *op, const uint8_t *shared, uint32_t start, uint8_t *global,
                       row r) {
  uint32_t each = hd_sim_element_bytes(op->tmap->elem);
  for (uint32_t i = 0; i < r.n; i += each)
    hd_sim_reduce_bytes(op->insn->atom, type_of(op->tmap), global + i,
                        shared + hd_sim_swizzle_address(start + r.skip + i, op->tmap->swizzle),
                        each);
}

/* Copies one row between global memory and the tile. */
static void copy_row(const sim_async *op, uint8_t *shared, uint32_t start, uint8_t *global, row r,
                     bool load) {
  for (uint32_t i = 0; i < r.n; i++) {
    uint32_t at = hd_sim_swizzle_address(start + r.skip + i, op->tmap->swizzle);
    if (load)
      shared[at] = global[i];
    else
      global[i] = shared[at];
  }
}

typedef struct transfer {
  sim_access shared, global;
  sim_memory *tile;
  bool load;
} transfer;

static sim_step move_rows(sim_async *op, const transfer *t) {
  uint32_t at[5] = {0}, start = op->shared;
  uint32_t width = op->tmap->box[0] * hd_sim_element_bytes(op->tmap->elem);
  do {
    row r = row_of(op, at);
    if (r.n) {
      sim_memory *memory;
      uint64_t offset;
      if (hd_sim_resolve_global(&t->global, r.address, r.n, 1, &memory, &offset) == SIM_STOP ||
          hd_sim_check(&t->global, memory, offset, r.n) == SIM_STOP)
        return SIM_STOP;
      if (op->insn->flags & SIM_F_REDUCE)
        reduce_row(op, t->tile->data, start, memory->data + offset, r);
      else
        copy_row(op, t->tile->data, start, memory->data + offset, r, t->load);
    }
    start += width;
  } while (next_row(op->tmap, at));
  return SIM_NEXT;
}

static sim_step transfer_box(sim_machine *m, sim_async *op, transfer *t) {
  uint64_t offset;
  uint64_t address = op->shared | (uint64_t)op->target->rank << SIM_RANK_SHIFT;
  if (check_map(m, op) == SIM_STOP ||
      hd_sim_resolve(&t->shared, SIM_SHARED_CLUSTER, address, op->n_bytes, 128, &t->tile,
                     &offset) == SIM_STOP ||
      hd_sim_check(&t->shared, t->tile, offset, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  if (t->load)
    memset(t->tile->data + offset, 0, op->n_bytes); /* outside the tensor: zeros */
  return move_rows(op, t);
}

sim_step hd_sim_tensor_load(sim_machine *m, sim_async *op) {
  sim_agent agent = hd_sim_mbarrier_agent(m, op->target, op->mbarrier);
  sim_access a = hd_sim_async_access(m, op, agent, op->mbarrier->phase + 1, SIM_WRITE, true);
  transfer t = {.shared = a, .global = a, .load = true};
  t.global.kind = SIM_READ;
  if (transfer_box(m, op, &t) == SIM_STOP)
    return SIM_STOP;
  return hd_sim_mbarrier_complete_tx(m, op, op->n_bytes);
}

sim_step hd_sim_tensor_store(sim_machine *m, sim_async *op) {
  uint32_t thread = op->warp->index * 32 + op->lane;
  sim_agent agent = hd_sim_agent(op->warp->cta, m->agent_bulk_read + thread);
  sim_access a = hd_sim_async_access(m, op, agent, op->group, SIM_READ, true);
  transfer t = {.shared = a, .global = a};
  bool reduces = op->insn->flags & SIM_F_REDUCE;
  if (reduces && !hd_sim_can_reduce(op->insn->atom, type_of(op->tmap)))
    return hd_sim_fault(m, "tensor-map", op->warp, op->lane, op->insn,
                        "elements of the map have no such reduction");
  t.global.kind = reduces ? SIM_ATOMIC : SIM_WRITE;
  t.global.agent = hd_sim_agent(op->warp->cta, m->agent_bulk_write + thread);
  return transfer_box(m, op, &t);
}
