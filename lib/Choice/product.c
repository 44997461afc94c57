#include "Choice/product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/memory.h"
#include "Support/activations.h"
#include "Support/batch.h"
#include "Support/diag.h"
#include "Support/strbuf.h"

enum { USUAL_SIZE = 4096 };

static const char *name(heddle_elem elem) { return heddle_elem_get(elem)->name; }

static const char *b_order(const hd_product *p) { return p->b_mn_major ? "mn_major" : "k_major"; }

static const char *d_order(const hd_product *p) {
  return p->d_col_major ? "col_major" : "row_major";
}

/* ---- the text ---- */

const char *hd_product_scale_word(char scale) {
  return scale == 'v' ? "vector" : scale == 's' ? "sumsq" : "one";
}

static const struct statistic {
  char letter;
  const char *word;
} statistics[] = {{'a', "absmax"}, {'s', "sumsq"}, {'q', "scale"}};

char hd_product_reduce(const char *word) {
  for (size_t i = 0; i < HD_COUNT(statistics); i++)
    if (strcmp(statistics[i].word, word) == 0)
      return statistics[i].letter;
  return 0;
}

const char *hd_product_reduce_word(char reduce) {
  for (size_t i = 0; i < HD_COUNT(statistics); i++)
    if (statistics[i].letter == reduce)
      return statistics[i].word;
  return "none";
}

const char *hd_product_aux_word(char aux) { return aux == 'r' ? "result" : "input"; }

bool hd_product_read_aux(const char *text, hd_product_epilogue *epilogue) {
  size_t n = strcspn(text, ":");
  const char *word = hd_product_aux_word(*text);
  heddle_elem elem = HEDDLE_BF16;
  if (n != strlen(word) || strncmp(text, word, n) != 0 ||
      (text[n] && heddle_elem_parse(text + n + 1, &elem) != HEDDLE_OK))
    return false;
  epilogue->aux = *text;
  epilogue->aux_type = elem;
  return true;
}

static const char *blocks_word(char blocks) { return blocks == 'b' ? "128x128" : "1x128"; }

/* ORDER PRODUCT WORDS: alphabetical. */
void hd_product_print(const hd_product *p, char out[HD_PRODUCT_TEXT]) {
  const hd_product_epilogue *e = &p->epilogue;
  hd_strbuf s = {0};
  hd_strbuf_printf(&s, "%s a=%s b=%s acc=%s d=%s m=%lld n=%lld k=%lld %s %s", p->target, name(p->a),
                   name(p->b), name(p->acc), name(p->d), (long long)p->m, (long long)p->n,
                   (long long)p->k, b_order(p), d_order(p));
  if (e->act[0])
    hd_strbuf_printf(&s, " act=%s", e->act);
  if (e->aux)
    hd_strbuf_printf(&s, " aux=%s:%s", hd_product_aux_word(e->aux), name(e->aux_type));
  if (e->bias)
    hd_strbuf_printf(&s, " bias=%c", e->bias);
  if (e->blocks)
    hd_strbuf_printf(&s, " blocks=%s", blocks_word(e->blocks));
  if (e->c)
    hd_strbuf_add(&s, " c");
  if (p->g)
    hd_strbuf_printf(&s, " g=%lld", (long long)p->g);
  if (p->groups)
    hd_strbuf_printf(&s, " groups=%lld", (long long)p->groups);
  if (e->reduce)
    hd_strbuf_printf(&s, " reduce=%s", hd_product_reduce_word(e->reduce));
  if (e->scale_a)
    hd_strbuf_printf(&s, " scale_a=%s", hd_product_scale_word(e->scale_a));
  if (e->scale_b)
    hd_strbuf_printf(&s, " scale_b=%s", hd_product_scale_word(e->scale_b));
  if (p->weights_ready)
    hd_strbuf_add(&s, " weights_ready");
  snprintf(out, HD_PRODUCT_TEXT, "%s", hd_strbuf_text(&s));
  hd_strbuf_free(&s);
}

/* The last word of a name or a line, which is optional. */
static const char promise[] = "weights_ready";

/* Takes "NAME=" or "NAME" from the start of the rest, after a space. Copies the characters up to
 * the next word to value; NULL: the word must have no value. */
static bool take(const char **rest, const char *word, char value[16]) {
  size_t n = strlen(word);
  const char *at = *rest;
  if (*at != ' ' || strncmp(at + 1, word, n) != 0)
    return false;
  at += 1 + n;
  size_t len = strcspn(at, " ");
  if (len >= 16 || (value ? len == 0 : len != 0))
    return false;
  if (value)
    snprintf(value, 16, "%.*s", (int)len, at);
  *rest = at + len;
  return true;
}

static bool is_act(const char *word) {
  hd_act act = hd_act_of_gate(word);
  for (int i = 1; act == HD_N_ACTS && i < HD_N_ACTS; i++)
    if (strcmp(word, hd_act_name(i)) == 0)
      return true;
  return act != HD_N_ACTS;
}

static bool read_scale(const char *word, bool of_b, char *scale) {
  *scale = *word;
  return strcmp(word, "one") == 0 || strcmp(word, "vector") == 0 ||
         (of_b && strcmp(word, "sumsq") == 0);
}

static bool read_count(const char *word, int64_t most, int64_t *count) {
  char *end = NULL;
  *count = *word >= '1' && *word <= '9' ? strtoll(word, &end, 10) : 0;
  return *count >= 1 && *count <= most && !*end;
}

/* ORDER PRODUCT WORDS. */
static bool read_rest(const char *text, hd_product *p) {
  char word[16];
  hd_product_epilogue *e = &p->epilogue;
  bool ok = true;
  if (take(&text, "act=", word)) {
    ok = is_act(word);
    snprintf(e->act, sizeof e->act, "%.11s", word);
  }
  if (take(&text, "aux=", word))
    ok = ok && strchr(word, ':') && hd_product_read_aux(word, e);
  if (take(&text, "bias=", word)) {
    ok = ok && (strcmp(word, "m") == 0 || strcmp(word, "n") == 0);
    e->bias = *word;
  }
  if (take(&text, "blocks=", word)) {
    e->blocks = strcmp(word, blocks_word('b')) == 0 ? 'b' : 'r';
    ok = ok && strcmp(word, blocks_word(e->blocks)) == 0;
  }
  e->c = take(&text, "c", NULL);
  if (take(&text, "g=", word))
    ok = ok && read_count(word, HD_BATCH_MOST, &p->g);
  if (take(&text, "groups=", word))
    ok = ok && !p->g && read_count(word, HD_GROUPS_MOST, &p->groups);
  if (take(&text, "reduce=", word)) {
    e->reduce = hd_product_reduce(word);
    ok = ok && e->reduce;
  }
  if (take(&text, "scale_a=", word))
    ok = ok && read_scale(word, false, &e->scale_a);
  if (take(&text, "scale_b=", word))
    ok = ok && read_scale(word, true, &e->scale_b);
  p->weights_ready = take(&text, promise, NULL);
  return ok && *text == '\0';
}

bool hd_product_has_epilogue(const hd_product *p) {
  const hd_product_epilogue *e = &p->epilogue;
  return e->act[0] || e->bias || e->c || e->scale_a || e->scale_b || e->reduce ||
         e->aux;
}

bool hd_product_is_plain(const hd_product *p) {
  return !hd_product_has_epilogue(p) && !p->epilogue.blocks;
}

enum { BLOCK_ROWS = 128, SCALES_UNIT = 4 };

int64_t hd_product_block_rows(const hd_product *p) {
  return p->epilogue.blocks == 'b' ? BLOCK_ROWS : 1;
}

int64_t hd_product_scales(const hd_product *p, int which) {
  int64_t each = which ? 1 : hd_product_block_rows(p), rows = which ? p->n : p->m;
  int64_t n = (rows + each - 1) / each;
  return (n + SCALES_UNIT - 1) / SCALES_UNIT * SCALES_UNIT;
}

hd_product hd_product_plain(const hd_product *p) {
  hd_product plain = *p;
  plain.epilogue = (hd_product_epilogue){0};
  return plain;
}

int64_t hd_product_d_rows(const hd_product *p) {
  return hd_act_is_pair(p->epilogue.act) ? p->m / 2 : p->m;
}

const char *hd_product_epilogue_check(const hd_product_epilogue *e) {
  return e->act[0] && !is_act(e->act) ? hd_act_about : "";
}

static bool legal_size(long long x) { return x >= 1 && x <= HD_PRODUCT_MOST_SIZE; }

heddle_status hd_product_parse(heddle_context *ctx, const char *text, hd_product *product) {
  hd_product p = {0};
  char a[16], b[16], acc[16], d[16], b_word[16], d_word[16];
  long long m, n, k;
  int end = 0;
  int got = sscanf(text, "%15s a=%15s b=%15s acc=%15s d=%15s m=%lld n=%lld k=%lld %15s %15s%n",
                   p.target, a, b, acc, d, &m, &n, &k, b_word, d_word, &end);
  bool ok = got == 10 && read_rest(text + end, &p) && legal_size(m) && legal_size(n) &&
            legal_size(k) && heddle_elem_parse(a, &p.a) == HEDDLE_OK &&
            heddle_elem_parse(b, &p.b) == HEDDLE_OK &&
            heddle_elem_parse(acc, &p.acc) == HEDDLE_OK && heddle_elem_parse(d, &p.d) == HEDDLE_OK;
  if (ok) {
    p.m = m;
    p.n = n;
    p.k = k;
    p.b_mn_major = strcmp(b_word, "mn_major") == 0;
    p.d_col_major = strcmp(d_word, "col_major") == 0;
    ok = strcmp(b_word, b_order(&p)) == 0 && strcmp(d_word, d_order(&p)) == 0;
  }
  if (!ok)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.product",
                    "got \"%.100s\"; legal: as in \"sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 "
                    "n=16 k=4096 k_major row_major\", then act= aux= bias= blocks= c g= groups= "
                    "reduce= scale_a= scale_b= weights_ready",
                    text);
  *product = p;
  return HEDDLE_OK;
}

static int64_t size_of(const hd_size *size, int64_t hint) {
  return size->value ? size->value : hint > 0 ? hint : size->max ? size->max : USUAL_SIZE;
}

static char scale_of(const hd_dense *scale) { return !scale->op ? 0 : scale->one ? 'o' : 'v'; }

hd_product hd_product_of(const hd_problem *p, const int64_t hint_mnk[3]) {
  hd_product out = {.a = p->a_elem,
                    .b = p->b.elem,
                    .acc = p->acc_elem,
                    .d = p->d.elem,
                    .m = size_of(&p->m, hint_mnk[0]),
                    .n = size_of(&p->n, hint_mnk[1]),
                    .k = size_of(&p->k, hint_mnk[2]),
                    .g = hd_is_grouped(p) ? 0 : p->g.value,
                    .groups = hd_is_grouped(p) ? hd_most_groups(p) : 0,
                    .b_mn_major = p->b.transposed,
                    .d_col_major = p->d.transposed,
                    .weights_ready = hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY),
                    .epilogue = {.bias = !p->bias.op ? 0 : p->bias_along_n ? 'n' : 'm',
                                 .scale_a = scale_of(&p->scale_a),
                                 .scale_b = p->statistic ? 's' : scale_of(&p->scale_b),
                                 .c = p->c.op != NULL,
                                 .aux = p->aux_of ? *p->aux_of : 0,
                                 .aux_type = p->aux_of ? p->aux.elem : 0,
                                 .reduce = p->scale_d ? 'q' : p->reduce ? *p->reduce : 0,
                                 .blocks = !hd_scales_promoted(p) ? 0
                                           : p->block_rows > 1    ? 'b'
                                                                  : 'r'}};
  if (p->act && is_act(p->act))
    snprintf(out.epilogue.act, sizeof out.epilogue.act, "%s", p->act);
  snprintf(out.target, sizeof out.target, "%s", p->target->name);
  return out;
}

/* Refuses a size that no launch of this kernel can have. */
static heddle_status check_size(heddle_context *ctx, const hd_size *size, int64_t asked) {
  int64_t most = size->value ? size->value : size->max ? size->max : HD_SIZE_MOST;
  int64_t least = size->value ? size->value : 1;
  if (!asked || (asked >= least && asked <= most))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, size->op->loc, "choice.size",
                  "got %s = %lld; legal: 0 or %lld to %lld; nearest: %lld",
                  hd_op_str(size->op, HD_ATTR_DIM), (long long)asked, (long long)least,
                  (long long)most, (long long)(asked < least ? least : most));
}

heddle_status hd_check_sizes(heddle_context *ctx, const hd_problem *p, const int64_t mnk[3]) {
  HD_TRY(check_size(ctx, &p->m, mnk[0]));
  HD_TRY(check_size(ctx, &p->n, mnk[1]));
  return check_size(ctx, &p->k, mnk[2]);
}

/* Reads the types of A and B: "bf16" or "e4m3xe5m2". */
static bool read_types(const char *word, hd_product *p) {
  char first[16];
  const char *x = strchr(word, 'x');
  size_t n = x ? (size_t)(x - word) : strlen(word);
  snprintf(first, sizeof first, "%.*s", (int)n, word);
  return n < sizeof first && heddle_elem_parse(first, &p->a) == HEDDLE_OK &&
         heddle_elem_parse(x ? x + 1 : first, &p->b) == HEDDLE_OK;
}

heddle_status hd_product_line(heddle_context *ctx, hd_loc loc, const char *target, const char *line,
                              hd_product *product) {
  char types[32] = "", d[16] = "", order[16] = "row_major", last[16] = "", rest[2];
  long long m, k, n;
  hd_product p = {0};
  int got = sscanf(line, "%31s %lld %lld %lld %15s %15s %15s %1s", types, &m, &k, &n, d, order,
                   last, rest);
  if (got < 4 || got > 7 || !legal_size(m) || !legal_size(n) || !legal_size(k))
    return hd_error(
        ctx, HEDDLE_INVALID, loc, "tune.grid",
        "got \"%.60s\"; legal: TYPE M K N [DTYPE [ORDER [weights_ready]]], sizes 1 to %d", line,
        HD_PRODUCT_MOST_SIZE);
  if (!read_types(types, &p))
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.type",
                    "got type \"%s\"; legal: as bf16, e4m3xe5m2", types);
  p.d = heddle_elem_get(p.a)->d;
  if (got >= 5 && heddle_elem_parse(d, &p.d) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.type",
                    "got type \"%s\" of D; legal: as bf16, f32", d);
  if (strcmp(order, "row_major") != 0 && strcmp(order, "col_major") != 0)
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.order",
                    "got \"%s\"; legal: row_major, col_major", order);
  p.d_col_major = strcmp(order, "col_major") == 0;
  p.weights_ready = strcmp(last, promise) == 0;
  if (*last && !p.weights_ready)
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.promise", "got \"%s\"; legal: weights_ready",
                    last);
  p.acc = heddle_elem_get(p.a)->acc;
  p.m = m;
  p.n = n;
  p.k = k;
  snprintf(p.target, sizeof p.target, "%s", target);
  *product = p;
  return HEDDLE_OK;
}

static const char *extent(int64_t size, char text[32]) {
  snprintf(text, 32, size ? "value = %lld" : "max = %lld",
           (long long)(size ? size : HD_PRODUCT_OPEN));
  return text;
}

static void add_scale(hd_strbuf *s, const char *operand, char scale, const char *dim) {
  if (scale)
    hd_strbuf_printf(s, "  %%%s: matrix<f32> = vector %s{type = f32, operand = %s%s}\n", operand,
                     scale == 'o' ? "" : dim, operand,
                     scale == 's' ? ", statistic = sumsq" : "");
}

/* Adds the ops of the block scales. */
static void add_blocks(hd_strbuf *s, const hd_product *p) {
  for (int i = 0; p->epilogue.blocks && i < 2; i++)
    hd_strbuf_printf(s,
                     "  %%s%c: matrix<f32> = block_scale %%%c, %%k {type = f32, operand = %c, "
                     "block = 128%s}\n",
                     i ? 'b' : 'a', i ? 'n' : 'm', i ? 'b' : 'a',
                     i == 0 && p->epilogue.blocks == 'b' ? ", rows = 128" : "");
}

/* Adds the ops of the epilogue's operands. */
static void add_operands(hd_strbuf *s, const hd_product *p) {
  const hd_product_epilogue *e = &p->epilogue;
  if (e->c)
    hd_strbuf_printf(s, "  %%c: matrix<%s> = dense %%m, %%n {type = %s, operand = c, order = %s}\n",
                     name(p->d), name(p->d), d_order(p));
  if (e->bias)
    hd_strbuf_printf(s, "  %%bias: matrix<f32> = vector %%%c {type = f32, operand = bias}\n",
                     e->bias);
  add_scale(s, "scale_a", e->scale_a, "%m ");
  add_scale(s, "scale_b", e->scale_b, "%n ");
}

static void add_epilogue(hd_strbuf *s, const hd_product *p) {
  const hd_product_epilogue *e = &p->epilogue;
  const struct {
    const char *name;
    bool there;
  } operands[] = {{"c", e->c}, {"bias", e->bias}, {"scale_a", e->scale_a}, {"scale_b", e->scale_b}};
  hd_strbuf_add(s, "  %y: matrix<f32> = epilogue %x");
  for (size_t i = 0; i < HD_COUNT(operands); i++)
    if (operands[i].there)
      hd_strbuf_printf(s, ", %%%s", operands[i].name);
  hd_strbuf_printf(s, " {act = %s", e->act[0] ? e->act : "none");
  for (size_t i = 0; i < HD_COUNT(operands); i++)
    if (operands[i].there)
      hd_strbuf_printf(s, ", %s", operands[i].name);
  hd_strbuf_add(s, "}\n");
}

char *hd_product_kernel(const hd_product *p, const char *kernel) {
  hd_strbuf s = {0};
  char m[32], n[32], k[32], g[64] = "";
  bool plain = !hd_product_has_epilogue(p);
  const char *overlap = p->weights_ready ? ", dependent, weights_ready"
                        : p->dependent   ? ", dependent"
                                         : "";
  if (p->g || p->groups)
    snprintf(g, sizeof g, "  %%g: i32 = size {dim = g, value = %lld}\n",
             (long long)hd_product_matrices(p));
  hd_strbuf_printf(&s,
                   "module version=1 level=problem sync=none\n"
                   "kernel {name = \"%s\", target = \"%s\"%s} {\n%s"
                   "  %%m: i32 = size {dim = m, %s}\n"
                   "  %%n: i32 = size {dim = n, %s}\n"
                   "  %%k: i32 = size {dim = k, %s}\n"
                   "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n"
                   "  %%b: matrix<%s> = dense %%k, %%n {type = %s, operand = b, order = %s}\n",
                   kernel, p->target, overlap, g,
                   extent(p->m, m), extent(p->n, n), extent(p->k, k), name(p->a), name(p->a),
                   name(p->b), name(p->b), b_order(p));
  if (p->groups)
    hd_strbuf_add(&s, "  %offsets: matrix<s32> = vector {type = s32, operand = offsets}\n");
  add_operands(&s, p);
  add_blocks(&s, p);
  hd_strbuf_printf(&s, "  %%x: matrix<%s> = matmul %%a, %%b%s {acc = %s}\n", name(p->acc),
                   p->epilogue.blocks ? ", %sa, %sb" : "", name(p->acc));
  if (!plain)
    add_epilogue(&s, p);
  hd_strbuf_printf(&s, "  store %%%s {type = %s, order = %s", plain ? "x" : "y", name(p->d),
                   d_order(p));
  if (p->epilogue.reduce)
    hd_strbuf_printf(&s, ", reduce = %s%s",
                     p->epilogue.reduce == 'q' ? "absmax"
                                               : hd_product_reduce_word(p->epilogue.reduce),
                     p->epilogue.reduce == 'q' ? ", scale_d" : "");
  if (p->epilogue.aux)
    hd_strbuf_printf(&s, ", aux = %s, aux_type = %s", hd_product_aux_word(p->epilogue.aux),
                     name(p->epilogue.aux_type));
  hd_strbuf_add(&s, "}\n}\n");
  return hd_strbuf_take(&s);
}

char *hd_product_problem(const hd_product *p) { return hd_product_kernel(p, "tuned"); }

heddle_status hd_product_build(heddle_context *ctx, hd_loc place, const hd_product *product,
                               hd_front *front) {
  char *text = hd_product_problem(product);
  hd_pass_context pass = {.ctx = ctx};
  heddle_status status = hd_front_made(&pass, place, text, front);
  hd_free(text);
  return status;
}

double hd_product_flops(const hd_product *p) {
  return 2.0 * (double)(p->g ? p->g : 1) * (double)p->m * (double)p->n * (double)p->k;
}
