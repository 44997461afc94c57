#include "Schedule/variants.h"

/* Fastest first: ORDER VARIANTS. */
static const hd_b_variant variants[] = {
    {"tma_permuted", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_MAP_ALIGN, true, false},
    {"tma_staged", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_MAP_ALIGN, false, true},
    {"tma", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_MAP_ALIGN, false, false},
    {"tma_permuted", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_L2_SECTOR, true, false},
    {"tma_staged", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_L2_SECTOR, false, true},
    {"tma", HD_FAMILY_WGMMA_SP, HD_B_TMA, HD_L2_SECTOR, false, false},
    {"copied_staged", HD_FAMILY_WGMMA_SP, HD_B_COPIED, 0, false, true},
    {"copied", HD_FAMILY_WGMMA_SP, HD_B_COPIED, 0, false, false},
    {"gather16", HD_FAMILY_WGMMA_SP, HD_B_GATHER, 16, false, false},
    {"gather8", HD_FAMILY_WGMMA_SP, HD_B_GATHER, 8, false, false},
    {"gather4", HD_FAMILY_WGMMA_SP, HD_B_GATHER, 4, false, false},
    {"gather", HD_FAMILY_WGMMA_SP, HD_B_GATHER, 0, false, false},
    {"cp_async16", HD_FAMILY_MMA_SP, HD_B_CP_ASYNC, 16, false, false},
    {"cp_async4", HD_FAMILY_MMA_SP, HD_B_CP_ASYNC, 4, false, false},
    {"ld_st", HD_FAMILY_MMA_SP, HD_B_LD_ST, 0, false, false},
};

int32_t hd_b_variant_align(const hd_b_variant *v, heddle_elem elem) {
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  return v->align > bytes ? v->align : bytes ? bytes : 1;
}

bool hd_b_variant_is_async(const hd_b_variant *v, heddle_elem elem) {
  enum { MIN_ASYNC_BYTES = 4 };
  return v->path == HD_B_CP_ASYNC ||
         (v->path == HD_B_GATHER && hd_b_variant_align(v, elem) >= MIN_ASYNC_BYTES);
}

int32_t hd_run_align(const hd_problem *p, heddle_elem elem) {
  int32_t bytes = hd_d_run(p) * heddle_elem_get(elem)->container_bits / 8;
  return bytes < 16 ? bytes : 16;
}

bool hd_reads_c_rows(const hd_problem *p) { return p->c.op && !p->c.transposed; }
bool hd_reads_bias_n(const hd_problem *p) { return p->bias.op && p->bias_along_n; }
bool hd_reads_scale_n(const hd_problem *p) {
  return p->scale_b.op && !p->scale_b.one && !p->statistic;
}

/* Whether every launch can use the permuting kernel; else it depends on N or on an address. */
static bool always_permutes(const hd_problem *p) {
  int64_t n = p->n.value ? p->n.value : p->n.divisible_by;
  return n % (4 * hd_d_run(p)) == 0 && !hd_reads_c_rows(p) && !hd_reads_bias_n(p) &&
         !hd_reads_scale_n(p);
}

/* With gather_b, only a copy of B or cp.async of 16 bytes can load B. Without gather_b, wgmma and
 * tcgen05 do not gather rows that are aligned to 16 bytes, since a tensor map can load them. */
static bool takes_index(const hd_b_variant *v, const hd_problem *p) {
  bool gathers = v->path == HD_B_GATHER, whole = v->align == HD_COPY_ALIGN;
  if (v->path == HD_B_COPIED)
    return true;
  return p->gather ? whole && (gathers || v->path == HD_B_CP_ASYNC) : !gathers || !whole;
}

/* Whether the variant exists for the family and the type. tcgen05 reads B as wgmma does. An aligned
 * gather of whole elements would equal "gather", for example "gather4" of four-byte elements. */
static bool serves(const hd_b_variant *v, const hd_problem *p, const hd_schedule *s) {
  bool again = v->path == HD_B_GATHER && v->align &&
               v->align * 8 <= heddle_elem_get(p->b.elem)->container_bits;
  return v->family == (hd_schedule_is_tensor(s) ? HD_FAMILY_WGMMA_SP : s->family) && !again;
}

int64_t hd_b_pitch_bytes(const hd_problem *p) {
  int64_t row = p->b.transposed ? p->n.value : p->k.value, pitch = p->b.ld ? p->b.ld : row;
  return pitch * heddle_elem_get(p->b.elem)->container_bits / 8;
}

bool hd_lacks_map(const hd_problem *p) {
  return p->gather || hd_b_pitch_bytes(p) % HD_MAP_ALIGN != 0;
}

bool hd_straddles_sectors(const hd_problem *p) {
  int64_t pitch = hd_b_pitch_bytes(p);
  return pitch % HD_L2_SECTOR != 0 && pitch % HD_MAP_ALIGN == 0;
}

bool hd_copy_serves(const hd_problem *p) { return hd_lacks_map(p) || hd_straddles_sectors(p); }

/* Whether the schedule's b path includes the variant. b=copied includes TMA, so that a launch whose
 * B a tensor map can load copies nothing. If whole rows straddle sectors, though, the kernel is
 * there to copy them: then only a B of whole sectors is loaded by TMA. */
static bool is_named(const hd_b_variant *v, const hd_problem *p, const hd_schedule *s) {
  bool copied = s->b_path == HD_B_COPIED, sectors = copied && hd_straddles_sectors(p);
  if (v->path != HD_B_TMA)
    return s->b_path == HD_B_AUTO ? v->path != HD_B_COPIED : v->path == s->b_path;
  return v->align == (sectors ? HD_L2_SECTOR : HD_MAP_ALIGN) &&
         (copied || s->b_path == HD_B_AUTO || s->b_path == HD_B_TMA);
}

/* Whether the pitch of B, if it is known, allows the variant. */
static bool allows_pitch(const hd_b_variant *v, const hd_problem *p) {
  int64_t pitch_bytes = p->b.ld * heddle_elem_get(p->b.elem)->container_bits / 8;
  return pitch_bytes % hd_b_variant_align(v, p->b.elem) == 0;
}

/* Whether an earlier variant, without a condition on D, loads every B whose address is aligned. */
static bool is_behind_another(const hd_b_variant *v, const hd_problem *p, const hd_schedule *s) {
  for (const hd_b_variant *u = variants; u < v; u++)
    if (serves(u, p, s) && takes_index(u, p) && is_named(u, p, s) && allows_pitch(u, p) &&
        !u->permutes && !u->staged)
      return true;
  return false;
}

static bool wanted(const hd_b_variant *v, const hd_problem *p, const hd_schedule *s) {
  if (!serves(v, p, s) || !takes_index(v, p) || (v->staged && s->store != HD_STORE_STAGED))
    return false;
  if (!is_named(v, p, s))
    return false;
  bool permuted = s->store == HD_STORE_PERMUTED;
  if (v->permutes && hd_is_batch(p)) /* the tensor map has no dimension left for the batch */
    return false;
  if (v->permutes ? !permuted : permuted && v->path == HD_B_TMA && always_permutes(p))
    return false;
  /* A bucket has only the variants for the aligned operands of frameworks. Misaligned operands use
   * the last kernel. */
  if (hd_op_has(p->kernel, HD_ATTR_BUCKET) && is_behind_another(v, p, s))
    return false;
  return allows_pitch(v, p);
}

const hd_b_variant *hd_b_variant_get(const hd_problem *p, const hd_schedule *s, int i) {
  for (size_t v = 0; v < HD_COUNT(variants); v++)
    if (wanted(&variants[v], p, s) && i-- == 0)
      return &variants[v];
  return NULL;
}

int64_t hd_copied_pitch(const hd_problem *p) {
  int64_t bytes = p->k.value * heddle_elem_get(p->b.elem)->container_bits / 8;
  return (bytes + HD_K_BLOCK_BYTES - 1) / HD_K_BLOCK_BYTES * HD_K_BLOCK_BYTES;
}

heddle_status hd_b_variant_check(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (hd_b_variant_get(p, s, 0))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "schedule.b-path",
                  "b=%s cannot load a B with a row pitch of %lld elements; nearest: b=auto",
                  hd_key_word(HD_KEY_B_PATH, s->b_path), (long long)p->b.ld);
}

const hd_b_variant *hd_b_variant_match(const hd_problem *p, const hd_schedule *s, int64_t align) {
  bool permuted = s->store == HD_STORE_PERMUTED, staged = s->store == HD_STORE_STAGED;
  for (const hd_b_variant *v = variants; v < variants + HD_COUNT(variants); v++)
    if (serves(v, p, s) && v->path == s->b_path && v->permutes == permuted && v->staged == staged &&
        hd_b_variant_align(v, p->b.elem) == align)
      return v;
  return NULL;
}

/* A gathered B is not multicast. In a pair of CTAs, each gathers its own half. */
void hd_b_variant_narrow(const hd_b_variant *v, hd_schedule *s) {
  bool falls_back = s->store == HD_STORE_PERMUTED || s->store == HD_STORE_STAGED;
  s->b_path = v->path;
  if (v->permutes || v->staged || falls_back)
    s->store = v->permutes ? HD_STORE_PERMUTED : v->staged ? HD_STORE_STAGED : HD_STORE_QUAD;
  if (v->path != HD_B_GATHER || hd_schedule_is_pair(s))
    return;
  s->cluster = 1;
  s->multicast = HD_MULTICAST_B;
}
