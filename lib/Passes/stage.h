/* Passes/stage.h: the parts of `build_mainloop` that the instruction families share. */
#ifndef HD_STAGE_H
#define HD_STAGE_H

#include "Passes/passes.h"
#include "Passes/plan.h"
#include "Passes/partial_records.h"
#include "Schedule/resources.h"

/* A kernel that is lowered from tile to role level. All values are defined in the kernel's region,
 * so every role can use them. */
typedef struct hd_stage {
  heddle_context *ctx;
  hd_module *module;
  const hd_plan *plan;
  hd_problem p;  /* the plan's */
  hd_schedule s; /* the plan's */
  const hd_spec_row *row;
  const hd_b_variant *variant;
  hd_records records; /* the module's */
  int32_t cluster, along_k; /* CTAs that share an operand; CTAs that divide a tile's k */
  int32_t owners, own_n; /* the CTAs of along_k that store columns of D; columns of each */
  int32_t steps; /* k-steps of the instruction in a stage */
  bool shares_a; /* the cluster is along N and shares A; else along M and shares B */
  bool pair;     /* a pair of CTAs has half of B each; its first CTA multiplies for both */
  int32_t b_n;   /* columns of B in a CTA's slot */
  bool prefetch; /* A's first k-blocks are copied before the predecessor has ended */
  hd_builder b; /* at the end of the kernel's new region */
  hd_value *arg[HD_N_ARG_KINDS]; /* NULL: not an argument of this kernel */
  hd_value *map_b, *map_d;       /* tensor maps; NULL: none */
  hd_value *map_b_whole; /* its box has all columns of B that a CTA copies; NULL: none */
  hd_value *map_scales[2]; /* tensor maps of promote's block scales of A, of B; NULL: none */
  hd_value *zero, *one;
  hd_value *n_k_blocks, *last_slab; /* i32 */
  hd_value *n_scale_tiles, *last_band[2]; /* i32: tiles of block scales along k; index of the last
                                             128 rows of A, of B */
  hd_value *units_m, *tiles_n, *n_units; /* tile rows and columns, counted in clusters; units of
                                            work: their product, times splits, times batch size */
  hd_value *n_splits; /* i32: splits of this launch; NULL without split_k */
  hd_store_slot slot; /* of the staged store; cols 0: D is written from registers */
  hd_reduce_slots slots; /* of the statistics; blocks 0: none */
  hd_value *sa, *sb, *sd,
      *partials; /* buffers; sd NULL: D is not staged; partials: of a cluster along k */
  hd_value *sr;  /* buffer: parts of statistics, and factors; NULL: none */
  hd_column_slots columns; /* of the scales of B's columns; sets 0: none */
  hd_value *sc;            /* buffer: these scales; NULL: none */
  hd_value *groups;    /* buffer: the table of groups; NULL: none */
  hd_value *scales[2]; /* buffers of block scales, of A and of B; NULL: none */
  hd_value *sums, *meta, *factors[2]; /* buffers in tensor memory; factors: block scales of A, B */
} hd_stage;

/* CTAs of the cluster along M, which share B, and along N, which share A. */
static inline int32_t hd_stage_along_m(const hd_stage *st) {
  return st->shares_a ? 1 : st->cluster;
}
static inline int32_t hd_stage_along_n(const hd_stage *st) {
  return st->shares_a ? st->cluster : 1;
}

/* CTAs that receive a copy of B. */
static inline int32_t hd_stage_b_sharers(const hd_stage *st) {
  return st->pair ? 1 : hd_stage_along_m(st);
}

/* The loop over a CTA's units of work. Workers are CTAs, or clusters of them. */
typedef struct hd_work {
  hd_value *lo, *hi, *step;
  hd_value *worker, *n_workers, *rank; /* rank: NULL without a cluster */
  /* stream_k only. Workers divide a line of k-blocks evenly (stage_units.c). n_streamed: the tiles
   * in the line. [from, to): this worker's piece, at most `piece` k-blocks. end_tile: the tile
   * after the last one of the piece. */
  hd_value *n_streamed, *piece, *from, *to, *end_tile;
} hd_work;

/* The coordinates of a CTA's tile, and the k-blocks [k_lo, k_hi) that the CTA computes. */
typedef struct hd_tile_place {
  hd_value *row0, *col0, *slab0, *rank; /* rank: NULL without a cluster */
  hd_value *b_col0;                     /* the first column of B in this CTA's slot */
  hd_value *k_lo, *k_hi;
  hd_value *part, *n_parts; /* index and number of the tile's parts; NULL: not divided */
  hd_value *slot;           /* of the workspace, for the tile's first part */
  hd_value *g;        /* index of the product in a batch; NULL: no batch */
  hd_value *across;   /* which of the cells of statistics side by side; NULL: there is one */
  hd_value *first_scales; /* the first slot of this warp's scales of columns; NULL: none */
  int32_t offset;     /* tensor memory: columns of a slot before those that are stored */
  hd_value *end_n;    /* the end of the product's columns */
  hd_value *columns;  /* from col0 to end_n; NULL: however few, all of the tile are multiplied */
  hd_value *a_base;   /* i64: byte offset of the product's A; NULL: A is shared */
  hd_value *b_base, *b_g; /* i64: byte offset of B; i32: index in B's tensor map; NULL: shared */
  hd_value *is_first; /* i1: the first tile of this CTA; set only if A is prefetched */
  hd_value *is_back;  /* i1: k runs backwards; NULL: in no tile */
} hd_tile_place;

/* Declarations: arguments, sizes, tile counts, buffers. */
void hd_stage_declare(hd_stage *st);
/* Begins the role "main", which holds all ops until split_roles; returns a builder at its end. */
hd_builder hd_stage_begin_role(hd_stage *st, int32_t n_warps);
/* This CTA's units of work; the tile of a unit. */
void hd_stage_find_work(hd_stage *st, hd_builder *b, hd_work *work);
void hd_stage_find_place(hd_stage *st, hd_builder *b, const hd_work *work, hd_value *unit,
                         hd_tile_place *place);
/* Builds the loop over this CTA's tiles with carried values. Sets `place` to the coordinates of the
 * tile and `in` to a builder inside the loop. */
hd_op *hd_stage_tiles(hd_stage *st, hd_builder *b, hd_value *const *carried, int32_t n_carried,
                      hd_builder *in, hd_tile_place *place);
/* If A may be read early: copies A's k-blocks of the first tile, as many as the ring holds. */
void hd_stage_prefetch(hd_stage *st, hd_builder *b, hd_value *cursor);
/* Copies the k-th k-block to be computed of A (and B) into slot `cursor`. */
void hd_stage_copy(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k,
                   hd_value *cursor);
/* Block scales of A (which 0) or B (1) in one box of promote's tensor maps. */
int32_t hd_stage_scale_box(const hd_stage *st, int which);
/* The tile's first column, counted from the first block scale of B in a slot. */
hd_value *hd_stage_scale_column(hd_stage *st, hd_builder *b, const hd_tile_place *place);
/* Converts elements (i64) to bytes. 4-bit types: K, pitches and strides are even. */
hd_value *hd_stage_bytes(hd_builder *b, hd_value *elems, heddle_elem elem);
/* The index of the k-block for loop index k, which is mirrored in a tile that runs backwards. */
hd_value *hd_stage_k_block(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k);
/* Writes strip `strip` of the tile from accumulator fragments, from column `col` on. */
void hd_stage_store(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                    hd_value *col, hd_value *const *acc, int32_t n_acc);
/* Writes the strip to the second matrix, if there is one; before D, whose statistics replace the
 * accumulators. */
void hd_stage_store_aux(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                        hd_value *col, hd_value *const *acc, int32_t n_acc);
/* The same as hd_stage_store through shared memory: all slices of a strip, which is the warp's
 * `nth` of a tile. */
void hd_stage_store_staged(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                           int32_t nth, hd_value *strip, hd_value *acc);
/* Replaces the accumulators of one part of a tile by the sum of all parts. Does nothing if tiles
 * are not divided. */
void hd_stage_reduce(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                     hd_value **acc, int32_t n_acc);
/* The strips of a tile that a warp owns; it has one fragment of each. */
typedef struct hd_stage_strips {
  hd_value *warp, *const *strip;
  int32_t n;
} hd_stage_strips;
/* Statistics of D. The results of a warp's strips, one fragment of each (may be acc): acc has
 * `each` fragments of every strip, which begin at column `col`. */
void hd_stage_finish(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                     const hd_stage_strips *strips, hd_value *col, int32_t each,
                     hd_value *const *acc, hd_value **results);
/* The statistics of these results, which are the warp's part of a cell; then of the whole tile. */
void hd_stage_parts(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                    const hd_stage_strips *strips, hd_value *const *results);
void hd_stage_statistics(hd_stage *st, hd_builder *b, const hd_tile_place *place);
/* Computes the scales of the tile's columns, if B has a statistic. Sets place->first_scales. */
void hd_stage_columns(hd_stage *st, hd_builder *b, hd_tile_place *place, hd_value *warp);
/* The slot with the scales of the columns that this warp stores; NULL: they are not computed. */
hd_value *hd_stage_column_slot(hd_stage *st, hd_builder *b, const hd_tile_place *place);
/* Adds the buffer with these scales and their slot to an op with an epilogue. slot NULL: none. */
void hd_stage_add_scales(hd_stage *st, const hd_tile_place *place, hd_op *op, hd_value *slot);
/* The cell (hd_reduce_slots) of this warp in a block of 128 rows of D. */
hd_value *hd_stage_cell(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *block);
/* Stores st->own_n columns, from place->col0 on. */
typedef void hd_stage_store_fn(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                               const hd_stage_strips *strips, hd_value *const *acc);
/* Adds the parts of a tile within a cluster: each CTA that owns columns stores their sums. */
void hd_stage_exchange(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                       const hd_stage_strips *strips, hd_value *const *acc,
                       hd_stage_store_fn *store);
/* Bytes of the partial sums of a CTA's own columns over one part of k. */
int64_t hd_stage_own_bytes(const hd_stage *st);
/* Bytes of a slot of the workspace. */
int64_t hd_stage_slot_bytes(const hd_stage *st);
/* Metadata word, and selector, of a k-step. */
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
