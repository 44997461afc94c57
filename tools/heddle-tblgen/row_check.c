/* Rows: the words of the schema, and the rules for every row. */
#include <string.h>

#include "checked_records.h"

typedef struct word {
  const char *text, *enumerator;
} word;

static const char *find_word(const word *table, size_t n, const char *text) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(table[i].text, text))
      return table[i].enumerator;
  return NULL;
}

#define WORDS(name, ...)                                                                           \
  const char *word_##name(const char *text) {                                                      \
    static const word table[] = {__VA_ARGS__};                                                     \
    return find_word(table, sizeof table / sizeof *table, text);                                   \
  }

WORDS(family, {"MMA_SP", "HD_FAMILY_MMA_SP"}, {"WGMMA_SP", "HD_FAMILY_WGMMA_SP"},
      {"TCGEN05_SP", "HD_FAMILY_TCGEN05_SP"}, {"LDMATRIX", "HD_FAMILY_LDMATRIX"},
      {"STMATRIX", "HD_FAMILY_STMATRIX"}, {"COPY", "HD_FAMILY_COPY"}, {"SYNC", "HD_FAMILY_SYNC"},
      {"TCGEN05", "HD_FAMILY_TCGEN05"})
WORDS(issuer, {"thread", "HD_ISSUER_THREAD"}, {"warp", "HD_ISSUER_WARP"},
      {"warpgroup", "HD_ISSUER_WARPGROUP"}, {"cta_pair", "HD_ISSUER_CTA_PAIR"})
WORDS(completion, {"none", "HD_COMPLETION_NONE"}, {"register", "HD_COMPLETION_REGISTER"},
      {"wgmma_group", "HD_COMPLETION_WGMMA_GROUP"}, {"mbarrier", "HD_COMPLETION_MBARRIER"},
      {"async_group", "HD_COMPLETION_ASYNC_GROUP"}, {"bulk_group", "HD_COMPLETION_BULK_GROUP"},
      {"tcgen05_wait", "HD_COMPLETION_TCGEN05_WAIT"})
WORDS(space, {"none", "HD_SPACE_NONE"}, {"register", "HD_SPACE_REGISTER"},
      {"shared", "HD_SPACE_SHARED"}, {"tensor", "HD_SPACE_TENSOR"}, {"global", "HD_SPACE_GLOBAL"},
      {"cluster", "HD_SPACE_CLUSTER"})
WORDS(proxy, {"generic", "HD_PROXY_GENERIC"}, {"async", "HD_PROXY_ASYNC"},
      {"tensor", "HD_PROXY_TENSOR"})
WORDS(access, {"read", "HD_ACCESS_READ"}, {"write", "HD_ACCESS_WRITE"},
      {"order", "HD_ACCESS_ORDER"})
WORDS(modifier, {"SATFINITE", "HD_MOD_SATFINITE"}, {"SCALE_D", "HD_MOD_SCALE_D"},
      {"NEGATE_A", "HD_MOD_NEGATE_A"}, {"NEGATE_B", "HD_MOD_NEGATE_B"},
      {"TRANS_A", "HD_MOD_TRANS_A"}, {"TRANS_B", "HD_MOD_TRANS_B"},
      {"SCALE_VEC", "HD_MOD_SCALE_VEC"}, {"COLLECTOR", "HD_MOD_COLLECTOR"},
      {"ASHIFT", "HD_MOD_ASHIFT"}, {"DISABLE_LANE", "HD_MOD_DISABLE_LANE"},
      {"SCALE_INPUT_D", "HD_MOD_SCALE_INPUT_D"})
WORDS(syntax_verified_by, {"ptxas", "HD_VERIFIED_BY_PTXAS"}, {"none", "HD_VERIFIED_BY_NONE"})
WORDS(layout_verified_by, {"h200", "HD_VERIFIED_BY_H200"},
      {"two", "HD_VERIFIED_BY_TWO_TRANSCRIPTIONS"}, {"none", "HD_VERIFIED_BY_NONE"})

static void check_word(const record *row, const char *field,
                       const char *(*find)(const char *text)) {
  const char *text = record_string(row, field);
  if (!find(text))
    record_error(row, "%s: unknown word '%s'", field, text);
}

static void check_words(const record *row) {
  check_word(row, "Family", word_family);
  check_word(row, "Issuer", word_issuer);
  check_word(row, "SyntaxVerifiedBy", word_syntax_verified_by);
  check_word(row, "LayoutVerifiedBy", word_layout_verified_by);
  json_t *modifiers = record_list(row, "Modifiers");
  for (size_t i = 0; i < json_array_size(modifiers); i++)
    if (!word_modifier(json_string_value(json_array_get(modifiers, i))))
      record_error(row, "Modifiers: unknown word '%s'",
                   json_string_value(json_array_get(modifiers, i)));
}

/* Every row has a source, effects, targets and text. */
static void check_present(const record *row) {
  static const char *const strings[] = {"Ptx", "Source"};
  static const char *const lists[] = {"Where", "Effects"};
  for (unsigned i = 0; i < 2; i++)
    if (!*record_string(row, strings[i]))
      record_error(row, "%s is empty", strings[i]);
  for (unsigned i = 0; i < 2; i++)
    if (json_array_size(record_list(row, lists[i])) == 0)
      record_error(row, "%s is empty", lists[i]);
}

static void check_effects(const record *row) {
  json_t *list = record_list(row, "Effects");
  for (size_t i = 0; i < json_array_size(list); i++) {
    record effect = record_ref(row, json_array_get(list, i));
    check_word(&effect, "Space", word_space);
    check_word(&effect, "Access", word_access);
    check_word(&effect, "Proxy", word_proxy);
    check_word(&effect, "Done", word_completion);
  }
}

/* Checks the size of an operand's fragment: rows x columns; 0: any. */
static void check_operand(const record *row, const char *field, long rows, long cols) {
  record op = record_def(row, field);
  record layout = record_def(&op, "Layout");
  if (!word_space(record_string(&op, "Space")))
    record_error(row, "%s: unknown space", field);
  if (record_is(&layout, "NoFragment"))
    return;
  if (record_int(&layout, "Regs") != record_int(&op, "Regs") &&
      strcmp(record_string(&op, "Space"), "register") == 0)
    record_error(row, "%s: %ld registers, its fragment has %ld", field, record_int(&op, "Regs"),
                 record_int(&layout, "Regs"));
  if (rows && (record_int(&layout, "Rows") != rows || record_int(&layout, "Cols") != cols))
    record_error(row, "%s: fragment %ld x %ld, the shape wants %ld x %ld", field,
                 record_int(&layout, "Rows"), record_int(&layout, "Cols"), rows, cols);
}

static void check_operands(const record *row) {
  const char *family = record_string(row, "Family");
  bool mma = !strcmp(family, "MMA_SP") || !strcmp(family, "WGMMA_SP");
  long m = mma ? record_int(row, "M") : 0, n = record_int(row, "N"), k = record_int(row, "K");
  long vec = record_int(row, "ScaleVec");
  check_operand(row, "A", m, k / 2);
  check_operand(row, "B", mma ? k : 0, n);
  check_operand(row, "C", m, n);
  check_operand(row, "D", m, n);
  check_operand(row, "Meta", m, k);
  check_operand(row, "ScaleA", m, vec);
  check_operand(row, "ScaleB", mma ? vec : 0, n);
}

/* Checks that one lane contributes per value of the masked lane bits: 2 bits = 4 selectors. */
static void check_selectors(const record *row) {
  record meta = record_def(row, "Meta"), layout = record_def(&meta, "Layout");
  long mask = record_int(&layout, "Mask"), values = mask == 3 ? 4 : mask == 2 ? 2 : 1;
  /* In tensor memory, a selector is a column, and skipped lanes depend on M. */
  if (record_is(&layout, "NoFragment") || !strcmp(record_string(&layout, "Space"), "tensor"))
    return;
  if (record_int(row, "Selectors") != values)
    record_error(row, "Selectors is %ld, the metadata layout has %ld", record_int(row, "Selectors"),
                 values);
}

void row_check(const record *row) {
  check_words(row);
  check_present(row);
  check_effects(row);
  check_operands(row);
  check_selectors(row);
}
