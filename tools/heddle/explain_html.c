/* explain's output as a self-contained HTML page, without scripts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Html/html.h"
#include "Schedule/resources.h"
#include "Support/file.h"
#include "explained.h"

/* ---- sentences ---- */

static void add_facts(hd_strbuf *out, const explained *e, explain_part part) {
  hd_strbuf_add(out, "<table class=\"facts\"><tbody>\n");
  for (int32_t i = 0; i < e->n_facts; i++) {
    const explain_fact *f = &e->fact[i];
    if (f->part != part)
      continue;
    hd_strbuf_printf(out, "<tr><td>%s</td><td>", f->label);
    for (const char *at = hd_strbuf_text(&f->text); *at; at++)
      if (*at == '\n')
        hd_strbuf_add(out, "<br>");
      else
        hd_html_text(out, (char[]){*at, '\0'});
    hd_strbuf_add(out, "</td></tr>\n");
  }
  hd_strbuf_add(out, "</tbody></table>\n");
}

/* ---- the schedule ---- */

static void cell_key(hd_strbuf *out, const void *rows, int row, int col) {
  (void)rows, (void)col;
  hd_strbuf_printf(out, "<code>%s</code>", hd_schedule_keys[row].name);
}

static void cell_value(hd_strbuf *out, const void *rows, int row, int col) {
  const explained *e = rows;
  char text[HD_KEY_VALUE_TEXT];
  (void)col;
  hd_schedule_print_key(e->schedule, (hd_key)row, text);
  hd_strbuf_printf(out, "<code>%s</code>", text);
}

/* Converts `code` in the reference text. */
static void cell_says(hd_strbuf *out, const void *rows, int row, int col) {
  bool code = false;
  (void)rows, (void)col;
  for (const char *at = hd_schedule_keys[row].says; *at; at++)
    if (*at == '`')
      hd_strbuf_add(out, (code = !code) ? "<code>" : "</code>");
    else
      hd_html_text(out, (char[]){*at, '\0'});
}

static void add_schedule(hd_strbuf *out, const explained *e) {
  static const hd_html_column columns[] = {
      {"key", 0, cell_key, false}, {"value", 0, cell_value, false}, {"says", 0, cell_says, false}};
  const hd_schedule *s = e->schedule;
  hd_strbuf_printf(out,
                   "<h2>Schedule</h2>\n<p>A CTA computes tiles of %d × %d of D with the "
                   "instructions of family <code>%s</code>, %d of k at a time; A and B come "
                   "through a ring of %d stages in shared memory.</p>\n",
                   s->tile_m, s->tile_n, hd_key_word(HD_KEY_FAMILY, s->family), s->tile_k,
                   s->stages);
  add_facts(out, e, EXPLAIN_SCHEDULE);
  hd_strbuf_add(out, "<details><summary>Meaning of each key</summary>\n");
  hd_html_table(out, NULL, e, HD_N_KEYS, columns, HD_COUNT(columns), "");
  hd_strbuf_add(out, "</details>\n");
}

/* ---- time ---- */

typedef struct bar {
  const char *name, *class; /* class of the style sheet */
  double seconds;
  bool binds;
} bar;

typedef struct bars {
  bar list[HD_N_RESOURCES];
  int n;
  double most;
} bars;

static void add_bar(bars *b, const char *name, const char *class, double seconds) {
  if (seconds <= 0)
    return;
  b->list[b->n++] = (bar){name, class, seconds, !strcmp(class, "binds")};
  b->most = fmax(b->most, seconds);
}

static void cell_bar_name(hd_strbuf *out, const void *rows, int row, int col) {
  const bars *b = rows;
  (void)col;
  hd_html_text(out, b->list[row].name);
  if (b->list[row].binds)
    hd_strbuf_add(out, ": <strong>the bottleneck</strong>");
}

static void cell_bar_us(hd_strbuf *out, const void *rows, int row, int col) {
  const bars *b = rows;
  (void)col;
  hd_html_number(out, b->list[row].seconds * 1e6, 2);
}

static void cell_bar(hd_strbuf *out, const void *rows, int row, int col) {
  const bars *b = rows;
  (void)col;
  hd_html_bar(out, b->list[row].seconds / b->most, b->list[row].class);
}

static void add_bars(hd_strbuf *out, const char *heading, const char *what, const bars *b) {
  const hd_html_column columns[] = {
      {what, 0, cell_bar_name, false}, {"µs", 0, cell_bar_us, true}, {"", 0, cell_bar, false}};
  hd_html_table(out, heading, b, b->n, columns, HD_COUNT(columns), "");
}

static void add_time(hd_strbuf *out, const explained *e) {
  const hd_tuned_entry *entry = e->input->entry;
  bars whole = {.n = 0}, terms = {.n = 0};
  if (!e->is_estimate) {
    hd_strbuf_add(out, "<h2>Time</h2>\n");
    add_facts(out, e, EXPLAIN_TIME);
    return;
  }
  add_bar(&whole, "predicted", "", e->cost.seconds);
  add_bar(&whole, "measured", "", entry ? entry->seconds : 0);
  add_bar(&whole, "measured, sustained", "", entry ? entry->sustained : 0);
  add_bar(&whole, "measured time of the default", "other", entry ? entry->default_seconds : 0);
  add_bar(&whole, "predicted time of a dense library", "other", e->dense_seconds);
  add_bars(out, "Time", "a launch", &whole);
  add_facts(out, e, EXPLAIN_TIME);
  for (int32_t i = 0; i < explain_n_terms(e); i++)
    add_bar(&terms, hd_resource_name(e->by_time[i]), i ? "" : "binds",
            e->cost.alone[e->by_time[i]]);
  add_bars(out, "Limits", "time if the others took none", &terms);
  hd_strbuf_add(out, "<p>The terms of the cost model, each as if the others took no time. Terms "
                     "below a twentieth of the largest are left out.</p>\n");
}

/* ---- shared memory ---- */

typedef struct map {
  const explained *e;
  int64_t limit;
} map;

/* Whether the buffer reuses the memory of an earlier one, which is no longer read by then. */
static bool is_over(const hd_shared_layout *l, int32_t i) {
  for (int32_t k = 0; k < i; k++)
    if (l->item[i].offset < l->item[k].offset + l->item[k].slot_bytes * l->item[k].stages)
      return true;
  return false;
}

static const hd_shared_item *item_of(const void *rows, int row) {
  return &((const map *)rows)->e->shared.item[row];
}

static void cell_item(hd_strbuf *out, const void *rows, int row, int col) {
  const map *m = rows;
  (void)col;
  hd_html_swatch(out, row);
  hd_html_text(out, explain_item_name(item_of(rows, row)));
  if (is_over(&m->e->shared, row))
    hd_strbuf_add(out, ", overlaps the ring");
  if (item_of(rows, row)->op->kind == HD_OP_BARRIER)
    hd_strbuf_add(out, ", barriers");
}

enum { ITEM_SLOTS, ITEM_EACH, ITEM_BYTES, ITEM_FROM };
static void cell_item_number(hd_strbuf *out, const void *rows, int row, int col) {
  const hd_shared_item *x = item_of(rows, row);
  const int64_t values[] = {x->stages, x->slot_bytes, x->stages * x->slot_bytes, x->offset};
  hd_html_number(out, (double)values[col], 0);
}

static void cell_item_bar(hd_strbuf *out, const void *rows, int row, int col) {
  const map *m = rows;
  const hd_shared_item *x = item_of(rows, row);
  (void)col;
  hd_html_bar(out, (double)(x->stages * x->slot_bytes) / (double)m->limit, "");
}

/* Slots side by side; buffers that overlap others appear only in the table. */
static int32_t spans_of(const map *m, int64_t taken, hd_arena *arena, hd_span **spans) {
  const hd_shared_layout *l = &m->e->shared;
  const double limit = (double)m->limit;
  int32_t n = 0, most = 2;
  for (int32_t i = 0; i < l->n_items; i++)
    most += (int32_t)l->item[i].stages;
  *spans = HD_NEW_ARRAY(arena, hd_span, most);
  for (int32_t i = 0; i < l->n_items; i++)
    for (int64_t slot = 0; slot < l->item[i].stages && !is_over(l, i); slot++) {
      const hd_shared_item *x = &l->item[i];
      const char *name = explain_item_name(x);
      int64_t from = x->offset + slot * x->slot_bytes;
      (*spans)[n++] =
          (hd_span){(double)from / limit, (double)(from + x->slot_bytes) / limit,
                    hd_arena_printf(arena, "%s %" PRId64, name, slot),
                    hd_arena_printf(arena, "%s, slot %" PRId64 ": %" PRId64 " bytes from %" PRId64,
                                    name, slot, x->slot_bytes, from),
                    i};
    }
  if (taken > l->n_bytes)
    (*spans)[n++] = (hd_span){(double)l->n_bytes / limit, (double)taken / limit, "unused",
                              "alignment of the first byte, and padding that limits the CTAs per "
                              "SM", -1};
  (*spans)[n++] =
      (hd_span){(double)taken / limit, 1, "free", "not requested by the launch", -1};
  return n;
}

static void add_map(hd_strbuf *out, explained *e) {
  enum { KIB = 1024, STEP = 32, MAX_TICKS = 9 };
  static const hd_html_column columns[] = {{"buffer", 0, cell_item, false},
                                           {"slots", ITEM_SLOTS, cell_item_number, true},
                                           {"bytes each", ITEM_EACH, cell_item_number, true},
                                           {"bytes", ITEM_BYTES, cell_item_number, true},
                                           {"from byte", ITEM_FROM, cell_item_number, true},
                                           {"of the limit", 0, cell_item_bar, false}};
  const map m = {e, hd_schedule_shared_limit(e->problem, e->schedule)};
  int64_t taken = e->kernel.manifest.variant[e->variant].shared_bytes;
  hd_span *spans;
  hd_tick ticks[MAX_TICKS];
  int32_t n_ticks = 0, n = spans_of(&m, taken < m.limit ? taken : m.limit, &e->arena, &spans);
  for (int64_t at = 0; at * KIB <= m.limit && n_ticks < MAX_TICKS; at += STEP)
    ticks[n_ticks++] = (hd_tick){(double)(at * KIB) / (double)m.limit,
                                 hd_arena_printf(&e->arena, "%" PRId64 " KiB", at)};
  hd_strbuf_add(out, "<h2>Shared memory</h2>\n");
  const char *title = hd_arena_printf(
      &e->arena, "%" PRId64 " of the %" PRId64 " bytes that a CTA can use, to scale", taken,
      m.limit);
  hd_html_strip(out, title, spans, n, ticks, n_ticks);
  hd_html_table(out, NULL, &m, e->shared.n_items, columns, HD_COUNT(columns), "");
}

/* ---- occupancy ---- */

typedef struct need {
  const char *name;
  int64_t a_cta, an_sm;
} need;

static void cell_need(hd_strbuf *out, const void *rows, int row, int col) {
  (void)col;
  hd_html_text(out, ((const need *)rows)[row].name);
}

enum { NEED_CTA, NEED_SM, NEED_FIT };
static void cell_need_number(hd_strbuf *out, const void *rows, int row, int col) {
  const need *x = (const need *)rows + row;
  const int64_t values[] = {x->a_cta, x->an_sm, x->an_sm / x->a_cta};
  hd_html_number(out, (double)values[col], 0);
}

static void cell_need_bar(hd_strbuf *out, const void *rows, int row, int col) {
  const need *x = (const need *)rows + row;
  (void)col;
  hd_html_bar(out, (double)x->a_cta / (double)x->an_sm, "");
}

static void add_occupancy(hd_strbuf *out, const explained *e) {
  enum { SYSTEM_BYTES = 1024 /* reserved for each CTA */ };
  static const hd_html_column columns[] = {{"", 0, cell_need, false},
                                           {"a CTA takes", NEED_CTA, cell_need_number, true},
                                           {"an SM has", NEED_SM, cell_need_number, true},
                                           {"CTAs", NEED_FIT, cell_need_number, true},
                                           {"a CTA's part", 0, cell_need_bar, false}};
  const hd_target *t = e->problem->target;
  const hd_variant *v = &e->kernel.manifest.variant[e->variant];
  need list[4] = {
      {"shared memory, bytes", v->shared_bytes + SYSTEM_BYTES, t->shared_per_sm},
      {"threads", v->n_threads, t->max_threads_per_sm},
  };
  int n = 2;
  if (v->n_registers)
    list[n++] = (need){"registers", (int64_t)v->n_registers * v->n_threads, t->registers_per_sm};
  if (hd_schedule_is_tensor(e->schedule))
    list[n++] = (need){"columns of tensor memory", hd_schedule_columns(e->problem, e->schedule),
                       t->tensor_columns};
  hd_html_table(out, "Occupancy", list, n, columns, HD_COUNT(columns), "");
  hd_strbuf_printf(out, "<p>Entry point <code>%s</code>; the schedule requests %d CTA%s per SM.",
                   v->entry, e->schedule->ctas_per_sm, e->schedule->ctas_per_sm > 1 ? "s" : "");
  hd_strbuf_add(out, v->n_registers ? "</p>\n" : " Registers are not known without ptxas.</p>\n");
}

/* ---- buckets ---- */

static const explain_bucket *bucket_of(const void *rows, int row) {
  return &((const explained *)rows)->bucket[row];
}

static void cell_range(hd_strbuf *out, const void *rows, int row, int col) {
  const explain_bucket *b = bucket_of(rows, row);
  (void)col;
  hd_html_swatch(out, row);
  hd_strbuf_printf(out, "<span class=\"n\">%" PRId64, b->from);
  if (b->to != b->from)
    hd_strbuf_add(out, " …");
  if (b->to > b->from)
    hd_strbuf_printf(out, " %" PRId64, b->to);
  hd_strbuf_add(out, "</span>");
}

static void cell_short(hd_strbuf *out, const void *rows, int row, int col) {
  (void)col;
  hd_strbuf_add(out, "<code>");
  explain_short(&bucket_of(rows, row)->bucket->words.value, out);
  hd_strbuf_add(out, "</code>");
}

static void cell_bucket_us(hd_strbuf *out, const void *rows, int row, int col) {
  const explain_bucket *b = bucket_of(rows, row);
  (void)col;
  if (b->seconds > 0)
    hd_html_number(out, b->seconds * 1e6, 2);
}

static void cell_at(hd_strbuf *out, const void *rows, int row, int col) {
  (void)col;
  hd_html_number(out, (double)bucket_of(rows, row)->at, 0);
}

static void cell_why(hd_strbuf *out, const void *rows, int row, int col) {
  (void)col;
  hd_html_text(out, bucket_of(rows, row)->bucket->why);
}

/* Position of a size on the strip, on a logarithmic scale. */
static double along(int64_t size, double last) {
  return log2((double)size) / log2(last);
}

static void add_buckets(hd_strbuf *out, explained *e) {
  enum { MAX_TICKS = 32 };
  static const hd_html_column columns[] = {{"sizes", 0, cell_range, false},
                                           {"schedule", 0, cell_short, false},
                                           {"µs", 0, cell_bucket_us, true},
                                           {"at", 0, cell_at, true},
                                           {"why", 0, cell_why, false}};
  const hd_size *size = e->input->plan.dim[0] == 'n' ? &e->problem->n : &e->problem->m;
  const explain_bucket *end = &e->bucket[e->n_buckets - 1];
  const double last = (double)(size->max > 2 * end->from ? size->max : 2 * end->from);
  hd_span spans[HD_MOST_BUCKETS];
  hd_tick ticks[MAX_TICKS];
  int32_t n_ticks = 0;
  for (int32_t i = 0; i < e->n_buckets; i++) {
    const explain_bucket *b = &e->bucket[i];
    const hd_schedule *s = &b->bucket->words.value;
    spans[i] = (hd_span){along(b->from, last), b->to ? along(b->to + 1, last) : 1,
                         hd_arena_printf(&e->arena, "%d×%d", s->tile_m, s->tile_n),
                         hd_arena_printf(&e->arena, "%" PRId64 " to %" PRId64 ": %d × %d", b->from,
                                         b->to ? b->to : (int64_t)last, s->tile_m, s->tile_n),
                         i};
  }
  for (int64_t at = 1; (double)at <= last && n_ticks < MAX_TICKS; at *= 2)
    ticks[n_ticks++] = (hd_tick){along(at, last), hd_arena_printf(&e->arena, "%" PRId64, at)};
  hd_strbuf_printf(out, "<h2>One kernel for each range of %s</h2>\n", e->input->plan.dim);
  hd_html_strip(out, "Tiles by the size at launch, logarithmic", spans, e->n_buckets,
                ticks, n_ticks);
  hd_html_table(out, NULL, e, e->n_buckets, columns, HD_COUNT(columns), "");
}

/* ---- alternatives ---- */

/* Legal alternatives by predicted time, then refused ones in list order. */
static int by_rank(const void *a, const void *b) {
  const explain_alternative *x = *(const explain_alternative *const *)a;
  const explain_alternative *y = *(const explain_alternative *const *)b;
  if (x->legal != y->legal)
    return x->legal ? -1 : 1;
  if (x->legal && x->cost.seconds != y->cost.seconds)
    return x->cost.seconds < y->cost.seconds ? -1 : 1;
  return x < y ? -1 : 1;
}

typedef struct ranking {
  const explained *e;
  const explain_alternative *list[EXPLAIN_MOST_ALTERNATIVES];
} ranking;

static void add_ratio(hd_strbuf *out, const explained *e, const hd_cost *cost) {
  double ratio = cost->seconds / e->cost.seconds;
  if (ratio > 0.995 && ratio < 1.005)
    hd_strbuf_add(out, "the same predicted time");
  else
    hd_strbuf_printf(out, "%.2f × the time; bottleneck: %s %s", ratio,
                     hd_resource_name(cost->binds), "binds");
  if (ratio <= 0.995)
    hd_strbuf_add(out, e->input->entry ? "; but the choice was measured"
                       : ratio > 0.9   ? "; within the error of the model"
                                       : "; heddle tune measures it");
}

static void cell_words(hd_strbuf *out, const void *rows, int row, int col) {
  const ranking *r = rows;
  (void)col;
  hd_strbuf_printf(out, "<code>%s</code>", r->list[row]->words);
}

static void cell_alternative_us(hd_strbuf *out, const void *rows, int row, int col) {
  const ranking *r = rows;
  (void)col;
  if (r->list[row]->legal && r->e->is_estimate)
    hd_html_number(out, r->list[row]->cost.seconds * 1e6, 2);
}

static void cell_alternative_why(hd_strbuf *out, const void *rows, int row, int col) {
  const ranking *r = rows;
  const explain_alternative *x = r->list[row];
  (void)col;
  if (!x->legal)
    hd_html_text(out, hd_strbuf_text(&x->refusal));
  else if (r->e->is_estimate)
    add_ratio(out, r->e, &x->cost);
  else
    hd_strbuf_add(out, "legal");
}

static void cell_tile(hd_strbuf *out, const void *rows, int row, int col) {
  const explained *e = rows;
  (void)col;
  hd_strbuf_add(out, "<code>");
  explain_short(&e->tile[row].schedule, out);
  hd_strbuf_add(out, "</code>");
}

static void cell_tile_us(hd_strbuf *out, const void *rows, int row, int col) {
  const explained *e = rows;
  (void)col;
  hd_html_number(out, e->tile[row].cost.seconds * 1e6, 2);
}

static void cell_tile_why(hd_strbuf *out, const void *rows, int row, int col) {
  const explained *e = rows;
  (void)col;
  if (hd_schedule_equals(&e->tile[row].schedule, e->schedule))
    hd_strbuf_add(out, "the choice");
  else
    add_ratio(out, e, &e->tile[row].cost);
}

static void add_alternatives(hd_strbuf *out, const explained *e) {
  static const hd_html_column columns[] = {{"with", 0, cell_words, false},
                                           {"µs, predicted", 0, cell_alternative_us, true},
                                           {"against the choice", 0, cell_alternative_why, false}};
  static const hd_html_column tiles[] = {{"the fastest of its tile", 0, cell_tile, false},
                                         {"µs, predicted", 0, cell_tile_us, true},
                                         {"against the choice", 0, cell_tile_why, false}};
  ranking r = {.e = e};
  for (int32_t i = 0; i < e->n_alternatives; i++)
    r.list[i] = &e->alternative[i];
  qsort(r.list, (size_t)e->n_alternatives, sizeof *r.list, by_rank);
  hd_strbuf_printf(out,
                   "<h2>Alternatives</h2>\n"
                   "<p>Each overrides the default schedule, as the value of "
                   "<code>--schedule</code>%s.</p>\n",
                   e->is_estimate ? "; legal ones are ordered by predicted time" : "");
  hd_html_table(out, NULL, &r, e->n_alternatives, columns, HD_COUNT(columns), "");
  if (!e->n_tiles)
    return;
  hd_html_table(out, "Other tiles", e, e->n_tiles, tiles, HD_COUNT(tiles), "");
  hd_strbuf_printf(out, "<p>Out of %zu legal schedules.</p>\n", e->n_legal);
}

/* ---- the page ---- */

static void add_figure(hd_strbuf *out, double value, const char *unit, const char *about) {
  hd_strbuf_printf(out, "<li><b>%.2f%s</b> %s</li>", value, unit, about);
}

/* The key figures, at the top of the page. */
static void add_figures(hd_strbuf *out, explained *e) {
  const hd_tuned_entry *entry = e->input->entry;
  const bool open[] = {!e->problem->m.value, !e->problem->n.value, !e->problem->k.value};
  const char *at = "";
  if (!e->is_estimate)
    return;
  for (int i = 0; i < 3; i++)
    if (open[i])
      at = hd_arena_printf(&e->arena, "%s%s %c = %" PRId64, at, *at ? "," : " at", "MNK"[i],
                           e -> mnk[i]);
  hd_strbuf_add(out, "<ul class=\"tiles\">");
  add_figure(out, e->cost.seconds * 1e6, " µs", hd_arena_printf(&e->arena, "predicted%s", at));
  if (entry)
    add_figure(out, entry->seconds * 1e6, " µs", "measured");
  add_figure(out, e->dense_seconds / e->sparse_seconds, " ×", "a dense library's speed");
  add_figure(out, e->cost.waves, "", "waves");
  hd_strbuf_add(out, "</ul>\n");
}

static void add_launch(hd_strbuf *out, const explained *e) {
  const int n = e->kernel.manifest.n_variants;
  hd_strbuf_printf(out, "<h2>Launch</h2>\n<details%s><summary>%d entry point%s</summary>\n",
                   n > 4 ? "" : " open", n, n > 1 ? "s" : "");
  add_facts(out, e, EXPLAIN_LAUNCH);
  hd_strbuf_add(out, "</details>\n");
  add_facts(out, e, EXPLAIN_ARGUMENT);
}

heddle_status explain_write_html(heddle_context *ctx, explained *e, const char *path) {
  hd_strbuf out = {0};
  hd_html_begin_alone(&out, e->kernel.manifest.name);
  add_figures(&out, e);
  add_facts(&out, e, EXPLAIN_PROBLEM);
  if (e->n_buckets > 1)
    add_buckets(&out, e);
  add_schedule(&out, e);
  add_time(&out, e);
  add_map(&out, e);
  add_occupancy(&out, e);
  add_alternatives(&out, e);
  add_launch(&out, e);
  hd_html_end(&out);
  heddle_status status = hd_file_write(ctx, path, hd_strbuf_text(&out), out.len);
  hd_strbuf_free(&out);
  return status;
}
