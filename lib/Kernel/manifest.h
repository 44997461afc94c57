/* Kernel/manifest.h: what a compiled kernel is, without its code: arguments, launch geometry,
 * tensor-map recipes, resources. Written by Compile, read by Runtime, Sim and the generated C
 * launcher; as JSON beside the PTX (NAME.json). Uses Support only. */
#ifndef HD_MANIFEST_H
#define HD_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Kernel/args.h"
#include "Support/activations.h"
#include "Support/arena.h"
#include "heddle/context.h"
#include "heddle/kernel.h"
#include "heddle/types.h"

enum {
  HD_MANIFEST_VERSION = 12,
  HD_MAX_ARGS = 32,
  HD_MAX_PARAMS = 40,
  HD_MAX_TMAPS = 4,
  HD_MAX_VARIANTS = 72, /* of buckets two each, and what serves misaligned operands */
  HD_MAX_REQUIREMENTS = 12
};

/* Of a pitch in elements, and of a tensor map's in bytes (cuTensorMapEncodeTiled asks for less). */
#define HD_MAX_STRIDE (INT64_C(1) << 40)

/* A public argument. For a size: fixed value (0: known at launch), and what the launch checks.
 * For a pointer: alignment in bytes. For a stride: least value as an expression. */
typedef struct hd_arg {
  hd_arg_kind kind;
  int64_t fixed;        /* > 0: the size or stride is this constant and not passed by the caller */
  int64_t divisible_by; /* 1 = anything */
  int64_t max;          /* 0 = no bound */
  hd_expr at_least;     /* strides: the shortest legal row; div 0 = unchecked */
  int32_t align;        /* pointers: bytes */
  heddle_elem elem;     /* pointers: what they point to */
} hd_arg;

/* Tiled tensor maps (CUDA Driver API cuTensorMapEncodeTiled); dimension 0 is contiguous. */
typedef enum hd_swizzle {
  HD_SWIZZLE_NONE,
  HD_SWIZZLE_32,
  HD_SWIZZLE_64,
  HD_SWIZZLE_128
} hd_swizzle;

typedef struct hd_tmap_recipe {
  hd_arg_kind base;
  heddle_elem elem; /* f16, bf16, tf32 (as f32 type), f32, 8-bit as bytes */
  int32_t rank;     /* 2..5 */
  hd_expr dim[5];    /* elements */
  hd_expr stride[5]; /* bytes; [0] unused; of a batch that a launch shares, 0: encoded as 16, for
                        nobody leaves its first matrix */
  int32_t box[5];
  hd_swizzle swizzle;
} hd_tmap_recipe;

/* A tensor map with the launch's values filled in. */
typedef struct hd_tmap {
  uint64_t base; /* device address */
  heddle_elem elem;
  int32_t rank;
  uint64_t dim[5], stride[5];
  uint32_t box[5];
  hd_swizzle swizzle;
} hd_tmap;

/* One parameter of the PTX entry: an argument's value, or the 128-byte tensor map number `tmap`. */
typedef struct hd_param {
  hd_arg_kind arg; /* NONE: a tensor map */
  int32_t tmap;
} hd_param;

/* What a variant needs of the launch values: value(expr) % modulo == 0, and value <= at_most where
 * that is not 0. Pointers count as their address. Examples: LDB * 2 bytes, modulo 16 (TMA); N,
 * at_most 16 (the schedule of a bucket of sizes). */
typedef struct hd_requirement {
  hd_expr value;
  int64_t modulo, at_most;
} hd_requirement;

/* Inline: the launch path. */
static inline bool hd_requirement_is_met(const hd_requirement *r, int64_t value) {
  return (r->at_most == 0 || value <= r->at_most) && (r->modulo == 1 || value % r->modulo == 0);
}

/* How many borders of buckets a launch compares at a time. */
enum { HD_BORDERS_AT_ONCE = 8 };
_Static_assert(HD_MAX_VARIANTS % HD_BORDERS_AT_ONCE == 0, "whole vectors of borders");
_Static_assert(HD_MAX_VARIANTS <= UINT8_MAX, "bucket_first holds an index of a variant");

/* One entry point. A launch takes the first variant whose requirements hold. */
typedef struct hd_variant {
  const char *entry; /* name in the PTX */
  const char *path;  /* how B comes: "tma", … (Schedule/variants.c) */
  const char *schedule; /* its words; NULL: not said */
  const char *instead_of; /* of the first choice, which does not fit into registers; NULL: none */
  int32_t n_threads; /* block size */
  int32_t cluster;   /* CTAs a cluster along x; 1 = none */
  int32_t tile_cluster; /* of those, CTAs that take tiles together: all, or each its own (1) */
  int32_t shared_bytes; /* dynamic */
  int32_t n_registers;  /* 0 = unknown */
  int32_t tile_m, tile_n;
  int32_t split_k;
  /* tiles = ceil(M / (tile_m * tile_cluster)) * tile_cluster * ceil(N / tile_n) * split_k * G.
   * grid = tiles, in whole clusters; persistent: at most what is resident at once. Of groups, whose
   * tiles the plan does not know: as many as there may be, ceil(N / tile_n) + min(G, N) - 1 along
   * N. */
  bool persistent;
  /* Of k. Above 0: CTAs share tiles over k (stream-K), all but the whole waves, and of more waves
   * than one the last whole one too. Fewer tiles than are resident at once: the grid is that large
   * still, or as large as there are k-blocks. */
  int32_t stream_granule;
  /* Another variant that is launched before this one, into the same stream, as 1 + its index; 0:
   * none. It runs for no other end (`runs_ahead`), has no tensor maps, and tiles of all rows of D;
   * the launch needs the workspace of both. */
  int32_t ahead;
  bool runs_ahead;
  /* The same after this one: it combines columns (combine_d), its tiles are columns of D, t. */
  int32_t behind;
  bool runs_behind;
  bool dependent_launch; /* is launched with programmatic stream serialization */
  bool weights_ready;    /* reads A, its block scales before its predecessor in the stream ended */
  int32_t n_params, n_tmaps, n_requirements;
  hd_requirement requirement[HD_MAX_REQUIREMENTS]; /* first: read with what stands above */
  hd_tmap_recipe tmap[HD_MAX_TMAPS];
  hd_param param[HD_MAX_PARAMS];
  /* bytes = value * tiles; stream_granule: value * (grid + shared tiles), 0 without those. div 0:
   * none */
  hd_expr workspace_bytes_per_tile;
} hd_variant;

typedef struct hd_manifest {
  const char *name;    /* of the kernel; a C identifier */
  const char *target;  /* "sm_90a" */
  int32_t ptx_version; /* 86 */
  /* The problem: D[M,N] = epilogue(A[M,K] sparse * B[K,N]); of an act of pairs D[M/2,N]; of a batch
   * G of them. */
  heddle_elem a_elem, b_elem, c_elem, d_elem, acc_elem, bias_elem;
  bool b_mn_major;    /* false: B stored N x K, row pitch ldb; true: stored K x N */
  bool d_col_major;   /* false: D stored M x N, row pitch ldd; true: stored N x M */
  bool c_col_major;
  bool bias_along_n;  /* false: bias[M]; true: bias[N] */
  bool scale_a_one, scale_b_one; /* false: scale_a[M], scale_b[N]; true: one value */
  int32_t slots;       /* of combine_d: indices of a column of D; 0: there is none */
  const char *statistic; /* what scale_d gets of each 128 rows of D and column: "absmax", "sumsq",
                            or "scale", by which D is divided; NULL: there is none */
  int32_t scale_block; /* elements of k for each of block_scale_a, block_scale_b; 0: none */
  int32_t scale_rows;  /* rows of A that share one; 0: there are none */
  bool scale_tiles;    /* they are stored in tiles of 128 rows; false: k-blocks, at a pitch */
  const char *act;    /* "none", "relu", "swiglu", … or "user" */
  const char *user_function; /* name, or NULL */
  const char *family; /* metadata plane of packed A: "mma", "wgmma" */
  int32_t n_args, n_variants;
  hd_arg arg[HD_MAX_ARGS];
  hd_variant variant[HD_MAX_VARIANTS];
  /* Made of the variants by hd_manifest_index, for the launch: the size that buckets divide (NONE:
   * no such), the largest size of each bucket but the last, ascending, and each bucket's first
   * variant. Borders behind n_borders, up to a multiple of HD_BORDERS_AT_ONCE, are INT32_MAX. */
  hd_arg_kind bucket_size;
  int32_t n_borders, border[HD_MAX_VARIANTS];
  uint8_t bucket_first[HD_MAX_VARIANTS];
  char hash[33]; /* of what the kernel is made from */
  char ptx_hash[33], cubin_hash[33]; /* of its code (hd_hash_bytes); "": there is none */
} hd_manifest;

/* Values of one launch, indexed by hd_arg_kind: pointers and integers as they are, floats as their
 * 32 bits. */
typedef struct hd_values {
  uint64_t v[HD_N_ARG_KINDS];
} hd_values;

/* Unsigned inside, so that it wraps rather than breaks; hd_manifest_plan bounds the values and
 * hd_manifest_check the factors so that nothing wraps. */
static inline int64_t hd_expr_eval(const hd_expr *e, const hd_values *values) {
  uint64_t arg = e->arg == HD_ARG_NONE ? 1 : values->v[e->arg];
  int64_t x = (int64_t)(arg * (uint64_t)e->mul + (uint64_t)e->add);
  return e->div <= 1 ? x : (x + e->div - 1) / e->div;
}

/* CUtensorMapDataType of an element (cuTensorMapEncodeTiled): tf32 moves as f32, everything of 8
 * bits or less as bytes. */
int32_t hd_tmap_data_type(heddle_elem elem);

/* What a launch will do. grid_x 0 (M, N or G is 0): nothing, the launch is done at once. */
typedef struct hd_launch_plan {
  const hd_variant *variant; /* borrowed from the manifest */
  const hd_variant *ahead, *behind; /* launched before it, after it, of so many CTAs; NULL: none */
  uint32_t ahead_grid, behind_grid;
  uint32_t grid_x, n_tiles;
  uint64_t workspace_bytes;
  hd_tmap tmap[HD_MAX_TMAPS]; /* variant->n_tmaps of them are set, none when grid_x is 0 */
} hd_launch_plan;

/* Refuses a size or stride that no launch takes; a stride's least is of the sizes in values. */
heddle_status hd_manifest_check_number(heddle_context *ctx, const hd_arg *arg,
                                       const hd_values *values);

/* It serves another variant, and is never launched for itself. */
static inline bool hd_variant_serves(const hd_variant *variant) {
  return variant->runs_ahead || variant->runs_behind;
}

static inline bool hd_variant_takes(const hd_variant *variant, hd_arg_kind kind) {
  for (int i = 0; i < variant->n_params; i++)
    if (variant->param[i].arg == kind)
      return true;
  return false;
}

/* What adds up the products' columns; NULL: nothing does. */
static inline const hd_variant *hd_manifest_combiner(const hd_manifest *manifest) {
  for (int i = 0; i < manifest->n_variants; i++)
    if (manifest->variant[i].runs_behind)
      return &manifest->variant[i];
  return NULL;
}

/* Columns of D of products of n columns. */
static inline int64_t hd_manifest_d_columns(const hd_manifest *manifest, int64_t n, int64_t t) {
  return manifest->slots ? t : n;
}

/* Rows of D of so many rows of A. */
static inline int64_t hd_manifest_d_rows(const hd_manifest *manifest, int64_t m) {
  return hd_act_is_pair(manifest->act) ? m / 2 : m;
}

/* The argument of that kind, or NULL. */
const hd_arg *hd_manifest_arg(const hd_manifest *manifest, hd_arg_kind kind);

/* It packs its B [m, k] into D, and multiplies nothing. Tiles are tile_m rows by tile_n columns of
 * k. */
static inline bool hd_manifest_is_pack(const hd_manifest *manifest) {
  return hd_manifest_arg(manifest, HD_ARG_A) == NULL;
}

/* A batch whose products are groups of columns, as a launch's offsets say. */
static inline bool hd_manifest_is_grouped(const hd_manifest *manifest) {
  return hd_manifest_arg(manifest, HD_ARG_OFFSETS) != NULL;
}

/* True when the caller passes it: every argument that is not fixed. */
static inline bool hd_arg_is_passed(const hd_arg *arg) { return arg->fixed <= 0; }

/* Fills in the fixed sizes, checks values (divisible_by, max, alignment, shortest stride, null
 * pointers: only the user pointer, and a workspace of 0 bytes, may be null), picks the variant,
 * computes grid and tensor maps. max_resident: CTAs that the device holds at once per variant index
 * (0: unlimited; NULL: all unlimited). HEDDLE_INVALID names argument, value and rule,
 * HEDDLE_UNSUPPORTED when no variant's requirements hold or the grid is too large; ctx may be NULL
 * (no text). Nothing is allocated on success: this is the launch path. */
heddle_status hd_manifest_plan(heddle_context *ctx, const hd_manifest *manifest, hd_values *values,
                               const uint32_t *max_resident, hd_launch_plan *plan);

/* Bytes of workspace that a launch with these sizes and strides may need, whichever variant its
 * pointers choose; max_resident as above. Pointers in values are not looked at. */
heddle_status hd_manifest_workspace(heddle_context *ctx, const hd_manifest *manifest,
                                    hd_values *values, const uint32_t *max_resident,
                                    uint64_t *n_bytes);

/* Is it whole: identifiers, ranges, references between arguments, parameters and maps.
 * hd_manifest_write and _read call it. */
heddle_status hd_manifest_check(heddle_context *ctx, const hd_manifest *manifest);

/* Finds the buckets, without which a launch looks at every variant in turn. */
void hd_manifest_index(hd_manifest *manifest);

/* Makes the manifest that of this code. */
void hd_manifest_name_code(hd_manifest *manifest, const heddle_image *code);
/* HEDDLE_INVALID when a part of the code is not the one that the manifest was made with. */
heddle_status hd_manifest_check_code(heddle_context *ctx, const hd_manifest *manifest,
                                     const heddle_image *code);

/* "int NAME(const void *a, …, void *stream)", in the arena: the kernel as a C function. */
const char *hd_manifest_prototype(hd_arena *arena, const hd_manifest *manifest);

/* A copy whose strings live in the arena. */
void hd_manifest_copy(hd_arena *arena, const hd_manifest *from, hd_manifest *to);

/* JSON text of a manifest (owned, hd_free); byte-reproducible, keys in a fixed order. */
heddle_status hd_manifest_write(heddle_context *ctx, const hd_manifest *manifest, char **json);
/* Reads it back; strings live in the arena. HEDDLE_INVALID with the offending key. */
heddle_status hd_manifest_read(heddle_context *ctx, const char *json, size_t n_bytes,
                               hd_arena *arena, hd_manifest *manifest);

#endif
