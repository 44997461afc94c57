/* A folder for one test: "folder" is created before the test and removed after it. Include after
 * cmocka.h. */
#ifndef OWN_FOLDER_H
#define OWN_FOLDER_H

#include <stdlib.h>
#include <unistd.h>

#include "Support/file.h"
#include "Support/strbuf.h"

static char *folder; /* of the current test */

static int make_folder(void **state) {
  (void)state;
  return hd_file_tempdir(NULL, NULL, &folder) == HEDDLE_OK ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  int failed = hd_file_remove(NULL, folder) != HEDDLE_OK || access(folder, F_OK) == 0;
  free(folder);
  return failed ? -1 : 0;
}

static char *in_folder(const char *name) {
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%s/%s", folder, name);
  return hd_strbuf_take(&path);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

#endif
