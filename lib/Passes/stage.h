/* Passes/stage.h: what `build_mainloop` shares between the families. */
#ifndef HD_STAGE_H
#define HD_STAGE_H

#include "Passes/passes.h"
#include "Passes/plan.h"
#include "Passes/partial_records.h"
#include "Schedule/resources.h"

/* A kernel on its way from tile to role level. Values are of the kernel's region, seen by every
 * role. */
typedef struct hd_stage {
  heddle_context *ctx;
  hd_module *module;
  const hd_plan *plan;
  hd_problem p;  /* the plan's */
  hd_schedule s; /* the plan's */
  const hd_spec_row *row;
  const hd_b_variant *variant;
  hd_records records; /* the module's */
  int32_t cluster, along_k; /* CTAs that share an operand; that have parts of a tile's k */
  int32_t owners, own_n; /* CTAs of those that store columns of the tile; how many columns each */
  int32_t steps; /* k-steps of the instruction in a stage */
  bool shares_a; /* the cluster lies along N; else along M, and shares B */
  bool pair;     /* that by halves: its first CTA multiplies for both */
  int32_t b_n;   /* columns of B in a CTA's slot */
  bool prefetch; /* the first ring of A is copied before the predecessor has ended */
  hd_builder b; /* at the end of the kernel's new region */
  hd_value *arg[HD_N_ARG_KINDS]; /* NULL: it takes none */
  hd_value *map_b, *map_d;       /* tensor maps; NULL: there is none */
  hd_value *map_b_whole; /* all columns that a CTA copies in one box; NULL: map_b's boxes suffice */
  hd_value *map_scales[2]; /* of the block scales of A, of B that promote takes; NULL: none */
  hd_value *zero, *one;
  hd_value *n_k_blocks, *last_slab; /* i32 */
  hd_value *n_scale_tiles, *last_band[2]; /* i32: of block scales along k; 128 rows of A, of B */
  hd_value *units_m, *tiles_n, *n_units; /* tile rows and tile columns in clusters; their product,
                                            times the splits that are units of their own,
                                            times the products of a batch */
  hd_value *n_splits; /* i32: of this launch; NULL without split_k */
  hd_store_slot slot; /* of the staged store; cols 0: D is written from registers */
  hd_reduce_slots slots; /* of the statistics; blocks 0: there are none */
  hd_value *sa, *sb, *sd,
      *partials; /* buffers; sd NULL: D is not staged; partials: of a cluster along k */
  hd_value *sr;  /* buffer: parts of statistics, and factors; NULL: there are none */
  hd_value *groups;    /* buffer: the table of groups; NULL: there are none */
  hd_value *scales[2]; /* buffers of block scales, of A and of B; NULL: there are none */
  hd_value *sums, *meta, *factors[2]; /* buffers in tensor memory; factors: block scales of A, B */
} hd_stage;

/* CTAs of the cluster along M and along N: B has as many sharers as there are along M, A as along
 * N. */
static inline int32_t hd_stage_along_m(const hd_stage *st) {
  return st->shares_a ? 1 : st->cluster;
}
static inline int32_t hd_stage_along_n(const hd_stage *st) {
  return st->shares_a ? st->cluster : 1;
}

/* CTAs to which a copy of B goes. */
static inline int32_t hd_stage_b_sharers(const hd_stage *st) {
  return st->pair ? 1 : hd_stage_along_m(st);
}

/* The loop over a CTA's units of work. Workers are CTAs, or clusters of them. */
typedef struct hd_work {
  hd_value *lo, *hi, *step;
  hd_value *worker, *n_workers, *rank; /* rank NULL without a cluster */
  /* stream_k only. The line of k-blocks that workers share evenly: its tiles, a worker's piece
   * [from, to) of at most `piece` k-blocks, and the tile behind the piece's last one. */
  hd_value *n_streamed, *piece, *from, *to, *end_tile;
} hd_work;

/* Where a CTA's tile lies, and which k-blocks of k [k_lo, k_hi) are its part. */
typedef struct hd_tile_place {
  hd_value *row0, *col0, *slab0, *rank; /* rank NULL without a cluster */
  hd_value *b_col0;                     /* the first column of B that its CTA holds */
  hd_value *k_lo, *k_hi;
  hd_value *part, *n_parts; /* which of how many the tile has; NULL: it is whole */
  hd_value *slot;           /* of the workspace, for the tile's first part */
  hd_value *g;        /* of a batch: which of its products; NULL: there is one */
  hd_value *end_n;    /* the first column that is not its product's */
  hd_value *a_base;   /* i64: bytes to its A; NULL: A is shared */
  hd_value *b_base, *b_g; /* i64: bytes to its B; i32: its number in B's tensor map; NULL: shared */
  hd_value *is_first; /* i1: of this CTA; only where A is prefetched */
  hd_value *is_back;  /* i1: its k runs backwards; NULL: no tile's does */
} hd_tile_place;

/* Declarations: arguments, sizes, tile counts, buffers. */
void hd_stage_declare(hd_stage *st);
/* The role "main" of so many warps, in which all stands until roles are split; the end of it. */
hd_builder hd_stage_begin_role(hd_stage *st, int32_t n_warps);
/* This CTA's work; the place of a unit of it. */
void hd_stage_find_work(hd_stage *st, hd_builder *b, hd_work *work);
void hd_stage_find_place(hd_stage *st, hd_builder *b, const hd_work *work, hd_value *unit,
                         hd_tile_place *place);
/* The loop over this CTA's tiles with carried values; gives the place of the tile, leaves the
 * builder `in` inside the loop. */
hd_op *hd_stage_tiles(hd_stage *st, hd_builder *b, hd_value *const *carried, int32_t n_carried,
                      hd_builder *in, hd_tile_place *place);
/* Where A may be read early: its k-blocks of the first tile, as many as the ring holds. */
void hd_stage_prefetch(hd_stage *st, hd_builder *b, hd_value *cursor);
/* Copies the k-th k-block to be computed of A (and B) into slot `cursor`. */
void hd_stage_copy(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k,
                   hd_value *cursor);
/* Scales that one copy brings of A (which 0) or B to a slot, where promote takes them. */
int32_t hd_stage_scale_box(const hd_stage *st, int which);
/* Elements (i64) in bytes; of 4-bit types an even number, since K, pitches and strides are. */
hd_value *hd_stage_bytes(hd_builder *b, hd_value *elems, heddle_elem elem);
/* Which k-block that is: the k-th of those that are this tile's, from either end. */
hd_value *hd_stage_k_block(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k);
/* Writes strip `strip` of the tile from accumulator fragments, from column `col` on. */
void hd_stage_store(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                    hd_value *col, hd_value *const *acc, int32_t n_acc);
/* The same by way of shared memory: all slices of a whole fragment's strip, the warp's `nth` of a
 * tile. */
void hd_stage_store_staged(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                           int32_t nth, hd_value *strip, hd_value *acc);
/* The sum of all parts of a tile in place of this one: nothing happens where all tiles are
 * whole. */
void hd_stage_reduce(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                     hd_value **acc, int32_t n_acc);
/* What a warp has of a tile: a fragment of each of its strips. */
typedef struct hd_stage_strips {
  hd_value *warp, *const *strip;
  int32_t n;
} hd_stage_strips;
/* Where D has statistics: acc becomes the results, and their statistics are made. */
void hd_stage_statistic(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                        const hd_stage_strips *strips, hd_value **acc);
/* Stores st->own_n columns, from place->col0 on. */
typedef void hd_stage_store_fn(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                               const hd_stage_strips *strips, hd_value *const *acc);
/* The same among the CTAs of a cluster: each that owns columns stores their sums. */
void hd_stage_exchange(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                       const hd_stage_strips *strips, hd_value *const *acc,
                       hd_stage_store_fn *store);
/* Bytes of the partial sums of a CTA's own columns over one part of k. */
int64_t hd_stage_own_bytes(const hd_stage *st);
/* Bytes of a slot of the workspace. */
int64_t hd_stage_slot_bytes(const hd_stage *st);
/* Word of the metadata and selector of a k-step. */
int32_t hd_stage_word(const hd_stage *st, int32_t step);
int32_t hd_stage_selector(const hd_stage *st, int32_t step);

/* D's type and order and the epilogue, as attributes of a store (or of `product`). */
void hd_stage_set_epilogue(hd_stage *st, hd_op *op);

/* Fragment types of the instruction. */
hd_type hd_stage_fragment(const hd_stage *st, hd_operand_id operand);

/* The body of the one role that all families build before roles are split. */
void hd_stage_wgmma(hd_stage *st);
void hd_stage_tcgen05(hd_stage *st);
void hd_stage_mma(hd_stage *st);

#endif
