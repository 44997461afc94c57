/* The dashboard: the data of the JSON routes as HTML, without scripts. */
#include <math.h>
#include <string.h>

#include "Service/decide.h"
#include "Service/row_cells.h"
#include "Service/service_state.h"
#include "Support/statistics.h"

void hd_route_style(hd_request *r) {
  hd_answer_text(r, 200, "text/css", hd_xstrdup(hd_html_style()));
}

static void begin(hd_strbuf *out, const char *title, const char *here) {
  static const hd_html_entry entries[] = {{"/", "Fleet"},
                                          {"/campaigns", "Campaigns"},
                                          {"/choices", "Choices"},
                                          {"/drift", "Drift"},
                                          {"/events", "Events"}};
  hd_html_begin(out, title, entries, HD_COUNT(entries), here);
}

static void answer(hd_request *r, hd_strbuf *page) {
  hd_html_end(page);
  hd_answer_text(r, 200, "text/html; charset=utf-8", hd_strbuf_take(page));
}

/* Answers with a page that consists of one table. */
static void answer_table(hd_request *r, const char *title, const char *here, const hd_rows *rows,
                         const hd_html_column *columns, int n, const char *none) {
  hd_strbuf out = {0};
  begin(&out, title, here);
  hd_rows_table(&out, NULL, rows, columns, n, none);
  answer(r, &out);
}

/* Prints the product with a link; the next two columns are class and policy. */
static void cell_product(hd_strbuf *out, const void *rows, int row, int col) {
  static const char *const names[] = {"?product=", "&amp;class=", "&amp;policy="};
  if (!hd_cell(rows, row, col))
    return;
  hd_strbuf_add(out, "<a href=\"/product");
  for (int i = 0; i < 3; i++) {
    hd_strbuf_add(out, names[i]);
    hd_html_query(out, hd_cell_text(rows, row, col + i));
  }
  hd_strbuf_add(out, "\">");
  hd_cell_as_code(out, rows, row, col);
  hd_strbuf_add(out, "</a>");
}

static void cell_campaign(hd_strbuf *out, const void *rows, int row, int col) {
  const char *id = hd_cell_text(rows, row, col);
  hd_strbuf_printf(out, "<a href=\"/campaigns/%s\">%s</a>", id, id);
}

/* ---- fleet and queue ---- */

static void add_tiles(hd_strbuf *out, const hd_rows *states) {
  static const char *const names[] = {"queued", "leased", "done", "failed", "cancelled"};
  hd_strbuf_add(out, "<ul class=\"tiles\">");
  for (size_t i = 0; i < HD_COUNT(names); i++) {
    int64_t n = 0;
    for (int k = 0; k < states->n; k++)
      n += strcmp(hd_cell_text(states, k, 1), names[i]) == 0 ? hd_cell_int(states, k, 2) : 0;
    hd_strbuf_printf(out, "<li class=\"%s\"><b>%lld</b> %s</li>", n ? names[i] : "none",
                     (long long)n, names[i]);
  }
  hd_strbuf_add(out, "</ul>\n");
}

static const hd_html_column job_columns[] = {
    {"job", 0, hd_cell_as_number, true},          {"product", 1, cell_product, false},
    {"class", 2, hd_cell_as_text, false},          {"state", 4, hd_cell_as_text, false},
    {"priority", 5, hd_cell_as_number, true},     {"tenant", 6, hd_cell_as_text, false},
    {"attempt", 7, hd_cell_as_number, true},      {"lease", 8, hd_cell_as_number, true},
    {"created (UTC)", 10, hd_cell_as_time, false}, {"why", 9, hd_cell_as_text, false}};

static void cell_ago(hd_strbuf *out, const void *rows, int row, int col) {
  hd_cell_as_duration(out, rows, row, col);
  hd_strbuf_add(out, " ago");
}

void hd_route_page_fleet(hd_request *r) {
  static const hd_html_column gpus_columns[] = {
      {"GPU", 0, hd_cell_as_code, false},      {"name", 1, hd_cell_as_text, false},
      {"class", 2, hd_cell_as_text, false},    {"driver", 3, hd_cell_as_text, false},
      {"agent", 4, hd_cell_as_text, false},    {"build", 5, hd_cell_as_hash, false},
      {"last heard", 7, cell_ago, false},      {"lease", 8, hd_cell_as_number, true},
      {"works on", 9, hd_cell_as_code, false}, {"done", 10, hd_cell_as_number, true}};
  static const hd_html_column missed_columns[] = {{"product", 0, hd_cell_as_code, false},
                                                  {"class", 1, hd_cell_as_text, false},
                                                  {"asked for", 2, hd_cell_as_number, true},
                                                  {"missed", 3, hd_cell_as_number, true}};
  hd_rows states, fleet, leased, queued, missed;
  hd_strbuf out = {0};
  if (!HD_RUN(r, job_states, &states, "") || !HD_RUN(r, gpus, &fleet, "") ||
      !HD_RUN(r, jobs, &leased, "ttiii", "leased", "", (int64_t)0, INT64_MAX, (int64_t)200) ||
      !HD_RUN(r, jobs, &queued, "ttiii", "queued", "", (int64_t)0, INT64_MAX, (int64_t)50) ||
      !HD_RUN(r, missed_most, &missed, ""))
    return;
  begin(&out, "Fleet", "/");
  add_tiles(&out, &states);
  hd_rows_table(&out, NULL, &fleet, gpus_columns, HD_COUNT(gpus_columns),
                "No GPU has asked for work yet: start <code>heddle-agent</code>.");
  hd_rows_table(&out, "In work", &leased, job_columns, HD_COUNT(job_columns), "Nothing.");
  hd_rows_table(&out, "Queue, the 50 newest", &queued, job_columns, HD_COUNT(job_columns),
                "Empty.");
  hd_rows_table(&out, "Looked up, without a choice", &missed, missed_columns,
                HD_COUNT(missed_columns), "Nothing was reported.");
  answer(r, &out);
}

/* ---- campaigns ---- */

/* Columns of {campaigns}. */
enum { JOBS = 5, QUEUED = 6, LEASED = 7, DONE = 8, FAILED = 9, CANCELLED = 10, TIME_LEFT = 11 };

static void cell_progress(hd_strbuf *out, const void *rows, int row, int col) {
  (void)col;
  hd_strbuf_printf(out, "<progress max=\"%s\" value=\"%s\"></progress>",
                   hd_cell_text(rows, row, JOBS), hd_cell_text(rows, row, DONE));
}

static const hd_html_column campaign_columns[] = {
    {"campaign", 0, cell_campaign, false},
    {"tenant", 1, hd_cell_as_text, false},
    {"class", 2, hd_cell_as_text, false},
    {"note", 3, hd_cell_as_text, false},
    {"created (UTC)", 4, hd_cell_as_time, false},
    {"progress", 0, cell_progress, false},
    {"jobs", JOBS, hd_cell_as_number, true},
    {"queued", QUEUED, hd_cell_as_number, true},
    {"leased", LEASED, hd_cell_as_number, true},
    {"done", DONE, hd_cell_as_number, true},
    {"failed", FAILED, hd_cell_as_number, true},
    {"cancelled", CANCELLED, hd_cell_as_number, true},
    {"time left", TIME_LEFT, hd_cell_as_duration, true}};

void hd_route_page_campaigns(hd_request *r) {
  hd_rows rows;
  if (HD_RUN(r, campaigns, &rows, "i", (int64_t)0))
    answer_table(r, "Campaigns", "/campaigns", &rows, campaign_columns, HD_COUNT(campaign_columns),
                 "Nothing was submitted yet: <code>heddle submit</code>.");
}

void hd_route_page_campaign(hd_request *r) {
  hd_rows rows, jobs;
  hd_strbuf out = {0};
  if (!HD_RUN(r, campaigns, &rows, "i", r->path[0]) ||
      !HD_RUN(r, jobs, &jobs, "ttiii", "", "", r->path[0], INT64_MAX, (int64_t)1000))
    return;
  if (!rows.n) {
    hd_refuse_id(r, HD_RULE_CAMPAIGN_NONE, r->path[0]);
    return;
  }
  begin(&out, hd_arena_printf(&r->arena, "Campaign %lld", (long long)r->path[0]), "/campaigns");
  hd_rows_table(&out, NULL, &rows, campaign_columns, HD_COUNT(campaign_columns), "");
  hd_rows_table(&out, "Jobs", &jobs, job_columns, HD_COUNT(job_columns), "None.");
  answer(r, &out);
}

/* ---- choices ---- */

static void cell_gain(hd_strbuf *out, const void *rows, int row, int col) {
  double us = hd_cell_num(rows, row, HD_CHOICE_US);
  (void)col;
  if (us > 0)
    hd_strbuf_printf(out, "<span class=\"n\">%.3f</span>",
                     hd_cell_num(rows, row, HD_CHOICE_DEFAULT_US) / us);
}

static void cell_pinned(hd_strbuf *out, const void *rows, int row, int col) {
  hd_strbuf_add(out, hd_cell_int(rows, row, col) ? "pinned" : "");
}

/* The keys that distinguish most schedules; the full schedule can be unfolded. */
static void cell_schedule(hd_strbuf *out, const void *rows, int row, int col) {
  static const char *const keys[] = {"tile=", "stages=", "split_k="};
  const char *text = hd_cell_text(rows, row, col);
  hd_strbuf_add(out, "<details><summary><code>");
  for (const char *word = text; *word; word += strcspn(word, " "), word += *word == ' ')
    for (size_t i = 0; i < HD_COUNT(keys); i++)
      if (strncmp(word, keys[i], strlen(keys[i])) == 0)
        hd_strbuf_printf(out, "%s%.*s", i ? " " : "", (int)strcspn(word, " <>&\""), word);
  hd_strbuf_add(out, "</code></summary>");
  hd_html_code(out, text);
  hd_strbuf_add(out, "</details>");
}

static const hd_html_column choice_columns[] = {
    {"product", 0, cell_product, false},
    {"class", 1, hd_cell_as_text, false},
    {"version", HD_CHOICE_VERSION, hd_cell_as_number, true},
    {"µs", HD_CHOICE_US, hd_cell_as_us, true},
    {"default, µs", HD_CHOICE_DEFAULT_US, hd_cell_as_us, true},
    {"gain", 0, cell_gain, false},
    {"schedule", HD_CHOICE_SCHEDULE, cell_schedule, false},
    {"origin", HD_CHOICE_ORIGIN, hd_cell_as_text, false},
    {"", HD_CHOICE_PINNED, cell_pinned, false},
    {"build", HD_CHOICE_BUILD, hd_cell_as_hash, false},
    {"chosen (UTC)", HD_CHOICE_AT, hd_cell_as_time, false}};

void hd_route_page_choices(hd_request *r) {
  const char *search = hd_text_of(r->query, "search", "");
  hd_rows rows;
  hd_strbuf out = {0};
  if (!HD_RUN(r, heads_like, &rows, "t", search))
    return;
  begin(&out, "Choices", "/choices");
  hd_strbuf_add(
      &out,
      "<form action=\"/choices\"><label>Product or class holds <input name=\"search\" value=\"");
  hd_html_text(&out, search);
  hd_strbuf_add(&out, "\"></label> <button>Search</button></form>\n");
  hd_rows_table(&out, NULL, &rows, choice_columns, HD_COUNT(choice_columns), "No choice.");
  if (rows.n == 500)
    hd_strbuf_add(&out, "<p class=\"none\">The first 500; search for fewer.</p>\n");
  answer(r, &out);
}

/* ---- one product ---- */

/* Charts the best and the default of each race, and the user's alternatives; oldest race first. */
static void add_races(hd_strbuf *out, const hd_rows *races, hd_arena *arena) {
  int n = races->n;
  double *x = HD_NEW_ARRAY(arena, double, 5 * n + 1);
  double *best = x + n, *first = best + n, *dense = first + n, *sparse = dense + n;
  for (int i = 0; i < n; i++) {
    hd_race_figures f;
    int row = n - 1 - i;
    json_t *race = json_loads(hd_cell_text(races, row, 6), 0, NULL);
    hd_race_read(race, &f);
    x[i] = i + 1;
    best[i] = first[i] = f.list[f.first].median;
    for (int k = 0; k < f.n; k++)
      best[i] = fmin(best[i], f.list[k].median);
    dense[i] = hd_num_of(race, "dense_us");
    sparse[i] = hd_num_of(race, "cusparselt_us");
    json_decref(race);
  }
  hd_series series[] = {{"best", best, true},
                        {"default", first, true},
                        {"dense", dense, true},
                        {"cuSPARSELt", sparse, true}};
  hd_html_chart(out,
                &(hd_chart){"Races, oldest first", "race", "µs a launch", x, n, series, 4, true});
}

/* Charts predicted against measured times of a race's contenders. */
static void add_predictions(hd_strbuf *out, const json_t *race, const hd_race_figures *f) {
  double predicted[HD_MAX_CONTENDERS], measured[HD_MAX_CONTENDERS];
  int n = 0;
  for (int i = 0; i < f->n; i++) {
    const json_t *c = json_array_get(json_object_get(race, "contenders"), (size_t)i);
    predicted[n] = hd_num_of(c, "predicted_us");
    measured[n] = f->list[i].median;
    n += predicted[n] > 0;
  }
  hd_series series[] = {{"measured", measured, false}, {"as predicted", predicted, true}};
  hd_html_chart(out, &(hd_chart){"The newest race: predicted against measured", "predicted, µs",
                                 "measured, µs", predicted, n, series, 2, false});
}

static void add_contenders(hd_strbuf *out, const json_t *race, const hd_race_figures *f) {
  hd_strbuf_add(out, "<h2>The newest race, ");
  hd_html_text(out, hd_text_of(race, "mode", ""));
  hd_strbuf_add(out,
                "</h2>\n<table><thead><tr><th class=\"r\">µs</th><th>role</th><th class=\"r\">p "
                "of the sign test against the default</th><th>schedule</th></tr></thead><tbody>\n");
  for (int i = 0; i < f->n; i++) {
    const hd_contender_figures *one = &f->list[i];
    hd_strbuf_printf(out, "<tr><td class=\"r n\">%.2f</td><td>%s</td><td class=\"r n\">",
                     one->median, one->role);
    if (i != f->first)
      hd_strbuf_printf(out, "%.3g",
                       hd_sign_test(one->round, f->list[f->first].round, one->n_rounds));
    hd_strbuf_add(out, "</td><td>");
    hd_html_code(out, one->schedule);
    hd_strbuf_add(out, "</td></tr>\n");
  }
  hd_strbuf_add(out, "</tbody></table>\n");
}

static void add_newest_race(hd_strbuf *out, const hd_rows *races) {
  hd_race_figures f;
  json_t *race = json_loads(hd_cell_text(races, 0, 6), 0, NULL);
  hd_race_read(race, &f);
  add_predictions(out, race, &f);
  add_contenders(out, race, &f);
  json_decref(race);
}

void hd_route_page_product(hd_request *r) {
  static const hd_html_column race_columns[] = {
      {"lease", 0, hd_cell_as_number, true},  {"at (UTC)", 1, hd_cell_as_time, false},
      {"GPU", 2, hd_cell_as_code, false},      {"build", 3, hd_cell_as_hash, false},
      {"decision", 5, hd_cell_as_text, false}, {"suspect", 4, hd_cell_as_text, false}};
  const char *product = hd_text_of(r->query, "product", ""),
             *class = hd_text_of(r->query, "class", "");
  const char *policy = hd_text_of(r->query, "policy", "default");
  hd_rows versions, races;
  hd_strbuf out = {0};
  if (!HD_RUN(r, versions, &versions, "ttt", product, class, policy) ||
      !HD_RUN(r, races, &races, "ttt", product, class, policy))
    return;
  begin(&out, product, "/choices");
  hd_strbuf_add(&out, "<p>");
  hd_html_text(&out, class);
  hd_strbuf_printf(&out, ", policy %s</p>\n", policy);
  if (races.n) {
    add_races(&out, &races, &r->arena);
    add_newest_race(&out, &races);
  }
  hd_rows_table(&out, "Versions", &versions, choice_columns + 2, HD_COUNT(choice_columns) - 2,
                "No choice yet.");
  hd_rows_table(&out, "Races", &races, race_columns, HD_COUNT(race_columns), "No race yet.");
  answer(r, &out);
}

/* ---- drift and events ---- */

/* Charts one GPU's canaries, oldest first; rows of canaries_all. */
static void add_canaries(hd_strbuf *out, const hd_rows *rows, int begin, int n, hd_arena *arena) {
  double *x = HD_NEW_ARRAY(arena, double, 3 * n + 1), *read = x + n, *kernel = read + n;
  double sorted[2][1000], usual[2];
  int n_sorted = n < 1000 ? n : 1000;
  for (int i = 0; i < n_sorted; i++)
    for (int k = 0; k < 2; k++)
      sorted[k][i] = hd_cell_num(rows, begin + i, 3 + k);
  for (int k = 0; k < 2; k++)
    usual[k] = hd_median(sorted[k], n_sorted);
  for (int i = 0; i < n; i++) {
    int row = begin + n - 1 - i;
    x[i] = i + 1;
    read[i] = 100 * (hd_cell_num(rows, row, 3) / usual[0] - 1);
    kernel[i] = 100 * (hd_cell_num(rows, row, 4) / usual[1] - 1);
  }
  hd_series series[] = {{"read stream", read, true}, {"fixed kernel", kernel, true}};
  hd_html_chart(out, &(hd_chart){"Canaries", "lease, oldest first", "% over its own median", x, n,
                                 series, 2, true});
}

void hd_route_page_drift(hd_request *r) {
  hd_rows rows;
  hd_strbuf out = {0};
  if (!HD_RUN(r, canaries_all, &rows, ""))
    return;
  json_t *list = hd_drift_json(&rows), *gpu;
  size_t i;
  begin(&out, "Drift", "/drift");
  hd_strbuf_add(
      &out,
      "<p>Each lease begins and ends with a read stream and one fixed kernel. A GPU whose last ten "
      "leases are 3 % or more off its own median has drifted.</p>\n");
  if (!rows.n)
    hd_strbuf_add(&out, "<p class=\"none\">No lease has ended with canaries yet.</p>\n");
  int begin = 0;
  json_array_foreach(list, i, gpu) {
    int n = (int)hd_int_of(gpu, "leases", 0);
    hd_strbuf_add(&out, hd_int_of(gpu, "drifted", 0) ? "<h2 class=\"failed\">" : "<h2>");
    hd_html_text(&out, hd_cell_text(&rows, begin, 0));
    hd_strbuf_add(&out, ", ");
    hd_html_text(&out, hd_text_of(gpu, "class", ""));
    hd_strbuf_printf(&out, "%s</h2>\n", hd_int_of(gpu, "drifted", 0) ? ": drifted" : "");
    add_canaries(&out, &rows, begin, n, &r->arena);
    begin += n;
  }
  json_decref(list);
  answer(r, &out);
}

void hd_route_page_events(hd_request *r) {
  static const hd_html_column columns[] = {
      {"event", 0, hd_cell_as_number, true}, {"at (UTC)", 1, hd_cell_as_time, false},
      {"kind", 2, hd_cell_as_text, false},    {"who", 3, hd_cell_as_text, false},
      {"job", 4, hd_cell_as_number, true},   {"lease", 5, hd_cell_as_number, true},
      {"text", 6, hd_cell_as_text, false}};
  hd_rows rows;
  if (HD_RUN(r, events_last, &rows, "i", (int64_t)500))
    answer_table(r, "Events", "/events", &rows, columns, HD_COUNT(columns),
                 "Nothing has happened yet.");
}
