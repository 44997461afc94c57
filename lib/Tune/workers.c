#include "Tune/workers.h"

#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"

static void say(hd_worker *h, const char *verb, const char *text) {
  hd_strbuf line = {0};
  hd_strbuf_printf(&line, "%s%s%s", verb, *text ? " " : "", text);
  /* One that does not listen has ended: that is its next event. */
  (void)hd_child_say(&h->child, hd_strbuf_text(&line));
  hd_strbuf_free(&line);
}

static void give(hd_worker *h, int64_t entry, double deadline_s) {
  h->entry = entry;
  h->deadline = hd_clock_seconds() + deadline_s;
}

/* Started, and told the product. */
static heddle_status bring_up(heddle_context *ctx, const hd_workers *workers, hd_worker *h) {
  if (h->child.pid)
    return HEDDLE_OK;
  HD_TRY(hd_child_start(ctx, workers->argv, &h->child));
  say(h, "product", workers->product);
  h->entry = HD_ENTRY_IDLE;
  return HEDDLE_OK;
}

void hd_workers_begin(hd_workers *workers, const hd_product *product) {
  hd_product_print(product, workers->product);
  workers->ready = false;
  if (workers->measurer.child.pid)
    say(&workers->measurer, "product", workers->product);
  for (int32_t i = 0; i < workers->n_compilers; i++)
    if (workers->compiler[i].child.pid)
      say(&workers->compiler[i], "product", workers->product);
}

heddle_status hd_workers_compile(heddle_context *ctx, hd_workers *workers, int64_t entry,
                                 const char *schedule, double deadline_s, bool *taken) {
  *taken = false;
  for (int32_t i = 0; i < workers->n_compilers && !*taken; i++) {
    hd_worker *h = &workers->compiler[i];
    if (h->child.pid && h->entry != HD_ENTRY_IDLE)
      continue;
    HD_TRY(bring_up(ctx, workers, h));
    say(h, "compile", schedule);
    give(h, entry, deadline_s);
    *taken = true;
  }
  return HEDDLE_OK;
}

heddle_status hd_workers_open(heddle_context *ctx, hd_workers *workers, uint64_t seed,
                              double deadline_s) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  HD_TRY(bring_up(ctx, workers, &workers->measurer));
  say(&workers->measurer, "open", text);
  give(&workers->measurer, HD_ENTRY_OPEN, deadline_s);
  return HEDDLE_OK;
}

void hd_workers_measure(hd_workers *workers, int64_t entry, const char *request,
                        double deadline_s) {
  const char *verb = entry == HD_ENTRY_FINAL    ? "final"
                     : entry == HD_ENTRY_ALONE  ? "alone"
                     : entry == HD_ENTRY_CANARY ? "canary"
                                                : "measure";
  say(&workers->measurer, verb, request);
  give(&workers->measurer, entry, deadline_s);
}

/* ---- event ---- */

static void put_aside(hd_workers *workers, hd_worker *h, int *how) {
  hd_child_stop(&h->child, how);
  h->entry = HD_ENTRY_IDLE;
  if (h == &workers->measurer)
    workers->ready = false;
}

/* What one child has to tell. */
static bool news_of(hd_workers *workers, hd_worker *h, hd_worker_event *event) {
  if (!h->child.pid)
    return false;
  event->measurer = h == &workers->measurer;
  event->entry = h->entry;
  while (hd_child_take(&h->child, &event->line)) {
    if (strcmp(hd_strbuf_text(&event->line), "product") == 0) /* a greeting, not a result */
      continue;
    event->kind = HD_WORKER_LINE;
    h->entry = HD_ENTRY_IDLE;
    return true;
  }
  bool late = h->entry != HD_ENTRY_IDLE && hd_clock_seconds() > h->deadline;
  uint64_t memory = workers->memory_bytes ? hd_process_memory(h->child.pid) : 0;
  bool swollen = memory > workers->memory_bytes;
  if (!h->child.ended && !late && !swollen)
    return false;
  int how = 0;
  event->kind = h->child.ended || swollen ? HD_WORKER_CRASH : HD_WORKER_HANG;
  put_aside(workers, h, &how);
  event->line.len = 0;
  if (swollen)
    hd_strbuf_printf(&event->line, "it used %llu MiB of memory; legal: %llu MiB",
                     (unsigned long long)(memory >> 20),
                     (unsigned long long)(workers->memory_bytes >> 20));
  else if (event->kind == HD_WORKER_HANG)
    hd_strbuf_add(&event->line, "no answer within its time");
  else if (how > 128)
    hd_strbuf_printf(&event->line, "its process ended by signal %d", how - 128);
  else
    hd_strbuf_printf(&event->line, "its process ended with code %d", how);
  return true;
}

static hd_worker *worker(hd_workers *workers, int32_t i) {
  return i ? &workers->compiler[i - 1] : &workers->measurer;
}

/* Of the first n workers. */
static bool any_news(hd_workers *workers, int32_t n, hd_worker_event *event) {
  for (int32_t i = 0; i < n; i++) {
    int32_t at = (workers->next + i) % n;
    if (news_of(workers, worker(workers, at), event)) {
      workers->next = (at + 1) % n;
      return true;
    }
  }
  return false;
}

void hd_workers_wait(hd_workers *workers, bool measurer_alone, double timeout_s,
                     hd_worker_event *event) {
  hd_child *children[HD_TUNE_MOST_JOBS + 1];
  int32_t n = measurer_alone ? 1 : workers->n_compilers + 1;
  static const double WATCH_S = 0.1; /* how often memory is looked at */
  if (workers->memory_bytes && timeout_s > WATCH_S)
    timeout_s = WATCH_S;
  double now = hd_clock_seconds(), until = now + timeout_s;
  for (int32_t i = 0; i < n; i++) {
    hd_worker *h = worker(workers, i);
    children[i] = &h->child;
    if (h->child.pid && h->entry != HD_ENTRY_IDLE && h->deadline < until)
      until = h->deadline;
  }
  event->kind = HD_WORKER_NONE;
  if (any_news(workers, n, event))
    return;
  hd_children_wait(children, n, until - now);
  any_news(workers, n, event);
}

void hd_workers_distrust(hd_workers *workers) {
  put_aside(workers, &workers->measurer, NULL);
}

void hd_workers_end(hd_workers *workers) {
  for (int32_t i = 0; i <= workers->n_compilers; i++)
    put_aside(workers, worker(workers, i), NULL);
}
