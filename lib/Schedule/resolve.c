#include "Schedule/resolve.h"

#include "Support/arena.h"

/* Drops the default's reduction within a cluster if the words contradict it. A text that gives
 * split_k without reduce means the workspace, which was once the only kind of reduction. */
static void leave_cluster(const hd_schedule_words *words, hd_schedule *s) {
  bool own_persistent = hd_words_have(words, HD_KEY_PERSISTENT);
  if (s->reduce == HD_REDUCE_WORKSPACE || (!hd_words_have(words, HD_KEY_SPLIT_K) &&
                                           !own_persistent && s->split_k > 1 && s->cluster == 1))
    return;
  s->reduce = HD_REDUCE_WORKSPACE;
  if (!own_persistent)
    s->persistent = 1;
}

/* The default's stores, orders, CTAs per SM and copy of B fit its own tiles. If the words change
 * the structure of the kernel, these keys get their initial values, unless they are given too. */
static void leave_savings(const hd_schedule_words *words, hd_schedule *s) {
  static const hd_key savings[] = {HD_KEY_STORE, HD_KEY_K_ORDER, HD_KEY_RASTER_GROUP,
                                   HD_KEY_CTAS_PER_SM, HD_KEY_B_PATH};
  bool other = hd_words_have(words, HD_KEY_PERSISTENT) || hd_words_have(words, HD_KEY_B_PATH) ||
               hd_words_have(words, HD_KEY_A_PATH) || hd_words_have(words, HD_KEY_STAGES);
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    other |= hd_words_have(words, key) && hd_schedule_keys[key].structural;
  for (size_t i = 0; other && i < HD_COUNT(savings); i++) {
    int32_t v[3];
    hd_schedule_get(&hd_schedule_initial, savings[i], v);
    hd_schedule_set(s, savings[i], v);
  }
}

static int32_t round_up(int32_t x, int32_t unit) { return (x + unit - 1) / unit * unit; }

heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_device_model *device,
                                  const hd_problem *p, const hd_schedule_words *words,
                                  hd_schedule *schedule) {
  hd_schedule s = hd_schedule_default(device, p);
  /* The family determines the other defaults, and the tile the warps and stages: in this order. */
  if (hd_words_have(words, HD_KEY_FAMILY) && words->value.family != s.family)
    s = hd_schedule_default_of(device, p, words->value.family);
  leave_savings(words, &s);
  hd_schedule_apply(words, &s);
  if (hd_schedule_gathers(p, &s) && !hd_words_have(words, HD_KEY_CLUSTER))
    s.cluster = 1; /* gathered rows cannot be multicast */
  HD_TRY(hd_schedule_check_extents(ctx, p, &s));
  bool own_tile = hd_words_have(words, HD_KEY_TILE);
  if (own_tile && !hd_words_have(words, HD_KEY_WARPS))
    hd_schedule_default_warps(&s);
  if (own_tile && !hd_words_have(words, HD_KEY_CLUSTER) && s.tile_n % 16)
    s.cluster = 1;
  if ((own_tile || s.stream_k) && !hd_words_have(words, HD_KEY_SPLIT_K))
    s.split_k = 1;
  if (!hd_words_have(words, HD_KEY_REDUCE))
    leave_cluster(words, &s);
  /* A cluster along k has one tile and multicasts no operand. */
  if (hd_schedule_along_k(&s) > 1 && !hd_words_have(words, HD_KEY_PERSISTENT))
    s.persistent = 0;
  if (hd_schedule_along_k(&s) > 1 && !hd_words_have(words, HD_KEY_CLUSTER))
    s.cluster = 1;
  if (!own_tile)
    hd_schedule_narrow(p, &s);
  if (!own_tile && hd_schedule_is_pair(&s))
    s.tile_n = round_up(s.tile_n, hd_schedule_tensor_unit(p, &s));
  if (!hd_words_have(words, HD_KEY_STAGES))
    s.stages = hd_schedule_most_stages(p, &s, hd_schedule_wanted_stages(p, &s));
  if (!hd_words_have(words, HD_KEY_WGMMA_IN_FLIGHT))
    s.wgmma_in_flight = hd_schedule_most_in_flight(p, &s);
  if (!hd_words_have(words, HD_KEY_CLUSTER_LAUNCH))
    s.cluster_launch = hd_schedule_wanted_cluster_launch(device, p, &s);
  *schedule = s;
  return HEDDLE_OK;
}

heddle_status hd_schedule_read(heddle_context *ctx, const hd_device_model *device,
                               const hd_problem *p, const char *text, hd_schedule *schedule) {
  hd_schedule_words words = {0};
  HD_TRY(hd_schedule_parse(ctx, p->kernel->loc, text, &words));
  return hd_schedule_resolve(ctx, device, p, &words, schedule);
}
