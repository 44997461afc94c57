/* Tuned choices in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "Support/strbuf.h"
#include "Choice/tuned.h"
#include "heddle/ir.h"

static hd_product product(int64_t m, int64_t n, int64_t k) {
  hd_product p = {.target = "sm_90a", .a = HEDDLE_BF16, .b = HEDDLE_BF16, .acc = HEDDLE_F32,
                  .d = HEDDLE_BF16, .m = m, .n = n, .k = k};
  return p;
}

static hd_tuned *read_table(const char *json, size_t n_bytes) {
  char *folder;
  hd_tuned *tuned = NULL;
  hd_strbuf path = {0};
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  hd_strbuf_printf(&path, "%s/t.json", folder);
  assert_int_equal(hd_file_write(NULL, hd_strbuf_text(&path), json, n_bytes), HEDDLE_OK);
  assert_int_equal(heddle_tuned_read(NULL, hd_strbuf_text(&path), &tuned), HEDDLE_OK);
  assert_int_equal(hd_file_remove(NULL, folder), HEDDLE_OK);
  hd_strbuf_free(&path);
  free(folder);
  return tuned;
}

/* n x n products. The schedule of each identifies its sizes. */
static hd_tuned *table(int n) {
  hd_strbuf json = {0};
  char name[HD_PRODUCT_TEXT];
  hd_strbuf_add(&json, "{\"version\": 1, \"choices\": [");
  for (int i = 0; i < n * n; i++) {
    hd_product p = product(64 << i / n, 8 << i % n, 4096);
    hd_product_print(&p, name);
    hd_strbuf_printf(&json,
                     "%s{\"product\": \"%s\", \"schedule\": \"raster_group=%d\", \"us\": %d}",
                     i ? "," : "", name, i + 1, i + 1);
  }
  hd_strbuf_add(&json, "]}");
  hd_tuned *tuned = read_table(json.text, json.len);
  hd_strbuf_free(&json);
  return tuned;
}

static void every_product_is_found(void **state) {
  (void)state;
  enum { N = 12 };
  hd_tuned *t = table(N);
  assert_int_equal(hd_tuned_count(t), N * N);
  for (int i = 0; i < N * N; i++) {
    hd_product p = product(64 << i / N, 8 << i % N, 4096);
    const hd_tuned_entry *e = hd_tune_lookup(t, &p);
    assert_non_null(e);
    assert_int_equal(e->words.value.raster_group, i + 1);
    p.k++;
    assert_null(hd_tune_lookup(t, &p));
    p.k--;
    p.weights_ready = true;
    assert_null(hd_tune_lookup(t, &p));
    p.a = HEDDLE_F16;
    assert_null(hd_tune_lookup(t, &p));
  }
  heddle_tuned_free(t);
}

static void the_nearest_is_within_twice(void **state) {
  (void)state;
  hd_tuned *t = table(2); /* m 64, 128; n 8, 16 */
  hd_product p = product(100, 15, 5000);
  assert_int_equal(hd_tune_nearest(t, &p)->words.value.raster_group, 4);
  p.n = 9;
  assert_int_equal(hd_tune_nearest(t, &p)->words.value.raster_group, 3);
  p.n = 33;
  assert_null(hd_tune_nearest(t, &p));
  p.n = 32;
  assert_non_null(hd_tune_nearest(t, &p));
  for (int64_t k = 2047; k <= 8193; k += 8193 - 2047) { /* the tuned k is 4096 */
    p.k = k;
    assert_null(hd_tune_nearest(t, &p));
  }
  p.k = 8192;
  assert_non_null(hd_tune_nearest(t, &p));
  p.a = p.b = HEDDLE_F16; /* of the same width */
  assert_non_null(hd_tune_nearest(t, &p));
  p.a = p.b = HEDDLE_E4M3;
  assert_null(hd_tune_nearest(t, &p));
  p.a = p.b = HEDDLE_BF16;
  p.b_mn_major = true;
  assert_null(hd_tune_nearest(t, &p));
  heddle_tuned_free(t);
}

/* A choice also serves a product of other types of the same width, but not one of another width.
 * The model would choose neither. */
static void types_as_wide_share_a_choice(void **state) {
  (void)state;
  static const struct {
    heddle_elem elem;
    int64_t k;
    const char *group;
  } cases[] = {
      {HEDDLE_F16, 4096, "raster_group=3 "}, {HEDDLE_F16, 4100, ""}, {HEDDLE_E4M3, 4096, ""}};
  hd_tuned *t = table(2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hd_product p = product(128, 8, cases[i].k);
    p.a = p.b = p.d = cases[i].elem;
    char *text = hd_product_problem(&p), schedule[HEDDLE_SCHEDULE_BYTES] = "?";
    assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, NULL, schedule),
                     HEDDLE_OK);
    assert_non_null(strstr(schedule, cases[i].group));
    assert_int_equal(schedule[0] == '\0', cases[i].group[0] == '\0');
    free(text);
  }
  heddle_tuned_free(t);
}

static void integers_are_nearer_to_integers(void **state) {
  (void)state;
  static const char json[] =
      "{\"version\": 1, \"choices\": ["
      "{\"product\": \"sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 m=64 n=8 k=64 k_major row_major\","
      " \"schedule\": \"raster_group=1\"},"
      "{\"product\": \"sm_90a a=s8 b=s8 acc=s32 d=bf16 m=64 n=8 k=64 k_major row_major\","
      " \"schedule\": \"raster_group=2\"}]}";
  hd_tuned *t = read_table(json, strlen(json));
  hd_product p = product(64, 8, 64);
  p.a = p.b = HEDDLE_U8, p.acc = HEDDLE_S32;
  assert_int_equal(hd_tune_nearest(t, &p)->words.value.raster_group, 2);
  p.a = p.b = HEDDLE_E5M2, p.acc = HEDDLE_F32;
  assert_int_equal(hd_tune_nearest(t, &p)->words.value.raster_group, 1);
  heddle_tuned_free(t);
}

static void an_empty_table(void **state) {
  (void)state;
  hd_tuned *t = table(0);
  hd_product p = product(64, 8, 64);
  assert_null(hd_tune_lookup(t, &p));
  assert_null(hd_tune_nearest(t, &p));
  heddle_tuned_free(t);
}

static void an_embedder_asks_with_a_text(void **state) {
  (void)state;
  hd_tuned *t = table(2);
  hd_product p = product(128, 8, 4096);
  char *text = hd_product_problem(&p), schedule[HEDDLE_SCHEDULE_BYTES];
  static const int64_t fixed[3] = {0};
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, fixed, schedule),
                   HEDDLE_OK);
  assert_non_null(strstr(schedule, "raster_group=3 "));
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, NULL, schedule),
                   HEDDLE_OK);
  assert_non_null(strstr(schedule, "raster_group=3 "));
  heddle_module *module = NULL;
  schedule[0] = '\0';
  assert_int_equal(heddle_module_parse(NULL, NULL, text, strlen(text), &module), HEDDLE_OK);
  for (int i = 0; i < 2; i++) /* the module must not change */
    assert_int_equal(heddle_tuned_pick_module(NULL, t, module, NULL, fixed, schedule), HEDDLE_OK);
  assert_non_null(strstr(schedule, "raster_group=3 "));
  heddle_module_free(module);
  free(text);
  p.weights_ready = true; /* not tuned: the choice without it */
  text = hd_product_problem(&p);
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, fixed, schedule),
                   HEDDLE_OK);
  assert_non_null(strstr(schedule, "raster_group=3 "));
  free(text);
  p.k = 16384; /* far from every tuned size */
  text = hd_product_problem(&p);
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, fixed, schedule),
                   HEDDLE_OK);
  assert_string_equal(schedule, "");
  free(text);
  static const char nonsense[] = "nonsense";
  assert_int_equal(heddle_tuned_pick(NULL, t, nonsense, strlen(nonsense), NULL, fixed, schedule),
                   HEDDLE_INVALID);
  heddle_tuned_free(t);
}

/* test_buckets.c tests which buckets are chosen. This is the public interface to them; its plan
 * must compile. */
static void an_embedder_asks_for_buckets(void **state) {
  (void)state;
  hd_tuned *t = table(2);
  heddle_context *ctx = heddle_context_create();
  for (int fixed = 0; fixed < 2; fixed++) {
    heddle_problem *p = heddle_problem_create("linear", "sm_90a");
    heddle_module *module = NULL;
    char *plan = NULL;
    heddle_problem_set_size(p, HEDDLE_DIM_M, 4096);
    heddle_problem_set_size(p, HEDDLE_DIM_K, 4096);
    if (fixed)
      heddle_problem_set_size(p, HEDDLE_DIM_N, 64);
    else
      heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 0, 1);
    heddle_problem_set_a(p, HEDDLE_BF16);
    heddle_problem_set_b(p, HEDDLE_BF16, HEDDLE_K_MAJOR, 0, 0);
    heddle_problem_set_d(p, HEDDLE_BF16, HEDDLE_COL_MAJOR, 0, 0);
    assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_OK);
    heddle_problem_free(p);
    if (fixed) {
      assert_int_equal(heddle_tuned_buckets(ctx, t, module, NULL, NULL, &plan), HEDDLE_INVALID);
      assert_string_equal(heddle_context_get(ctx, 0)->rule, "schedule.buckets");
      assert_null(plan);
    } else {
      assert_int_equal(heddle_tuned_buckets(ctx, t, module, NULL, NULL, &plan), HEDDLE_OK);
      assert_non_null(strstr(plan, "n<="));
    }
    free(plan);
    heddle_module_free(module);
  }
  heddle_context_free(ctx);
  heddle_tuned_free(t);
}

static void sizes_that_no_launch_has(void **state) {
  (void)state;
  static const int64_t wrong[][3] = {{0, -1, 0}, {127, 0, 0}, {0, 9, 0}, {0, 0, 1 << 30}};
  hd_tuned *t = table(2);
  hd_product p = product(128, 8, 4096);
  char *text = hd_product_problem(&p), schedule[HEDDLE_SCHEDULE_BYTES] = "as it was";
  heddle_context *ctx = heddle_context_create();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(heddle_tuned_pick(ctx, t, text, strlen(text), NULL, wrong[i], schedule),
                     HEDDLE_INVALID);
    assert_string_equal(heddle_context_get(ctx, i)->rule, "choice.size");
    assert_string_equal(schedule, "as it was");
  }
  heddle_context_free(ctx);
  free(text);
  heddle_tuned_free(t);
}

static void names_of_products(void **state) {
  (void)state;
  char text[HD_PRODUCT_TEXT], again[HD_PRODUCT_TEXT];
  hd_product p = product(1, 2, 4), q;
  p.d_col_major = p.b_mn_major = true;
  hd_product_print(&p, text);
  assert_string_equal(text, "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 mn_major col_major");
  assert_int_equal(hd_product_parse(NULL, text, &q), HEDDLE_OK);
  hd_product_print(&q, again);
  assert_string_equal(text, again);
  strcat(text, " g=12");
  assert_int_equal(hd_product_parse(NULL, text, &q), HEDDLE_OK);
  assert_int_equal(q.g, 12);
  hd_product_print(&q, again);
  assert_string_equal(text, again);
  strcpy(strstr(text, " g=12"), " groups=8");
  assert_int_equal(hd_product_parse(NULL, text, &q), HEDDLE_OK);
  assert_int_equal(q.g, 0);
  assert_int_equal(hd_product_matrices(&q), 8);
  hd_product_print(&q, again);
  assert_string_equal(text, again);
  strcat(text, " weights_ready");
  assert_int_equal(hd_product_parse(NULL, text, &q), HEDDLE_OK);
  assert_true(q.weights_ready);
  hd_product_print(&q, again);
  assert_string_equal(text, again);
  static const char all[] =
      "sm_90a a=s8 b=s8 acc=s32 d=bf16 m=16 n=2 k=4 k_major row_major act=geglu_tanh "
      "aux=result:f32 bias=n blocks=1x128 c g=12 reduce=scale scale_a=one scale_b=vector "
      "weights_ready";
  assert_int_equal(hd_product_parse(NULL, all, &q), HEDDLE_OK);
  assert_false(hd_product_is_plain(&q));
  assert_int_equal(hd_product_d_rows(&q), 8);
  assert_true(q.epilogue.blocks == 'r' && hd_product_block_rows(&q) == 1);
  hd_product_print(&q, again);
  assert_string_equal(all, again);
  static const char *const bad[] = {
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major act=swish",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major act=user",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major bias=k",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major bias=m act=relu",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major scale_a=two",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major aux=input",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major aux=output:f32",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major aux=input:f33",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major reduce=sum",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major c=1",
      "sm_90a a=e4m3 b=e4m3 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major blocks=64x64",
      "", "sm_90a", "sm_90a a=bf16 b=bf16 acc=f32 d=bf17 m=1 n=2 k=4 k_major row_major",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=0 n=2 k=4 k_major row_major",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 row_major k_major",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major always",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major g=0",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major groups=1025",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major g=2 groups=2",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major g=1048577",
      "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=1 n=2 k=4 k_major row_major weights_ready g=2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(hd_product_parse(NULL, bad[i], &q), HEDDLE_INVALID);
}

/* A choice tuned with an epilogue is for that epilogue only. An epilogue without a choice of its
 * own uses that of the plain product. */
static void epilogues_have_choices_of_their_own(void **state) {
  (void)state;
  static const char export[] =
      "{\"version\": 1, \"choices\": ["
      "{\"product\": \"sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=64 k=4096 k_major row_major\","
      " \"schedule\": \"tile=64x64\", \"device\": \"D\"},"
      "{\"product\": \"sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=64 k=4096 k_major row_major "
      "act=swiglu\", \"schedule\": \"tile=128x64\", \"device\": \"D\"}]}";
  static const struct {
    const char *act;
    int32_t tile_m;
  } cases[] = {{"", 64}, {"swiglu", 128}, {"gelu", 64}};
  hd_tuned *t;
  assert_int_equal(hd_tuned_parse(NULL, "x", export, sizeof export - 1, &t), HEDDLE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hd_product p = product(4096, 64, 4096);
    hd_front front;
    hd_schedule s;
    strcpy(p.epilogue.act, cases[i].act);
    assert_int_equal(hd_product_build(NULL, HD_NOWHERE, &p, &front), HEDDLE_OK);
    assert_non_null(hd_tune_pick(t, &front.problem, &p, NULL, &s));
    assert_int_equal(s.tile_m, cases[i].tile_m);
    hd_front_free(&front);
  }
  heddle_tuned_free(t);
}

/* A line of a grid, and its product; NULL: that rule refuses the line. */
static void lines_of_a_grid(void **state) {
  (void)state;
  static const struct {
    const char *line, *product, *rule;
  } cases[] = {
      {"bf16 64 128 8", "a=bf16 b=bf16 acc=f32 d=bf16 m=64 n=8 k=128 k_major row_major", NULL},
      {"tf32 1 4 1048576 bf16 col_major",
       "a=tf32 b=tf32 acc=f32 d=bf16 m=1 n=1048576 k=4 k_major col_major", NULL},
      {"e4m3xe5m2 64 128 8 f32 row_major weights_ready",
       "a=e4m3 b=e5m2 acc=f32 d=f32 m=64 n=8 k=128 k_major row_major weights_ready", NULL},
      {"s8 64 128 8", "a=s8 b=s8 acc=s32 d=bf16 m=64 n=8 k=128 k_major row_major", NULL},
      {"bf17 64 128 8", NULL, "tune.type"},
      {"e4m3x 64 128 8", NULL, "tune.type"},
      {"bf16 64 128 8 bf17", NULL, "tune.type"},
      {"bf16 64 128 8 bf16 k_major", NULL, "tune.order"},
      {"bf16 64 128 8 bf16 row_major ready", NULL, "tune.promise"},
      {"bf16 64 128", NULL, "tune.grid"},
      {"bf16 64 128 8 bf16 row_major weights_ready bf16 64 128 9", NULL, "tune.grid"},
      {"bf16 0 128 8", NULL, "tune.grid"},
      {"bf16 64 128 1048577", NULL, "tune.grid"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[HD_PRODUCT_TEXT];
    hd_product p;
    heddle_context *ctx = heddle_context_create();
    heddle_status status =
        hd_product_line(ctx, (hd_loc){"grid", 1, 1}, "sm_90a", cases[i].line, &p);
    assert_int_equal(status, cases[i].rule ? HEDDLE_INVALID : HEDDLE_OK);
    if (cases[i].rule) {
      assert_string_equal(heddle_context_get(ctx, 0)->rule, cases[i].rule);
    } else {
      hd_product_print(&p, text);
      assert_string_equal(text + strlen("sm_90a "), cases[i].product);
    }
    heddle_context_free(ctx);
  }
}

static void the_shipped_choices(void **state) {
  (void)state;
  hd_tuned *t = NULL;
  hd_product p = product(4096, 16, 4096);
  assert_int_equal(heddle_tuned_shipped(NULL, &t), HEDDLE_OK);
  assert_true(hd_tuned_count(t) > 200);
  assert_non_null(hd_tune_lookup(t, &p));
  heddle_tuned_free(t);
}

/* The H100's memory is slower. A table with rates of its own keeps them. */
static void the_model_of_a_device(void **state) {
  (void)state;
  static const char own[] =
      "{\"version\": 1, \"choices\": [], \"ceilings\": {\"dram_bytes\": 2e12}}";
  static const char named[] =
      "{\"version\": 1, \"choices\": [], \"ceilings\": {\"device\": \"NVIDIA H100 PCIe\"}}";
  hd_tuned *t = NULL;
  assert_int_equal(hd_tuned_none(NULL, &t), HEDDLE_OK);
  double h200 = hd_tuned_ceilings(t)->dram_bytes;
  assert_int_equal(heddle_tuned_set_device(t, "NVIDIA T1000"), HEDDLE_NOT_FOUND);
  assert_int_equal(heddle_tuned_set_device(t, NULL), HEDDLE_NOT_FOUND);
  assert_true(hd_tuned_ceilings(t)->dram_bytes == h200);
  assert_int_equal(heddle_tuned_set_device(t, "NVIDIA H100 80GB HBM3"), HEDDLE_OK);
  double h100 = hd_tuned_ceilings(t)->dram_bytes;
  assert_true(h100 < 0.85 * h200);
  heddle_tuned_free(t);
  assert_int_equal(hd_tuned_parse(NULL, "own", own, strlen(own), &t), HEDDLE_OK);
  assert_int_equal(heddle_tuned_set_device(t, "NVIDIA H100"), HEDDLE_OK);
  assert_true(hd_tuned_ceilings(t)->dram_bytes == 2e12);
  heddle_tuned_free(t);
  assert_int_equal(hd_tuned_parse(NULL, "named", named, strlen(named), &t), HEDDLE_OK);
  assert_true(hd_tuned_ceilings(t)->dram_bytes == h100);
  heddle_tuned_free(t);
}

/* The compiler's own default is that of the H200. For another device the default is written out. */
static void a_default_of_a_device_is_named(void **state) {
  (void)state;
  hd_tuned *t = NULL;
  char words[HEDDLE_SCHEDULE_BYTES];
  hd_product p = product(5000, 24, 5056);
  char *text = hd_product_kernel(&p, "k");
  assert_int_equal(hd_tuned_none(NULL, &t), HEDDLE_OK);
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, NULL, words), HEDDLE_OK);
  assert_string_equal(words, "");
  assert_int_equal(heddle_tuned_set_device(t, "NVIDIA H100"), HEDDLE_OK);
  assert_int_equal(heddle_tuned_pick(NULL, t, text, strlen(text), NULL, NULL, words), HEDDLE_OK);
  assert_non_null(strstr(words, "tile="));
  heddle_tuned_free(t);
  free(text);
}

static void a_database_is_the_tools(void **state) {
  (void)state;
  char *folder;
  hd_tuned *t = NULL;
  hd_strbuf path = {0};
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  hd_strbuf_printf(&path, "%s/t.db", folder);
  assert_int_equal(hd_file_write(NULL, hd_strbuf_text(&path), "SQLite format 3\0", 17), HEDDLE_OK);
  assert_int_equal(heddle_tuned_read(ctx, hd_strbuf_text(&path), &t), HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "tuned.database");
  assert_null(t);
  assert_int_equal(hd_file_remove(NULL, folder), HEDDLE_OK);
  hd_strbuf_free(&path);
  free(folder);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_shipped_choices),
      cmocka_unit_test(the_model_of_a_device),
      cmocka_unit_test(a_default_of_a_device_is_named), cmocka_unit_test(a_database_is_the_tools),
      cmocka_unit_test(every_product_is_found),
      cmocka_unit_test(the_nearest_is_within_twice),
      cmocka_unit_test(types_as_wide_share_a_choice),
      cmocka_unit_test(integers_are_nearer_to_integers),
      cmocka_unit_test(an_empty_table),
      cmocka_unit_test(an_embedder_asks_with_a_text),
      cmocka_unit_test(an_embedder_asks_for_buckets),
      cmocka_unit_test(sizes_that_no_launch_has),
      cmocka_unit_test(names_of_products),
      cmocka_unit_test(epilogues_have_choices_of_their_own),
      cmocka_unit_test(lines_of_a_grid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
