#include "Passes/variants.h"

#include <string.h>

/* Fastest first: ORDER VARIANTS. */
static const hd_b_variant variants[] = {
    {"tma_permuted", "wgmma", "tma", 16, true, false},
    {"tma_staged", "wgmma", "tma", 16, false, true},
    {"tma", "wgmma", "tma", 16, false, false},
    {"gather8", "wgmma", "gather", 8, false, false},
    {"gather", "wgmma", "gather", 0, false, false},
    {"cp_async16", "mma", "cp_async", 16, false, false},
    {"cp_async4", "mma", "cp_async", 4, false, false},
    {"ld_st", "mma", "ld_st", 0, false, false},
};

int32_t hd_d_run(const hd_problem *p) {
  return 128 / heddle_elem_get(p->d.elem)->container_bits;
}

int32_t hd_b_variant_align(const hd_b_variant *v, heddle_elem elem) {
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  return v->align > bytes ? v->align : bytes ? bytes : 1;
}

int32_t hd_run_align(const hd_problem *p, heddle_elem elem) {
  int32_t bytes = hd_d_run(p) * heddle_elem_get(elem)->container_bits / 8;
  return bytes < 16 ? bytes : 16;
}

bool hd_reads_c_rows(const hd_problem *p) { return p->c.op && !p->c.transposed; }
bool hd_reads_bias_n(const hd_problem *p) { return p->bias.op && p->bias_along_n; }
bool hd_reads_scale_n(const hd_problem *p) { return p->scale_b.op && !p->scale_b.one; }

/* Else N, or an address, is left to the launch. */
static bool always_permutes(const hd_problem *p) {
  int64_t n = p->n.value ? p->n.value : p->n.divisible_by;
  return n % (4 * hd_d_run(p)) == 0 && !hd_reads_c_rows(p) && !hd_reads_bias_n(p) &&
         !hd_reads_scale_n(p);
}

/* tcgen05 reads B as wgmma does. */
static bool serves(const hd_b_variant *v, const hd_schedule *s) {
  return strcmp(v->family, strcmp(s->family, "tcgen05") ? s->family : "wgmma") == 0;
}

static bool wanted(const hd_b_variant *v, const hd_problem *p, const hd_schedule *s) {
  if (!serves(v, s) || (v->staged && strcmp(s->store, "staged") != 0))
    return false;
  bool named = strcmp(s->b_path, v->path) == 0;
  if (!named && strcmp(s->b_path, "auto") != 0)
    return false;
  bool permuted = strcmp(s->store, "permuted") == 0;
  if (v->permutes ? !permuted : permuted && !strcmp(v->path, "tma") && always_permutes(p))
    return false;
  int32_t bits = heddle_elem_get(p->b.elem)->container_bits;
  int64_t pitch_bytes = p->b.ld * bits / 8;
  return pitch_bytes % hd_b_variant_align(v, p->b.elem) == 0;
}

const hd_b_variant *hd_b_variant_get(const hd_problem *p, const hd_schedule *s, int i) {
  for (size_t v = 0; v < HD_COUNT(variants); v++)
    if (wanted(&variants[v], p, s) && i-- == 0)
      return &variants[v];
  return NULL;
}

heddle_status hd_b_variant_check(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (hd_b_variant_get(p, s, 0))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "schedule.b-path",
                  "b=%s cannot bring a B with a row pitch of %lld elements; nearest: b=auto",
                  s->b_path, (long long)p->b.ld);
}

const hd_b_variant *hd_b_variant_find(const char *name) {
  for (size_t v = 0; name && v < HD_COUNT(variants); v++)
    if (strcmp(variants[v].name, name) == 0)
      return &variants[v];
  return NULL;
}
