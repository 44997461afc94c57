/* Rules of attributes: presence and kinds by ops.def and attrs.def, words and ranges by the tables
 * below. */
#include <string.h>

#include "IR/lexer.h"
#include "IR/verify.h"
#include "Support/activations.h"
#include "Support/batch.h"

/* Legal words. The row of an op precedes the row for all ops (HD_N_OPS). */
static const struct word_rule {
  hd_attr_key key;
  hd_op_kind op;
  const char *words;
} word_rules[] = {
    {HD_ATTR_DIM, HD_N_OPS, "m n k g t"},
    {HD_ATTR_BUCKET, HD_N_OPS, "m n k"},
    {HD_ATTR_OPERAND, HD_OP_DENSE, "b c"},
    {HD_ATTR_OPERAND, HD_OP_VECTOR, "bias scale_a scale_b offsets gather_b scatter_d combine_d"},
    {HD_ATTR_OPERAND, HD_OP_BLOCK_SCALE, "a b"},
    {HD_ATTR_OPERAND, HD_OP_LOAD_SCALE, "scale_a scale_b"},
    {HD_ATTR_ORDER, HD_OP_DENSE, "k_major mn_major row_major col_major"},
    {HD_ATTR_ORDER, HD_OP_STORE, "row_major col_major"},
    {HD_ATTR_ORDER, HD_OP_PRODUCT, "row_major col_major"},
    {HD_ATTR_B_PATH, HD_OP_PRODUCT, "copied"},
    {HD_ATTR_B_ORDER, HD_N_OPS, "k_major mn_major"},
    {HD_ATTR_ORDER, HD_OP_STORE_TILE, "row_major col_major"},
    {HD_ATTR_ORDER, HD_OP_STAGE_TILE, "row_major col_major"},
    {HD_ATTR_ORDER, HD_OP_FINISH_TILE, "row_major col_major"},
    {HD_ATTR_ORDER, HD_N_OPS, "grouped"},
    {HD_ATTR_ACT, HD_N_OPS, hd_act_words},
    {HD_ATTR_REDUCE, HD_OP_WORK, NULL}, /* a key of the schedule */
    {HD_ATTR_REDUCE, HD_N_OPS, "absmax sumsq"},
    {HD_ATTR_STATISTIC, HD_N_OPS, "sumsq"},
    {HD_ATTR_AUX, HD_N_OPS, "result input"},
    {HD_ATTR_PATH, HD_OP_STORE_TILE, "direct quad permuted"},
    {HD_ATTR_SPACE, HD_N_OPS, "shared cluster_shared tmem"},
    {HD_ATTR_LAYOUT, HD_N_OPS, "rows packed_a box linear"},
    {HD_ATTR_PRED, HD_N_OPS, "eq ne lt le gt ge"},
    {HD_ATTR_KIND, HD_N_OPS, "f16 tf32 f8f6f4 i8 mxf8f6f4 mxf4 mxf4nvf4"},
    {HD_ATTR_C_ORDER, HD_N_OPS, "row_major col_major"},
    {HD_ATTR_BIAS_ALONG, HD_N_OPS, "m n"},
    {HD_ATTR_SCOPE, HD_OP_BARRIER_WAIT, "cta cluster"},
    {HD_ATTR_SCOPE, HD_N_OPS, "warp thread cluster"},
};

/* Bounds of integers (both inclusive) and of the elements of lists. A number without a row is not
 * limited; every count and size has a row. */
static const struct range_rule {
  hd_attr_key key;
  int64_t lo, hi, multiple;
} range_rules[] = {
    {HD_ATTR_CLUSTER, 1, 16, 1},
    {HD_ATTR_THREADS, 32, 1024, 32},
    {HD_ATTR_MAX_REGISTERS, 24, 255, 1},
    {HD_ATTR_MIN_CTAS, 1, 32, 1},
    {HD_ATTR_WARP_LO, 0, 31, 1},
    {HD_ATTR_N_WARPS, 1, 32, 1},
    {HD_ATTR_WARP, 0, 31, 1},
    {HD_ATTR_REGISTERS, 24, 256, 8},
    {HD_ATTR_MAX, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_AT_MOST, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_AT_LEAST, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_RECORD_BYTES, 128, 1 << 20, 128},
    {HD_ATTR_RECORDS, 1, 32, 1},
    {HD_ATTR_DIVISIBLE_BY, 1, INT32_MAX, 1},
    {HD_ATTR_LD, 1, INT64_C(1) << 40, 1},
    {HD_ATTR_G_STRIDE, 0, INT64_C(1) << 40, 1},
    {HD_ATTR_STAGES, 1, 64, 1},
    {HD_ATTR_SLOTS, 1, HD_COMBINE_MOST, 1},
    {HD_ATTR_GROUP, 1, INT32_MAX, 1},
    {HD_ATTR_SPLIT_K, 1, 1024, 1},
    {HD_ATTR_CLUSTER_LAUNCH, 1, 16, 1},
    {HD_ATTR_CTAS_PER_SM, 1, 32, 1},
    {HD_ATTR_FRAGMENTS, 0, 255, 1},
    {HD_ATTR_IN_FLIGHT, 0, 1, 1},
    {HD_ATTR_B_ALIGN, 1, 32, 1},
    {HD_ATTR_B_BOX, 1, 256, 1},
    {HD_ATTR_UNROLL, 2, 2, 1},
    {HD_ATTR_SPLITS, 2, 16, 1},
    {HD_ATTR_TILE, 1, 65536, 1},
    {HD_ATTR_TILE_COLUMNS, 8, 65536, 8},
    {HD_ATTR_ACROSS, 2, 32, 1},
    {HD_ATTR_WARPS, 1, 32, 1},
    {HD_ATTR_BOX, 1, 256, 1},
    {HD_ATTR_BYTES, 1, 1 << 24, 1},
    {HD_ATTR_ALIGN, 16, 1024, 16},
    {HD_ATTR_ROWS, 1, 65536, 1},
    {HD_ATTR_PANEL, 16, 65536, 16},
    {HD_ATTR_RUN, 4, 16, 4},
    {HD_ATTR_SLAB_BYTES, 16, 1 << 20, 16},
    {HD_ATTR_META_OFFSET, 0, 1 << 20, 16},
    {HD_ATTR_COUNT, 1, HD_MAX_TX, 1},
    {HD_ATTR_OFFSET, 0, 1 << 24, 1},
    {HD_ATTR_MULTICAST, 1, 65535, 1},
    {HD_ATTR_ROW_BYTES, 1, 1 << 20, 1},
    {HD_ATTR_WORD, 0, 255, 1},
    {HD_ATTR_STEP, 0, 255, 1},
    {HD_ATTR_SELECTOR, 0, 3, 1},
    {HD_ATTR_SCALE_IDS, 0, 3, 1},
    {HD_ATTR_BLOCK, 1, 1024, 1},
    {HD_ATTR_RANK, 1, 65535, 1},
    {HD_ATTR_OWNER, 0, 15, 1},
    {HD_ATTR_PARITY, 0, 1, 1},
    {HD_ATTR_ID, 1, 15, 1},
    {HD_ATTR_AMONG, 1, 32, 1},
    {HD_ATTR_PENDING, 0, 63, 1},
    {HD_ATTR_M, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_N, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_K, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_G, 1, HD_SIZE_MOST, 1},
    {HD_ATTR_LDB, 1, INT64_C(1) << 40, 1},
    {HD_ATTR_LDD, 1, INT64_C(1) << 40, 1},
    {HD_ATTR_LDSA, 1, INT64_C(1) << 40, 1},
    {HD_ATTR_LDSB, 1, INT64_C(1) << 40, 1},
};

/* Legal choices among few numbers. */
static const struct choice_rule {
  hd_attr_key key;
  int64_t choices[6];
  int32_t n;
} choice_rules[] = {
    {HD_ATTR_SWIZZLE, {0, 32, 64, 128}, 4},
    {HD_ATTR_COLUMNS, {32, 64, 128, 256, 512}, 5},
    {HD_ATTR_VEC, {1, 2, 4, 8, 16}, 5},
};

static const char *words_of(const hd_op *op, hd_attr_key key) {
  for (size_t i = 0; i < HD_COUNT(word_rules); i++)
    if (word_rules[i].key == key && (word_rules[i].op == op->kind || word_rules[i].op == HD_N_OPS))
      return word_rules[i].words;
  return NULL;
}

static void check_symbol(hd_verifier *v, const hd_op *op, const hd_attr *attr) {
  const char *words = words_of(op, attr->key);
  if (!attr->s || !hd_is_word(attr->s))
    hd_verify_fail(v, op, "ir.attribute", "%s is not a word; legal: letters, digits, _ and .",
                   hd_attr_name(attr->key));
  else if (words && !hd_find_word(words, attr->s))
    hd_verify_fail(v, op, "ir.attribute", "%s = %.60s; legal: %s", hd_attr_name(attr->key), attr->s,
                   words);
}

static int64_t nearest_in_range(const struct range_rule *rule, int64_t value) {
  if (value < rule->lo)
    return rule->lo + (rule->multiple - rule->lo % rule->multiple) % rule->multiple;
  if (value > rule->hi)
    return rule->hi - rule->hi % rule->multiple;
  return value - value % rule->multiple >= rule->lo
             ? value - value % rule->multiple
             : value - value % rule->multiple + rule->multiple;
}

static void check_range(hd_verifier *v, const hd_op *op, hd_attr_key key, int64_t value) {
  for (size_t i = 0; i < HD_COUNT(range_rules); i++) {
    const struct range_rule *rule = &range_rules[i];
    if (rule->key != key)
      continue;
    int64_t nearest = nearest_in_range(rule, value);
    if (nearest != value)
      hd_verify_fail(v, op, "ir.attribute", "%s = %lld; legal: %lld to %lld%s%.0lld; nearest: %lld",
                     hd_attr_name(key), (long long)value, (long long)rule->lo, (long long)rule->hi,
                     rule->multiple > 1 ? " in steps of " : "",
                     rule->multiple > 1 ? (long long)rule->multiple : 0LL, (long long)nearest);
  }
}

static void check_choice(hd_verifier *v, const hd_op *op, hd_attr_key key, int64_t value) {
  for (size_t i = 0; i < HD_COUNT(choice_rules); i++) {
    const struct choice_rule *rule = &choice_rules[i];
    if (rule->key != key)
      continue;
    hd_strbuf legal = {0};
    for (int32_t c = 0; c < rule->n; c++) {
      if (rule->choices[c] == value) {
        hd_strbuf_free(&legal);
        return;
      }
      hd_strbuf_printf(&legal, " %lld", (long long)rule->choices[c]);
    }
    hd_verify_fail(v, op, "ir.attribute", "%s = %lld; legal:%s", hd_attr_name(key),
                   (long long)value, hd_strbuf_text(&legal));
    hd_strbuf_free(&legal);
  }
}

static void check_list(hd_verifier *v, const hd_op *op, const hd_attr *attr) {
  bool is_ints = hd_attr_get_kind(attr->key) == HD_ATTR_KIND_INTS;
  if (attr->n < 1 || (is_ints ? attr->ints == NULL : attr->exprs == NULL))
    hd_verify_fail(v, op, "ir.attribute",
                   "%s is an empty list; legal: 1 element or more", hd_attr_name(attr->key));
  else if (is_ints)
    for (int32_t i = 0; i < attr->n; i++)
      check_range(v, op, attr->key, attr->ints[i]);
}

static void check_attr(hd_verifier *v, const hd_op *op, const hd_attr *attr) {
  switch (hd_attr_get_kind(attr->key)) {
  case HD_ATTR_KIND_INT:
    check_range(v, op, attr->key, attr->i);
    check_choice(v, op, attr->key, attr->i);
    break;
  case HD_ATTR_KIND_STRING:
    if (!attr->s || !*attr->s)
      hd_verify_fail(v, op, "ir.attribute",
                     "%s is an empty string; legal: 1 character or more", hd_attr_name(attr->key));
    break;
  case HD_ATTR_KIND_SYMBOL:
    check_symbol(v, op, attr);
    break;
  case HD_ATTR_KIND_ELEM:
    if (attr->i < 0 || attr->i >= HEDDLE_N_ELEMS)
      hd_verify_fail(v, op, "ir.attribute", "%s = %lld; legal: an element type",
                     hd_attr_name(attr->key), (long long)attr->i);
    break;
  case HD_ATTR_KIND_INTS:
  case HD_ATTR_KIND_EXPRS:
    check_list(v, op, attr);
    break;
  case HD_ATTR_KIND_ARG: /* checked by the rules of arg and tmap */
  case HD_ATTR_KIND_FLAG:
    break;
  }
}

/* Attributes marked ! in ops.def. */
static void check_required(hd_verifier *v, const hd_op *op) {
  const char *p = hd_op_get_info(op->kind)->attributes;
  for (; *p; p += strcspn(p, " "), p += *p == ' ') {
    size_t n = strcspn(p, " ");
    if (p[n - 1] != '!')
      continue;
    char name[64] = {0};
    memcpy(name, p, n - 1 < sizeof name - 1 ? n - 1 : sizeof name - 1);
    if (!hd_op_has(op, hd_attr_find_key(name)))
      hd_verify_fail(v, op, "ir.attribute", "the attribute %s is missing; legal: one", name);
  }
}

/* Refuses an attribute whose name is not near to one that the op accepts. */
static void refuse_attr(hd_verifier *v, const hd_op *op, hd_attr_key wrong) {
  hd_strbuf taken = {0};
  for (int key = 0; key < HD_N_ATTRS; key++)
    if (hd_attr_get_use(op->kind, (hd_attr_key)key) != HD_ATTR_REFUSED)
      hd_strbuf_printf(&taken, "%s%s", taken.len ? ", " : "", hd_attr_name((hd_attr_key)key));
  hd_verify_fail(v, op, "ir.attribute", "does not take %s; legal: %s", hd_attr_name(wrong),
                 taken.len ? hd_strbuf_text(&taken) : "no attribute");
  hd_strbuf_free(&taken);
}

void hd_verify_attrs(hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_attrs; i++) {
    hd_attr_key key = op->attrs[i].key;
    const char *near;
    if (hd_attr_get_use(op->kind, key) != HD_ATTR_REFUSED)
      check_attr(v, op, &op->attrs[i]);
    else if ((near = hd_attr_nearest(op->kind, hd_attr_name(key))))
      hd_verify_fail(v, op, "ir.attribute", "does not take %s; nearest: %s", hd_attr_name(key),
                     near);
    else
      refuse_attr(v, op, key);
  }
  check_required(v, op);
}
