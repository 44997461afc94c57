/* Problems and schedules drawn at random: small ones, every choice of the problem level and of the
 * schedule among them. */
#include <stdio.h>
#include <string.h>

#include "mutate.h"

typedef struct draw {
  uint64_t *seed;
  const struct types *types;
  bool wgmma, transposed, col_major;
  int32_t tile_m, tile_n, stages, cluster;
  int64_t m, n, k;
} draw;

static uint64_t mix(uint64_t x) { /* the finaliser of splitmix64 */
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

uint32_t mutate_below(uint64_t *seed, uint32_t n) {
  *seed += 0x9e3779b97f4a7c15ull;
  return (uint32_t)(mix(*seed) >> 32) % n;
}

static bool one_in(draw *d, uint32_t n) { return mutate_below(d->seed, n) == 0; }

/* One of the words of a list. */
static const char *word(draw *d, const char *list, char out[24]) {
  uint32_t n = 1;
  for (const char *at = list; *at; at++)
    n += *at == ' ';
  for (uint32_t i = mutate_below(d->seed, n); i--;)
    list = strchr(list, ' ') + 1;
  snprintf(out, 24, "%.*s", (int)strcspn(list, " "), list);
  return out;
}

#define WORD(d, list) word(d, list, (char[24]){0})

/* --- what there is to draw from ------------------------------------------------------------- */

/* A line of types; B's may differ from A's. granule: elements of k a stage. */
static const struct types {
  const char *a, *b, *acc, *d, *targets;
  int32_t granule, group;
  bool is_integer, transposes;
} all_types[] = {
    {"bf16", "bf16", "f32", "bf16 f16 f32", "sm_90a sm_90a sm_80", 64, 4, false, true},
    {"f16", "f16", "f32", "f16 bf16 f32", "sm_90a sm_90a sm_80", 64, 4, false, true},
    {"f16", "f16", "f16", "f16 f32", "sm_90a sm_90a sm_80", 64, 4, false, true},
    {"tf32", "tf32", "f32", "f32 bf16", "sm_90a sm_90a sm_80", 32, 2, false, false},
    {"e4m3", "e4m3 e5m2", "f32", "bf16 f16 f32", "sm_90a sm_90a sm_89", 128, 4, false, false},
    {"e5m2", "e5m2 e4m3", "f32", "bf16 f32", "sm_90a sm_90a sm_89", 128, 4, false, false},
    {"s8", "s8", "s32", "s32 s8 f32 bf16", "sm_90a sm_90a sm_80", 128, 4, true, false},
    {"u8", "u8", "s32", "s32 f32", "sm_90a sm_90a sm_80", 128, 4, true, false},
};

/* --- the schedule --------------------------------------------------------------------------- */

static void add_word(mutate_problem *p, const char *key, const char *value) {
  size_t n = strlen(p->schedule);
  snprintf(p->schedule + n, sizeof p->schedule - n, "%s%s=%s", n ? " " : "", key, value);
}

static void add_number(mutate_problem *p, const char *key, int32_t value) {
  char text[12];
  snprintf(text, sizeof text, "%d", value);
  add_word(p, key, text);
}

static void draw_tile(draw *d, mutate_problem *p) {
  static const int32_t widths[] = {8, 16, 24, 32, 40, 64, 96, 128};
  char tile[40];
  d->tile_m = 64 * (1 + (int32_t)mutate_below(d->seed, 2));
  d->tile_n = d->transposed ? 64 * d->cluster : widths[mutate_below(d->seed, HD_COUNT(widths))];
  snprintf(tile, sizeof tile, "%dx%dx%d", d->tile_m, d->tile_n, d->types->granule);
  add_word(p, "tile", tile);
}

static void draw_wgmma(draw *d, mutate_problem *p) {
  d->cluster = one_in(d, 3) ? 2 : 1;
  draw_tile(d, p);
  if (d->tile_m == 128 && one_in(d, 3))
    add_word(p, "warps", "4x1");
  add_number(p, "cluster", d->cluster);
  bool registers = one_in(d, 3);
  add_word(p, "a", registers ? "reg" : "desc");
  add_word(p, "pending", registers ? "0" : WORD(d, "0 1"));
  add_word(p, "b", WORD(d, d->cluster > 1 ? "auto tma" : "auto auto tma gather"));
}

static void draw_mma(draw *d, mutate_problem *p) {
  d->cluster = 1;
  draw_tile(d, p);
  if (one_in(d, 2))
    add_word(p, "warps", WORD(d, "1x1 1x2 2x1 2x2 4x1 1x4 2x4 4x2"));
  add_word(p, "b", WORD(d, "auto auto cp_async ld_st"));
}

static void draw_schedule(draw *d, mutate_problem *p) {
  add_word(p, "family", d->wgmma ? "wgmma" : "mma");
  if (d->wgmma)
    draw_wgmma(d, p);
  else
    draw_mma(d, p);
  d->stages = 2 + (int32_t)mutate_below(d->seed, 4);
  add_number(p, "stages", d->stages);
  add_word(p, "persistent", WORD(d, "0 1"));
  add_word(p, "group", WORD(d, "1 2 8"));
  add_word(p, "split_k", WORD(d, "1 1 1 1 2 3"));
  add_word(p, "ctas", WORD(d, "1 1 1 2"));
  add_word(p, "store", WORD(d, "direct quad"));
}

/* --- the problem ---------------------------------------------------------------------------- */

/* Up to three tiles and two and a half turns of the ring, the last ones mostly ragged. */
static void draw_sizes(draw *d) {
  static const int32_t tiles[][2] = {{1, 1}, {1, 2}, {2, 1}, {3, 1}, {1, 3}};
  const int32_t *t = tiles[mutate_below(d->seed, HD_COUNT(tiles))];
  int32_t unit = d->tile_m * d->cluster;
  int32_t granules = 1 + (int32_t)mutate_below(d->seed, (uint32_t)d->stages * 5 / 2);
  int32_t groups = d->types->granule / d->types->group;
  d->m = t[0] * unit - (one_in(d, 4) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)unit));
  d->n = t[1] * d->tile_n -
         (one_in(d, 3) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)d->tile_n));
  d->k = (granules * groups - (one_in(d, 3) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)groups))) *
         d->types->group;
}

/* A size is a constant, or known at launch. */
static void add_size(draw *d, mutate_problem *p, const char *dim, hd_arg_kind kind, int64_t value) {
  hd_strbuf_printf(&p->text, "  %%%s: i32 = size {dim = %s, ", dim, dim);
  if (one_in(d, 2)) {
    hd_strbuf_printf(&p->text, "value = %lld}\n", (long long)value);
    return;
  }
  hd_strbuf_printf(&p->text, "max = 65536%s}\n",
                   *dim != 'k' ? "" : d->types->group == 2 ? ", divisible_by = 2"
                                                            : ", divisible_by = 4");
  p->request.size[kind] = value;
}

typedef struct epilogue {
  const char *act, *c, *bias;
  bool alpha, beta;
} epilogue;

static void draw_epilogue(draw *d, epilogue *e) {
  *e = (epilogue){.act = "none"};
  if (d->types->is_integer || one_in(d, 2))
    return;
  if (one_in(d, 2))
    e->act = one_in(d, 4) ? "relu" : one_in(d, 3) ? "gelu" : one_in(d, 2) ? "gelu_tanh" : "silu";
  e->c = one_in(d, 3) ? (one_in(d, 2) ? "row_major" : "col_major") : NULL;
  e->bias = one_in(d, 3) ? (one_in(d, 2) ? "m" : "n") : NULL;
  e->alpha = one_in(d, 3);
  e->beta = e->c && one_in(d, 2);
}

static void add_epilogue(draw *d, mutate_problem *p, const epilogue *e) {
  const char *acc = d->types->acc, *type;
  if (e->c) {
    type = WORD(d, "f32 f16 bf16");
    hd_strbuf_printf(&p->text, "  %%c: matrix<%s> = dense %%m, %%n {type = %s, operand = c, "
                     "order = %s}\n", type, type, e->c);
  }
  if (e->bias) {
    type = WORD(d, "f32 f16 bf16");
    hd_strbuf_printf(&p->text, "  %%bias: matrix<%s> = vector %%%s {type = %s, operand = bias}\n",
                     type, e->bias, type);
  }
  hd_strbuf_printf(&p->text, "  %%x: matrix<%s> = matmul %%a, %%b {acc = %s}\n", acc, acc);
  hd_strbuf_printf(&p->text, "  %%y: matrix<%s> = epilogue %%x%s%s {act = %s%s%s%s%s}\n", acc,
                   e->c ? ", %c" : "", e->bias ? ", %bias" : "", e->act,
                   e->alpha ? ", alpha" : "", e->beta ? ", beta" : "", e->c ? ", c" : "",
                   e->bias ? ", bias" : "");
}

static void draw_text(draw *d, const char *target, mutate_problem *p) {
  const struct types *t = d->types;
  const char *b = WORD(d, t->b), *out = WORD(d, t->d);
  epilogue e;
  hd_strbuf_printf(&p->text, "module version=1 level=problem sync=none\n\n"
                   "kernel {name = \"random\", target = \"%s\"} {\n", target);
  add_size(d, p, "m", HD_ARG_M, d->m);
  add_size(d, p, "n", HD_ARG_N, d->n);
  add_size(d, p, "k", HD_ARG_K, d->k);
  hd_strbuf_printf(&p->text, "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n", t->a, t->a);
  hd_strbuf_printf(&p->text,
                   "  %%b: matrix<%s> = dense %%k, %%n {type = %s, operand = b, order = %s}\n", b,
                   b, d->transposed ? "mn_major" : "k_major");
  draw_epilogue(d, &e);
  add_epilogue(d, p, &e);
  hd_strbuf_printf(&p->text, "  store %%y {type = %s, order = %s}\n}\n", out,
                   d->col_major ? "col_major" : "row_major");
}

/* Pitches: of B whole 16 bytes, which suit every way that B can come; of D anything. */
static void draw_launch(draw *d, mutate_problem *p) {
  int64_t row_b = d->transposed ? d->n : d->k, row_d = d->col_major ? d->m : d->n;
  p->request.size[HD_ARG_LDB] = (row_b + 15) / 16 * 16 + 16 * mutate_below(d->seed, 2);
  p->request.size[HD_ARG_LDD] = row_d + mutate_below(d->seed, 9);
  p->request.exact = one_in(d, 2);
  p->request.seed = mutate_below(d->seed, 1u << 30);
  p->pick = mutate_below(d->seed, 6);
}

void mutate_draw(uint64_t *seed, mutate_problem *p) {
  draw d = {.seed = seed, .types = &all_types[mutate_below(seed, HD_COUNT(all_types))]};
  *p = (mutate_problem){0};
  const char *target = WORD(&d, d.types->targets);
  d.wgmma = !strcmp(target, "sm_90a") && !one_in(&d, 5);
  d.transposed = d.types->transposes && one_in(&d, 4);
  d.col_major = one_in(&d, 4);
  draw_schedule(&d, p);
  draw_sizes(&d);
  draw_text(&d, target, p);
  draw_launch(&d, p);
}
