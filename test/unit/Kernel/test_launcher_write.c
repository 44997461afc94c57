/* The inputs of a launcher, and the refused ones. heddle/launcher.h writes the same files as
 * `heddle gen`. Nothing is compiled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "Kernel/launcher_c.h"
#include "heddle/launcher.h"
#include "sample_manifest.h"

static const heddle_image both = {"\x7f" "ELF", 4, ".version 8.6\n", 13};

static heddle_launcher_part public_part(hd_manifest *manifest, char **json) {
  hd_manifest_name_code(manifest, &both);
  assert_int_equal(hd_manifest_write(NULL, manifest, json), HEDDLE_OK);
  return (heddle_launcher_part){*json, strlen(*json), both};
}

typedef heddle_status write_fn(heddle_context *ctx, const heddle_launcher_part *parts,
                               size_t n_parts, heddle_launcher **launcher);

/* heddle/launcher.h writes the same files as `heddle gen`. */
static void the_public_launcher_is_the_same(void **state) {
  (void)state;
  hd_manifest m[2] = {sample_manifest(), sample_manifest()};
  m[1].target = "sm_80";
  char *json[2];
  heddle_launcher_part part[2] = {public_part(&m[0], &json[0]), public_part(&m[1], &json[1])};
  for (int32_t i = 0; i < 4; i++) {
    bool compress = i / 2;
    int32_t n = 1 + i % 2;
    write_fn *write = compress ? heddle_launcher_write_zstd : heddle_launcher_write;
    const hd_launcher_part own[2] = {{&m[0], both}, {&m[1], both}};
    hd_launcher_files files;
    heddle_launcher *l;
    size_t n_bytes;
    assert_int_equal(hd_launcher_write(NULL, own, n, compress, &files), HEDDLE_OK);
    assert_int_equal(write(NULL, part, (size_t)n, &l), HEDDLE_OK);
    assert_string_equal(heddle_launcher_name(l), m[0].name);
    assert_string_equal(heddle_launcher_header(l), files.header);
    assert_string_equal(heddle_launcher_source(l), files.source);
    const void *binary = heddle_launcher_binary(l, &n_bytes);
    assert_int_equal(n_bytes, files.binary.n_bytes);
    assert_memory_equal(binary, files.binary.data, n_bytes);
    assert_true((strcmp(heddle_launcher_manifest(l), json[0]) == 0) == (n == 1));
    hd_launcher_files_free(&files);
    heddle_launcher_free(l);
  }
  heddle_context *ctx = heddle_context_create();
  heddle_launcher *l = NULL;
  part[1] = part[0];
  assert_int_equal(heddle_launcher_write(ctx, part, 2, &l), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "launcher.target");
  heddle_context_clear(ctx);
  assert_int_equal(heddle_launcher_write(ctx, part, 0, &l), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "launcher.parts");
  heddle_context_clear(ctx);
  part[0].image.ptx_bytes--;
  assert_int_equal(heddle_launcher_write(ctx, part, 1, &l), HEDDLE_INVALID);
  assert_null(l);
  heddle_launcher_free(l);
  heddle_context_free(ctx);
  hd_free(json[0]);
  hd_free(json[1]);
}

/* Compressed or not. */
static void same_input_same_bytes(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  const hd_launcher_part part = {&m, both};
  hd_launcher_files f[2];
  hd_manifest_name_code(&m, &both);
  for (int compress = 0; compress < 2; compress++) {
    for (int i = 0; i < 2; i++)
      assert_int_equal(hd_launcher_write(NULL, &part, 1, compress, &f[i]), HEDDLE_OK);
    assert_string_equal(f[0].header, f[1].header);
    assert_string_equal(f[0].source, f[1].source);
    assert_true((strstr(f[0].source, "zstd.h") != NULL) == compress);
    assert_int_equal(f[0].binary.n_bytes, f[1].binary.n_bytes);
    assert_memory_equal(f[0].binary.data, f[1].binary.data, f[0].binary.n_bytes);
    hd_launcher_files_free(&f[0]);
    hd_launcher_files_free(&f[1]);
  }
}

/* Parts of another problem, or too many parts: nothing is written (launcher.parts). */
static void parts_are_of_one_problem(void **state) {
  (void)state;
  hd_manifest m[2] = {sample_manifest(), sample_manifest()};
  hd_launcher_part parts[HD_MAX_PARTS + 1];
  hd_launcher_files f;
  m[1].arg[3].align = 256;
  for (int i = 0; i <= HD_MAX_PARTS; i++)
    parts[i] = (hd_launcher_part){&m[i == 1], both};
  for (int i = 0; i < 2; i++)
    hd_manifest_name_code(&m[i], &both);
  assert_int_equal(hd_launcher_write(NULL, parts, 2, false, &f), HEDDLE_INVALID);
  assert_int_equal(hd_launcher_write(NULL, parts, HD_MAX_PARTS + 1, false, &f),
                   HEDDLE_INVALID);
}

static void bad_names_and_no_code_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"or", "int", "main", "hd_values", "heddle_x", "_x", "a*/b"};
  hd_launcher_files f = {0};
  hd_manifest m = sample_manifest();
  hd_launcher_part part = {&m, both};
  for (size_t i = 0; i < HD_COUNT(names); i++) {
    m.name = names[i];
    assert_int_equal(hd_launcher_write(NULL, &part, 1, false, &f), HEDDLE_INVALID);
  }
  m = sample_manifest();
  m.act = "*/";
  assert_int_equal(hd_launcher_write(NULL, &part, 1, false, &f), HEDDLE_INVALID);
  m = sample_manifest();
  heddle_context *ctx = heddle_context_create();
  part.code = (heddle_image){0};
  assert_int_equal(hd_launcher_write(ctx, &part, 1, false, &f), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "launcher.code");
  heddle_context_clear(ctx);
  part.code = both;
  assert_int_equal(hd_launcher_write(ctx, &part, 1, false, &f), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "manifest.code");
  heddle_context_free(ctx);
  assert_null(f.header);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_public_launcher_is_the_same),
      cmocka_unit_test(same_input_same_bytes),
      cmocka_unit_test(parts_are_of_one_problem),
      cmocka_unit_test(bad_names_and_no_code_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
