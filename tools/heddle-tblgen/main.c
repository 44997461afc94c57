/* heddle-tblgen DUMP.json OUT.c: checks the records of specs/ and writes the tables of lib/Spec.
 * DUMP.json is what `llvm-tblgen -dump-json specs/heddle.td` prints. Exit code 2: a record is
 * wrong. */
#include <stdio.h>

#include "Support/file.h"
#include "checked_records.h"

static void check_all(dump *d) {
  json_t *fragments = dump_instances(d, "Fragment"), *rows = dump_instances(d, "Row");
  for (size_t i = 0; i < json_array_size(fragments); i++) {
    record r = dump_record(d, json_string_value(json_array_get(fragments, i)));
    fragment f;
    if (!record_is(&r, "NoFragment") && fragment_read(&r, &f))
      fragment_prove(&r, &f);
  }
  for (size_t i = 0; i < json_array_size(rows); i++) {
    record r = dump_record(d, json_string_value(json_array_get(rows, i)));
    row_check(&r);
  }
}

static int write_file(const char *path, const hd_strbuf *text) {
  heddle_context *ctx = heddle_context_create();
  heddle_status status = hd_file_write(ctx, path, text->text, text->len);
  if (status != HEDDLE_OK)
    fprintf(stderr, "%s: error: cannot write\n", path);
  heddle_context_free(ctx);
  return heddle_status_exit_code(status);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: heddle-tblgen DUMP.json OUT.c\n");
    return 2;
  }
  json_error_t error;
  dump d = {.root = json_load_file(argv[1], 0, &error)};
  if (!d.root) {
    fprintf(stderr, "%s:%d: error: %s\n", argv[1], error.line, error.text);
    return 2;
  }
  hd_strbuf text = {0};
  check_all(&d);
  int exit_code = 2;
  if (d.n_errors == 0) {
    tables_write(&d, &text);
    exit_code = d.n_errors ? 2 : write_file(argv[2], &text);
  }
  hd_strbuf_free(&text);
  json_decref(d.root);
  return exit_code;
}
