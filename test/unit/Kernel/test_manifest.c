/* Manifest JSON: the round trip loses nothing and reproduces every byte. The reader is strict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "Support/strbuf.h"
#include "heddle/manifest.h"
#include "sample_manifest.h"

static char *written(const hd_manifest *m) {
  char *json = NULL;
  assert_int_equal(hd_manifest_write(NULL, m, &json), HEDDLE_OK);
  return json;
}

/* Parts with a neutral value may be left out. Other texts are not expressions. */
static void expressions_are_read_as_they_are_printed(void **state) {
  static const hd_expr some[] = {{0},
                                 {HD_ARG_K, 1, 0, 1},
                                 {HD_ARG_NONE, 64, 0, 1},
                                 {HD_ARG_STRIDE_SCALE_B, 2, 3, 4},
                                 {HD_ARG_LDD, -2, INT64_C(1) << 35, 1},
                                 {HD_ARG_NONE, 0, 1 << 30, 1}};
  static const char *const texts[] = {"", "k", "64", "stride_scale_b*2+3/4", "ldd*-2+34359738368",
                                      "0+1073741824"};
  static const char *const wrong[] = {"q", "none", "k*", "k/2*3", "2k", "k ", "*2", "5/0", "k/0",
                                      "k*1234567890123456", "k*-", "k*--2"};
  (void)state;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    hd_strbuf out = {0};
    hd_expr back = {HD_ARG_A, 9, 9, 9};
    hd_expr_print(&some[i], &out);
    assert_string_equal(hd_strbuf_text(&out), texts[i]);
    assert_int_equal(hd_expr_parse(texts[i], &back), HEDDLE_OK);
    assert_int_equal(back.arg, some[i].arg);
    assert_int_equal(back.add, some[i].add);
    assert_int_equal(back.div, some[i].div);
    if (back.div)
      assert_int_equal(back.mul, some[i].mul);
    hd_strbuf_free(&out);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    hd_expr back = {HD_ARG_A, 9, 9, 9};
    assert_int_equal(hd_expr_parse(wrong[i], &back), HEDDLE_INVALID);
    assert_int_equal(back.mul, 9);
  }
}

static void round_trip_keeps_every_byte(void **state) {
  (void)state;
  hd_manifest m = sample_manifest(), back;
  hd_arena arena = {0};
  char *json = written(&m);
  assert_int_equal(hd_manifest_read(NULL, json, strlen(json), &arena, &back), HEDDLE_OK);
  char *again = written(&back);
  assert_string_equal(json, again);
  assert_int_equal(back.variant[0].tmap[0].stride[1].mul, 2);
  assert_int_equal(back.variant[1].workspace_bytes_per_tile.add, 4);
  assert_int_equal(back.variant[0].tmap[0].swizzle, HD_SWIZZLE_128);
  assert_true(back.variant[0].persistent);
  assert_int_equal(back.arg[5].max, 100000);
  assert_string_equal(back.user_function, "my_act");
  free(json);
  free(again);
  hd_arena_free(&arena);
}

/* Compares every field: a field missing in both writer and reader would be lost unnoticed. */
static void compare_fields(hd_manifest m) {
  hd_manifest back;
  hd_arena arena = {0};
  m.b_mn_major = m.d_col_major = m.c_col_major = m.bias_along_n = true;
  char *json = written(&m);
  assert_int_equal(hd_manifest_read(NULL, json, strlen(json), &arena, &back), HEDDLE_OK);
#define SAME(member) assert_int_equal(m.member, back.member)
#define SAME_EXPR(member) SAME(member.arg), SAME(member.mul), SAME(member.add), SAME(member.div)
  SAME(ptx_version), SAME(a_elem), SAME(b_elem), SAME(c_elem), SAME(d_elem), SAME(acc_elem);
  SAME(bias_elem), SAME(b_mn_major), SAME(d_col_major), SAME(c_col_major), SAME(bias_along_n);
  SAME(slots), SAME(scale_block), SAME(scale_tiles), SAME(scale_rows);
  SAME(n_args), SAME(n_variants);
  for (int i = 0; i < m.n_args; i++) {
    SAME(arg[i].kind), SAME(arg[i].fixed), SAME(arg[i].divisible_by), SAME(arg[i].max);
    SAME_EXPR(arg[i].at_least), SAME(arg[i].align), SAME(arg[i].elem);
  }
  for (int i = 0; i < m.n_variants; i++) {
    SAME(variant[i].n_threads), SAME(variant[i].cluster), SAME(variant[i].tile_cluster);
    SAME(variant[i].shared_bytes);
    SAME(variant[i].n_registers), SAME(variant[i].tile_m), SAME(variant[i].tile_n);
    SAME(variant[i].split_k), SAME(variant[i].persistent), SAME(variant[i].stream_granule),
        SAME(variant[i].dependent_launch);
    SAME(variant[i].weights_ready), SAME(variant[i].ahead), SAME(variant[i].runs_ahead);
    SAME(variant[i].behind), SAME(variant[i].runs_behind);
    SAME(variant[i].n_params), SAME(variant[i].n_tmaps), SAME(variant[i].n_requirements);
    SAME_EXPR(variant[i].workspace_bytes_per_tile);
    for (int j = 0; j < m.variant[i].n_params; j++)
      SAME(variant[i].param[j].arg), SAME(variant[i].param[j].tmap);
    for (int j = 0; j < m.variant[i].n_requirements; j++)
      SAME_EXPR(variant[i].requirement[j].value), SAME(variant[i].requirement[j].modulo),
          SAME(variant[i].requirement[j].at_most);
  }
  SAME(variant[0].tmap[0].base), SAME(variant[0].tmap[0].elem), SAME(variant[0].tmap[0].rank);
  SAME(variant[0].tmap[0].swizzle), SAME(variant[0].tmap[0].box[1]);
  SAME_EXPR(variant[0].tmap[0].dim[1]), SAME_EXPR(variant[0].tmap[0].stride[1]);
  assert_string_equal(m.hash, back.hash);
  free(json);
  hd_arena_free(&arena);
}

static void no_field_is_forgotten(void **state) {
  (void)state;
  compare_fields(sample_copied());
  compare_fields(sample_combined());
}

/* A copy owns its strings. */
static void copies_share_no_string(void **state) {
  (void)state;
  hd_manifest m = sample_manifest(), copy;
  hd_arena arena = {0};
  hd_manifest_copy(&arena, &m, &copy);
#define OWN(member)                                                                                \
  assert_string_equal(m.member, copy.member), assert_ptr_not_equal(m.member, copy.member)
  OWN(name), OWN(target), OWN(act), OWN(family), OWN(user_function);
  for (int i = 0; i < m.n_variants; i++)
    OWN(variant[i].entry), OWN(variant[i].path);
  hd_arena_free(&arena);
}

/* Every truncation of the text is refused without a crash. */
static void truncated_text_is_refused(void **state) {
  (void)state;
  hd_manifest m = sample_manifest(), back;
  char *json = written(&m);
  size_t n = strlen(json);
  for (size_t cut = 0; cut < n; cut += 7) {
    hd_arena arena = {0};
    assert_int_equal(hd_manifest_read(NULL, json, cut, &arena, &back), HEDDLE_INVALID);
    hd_arena_free(&arena);
  }
  free(json);
}

/* Replaces every byte with noise: the text is refused, or read as a complete manifest. */
static void noise_never_crashes(void **state) {
  (void)state;
  hd_manifest m = sample_manifest(), back;
  char *json = written(&m);
  size_t n = strlen(json);
  for (size_t i = 0; i < n; i += 3) {
    char saved = json[i];
    json[i] = (char)(i * 37 % 256);
    hd_arena arena = {0};
    if (hd_manifest_read(NULL, json, n, &arena, &back) == HEDDLE_OK)
      assert_int_equal(hd_manifest_check(NULL, &back), HEDDLE_OK);
    hd_arena_free(&arena);
    json[i] = saved;
  }
  free(json);
}

/* Replaces the first `from` by `to`. The reader must report `rule` with `text`. */
static void refused(const char *from, const char *to, const char *rule, const char *text) {
  hd_manifest m = sample_manifest(), back;
  char *json = NULL;
  assert_int_equal(hd_manifest_write(NULL, &m, &json), HEDDLE_OK);
  assert_non_null(strstr(json, from));
  size_t before = (size_t)(strstr(json, from) - json);
  hd_strbuf edited = {0};
  hd_strbuf_addn(&edited, json, before);
  hd_strbuf_add(&edited, to);
  hd_strbuf_add(&edited, json + before + strlen(from));
  heddle_context *ctx = heddle_context_create();
  hd_arena arena = {0};
  heddle_status status = hd_manifest_read(ctx, edited.text, edited.len, &arena, &back);
  assert_int_not_equal(status, HEDDLE_OK);
  assert_int_equal(heddle_context_count(ctx), 1);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  assert_string_equal(d->rule, rule);
  if (!strstr(d->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, d->text);
  heddle_context_free(ctx);
  hd_arena_free(&arena);
  hd_strbuf_free(&edited);
  free(json);
}

/* Offsets define groups. Groups need a persistent kernel, g and stride_a, and no stride of an
 * operand that has columns. */
static void groups_come_whole(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_manifest m = sample_groups();
  assert_int_equal(hd_manifest_check(ctx, &m), HEDDLE_OK);
  m.variant[0].persistent = false;
  assert_int_equal(hd_manifest_check(ctx, &m), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "manifest.groups");
  m = sample_groups();
  m.arg[m.n_args - 2].kind = HD_ARG_STRIDE_B;
  heddle_context_clear(ctx);
  assert_int_equal(hd_manifest_check(ctx, &m), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "manifest.groups");
  heddle_context_free(ctx);
}

/* Indices need groups. gather_b needs t, and scatter_d needs a col_major D. */
static void indices_belong_to_groups(void **state) {
  (void)state;
  const struct {
    hd_arg_kind kind;
    bool groups;
    heddle_status status;
  } cases[] = {{HD_ARG_GATHER_B, true, HEDDLE_INVALID},   {HD_ARG_T, true, HEDDLE_INVALID},
               {HD_ARG_SCATTER_D, true, HEDDLE_INVALID},  {HD_ARG_SCATTER_D, false, HEDDLE_INVALID},
               {HD_ARG_GATHER_B, false, HEDDLE_INVALID}, {HD_ARG_COMBINE_D, true, HEDDLE_INVALID},
               {HD_ARG_COMBINE_D, false, HEDDLE_INVALID}};
  heddle_context *ctx = heddle_context_create();
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    hd_manifest m = cases[i].groups ? sample_groups() : sample_manifest();
    m.arg[m.n_args++] = (hd_arg){.kind = cases[i].kind, .elem = HEDDLE_S32, .max = 64};
    heddle_context_clear(ctx);
    assert_int_equal(hd_manifest_check(ctx, &m), cases[i].status);
    assert_string_equal(heddle_context_get(ctx, 0)->rule, "manifest.groups");
  }
  hd_manifest m = sample_groups();
  m.arg[m.n_args++] = (hd_arg){.kind = HD_ARG_GATHER_B, .elem = HEDDLE_S32, .align = 4};
  m.arg[m.n_args++] = (hd_arg){.kind = HD_ARG_T, .max = 64};
  heddle_context_clear(ctx);
  assert_int_equal(hd_manifest_check(ctx, &m), HEDDLE_OK);
  heddle_context_free(ctx);
}

static void refuse_built(const hd_manifest *m, const char *rule) {
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_manifest_check(ctx, m), HEDDLE_INVALID);
  assert_int_equal(heddle_context_count(ctx), 1);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  heddle_context_free(ctx);
}

/* Columns are combined after every variant, and only in a col_major D. */
static void what_combines_is_whole(void **state) {
  (void)state;
  const hd_manifest sound = sample_combined();
  assert_int_equal(hd_manifest_check(NULL, &sound), HEDDLE_OK);
  hd_manifest m = sound;
  m.variant[0].behind = 0;
  refuse_built(&m, "manifest.combine");
  m = sound;
  m.slots = 0;
  refuse_built(&m, "manifest.combine");
  m = sound;
  m.d_col_major = false;
  refuse_built(&m, "manifest.combine");
  m = sound;
  m.variant[2].runs_ahead = true;
  refuse_built(&m, "manifest.ahead");
  m = sound;
  m.variant[0].behind = 2;
  refuse_built(&m, "manifest.ahead");
  m = sample_groups();
  m.slots = 2;
  refuse_built(&m, "manifest.combine");
}

static void errors_name_key_value_and_range(void **state) {
  (void)state;
  refused("\"heddle_manifest\": 14", "\"heddle_manifest\": 15", "manifest.version", "version 15");
  refused("\"kind\": \"alpha\"", "\"kind\": \"eps\"", "manifest.statistic",
          "argument eps: got one without scale_b_statistic; legal: both, or neither");
  refused("\"kind\": \"alpha\"", "\"kind\": \"ldaux\"", "manifest.aux",
          "argument ldaux: got one, aux none; legal: all of aux, or none");
  refused("\"aux\": null", "\"aux\": \"input\"", "manifest.aux",
          "argument aux: got none, aux input; legal: all of aux, or none");
  refused("\"aux\": null", "\"aux\": \"output\"", "manifest.aux",
          "aux: got output; legal: result, input");
  refused("\"scale_block\": 0", "\"scale_block\": 64", "manifest.scale-block",
          "got 64 without argument block_scale_a");
  refused("\"scale_tiles\": false", "\"scale_tiles\": true", "manifest.scale-block",
          "got true without block scales");
  refused("\"scale_rows\": 0", "\"scale_rows\": 128", "manifest.scale-block",
          "got 128 with scale_block 0");
  refused("\"kind\": \"alpha\"", "\"kind\": \"stride_b\"", "manifest.batch",
          "argument stride_b: got one without argument g");
  refused("\"heddle_manifest\"", "\"other\"", "manifest.version", "not a heddle manifest");
  refused("\"family\"", "\"famly\"", "manifest.missing-key", "family");
  refused("\"family\"", "\"famly\": 1, \"family\"", "manifest.unknown-key", "famly");
  refused("\"family\"", "\"act\": \"none\", \"family\"", "manifest.json", "duplicate");
  refused("\"n_threads\": 384", "\"n_threads\": 2048", "manifest.range",
          "variant[0].n_threads: got 2048; legal: 1 to 1024; nearest: 1024");
  refused("\"n_threads\": 384", "\"n_threads\": \"x\"", "manifest.type", "got a string");
  refused("\"a_elem\": \"bf16\"", "\"a_elem\": \"bf17\"", "manifest.name", "bf17");
  refused("\"name\": \"sample\"", "\"name\": \"sam*/ple\"", "manifest.identifier", "sam*/ple");
  refused("\"entry\": \"sample_tma\"", "\"entry\": \"\"", "manifest.identifier", "entry");
  refused("\"rank\": 2", "\"rank\": 3", "manifest.length", "variant[0].tmap[0].dim: got 2");
  refused("\"modulo\": 16", "\"modulo\": 0", "manifest.range", "requirement[0].modulo");
  refused("\"align\": 128", "\"align\": 96", "manifest.arg", "alignment 96 is not a power of two");
  refused("\"kind\": \"ldd\"", "\"kind\": \"ldc\"", "manifest.arg", "ldc stands twice");
  refused("\"name\": \"sample\"", "\"name\": \"sam\\u0000ple\"", "manifest.json", "NUL");
  refused("\"act\": \"user\"", "\"act\": \"*/\"", "manifest.word", "act: got \"*/\"");
  refused("\"hash\": \"0", "\"hash\": \"", "manifest.hash", "32");
  refused("\"fixed\": 0", "\"fixed\": 5", "manifest.arg",
          "argument a: only sizes and strides can be fixed");
  refused("\"kind\": \"a\"", "\"kind\": \"none\"", "manifest.arg", "argument 0 has no kind");
  refused("\"name\": \"sample\"", "\"name\": 5", "manifest.type", "legal: a string");
  refused("\"a_elem\": \"bf16\"", "\"a_elem\": 5", "manifest.type", "element type");
  refused("\"b_mn_major\": false", "\"b_mn_major\": 1", "manifest.type", "legal: true or false");
  refused("\"at_least\": {", "\"at_least\": 5, \"x\": {", "manifest.type", "legal: an object");
  refused("\"arg\": [", "\"arg\": 5, \"x\": [", "manifest.type", "legal: an array");
}

static void built_manifests_are_checked_too(void **state) {
  (void)state;
  const hd_manifest sound = sample_manifest();
  hd_manifest m = sound;
  char *json = NULL;
  m.variant[0].param[1].tmap = 1;
  refuse_built(&m, "manifest.param");
  assert_int_equal(hd_manifest_write(NULL, &m, &json), HEDDLE_INVALID);
  assert_null(json);
  m = sound;
  m.n_args--; /* the workspace */
  refuse_built(&m, "manifest.param");
  for (int i = 0; i < m.n_variants; i++)
    m.variant[i].n_params = 1;
  refuse_built(&m, "manifest.workspace");
  m = sound;
  m.variant[0].tile_cluster = 1;
  assert_int_equal(hd_manifest_check(NULL, &m), HEDDLE_OK);
  m.variant[0].persistent = false;
  refuse_built(&m, "manifest.cluster");
  m = sound;
  m.variant[0].cluster = 4;
  refuse_built(&m, "manifest.cluster");
  m = sound;
  m.variant[0].ahead = 2;
  refuse_built(&m, "manifest.ahead");
  m.variant[0].ahead = m.n_variants + 1;
  refuse_built(&m, "manifest.ahead");
  m = sound;
  m.variant[0].runs_ahead = true;
  m.variant[0].split_k = 2;
  refuse_built(&m, "manifest.ahead");
  m = sound;
  m.name = NULL;
  refuse_built(&m, "manifest.missing");
  hd_arg *size = NULL;
  for (int i = 0; i < sound.n_args; i++)
    size = sound.arg[i].kind == HD_ARG_N ? &m.arg[i] : size;
  m = sound;
  size->fixed = INT64_C(1) << 31;
  refuse_built(&m, "manifest.arg");
  m = sound;
  size->fixed = 6;
  size->divisible_by = 4;
  refuse_built(&m, "manifest.arg");
  size->fixed = 8;
  assert_int_equal(hd_manifest_check(NULL, &m), HEDDLE_OK);
  m = sound;
  m.n_variants = 0;
  refuse_built(&m, "manifest.variant");
  m = sound;
  m.variant[0].requirement[0].value.arg = HD_ARG_BIAS;
  refuse_built(&m, "manifest.expr");
  m = sound;
  m.variant[0].requirement[0].value.div = 0;
  refuse_built(&m, "manifest.requirement");
  m = sound;
  m.variant[1].workspace_bytes_per_tile.arg = HD_ARG_ALPHA;
  refuse_built(&m, "manifest.expr");
  m = sound;
  m.variant[0].tmap[0].dim[0].arg = HD_ARG_B; /* an address is not a size */
  refuse_built(&m, "manifest.expr");
  m = sound;
  m.variant[0].tmap[0].base = HD_ARG_N;
  refuse_built(&m, "manifest.tmap");
  m = sound;
  m.variant[0].tmap[0].stride[1].div = 0;
  refuse_built(&m, "manifest.tmap");
  m = sound;
  m.variant[1].n_tmaps = 99;
  refuse_built(&m, "manifest.length");
  m = sound;
  m.variant[1].n_params = -1;
  refuse_built(&m, "manifest.length");
  m = sound;
  m.variant[0].tmap[0].swizzle = (hd_swizzle)-1;
  refuse_built(&m, "manifest.name");
  m = sound;
  m.arg[0].kind = (hd_arg_kind)-1;
  refuse_built(&m, "manifest.name");
}

static void argument_names_are_a_bijection(void **state) {
  (void)state;
  for (int i = 0; i < HD_N_ARG_KINDS; i++) {
    hd_arg_kind kind;
    assert_int_equal(hd_arg_parse(hd_arg_name((hd_arg_kind)i), &kind), HEDDLE_OK);
    assert_int_equal(kind, i);
  }
  assert_int_equal(hd_arg_class_of(HD_ARG_LDB), HEDDLE_CLASS_I64);
  assert_int_equal(hd_arg_class_of(HD_ARG_BETA), HEDDLE_CLASS_F32);
  assert_string_equal(hd_arg_name((hd_arg_kind)99), "?");
}

/* heddle/manifest.h: names, classes and rules of the arguments, as in the JSON. */
static void arguments_are_told_without_a_device(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_manifest *read = NULL;
  heddle_manifest_arg arg;
  m.arg[7].fixed = 64; /* k */
  char *json = written(&m);
  assert_int_equal(heddle_manifest_read(NULL, json, strlen(json), &read), HEDDLE_OK);
  assert_string_equal(heddle_manifest_name(read), "sample");
  assert_string_equal(heddle_manifest_target(read), "sm_90a");
  assert_string_equal(heddle_manifest_family(read), "wgmma");
  assert_false(heddle_manifest_takes_pairs(read));
  assert_string_equal(heddle_manifest_prototype(read),
                      "int sample(const void *a, const void *b, const void *c, void *d, "
                      "const void *user, int32_t m, int32_t n, int64_t ldb, int64_t ldc, "
                      "int64_t ldd, float alpha, float beta, void *workspace, void *stream)");
  assert_int_equal(heddle_manifest_arg_count(read), 13);
  assert_int_equal(heddle_manifest_get_arg(read, 0, &arg), HEDDLE_OK);
  assert_true(arg.arg_class == HEDDLE_CLASS_PTR && arg.align == 128 && arg.elem == HEDDLE_BF16);
  assert_int_equal(heddle_manifest_get_arg(read, 5, &arg), HEDDLE_OK);
  assert_true(arg.arg_class == HEDDLE_CLASS_I32 && arg.max == 100000 && arg.divisible_by == 1);
  assert_int_equal(heddle_manifest_get_arg(read, 7, &arg), HEDDLE_OK);
  assert_string_equal(arg.name, "ldb");
  assert_int_equal(heddle_manifest_get_arg(read, 13, &arg), HEDDLE_INVALID);
  assert_int_equal(heddle_manifest_read(NULL, json, strlen(json) - 1, &read), HEDDLE_INVALID);
  heddle_manifest_free(read);
  heddle_manifest_free(NULL);
  free(json);
}

static void *no_memory(size_t n_bytes) {
  (void)n_bytes;
  return NULL;
}

static void a_text_without_memory_is_refused(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_context *ctx = heddle_context_create();
  char *json = NULL;
  json_set_alloc_funcs(no_memory, free);
  assert_int_equal(hd_manifest_write(ctx, &m, &json), HEDDLE_NO_MEMORY);
  json_set_alloc_funcs(malloc, free);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "memory.short");
  assert_null(json);
  heddle_context_free(ctx);
}

static size_t allocations_left;
static void *scarce_malloc(size_t n) {
  return allocations_left && allocations_left-- ? malloc(n) : NULL;
}

/* If any allocation of jansson fails, the result is that of short memory. A manifest with missing
 * parts is never accepted, and a valid one is never called malformed. */
static void a_manifest_without_memory_is_not_read(void **state) {
  (void)state;
  hd_manifest manifest = sample_manifest(), read;
  char *json = NULL;
  heddle_status status = HEDDLE_NO_MEMORY;
  size_t n = 0, n_told = 0;
  assert_int_equal(hd_manifest_write(NULL, &manifest, &json), HEDDLE_OK);
  for (; status != HEDDLE_OK; n++) {
    hd_arena arena = {0};
    allocations_left = n;
    json_set_alloc_funcs(scarce_malloc, free);
    status = hd_manifest_read(NULL, json, strlen(json), &arena, &read);
    json_set_alloc_funcs(malloc, free);
    hd_arena_free(&arena);
    n_told += status == HEDDLE_NO_MEMORY;
    assert_true(status == HEDDLE_NO_MEMORY || (status == HEDDLE_OK && n > 100));
  }
  assert_int_equal(n_told, n - 1);
  free(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_are_read_as_they_are_printed),
      cmocka_unit_test(round_trip_keeps_every_byte),
      cmocka_unit_test(no_field_is_forgotten),
      cmocka_unit_test(copies_share_no_string),
      cmocka_unit_test(truncated_text_is_refused),
      cmocka_unit_test(noise_never_crashes),
      cmocka_unit_test(groups_come_whole),
      cmocka_unit_test(indices_belong_to_groups),
      cmocka_unit_test(what_combines_is_whole),
      cmocka_unit_test(errors_name_key_value_and_range),
      cmocka_unit_test(built_manifests_are_checked_too),
      cmocka_unit_test(a_text_without_memory_is_refused),
      cmocka_unit_test(a_manifest_without_memory_is_not_read),
      cmocka_unit_test(arguments_are_told_without_a_device),
      cmocka_unit_test(argument_names_are_a_bijection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
