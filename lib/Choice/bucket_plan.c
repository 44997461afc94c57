#include "Choice/bucket_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"

bool hd_bucket_plan_is(const char *text) {
  return text && (strchr(text, ';') || strstr(text, "<="));
}

const hd_bucket *hd_bucket_plan_find(const hd_bucket_plan *plan, int64_t size) {
  int32_t i = 0;
  while (i + 1 < plan->n && size > plan->list[i].to)
    i++;
  return &plan->list[i];
}

void hd_bucket_plan_print(const hd_bucket_plan *plan, hd_strbuf *out) {
  for (int32_t i = 0; i < plan->n; i++) {
    const hd_bucket *b = &plan->list[i];
    char words[HD_SCHEDULE_TEXT];
    if (b->to)
      hd_strbuf_printf(out, "%s%s<=%lld: ", i ? "; " : "", plan->dim, (long long)b->to);
    else
      hd_strbuf_add(out, i ? "; " : "");
    hd_schedule_print_words(&b->words, words);
    hd_strbuf_add(out, words);
  }
}

#define REFUSE(...) return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.buckets", __VA_ARGS__)

/* Reads "n<=16:" at the start of a part; *words is the rest. The last part has no limit. */
static heddle_status read_border(heddle_context *ctx, hd_loc loc, const char *part,
                                 hd_bucket_plan *plan, hd_bucket *b, const char **words) {
  char dim[2], *end;
  *words = part + strspn(part, " \t\n");
  const char *sign = strstr(*words, "<=");
  if (!sign)
    return HEDDLE_OK;
  b->to = strtoll(sign + 2, &end, 10);
  snprintf(dim, sizeof dim, "%.1s", *words);
  if (sign != *words + 1 || !strchr("mnk", dim[0]) || *end != ':' || b->to < 1)
    REFUSE("got \"%.40s\"; legal: SIZE<=NUMBER: WORDS, as in n<=16: tile=64x16", *words);
  if (plan->dim[0] && strcmp(dim, plan->dim) != 0)
    REFUSE("got a limit of %s after one of %s; legal: limits of one size", dim, plan->dim);
  if (plan->n && b->to <= plan->list[plan->n - 1].to)
    REFUSE("got %s<=%lld after %s<=%lld; legal: increasing limits", dim, (long long)b->to, dim,
           (long long)plan->list[plan->n - 1].to);
  snprintf(plan->dim, sizeof plan->dim, "%s", dim);
  *words = end + 1 + strspn(end + 1, " \t\n");
  return HEDDLE_OK;
}

static heddle_status read_bucket(heddle_context *ctx, hd_loc loc, const char *part,
                                 hd_bucket_plan *plan) {
  hd_bucket *b = &plan->list[plan->n];
  const char *words;
  if (plan->n == HD_MOST_BUCKETS)
    REFUSE("got more than %d buckets; legal: up to %d", HD_MOST_BUCKETS, HD_MOST_BUCKETS);
  if (plan->n && !plan->list[plan->n - 1].to)
    REFUSE("got \"%.40s\" after the schedule without a limit; legal: that schedule last", part);
  *b = (hd_bucket){0};
  HD_TRY(read_border(ctx, loc, part, plan, b, &words));
  HD_TRY(hd_schedule_parse(ctx, loc, words, &b->words));
  plan->n++;
  return HEDDLE_OK;
}

heddle_status hd_bucket_plan_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                   hd_bucket_plan *plan) {
  char *copy = hd_xstrdup(text), *save = NULL;
  hd_bucket_plan made = {0};
  heddle_status status = HEDDLE_OK;
  for (char *part = strtok_r(copy, ";", &save); part && status == HEDDLE_OK;
       part = strtok_r(NULL, ";", &save))
    status = read_bucket(ctx, loc, part, &made);
  hd_free(copy);
  HD_TRY(status);
  if (made.n == 0 || made.list[made.n - 1].to)
    REFUSE("there is no schedule for sizes above the last limit; legal: \"%s<=%lld: …; WORDS\"",
           made.n ? made.dim : "n", made.n ? (long long)made.list[made.n - 1].to : 16LL);
  *plan = made;
  return HEDDLE_OK;
}
