/* The tuner's records: what was written is read back. A damaged file is reported and never treated
 * as empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "Support/strbuf.h"
#include "Tune/records.h"

static const hd_provenance here = {.device = "a device", .driver = "1.2", .seed = 1};
static const char product[] = "sm_90a a=bf16 …";

typedef struct database {
  char *folder, path[256];
  hd_records *records;
} database;

static void start(database *d) {
  assert_int_equal(hd_file_tempdir(NULL, NULL, &d->folder), HEDDLE_OK);
  snprintf(d->path, sizeof d->path, "%s/tune.db", d->folder);
  assert_int_equal(hd_records_open(NULL, d->path, true, &d->records), HEDDLE_OK);
}

static void stop(database *d) {
  hd_records_close(d->records);
  hd_file_remove(NULL, d->folder);
  free(d->folder);
}

static void fill(database *d, int n) {
  for (int i = 0; i < n; i++) {
    char schedule[64];
    snprintf(schedule, sizeof schedule, "tile=%d", i);
    const hd_record r = {.product = product, .schedule = schedule, .median = 1e-6 * (i + 1)};
    assert_int_equal(hd_records_begin(NULL, d->records, &here, false), HEDDLE_OK);
    assert_int_equal(hd_records_add(NULL, d->records, &r), HEDDLE_OK);
    const hd_choice c = {.product = product, .schedule = schedule, .default_schedule = "",
                         .device = "", .seconds = r.median, .n_measured = i};
    assert_int_equal(hd_records_choose(NULL, d->records, &c), HEDDLE_OK);
  }
}

static bool count_records(void *user, const hd_record *r) {
  int *n = user;
  assert_string_equal(r->device, here.device);
  assert_true(r->verdict == HD_VERDICT_OK && r->median > 0);
  return ++*n < 20;
}

static bool keep_choice(void *user, const hd_choice *c) {
  snprintf(user, 64, "%s", c->schedule);
  return true;
}

static void what_is_written_is_read(void **state) {
  (void)state;
  database d;
  int n = 0;
  int64_t n_measured = -1;
  char schedule[64] = "";
  start(&d);
  fill(&d, 3);
  assert_int_equal(hd_records_each(NULL, d.records, product, count_records, &n), HEDDLE_OK);
  assert_int_equal(n, 3);
  assert_int_equal(hd_records_each_choice(NULL, d.records, keep_choice, schedule), HEDDLE_OK);
  assert_string_equal(schedule, "tile=2");
  assert_int_equal(hd_records_chosen(NULL, d.records, product, false, &n_measured), HEDDLE_OK);
  assert_int_equal(n_measured, 2);
  stop(&d);
}

static void a_reader_stops_when_it_likes(void **state) {
  (void)state;
  database d;
  int n = 0;
  start(&d);
  fill(&d, 30);
  assert_int_equal(hd_records_each(NULL, d.records, NULL, count_records, &n), HEDDLE_OK);
  assert_int_equal(n, 20);
  stop(&d);
}

static void another_device_is_refused(void **state) {
  (void)state;
  database d;
  hd_provenance other = here;
  strcpy(other.device, "another");
  start(&d);
  fill(&d, 1);
  assert_int_equal(hd_records_begin(NULL, d.records, &other, true), HEDDLE_INVALID);
  assert_int_equal(hd_records_begin(NULL, d.records, &here, true), HEDDLE_OK);
  stop(&d);
}

/* Damages all pages but the first one, which lists the tables. */
static void damage(database *d) {
  enum { PAGE = 4096 };
  char *data;
  size_t n_bytes;
  hd_records_close(d->records);
  assert_int_equal(hd_file_read(NULL, d->path, &data, &n_bytes), HEDDLE_OK);
  assert_true(n_bytes > 2 * PAGE);
  memset(data + PAGE, 0xa5, n_bytes - PAGE);
  assert_int_equal(hd_file_write(NULL, d->path, data, n_bytes), HEDDLE_OK);
  free(data);
  assert_int_equal(hd_records_open(NULL, d->path, true, &d->records), HEDDLE_OK);
}

static void a_damaged_file_is_told_of(void **state) {
  (void)state;
  database d;
  int n = 0;
  int64_t n_measured = -1;
  char schedule[64] = "";
  hd_strbuf json = {0};
  start(&d);
  fill(&d, 3);
  damage(&d);
  assert_int_equal(hd_records_begin(NULL, d.records, &here, true), HEDDLE_INVALID);
  assert_int_equal(hd_records_chosen(NULL, d.records, product, false, &n_measured), HEDDLE_INVALID);
  assert_int_equal(n_measured, -1);
  assert_int_equal(hd_records_each(NULL, d.records, NULL, count_records, &n), HEDDLE_INVALID);
  assert_int_equal(hd_records_each_choice(NULL, d.records, keep_choice, schedule), HEDDLE_INVALID);
  assert_int_equal(hd_records_export(NULL, d.records, true, NULL, &json), HEDDLE_INVALID);
  hd_strbuf_free(&json);
  stop(&d);
}

/* ---- foreign files ---- */

static void make_with(database *d, const char *sql) {
  sqlite3 *db;
  assert_int_equal(hd_file_tempdir(NULL, NULL, &d->folder), HEDDLE_OK);
  snprintf(d->path, sizeof d->path, "%s/tune.db", d->folder);
  assert_int_equal(sqlite3_open(d->path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s", sqlite3_errmsg(db));
  sqlite3_close(db);
  d->records = NULL;
}

#define ENDLESS                                                                                    \
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'r' run, 'p' product,"   \
  " 's' schedule, i final, 'ok' verdict, '' why, 1.0 us FROM n"
#define OURS "PRAGMA application_id = 1212435538; PRAGMA user_version = 3;"
#define TABLES                                                                                     \
  "CREATE TABLE run(id TEXT, started TEXT, device TEXT, driver TEXT, power_limit_w REAL,"          \
  " heddle TEXT, spec TEXT, seed INTEGER);"                                                        \
  "CREATE TABLE choice(run TEXT, product TEXT, schedule TEXT, us REAL, default_schedule TEXT,"     \
  " default_us REAL, n_legal INTEGER, n_measured INTEGER, at TEXT, sustained_us REAL,"             \
  " default_sustained_us REAL, PRIMARY KEY(product, run));"
#define MEASUREMENT                                                                                \
  "CREATE TABLE measurement(run TEXT, product TEXT, schedule TEXT, final INTEGER, verdict TEXT,"   \
  " why TEXT, us REAL, us_min REAL, us_max REAL, predicted_us REAL, error REAL, power_w REAL,"     \
  " sm_mhz INTEGER, at TEXT, sustained_us REAL, PRIMARY KEY(product, schedule, run, final));"

/* None can be opened for reading or writing. Each is refused within a second. */
static void strange_files_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *sql, *rule;
  } files[] = {
      {"CREATE TABLE bookmark(url TEXT); PRAGMA user_version = 2", "records.foreign"},
      {"PRAGMA application_id = 7; PRAGMA user_version = 2", "records.foreign"},
      {"PRAGMA application_id = 7; PRAGMA user_version = 3", "records.foreign"},
      {"PRAGMA user_version = 3; CREATE TABLE run(id)", "records.foreign"},
      {"PRAGMA user_version = 77", "records.version"},
      {"CREATE VIEW measurement AS " ENDLESS ";" OURS, "records.foreign"},
      {"CREATE VIEW choice AS SELECT 1; PRAGMA user_version = 1", "records.foreign"},
      {TABLES MEASUREMENT "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END;" OURS,
       "records.foreign"},
      {TABLES "CREATE TABLE measurement(run TEXT, us AS (length(hex(zeroblob(9999999)))));" OURS,
       "records.foreign"},
      {TABLES MEASUREMENT "CREATE TABLE more(x);" OURS, "records.foreign"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (int write = 0; write < 2; write++) {
      database d;
      heddle_context *ctx = heddle_context_create();
      make_with(&d, files[i].sql);
      double start_s = hd_clock_seconds();
      heddle_status status = hd_records_open(ctx, d.path, write, &d.records);
      assert_true(status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED);
      assert_true(hd_clock_seconds() - start_s < 1);
      assert_string_equal(heddle_context_get(ctx, 0)->rule, files[i].rule);
      heddle_context_free(ctx);
      stop(&d);
    }
}

/* A table with very many rows: the statement that copies them is interrupted at a time limit. The
 * tables are Heddle's own. */
static void an_endless_statement_is_ended(void **state) {
  (void)state;
  database d;
  hd_strbuf sql = {0};
  hd_strbuf_add(&sql, TABLES MEASUREMENT OURS "PRAGMA user_version = 1;");
  hd_strbuf_add(&sql, "PRAGMA application_id = 0;"
                      "WITH RECURSIVE n(i) AS"
                      " (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000)"
                      "INSERT INTO choice(run, product) SELECT i, i FROM n;");
  make_with(&d, hd_strbuf_text(&sql));
  heddle_context *ctx = heddle_context_create();
  double start_s = hd_clock_seconds();
  heddle_status status = hd_records_open(ctx, d.path, false, &d.records);
  if (status != HEDDLE_OK) { /* a fast machine finishes in time */
    assert_string_equal(heddle_context_get(ctx, 0)->rule, "records.endless");
    assert_true(hd_clock_seconds() - start_s < 2);
  }
  hd_strbuf_free(&sql);
  heddle_context_free(ctx);
  stop(&d);
}

/* A file of version 2 is read unchanged and becomes version 3 when it is written. Rows with a
 * missing value are not copied. */
static void an_older_file_is_taken_over(void **state) {
  (void)state;
  database d;
  int n = 0;
  make_with(&d, TABLES MEASUREMENT
            "PRAGMA user_version = 2;"
            "INSERT INTO run VALUES('r','now','a device','1',1.0,'h','s',1);"
            "INSERT INTO measurement VALUES('r','p','s1',0,'ok','',1,1,1,1,0,0,1,'now',NULL);"
            "INSERT INTO measurement VALUES('r','p','s2',0,NULL,'',1,1,1,1,0,0,1,'now',NULL);");
  assert_int_equal(hd_records_open(NULL, d.path, false, &d.records), HEDDLE_OK);
  hd_records_close(d.records);
  assert_int_equal(hd_records_open(NULL, d.path, true, &d.records), HEDDLE_OK);
  hd_records_close(d.records);
  assert_int_equal(hd_records_open(NULL, d.path, true, &d.records), HEDDLE_OK);
  assert_int_equal(hd_records_each(NULL, d.records, "p", count_records, &n), HEDDLE_OK);
  assert_int_equal(n, 1);
  stop(&d);
}

/* Incomplete records are not stored. */
static void a_row_without_a_device_is_refused(void **state) {
  (void)state;
  database d;
  start(&d);
  const hd_provenance nobody = {.device = "", .driver = "1.2"};
  assert_int_equal(hd_records_begin(NULL, d.records, &nobody, false), HEDDLE_ENVIRONMENT);
  assert_int_equal(hd_records_begin(NULL, d.records, &here, false), HEDDLE_OK);
  const hd_record r = {.product = NULL, .schedule = "s"};
  assert_int_equal(hd_records_add(NULL, d.records, &r), HEDDLE_ENVIRONMENT);
  stop(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(a_reader_stops_when_it_likes),
      cmocka_unit_test(another_device_is_refused),
      cmocka_unit_test(a_damaged_file_is_told_of),
      cmocka_unit_test(strange_files_are_refused),
      cmocka_unit_test(an_endless_statement_is_ended),
      cmocka_unit_test(an_older_file_is_taken_over),
      cmocka_unit_test(a_row_without_a_device_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
