/* Spec/spec.h: the capabilities of the hardware. Queries of the tables that heddle-tblgen generates
 * from specs/. All tables are constant; every function is thread-safe and allocates nothing. */
#ifndef HD_SPEC_H
#define HD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Layout/layout.h"
#include "Support/hash.h"
#include "heddle/types.h"

/* ORDER FAMILY: same words in specs/schema.td and tools/heddle-tblgen. */
typedef enum hd_family {
  HD_FAMILY_MMA_SP,
  HD_FAMILY_WGMMA_SP,
  HD_FAMILY_TCGEN05_SP,
  HD_FAMILY_LDMATRIX,
  HD_FAMILY_STMATRIX,
  HD_FAMILY_COPY,    /* cp.async, cp.async.bulk, cp.async.bulk.tensor and their groups */
  HD_FAMILY_SYNC,    /* mbarrier, fences, wgmma.fence/commit_group/wait_group, cluster barriers */
  HD_FAMILY_TCGEN05, /* alloc, cp, ld, st, commit, wait, fence */
  HD_N_FAMILIES
} hd_family;

/* The threads that must execute the instruction together. */
typedef enum hd_issuer {
  HD_ISSUER_THREAD,
  HD_ISSUER_WARP,
  HD_ISSUER_WARPGROUP,
  HD_ISSUER_CTA_PAIR /* one thread, for both CTAs of a pair */
} hd_issuer;

/* The mechanism by which a later instruction waits for completion. */
typedef enum hd_completion {
  HD_COMPLETION_NONE,        /* synchronous, no result */
  HD_COMPLETION_REGISTER,    /* register dependence */
  HD_COMPLETION_WGMMA_GROUP, /* wgmma.commit_group, wait_group */
  HD_COMPLETION_MBARRIER,    /* a phase of an mbarrier */
  HD_COMPLETION_ASYNC_GROUP, /* cp.async.commit_group, wait_group */
  HD_COMPLETION_BULK_GROUP,  /* cp.async.bulk.commit_group, wait_group */
  HD_COMPLETION_TCGEN05_WAIT /* tcgen05.wait::ld / ::st */
} hd_completion;

/* The location of an operand. An mma reads shared memory through a 64-bit descriptor. */
typedef enum hd_space {
  HD_SPACE_NONE,
  HD_SPACE_REGISTER,
  HD_SPACE_SHARED,
  HD_SPACE_TENSOR,
  HD_SPACE_GLOBAL,
  HD_SPACE_CLUSTER /* shared memory of any CTA of the cluster */
} hd_space;

typedef enum hd_proxy { HD_PROXY_GENERIC, HD_PROXY_ASYNC, HD_PROXY_TENSOR } hd_proxy;
typedef enum hd_access { HD_ACCESS_READ = 1, HD_ACCESS_WRITE = 2, HD_ACCESS_ORDER = 4 } hd_access;

/* One effect: the access, its proxy, and the completion mechanism. An ORDER effect orders accesses
 * to that space and proxy and is not an access itself. */
typedef struct hd_effect {
  hd_space space;
  hd_access access;
  hd_proxy proxy;
  hd_completion done; /* REGISTER: complete when the instruction is complete */
  const char *what;   /* "A", "accumulators", "destination", … */
} hd_effect;

typedef enum hd_operand_id {
  HD_OPERAND_A,
  HD_OPERAND_B,
  HD_OPERAND_C,
  HD_OPERAND_D, /* wgmma and tcgen05: also the accumulator input; ldmatrix: the destination */
  HD_OPERAND_META,
  HD_OPERAND_SCALE_A,
  HD_OPERAND_SCALE_B,
  HD_N_OPERANDS
} hd_operand_id;

/* Layout of an operand: map has inputs (lane, reg, field), outputs (row, col). A lane contributes
 * if (lane & lane_mask) == lane_value; the map ignores the masked lane bits. Field f of register r
 * is field_bits bits, starting at bit (field_base + f) * field_bits. A: row m, col compressed k. B:
 * row k, col n. C, D: m, n. Metadata: row m and the first logical k of the group that the 4-bit
 * field describes. Scale: row m (for B: col n) and the index of the k block. Shared memory has no
 * lanes: see hd_canonical_layout. In tensor memory lane is the datapath lane, and reg_base + reg is
 * the 32-bit column. */
typedef struct hd_fragment {
  hd_space space;
  uint8_t field_bits;
  uint16_t n_regs; /* 32-bit registers per lane */
  uint16_t rows, cols;
  uint16_t col_step; /* columns per field: the size of a group for metadata; else 1 */
  uint16_t n_lanes; /* 32, or 128 for a warpgroup and tensor memory */
  uint16_t lane_mask, lane_value;
  uint8_t field_base; /* block scales: first used byte, set by the selector; else 0 */
  uint8_t reg_base;   /* metadata in tensor memory: column, set by the selector; else 0 */
  bool broadcast;     /* several lanes hold the same element */
  hd_layout map;
} hd_fragment;

typedef struct hd_operand {
  hd_space space;
  heddle_elem elem; /* HEDDLE_N_ELEMS: not typed (metadata) */
  char reg;         /* inline asm constraint: 'r' b32, 'f' f32, 'l' b64 descriptor, 0 none */
  uint16_t n_regs;  /* registers per thread */
} hd_operand;

typedef enum hd_verified_by {
  HD_VERIFIED_BY_NONE,
  HD_VERIFIED_BY_PTXAS,
  HD_VERIFIED_BY_H200,
  HD_VERIFIED_BY_TWO_TRANSCRIPTIONS
} hd_verified_by;

/* Immediates and qualifiers that a row accepts in addition to its text. */
typedef enum hd_modifier {
  HD_MOD_SATFINITE = 1 << 0,
  HD_MOD_SCALE_D = 1 << 1,    /* predicate: 0 ignores the accumulator input */
  HD_MOD_NEGATE_A = 1 << 2,   /* imm-scale-a: 1 or -1 */
  HD_MOD_NEGATE_B = 1 << 3,
  HD_MOD_TRANS_A = 1 << 4,    /* imm-trans-a: 0 K-major, 1 M-major (descriptor only) */
  HD_MOD_TRANS_B = 1 << 5,
  HD_MOD_SCALE_VEC = 1 << 6,  /* .scale_vec is optional */
  HD_MOD_COLLECTOR = 1 << 7,
  HD_MOD_ASHIFT = 1 << 8,
  HD_MOD_DISABLE_LANE = 1 << 9,
  HD_MOD_SCALE_INPUT_D = 1 << 10
} hd_modifier;

/* A predicate of targets, and the first PTX version. */
typedef enum hd_avail_kind {
  HD_AVAIL_SINCE,  /* this sm number or a later one, any suffix */
  HD_AVAIL_ARCH,   /* exactly this sm number with suffix a */
  HD_AVAIL_FAMILY  /* suffix f or a, same family, this sm number or later */
} hd_avail_kind;

typedef struct hd_avail {
  hd_avail_kind kind;
  uint16_t sm, ptx; /* 90, 82 */
  bool undefined;   /* ptxas accepts the row, but the ISA does not define it: never legal */
} hd_avail;

typedef struct hd_spec_row {
  const char *name;           /* "mma_sp_ordered_m16n8k32_f32_f16_f16" */
  const char *ptx;            /* the instruction with every mandatory qualifier */
  const char *operands;       /* "d, a, b, c, e, f" */
  const char *llvm_intrinsic; /* NULL: inline asm */
  const char *source;         /* "PTX ISA 9.7.14.6.3" */
  const char *note;           /* why no available target and PTX version accepts it; "" */
  hd_family family;
  hd_issuer issuer;
  uint16_t m, n, k;
  bool ordered;              /* mma.sp::ordered_metadata */
  bool a_in_registers;       /* mma: A is in registers (tcgen05: in tensor memory) */
  uint8_t cta_group;         /* tcgen05: 1 or 2 */
  const char *kind;          /* "", "f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4", "f16", "tf32", "i8" */
  uint8_t scale_vec;         /* 0, 1, 2, 4 */
  hd_operand operand[HD_N_OPERANDS];
  uint8_t n_selectors;       /* the ISA defines sparsity selectors 0..n-1 */
  uint8_t n_selectors_taken; /* ptxas accepts 0..n-1; those >= n_selectors are undefined */
  uint32_t modifiers;
  uint8_t n_avail, n_effects;
  const hd_avail *avail;
  const hd_effect *effect;
  const hd_fragment *fragment[HD_N_OPERANDS]; /* NULL: shared memory, or none */
  hd_verified_by syntax_verified_by, layout_verified_by;
} hd_spec_row;

/* Number of consecutive elements of k per block scale; 0: the row has no block scales. */
static inline int hd_spec_block(const hd_spec_row *row) {
  return row->scale_vec ? row->k / row->scale_vec : 0;
}
/* Block scales (bytes) of a row of A or a column of B in a k-block, which has two k-steps. */
static inline int hd_spec_scales_a_row(const hd_spec_row *row) { return 2 * row->scale_vec; }
/* Block scales for tensor memory: a tile is 128 rows by the 4 scales of a word (docs/format.md). In
 * tensor memory it is 4 columns, one per 32 rows, copied to each 32 lanes: 4 times its bytes. */
enum {
  HD_SCALE_TILE_ROWS = 128,
  HD_SCALE_TILE_BYTES = 512,
  HD_SCALE_TILE_COLUMNS = 4,
  HD_SCALE_TILE_COPIES = 4,
  HD_SCALE_COLUMN_ROWS = 32,
  HD_SCALES_A_WORD = 4
};

/* ---- rows ---- */
size_t hd_spec_count(void);
/* The i-th row, grouped by family, in the order of specs/. NULL if i is out of range. */
const hd_spec_row *hd_spec_get(size_t i);
/* Finds a row by name or by PTX instruction text (satfinite may be present); NULL: no such row. If
 * two rows share a text (wgmma with A by descriptor or in registers), the one with a descriptor. */
const hd_spec_row *hd_spec_find(const char *name_or_ptx);
/* False for rows without a verified layout, which are only listed, and for the forms of
 * tcgen05.mma.sp that no pass supports. */
bool hd_spec_can_generate(const hd_spec_row *row);
/* Hash of all tables, a part of every cache key. */
hd_hash hd_spec_hash(void);

/* ---- targets ---- */
typedef struct hd_target {
  const char *name;         /* "sm_90a" */
  const char *formerly;     /* name in earlier PTX versions; "" */
  uint16_t sm;              /* 90 */
  char suffix;              /* 'a', 'f' or 0 */
  uint16_t family;          /* sm number of the family's head: 100 for sm_103 */
  uint16_t min_ptx;         /* 80 */
  uint16_t taken_ptx; /* first version that ptxas accepts; below min_ptx it is undefined */
  uint16_t llvm_ptx;        /* PTX feature to pass to LLVM 22: 86 */
  uint32_t shared_per_block, shared_per_sm; /* bytes; per_block = the opt-in limit */
  uint32_t registers_per_sm;
  uint16_t max_registers_per_thread, max_threads_per_sm;
  bool has_tma, has_cluster;
  uint32_t tensor_columns;  /* columns of tensor memory; 0 none */
} hd_target;

size_t hd_target_count(void);
const hd_target *hd_target_get(size_t i);
/* HEDDLE_UNSUPPORTED for an unknown name. *target is borrowed (static). */
heddle_status hd_target_parse(const char *name, const hd_target **target);
/* The supported target nearest to a wrong name, or the new name of a renamed target. Never NULL. */
const char *hd_target_nearest(const char *name);

/* ---- legality ---- */
typedef enum hd_legality {
  HD_LEGAL,
  HD_ILLEGAL,
  HD_UNDEFINED /* ptxas accepts it, but the ISA does not define it */
} hd_legality;

/* The parameters of a query. Initialize with {.selector = -1} for no selector. */
typedef struct hd_legal_query {
  const hd_target *target;
  uint16_t ptx; /* 85 */
  int selector; /* -1: not checked */
} hd_legal_query;

/* Unless the result is HD_LEGAL, reason (may be NULL) gets one sentence: rule, value, legal
 * values. */
hd_legality hd_spec_legal(const hd_spec_row *row, const hd_legal_query *query, char *reason,
                          size_t reason_bytes);
/* The first PTX version (for example 85) with the row legal on the target; 0: none. */
unsigned hd_spec_min_ptx(const hd_spec_row *row, const hd_target *target);
/* hd_spec_legal for an instruction text, including its qualifiers and selector. The text need not
 * match a row. */
hd_legality hd_spec_legal_text(const char *instruction, const hd_legal_query *query, char *reason,
                               size_t reason_bytes);

/* ---- finding an instruction for a tile ---- */
/* Initialize with HD_MMA_ANY, then set fields; a field with its "any" value matches all rows. */
typedef struct hd_mma_query {
  int family;        /* hd_family, or -1 any */
  int m, n, k;       /* 0 any */
  int a, b, d;       /* heddle_elem, or -1 any (d is also the accumulator type) */
  int ordered;       /* 1, 0, -1 any; wgmma and tcgen05 rows count as ordered */
  int a_in_registers;/* 1, 0, -1 any */
  int cta_group;     /* 0 any */
  const char *kind;  /* NULL any */
  const hd_target *target; /* NULL any */
  unsigned ptx;      /* 0: the target's llvm_ptx */
} hd_mma_query;

#define HD_MMA_ANY                                                                                 \
  ((hd_mma_query){.family = -1, .a = -1, .b = -1, .d = -1, .ordered = -1, .a_in_registers = -1})

/* The first row at or after *cursor (start at 0) that matches; NULL at the end. */
const hd_spec_row *hd_spec_next_mma(const hd_mma_query *query, size_t *cursor);

/* ---- layouts ---- */
/* Layout of an operand for a sparsity selector (0 if there is none). HEDDLE_UNSUPPORTED if the
 * operand has no fragment (shared memory) or the selector is undefined. */
heddle_status hd_spec_fragment(const hd_spec_row *row, hd_operand_id operand, unsigned selector,
                               hd_fragment *fragment);
/* The row and column of field (lane, reg, field). False if that lane does not contribute. */
bool hd_fragment_at(const hd_fragment *fragment, unsigned lane, unsigned reg, unsigned field,
                    uint32_t *row, uint32_t *col);
const char *hd_operand_name(hd_operand_id operand);
/* "none", "ptxas", "H200", "Spec and Sim". */
const char *hd_verified_by_name(hd_verified_by by);

/* ---- shared memory: canonical layouts and descriptors ---- */
typedef enum hd_smem_swizzle {
  HD_SMEM_NONE,
  HD_SMEM_32B,
  HD_SMEM_64B,
  HD_SMEM_128B
} hd_smem_swizzle;

/* A form of a matrix tile in shared memory that wgmma and tcgen05 can read. */
typedef struct hd_canonical {
  bool mn_major;
  hd_smem_swizzle swizzle;
  uint32_t lbo_bytes, sbo_bytes; /* leading and stride dimension byte offsets */
} hd_canonical;

/* The byte address of element (mn, k): inputs (mn, k), output (byte). elem_bits is 8, 16 or 32. The
 * extents mn and k are in elements. False unless they fill whole atoms (8 rows x swizzle bytes). */
bool hd_canonical_layout(const hd_canonical *form, unsigned elem_bits, uint32_t mn, uint32_t k,
                         hd_layout *layout);
/* Finds the canonical form of a buffer layout (inputs mn, k; output byte). HD_NO: there is none. */
hd_answer hd_canonical_match(const hd_layout *buffer, unsigned elem_bits, hd_canonical *form);

/* The constant part of 64-bit descriptors of wgmma and tcgen05. The kernel ORs it with
 * address >> 4. */
uint64_t hd_wgmma_descriptor(const hd_canonical *form);
uint64_t hd_tcgen05_descriptor(const hd_canonical *form);
/* The instruction descriptor of a tcgen05.mma.sp row, for a tile of n columns. selector: the
 * metadata selector; for rows with block scales, the byte of a word at which both scales begin. */
uint32_t hd_tcgen05_idesc(const hd_spec_row *row, uint32_t n, unsigned selector, bool b_mn_major);

/* Descriptor tables: one entry per bit field. */
typedef struct hd_field {
  const char *name, *text;
  uint8_t lo, hi;     /* bits, inclusive */
  uint8_t shift;      /* encoded value = value >> shift */
  uint64_t fixed;     /* encoded value that the ISA requires; UINT64_MAX: any */
  uint64_t defined;   /* bit v: the ISA defines the encoded value v; 0: all are defined */
} hd_field;
typedef struct hd_descriptor {
  const char *name, *source;
  uint8_t bits;
  uint8_t n_fields;
  const hd_field *field;
} hd_descriptor;
size_t hd_descriptor_count(void);
const hd_descriptor *hd_descriptor_get(size_t i);
const hd_descriptor *hd_descriptor_find(const char *name);
/* The maximum encoded value of the field. */
uint64_t hd_field_mask(const hd_field *field);
/* True if the ISA defines an encoded value. */
bool hd_field_defined(const hd_field *field, uint64_t encoded);
/* The defined value nearest to `value`, not encoded; the smaller one of two. */
uint64_t hd_field_nearest(const hd_field *field, int64_t value);

#endif
