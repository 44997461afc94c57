#include "Tune/records.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Compile/build.h"
#include "Spec/spec.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "Tune/records_sql.h"
#include "heddle/version.h"

static const char *const verdict_names[] = {/* ORDER VERDICTS */
                                            "ok", "wrong", "refused", "failed", "crash", "hang"};

const char *hd_verdict_name(hd_verdict verdict) {
  return verdict_names[verdict];
}

bool hd_verdict_parse(const char *name, hd_verdict *verdict) {
  for (int i = 0; i < HD_N_VERDICTS; i++)
    if (strcmp(verdict_names[i], name) == 0) {
      *verdict = (hd_verdict)i;
      return true;
    }
  return false;
}

bool hd_verdict_is_loss(hd_verdict v) {
  return v == HD_VERDICT_FAILED || v == HD_VERDICT_CRASH || v == HD_VERDICT_HANG;
}

/* ---- open ---- */

static bool is_there(const char *path) {
  uint64_t stamp[2];
  hd_file_stamp(path, stamp);
  return stamp[0] || stamp[1];
}

heddle_status hd_records_open(heddle_context *ctx, const char *path, bool write,
                              hd_records **records) {
  hd_records *r = hd_try_zalloc(ctx, sizeof *r, "the records");
  if (!r)
    return HEDDLE_NO_MEMORY;
  uint64_t before = hd_memory_shortages();
  if (write && !is_there(path))
    r->later = hd_xstrdup(path);
  heddle_status status = hd_records_open_file(ctx, r, r->later ? ":memory:" : path, write);
  status = hd_memory_status(ctx, before, status);
  if (status != HEDDLE_OK) {
    hd_records_close(r);
    return status;
  }
  *records = r;
  return HEDDLE_OK;
}

/* Called before the first write: opens or creates the file. Another process may have created it. */
static heddle_status make_file(heddle_context *ctx, hd_records *r) {
  if (!r->later)
    return HEDDLE_OK;
  char *path = r->later;
  r->later = NULL;
  sqlite3_close(r->db);
  heddle_status status = hd_records_open_file(ctx, r, path, true);
  hd_free(path);
  return status;
}

void hd_records_close(hd_records *r) {
  if (!r)
    return;
  sqlite3_close(r->db);
  hd_free(r->later);
  hd_free(r);
}

/* ---- writing ---- */

static heddle_status refuse_others(heddle_context *ctx, hd_records *r, const char *device) {
  sqlite3_stmt *s;
  bool other;
  HD_TRY(hd_records_prepare(ctx, r, &s, "SELECT device FROM run WHERE device <> ? LIMIT 1", "t",
                            device));
  heddle_status status = hd_records_next(ctx, r, s, &other);
  if (other)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "records.device",
                      "the records hold measurements of %s, this is %s; legal: another --db",
                      hd_records_text(s, 0), device);
  sqlite3_finalize(s);
  return status;
}

heddle_status hd_records_begin(heddle_context *ctx, hd_records *r, const hd_provenance *p,
                               bool resumes) {
  char spec[33], sources[33], build[128];
  unsigned char id[16];
  sqlite3_stmt *s;
  HD_TRY(make_file(ctx, r));
  if (resumes)
    HD_TRY(refuse_others(ctx, r, p->device));
  hd_hash_format(hd_spec_hash(), spec);
  hd_build_sources(sources);
  snprintf(build, sizeof build, "%s %s %s", HEDDLE_VERSION, hd_build_commit(), sources);
  sqlite3_randomness(sizeof id, id);
  for (size_t i = 0; i < sizeof id; i++)
    snprintf(r->run + 2 * i, 3, "%02x", id[i]);
  HD_TRY(hd_records_prepare(ctx, r, &s, "INSERT INTO run VALUES(?,datetime('now'),?,?,?,?,?,?)",
                            "tttdtti", r->run, p->device, p->driver, p->power_limit_w, build, spec,
                            (int64_t)p->seed));
  return hd_records_finish(ctx, r, s, "begin a run");
}

heddle_status hd_records_add(heddle_context *ctx, hd_records *r, const hd_record *m) {
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(
      ctx, r, &s,
      "INSERT OR REPLACE INTO measurement VALUES(?,?,?,?,?,?,?,?,?,nullif(?,0),?,?,?,"
      "datetime('now'),nullif(?,0))",
      "tttittddddddid", r->run, m->product, m->schedule, (int64_t)m->final,
      verdict_names[m->verdict], m->why, m->median * 1e6, m->min * 1e6, m->max * 1e6,
      m->predicted * 1e6, m->error, m->power_w, (int64_t)m->sm_mhz, m->sustained * 1e6));
  return hd_records_finish(ctx, r, s, "add a measurement");
}

heddle_status hd_records_choose(heddle_context *ctx, hd_records *r, const hd_choice *c) {
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(ctx, r, &s,
                            "INSERT OR REPLACE INTO choice VALUES(?,?,?,?,?,?,?,?,datetime('now'),"
                            "nullif(?,0),nullif(?,0))",
                            "tttdtdiidd", r->run, c->product, c->schedule, c->seconds * 1e6,
                            c->default_schedule, c->default_seconds * 1e6, c->n_legal,
                            c->n_measured, c->sustained * 1e6, c->default_sustained * 1e6));
  return hd_records_finish(ctx, r, s, "add a choice");
}

/* ---- reading ---- */

/* The last choice of every product on every device, or only on device ?1. */
#define LATEST_CHOICES                                                                             \
  " (SELECT choice.*, device, driver, row_number() OVER (PARTITION BY product, device"             \
  " ORDER BY at DESC, choice.rowid DESC) AS age FROM choice LEFT JOIN run ON run.id = run"         \
  " WHERE ?1 IS NULL OR device = ?1) WHERE age = 1 ORDER BY product, device"

heddle_status hd_records_each(heddle_context *ctx, hd_records *r, const char *product,
                              hd_record_fn each, void *user) {
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(
      ctx, r, &s,
      "SELECT product, schedule, final, verdict, why, us, us_min, us_max, predicted_us,"
      " error, power_w, sm_mhz, sustained_us, (SELECT device FROM run WHERE id = run)"
      " FROM measurement WHERE ?1 IS NULL OR product = ?1"
      " ORDER BY product, final, at, rowid",
      "t", product));
  bool row;
  heddle_status status;
  while ((status = hd_records_next(ctx, r, s, &row)) == HEDDLE_OK && row) {
    hd_record m = {.product = hd_records_text(s, 0),
                   .schedule = hd_records_text(s, 1),
                   .final = sqlite3_column_int(s, 2) != 0,
                   .verdict = HD_VERDICT_FAILED,
                   .why = hd_records_text(s, 4),
                   .median = sqlite3_column_double(s, 5) * 1e-6,
                   .min = sqlite3_column_double(s, 6) * 1e-6,
                   .max = sqlite3_column_double(s, 7) * 1e-6,
                   .predicted = sqlite3_column_double(s, 8) * 1e-6,
                   .error = sqlite3_column_double(s, 9),
                   .power_w = sqlite3_column_double(s, 10),
                   .sm_mhz = sqlite3_column_int(s, 11),
                   .sustained = sqlite3_column_double(s, 12) * 1e-6,
                   .device = hd_records_text(s, 13)};
    hd_verdict_parse(hd_records_text(s, 3), &m.verdict);
    if (!each(user, &m))
      break;
  }
  sqlite3_finalize(s);
  return status;
}

heddle_status hd_records_each_choice(heddle_context *ctx, hd_records *r, hd_choice_fn each,
                                     void *user) {
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(
      ctx, r, &s,
      "SELECT product, schedule, default_schedule, ifnull(device, ''), us, default_us,"
      " n_legal, n_measured, sustained_us, default_sustained_us FROM" LATEST_CHOICES,
      "t", NULL));
  bool row;
  heddle_status status;
  while ((status = hd_records_next(ctx, r, s, &row)) == HEDDLE_OK && row) {
    hd_choice c = {.product = hd_records_text(s, 0),
                   .schedule = hd_records_text(s, 1),
                   .default_schedule = hd_records_text(s, 2),
                   .device = hd_records_text(s, 3),
                   .seconds = sqlite3_column_double(s, 4) * 1e-6,
                   .default_seconds = sqlite3_column_double(s, 5) * 1e-6,
                   .n_legal = sqlite3_column_int64(s, 6),
                   .n_measured = sqlite3_column_int64(s, 7),
                   .sustained = sqlite3_column_double(s, 8) * 1e-6,
                   .default_sustained = sqlite3_column_double(s, 9) * 1e-6};
    if (!each(user, &c))
      break;
  }
  sqlite3_finalize(s);
  return status;
}

heddle_status hd_records_chosen(heddle_context *ctx, hd_records *r, const char *product,
                                bool sustained, int64_t *n_measured) {
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(ctx, r, &s,
                            "SELECT ifnull(max(n_measured), 0) FROM choice WHERE product = ?"
                            " AND (sustained_us > 0 OR NOT ?)",
                            "ti", product, (int64_t)sustained));
  bool row;
  heddle_status status = hd_records_next(ctx, r, s, &row);
  if (row)
    *n_measured = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return status;
}

/* ---- merging ---- */

static heddle_status copy_other(heddle_context *ctx, hd_records *into,
                                const hd_records_lack *lack) {
  hd_strbuf copy = {0};
  hd_strbuf_printf(&copy,
                   "BEGIN;"
                   "INSERT OR IGNORE INTO main.run SELECT * FROM other.run;"
                   "INSERT OR IGNORE INTO main.measurement SELECT *%s FROM other.measurement;"
                   "INSERT OR IGNORE INTO main.choice SELECT *%s FROM other.choice;"
                   "COMMIT;",
                   lack->measurement, lack->choice);
  heddle_status status = hd_records_execute(ctx, into, hd_strbuf_text(&copy), "merge");
  if (status != HEDDLE_OK)
    sqlite3_exec(into->db, "ROLLBACK", NULL, NULL, NULL);
  hd_strbuf_free(&copy);
  return status;
}

heddle_status hd_records_merge(heddle_context *ctx, hd_records *into, const char *path,
                               int64_t *n_new) {
  hd_records *from;
  HD_TRY(hd_records_open(ctx, path, false, &from)); /* checks that it is a database of the tuner */
  const hd_records_lack *lack = &hd_records_lacks[from->version];
  hd_records_close(from);
  HD_TRY(make_file(ctx, into));
  sqlite3_stmt *s;
  HD_TRY(hd_records_prepare(ctx, into, &s, "ATTACH ? AS other", "t", path));
  HD_TRY(hd_records_finish(ctx, into, s, "attach the other database"));
  bool itself =
      strcmp(sqlite3_db_filename(into->db, "main"), sqlite3_db_filename(into->db, "other")) == 0;
  int64_t before = sqlite3_total_changes64(into->db);
  heddle_status status = itself ? HEDDLE_OK : copy_other(ctx, into, lack);
  if (status == HEDDLE_OK)
    *n_new = sqlite3_total_changes64(into->db) - before;
  sqlite3_exec(into->db, "DETACH other", NULL, NULL, NULL);
  return status;
}

/* ---- JSON ---- */

/* Rows as objects keyed by column name, one per line. NULL columns are omitted. */
static heddle_status export_rows(heddle_context *ctx, hd_records *r, const char *sql,
                                 const char *device, hd_strbuf *out) {
  sqlite3_stmt *s;
  uint64_t before = hd_memory_shortages();
  HD_TRY(hd_records_prepare(ctx, r, &s, sql, "t", device));
  bool more;
  heddle_status status;
  const char *comma = "";
  for (; (status = hd_records_next(ctx, r, s, &more)) == HEDDLE_OK && more; comma = ",") {
    json_t *row = json_object();
    for (int i = 0; i < sqlite3_column_count(s); i++) {
      int type = sqlite3_column_type(s, i);
      if (type == SQLITE_NULL)
        continue;
      json_object_set_new(row, sqlite3_column_name(s, i),
                          type == SQLITE_INTEGER ? json_integer(sqlite3_column_int64(s, i))
                          : type == SQLITE_FLOAT ? json_real(sqlite3_column_double(s, i))
                                                 : json_string(hd_records_text(s, i)));
    }
    char *text = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(7));
    json_decref(row);
    if (text)
      hd_strbuf_printf(out, "%s\n%s", comma, text);
    hd_free(text);
    status = hd_memory_status(ctx, before, HEDDLE_OK);
    if (status != HEDDLE_OK)
      break;
  }
  sqlite3_finalize(s);
  return status;
}

/* Refuses an unknown device name, whose export would be empty. */
static heddle_status check_device(heddle_context *ctx, hd_records *r, const char *device) {
  sqlite3_stmt *s;
  bool row;
  HD_TRY(hd_records_prepare(ctx, r, &s,
                            "SELECT max(device = ?), group_concat(device, ', ')"
                            " FROM (SELECT DISTINCT device FROM run ORDER BY device)",
                            "t", device));
  heddle_status status = hd_records_next(ctx, r, s, &row);
  if (row && !sqlite3_column_int(s, 0))
    status = hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = sqlite3_db_filename(r->db, "main")},
                      "records.no-device", "got device \"%.60s\"; legal: %s", device,
                      *hd_records_text(s, 1) ? hd_records_text(s, 1) : "none, it holds no runs");
  sqlite3_finalize(s);
  return status;
}

heddle_status hd_records_export(heddle_context *ctx, hd_records *r, bool choices_only,
                                const char *device, hd_strbuf *json) {
  static const char choices[] =
      "SELECT product, schedule, round(us, 3) us, round(default_us, 3) default_us,"
      " round(sustained_us, 3) sustained_us, round(default_sustained_us, 3) default_sustained_us,"
      " device, driver, date(at) date FROM" LATEST_CHOICES;
  static const char runs[] =
      "SELECT * FROM run WHERE ?1 IS NULL OR device = ?1 ORDER BY started, id";
  static const char measurements[] =
      "SELECT * FROM measurement WHERE ?1 IS NULL OR run IN (SELECT id FROM run WHERE device = ?1)"
      " ORDER BY product, at, rowid";
  uint64_t before = hd_memory_shortages();
  if (device)
    HD_TRY(check_device(ctx, r, device));
  hd_strbuf_add(json, "{\"version\": 1,\n\"choices\": [");
  HD_TRY(export_rows(ctx, r, choices, device, json));
  if (!choices_only) {
    hd_strbuf_add(json, "],\n\"runs\": [");
    HD_TRY(export_rows(ctx, r, runs, device, json));
    hd_strbuf_add(json, "],\n\"measurements\": [");
    HD_TRY(export_rows(ctx, r, measurements, device, json));
  }
  hd_strbuf_add(json, "]}\n");
  return hd_memory_status(ctx, before, HEDDLE_OK);
}
