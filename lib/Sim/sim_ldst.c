/* Sim/sim_ldst.c: loads, stores, atomics, address conversion. */
#include <math.h>
#include <string.h>

#include "Sim/sim_reduce.h"
#include "Sim/sim_scope.h"
#include "Support/diag.h"

/* ---- parameters and local memory: private, so only bounds matter ---- */

static sim_step private_bytes(sim_warp *w, const sim_insn *in, uint32_t lane, uint8_t *base,
                              uint64_t limit, uint64_t address, uint32_t n, uint8_t **at) {
  if (address >= limit || n > limit - address || address % n)
    return hd_sim_fault(w->machine, "bounds", w, lane, in,
                        "bytes [%llu, +%u) of a space of %llu bytes, or misaligned",
                        (unsigned long long)address, n, (unsigned long long)limit);
  *at = base + address;
  return SIM_NEXT;
}

static uint8_t space_of(const sim_insn *in, uint64_t *address) {
  if (in->space != SIM_GENERIC)
    return in->space;
  if (*address >= SIM_LOCAL_WINDOW && *address < SIM_LOCAL_WINDOW + (1ull << 32)) {
    *address -= SIM_LOCAL_WINDOW;
    return SIM_LOCAL;
  }
  if (*address >= SIM_PARAM_WINDOW && *address < SIM_PARAM_WINDOW + (1ull << 32)) {
    *address -= SIM_PARAM_WINDOW;
    return SIM_PARAM;
  }
  return SIM_GENERIC;
}

/* Memory that ld.global.nc reads must not change while the kernel runs. A table of constants is a
 * variable of the module that is never stored to. */
static sim_step check_constant(sim_warp *w, uint32_t lane, const sim_insn *in, uint8_t kind,
                               sim_memory *memory) {
  const hd_sim_buffer *buffer = memory->buffer;
  if (!buffer || !buffer->writable)
    return SIM_NEXT;
  bool variable = buffer->address >= SIM_VARIABLE_WINDOW;
  memory->stored |= kind != SIM_READ;
  memory->read_as_constant |= (in->flags & SIM_F_NC) != 0;
  if (!memory->read_as_constant || (variable && !memory->stored))
    return SIM_NEXT;
  return hd_sim_find(w->machine, "R7", w, lane, in, NULL, "ld.global.nc of %s, which the kernel %s",
                     buffer->name, variable ? "writes" : "may write");
}

/* Finds the n bytes at an address, after all checks. */
static sim_step locate(sim_warp *w, const sim_insn *in, uint32_t lane, uint64_t address, uint32_t n,
                       uint8_t kind, uint8_t **at) {
  const sim_program *g = w->machine->program;
  uint8_t space = space_of(in, &address);
  if (space == SIM_PARAM)
    return private_bytes(w, in, lane, w->machine->param, g->param_bytes, address, n, at);
  if (space == SIM_LOCAL)
    return private_bytes(w, in, lane,
                         w->cta->local + (size_t)(w->index * 32 + lane) * g->local_bytes,
                         g->local_bytes, address, n, at);
  sim_access a = hd_sim_access(w, lane, in, kind);
  sim_memory *memory;
  uint64_t offset;
  if (hd_sim_resolve(&a, space, address, n, n, &memory, &offset) == SIM_STOP ||
      hd_sim_check(&a, memory, offset, n) == SIM_STOP)
    return SIM_STOP;
  if (check_constant(w, lane, in, kind, memory) == SIM_STOP)
    return SIM_STOP;
  *at = memory->data + offset;
  return SIM_NEXT;
}

/* ---- order of strong accesses (R7) ---- */

static sim_sync_word *word_of(const sim_warp *w, const sim_insn *in, uint64_t address) {
  uint8_t space = in->space;
  if (space == SIM_GENERIC && address >= SIM_SHARED_WINDOW &&
      address < SIM_SHARED_WINDOW + (1ull << 32)) {
    address -= SIM_SHARED_WINDOW;
    space = SIM_SHARED_CLUSTER;
  }
  if (space == SIM_SHARED_CTA && address >> SIM_RANK_SHIFT == 0)
    address |= (uint64_t)w->cta->rank << SIM_RANK_SHIFT;
  if (space == SIM_SHARED_CTA || space == SIM_SHARED_CLUSTER)
    address |= 1ull << 63 | (uint64_t)w->cta->cluster_first << 40;
  return hd_sim_word(w->machine, address);
}

/* ---- ld ---- */

static uint64_t extend_loaded(const sim_insn *in, uint64_t raw) {
  const sim_type_info *t = hd_sim_type(in->type[0]);
  return t->cls == 's' && t->bits < 64
             ? (uint64_t)((int64_t)(raw << (64 - t->bits)) >> (64 - t->bits))
             : raw;
}

/* Acquires for a strong load. Returns the previous value if the load sees that, else NULL. */
static const uint64_t *acquire_word(sim_warp *w, const sim_insn *in, uint32_t lane,
                                    uint64_t address, uint32_t n_bytes) {
  if (in->sem != SIM_SEM_ACQUIRE && in->sem != SIM_SEM_RELAXED && in->sem != SIM_SEM_VOLATILE)
    return NULL;
  sim_sync_word *word = word_of(w, in, address);
  bool stale = hd_sim_word_is_stale(w, lane, word, n_bytes);
  hd_sim_word_acquire(w, in, lane, stale ? &word->before : &word->releases);
  return stale ? &word->older : NULL;
}

static sim_step load_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  const sim_opnd *d = &in->opnd[0];
  uint32_t each = hd_sim_type(in->type[0])->bits / 8, n = in->vec;
  uint64_t address = hd_sim_address(w, &in->opnd[1], lane), scratch[32];
  const uint64_t *older = acquire_word(w, in, lane, address, each * n);
  uint8_t *at;
  if (locate(w, in, lane, address, each * n, SIM_READ, &at) == SIM_STOP)
    return SIM_STOP;
  if (older)
    at = (uint8_t *)(uintptr_t)older;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t raw = 0;
    memcpy(&raw, at + i * each, each);
    hd_sim_dst(w, d->kind == SIM_VEC ? &d->vec[i] : d, scratch)[lane] = extend_loaded(in, raw);
  }
  return SIM_NEXT;
}

static sim_step exec_ld(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, load_lane);
}

/* Blocks lanes that poll in a cycle until something changes. */
static bool waits(sim_warp *w, const sim_insn *in) {
  bool round = hd_sim_goes_round(w, in);
  if (round)
    hd_sim_block(w, SIM_WAIT_MEMORY, 0, 0);
  return round;
}

static sim_step exec_ld_strong(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return waits(w, in) ? SIM_WAIT : exec_ld(w, in, mask);
}

/* ---- st ---- */

static sim_step store_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  const sim_opnd *s = &in->opnd[1];
  uint32_t each = hd_sim_type(in->type[0])->bits / 8, n = in->vec;
  uint64_t address = hd_sim_address(w, &in->opnd[0], lane);
  uint8_t *at;
  if (locate(w, in, lane, address, each * n, SIM_WRITE, &at) == SIM_STOP)
    return SIM_STOP;
  sim_sync_word *word = in->sem != SIM_SEM_NONE ? word_of(w, in, address) : NULL;
  if (word)
    hd_sim_word_keep(w, lane, word, at, each * n);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t raw = hd_sim_read_lane(w, s->kind == SIM_VEC ? &s->vec[i] : s, lane);
    memcpy(at + i * each, &raw, each);
  }
  w->n_stores++;
  if (word) {
    hd_sim_word_store(w, lane, word);
    hd_sim_word_release(w, in, lane, word);
    hd_sim_progress(w->machine);
  }
  return SIM_NEXT;
}

static sim_step exec_st(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, store_lane);
}

/* ---- atom, red ---- */

static sim_step atom_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  const sim_opnd *o = &in->opnd[in->n_dst]; /* address, then b, then c */
  uint32_t n = hd_sim_type(in->type[0])->bits / 8;
  uint64_t address = hd_sim_address(w, o, lane), old = 0, scratch[32];
  uint64_t b = hd_sim_read_lane(w, &o[1], lane);
  uint64_t c = in->atom == SIM_ATOM_CAS ? hd_sim_read_lane(w, &o[2], lane) : 0;
  uint8_t *at;
  sim_sync_word *word = word_of(w, in, address);
  if (in->n_dst)
    hd_sim_word_acquire(w, in, lane, &word->releases);
  if (locate(w, in, lane, address, n, SIM_ATOMIC, &at) == SIM_STOP)
    return SIM_STOP;
  memcpy(&old, at, n);
  uint64_t mask = ~0ull >> (64 - 8 * n), swapped = old == (b & mask) ? c : old;
  uint64_t value = in->atom == SIM_ATOM_CAS
                       ? swapped
                       : hd_sim_reduce(in->atom, hd_sim_type(in->type[0]), old, b);
  hd_sim_word_keep(w, lane, word, at, n);
  memcpy(at, &value, n);
  hd_sim_word_release(w, in, lane, word);
  if (memcmp(&value, &old, n) != 0)
    hd_sim_progress(w->machine);
  if (in->n_dst)
    hd_sim_dst(w, &in->opnd[0], scratch)[lane] = extend_loaded(in, old);
  return SIM_NEXT;
}

static sim_step exec_atom(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return waits(w, in) ? SIM_WAIT : hd_sim_each_lane(w, in, mask, atom_lane);
}

/* ---- addresses ---- */

static uint64_t window(uint8_t space) {
  return space == SIM_SHARED_CTA || space == SIM_SHARED_CLUSTER ? SIM_SHARED_WINDOW
         : space == SIM_PARAM                                   ? SIM_PARAM_WINDOW
         : space == SIM_LOCAL                                   ? SIM_LOCAL_WINDOW
                                                                : 0;
}

static sim_step exec_cvta(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[2][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[1]), base = window(in->space);
  SIM_LANES(l, mask) dst[l] = in->op ? a[l] - base : a[l] + base;
  return SIM_NEXT;
}

static sim_step exec_isspacep(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[2][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[1]), base = window(in->space);
  SIM_LANES(l, mask)
  dst[l] = base ? a[l] >= base && a[l] < base + (1ull << 32) : a[l] < SIM_SHARED_WINDOW;
  return SIM_NEXT;
}

/* mapa: the same offset in another CTA of the cluster. */
static sim_step exec_mapa(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[3][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  const uint64_t *r = hd_sim_read(w, &in->opnd[2], buf[1]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[2]);
  SIM_LANES(l, mask) {
    uint32_t rank = (uint32_t)r[l];
    if (rank >= w->machine->cluster_size)
      return hd_sim_fault(w->machine, "bounds", w, l, in, "CTA rank %u of a cluster of %u", rank,
                          w->machine->cluster_size);
    uint64_t high = in->space == SIM_GENERIC ? SIM_SHARED_WINDOW : 0;
    dst[l] = high | hd_sim_offset(a[l]) | (uint64_t)rank << SIM_RANK_SHIFT;
  }
  return SIM_NEXT;
}

static sim_step exec_policy(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) dst[l] = 0;
  return SIM_NEXT;
}

/* ---- decoding ---- */

static heddle_status decode_ld_st(sim_decode *d, sim_insn *in, bool load) {
  hd_sim_take_order(d, in);
  hd_sim_take_space(d, in);
  hd_sim_take_hints(d, in);
  if (load && hd_sim_take(d, "nc"))
    in->flags |= SIM_F_NC;
  in->vec = hd_sim_take(d, "v2") ? 2 : hd_sim_take(d, "v4") ? 4 : hd_sim_take(d, "v8") ? 8 : 1;
  hd_sim_take_types(d, in);
  if (in->n_types != 1 || hd_sim_type(in->type[0])->bits < 8 ||
      hd_sim_type(in->type[0])->bits > 64 || (!load && in->space == SIM_CONST))
    return HEDDLE_UNSUPPORTED;
  bool strong =
      in->sem == SIM_SEM_ACQUIRE || in->sem == SIM_SEM_RELAXED || in->sem == SIM_SEM_VOLATILE;
  in->exec = !load ? exec_st : strong ? exec_ld_strong : exec_ld;
  in->n_dst = load;
  in->accesses = in->space != SIM_PARAM && in->space != SIM_LOCAL;
  const sim_opnd *address = &in->opnd[load ? 1 : 0], *value = &in->opnd[load ? 0 : 1];
  uint32_t want = load ? 2 : 2;
  if (in->n_opnds < want || in->n_opnds > want + ((in->flags & SIM_F_CACHE_HINT) != 0) ||
      address->kind != SIM_ADDR || address->n != 1 ||
      (value->kind == SIM_VEC ? value->n != in->vec : in->vec != 1))
    return HEDDLE_INVALID;
  return HEDDLE_OK;
}

static heddle_status decode_atom(sim_decode *d, sim_insn *in, bool returns) {
  hd_sim_take_order(d, in);
  hd_sim_take_space(d, in);
  hd_sim_take_hints(d, in);
  HD_TRY(hd_sim_decode_reduction(d, in, true));
  in->exec = exec_atom;
  in->n_dst = returns;
  if (in->sem == SIM_SEM_NONE)
    in->sem = SIM_SEM_RELAXED;
  uint32_t want = 2 + returns + (in->atom == SIM_ATOM_CAS);
  if (in->n_opnds != want || in->opnd[in->n_dst].kind != SIM_ADDR || in->opnd[in->n_dst].n != 1)
    return HEDDLE_INVALID;
  return HEDDLE_OK;
}

static heddle_status decode_address(sim_decode *d, sim_insn *in) {
  bool map = strcmp(d->mod[0], "mapa") == 0, is = strcmp(d->mod[0], "isspacep") == 0;
  in->n_dst = 1;
  in->pure = true;
  in->op = hd_sim_take(d, "to");
  hd_sim_take_space(d, in);
  hd_sim_take_types(d, in);
  in->exec = map ? exec_mapa : is ? exec_isspacep : exec_cvta;
  return in->n_opnds == (map ? 3 : 2) ? HEDDLE_OK : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_memory(sim_decode *d, sim_insn *in) {
  const char *name = d->mod[0];
  if (strcmp(name, "ld") == 0 || strcmp(name, "ldu") == 0)
    return decode_ld_st(d, in, true);
  if (strcmp(name, "st") == 0)
    return hd_sim_take(d, "async") ? hd_sim_decode_st_async(d, in) : decode_ld_st(d, in, false);
  if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0)
    return decode_atom(d, in, name[0] == 'a');
  if (strcmp(name, "cvta") == 0 || strcmp(name, "mapa") == 0 || strcmp(name, "isspacep") == 0)
    return decode_address(d, in);
  if (strcmp(name, "discard") == 0) /* it would make memory undefined again */
    return HEDDLE_UNSUPPORTED;
  /* prefetch, applypriority, createpolicy: hints */
  for (uint32_t i = 1; i < d->n_mods; i++)
    d->taken[i] = true;
  bool policy = strcmp(name, "createpolicy") == 0;
  in->exec = policy ? exec_policy : hd_sim_exec_nothing;
  in->n_dst = policy;
  return HEDDLE_OK;
}
