/* The generated C launcher compiles as C and C++, and loads what the device and its driver take. */
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
#include "open_launcher.h"
#include "sample_manifest.h"

static int setup(void **state) {
  hd_manifest m = sample_manifest();
  *state = open_launcher(&m, &both);
  return 0;
}

static int teardown(void **state) { return dlclose(*state); }

static void loading_tries_cubin_then_ptx(void **state) {
  load_fn sample_load = (load_fn)find(*state, "sample_load");
  load(*state, 66);
  assert_int_equal(seen.n_loads, 1);
  assert_memory_equal(seen.image[0], "\x7f" "ELF", 4);
  assert_int_equal(seen.set_attribute[0], 8);
  assert_int_equal(seen.set_value[0], 200 * 1024);
  memset(&seen, 0, sizeof seen);
  seen.resident = 1;
  seen.image_code[0] = 209;
  assert_int_equal(sample_load(&fake_table, kernel), 0);
  assert_string_equal(seen.image[1], ".version 8.6\n");
  memset(&seen, 0, sizeof seen);
  seen.image_code[0] = 209;
  seen.image_code[1] = 218;
  assert_int_equal(sample_load(&fake_table, kernel), 218);
  assert_int_equal(seen.n_unloads, 0);
}

static void nothing_resident_is_an_error_that_unloads(void **state) {
  load_fn sample_load = (load_fn)find(*state, "sample_load");
  error_fn sample_error = (error_fn)find(*state, "sample_error");
  memset(&seen, 0, sizeof seen);
  int code = sample_load(&fake_table, kernel);
  assert_string_equal(sample_error(code), "no CTA of this kernel fits the device");
  assert_int_equal(seen.n_unloads, 1);
  assert_string_equal(sample_error(0), "done");
  assert_string_equal(sample_error(-99), "unknown code");
}

static void the_launcher_is_cpp_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  char *dir = NULL, header[512];
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_launcher(&m, &both, dir);
  snprintf(header, sizeof header, "%s/sample.h", dir);
  compiles((const char *[]){"c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            "-x", "c++", header, NULL});
  snprintf(header, sizeof header, "%s/sample.c", dir);
  compiles((const char *[]){"c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            "-x", "c++", header, NULL});
  hd_file_remove(NULL, dir);
  free(dir);
}

/* The header of one run of gen and the source of another do not compile together. */
static void the_header_is_the_sources_own(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_image other = both;
  char *dir = NULL, path[512];
  hd_launcher_files f;
  const hd_launcher_part part = {&m, {"\x7f" "ELF", 4, ".version 8.7\n", 13}};
  hd_strbuf output = {0};
  int code = 0;
  other.ptx = ".version 8.7\n";
  assert_int_equal(hd_file_tempdir(NULL, NULL, &dir), HEDDLE_OK);
  write_launcher(&m, &both, dir);
  hd_manifest_name_code(&m, &other);
  assert_int_equal(hd_launcher_write(NULL, &part, 1, false, &f), HEDDLE_OK);
  write_file(dir, "sample", "c", f.source, strlen(f.source));
  snprintf(path, sizeof path, "%s/sample.c", dir);
  const char *argv[] = {"cc", "-std=c11", "-fsyntax-only", path, NULL};
  assert_int_equal(hd_process_run(NULL, argv, 60, &output, &code), HEDDLE_OK);
  assert_int_not_equal(code, 0);
  assert_non_null(strstr(hd_strbuf_text(&output), "sample.h is that of another kernel"));
  hd_strbuf_free(&output);
  hd_launcher_files_free(&f);
  hd_file_remove(NULL, dir);
  free(dir);
}

/* Code for sm_80 and sm_90a: the device's capability selects it. If the driver rejects the best
 * image, the next one is loaded. */
static void the_device_picks_its_target(void **state) {
  (void)state;
  static const struct {
    int capability, answers[2], code;
    const char *target, *images[2];
  } cases[] = {{90, {0}, 0, "sm_90a", {"\x7f" "ELF"}},
               {80, {0}, 0, "sm_80", {".version 7.1"}},
               {86, {0}, 0, "sm_80", {".version 7.1"}},
               {100, {0}, 0, "sm_80", {".version 7.1"}},
               {90, {200, 0}, 0, "sm_90a", {"\x7f" "ELF", ".version 8.6"}},
               {75, {0}, 209, NULL, {NULL}}};
  hd_manifest m[2] = {sample_manifest(), sample_manifest()};
  const hd_launcher_part parts[] = {{&m[0], {NULL, 0, ".version 7.1\n", 13}}, {&m[1], both}};
  m[0].target = "sm_80";
  m[0].family = "mma";
  for (int i = 0; i < 2; i++)
    hd_manifest_name_code(&m[i], &parts[i].code);
  void *library = open_parts(parts, 2, PLAIN);
  typedef const char *(*target_fn)(const void *kernel);
  target_fn target = (target_fn)find(library, "sample_target");
  load_fn load_it = (load_fn)find(library, "sample_load");
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    memset(&seen, 0, sizeof seen);
    seen.resident = 4;
    seen_capability = cases[i].capability;
    memcpy(seen.image_code, cases[i].answers, sizeof seen.image_code);
    assert_int_equal(load_it(&fake_table, kernel), cases[i].code);
    for (int j = 0; j < 2 && cases[i].images[j]; j++)
      assert_memory_equal(seen.image[j], cases[i].images[j], strlen(cases[i].images[j]));
    if (cases[i].target)
      assert_string_equal(target(kernel), cases[i].target);
  }
  seen_capability = 90;
  dlclose(library);
}

/* The driver gets the same code from a compressed launcher, and none that is damaged. */
static void compressed_code_is_the_same(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  const hd_launcher_part part = {&m, both};
  hd_manifest_name_code(&m, &both);
  void *library = open_parts(&part, 1, COMPRESSED);
  load_fn sample_load = (load_fn)find(library, "sample_load");
  memset(&seen, 0, sizeof seen);
  seen.resident = 66;
  seen.image_code[0] = 209;
  assert_int_equal(sample_load(&fake_table, kernel), 0);
  assert_int_equal(seen.n_loads, 2);
  assert_memory_equal(seen.image[0], both.cubin, both.cubin_bytes);
  assert_string_equal(seen.image[1], both.ptx);
  dlclose(library);
  library = open_parts(&part, 1, DAMAGED);
  error_fn sample_error = (error_fn)find(library, "sample_error");
  memset(&seen, 0, sizeof seen);
  int code = ((load_fn)find(library, "sample_load"))(&fake_table, kernel);
  assert_non_null(strstr(sample_error(code), "is not that of the C file"));
  assert_int_equal(seen.n_loads, 0);
  dlclose(library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading_tries_cubin_then_ptx),
      cmocka_unit_test(nothing_resident_is_an_error_that_unloads),
      cmocka_unit_test(the_launcher_is_cpp_too),
      cmocka_unit_test(the_header_is_the_sources_own),
      cmocka_unit_test(the_device_picks_its_target),
      cmocka_unit_test(compressed_code_is_the_same),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
