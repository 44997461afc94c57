#include "suite_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/lines.h"

static const char *const names[N_CASE_KEYS] = {
#define CASE_KEY(name, otherwise, about) #name,
#include "suite_case.def"
#undef CASE_KEY
};

static const char *const defaults[N_CASE_KEYS] = {
#define CASE_KEY(name, otherwise, about) otherwise,
#include "suite_case.def"
#undef CASE_KEY
};

int64_t suite_case_int(const suite_case *c, case_key key) {
  return strtoll(c->value[key], NULL, 10);
}

bool suite_case_is(const suite_case *c, case_key key, const char *value) {
  return !strcmp(c->value[key], value);
}

void suite_list_free(suite_list *list) {
  free(list->cases);
  hd_arena_free(&list->arena);
}

/* ---- reading ---- */

enum { MAX_ALTERNATIVES = 16 };

/* A line: the alternatives for each key. */
typedef struct line {
  const char *alternative[N_CASE_KEYS][MAX_ALTERNATIVES];
  int n[N_CASE_KEYS];
} line;

static int find_key(const char *word, size_t len) {
  for (int i = 0; i < N_CASE_KEYS; i++)
    if (strlen(names[i]) == len && !memcmp(names[i], word, len))
      return i;
  return -1;
}

static heddle_status read_word(heddle_context *ctx, hd_loc loc, hd_arena *arena, const char *word,
                               line *l) {
  size_t len = strcspn(word, "=");
  int key = find_key(word, len);
  if (key < 0 || word[len] != '=')
    return hd_error(ctx, HEDDLE_INVALID, loc, "case.key", "got '%s', no KEY=VALUE of a case", word);
  l->n[key] = 0;
  for (const char *at = word + len; *at;) {
    size_t n = strcspn(++at, ",");
    if (l->n[key] == MAX_ALTERNATIVES)
      return hd_error(ctx, HEDDLE_INVALID, loc, "case.list", "more than %d values of '%s'",
                      MAX_ALTERNATIVES, names[key]);
    l->alternative[key][l->n[key]++] = hd_arena_strndup(arena, at, n);
    at += n;
  }
  return HEDDLE_OK;
}

/* Every combination; the last key varies fastest. */
static void expand(const line *l, suite_list *list) {
  int at[N_CASE_KEYS] = {0};
  for (int key = 0; key >= 0;) {
    suite_case c;
    for (int i = 0; i < N_CASE_KEYS; i++)
      c.value[i] = l->alternative[i][at[i]];
    HD_PUSH(list->cases, list->n, list->cap, c);
    for (key = N_CASE_KEYS - 1; key >= 0 && ++at[key] == l->n[key]; key--)
      at[key] = 0;
  }
}

static heddle_status read_line(heddle_context *ctx, hd_loc loc, char *text, suite_list *list) {
  line l;
  for (int i = 0; i < N_CASE_KEYS; i++) {
    l.alternative[i][0] = defaults[i];
    l.n[i] = 1;
  }
  char *rest = NULL;
  for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
    HD_TRY(read_word(ctx, loc, &list->arena, word, &l));
  expand(&l, list);
  return HEDDLE_OK;
}

heddle_status suite_list_read(heddle_context *ctx, const char *file, const char *text,
                              suite_list *list) {
  hd_lines lines = hd_lines_of(file, hd_arena_strdup(&list->arena, text));
  for (char *entry; (entry = hd_lines_next_entry(&lines));)
    HD_TRY(read_line(ctx, lines.loc, entry, list));
  return HEDDLE_OK;
}

/* ---- writing ---- */

void suite_case_print(const suite_case *c, hd_strbuf *out) {
  for (int i = 0; i < N_CASE_KEYS; i++)
    if (strcmp(c->value[i], defaults[i]))
      hd_strbuf_printf(out, "%s%s=%s", out->len ? " " : "", names[i], c->value[i]);
}

static int64_t smaller(int64_t size, int64_t most) {
  return size <= most ? size : most - 64 + size % 64;
}

static bool has_4_bits(const suite_case *c) {
  return suite_case_is(c, CASE_type, "e2m1p") || suite_case_is(c, CASE_type, "s4") ||
         suite_case_is(c, CASE_type, "u4");
}

static int64_t k_block_of(const suite_case *c) {
  return has_4_bits(c) ? 256 : 128;
}

/* Two k-blocks of 8-bit types, and one k-block per split. */
static int64_t most_k(const suite_case *c) {
  const char *split = strstr(c->value[CASE_s], "split_k=");
  long n = split ? strtol(split + strlen("split_k="), NULL, 10) : 1;
  return n > 2 ? k_block_of(c) * n : n > 1 ? k_block_of(c) * 2 : 256;
}

void suite_case_shrink(suite_list *list, suite_case *c) {
  const struct {
    case_key key;
    int64_t most;
  } sizes[] = {{CASE_m, 192}, {CASE_n, 192}, {CASE_k, most_k(c)}};
  for (size_t i = 0; i < HD_COUNT(sizes); i++)
    c->value[sizes[i].key] =
        hd_arena_printf(&list->arena, "%lld",
                        (long long)smaller(suite_case_int(c, sizes[i].key), sizes[i].most));
}

void suite_case_schedule(const suite_case *c, hd_strbuf *text) {
  hd_strbuf_add(text, c->value[CASE_s]);
  for (size_t i = 0; i < text->len; i++)
    if (text->text[i] == ';')
      text->text[i] = ' ';
}

/* ---- the problem ---- */

static bool is_pair(const suite_case *c) { return hd_act_is_pair(c->value[CASE_act]); }

static bool is_grouped(const suite_case *c) { return !suite_case_is(c, CASE_routing, "none"); }

static bool gathers(const suite_case *c) {
  return suite_case_int(c, CASE_t) != 0 && suite_case_int(c, CASE_gather) != 0;
}

static void print_size(const suite_case *c, case_key key, hd_strbuf *out) {
  bool dynamic = strchr(c->value[CASE_dyn], names[key][0]) && !suite_case_is(c, CASE_dyn, "none");
  hd_strbuf_printf(out, "  %%%s: i32 = size {dim = %s, ", names[key], names[key]);
  if (dynamic)
    hd_strbuf_printf(out, "max = %s%s}\n", key == CASE_g && is_grouped(c) ? "256" : "65536",
                     key == CASE_k                 ? ", divisible_by = 4"
                     : key == CASE_m && is_pair(c) ? ", divisible_by = 16"
                                                   : "");
  else
    hd_strbuf_printf(out, "value = %s}\n", c->value[key]);
}

/* ", ld = N" for an operand with rows of `row` elements, if the text fixes the pitch. */
static void print_pitch(const suite_case *c, case_key pad, int64_t row, hd_strbuf *out) {
  if (suite_case_is(c, CASE_pitch, "text"))
    hd_strbuf_printf(out, ", ld = %lld", (long long)(row + suite_case_int(c, pad)));
}

static int64_t row_b(const suite_case *c) {
  return suite_case_int(c, suite_case_is(c, CASE_b, "mn") ? CASE_n : CASE_k);
}
static int64_t row_c(const suite_case *c) {
  return suite_case_int(c, suite_case_is(c, CASE_c, "col") ? CASE_m : CASE_n);
}
static int64_t row_d(const suite_case *c) {
  bool col = suite_case_is(c, CASE_d, "col");
  return suite_case_int(c, col ? CASE_m : CASE_n) / (col && is_pair(c) ? 2 : 1);
}

static void print_scale(const suite_case *c, case_key key, const char *name, const char *length,
                        hd_strbuf *out) {
  if (!suite_case_is(c, key, "none"))
    hd_strbuf_printf(out, "  %%%s: matrix<f32> = vector%s {type = f32, operand = %s%s}\n", name,
                     suite_case_is(c, key, "one") ? "" : length, name,
                     suite_case_is(c, key, "sumsq") ? ", statistic = sumsq" : "");
}

/* ---- batches ---- */

static int64_t rows_b(const suite_case *c) {
  return suite_case_int(c, suite_case_is(c, CASE_b, "mn") ? CASE_k : CASE_n);
}
static int64_t rows_d(const suite_case *c) {
  return suite_case_int(c, suite_case_is(c, CASE_d, "col") ? CASE_n : CASE_m);
}
static int64_t stride_b(const suite_case *c) {
  return rows_b(c) * (row_b(c) + suite_case_int(c, CASE_ldb));
}
static int64_t stride_d(const suite_case *c) {
  return rows_d(c) * (row_d(c) + suite_case_int(c, CASE_ldd));
}

/* ", g_stride = 0" for an operand that is shared in the text; with gs=text the constant. */
static void print_stride(const suite_case *c, const char *shared, int64_t constant,
                         hd_strbuf *out) {
  if (suite_case_is(c, CASE_gs, shared))
    hd_strbuf_add(out, ", g_stride = 0");
  else if (constant && suite_case_is(c, CASE_gs, "text"))
    hd_strbuf_printf(out, ", g_stride = %lld", (long long)constant);
}

static void request_strides(const suite_case *c, trial_request *r) {
  enum { PAD = 16, PACKED = 1 << 18 };
  static const hd_arg_kind inputs[] = {HD_ARG_STRIDE_C, HD_ARG_STRIDE_BIAS, HD_ARG_STRIDE_SCALE_A,
                                       HD_ARG_STRIDE_SCALE_B};
  bool padded = suite_case_is(c, CASE_gs, "padded");
  r->size[HD_ARG_G] = suite_case_int(c, CASE_g);
  if (suite_case_is(c, CASE_gs, "share_a"))
    r->size[HD_ARG_STRIDE_A] = TRIAL_SHARED;
  if (suite_case_is(c, CASE_gs, "share_b"))
    r->size[HD_ARG_STRIDE_B] = TRIAL_SHARED;
  if (suite_case_is(c, CASE_gs, "odd"))
    r->size[HD_ARG_STRIDE_B] = stride_b(c) + 1;
  for (size_t i = 0; i < HD_COUNT(inputs) && suite_case_is(c, CASE_gs, "share_in"); i++)
    r->size[inputs[i]] = TRIAL_SHARED;
  for (size_t i = 0; i < HD_COUNT(inputs) && padded; i++)
    r->size[inputs[i]] = PACKED + (int64_t)i;
  if (padded) {
    r->size[HD_ARG_STRIDE_A] = PACKED;
    r->size[HD_ARG_STRIDE_B] = stride_b(c) + PAD;
    r->size[HD_ARG_STRIDE_D] = stride_d(c) + PAD;
  }
  if (suite_case_is(c, CASE_gs, "between")) {
    r->size[HD_ARG_STRIDE_D] = row_d(c);
    r->size[HD_ARG_LDD] = r->size[HD_ARG_G] * row_d(c) + suite_case_int(c, CASE_ldd);
    if (r->size[HD_ARG_LDAUX]) {
      r->size[HD_ARG_STRIDE_AUX] = row_d(c);
      r->size[HD_ARG_LDAUX] = r->size[HD_ARG_G] * row_d(c) + suite_case_int(c, CASE_ldaux);
    }
  }
}

static int64_t block_of(const suite_case *c) {
  const char *block = strchr(c->value[CASE_blocks], ':');
  return block ? strtoll(block + 1, NULL, 10) : 0;
}

/* Rows of A that share a scale. */
static int64_t block_rows_of(const suite_case *c) {
  const char *rows = strrchr(c->value[CASE_blocks], ':');
  return rows && rows != strchr(c->value[CASE_blocks], ':') ? strtoll(rows + 1, NULL, 10) : 1;
}

/* Scales of one k-block for n rows, rounded up to 16 bytes, plus the extra pitch of the case. */
static int64_t row_scales(const suite_case *c, case_key rows) {
  int64_t each = block_of(c) ? k_block_of(c) / block_of(c) : 0;
  int64_t share = rows == CASE_m ? block_rows_of(c) : 1;
  int64_t unit = strncmp(c->value[CASE_blocks], "f32:", 4) == 0 ? 4 : 16;
  int64_t n = (suite_case_int(c, rows) + share - 1) / share * each;
  return (n + unit - 1) / unit * unit + suite_case_int(c, CASE_lds);
}

/* The size that says how many scales of B a k-block has. */
static case_key scales_of_b(const suite_case *c) { return gathers(c) ? CASE_t : CASE_n; }

static void print_block_scales(const suite_case *c, hd_strbuf *out) {
  const struct {
    case_key rows;
    const char *operand;
  } scales[] = {{CASE_m, "a"}, {scales_of_b(c), "b"}};
  const char *type = c->value[CASE_blocks];
  int len = (int)strcspn(type, ":");
  for (size_t i = 0; block_of(c) && i < HD_COUNT(scales); i++) {
    hd_strbuf_printf(out,
                     "  %%s%s: matrix<%.*s> = block_scale %%%s, %%k {type = %.*s, operand = %s, "
                     "block = %lld",
                     scales[i].operand, len, type,
                     names[scales[i].rows], len, type,
                     scales[i].operand, (long long)block_of(c));
    if (i == 0 && block_rows_of(c) > 1)
      hd_strbuf_printf(out, ", rows = %lld", (long long)block_rows_of(c));
    if (suite_case_is(c, CASE_pitch, "text"))
      hd_strbuf_printf(out, ", ld = %lld", (long long)row_scales(c, scales[i].rows));
    hd_strbuf_add(out, "}\n");
  }
}

static void print_matmul(const suite_case *c, hd_strbuf *out) {
  const char *acc = c->value[CASE_acc];
  hd_strbuf_printf(out, "  %%x: matrix<%s> = matmul %%a, %%b%s {acc = %s", acc,
                   block_of(c) ? ", %sa, %sb" : "", acc);
  if (!suite_case_is(c, CASE_kind, "any"))
    hd_strbuf_printf(out, ", kind = %s", c->value[CASE_kind]);
  hd_strbuf_add(out, "}\n");
}

static void print_operands(const suite_case *c, hd_strbuf *out) {
  const char *type = c->value[CASE_type];
  const char *b = suite_case_is(c, CASE_btype, "same") ? type : c->value[CASE_btype];
  hd_strbuf_printf(out, "  %%a: matrix<%s> = sparse %%m, %%k {type = %s", type, type);
  print_stride(c, "text_a", 0, out);
  hd_strbuf_add(out, "}\n");
  hd_strbuf_printf(out, "  %%b: matrix<%s> = dense %%k, %%%s {type = %s, operand = b, order = %s",
                   b, gathers(c) ? "t" : "n", b,
                   suite_case_is(c, CASE_b, "mn") ? "mn_major" : "k_major");
  print_pitch(c, CASE_ldb, row_b(c), out);
  print_stride(c, "text_b", stride_b(c), out);
  hd_strbuf_add(out, "}\n");
  if (!suite_case_is(c, CASE_c, "none")) {
    hd_strbuf_printf(out,
                     "  %%c: matrix<%s> = dense %%m, %%n {type = %s, operand = c, order = %s_major",
                     c->value[CASE_ctype], c->value[CASE_ctype], c->value[CASE_c]);
    print_pitch(c, CASE_ldc, row_c(c), out);
    hd_strbuf_add(out, "}\n");
  }
  if (!suite_case_is(c, CASE_bias, "none"))
    hd_strbuf_printf(out, "  %%bias: matrix<%s> = vector %%%s {type = %s, operand = bias}\n",
                     c->value[CASE_biastype], c->value[CASE_bias], c->value[CASE_biastype]);
  print_scale(c, CASE_sa, "scale_a", " %m", out);
  print_scale(c, CASE_sb, "scale_b", " %n", out);
  print_block_scales(c, out);
}

static bool has_epilogue(const suite_case *c) {
  return !suite_case_is(c, CASE_act, "none") || !suite_case_is(c, CASE_c, "none") ||
         !suite_case_is(c, CASE_bias, "none") || suite_case_is(c, CASE_alpha, "1") ||
         !suite_case_is(c, CASE_sa, "none") || !suite_case_is(c, CASE_sb, "none");
}

static void print_epilogue(const suite_case *c, hd_strbuf *out) {
  bool has_c = !suite_case_is(c, CASE_c, "none"), has_bias = !suite_case_is(c, CASE_bias, "none");
  bool has_sa = !suite_case_is(c, CASE_sa, "none"), has_sb = !suite_case_is(c, CASE_sb, "none");
  hd_strbuf_printf(out, "  %%y: matrix<%s> = epilogue %%x%s%s%s%s {act = %s", c->value[CASE_acc],
                   has_c ? ", %c" : "", has_bias ? ", %bias" : "", has_sa ? ", %scale_a" : "",
                   has_sb ? ", %scale_b" : "", c->value[CASE_act]);
  if (suite_case_is(c, CASE_alpha, "1"))
    hd_strbuf_add(out, ", alpha");
  if (suite_case_is(c, CASE_beta, "1"))
    hd_strbuf_add(out, ", beta");
  hd_strbuf_printf(out, "%s%s%s%s%s}\n", has_c ? ", c" : "", has_bias ? ", bias" : "",
                   has_sa ? ", scale_a" : "", has_sb ? ", scale_b" : "",
                   suite_case_is(c, CASE_act, "user")        ? ", user = \"hard_swish\""
                   : suite_case_is(c, CASE_act, "user_pair") ? ", user = \"gated\""
                                                             : "");
}

static void print_indices(const suite_case *c, hd_strbuf *out) {
  const struct {
    bool there;
    const char *name, *length;
  } indices[] = {{is_grouped(c), "offsets", ""},
                 {gathers(c), "gather_b", " %n"},
                 {suite_case_int(c, CASE_scatter) != 0, "scatter_d", " %n"}};
  for (size_t i = 0; i < HD_COUNT(indices); i++)
    if (indices[i].there)
      hd_strbuf_printf(out, "  %%%s: matrix<s32> = vector%s {type = s32, operand = %s}\n",
                       indices[i].name, indices[i].length, indices[i].name);
  if (suite_case_int(c, CASE_combine))
    hd_strbuf_printf(out,
                     "  %%combine_d: matrix<s32> = vector %%t {type = s32, operand = combine_d, "
                     "slots = %s}\n",
                     c->value[CASE_combine]);
}

void suite_case_problem(const suite_case *c, hd_strbuf *out) {
  hd_strbuf_printf(out,
                   "module version=1 level=problem sync=none\n\n"
                   "kernel {name = \"suite\", target = \"%s\"%s%s} {\n",
                   c->value[CASE_target],
                   suite_case_is(c, CASE_launch, "stream") ? "" : ", dependent",
                   suite_case_is(c, CASE_launch, "weights_ready") ? ", weights_ready" : "");
  if (suite_case_int(c, CASE_g))
    print_size(c, CASE_g, out);
  print_size(c, CASE_m, out);
  print_size(c, CASE_n, out);
  print_size(c, CASE_k, out);
  if (suite_case_int(c, CASE_t))
    print_size(c, CASE_t, out);
  print_operands(c, out);
  print_indices(c, out);
  print_matmul(c, out);
  if (has_epilogue(c))
    print_epilogue(c, out);
  hd_strbuf_printf(out, "  store %%%s {type = %s, order = %s_major", has_epilogue(c) ? "y" : "x",
                   c->value[CASE_out], c->value[CASE_d]);
  print_pitch(c, CASE_ldd, row_d(c), out);
  print_stride(c, "text_d", stride_d(c), out);
  bool scales = suite_case_is(c, CASE_reduce, "scale");
  if (!suite_case_is(c, CASE_reduce, "none"))
    hd_strbuf_printf(out, ", reduce = %s%s", scales ? "absmax" : c->value[CASE_reduce],
                     scales ? ", scale_d" : "");
  const char *type = strchr(c->value[CASE_aux], ':');
  if (type)
    hd_strbuf_printf(out, ", aux = %.*s, aux_type = %s", (int)(type - c->value[CASE_aux]),
                     c->value[CASE_aux], type + 1);
  hd_strbuf_add(out, "}\n}\n");
}

/* examples/user_epilogue.ll, in double precision except for its own constant. */
static double hard_swish(void *user, double x, double up, int64_t row, int64_t col) {
  (void)user, (void)up, (void)row, (void)col;
  double shifted = x + 3.0, clamped = shifted < 0 ? 0 : shifted > 6 ? 6 : shifted;
  return x * (clamped * (double)(float)(1.0 / 6.0));
}

/* examples/gated_user.ll. */
static double gated(void *user, double gate, double up, int64_t row, int64_t col) {
  return hard_swish(user, gate, 0, row, col) * (up + 1);
}

void suite_case_request(const suite_case *c, trial_request *r) {
  r->size[HD_ARG_M] = suite_case_int(c, CASE_m);
  r->size[HD_ARG_N] = suite_case_int(c, CASE_n);
  r->size[HD_ARG_K] = suite_case_int(c, CASE_k);
  r->size[HD_ARG_T] = suite_case_int(c, CASE_t);
  r->size[HD_ARG_LDB] = row_b(c) + suite_case_int(c, CASE_ldb);
  r->size[HD_ARG_LDC] = row_c(c) + suite_case_int(c, CASE_ldc);
  r->size[HD_ARG_LDD] = row_d(c) + suite_case_int(c, CASE_ldd);
  r->size[HD_ARG_LDSA] = row_scales(c, CASE_m);
  r->size[HD_ARG_LDSB] = suite_case_is(c, CASE_sb, "sumsq")
                             ? suite_case_int(c, CASE_n) + suite_case_int(c, CASE_lds)
                             : row_scales(c, scales_of_b(c));
  if (!suite_case_is(c, CASE_reduce, "none"))
    r->size[HD_ARG_LDSD] = suite_case_int(c, CASE_n) + suite_case_int(c, CASE_ldsd);
  if (!suite_case_is(c, CASE_aux, "none"))
    r->size[HD_ARG_LDAUX] = row_d(c) + suite_case_int(c, CASE_ldaux);
  if (suite_case_int(c, CASE_g))
    request_strides(c, r);
  r->offset_aux = (uint32_t)suite_case_int(c, CASE_auxoff);
  r->routing = is_grouped(c) ? c->value[CASE_routing] : NULL;
  r->offset_b = (uint32_t)suite_case_int(c, CASE_boff);
  r->offset_d = (uint32_t)suite_case_int(c, CASE_doff);
  r->offset_vectors = (uint32_t)suite_case_int(c, CASE_voff);
  r->user = suite_case_is(c, CASE_act, "user")        ? hard_swish
            : suite_case_is(c, CASE_act, "user_pair") ? gated
                                                      : NULL;
}
