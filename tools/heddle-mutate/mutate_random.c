/* Random problems and schedules: small ones, with every choice of the problem level and of the
 * schedule. */
#include <stdio.h>
#include <string.h>

#include "Support/activations.h"
#include "Support/hash.h"
#include "mutate.h"

typedef struct draw {
  uint64_t *seed;
  const struct types *types;
  bool wgmma, tensor, transposed, col_major, shares_a, permuted, over_ring, shares_rows;
  int32_t tile_m, tile_n, stages, cluster, splits;
  int64_t m, n, k;
} draw;

uint32_t mutate_below(uint64_t *seed, uint32_t n) {
  return (uint32_t)(hd_hash_next(seed) >> 32) % n;
}

static bool one_in(draw *d, uint32_t n) { return mutate_below(d->seed, n) == 0; }

/* Draws a word of a list. */
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

/* --- choices -------------------------------------------------------------------------------- */

#define FLOATS "bf16 f16 f32 f32 s8 u8"
#define NARROW "bf16 f16 f32 e4m3 e5m2 s8"
#define INTEGERS "s32 s32 s8 u8 f32 bf16"
#define MINIFLOATS "e2m1 e3m2 e2m3 e4m3 e5m2"

/* A combination of types; B's may differ from A's. k_block: elements of k per stage; bits: of a
 * stored element; scale: type of the scale of `block` elements of k (NULL: none). */
static const struct types {
  const char *a, *b, *acc, *d, *targets;
  int32_t k_block, group, bits;
  const char *scale;
  int32_t block;
} all_types[] = {
    {"bf16", "bf16", "f32", FLOATS, "sm_90a sm_90a sm_80", 64, 4, 16, NULL, 0},
    {"f16", "f16", "f32", FLOATS, "sm_90a sm_90a sm_80", 64, 4, 16, NULL, 0},
    {"f16", "f16", "f16", "f16 f32 s8", "sm_90a sm_90a sm_80", 64, 4, 16, NULL, 0},
    {"tf32", "tf32", "f32", FLOATS, "sm_90a sm_90a sm_80", 32, 2, 32, NULL, 0},
    {"e4m3", "e4m3 e5m2", "f32", NARROW, "sm_90a sm_90a sm_89", 128, 4, 8, NULL, 0},
    {"e5m2", "e5m2 e4m3", "f32", NARROW, "sm_90a sm_90a sm_89", 128, 4, 8, NULL, 0},
    {"e4m3", "e4m3 e5m2", "f16", "f16 e4m3 u8", "sm_90a", 128, 4, 8, NULL, 0},
    {"s8", "s8 u8", "s32", INTEGERS, "sm_90a sm_90a sm_80", 128, 4, 8, NULL, 0},
    {"u8", "u8 s8", "s32", INTEGERS, "sm_90a sm_90a sm_80", 128, 4, 8, NULL, 0},
    {"s4", "s4 u4", "s32", INTEGERS, "sm_80", 256, 8, 4, NULL, 0},
    {"u4", "u4 s4", "s32", INTEGERS, "sm_80", 256, 8, 4, NULL, 0},
    {"e2m1", MINIFLOATS, "f32", NARROW, "sm_120a", 128, 4, 8, NULL, 0},
    {"e3m2", MINIFLOATS, "f32", NARROW, "sm_120a", 128, 4, 8, NULL, 0},
    {"e2m3", MINIFLOATS, "f32", NARROW, "sm_120a", 128, 4, 8, NULL, 0},
    {"e5m2", MINIFLOATS, "f32", NARROW, "sm_120a", 128, 4, 8, NULL, 0},
    {"e2m1", MINIFLOATS, "f16", "f16 e4m3 s8", "sm_120a", 128, 4, 8, NULL, 0},
    {"e4m3", MINIFLOATS, "f32", NARROW, "sm_120a", 128, 4, 8, "ue8m0", 64},
    {"e2m1p", "e2m1p", "f32", NARROW, "sm_120a", 256, 8, 4, "ue8m0", 64},
    {"e2m1p", "e2m1p", "f32", NARROW, "sm_120a", 256, 8, 4, "ue4m3", 32},
};

/* The same for sm_90a, with an f32 scale per k-block of 128 elements. */
static const struct types promoted_types[] = {
    {"e4m3", "e4m3 e5m2", "f32", NARROW, "sm_90a", 128, 4, 8, "f32", 128},
    {"e5m2", "e5m2 e4m3", "f32", NARROW, "sm_90a", 128, 4, 8, "f32", 128},
};

/* --- the schedule --------------------------------------------------------------------------- */

static void add_word(mutate_problem *p, hd_key key, const char *value) {
  size_t n = strlen(p->schedule);
  snprintf(p->schedule + n, sizeof p->schedule - n, "%s%s=%s", n ? " " : "",
           hd_schedule_keys[key].name, value);
}

static void add_number(mutate_problem *p, hd_key key, int32_t value) {
  char text[12];
  snprintf(text, sizeof text, "%d", value);
  add_word(p, key, text);
}

static void draw_tile(draw *d, mutate_problem *p) {
  static const int32_t widths[] = {8, 16, 24, 32, 40, 64, 96, 128};
  bool whole = d->transposed || d->permuted; /* panels, or groups of permuted columns */
  char tile[40];
  d->tile_m = 64 * (1 + (int32_t)mutate_below(d->seed, 2));
  d->tile_n = whole ? 64 * d->cluster : widths[mutate_below(d->seed, HD_COUNT(widths))];
  snprintf(tile, sizeof tile, "%dx%dx%d", d->tile_m, d->tile_n, d->types->k_block);
  add_word(p, HD_KEY_TILE, tile);
}

static void draw_wgmma(draw *d, mutate_problem *p) {
  d->cluster = one_in(d, 3) ? 2 : 1;
  draw_tile(d, p);
  if (d->tile_m == 128 && one_in(d, 3))
    add_word(p, HD_KEY_WARPS, "4x1");
  add_number(p, HD_KEY_CLUSTER, d->cluster);
  bool registers = one_in(d, 3);
  add_word(p, HD_KEY_A_PATH, registers ? "reg" : "desc");
  const char *in_flight = registers ? "0" : WORD(d, "0 1");
  add_word(p, HD_KEY_WGMMA_IN_FLIGHT, d->types->scale ? "0" : in_flight);
  add_word(p, HD_KEY_B_PATH,
           WORD(d, d->cluster > 1 || d->permuted ? "auto tma" : "auto auto tma gather"));
  d->shares_a = d->cluster > 1 && one_in(d, 3);
  add_word(p, HD_KEY_MULTICAST, d->shares_a ? "a" : "b");
}

static void draw_tensor(draw *d, mutate_problem *p) {
  static const int32_t widths[] = {16, 32, 48, 64, 96, 128}, of_pairs[] = {32, 64, 96, 128};
  char tile[40];
  d->cluster = one_in(d, 3) ? 2 : 1;
  d->tile_m = 128;
  d->tile_n = d->types->scale  ? 64 * (1 + (int32_t)mutate_below(d->seed, 3))
              : d->transposed  ? 64 * d->cluster
              : d->cluster > 1 ? of_pairs[mutate_below(d->seed, HD_COUNT(of_pairs))]
                               : widths[mutate_below(d->seed, HD_COUNT(widths))];
  snprintf(tile, sizeof tile, "128x%dx%d", d->tile_n, d->types->k_block);
  add_word(p, HD_KEY_TILE, tile);
  add_number(p, HD_KEY_CLUSTER, d->cluster);
  add_word(p, HD_KEY_B_PATH, WORD(d, "auto auto tma gather"));
}

static void draw_mma(draw *d, mutate_problem *p) {
  d->cluster = 1;
  draw_tile(d, p);
  if (one_in(d, 2))
    add_word(p, HD_KEY_WARPS, WORD(d, "1x1 1x2 2x1 2x2 4x1 1x4 2x4 4x2"));
  add_word(p, HD_KEY_B_PATH, WORD(d, "auto auto cp_async ld_st"));
}

static void draw_schedule(draw *d, mutate_problem *p) {
  add_word(p, HD_KEY_FAMILY, d->tensor ? "tcgen05" : d->wgmma ? "wgmma" : "mma");
  if (d->tensor)
    draw_tensor(d, p);
  else if (d->wgmma)
    draw_wgmma(d, p);
  else
    draw_mma(d, p);
  d->stages = 2 + (int32_t)mutate_below(d->seed, 4);
  add_number(p, HD_KEY_STAGES, d->stages);
  bool sums = d->wgmma && d->cluster == 1 && one_in(d, 6);
  bool streams = !d->shares_a && !sums && one_in(d, 5) && (!d->tensor || d->tile_n <= 48);
  bool persistent = d->shares_a || streams || (!sums && one_in(d, 2));
  add_number(p, HD_KEY_PERSISTENT, persistent);
  add_word(p, HD_KEY_K_ORDER, persistent ? WORD(d, "forward zigzag") : "forward");
  add_word(p, HD_KEY_RASTER_GROUP, WORD(d, "1 2 8"));
  bool whole = d->shares_a || streams || (d->tensor && d->tile_n > (d->types->scale ? 64 : 48));
  const char *splits = whole ? "1" : WORD(d, sums ? "2 2 4" : "1 1 1 1 2 3");
  d->splits = *splits - '0';
  d->over_ring = sums && one_in(d, 2);
  add_word(p, HD_KEY_REDUCE, d->over_ring ? "ring" : sums ? "cluster" : "workspace");
  add_word(p, HD_KEY_SPLIT_K, splits);
  add_number(p, HD_KEY_STREAM_K, streams);
  add_word(p, HD_KEY_CTAS_PER_SM, WORD(d, "1 1 1 2"));
  const char *store = WORD(d, d->wgmma ? "direct quad staged" : "direct quad");
  add_word(p, HD_KEY_STORE, d->permuted ? "permuted" : store);
}

/* --- the problem ---------------------------------------------------------------------------- */

/* Draws up to three tiles, and up to two and a half times the ring of k-blocks; the last ones are
 * mostly ragged. */
static void draw_sizes(draw *d) {
  static const int32_t tiles[][2] = {{1, 1}, {1, 2}, {2, 1}, {3, 1}, {1, 3}};
  const int32_t *t = tiles[mutate_below(d->seed, HD_COUNT(tiles))];
  int32_t unit = d->tile_m * (d->shares_a ? 1 : d->cluster);
  int32_t k_blocks = 1 + (int32_t)mutate_below(d->seed, (uint32_t)d->stages * 5 / 2);
  int32_t groups = d->types->k_block / d->types->group;
  k_blocks = k_blocks < d->splits ? d->splits : k_blocks;
  d->m = t[0] * unit - (one_in(d, 4) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)unit));
  d->n = t[1] * d->tile_n -
         (one_in(d, 3) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)d->tile_n));
  d->n = d->permuted ? (d->n + 63) / 64 * 64 : d->n;
  d->k =
      (k_blocks * groups - (one_in(d, 3) ? 0 : (int32_t)mutate_below(d->seed, (uint32_t)groups))) *
      d->types->group;
}

/* Adds a size: a constant (k always, if sums reuse the ring's memory), or known at launch. A
 * constant m or n is at least the tile's, and a k with block scales at least a stage's, so that
 * everything that the kernel multiplies affects D. Otherwise Check would report faults that no
 * launch of these sizes can show. */
static void add_size(draw *d, mutate_problem *p, const char *dim, hd_arg_kind kind, int64_t tile,
                     int64_t *value) {
  hd_strbuf_printf(&p->text, "  %%%s: i32 = size {dim = %s, ", dim, dim);
  if (one_in(d, 2) || (d->over_ring && *dim == 'k')) {
    *value = *value < tile ? tile : *value;
    hd_strbuf_printf(&p->text, "value = %lld}\n", (long long)*value);
    return;
  }
  hd_strbuf_printf(&p->text, "max = 65536");
  if (*dim == 'k')
    hd_strbuf_printf(&p->text, ", divisible_by = %d", d->types->group);
  hd_strbuf_printf(&p->text, "}\n");
  p->request.size[kind] = *value;
}

typedef struct epilogue {
  const char *act, *c, *bias, *scale_a, *scale_b; /* NULL: absent */
  bool alpha, beta;
} epilogue;

static void draw_epilogue(draw *d, epilogue *e) {
  *e = (epilogue){.act = "none"};
  if (one_in(d, 3))
    return;
  if (one_in(d, 2))
    e->act = hd_act_name(1 + (int)mutate_below(d->seed, HD_N_ACTS - 1)); /* all but `none` */
  e->c = one_in(d, 3) ? (one_in(d, 2) ? "row_major" : "col_major") : NULL;
  e->bias = one_in(d, 3) ? (one_in(d, 2) ? "%m " : "%n ") : NULL;
  e->scale_a = one_in(d, 3) ? (one_in(d, 3) ? "" : "%m ") : NULL;
  e->scale_b = one_in(d, 3) ? (one_in(d, 3) ? "" : "%n ") : NULL;
  e->alpha = one_in(d, 3);
  e->beta = e->c && one_in(d, 2);
}

/* of: "%m " or "%n "; "": a single element. NULL: nothing to add. */
static void add_vector(mutate_problem *p, const char *name, const char *of, const char *type) {
  if (of)
    hd_strbuf_printf(&p->text, "  %%%s: matrix<%s> = vector %s{type = %s, operand = %s}\n", name,
                     type, of, type, name);
}

/* Half of the scales of columns are computed from sums of squares, unless B has block scales. Does
 * not advance the seed. */
static void add_scale_b(const draw *d, mutate_problem *p, const char *of) {
  uint64_t aside = *d->seed + 4;
  if (of && *of && !d->types->scale && mutate_below(&aside, 2))
    hd_strbuf_printf(&p->text, "  %%scale_b: matrix<f32> = vector %s{type = f32, "
                     "operand = scale_b, statistic = sumsq}\n", of);
  else
    add_vector(p, "scale_b", of, "f32");
}

static void add_block_scale(const draw *d, mutate_problem *p, const char *rows,
                            const char *operand) {
  const char *type = d->types->scale;
  if (type)
    hd_strbuf_printf(&p->text,
                     "  %%s%s: matrix<%s> = block_scale %%%s, %%k {type = %s, operand = %s, "
                     "block = %d%s}\n",
                     operand, type, rows, type, operand, d->types->block,
                     d->shares_rows && *operand == 'a' ? ", rows = 128" : "");
}

static void add_epilogue(draw *d, mutate_problem *p, const epilogue *e) {
  const char *acc = d->types->acc;
  const struct {
    const char *name;
    bool there;
  } inputs[] = {{"c", e->c}, {"bias", e->bias}, {"scale_a", e->scale_a}, {"scale_b", e->scale_b}};
  if (e->c) {
    const char *type = WORD(d, "f32 f16 bf16");
    hd_strbuf_printf(&p->text, "  %%c: matrix<%s> = dense %%m, %%n {type = %s, operand = c, "
                     "order = %s}\n", type, type, e->c);
  }
  add_vector(p, "bias", e->bias, WORD(d, "f32 f16 bf16"));
  add_vector(p, "scale_a", e->scale_a, "f32");
  add_scale_b(d, p, e->scale_b);
  add_block_scale(d, p, "m", "a");
  add_block_scale(d, p, "n", "b");
  hd_strbuf_printf(&p->text, "  %%x: matrix<%s> = matmul %%a, %%b%s {acc = %s}\n", acc,
                   d->types->scale ? ", %sa, %sb" : "", acc);
  hd_strbuf_printf(&p->text, "  %%y: matrix<%s> = epilogue %%x", acc);
  for (size_t i = 0; i < HD_COUNT(inputs); i++)
    hd_strbuf_printf(&p->text, "%s%s", inputs[i].there ? ", %" : "",
                     inputs[i].there ? inputs[i].name : "");
  hd_strbuf_printf(&p->text, " {act = %s%s%s", e->act, e->alpha ? ", alpha" : "",
                   e->beta ? ", beta" : "");
  for (size_t i = 0; i < HD_COUNT(inputs); i++)
    hd_strbuf_printf(&p->text, "%s%s", inputs[i].there ? ", " : "",
                     inputs[i].there ? inputs[i].name : "");
  hd_strbuf_printf(&p->text, "}\n");
}

/* Half of the suitable problems get a statistic of D, or scales. Does not advance the seed. */
static const char *draw_statistic(const draw *d, const mutate_problem *p, const char *act,
                                  const char *out) {
  uint64_t aside = *d->seed + 2;
  bool can = d->tile_m == 128 && !d->permuted && d->splits == 1 &&
             strstr(p->schedule, "stream_k=0") && !hd_act_is_pair(act);
  bool scalable = !strcmp(out, "e4m3") || !strcmp(out, "e5m2") || !strcmp(out, "s8");
  if (!can || mutate_below(&aside, 2))
    return "";
  if (scalable && mutate_below(&aside, 4))
    return ", reduce = absmax, scale_d";
  return mutate_below(&aside, 2) ? ", reduce = absmax" : ", reduce = sumsq";
}

/* A third of the suitable problems get a second matrix. Does not advance the seed. */
static const char *draw_aux(const draw *d, mutate_problem *p, const char *act) {
  static const char *const words[] = {", aux = result, aux_type = bf16",
                                      ", aux = result, aux_type = f32",
                                      ", aux = input, aux_type = f16",
                                      ", aux = input, aux_type = f32"};
  uint64_t aside = *d->seed + 3;
  if (d->permuted || mutate_below(&aside, 3))
    return "";
  int64_t row = (d->col_major ? d->m / (hd_act_is_pair(act) ? 2 : 1) : d->n);
  p->request.size[HD_ARG_LDAUX] = row + mutate_below(&aside, 9);
  return words[mutate_below(&aside, hd_act_is_pair(act) ? 2 : HD_COUNT(words))];
}

/* Attributes of a launch that may start before its predecessor has ended. */
static const char *draw_launch_words(draw *d) {
  return one_in(d, 2) ? "" : one_in(d, 2) ? ", dependent" : ", dependent, weights_ready";
}

static void draw_text(draw *d, const char *target, mutate_problem *p) {
  const struct types *t = d->types;
  const char *b = WORD(d, t->b), *out = WORD(d, t->d);
  epilogue e;
  hd_strbuf_printf(&p->text,
                   "module version=1 level=problem sync=none\n\n"
                   "kernel {name = \"random\", target = \"%s\"%s} {\n",
                   target, d->tensor || !strcmp(target, "sm_90a") ? draw_launch_words(d) : "");
  add_size(d, p, "m", HD_ARG_M, d->tile_m, &d->m);
  add_size(d, p, "n", HD_ARG_N, d->tile_n, &d->n);
  add_size(d, p, "k", HD_ARG_K, t->scale ? t->k_block : 0, &d->k);
  hd_strbuf_printf(&p->text, "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n", t->a, t->a);
  hd_strbuf_printf(&p->text,
                   "  %%b: matrix<%s> = dense %%k, %%n {type = %s, operand = b, order = %s}\n", b,
                   b, d->transposed ? "mn_major" : "k_major");
  draw_epilogue(d, &e);
  /* Sums of integers exceed 8 bits, and an unscaled D would be saturated. */
  if (!strcmp(t->acc, "s32") && out[1] == '8' && !e.scale_a && !e.scale_b)
    e.scale_a = "%m ";
  add_epilogue(d, p, &e);
  hd_strbuf_printf(&p->text, "  store %%y {type = %s, order = %s%s%s}\n}\n", out,
                   d->col_major ? "col_major" : "row_major", draw_statistic(d, p, e.act, out),
                   draw_aux(d, p, e.act));
}

/* Pitches of B are multiples of 16 bytes, which every B path accepts; those of D are arbitrary,
 * unless a tensor map stores it. */
static void draw_launch(draw *d, mutate_problem *p) {
  int64_t row_b = d->transposed ? d->n : d->k, row_d = d->col_major ? d->m : d->n;
  int64_t unit = d->types->bits == 4 ? 32 : 16;
  p->request.size[HD_ARG_LDB] = (row_b + unit - 1) / unit * unit + unit * mutate_below(d->seed, 2);
  p->request.size[HD_ARG_LDD] = row_d + mutate_below(d->seed, 9);
  if (strstr(p->schedule, "store=staged"))
    p->request.size[HD_ARG_LDD] = (row_d + 15) / 16 * 16;
  p->request.exact = one_in(d, 2);
  p->request.seed = mutate_below(d->seed, 1u << 30);
  p->pick = mutate_below(d->seed, 6);
}

/* Uses tensor memory for one in eight of the types that it supports, and for half of the types with
 * block scales. Does not advance the seed, so that other draws stay the same. */
static bool draw_is_tensor(const draw *d) {
  uint64_t aside = *d->seed;
  if (d->types->scale)
    return mutate_below(&aside, 2) == 0;
  return strstr(d->types->targets, "sm_90a") && strcmp(d->types->acc, "f16") &&
         mutate_below(&aside, 8) == 0;
}

/* Half of the 8-bit floats for wgmma get f32 scales; half of those share a scale among rows of A.
 * Does not advance the seed either. */
static void draw_promoted(draw *d) {
  uint64_t aside = *d->seed + 1;
  for (size_t i = 0; i < HD_COUNT(promoted_types); i++)
    if (d->wgmma && !d->types->scale && !strcmp(d->types->a, promoted_types[i].a) &&
        !strcmp(d->types->acc, "f32") && mutate_below(&aside, 2) == 0) {
      d->types = &promoted_types[i];
      d->shares_rows = mutate_below(&aside, 2) == 0;
      return;
    }
}

void mutate_draw(uint64_t *seed, mutate_problem *p) {
  draw d = {.seed = seed, .types = &all_types[mutate_below(seed, HD_COUNT(all_types))]};
  *p = (mutate_problem){0};
  const char *target = WORD(&d, d.types->targets);
  d.tensor = draw_is_tensor(&d);
  target = d.tensor ? "sm_100a" : target;
  d.wgmma = !strcmp(target, "sm_90a") && !one_in(&d, 5);
  draw_promoted(&d);
  d.transposed = d.types->bits == 16 && one_in(&d, 4);
  d.col_major = one_in(&d, 4);
  d.permuted = d.wgmma && !d.transposed && !d.col_major && one_in(&d, 4);
  draw_schedule(&d, p);
  draw_sizes(&d);
  draw_text(&d, target, p);
  draw_launch(&d, p);
}
