#include "Sparse/sparse_rule.h"

#include "Support/diag.h"

/* The masks are the value masks of Support/convert.h without sign bits; a test compares them. */
static const hd_sparse_rule rules[HEDDLE_N_ELEMS] = {
    /*                unit n  kept wgmma  non-zero    pattern */
    [HEDDLE_F16] =   {2,   4, 2,   true,  0x7fff,     "2:4"},
    [HEDDLE_BF16] =  {2,   4, 2,   true,  0x7fff,     "2:4"},
    [HEDDLE_TF32] =  {4,   2, 1,   true,  0x7fffe000, "1:2"},
    [HEDDLE_E4M3] =  {1,   4, 2,   true,  0x7f,       "2:4"},
    [HEDDLE_E5M2] =  {1,   4, 2,   true,  0x7f,       "2:4"},
    [HEDDLE_E3M2] =  {1,   4, 2,   false, 0x1f,       "2:4"},
    [HEDDLE_E2M3] =  {1,   4, 2,   false, 0x1f,       "2:4"},
    [HEDDLE_E2M1] =  {1,   4, 2,   false, 0x1c,       "2:4"},
    [HEDDLE_E2M1P] = {1,   4, 2,   false, 0x77,       "4:8 in pairs"},
    [HEDDLE_S8] =    {1,   4, 2,   true,  0xff,       "2:4"},
    [HEDDLE_U8] =    {1,   4, 2,   true,  0xff,       "2:4"},
    [HEDDLE_S4] =    {1,   4, 2,   false, 0xff,       "4:8 in pairs"},
    [HEDDLE_U4] =    {1,   4, 2,   false, 0xff,       "4:8 in pairs"},
};

const hd_sparse_rule *hd_sparse_rule_get(heddle_elem elem) {
  return (unsigned)elem < HEDDLE_N_ELEMS && rules[elem].n_units ? &rules[elem] : NULL;
}

heddle_status hd_sparse_rule_find(heddle_context *ctx, heddle_elem elem,
                                  const hd_sparse_rule **rule) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (!info)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.type",
                    "%d is not an element type; legal: 0 to %d", (int)elem, HEDDLE_N_ELEMS - 1);
  if (!rules[elem].n_units)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "sparse.type",
                    "%s cannot be a sparse operand; legal: f16, bf16, tf32, e4m3, e5m2, e3m2, "
                    "e2m3, e2m1, e2m1p, s8, u8, s4 or u4; nearest: %s",
                    info->name,
                    info->kind == HEDDLE_SIGNED ? "s8"
                    : info->container_bits == 8 ? "e4m3"
                                                : "tf32");
  *rule = &rules[elem];
  return HEDDLE_OK;
}

/* Indexed by the set of non-zero units, bit i for unit i. The low two bits of a code are the first
 * index, the upper two the second. 0 if three or four units are set. */
static const uint8_t codes_2_4[16] = {
    /* {} {0} {1} {0,1}     */ 0x4, 0x4, 0x4, 0x4,
    /* {2} {0,2} {1,2} -    */ 0x8, 0x8, 0x9, 0,
    /* {3} {0,3} {1,3} -    */ 0xc, 0xc, 0xd, 0,
    /* {2,3} - - -          */ 0xe, 0,   0,   0,
};
static const uint8_t codes_1_2[4] = {0x4, 0x4, 0xe, 0};

uint8_t hd_sparse_code(const hd_sparse_rule *rule, unsigned nonzero) {
  return rule->kept == 1 ? codes_1_2[nonzero & 3] : codes_2_4[nonzero & 15];
}

bool hd_sparse_code_is_legal(const hd_sparse_rule *rule, unsigned code) {
  unsigned legal = rule->kept == 1 ? 1u << 0x4 | 1u << 0xe
                                   : 1u << 0x4 | 1u << 0x8 | 1u << 0x9 | 1u << 0xc | 1u << 0xd |
                                         1u << 0xe;
  return code < 16 && (legal >> code & 1);
}

heddle_status hd_sparse_bad_code(heddle_context *ctx, const hd_sparse_rule *rule, uint64_t row,
                                 uint64_t group, unsigned code) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.code",
                  "row %llu, group %llu has the code 0x%x; legal: %s", (unsigned long long)row,
                  (unsigned long long)group, code,
                  rule->kept == 1 ? "0x4 or 0xe" : "0x4, 0x8, 0x9, 0xc, 0xd or 0xe");
}
