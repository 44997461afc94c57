/* Writes the generated C: constant tables, each shared array once. The order is by family, then by
 * name with numbers compared as numbers, so it does not depend on TableGen's order. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Spec/spelling.h"
#include "Support/hash.h"
#include "checked_records.h"

/* ---- order ---- */

static int compare_natural(const char *a, const char *b) {
  while (*a && *b) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      char *end_a, *end_b;
      unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
      if (x != y)
        return x < y ? -1 : 1;
      a = end_a;
      b = end_b;
    } else if (*a != *b) {
      return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    } else {
      a++;
      b++;
    }
  }
  return (*a != 0) - (*b != 0);
}

/* ORDER FAMILY */
static int family_rank(const record *row) {
  static const char *const order[] = {"MMA_SP",   "WGMMA_SP", "TCGEN05_SP", "LDMATRIX",
                                      "STMATRIX", "COPY",     "SYNC",       "TCGEN05"};
  for (int i = 0; i < (int)HD_COUNT(order); i++)
    if (!strcmp(order[i], record_string(row, "Family")))
      return i;
  return -1;
}

static int compare_rows(const void *a, const void *b) {
  const record *x = a, *y = b;
  int by_family = family_rank(x) - family_rank(y);
  return by_family ? by_family : compare_natural(x->name, y->name);
}

static int compare_records(const void *a, const void *b) {
  return compare_natural(((const record *)a)->name, ((const record *)b)->name);
}

/* All records of a class, sorted (owned). */
static record *collect(dump *d, const char *class_name, size_t *n,
                       int (*compare)(const void *, const void *)) {
  json_t *names = dump_instances(d, class_name);
  *n = json_array_size(names);
  record *all = hd_xmalloc((*n + 1) * sizeof *all);
  for (size_t i = 0; i < *n; i++)
    all[i] = dump_record(d, json_string_value(json_array_get(names, i)));
  qsort(all, *n, sizeof *all, compare);
  return all;
}

/* ---- shared arrays ---- */

/* Texts already written with a prefix; equal texts get the same name. */
typedef struct pool {
  const char *prefix, *type;
  char **text;
  size_t n, cap;
} pool;

/* The index of a text in the pool; writes its definition if it is new. Consumes text, which starts
 * with '[' if it initialises an array. */
static size_t intern(pool *p, char *text, hd_strbuf *out) {
  for (size_t i = 0; i < p->n; i++)
    if (!strcmp(p->text[i], text)) {
      free(text);
      return i;
    }
  hd_strbuf_printf(out, "static const %s %s_%zu%s = %s;\n", p->type, p->prefix, p->n,
                   text[0] == '[' ? "[]" : "", text[0] == '[' ? text + 1 : text);
  HD_PUSH(p->text, p->n, p->cap, text);
  return p->n - 1;
}

static void pool_free(pool *p) {
  for (size_t i = 0; i < p->n; i++)
    free(p->text[i]);
  free(p->text);
}

static void write_dims(const hd_layout_dim *dim, unsigned n, hd_strbuf *b) {
  hd_strbuf_add(b, "{");
  for (unsigned i = 0; i < n; i++)
    hd_strbuf_printf(b, "%s{\"%s\", %u}", i ? ", " : "", dim[i].name, dim[i].bits);
  hd_strbuf_add(b, "}");
}

static void write_layout(const hd_layout *map, hd_strbuf *b) {
  unsigned n_bits = 0;
  hd_strbuf_printf(b, "{.n_in = %u, .n_out = %u, .n_repeats = %u, .in = ", map->n_in, map->n_out,
                   map->n_repeats);
  write_dims(map->in, map->n_in, b);
  hd_strbuf_add(b, ", .out = ");
  write_dims(map->out, map->n_out, b);
  for (unsigned i = 0; i < map->n_in; i++)
    n_bits += map->in[i].bits;
  hd_strbuf_add(b, ", .column = {");
  for (unsigned i = 0; i < n_bits; i++)
    hd_strbuf_printf(b, "%s0x%x", i ? ", " : "", map->column[i]);
  hd_strbuf_add(b, "}, .repeat = {");
  for (unsigned i = 0; i < map->n_repeats; i++)
    hd_strbuf_printf(b, "%s{%u, %u, {%d, %d}}", i ? ", " : "", map->repeat[i].in_dim,
                     map->repeat[i].count, map->repeat[i].stride[0], map->repeat[i].stride[1]);
  if (!map->n_repeats)
    hd_strbuf_add(b, "{0, 0, {0}}");
  hd_strbuf_add(b, "}}");
}

/* An initialiser of hd_fragment (owned); NULL for NoFragment. */
static char *fragment_text(const record *r) {
  fragment f;
  hd_strbuf b = {0};
  if (record_is(r, "NoFragment") || !fragment_read(r, &f))
    return NULL;
  hd_strbuf_printf(
      &b,
      "{.space = %s, .field_bits = %ld, .n_regs = %ld, .rows = %ld, .cols = %ld,\n"
      "  .col_step = %ld, .n_lanes = %ld, .lane_mask = %ld, .broadcast = %d,\n  .map = ",
      word_space(f.space), f.bits, f.regs, f.rows, f.cols, f.unit, f.lanes, f.mask, f.broadcast);
  write_layout(&f.map, &b);
  hd_strbuf_add(&b, "}");
  return hd_strbuf_take(&b);
}

static char *avail_text(const record *row) {
  hd_strbuf b = {0};
  json_t *list = record_list(row, "Where");
  hd_strbuf_add(&b, "[{");
  for (size_t i = 0; i < json_array_size(list); i++) {
    record a = record_ref(row, json_array_get(list, i));
    hd_strbuf_printf(&b, "%s{HD_AVAIL_%s, %ld, %ld, %ld}", i ? ", " : "",
                     record_string(&a, "Kind"), record_int(&a, "Sm"), record_int(&a, "Ptx"),
                     record_int(&a, "Undefined"));
  }
  hd_strbuf_add(&b, "}");
  return hd_strbuf_take(&b);
}

static char *effects_text(const record *row) {
  hd_strbuf b = {0};
  json_t *list = record_list(row, "Effects");
  hd_strbuf_add(&b, "[{");
  for (size_t i = 0; i < json_array_size(list); i++) {
    record e = record_ref(row, json_array_get(list, i));
    hd_strbuf_printf(&b, "%s\n  {%s, %s, %s, %s, \"%s\"}", i ? "," : "",
                     word_space(record_string(&e, "Space")),
                     word_access(record_string(&e, "Access")),
                     word_proxy(record_string(&e, "Proxy")),
                     word_completion(record_string(&e, "Done")), record_string(&e, "What"));
  }
  hd_strbuf_add(&b, "}");
  return hd_strbuf_take(&b);
}

/* ---- rows ---- */

typedef struct writer {
  pool fragments, avails, effects;
  hd_strbuf *shared; /* definitions of the shared arrays */
  hd_strbuf rows;
} writer;

static const char *const operand_fields[] = {"A", "B", "C", "D", "Meta", "ScaleA", "ScaleB"};

/* The enumerator of an operand's type. */
static void write_elem(const record *operand, hd_strbuf *out) {
  const char *elem = record_string(operand, "Elem");
  hd_strbuf_add(out, "HEDDLE_");
  for (const char *c = *elem ? elem : "N_ELEMS"; *c; c++)
    hd_strbuf_printf(out, "%c", toupper((unsigned char)*c));
}

static void write_operands(writer *w, const record *row) {
  hd_strbuf_add(&w->rows, "  .operand = {");
  for (size_t i = 0; i < HD_COUNT(operand_fields); i++) {
    record op = record_def(row, operand_fields[i]);
    const char *reg = record_string(&op, "Reg");
    hd_strbuf_printf(&w->rows, "\n    {%s, ", word_space(record_string(&op, "Space")));
    write_elem(&op, &w->rows);
    if (*reg)
      hd_strbuf_printf(&w->rows, ", '%c', %ld},", *reg, record_int(&op, "Regs"));
    else
      hd_strbuf_printf(&w->rows, ", 0, %ld},", record_int(&op, "Regs"));
  }
  hd_strbuf_add(&w->rows, "},\n  .fragment = {");
  for (size_t i = 0; i < HD_COUNT(operand_fields); i++) {
    record op = record_def(row, operand_fields[i]), layout = record_def(&op, "Layout");
    char *text = fragment_text(&layout);
    if (text)
      hd_strbuf_printf(&w->rows, "&fragment_%zu, ", intern(&w->fragments, text, w->shared));
    else
      hd_strbuf_add(&w->rows, "NULL, ");
  }
  hd_strbuf_add(&w->rows, "},\n");
}

static void write_numbers(const record *row, hd_strbuf *b) {
  hd_strbuf_printf(b, "  .family = %s, .issuer = %s,\n",
                   word_family(record_string(row, "Family")),
                   word_issuer(record_string(row, "Issuer")));
  hd_strbuf_printf(b, "  .m = %ld, .n = %ld, .k = %ld, .ordered = %ld, .a_in_registers = %ld,\n",
                   record_int(row, "M"), record_int(row, "N"), record_int(row, "K"),
                   record_int(row, "Ordered"), record_int(row, "ARegisters"));
  hd_strbuf_printf(b, "  .cta_group = %ld, .scale_vec = %ld, .n_selectors = %ld,\n",
                   record_int(row, "CtaGroup"), record_int(row, "ScaleVec"),
                   record_int(row, "Selectors"));
  hd_strbuf_printf(
      b, "  .n_selectors_taken = %ld, .syntax_verified_by = %s, .layout_verified_by = %s,\n",
      record_int(row, "SelectorsTaken"),
      word_syntax_verified_by(record_string(row, "SyntaxVerifiedBy")),
      word_layout_verified_by(record_string(row, "LayoutVerifiedBy")));
}

static void write_row(writer *w, const record *row) {
  const char *llvm = record_string(row, "Llvm");
  hd_strbuf_printf(&w->rows, " {.name = \"%s\",\n  .ptx = \"%s\",\n  .operands = \"%s\",\n",
                   row->name, record_string(row, "Ptx"), record_string(row, "Operands"));
  if (*llvm)
    hd_strbuf_printf(&w->rows, "  .llvm_intrinsic = \"%s\",\n", llvm);
  hd_strbuf_printf(&w->rows, "  .source = \"%s\", .note = \"%s\", .kind = \"%s\",\n",
                   record_string(row, "Source"), record_string(row, "Note"),
                   record_string(row, "Kind"));
  write_numbers(row, &w->rows);
  write_operands(w, row);
  json_t *modifiers = record_list(row, "Modifiers");
  hd_strbuf_add(&w->rows, "  .modifiers = 0");
  for (size_t i = 0; i < json_array_size(modifiers); i++)
    hd_strbuf_printf(&w->rows, " | %s",
                     word_modifier(json_string_value(json_array_get(modifiers, i))));
  hd_strbuf_add(&w->rows, ",\n");
  size_t avail = intern(&w->avails, avail_text(row), w->shared);
  size_t effects = intern(&w->effects, effects_text(row), w->shared);
  hd_strbuf_printf(
      &w->rows, "  .n_avail = %zu, .avail = avail_%zu, .n_effects = %zu, .effect = effects_%zu},\n",
      json_array_size(record_list(row, "Where")), avail,
      json_array_size(record_list(row, "Effects")), effects);
}

/* ---- the index by text ---- */

/* A row's text, and its index in hd_spec_rows. */
typedef struct text_entry {
  const char *text;
  long from_registers; /* among equal texts, rows with A by descriptor come first */
  size_t at;
} text_entry;

static int compare_texts(const void *a, const void *b) {
  const text_entry *x = a, *y = b;
  int by_text = strcmp(x->text, y->text);
  if (by_text)
    return by_text;
  if (x->from_registers != y->from_registers)
    return x->from_registers < y->from_registers ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* Sorted by a text field, or by the name of the record (field NULL). */
static void write_index(const record *rows, size_t n, const char *index, const char *field,
                        hd_strbuf *out) {
  text_entry *entry = hd_xmalloc((n + 1) * sizeof *entry);
  for (size_t i = 0; i < n; i++)
    entry[i] = (text_entry){field ? record_string(&rows[i], field) : rows[i].name,
                            record_int(&rows[i], "ARegisters"), i};
  qsort(entry, n, sizeof *entry, compare_texts);
  hd_strbuf_printf(out, "const uint16_t %s[] = {", index);
  for (size_t i = 0; i < n; i++)
    hd_strbuf_printf(out, "%s%zu", i == 0 ? "" : i % 16 ? ", " : ",\n  ", entry[i].at);
  hd_strbuf_add(out, "};\n\n");
  free(entry);
}

/* ---- the index by spelling ---- */

typedef struct spelling_entry {
  uint64_t key;
  size_t at;
} spelling_entry;

static int compare_spellings(const void *a, const void *b) {
  const spelling_entry *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static void write_spellings(const record *rows, size_t n, hd_strbuf *out) {
  spelling_entry *entry = hd_xmalloc((2 * n + 1) * sizeof *entry);
  size_t n_entries = 0;
  for (size_t i = 0; i < n; i++) {
    const char *text = record_string(&rows[i], "Ptx");
    entry[n_entries++] = (spelling_entry){hd_spelling_key(text, NULL), i};
    if (!strncmp(text, "wgmma.", 6)) /* ptxas also accepts it without .aligned */
      entry[n_entries++] = (spelling_entry){hd_spelling_key(text, "aligned"), i};
  }
  qsort(entry, n_entries, sizeof *entry, compare_spellings);
  hd_strbuf_printf(out, "const size_t hd_spec_n_spellings = %zu;\n", n_entries);
  hd_strbuf_add(out, "const hd_spelling hd_spec_spellings[] = {");
  for (size_t i = 0; i < n_entries; i++)
    hd_strbuf_printf(out, "%s{0x%llxu, %zu}", i == 0 ? "" : i % 4 ? ", " : ",\n  ",
                     (unsigned long long)entry[i].key, entry[i].at);
  hd_strbuf_add(out, "};\n\n");
  free(entry);
}

static void write_rows(dump *d, hd_strbuf *out) {
  writer w = {.fragments = {.prefix = "fragment", .type = "hd_fragment"},
              .avails = {.prefix = "avail", .type = "hd_avail"},
              .effects = {.prefix = "effects", .type = "hd_effect"},
              .shared = out};
  size_t n;
  record *rows = collect(d, "Row", &n, compare_rows);
  for (size_t i = 0; i < n; i++)
    write_row(&w, &rows[i]);
  hd_strbuf_printf(
      out, "\nconst size_t hd_spec_n_rows = %zu;\nconst hd_spec_row hd_spec_rows[] = {\n", n);
  hd_strbuf_add(out, hd_strbuf_text(&w.rows));
  hd_strbuf_add(out, "};\n\n");
  write_index(rows, n, "hd_spec_by_ptx", "Ptx", out);
  write_index(rows, n, "hd_spec_by_name", NULL, out);
  write_spellings(rows, n, out);
  hd_strbuf_free(&w.rows);
  pool_free(&w.fragments);
  pool_free(&w.avails);
  pool_free(&w.effects);
  free(rows);
}

/* In the order of the rows, which it follows from: hd_spec_tables_hash does not cover it. */
static void write_mma_keys(dump *d, hd_strbuf *out) {
  static const char *const types[] = {"A", "B", "D"};
  size_t n;
  record *rows = collect(d, "Row", &n, compare_rows);
  hd_strbuf_add(out, "const uint64_t hd_spec_mma_keys[] = {\n");
  for (size_t i = 0; i < n; i++) {
    hd_strbuf_printf(out, "  HD_MMA_KEY(%ld", record_int(&rows[i], "N"));
    for (size_t t = 0; t < HD_COUNT(types); t++) {
      record op = record_def(&rows[i], types[t]);
      hd_strbuf_add(out, ", ");
      write_elem(&op, out);
    }
    hd_strbuf_add(out, "),\n");
  }
  hd_strbuf_add(out, "};\n");
  free(rows);
}

/* ---- targets and descriptors ---- */

static void write_targets(dump *d, hd_strbuf *out) {
  size_t n;
  record *targets = collect(d, "Target", &n, compare_records);
  hd_strbuf_printf(
      out, "const size_t hd_spec_n_targets = %zu;\nconst hd_target hd_spec_targets[] = {\n", n);
  for (size_t i = 0; i < n; i++) {
    const record *t = &targets[i];
    const char *suffix = record_string(t, "Suffix");
    char letter[4] = "0";
    if (*suffix)
      snprintf(letter, sizeof letter, "'%c'", *suffix);
    hd_strbuf_printf(
        out,
        " {.name = \"%s\", .formerly = \"%s\", .sm = %ld, .suffix = %s, .family = %ld,\n"
        "  .min_ptx = %ld, .taken_ptx = %ld,\n",
        t->name, record_string(t, "Formerly"), record_int(t, "Sm"), letter, record_int(t, "Family"),
        record_int(t, "MinPtx"), record_int(t, "TakenPtx"));
    hd_strbuf_printf(out, "  .llvm_ptx = %ld,\n", record_int(t, "LlvmPtx"));
    hd_strbuf_printf(
        out, "  .shared_per_block = %ld, .shared_per_sm = %ld, .registers_per_sm = %ld,\n",
        record_int(t, "SharedBlock"), record_int(t, "SharedSm"), record_int(t, "Registers"));
    hd_strbuf_printf(out, "  .max_registers_per_thread = %ld, .max_threads_per_sm = %ld,\n",
                     record_int(t, "MaxRegisters"), record_int(t, "MaxThreads"));
    hd_strbuf_printf(out, "  .has_tma = %ld, .has_cluster = %ld,\n", record_int(t, "Tma"),
                     record_int(t, "Cluster"));
    hd_strbuf_printf(out, "  .tensor_columns = %ld},\n", record_int(t, "TensorColumns"));
  }
  hd_strbuf_add(out, "};\n\n");
  free(targets);
}

static uint64_t defined_mask(const record *field) {
  json_t *list = record_list(field, "Defined");
  uint64_t mask = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_int_t value = json_integer_value(json_array_get(list, i));
    if (value < 0 || value > 63)
      record_error(field, "Defined: %lld is not below 64", (long long)value);
    else
      mask |= (uint64_t)1 << value;
  }
  return mask;
}

static void write_fields(const record *descriptor, hd_strbuf *out) {
  json_t *list = record_list(descriptor, "Fields");
  hd_strbuf_printf(out, "static const hd_field fields_%s[] = {\n", descriptor->name);
  for (size_t i = 0; i < json_array_size(list); i++) {
    record f = record_ref(descriptor, json_array_get(list, i));
    hd_strbuf_printf(out, "  {\"%s\", \"%s\", %ld, %ld, %ld, ", record_string(&f, "Name"),
                     record_string(&f, "Text"), record_int(&f, "Lo"), record_int(&f, "Hi"),
                     record_int(&f, "Shift"));
    if (record_int(&f, "Fixed") < 0)
      hd_strbuf_add(out, "UINT64_MAX");
    else
      hd_strbuf_printf(out, "%ld", record_int(&f, "Fixed"));
    hd_strbuf_printf(out, ", 0x%llxu},\n", (unsigned long long)defined_mask(&f));
  }
  hd_strbuf_add(out, "};\n");
}

static void write_descriptors(dump *d, hd_strbuf *out) {
  size_t n;
  record *all = collect(d, "Descriptor", &n, compare_records);
  for (size_t i = 0; i < n; i++)
    write_fields(&all[i], out);
  hd_strbuf_printf(out, "const size_t hd_spec_n_descriptors = %zu;\n", n);
  hd_strbuf_add(out, "const hd_descriptor hd_spec_descriptors[] = {\n");
  for (size_t i = 0; i < n; i++)
    hd_strbuf_printf(out, "  {\"%s\", \"%s\", %ld, %zu, fields_%s},\n", all[i].name,
                     record_string(&all[i], "Source"), record_int(&all[i], "Bits"),
                     json_array_size(record_list(&all[i], "Fields")), all[i].name);
  hd_strbuf_add(out, "};\n\n");
  free(all);
}

void tables_write(dump *d, hd_strbuf *out) {
  hd_strbuf_add(out, "/* Generated by heddle-tblgen from specs/. Do not edit. */\n"
                     "#include \"Spec/tables.h\"\n\n");
  write_rows(d, out);
  write_targets(d, out);
  write_descriptors(d, out);
  hd_hash hash = hd_hash_bytes(out->text, out->len);
  hd_strbuf_printf(out, "const uint64_t hd_spec_tables_hash[2] = {0x%llxu, 0x%llxu};\n",
                   (unsigned long long)hash.lo, (unsigned long long)hash.hi);
  write_mma_keys(d, out);
}
