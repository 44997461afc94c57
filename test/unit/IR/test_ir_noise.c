/* Mutated texts. The parser or the verifier must refuse them, or they are valid. A module that
 * parses must also print and parse again. The seeds are fixed; a failing case prints its number. */
#include "ir_fixture.h"

#include <dirent.h>
#include <stdio.h>

enum { MAX_TEXTS = 64, MUTANTS = 1500, SEED = 20261121 };

typedef struct corpus {
  char *text[MAX_TEXTS];
  size_t n_bytes[MAX_TEXTS];
  int n;
} corpus;

static corpus texts;

static void read_folder(const char *folder, const char *suffix) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", HD_SOURCE_DIR, folder);
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *entry; (entry = readdir(dir)) && texts.n < MAX_TEXTS;) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, suffix) != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    texts.text[texts.n] = fixture_read(path, &texts.n_bytes[texts.n]);
    texts.n++;
  }
  closedir(dir);
}

static int open_corpus(void **state) {
  (void)state;
  read_folder("examples", ".heddle");
  read_folder("test/ir", ".test");
  return texts.n < 10; /* fewer: the corpus was not found */
}

static int close_corpus(void **state) {
  (void)state;
  for (int i = 0; i < texts.n; i++)
    free(texts.text[i]);
  return 0;
}

/* Result of a text: 0 refused by the parser, 1 refused by the verifier, 2 valid. */
static int digest(const char *text, size_t n_bytes) {
  heddle_context *ctx = heddle_context_create();
  hd_module *module = NULL;
  int result = 0;
  /* A copy of the exact length, so that a sanitizer detects a read past the end. */
  char *exact = malloc(n_bytes + !n_bytes);
  memcpy(exact, text, n_bytes);
  if (hd_parse(ctx, "noise", exact, n_bytes, &module) == HEDDLE_OK) {
    char *printed = fixture_print(module);
    hd_module *back = fixture_parse(printed);
    fixture_assert_same(module, back);
    result = hd_verify(ctx, module, NULL) == HEDDLE_OK ? 2 : 1;
    hd_module_free(back);
    free(printed);
  } else {
    assert_int_equal(heddle_context_count(ctx), 1);
    assert_true(heddle_context_get(ctx, 0)->line > 0);
  }
  if (result < 2)
    assert_true(heddle_context_count(ctx) > 0);
  hd_module_free(module);
  heddle_context_free(ctx);
  free(exact);
  return result;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static void every_truncation_is_refused_or_sound(void **state) {
  (void)state;
  for (int i = 0; i < texts.n; i++)
    for (size_t n = 0; n <= texts.n_bytes[i]; n += 1 + n / 97)
      digest(texts.text[i], n);
}

static void mutate(char *text, size_t n_bytes, uint64_t *random) {
  static const char marks[] = "{}[]()<>=,:%\"\\-0129azAZ_. \n#\r\t\x01\x7f\x80\xff";
  int n = 1 + (int)(next_random(random) % 4);
  for (int i = 0; i < n; i++) {
    size_t at = next_random(random) % n_bytes, from = next_random(random) % n_bytes;
    size_t len = next_random(random) % 12;
    if (next_random(random) % 2)
      text[at] = marks[next_random(random) % (sizeof marks)];
    else
      memmove(text + at, text + from,
              n_bytes - (at > from ? at : from) < len ? n_bytes - (at > from ? at : from) : len);
  }
}

static void mutants_do_no_harm(void **state) {
  (void)state;
  uint64_t random = SEED;
  int counts[3] = {0};
  for (int i = 0; i < MUTANTS; i++) {
    int t = i % texts.n;
    char *copy = malloc(texts.n_bytes[t]);
    memcpy(copy, texts.text[t], texts.n_bytes[t]);
    mutate(copy, texts.n_bytes[t], &random);
    counts[digest(copy, texts.n_bytes[t])]++;
    free(copy);
  }
  /* All three results occur: the mutations are neither too strong nor too weak. */
  assert_true(counts[0] > 50 && counts[1] > 50 && counts[2] > 50);
}

/* Replaces every number of every text with extreme numbers. */
static void extreme_numbers_do_no_harm(void **state) {
  (void)state;
  static const char *const numbers[] = {
      "0", "-1", "9223372036854775807", "-9223372036854775808", "2147483648", "65536", "3"};
  uint64_t random = SEED;
  for (int i = 0; i < texts.n; i++)
    for (size_t at = 1; at + 1 < texts.n_bytes[i]; at++) {
      const char *text = texts.text[i];
      if (strspn(text + at, "0123456789") == 0 || text[at - 1] != ' ' || next_random(&random) % 3)
        continue;
      hd_strbuf changed = {0};
      hd_strbuf_addn(&changed, text, at);
      hd_strbuf_add(&changed, numbers[next_random(&random) % 7]);
      hd_strbuf_add(&changed, text + at + strspn(text + at, "0123456789"));
      digest(changed.text, changed.len);
      hd_strbuf_free(&changed);
    }
}

static void pure_noise_is_refused(void **state) {
  (void)state;
  uint64_t random = SEED;
  for (int i = 0; i < 500; i++) {
    char bytes[256];
    size_t n = next_random(&random) % sizeof bytes;
    for (size_t j = 0; j < n; j++)
      bytes[j] = (char)next_random(&random);
    assert_int_equal(digest(bytes, n), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_truncation_is_refused_or_sound),
      cmocka_unit_test(mutants_do_no_harm),
      cmocka_unit_test(extreme_numbers_do_no_harm),
      cmocka_unit_test(pure_noise_is_refused),
  };
  return cmocka_run_group_tests(tests, open_corpus, close_corpus);
}
