/* Kernel/manifest.h: everything about a compiled kernel except its code: arguments, launch
 * geometry, tensor-map recipes, resources. Compile writes it; Runtime, Sim and the generated C
 * launcher read it. Stored as JSON beside the PTX (NAME.json). Uses Support only. */
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
  HD_MANIFEST_VERSION = 14,
  HD_MAX_ARGS = 32,
  HD_MAX_PARAMS = 40,
  HD_MAX_TMAPS = 5, /* B in two widths of boxes, D, block scales of A and B */
  HD_MAX_VARIANTS = 104, /* two per size bucket, plus variants for misaligned operands */
  HD_MAX_REQUIREMENTS = 12
};

/* Maximum of a pitch in elements. A tensor map's strides in bytes must be below it
 * (cuTensorMapEncodeTiled). */
#define HD_MAX_STRIDE (INT64_C(1) << 40)

/* A public argument. A size or stride may be fixed; 0 means that the caller passes it. A launch
 * checks divisible_by, max, at_least and align. */
typedef struct hd_arg {
  hd_arg_kind kind;
  int64_t fixed;        /* > 0: the size or stride is this constant and not passed by the caller */
  int64_t divisible_by; /* 1 = anything */
  int64_t max;          /* 0 = no bound */
  hd_expr at_least;     /* strides: the minimum, the length of a row; div 0 = unchecked */
  int32_t align;        /* pointers: bytes */
  heddle_elem elem;     /* pointers: element type */
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
  hd_expr stride[5]; /* bytes; [0] unused. A batch stride of 0 (all products use one matrix) is
                        encoded as 16, because only the first matrix is accessed */
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

/* A condition of a variant on the launch values: value % modulo == 0, and value <= at_most if
 * at_most is not 0. The value of a pointer is its address. Examples: LDB * 2 bytes, modulo 16
 * (TMA); N, at_most 16 (the schedule of a size bucket). */
typedef struct hd_requirement {
  hd_expr value;
  int64_t modulo, at_most;
} hd_requirement;

/* Inline because it is on the launch path. */
static inline bool hd_requirement_is_met(const hd_requirement *r, int64_t value) {
  return (r->at_most == 0 || value <= r->at_most) && (r->modulo == 1 || value % r->modulo == 0);
}

/* Number of bucket borders that a launch compares at a time, and of such blocks of borders. */
enum { HD_BORDER_BLOCK = 8, HD_BORDER_BLOCKS = 16 };
_Static_assert(HD_MAX_VARIANTS % HD_BORDER_BLOCK == 0, "whole blocks of borders");
_Static_assert(HD_MAX_VARIANTS < HD_BORDER_BLOCK * HD_BORDER_BLOCKS, "a last border of each block");
_Static_assert(HD_MAX_VARIANTS <= UINT8_MAX, "bucket_first holds an index of a variant");

/* One entry point. A launch takes the first variant whose requirements hold. */
typedef struct hd_variant {
  const char *entry; /* name in the PTX */
  const char *path;  /* how B is loaded: "tma", … (Schedule/variants.c) */
  const char *schedule; /* the schedule's words; NULL: not recorded */
  const char *instead_of; /* first choice, which did not fit into registers; NULL: none */
  int32_t n_threads; /* block size */
  int32_t cluster;   /* CTAs per cluster along x; 1 = no cluster */
  int32_t tile_cluster; /* CTAs of a cluster that take tiles together: all, or 1 (no sharing) */
  int32_t shared_bytes; /* dynamic */
  int32_t n_registers;  /* 0 = unknown */
  int32_t tile_m, tile_n;
  int32_t split_k;
  /* tiles = ceil(M / (tile_m * tile_cluster)) * tile_cluster * ceil(N / tile_n) * split_k * G.
   * grid = tiles, rounded up to whole clusters; persistent: at most the CTAs that are resident at
   * once. The plan does not know the sizes of groups and uses the maximum number of tiles along N,
   * ceil(N / tile_n) + min(G, N) - 1. */
  bool persistent;
  /* Elements of k per k-block; above 0: stream-K. The CTAs share the tiles of the partial wave over
   * k, and those of the last whole wave too, if there is one. With fewer tiles than resident CTAs,
   * the grid is the number of resident CTAs, or of k-blocks in all tiles if that is less. The plan
   * counts as many shared tiles for groups as their sizes may make: up to two waves less one. */
  int32_t stream_granule;
  /* 1 + the index of the variant that is launched before this one, in the same stream; 0: none.
   * That variant has `runs_ahead` set, is never launched on its own, has no tensor maps, and its
   * tiles span all rows of D. The launch needs the larger of the two workspaces. */
  int32_t ahead;
  bool runs_ahead;
  /* The same for the variant launched after this one: combine_d, with tiles along the t columns. */
  int32_t behind;
  bool runs_behind;
  bool dependent_launch; /* launched with programmatic stream serialization */
  bool weights_ready;    /* may read A and its block scales before the predecessor kernel ends */
  int32_t n_params, n_tmaps, n_requirements;
  hd_requirement requirement[HD_MAX_REQUIREMENTS]; /* first: read together with the members above */
  hd_tmap_recipe tmap[HD_MAX_TMAPS];
  hd_param param[HD_MAX_PARAMS];
  /* bytes = value * tiles; with stream_granule: value * (grid + shared tiles), or 0 if no tile is
   * shared. div 0: no workspace */
  hd_expr workspace_bytes_per_tile;
} hd_variant;

typedef struct hd_manifest {
  const char *name;    /* the kernel's name, a C identifier */
  const char *target;  /* "sm_90a" */
  int32_t ptx_version; /* 86 */
  /* The problem: D[M,N] = epilogue(A[M,K] sparse * B[K,N]). An act of pairs makes D[M/2,N]. A batch
   * has G products. */
  heddle_elem a_elem, b_elem, c_elem, d_elem, acc_elem, bias_elem;
  bool b_mn_major;    /* false: B stored N x K, row pitch ldb; true: stored K x N */
  bool d_col_major;   /* false: D stored M x N, row pitch ldd; true: stored N x M */
  bool c_col_major;
  bool bias_along_n;  /* false: bias[M]; true: bias[N] */
  bool scale_a_one, scale_b_one; /* false: scale_a[M], scale_b[N]; true: one value */
  int32_t slots;       /* combine_d: indices per column of D; 0: no combine_d */
  const char *statistic; /* the value in scale_d for each 128 rows of each column of D: "absmax",
                            "sumsq", or "scale" (D is divided by it); NULL: no scale_d */
  const char *scale_b_statistic; /* "sumsq": scale_b is computed from sums of squares, of which
                                    argument scale_b has a row for each 128 of k; NULL: it has the
                                    values */
  const char *aux; /* what argument aux gets of each element: "result", before conversion to D's
                      type, or "input", that of the activation; NULL: no second matrix */
  int32_t scale_block; /* elements of k per value of block_scale_a, block_scale_b; 0: no scales */
  int32_t scale_rows;  /* rows of A per value of block_scale_a; 0: no scales */
  bool scale_tiles;    /* scales are stored in tiles of 128 rows; false: by k-block, at a pitch */
  const char *act;    /* "none", "relu", "swiglu", … or "user" */
  const char *user_function; /* name, or NULL */
  const char *family; /* metadata plane of packed A: "mma", "wgmma" */
  int32_t n_args, n_variants;
  hd_arg arg[HD_MAX_ARGS];
  hd_variant variant[HD_MAX_VARIANTS];
  /* Computed from the variants by hd_manifest_index, for the launch: the size that the buckets
   * divide (NONE: no buckets), the largest size of each bucket but the last, ascending, the last
   * border of each block of borders, and each bucket's first variant. Unused borders are
   * INT32_MAX. */
  hd_arg_kind bucket_size;
  int32_t border[HD_MAX_VARIANTS], last_border[HD_BORDER_BLOCKS];
  uint8_t bucket_first[HD_MAX_VARIANTS];
  char hash[33]; /* hash of the kernel's inputs */
  char ptx_hash[33], cubin_hash[33]; /* hashes of the code (hd_hash_bytes); "": no such code */
} hd_manifest;

/* Values of one launch, indexed by hd_arg_kind: pointers and integers by value, floats as their 32
 * bits. */
typedef struct hd_values {
  uint64_t v[HD_N_ARG_KINDS];
} hd_values;

/* Unsigned arithmetic, because signed overflow is undefined. hd_manifest_plan bounds the values and
 * hd_manifest_check the factors so that nothing overflows. */
static inline int64_t hd_expr_eval(const hd_expr *e, const hd_values *values) {
  uint64_t arg = e->arg == HD_ARG_NONE ? 1 : values->v[e->arg];
  int64_t x = (int64_t)(arg * (uint64_t)e->mul + (uint64_t)e->add);
  return e->div <= 1 ? x : (x + e->div - 1) / e->div;
}

/* CUtensorMapDataType of an element (cuTensorMapEncodeTiled): tf32 is copied as f32, and types of 8
 * bits or less as bytes. */
int32_t hd_tmap_data_type(heddle_elem elem);

/* The plan of a launch. grid_x 0 (M, N or G is 0): nothing has to be launched. */
typedef struct hd_launch_plan {
  const hd_variant *variant; /* borrowed from the manifest */
  const hd_variant *ahead, *behind; /* launched before and after variant; NULL: none */
  uint32_t ahead_grid, behind_grid;
  uint32_t grid_x, n_tiles;
  uint64_t workspace_bytes;
  hd_tmap tmap[HD_MAX_TMAPS]; /* variant->n_tmaps of them are set, none when grid_x is 0 */
} hd_launch_plan;

/* Refuses an illegal size or stride. The minimum of a stride depends on the sizes in values. */
heddle_status hd_manifest_check_number(heddle_context *ctx, const hd_arg *arg,
                                       const hd_values *values);

/* True if the variant only runs before or after another variant. */
static inline bool hd_variant_serves(const hd_variant *variant) {
  return variant->runs_ahead || variant->runs_behind;
}

static inline bool hd_variant_takes(const hd_variant *variant, hd_arg_kind kind) {
  for (int i = 0; i < variant->n_params; i++)
    if (variant->param[i].arg == kind)
      return true;
  return false;
}

/* The variant that combines the products' columns (combine_d), or NULL. */
static inline const hd_variant *hd_manifest_combiner(const hd_manifest *manifest) {
  for (int i = 0; i < manifest->n_variants; i++)
    if (manifest->variant[i].runs_behind)
      return &manifest->variant[i];
  return NULL;
}

/* Number of columns of D: t with combine_d, otherwise n. */
static inline int64_t hd_manifest_d_columns(const hd_manifest *manifest, int64_t n, int64_t t) {
  return manifest->slots ? t : n;
}

/* Number of rows of D if A has m rows. */
static inline int64_t hd_manifest_d_rows(const hd_manifest *manifest, int64_t m) {
  return hd_act_is_pair(manifest->act) ? m / 2 : m;
}

/* The argument of that kind, or NULL. */
const hd_arg *hd_manifest_arg(const hd_manifest *manifest, hd_arg_kind kind);

/* True for a kernel that packs its B [m, k] into D and does not multiply. Its tiles are tile_m rows
 * by tile_n elements of k. */
static inline bool hd_manifest_is_pack(const hd_manifest *manifest) {
  return hd_manifest_arg(manifest, HD_ARG_A) == NULL;
}

/* True for a batch whose products are groups of columns, given by the argument offsets. */
static inline bool hd_manifest_is_grouped(const hd_manifest *manifest) {
  return hd_manifest_arg(manifest, HD_ARG_OFFSETS) != NULL;
}

/* True if the caller passes the argument, that is, if it is not fixed. */
static inline bool hd_arg_is_passed(const hd_arg *arg) { return arg->fixed <= 0; }

/* Fills in the fixed sizes, checks values (divisible_by, max, alignment, shortest stride, null
 * pointers: only the user pointer, and a workspace of 0 bytes, may be null), picks the variant,
 * computes grid and tensor maps. max_resident: CTAs that the device holds at once per variant index
 * (0: unlimited; NULL: all unlimited). The message of HEDDLE_INVALID names argument, value and
 * rule. HEDDLE_UNSUPPORTED if no variant's requirements hold, or if the grid, the workspace or the
 * k-blocks are too many. ctx may be NULL (no text). Success allocates nothing: the launch path. */
heddle_status hd_manifest_plan(heddle_context *ctx, const hd_manifest *manifest, hd_values *values,
                               const uint32_t *max_resident, hd_launch_plan *plan);

/* Bytes of workspace that a launch with these sizes and strides may need, whichever variant its
 * pointers select. max_resident as above. Pointers in values are ignored. */
heddle_status hd_manifest_workspace(heddle_context *ctx, const hd_manifest *manifest,
                                    hd_values *values, const uint32_t *max_resident,
                                    uint64_t *n_bytes);

/* Validates identifiers, ranges, and references between arguments, parameters and maps.
 * hd_manifest_write and hd_manifest_read call it. */
heddle_status hd_manifest_check(heddle_context *ctx, const hd_manifest *manifest);

/* Computes the bucket index. Without it, a launch tests every variant in order. */
void hd_manifest_index(hd_manifest *manifest);

/* Stores the hashes of this code in the manifest. */
void hd_manifest_name_code(hd_manifest *manifest, const heddle_image *code);
/* HEDDLE_INVALID if the PTX or cubin does not have the hash in the manifest. */
heddle_status hd_manifest_check_code(heddle_context *ctx, const hd_manifest *manifest,
                                     const heddle_image *code);

/* The kernel's C prototype, "int NAME(const void *a, …, void *stream)", in the arena. */
const char *hd_manifest_prototype(hd_arena *arena, const hd_manifest *manifest);

/* A copy whose strings live in the arena. */
void hd_manifest_copy(hd_arena *arena, const hd_manifest *from, hd_manifest *to);

/* JSON text of a manifest (owned, hd_free); byte-reproducible, keys in a fixed order. */
heddle_status hd_manifest_write(heddle_context *ctx, const hd_manifest *manifest, char **json);
/* Reads a manifest; strings live in the arena. The message of HEDDLE_INVALID names the key. */
heddle_status hd_manifest_read(heddle_context *ctx, const char *json, size_t n_bytes,
                               hd_arena *arena, hd_manifest *manifest);

#endif
