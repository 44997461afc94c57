#include "Passes/schedule.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "IR/op_info.h"
#include "Passes/problem.h"
#include "Passes/schedule_fit.h"
#include "Passes/schedule_pick.h"
#include "Support/nearest.h"

/* ORDER KEYS: the printed order. */
static const hd_schedule_key keys[] = {
    {"family", HD_KEY_WORD, offsetof(hd_schedule, family), sizeof((hd_schedule *)0)->family,
     "mma wgmma tcgen05"},
    {"tile", HD_KEY_TILE, offsetof(hd_schedule, tile_m), 0, NULL},
    {"warps", HD_KEY_WARPS, offsetof(hd_schedule, warps_m), 0, NULL},
    {"stages", HD_KEY_INT, offsetof(hd_schedule, stages), 0, NULL},
    {"cluster", HD_KEY_INT, offsetof(hd_schedule, cluster), 0, NULL},
    {"share", HD_KEY_WORD, offsetof(hd_schedule, share), sizeof((hd_schedule *)0)->share, "b a"},
    {"spread", HD_KEY_INT, offsetof(hd_schedule, spread), 0, NULL},
    {"ctas", HD_KEY_INT, offsetof(hd_schedule, ctas), 0, NULL},
    {"a", HD_KEY_WORD, offsetof(hd_schedule, a_path), sizeof((hd_schedule *)0)->a_path, "desc reg"},
    {"b", HD_KEY_WORD, offsetof(hd_schedule, b_path), sizeof((hd_schedule *)0)->b_path,
     "auto tma gather cp_async ld_st"},
    {"group", HD_KEY_INT, offsetof(hd_schedule, group), 0, NULL},
    {"persistent", HD_KEY_INT, offsetof(hd_schedule, persistent), 0, NULL},
    {"split_k", HD_KEY_INT, offsetof(hd_schedule, split_k), 0, NULL},
    {"reduce", HD_KEY_WORD, offsetof(hd_schedule, reduce), sizeof((hd_schedule *)0)->reduce,
     "workspace cluster ring"},
    {"stream_k", HD_KEY_INT, offsetof(hd_schedule, stream_k), 0, NULL},
    {"pending", HD_KEY_INT, offsetof(hd_schedule, pending), 0, NULL},
    {"k_order", HD_KEY_WORD, offsetof(hd_schedule, k_order), sizeof((hd_schedule *)0)->k_order,
     "forward zigzag"},
    {"store", HD_KEY_WORD, offsetof(hd_schedule, store), sizeof((hd_schedule *)0)->store,
     "direct quad permuted staged"},
};

const hd_schedule_key *hd_schedule_key_get(size_t i) {
  return i < HD_COUNT(keys) ? &keys[i] : NULL;
}

void hd_schedule_print(const hd_schedule *s, char out[HD_SCHEDULE_TEXT]) {
  snprintf(out, HD_SCHEDULE_TEXT,
           "family=%s tile=%dx%dx%d warps=%dx%d stages=%d cluster=%d share=%s spread=%d ctas=%d "
           "a=%s b=%s group=%d persistent=%d split_k=%d reduce=%s stream_k=%d pending=%d "
           "k_order=%s store=%s",
           s->family, s->tile_m, s->tile_n, s->tile_k, s->warps_m, s->warps_n, s->stages,
           s->cluster, s->share, s->spread, s->ctas, s->a_path, s->b_path, s->group, s->persistent,
           s->split_k, s->reduce, s->stream_k, s->pending, s->k_order, s->store);
}

static heddle_status bad_value(heddle_context *ctx, hd_loc loc, const hd_schedule_key *key,
                               const char *value, const char *legal) {
  return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.value",
                  "got %s=%s; legal: %s", key->name, value, legal);
}

/* Up to three positive integers separated by x. */
static bool read_ints(const char *text, int32_t *out, int n) {
  for (int i = 0; i < n; i++) {
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || errno || v < 0 || v > 1 << 20)
      return false;
    out[i] = (int32_t)v;
    if (i + 1 < n && *end != 'x')
      return false;
    text = end + (i + 1 < n);
  }
  return *text == '\0';
}

static heddle_status set_key(heddle_context *ctx, hd_loc loc, const hd_schedule_key *key,
                             const char *value, hd_schedule *s) {
  char *at = (char *)s + key->at;
  int32_t v[3];
  switch (key->kind) {
  case HD_KEY_WORD:
    if (!hd_find_word(key->words, value))
      return bad_value(ctx, loc, key, value, key->words);
    snprintf(at, key->bytes, "%s", value);
    return HEDDLE_OK;
  case HD_KEY_INT:
    if (!read_ints(value, v, 1))
      return bad_value(ctx, loc, key, value, "a whole number to 1048576");
    memcpy(at, v, sizeof *v);
    return HEDDLE_OK;
  case HD_KEY_WARPS:
    if (!read_ints(value, v, 2))
      return bad_value(ctx, loc, key, value, "MxN, for example 2x4");
    memcpy(at, v, 2 * sizeof *v);
    return HEDDLE_OK;
  case HD_KEY_TILE: /* K is one granule of the type unless it is said */
    memcpy(v, at, sizeof v);
    if (!read_ints(value, v, 3) && !read_ints(value, v, 2))
      return bad_value(ctx, loc, key, value, "MxN or MxNxK, for example 128x256x64");
    memcpy(at, v, 3 * sizeof *v);
    return HEDDLE_OK;
  }
  return HD_BUG(ctx, "schedule key kind");
}

static const char *next_key(void *user) {
  size_t *i = user;
  return *i < HD_COUNT(keys) ? keys[(*i)++].name : NULL;
}

static heddle_status unknown_key(heddle_context *ctx, hd_loc loc, const char *name) {
  size_t first = 0;
  const char *nearest = hd_nearest_name(name, next_key, &first);
  hd_strbuf names = {0};
  for (size_t i = 0; i < HD_COUNT(keys); i++)
    hd_strbuf_printf(&names, "%s%s", i ? ", " : "", keys[i].name);
  heddle_status status =
      hd_error(ctx, HEDDLE_INVALID, loc, "schedule.key", "got key \"%.60s\"; legal: %s%s%s", name,
               hd_strbuf_text(&names), nearest ? "; nearest: " : "", nearest ? nearest : "");
  hd_strbuf_free(&names);
  return status;
}

/* given: bits of the keys that the text has set; NULL: they may come again, the last counts. */
static heddle_status set_pair(heddle_context *ctx, hd_loc loc, char *pair, uint32_t *given,
                              hd_schedule *s) {
  char *eq = strchr(pair, '=');
  if (!eq)
    return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.syntax",
                    "got \"%.60s\"; legal: KEY=VALUE pairs, as in stages=4", pair);
  *eq = '\0';
  size_t i = 0;
  while (i < HD_COUNT(keys) && strcmp(keys[i].name, pair) != 0)
    i++;
  if (i == HD_COUNT(keys))
    return unknown_key(ctx, loc, pair);
  if (given && *given >> i & 1)
    return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.repeated",
                    "got %s=%.60s after %s was given; legal: each key once", pair, eq + 1, pair);
  if (given)
    *given |= 1u << i;
  return set_key(ctx, loc, &keys[i], eq + 1, s);
}

static heddle_status parse_at(heddle_context *ctx, hd_loc loc, const char *text, uint32_t *given,
                              hd_schedule *schedule) {
  hd_schedule s = *schedule;
  char *copy = hd_xstrdup(text), *save = NULL;
  heddle_status status = HEDDLE_OK;
  for (char *pair = strtok_r(copy, " ,\t\n", &save); pair && status == HEDDLE_OK;
       pair = strtok_r(NULL, " ,\t\n", &save))
    status = set_pair(ctx, loc, pair, given, &s);
  free(copy);
  if (status == HEDDLE_OK)
    *schedule = s;
  return status;
}

heddle_status hd_schedule_parse(heddle_context *ctx, const char *text, hd_schedule *schedule) {
  return parse_at(ctx, HD_NOWHERE, text, NULL, schedule);
}

heddle_status hd_schedule_chosen(heddle_context *ctx, const hd_op *kernel, hd_schedule *schedule) {
  *schedule = (hd_schedule){0};
  return hd_schedule_parse(ctx, hd_op_str(kernel, HD_ATTR_SCHEDULE), schedule);
}

heddle_status hd_schedule_check_text(heddle_context *ctx, const hd_op *kernel, const char *text) {
  hd_schedule unused = {0};
  uint32_t given = 0;
  return text ? parse_at(ctx, kernel->loc, text, &given, &unused) : HEDDLE_OK;
}

/* ---- the default ---- */

static int64_t extent(const hd_size *size) { return size->value ? size->value : size->max; }

static int32_t round_up(int64_t x, int32_t unit) { return (int32_t)((x + unit - 1) / unit * unit); }

/* The tile's n: no wider than the problem when that is known; of a transposed B a power of two, so
 * that a row of it divides among the threads that gather it. */
static int32_t default_tile_n(const hd_problem *p, int32_t widest, int32_t unit) {
  int64_t n = extent(&p->n);
  int32_t tile = n && n < widest ? round_up(n, unit) : widest;
  return p->b.transposed && tile > 128 ? 256 < widest ? 256 : widest : tile;
}

/* What wgmma's n counts in. */
static int32_t wgmma_unit(const hd_problem *p) {
  return p->b.transposed ? 64 : heddle_elem_get(p->a_elem)->kind == HEDDLE_FLOAT ? 8 : 16;
}

static void default_wgmma(const hd_problem *p, hd_schedule *s) {
  int32_t unit = wgmma_unit(p);
  s->tile_n = default_tile_n(p, 256, unit);
  s->tile_m = p->m.value && p->m.value <= 64 ? 64 : 128;
  int64_t tiles = (extent(&p->m) + s->tile_m - 1) / s->tile_m *
                  ((extent(&p->n) + s->tile_n - 1) / s->tile_n);
  /* Multicast pays with many tiles (over about four waves of 132 SMs). */
  s->cluster = s->tile_n == 256 && tiles >= 4 * 132 ? 2 : 1;
  s->group = 8;
  s->persistent = 1;
  snprintf(s->family, sizeof s->family, "wgmma");
  snprintf(s->a_path, sizeof s->a_path, "desc");
}

static void default_tcgen05(const hd_problem *p, hd_schedule *s) {
  s->tile_n = default_tile_n(p, 256, p->b.transposed || p->block ? 64 : 16);
  s->tile_m = 128;
  s->cluster = 1;
  s->group = 8;
  s->persistent = 1;
  snprintf(s->family, sizeof s->family, "tcgen05");
  snprintf(s->a_path, sizeof s->a_path, "desc");
}

static void default_mma(const hd_problem *p, hd_schedule *s) {
  bool small = hd_problem_is_emulated(p);
  int32_t unit = p->b.transposed ? 64 : 32;
  s->tile_n = default_tile_n(p, small ? unit : 128, unit);
  s->tile_n = s->tile_n == 96 ? 128 : s->tile_n;
  s->tile_m = small || (p->m.value && p->m.value <= 64) ? 64 : 128;
  s->cluster = 1;
  s->group = 8;
  s->persistent = 0;
  snprintf(s->family, sizeof s->family, "mma");
  snprintf(s->a_path, sizeof s->a_path, "reg");
}

static void default_of(const hd_problem *p, const char *family, hd_schedule *s) {
  *s = (hd_schedule){.tile_k = hd_granule_k(p->a_elem), .spread = 1, .ctas = 1, .split_k = 1};
  if (strcmp(family, "wgmma") == 0)
    default_wgmma(p, s);
  else if (strcmp(family, "tcgen05") == 0)
    default_tcgen05(p, s);
  else
    default_mma(p, s);
  snprintf(s->share, sizeof s->share, "b");
  snprintf(s->reduce, sizeof s->reduce, "workspace");
  snprintf(s->b_path, sizeof s->b_path, "auto");
  snprintf(s->k_order, sizeof s->k_order, "forward");
  snprintf(s->store, sizeof s->store, "quad");
  hd_schedule_spread_warps(s);
  s->stages = hd_schedule_most_stages(p, s, hd_schedule_wanted_stages(p, s));
  s->pending = hd_schedule_most_pending(p, s);
  s->spread = hd_schedule_wanted_spread(p, s);
}

static int32_t pick(const hd_problem *p, const hd_schedule *base, int32_t least_splits,
                    hd_schedule *list, int32_t most) {
  int32_t unit = wgmma_unit(p);
  hd_pick pick = {base, default_tile_n(p, 256, unit), unit, least_splits, false};
  return hd_schedule_pick(p, &pick, list, most);
}

heddle_status hd_schedule_default(heddle_context *ctx, const hd_op *kernel,
                                  hd_schedule *schedule) {
  hd_problem p;
  HD_TRY(hd_problem_read(ctx, (hd_op *)kernel, &p));
  bool wgmma = hd_problem_row(&p, "wgmma", 0, false) != NULL;
  bool tcgen05 = hd_problem_row(&p, "tcgen05", 0, false) != NULL;
  default_of(&p, wgmma ? "wgmma" : tcgen05 ? "tcgen05" : "mma", schedule);
  hd_schedule base = *schedule;
  if (wgmma)
    pick(&p, &base, 1, schedule, 1);
  return HEDDLE_OK;
}

/* The default's sums within a cluster stay only beside words that they agree with. Who names the
 * splits means those through the workspace: so did every record before there were others. */
static void leave_cluster(const char *text, hd_schedule *s) {
  bool own_persistent = strstr(text, "persistent=") != NULL;
  if (strcmp(s->reduce, "workspace") == 0 ||
      (!strstr(text, "split_k=") && !own_persistent && s->split_k > 1 && s->cluster == 1))
    return;
  snprintf(s->reduce, sizeof s->reduce, "workspace");
  if (!own_persistent)
    s->persistent = 1;
}

heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_op *kernel, const char *text,
                                  hd_schedule *schedule) {
  hd_problem p;
  HD_TRY(hd_problem_read(ctx, (hd_op *)kernel, &p));
  hd_schedule s, probe;
  HD_TRY(hd_schedule_default(ctx, kernel, &s));
  if (!text)
    text = "";
  /* The family decides the other defaults, the tile the warps and stages: so in that order. */
  probe = s;
  HD_TRY(parse_at(ctx, kernel->loc, text, NULL, &probe));
  if (strcmp(probe.family, s.family) != 0)
    default_of(&p, probe.family, &s);
  bool own_tile = strstr(text, "tile=") != NULL;
  probe = s;
  HD_TRY(parse_at(ctx, kernel->loc, text, NULL, &probe));
  HD_TRY(hd_schedule_check_extents(ctx, &p, &probe));
  if (own_tile && !strstr(text, "warps="))
    hd_schedule_spread_warps(&probe);
  if (own_tile && !strstr(text, "cluster=") && probe.tile_n % 16)
    probe.cluster = 1;
  if ((own_tile || probe.stream_k) && !strstr(text, "split_k="))
    probe.split_k = 1;
  if (!strstr(text, "reduce="))
    leave_cluster(text, &probe);
  /* A cluster along k has one tile, and nothing to share. */
  if (hd_schedule_along_k(&probe) > 1 && !strstr(text, "persistent="))
    probe.persistent = 0;
  if (hd_schedule_along_k(&probe) > 1 && !strstr(text, "cluster="))
    probe.cluster = 1;
  if (!own_tile)
    hd_schedule_narrow(&p, &probe);
  if (!own_tile && hd_schedule_is_pair(&probe))
    probe.tile_n = round_up(probe.tile_n, hd_schedule_tensor_unit(&p, &probe));
  if (!strstr(text, "stages="))
    probe.stages = hd_schedule_most_stages(&p, &probe, hd_schedule_wanted_stages(&p, &probe));
  if (!strstr(text, "pending="))
    probe.pending = hd_schedule_most_pending(&p, &probe);
  if (!strstr(text, "spread="))
    probe.spread = hd_schedule_wanted_spread(&p, &probe);
  *schedule = probe;
  return HEDDLE_OK;
}

/* A split in a cluster comes by itself, and of its form with a workspace. */
static void push_once(hd_schedule s, hd_schedule **list, size_t *n, size_t *cap) {
  char text[HD_SCHEDULE_TEXT], other[HD_SCHEDULE_TEXT];
  hd_schedule_print(&s, text);
  for (size_t i = *n; i-- > 0 && ((*list)[i].split_k > 1 || (*list)[i].stream_k);) {
    hd_schedule_print(&(*list)[i], other);
    if (strcmp(text, other) == 0)
      return;
  }
  HD_PUSH(*list, *n, *cap, s);
}

/* As deep as it is, and as deep as it can be: small stages cover the memory's latency only in
 * numbers; where that is deeper than usual, also halfway (H200: 28 stages 4 % of e4m3 4096 x 14336,
 * N = 1, under the promise: docs/bench/attempts.csv, run 17). Where columns are many, also without
 * an exchange between lanes (1.5 % of e4m3 4096 x 4096, N = 256, in a cluster: run 11). */
static void push_ways(const hd_problem *p, hd_schedule s, hd_schedule **list, size_t *n,
                      size_t *cap) {
  enum { WIDE_TILE = 128 }; /* ORDER NARROW: schedule_each */
  int32_t most = hd_schedule_most_stages(p, &s, HD_MOST_STAGES);
  int32_t depth[] = {s.stages, most, (s.stages + most) / 2};
  static const char *const stores[] = {"quad", "permuted"};
  for (size_t i = 0; i < (s.tile_n >= WIDE_TILE ? HD_COUNT(stores) : 1); i++)
    for (size_t j = 0; j < (most > HD_USUAL_STAGES ? 3 : 2); j++) {
      snprintf(s.store, sizeof s.store, "%s", stores[i]);
      s.stages = depth[j];
      if (hd_schedule_fits(p, &s))
        push_once(s, list, n, cap);
    }
}

/* The most promising ones that share the last waves over k. */
static void each_stream(const hd_problem *p, hd_schedule **list, size_t *n, size_t *cap) {
  enum { MOST = 8 };
  hd_schedule found[MOST], base = {0};
  if (!hd_problem_row(p, "wgmma", 0, false))
    return;
  default_of(p, "wgmma", &base);
  int32_t unit = wgmma_unit(p);
  hd_pick pick = {&base, default_tile_n(p, 256, unit), unit, 1, true};
  int32_t n_found = hd_schedule_pick(p, &pick, found, MOST);
  for (int32_t i = 0; i < n_found; i++)
    push_ways(p, found[i], list, n, cap);
}

/* The most promising splits of k, where the tiles do not fill the SMs, each also in a cluster. */
static void each_split(const hd_problem *p, hd_schedule **list, size_t *n, size_t *cap) {
  enum { MOST = 8 };
  hd_schedule split[MOST], base = {0};
  if (!hd_problem_row(p, "wgmma", 0, false))
    return;
  default_of(p, "wgmma", &base);
  int32_t found = pick(p, &base, 2, split, MOST);
  for (int32_t i = 0; i < found; i++) {
    hd_schedule in[2];
    push_ways(p, split[i], list, n, cap);
    bool is_in = hd_schedule_along_k(&split[i]) > 1;
    int32_t n_in = is_in ? 0 : hd_schedule_in_cluster(p, &split[i], in);
    for (int32_t j = 0; j < n_in; j++)
      push_ways(p, in[j], list, n, cap);
  }
}

heddle_status hd_schedule_enumerate(heddle_context *ctx, const hd_op *kernel, hd_schedule **list,
                                    size_t *n) {
  hd_problem p;
  HD_TRY(hd_problem_read(ctx, (hd_op *)kernel, &p));
  hd_schedule first;
  HD_TRY(hd_schedule_default(ctx, kernel, &first));
  hd_schedule *out = NULL;
  size_t count = 0, cap = 0;
  HD_PUSH(out, count, cap, first);
  hd_schedule_each(&p, &first, &out, &count, &cap);
  each_split(&p, &out, &count, &cap);
  each_stream(&p, &out, &count, &cap);
  *list = out;
  *n = count;
  return HEDDLE_OK;
}
