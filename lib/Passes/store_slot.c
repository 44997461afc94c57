#include "Passes/store_slot.h"

#include <string.h>

#include "Passes/schedule_room.h"
#include "Passes/variants.h"

enum { WIDEST = 128, NARROWEST = 32 /* bytes of a row in a slot */ };

static bool is_staged(const hd_schedule *s) { return strcmp(s->store, "staged") == 0; }

static int32_t elem_bytes(const hd_problem *p) {
  return heddle_elem_get(p->d.elem)->container_bits / 8;
}

/* Two slots, so that one is filled while the other is read, where the stages leave room and the
 * turns of a tile come out even: then each fill of a slot is two fills behind its last one, across
 * tiles too. */
hd_store_slot hd_store_slot_of(const hd_problem *p, const hd_schedule *s) {
  int32_t elem = elem_bytes(p), row = s->tile_n / hd_schedule_owners(p, s) * elem, wide = WIDEST;
  int32_t strips = s->warps_m ? s->tile_m / (HD_STRIP_ROWS * s->warps_m) : 1;
  while (wide >= NARROWEST && row % wide)
    wide /= 2;
  if (!is_staged(s) || wide < NARROWEST)
    return (hd_store_slot){0};
  hd_store_slot slot = {.cols = wide / elem, .bytes = HD_STRIP_ROWS * wide};
  slot.line_bytes = p->d.transposed ? HD_STRIP_ROWS * elem : wide;
  slot.swizzle = slot.line_bytes < NARROWEST ? 0 : slot.line_bytes;
  int32_t room = hd_schedule_shared_limit(p, s) - hd_schedule_ring_bytes(p, s);
  bool two = row / wide * strips % 2 == 0 && 2 * slot.bytes * s->warps_m <= room;
  slot.each = two ? 2 : 1;
  return slot;
}

#define REFUSE(status, rule, ...) return hd_error(ctx, status, p->store->loc, rule, __VA_ARGS__)

heddle_status hd_store_slot_check(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!is_staged(s))
    return HEDDLE_OK;
  if (!hd_schedule_is_wgmma(s) || strcmp(s->b_path, "gather") == 0)
    REFUSE(HEDDLE_INVALID, "schedule.store",
           "got store=staged with family=%s b=%s; legal: family=wgmma, b=auto or b=tma; nearest: "
           "store=quad",
           s->family, s->b_path);
  int32_t owners = hd_schedule_owners(p, s), row = s->tile_n / owners * elem_bytes(p),
          pitch = (int32_t)(p->d.ld * elem_bytes(p) % HD_STAGED_ALIGN);
  if (row % NARROWEST)
    REFUSE(HEDDLE_INVALID, "schedule.store-tile",
           "got store=staged with tile n %d, rows of %d bytes of %s; legal: multiples of %d bytes; "
           "nearest: tile n %d",
           s->tile_n, row, heddle_elem_get(p->d.elem)->name, NARROWEST,
           (row + NARROWEST - 1) / NARROWEST * NARROWEST / elem_bytes(p) * owners);
  if (pitch)
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.store-pitch",
        "got store=staged with a row pitch of D of %lld elements, %d bytes past a multiple of %d; "
        "nearest: store=quad",
        (long long)p->d.ld, pitch, HD_STAGED_ALIGN);
  return HEDDLE_OK;
}
