#include "Tune/crew.h"

#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"

static void say(hd_hand *h, const char *verb, const char *text) {
  hd_strbuf line = {0};
  hd_strbuf_printf(&line, "%s%s%s", verb, *text ? " " : "", text);
  /* One that does not listen has ended: that is its next news. */
  (void)hd_child_say(&h->child, hd_strbuf_text(&line));
  hd_strbuf_free(&line);
}

static void give(hd_hand *h, int64_t entry, double deadline_s) {
  h->entry = entry;
  h->deadline = hd_clock_seconds() + deadline_s;
}

/* Started, and told the product. */
static heddle_status bring_up(heddle_context *ctx, const hd_crew *crew, hd_hand *h) {
  if (h->child.pid)
    return HEDDLE_OK;
  HD_TRY(hd_child_start(ctx, crew->argv, &h->child));
  say(h, "product", crew->product);
  h->entry = HD_ENTRY_IDLE;
  return HEDDLE_OK;
}

void hd_crew_begin(hd_crew *crew, const hd_product *product) {
  hd_product_print(product, crew->product);
  crew->ready = false;
  if (crew->measurer.child.pid)
    say(&crew->measurer, "product", crew->product);
  for (int32_t i = 0; i < crew->n_compilers; i++)
    if (crew->compiler[i].child.pid)
      say(&crew->compiler[i], "product", crew->product);
}

heddle_status hd_crew_compile(heddle_context *ctx, hd_crew *crew, int64_t entry,
                              const char *schedule, double deadline_s, bool *taken) {
  *taken = false;
  for (int32_t i = 0; i < crew->n_compilers && !*taken; i++) {
    hd_hand *h = &crew->compiler[i];
    if (h->child.pid && h->entry != HD_ENTRY_IDLE)
      continue;
    HD_TRY(bring_up(ctx, crew, h));
    say(h, "compile", schedule);
    give(h, entry, deadline_s);
    *taken = true;
  }
  return HEDDLE_OK;
}

heddle_status hd_crew_open(heddle_context *ctx, hd_crew *crew, double deadline_s) {
  HD_TRY(bring_up(ctx, crew, &crew->measurer));
  say(&crew->measurer, "open", "");
  give(&crew->measurer, HD_ENTRY_OPEN, deadline_s);
  return HEDDLE_OK;
}

void hd_crew_measure(hd_crew *crew, int64_t entry, const char *request, double deadline_s) {
  const char *verb = entry == HD_ENTRY_FINAL   ? "final"
                     : entry == HD_ENTRY_ALONE ? "alone"
                                               : "measure";
  say(&crew->measurer, verb, request);
  give(&crew->measurer, entry, deadline_s);
}

/* ---- news ---- */

static bool is_greeting(const hd_strbuf *line) {
  return strcmp(hd_strbuf_text(line), "product") == 0;
}

static void put_aside(hd_crew *crew, hd_hand *h, int *how) {
  hd_child_stop(&h->child, how);
  h->entry = HD_ENTRY_IDLE;
  if (h == &crew->measurer)
    crew->ready = false;
}

/* What one child has to tell. */
static bool news_of(hd_crew *crew, hd_hand *h, hd_news *news) {
  if (!h->child.pid)
    return false;
  news->measurer = h == &crew->measurer;
  news->entry = h->entry;
  while (hd_child_take(&h->child, &news->line))
    if (!is_greeting(&news->line)) {
      news->kind = HD_NEWS_LINE;
      h->entry = HD_ENTRY_IDLE;
      return true;
    }
  bool late = h->entry != HD_ENTRY_IDLE && hd_clock_seconds() > h->deadline;
  if (!h->child.ended && !late)
    return false;
  int how = 0;
  news->kind = h->child.ended ? HD_NEWS_CRASH : HD_NEWS_HANG;
  put_aside(crew, h, &how);
  news->line.len = 0;
  if (news->kind == HD_NEWS_HANG)
    hd_strbuf_add(&news->line, "no answer within its time");
  else if (how > 128)
    hd_strbuf_printf(&news->line, "its process ended by signal %d", how - 128);
  else
    hd_strbuf_printf(&news->line, "its process ended with code %d", how);
  return true;
}

static hd_hand *hand(hd_crew *crew, int32_t i) {
  return i ? &crew->compiler[i - 1] : &crew->measurer;
}

static bool any_news(hd_crew *crew, hd_news *news) {
  int32_t n = crew->n_compilers + 1;
  for (int32_t i = 0; i < n; i++) {
    int32_t at = (crew->next + i) % n;
    if (news_of(crew, hand(crew, at), news)) {
      crew->next = (at + 1) % n;
      return true;
    }
  }
  return false;
}

static double first_deadline(hd_crew *crew, double least) {
  for (int32_t i = 0; i <= crew->n_compilers; i++) {
    hd_hand *h = hand(crew, i);
    if (h->child.pid && h->entry != HD_ENTRY_IDLE && h->deadline < least)
      least = h->deadline;
  }
  return least;
}

void hd_crew_wait(hd_crew *crew, double timeout_s, hd_news *news) {
  hd_child *children[HD_TUNE_MOST_JOBS + 1];
  double now = hd_clock_seconds(), until = first_deadline(crew, now + timeout_s);
  for (int32_t i = 0; i <= crew->n_compilers; i++)
    children[i] = &hand(crew, i)->child;
  news->kind = HD_NEWS_NONE;
  if (any_news(crew, news))
    return;
  hd_children_wait(children, crew->n_compilers + 1, until - now);
  any_news(crew, news);
}

void hd_crew_distrust(hd_crew *crew) { put_aside(crew, &crew->measurer, NULL); }

void hd_crew_end(hd_crew *crew) {
  for (int32_t i = 0; i <= crew->n_compilers; i++)
    put_aside(crew, hand(crew, i), NULL);
}
