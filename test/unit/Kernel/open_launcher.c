#include "open_launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Support/file.h"

const heddle_image both = {"\x7f" "ELF", 4, ".version 8.6\n", 13};

void write_file(const char *dir, const char *name, const char *ending, const void *data,
                size_t n_bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending);
  assert_int_equal(hd_file_write(NULL, path, data, n_bytes), HEDDLE_OK);
}

/* Writes NAME.h, NAME.c and NAME.c.bin into a folder. */
static void write_parts(const hd_launcher_part *parts, int32_t n, contents as, const char *dir) {
  hd_launcher_files f;
  const char *name = parts[0].manifest->name;
  assert_int_equal(hd_launcher_write(NULL, parts, n, as != PLAIN, &f), HEDDLE_OK);
  if (as == DAMAGED)
    f.binary.data[f.binary.image[0].offset + f.binary.image[0].n_bytes - 6] ^= 1;
  write_file(dir, name, "h", f.header, strlen(f.header));
  write_file(dir, name, "c", f.source, strlen(f.source));
  write_file(dir, name, "c.bin", f.binary.data, f.binary.n_bytes);
  hd_launcher_files_free(&f);
}

void write_launcher(const hd_manifest *of, const heddle_image *code, const char *dir) {
  hd_manifest manifest = *of;
  const hd_launcher_part part = {&manifest, *code};
  hd_manifest_name_code(&manifest, code);
  write_parts(&part, 1, PLAIN, dir);
}

void compiles(const char *const *argv) {
  hd_strbuf output = {0};
  int code = -1;
  assert_int_equal(hd_process_run(NULL, argv, 60, &output, &code), HEDDLE_OK);
  if (code != 0)
    fail_msg("%s", hd_strbuf_text(&output));
  hd_strbuf_free(&output);
}

void *open_parts(const hd_launcher_part *parts, int32_t n, contents as) {
  char *dir = NULL, source[512], object[512];
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_parts(parts, n, as, dir);
  snprintf(source, sizeof source, "%s/%s.c", dir, parts[0].manifest->name);
  snprintf(object, sizeof object, "%s/launcher.so", dir);
  compiles((const char *[]){"cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared",
                            "-fPIC", "-o", object, source, as == PLAIN ? NULL : "-lzstd", NULL});
  void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  hd_file_remove(NULL, dir);
  free(dir);
  return library;
}

void *open_launcher(const hd_manifest *of, const heddle_image *code) {
  hd_manifest manifest = *of;
  const hd_launcher_part part = {&manifest, *code};
  hd_manifest_name_code(&manifest, code);
  return open_parts(&part, 1, PLAIN);
}

_Alignas(16) char kernel[1024];

void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  return symbol;
}

void load(void *library, int resident) {
  memset(&seen, 0, sizeof seen);
  seen.resident = resident;
  load_fn sample_load = (load_fn)find(library, "sample_load");
  assert_int_equal(sample_load(&fake_table, kernel), 0);
}
