/* IR/ir.h: the IR: SSA values in structured regions, three levels, ops from ops.def. */
#ifndef HD_IR_H
#define HD_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "IR/facts.h"
#include "Kernel/args.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/hash.h"
#include "Support/strbuf.h"
#include "heddle/types.h"

typedef enum hd_level { HD_LEVEL_PROBLEM, HD_LEVEL_TILE, HD_LEVEL_ROLE } hd_level;

/* Types of values. elem and n are used only by the kinds that name them. */
typedef enum hd_type_kind {
  HD_TYPE_NONE,
  HD_TYPE_I1,
  HD_TYPE_I32,
  HD_TYPE_I64,
  HD_TYPE_F32,
  HD_TYPE_PTR,     /* ptr<bf16>: global memory; elem */
  HD_TYPE_TMAP,    /* tmap */
  HD_TYPE_MATRIX,  /* matrix<bf16>: problem and tile level; elem */
  HD_TYPE_BUFFER,  /* buffer */
  HD_TYPE_BARRIER, /* barrier */
  HD_TYPE_CURSOR,  /* cursor: (slot, phase) in a ring */
  HD_TYPE_FRAG     /* frag<f32 x 128>: n elements of elem per thread, packed into 32-bit registers;
                      raw 32-bit words (metadata) are s32 */
} hd_type_kind;

typedef struct hd_type {
  hd_type_kind kind;
  heddle_elem elem;
  int32_t n;
} hd_type;

#define HD_I1 ((hd_type){.kind = HD_TYPE_I1})
#define HD_I32 ((hd_type){.kind = HD_TYPE_I32})
#define HD_I64 ((hd_type){.kind = HD_TYPE_I64})
#define HD_F32 ((hd_type){.kind = HD_TYPE_F32})
#define HD_TMAP ((hd_type){.kind = HD_TYPE_TMAP})
#define HD_BUFFER ((hd_type){.kind = HD_TYPE_BUFFER})
#define HD_BARRIER ((hd_type){.kind = HD_TYPE_BARRIER})
#define HD_CURSOR ((hd_type){.kind = HD_TYPE_CURSOR})
static inline hd_type hd_type_ptr(heddle_elem elem) {
  return (hd_type){HD_TYPE_PTR, elem, 0};
}
static inline hd_type hd_type_matrix(heddle_elem elem) {
  return (hd_type){HD_TYPE_MATRIX, elem, 0};
}
static inline hd_type hd_type_frag(heddle_elem elem, int32_t n) {
  return (hd_type){HD_TYPE_FRAG, elem, n};
}
bool hd_type_equal(hd_type a, hd_type b);
/* 32-bit registers of a fragment, per thread. */
int32_t hd_type_registers(hd_type frag);

typedef enum hd_op_kind {
#define HD_OP(name, ...) HD_OP_##name,
#include "IR/ops.def"
#undef HD_OP
  HD_N_OPS
} hd_op_kind;

typedef enum hd_attr_key {
#define HD_ATTR(name, ...) HD_ATTR_##name,
#include "IR/attrs.def"
#undef HD_ATTR
  HD_N_ATTRS
} hd_attr_key;

typedef enum hd_attr_kind {
  HD_ATTR_KIND_INT,
  HD_ATTR_KIND_STRING,
  HD_ATTR_KIND_SYMBOL,
  HD_ATTR_KIND_ARG,
  HD_ATTR_KIND_ELEM,
  HD_ATTR_KIND_INTS,
  HD_ATTR_KIND_EXPRS,
  HD_ATTR_KIND_FLAG
} hd_attr_kind;

typedef enum hd_op_issuer {
  HD_BY_NONE,
  HD_BY_THREAD,
  HD_BY_WARP,
  HD_BY_WARPGROUP,
  HD_BY_ROLE,
  HD_BY_CTA,
  HD_BY_CLUSTER
} hd_op_issuer;

/* The effects of ops.def as bits. */
enum {
  HD_EFFECT_PURE = 1 << 0,
  HD_EFFECT_RD_GLOBAL = 1 << 1,
  HD_EFFECT_WR_GLOBAL = 1 << 2,
  HD_EFFECT_RD_SHARED = 1 << 3,
  HD_EFFECT_WR_SHARED = 1 << 4,
  HD_EFFECT_RD_TMEM = 1 << 5,
  HD_EFFECT_WR_TMEM = 1 << 6,
  HD_EFFECT_ASYNC = 1 << 7,
  HD_EFFECT_GENERIC = 1 << 8,
  HD_EFFECT_ASYNCP = 1 << 9,
  HD_EFFECT_SYNC = 1 << 10
};

/* A row of ops.def. */
typedef struct hd_op_info {
  const char *text, *levels;
  const char *operands, *operand_names; /* letters; words */
  const char *results;
  int n_regions;
  hd_op_issuer issuer; /* "by": lib/Spec has the hardware's own hd_issuer */
  const char *issuer_text, *effects_text, *attributes, *doc;
} hd_op_info;
const hd_op_info *hd_op_get_info(hd_op_kind kind);
uint32_t hd_op_effects(hd_op_kind kind); /* HD_EFFECT_* */

typedef struct hd_value hd_value;
typedef struct hd_op hd_op;
typedef struct hd_region hd_region;
typedef struct hd_module hd_module;

typedef struct hd_attr {
  hd_attr_key key;
  int64_t i;             /* INT; ELEM: heddle_elem; ARG: hd_arg_kind, NONE if unknown; FLAG: 1 */
  const char *s;         /* STRING, SYMBOL; the name of an ARG */
  const int64_t *ints;   /* INTS */
  const hd_expr *exprs;  /* EXPRS */
  int32_t n;             /* INTS, EXPRS */
} hd_attr;

struct hd_value {
  hd_type type;
  hd_op *op;         /* defines it; NULL for a region argument */
  hd_region *region; /* for a region argument */
  int32_t index;     /* among op's results or region's arguments */
  const char *name;  /* without %; NULL: printed as a number */
};

struct hd_region {
  hd_op *parent; /* NULL: the module's own region */
  hd_value **args;
  int32_t n_args;
  hd_op *first, *last;
};

struct hd_op {
  hd_op_kind kind;
  hd_loc loc;
  hd_region *region; /* holds the op */
  hd_op *prev, *next;
  hd_value **operands, **results;
  int32_t n_operands, n_results, n_attrs, n_regions;
  hd_attr *attrs; /* sorted by key */
  hd_region **regions;
};

/* ---- operands by name, e.g. hd_for_lo(op) (the table is in ops.def) ---- */
#define HD_IN(set, name, letter) HD_AT_##set##_##name,
#define HD_IN_OPTIONAL HD_IN
#define HD_IN_LIST HD_IN
#define HD_OPERANDS(set, list) enum { list HD_N_AT_##set };
#include "IR/ops.def"
#undef HD_IN
#undef HD_IN_LIST
#define HD_IN(set, name, letter)                                                                   \
  static inline hd_value *hd_##set##_##name(const hd_op *op) {                                     \
    return HD_AT_##set##_##name < op->n_operands ? op->operands[HD_AT_##set##_##name] : NULL;      \
  }
#define HD_IN_LIST(set, name, letter)                                                              \
  static inline hd_value **hd_##set##_##name(const hd_op *op) {                                    \
    return op->operands + HD_AT_##set##_##name;                                                    \
  }                                                                                                \
  static inline int32_t hd_##set##_n_##name(const hd_op *op) {                                     \
    return op->n_operands - HD_AT_##set##_##name;                                                  \
  }
#undef HD_OPERANDS
#define HD_OPERANDS(set, list) list
#include "IR/ops.def"
#undef HD_OPERANDS
#undef HD_IN
#undef HD_IN_OPTIONAL
#undef HD_IN_LIST

/* ORDER BATCH: store.tile and stage.tile have row, column, m, n and g at the same indices;
 * finish.tile has them in the same order. */
_Static_assert((int)HD_AT_store_tile_row == (int)HD_AT_stage_tile_row &&
                   (int)HD_AT_store_tile_g == (int)HD_AT_stage_tile_g &&
                   (int)HD_AT_store_tile_g - (int)HD_AT_store_tile_row ==
                       (int)HD_AT_finish_tile_g - (int)HD_AT_finish_tile_row,
               "ORDER BATCH");

/* ORDER PACK: quantize.pack has the operands of prune.pack up to k at the same indices, mask.pack
 * up to the twin. */
_Static_assert((int)HD_AT_quantize_pack_source == (int)HD_AT_prune_pack_source &&
                   (int)HD_AT_quantize_pack_k == (int)HD_AT_prune_pack_k &&
                   (int)HD_AT_mask_pack_source == (int)HD_AT_prune_pack_source &&
                   (int)HD_AT_mask_pack_k == (int)HD_AT_prune_pack_k &&
                   (int)HD_AT_mask_pack_twin == (int)HD_AT_prune_pack_twin,
               "ORDER PACK");

/* The optional operand `at` of an op: the index of a matrix in a batch; NULL: absent. The operands
 * after it have other types (buffers, fragments or a barrier). */
static inline hd_value *hd_op_batch(const hd_op *op, int32_t at) {
  bool has = at < op->n_operands && op->operands[at]->type.kind == HD_TYPE_I32;
  return has ? op->operands[at] : NULL;
}
static inline int32_t hd_op_behind_batch(const hd_op *op, int32_t at) {
  return at + (hd_op_batch(op, at) != NULL);
}
/* Operand indices of store.tile, stage.tile and finish.tile: the row, followed by column, m and n;
 * the index of a batch's matrix; the first fragment; the buffer of factors, followed by their slot
 * (n_operands: absent). */
static inline int32_t hd_strip_row_at(const hd_op *op) {
  return op->kind == HD_OP_FINISH_TILE ? (int)HD_AT_finish_tile_row : (int)HD_AT_store_tile_row;
}
static inline int32_t hd_strip_g_at(const hd_op *op) {
  return hd_strip_row_at(op) + HD_AT_finish_tile_g;
}
static inline int32_t hd_first_acc(const hd_op *op) {
  int32_t at = hd_strip_g_at(op);
  while (at < op->n_operands && op->operands[at]->type.kind != HD_TYPE_FRAG)
    at++;
  return at;
}
static inline int32_t hd_strip_factors_at(const hd_op *op) {
  int32_t at = hd_op_behind_batch(op, hd_strip_g_at(op));
  bool has = at < op->n_operands && op->operands[at]->type.kind == HD_TYPE_BUFFER;
  return has ? at : op->n_operands;
}
/* The operand index of copy.tma's barrier. */
static inline int32_t hd_copy_tma_barrier_at(const hd_op *op) {
  return hd_op_behind_batch(op, HD_AT_copy_tma_g);
}

/* A module owns everything in it (one arena). */
struct hd_module {
  hd_arena arena;
  hd_level level;
  bool sync_placed;
  const char *file; /* name of the text's file, or NULL */
  hd_region *body;  /* kernels */
  struct hd_plan *plans; /* the kernels' plans so far (Passes/plan.h); in the arena */
};

hd_module *hd_module_create(hd_level level);
void hd_module_free(hd_module *module); /* accepts NULL */
hd_module *hd_module_clone(const hd_module *module); /* owned */
/* The same, but returns a status if memory ran out. */
heddle_status hd_module_copy(heddle_context *ctx, const hd_module *module, hd_module **copy);

/* ---- attributes (if absent: the given default, NULL or false) ---- */
const hd_attr *hd_op_attr(const hd_op *op, hd_attr_key key); /* NULL when absent */
bool hd_op_has(const hd_op *op, hd_attr_key key);
int64_t hd_op_int(const hd_op *op, hd_attr_key key, int64_t otherwise);
const char *hd_op_str(const hd_op *op, hd_attr_key key); /* STRING, SYMBOL, ARG; NULL: absent */
bool hd_op_is(const hd_op *op, hd_attr_key key, const char *symbol);
heddle_elem hd_op_elem(const hd_op *op, hd_attr_key key);
hd_arg_kind hd_op_arg(const hd_op *op); /* of arg and tmap; NONE: unknown */
/* Bytes of a partial.store's or partial.sum's fragments in the workspace: 32 bits per element. */
int64_t hd_partial_bytes(const hd_op *op);
void hd_op_set_int(hd_module *m, hd_op *op, hd_attr_key key, int64_t value);
void hd_op_set_str(hd_module *m, hd_op *op, hd_attr_key key, const char *text);
void hd_op_set_elem(hd_module *m, hd_op *op, hd_attr_key key, heddle_elem elem);
void hd_op_set_flag(hd_module *m, hd_op *op, hd_attr_key key);
void hd_op_set_ints(hd_module *m, hd_op *op, hd_attr_key key, const int64_t *values, int32_t n);
void hd_op_set_arg(hd_module *m, hd_op *op, hd_arg_kind arg);
void hd_op_set_exprs(hd_module *m, hd_op *op, hd_attr_key key, const hd_expr *values, int32_t n);
void hd_op_remove_attr(hd_op *op, hd_attr_key key);
const char *hd_attr_name(hd_attr_key key);
hd_attr_kind hd_attr_get_kind(hd_attr_key key);

/* ---- building: a builder inserts ops at a position in a region ---- */
typedef struct hd_builder {
  hd_module *module;
  hd_region *region;
  hd_op *before; /* NULL: at the end */
  hd_loc loc;    /* of every op built; initially that of the adjacent or enclosing op */
} hd_builder;

hd_builder hd_builder_at_end(hd_module *module, hd_region *region);
hd_builder hd_builder_before(hd_module *module, hd_op *op);
hd_builder hd_builder_after(hd_module *module, hd_op *op);

/* Builds an op with the given operands and result types, and info.n_regions empty regions. The
 * caller sets the attributes. */
hd_op *hd_build(hd_builder *b, hd_op_kind kind, hd_value *const *operands, int32_t n_operands,
                const hd_type *results, int32_t n_results);
/* hd_build with operands as arguments and at most one result. NULL operands are skipped. */
hd_op *hd_build_op(hd_builder *b, hd_op_kind kind, hd_type result, int32_t n_operands, ...);
/* The same; returns the result. */
hd_value *hd_build_value(hd_builder *b, hd_op_kind kind, hd_type result, int32_t n_operands, ...);
hd_value *hd_build_i32(hd_builder *b, int64_t value);
hd_value *hd_build_i64(hd_builder *b, int64_t value);
hd_value *hd_build_i1(hd_builder *b, bool value);
hd_value *hd_build_cmp(hd_builder *b, const char *pred, hd_value *x, hd_value *y);
/* Builds a for whose region has arguments (i, carried...). End the body with hd_build_yield. */
hd_op *hd_build_for(hd_builder *b, hd_value *lo, hd_value *hi, hd_value *step,
                    hd_value *const *carried, int32_t n_carried);
hd_op *hd_build_if(hd_builder *b, hd_value *condition, const hd_type *results, int32_t n_results);
hd_op *hd_build_yield(hd_builder *b, hd_value *const *values, int32_t n);
hd_value *hd_region_add_arg(hd_module *m, hd_region *region, hd_type type, const char *name);

/* ---- changing ---- */
void hd_op_erase(hd_op *op); /* unlinks the op, with its regions */
void hd_op_move_before(hd_op *op, hd_op *before);
void hd_op_move_to_end(hd_op *op, hd_region *region);
void hd_op_add_operand(hd_module *m, hd_op *op, hd_value *value);
hd_value *hd_op_add_result(hd_module *m, hd_op *op, hd_type type);
/* Replaces every use of `old` by `with` inside `region` (nested regions included) after `from` in
 * program order (NULL: every use). Uses by `from` and inside its own regions stay. */
void hd_replace_uses(hd_region *region, const hd_value *old, hd_value *with, const hd_op *from);
/* hd_op_clone makes a deep copy of an op at the builder's position. map: old values → new values;
 * the copied values are added. Zero-initialise to start. */
typedef struct hd_value_map {
  hd_facts places; /* hd_value * as numbers */
} hd_value_map;
void hd_value_map_set(hd_value_map *map, const hd_value *from, hd_value *to);
hd_value *hd_value_map_get(const hd_value_map *map, const hd_value *from); /* NULL if absent */
void hd_value_map_free(hd_value_map *map);
hd_op *hd_op_clone(hd_builder *b, const hd_op *op, hd_value_map *map);

/* ---- walking ---- */
#define HD_FOR_OPS(op, region_)                                                                    \
  for (hd_op *op = (region_)->first, *op##_next = op ? op->next : NULL; op;                        \
       op = op##_next, op##_next = op ? op->next : NULL)
typedef heddle_status hd_visit(void *user, hd_op *op);
/* Calls visit for every op, outer before inner, in program order; stops at the first failure. */
heddle_status hd_walk(hd_region *region, hd_visit *visit, void *user);
/* The first op of that kind in program order, or NULL. */
hd_op *hd_find_op(hd_region *region, hd_op_kind kind);
/* The kernel that contains an op. */
hd_op *hd_op_kernel(hd_op *op);

/* ---- text ---- */
const char *hd_level_name(hd_level level); /* "problem", "tile", "role" */
/* Parses a text; diagnostics carry file (borrowed for the call), line and column. *module is
 * owned. */
heddle_status hd_parse(heddle_context *ctx, const char *file, const char *text, size_t n_bytes,
                       hd_module **module);
/* Parses a text that Heddle generated. Diagnostics about its ops refer to `place`, the location of
 * the user's input from which the text was generated (HD_NOWHERE: none). */
heddle_status hd_parse_made(heddle_context *ctx, hd_loc place, const char *text,
                            hd_module **module);
/* Prints a module. hd_parse of the text gives the same module, which prints as the same bytes. */
void hd_print(const hd_module *module, hd_strbuf *out);
void hd_print_op(const hd_op *op, hd_strbuf *out); /* one op, with its regions */

/* ---- verifying, hashing ---- */
/* The maximum of m, n and k. With the padding of a tile it still fits into 32 bits. */
enum { HD_SIZE_MOST = 1 << 30 };
/* Verifies the structure (levels, operand and result types, attributes, dominance, yields, sync ops
 * only if placed) and the rules of each op. blame NULL: errors are in the input (HEDDLE_INVALID or
 * HEDDLE_UNSUPPORTED); else the name of the pass that just ran: HEDDLE_INTERNAL, which names it. */
heddle_status hd_verify(heddle_context *ctx, const hd_module *module, const char *blame);
/* The hash of the printed text without names of values and locations. */
hd_hash hd_module_hash(const hd_module *module);

#endif
