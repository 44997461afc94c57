/* The tuner's records: what is written is read back, and a damaged file is told of, never taken for
 * an empty one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
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

/* All but its first page, which says what tables there are. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(a_reader_stops_when_it_likes),
      cmocka_unit_test(another_device_is_refused),
      cmocka_unit_test(a_damaged_file_is_told_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
