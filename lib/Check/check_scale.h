/* Check/check_scale.h: block scales in the checker's machine. check_machine.h includes this header
 * at its end; it declares the types used here. */
#ifndef HD_CHECK_SCALE_H
#define HD_CHECK_SCALE_H

/* --- check_scale.c -------------------------------------------------------------------------- */
/* A copy of the block scales of k-block `k_block`, from `byte` of them on. k_blocks and bytes are
 * the existing sizes. Returns the tag. */
uint64_t hd_ck_copy_scales(hd_ck_machine *m, const hd_ck_step *step, int64_t k_block, int64_t byte,
                           int64_t k_blocks, int64_t bytes);
void hd_ck_load_scale(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Checks that the block scales of an mma (operands 4, 5) match step, strip and column of `sum`. */
void hd_ck_scale(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, const hd_ck_content *acc,
                 const hd_ck_content *b, hd_ck_content *sum);
/* Compares the sizes that the copies of block scales state with those of the problem. */
bool hd_ck_scales_extent(const hd_ck_extents *extents, int which, int64_t *expected, int64_t *got);
/* --- check_promote.c ------------------------------------------------------------------------- */
/* The tag of a box of f32 scales, from (x, k-block y) of their tensor map on, at `region`. */
uint64_t hd_ck_copy_scale_box(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                              const hd_ck_region *region, int64_t x, int64_t y);
/* The tag of f32 scales of B that are copied by index: of the products' columns from `column` on,
 * from byte `line` of the scales, the line of a k-block. bytes: how many they are. */
uint64_t hd_ck_copy_scales_by_index(hd_ck_machine *m, const hd_ck_step *step, int64_t line,
                                    int64_t column, int64_t bytes);
void hd_ck_promote(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* --- check_scale_tile.c --------------------------------------------------------------------- */
/* A bulk copy of `bytes` of block scales from byte `from` on. Returns the tag. */
uint64_t hd_ck_copy_scale_tiles(hd_ck_machine *m, const hd_ck_step *step, int64_t from,
                                int64_t bytes);
void hd_ck_tensor_cp(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* scale_tiles: reads the block scales of a tcgen05.mma.sp (operands 7 to 10) of `columns` columns
 * in a CTA. scale_sums: they must match those of the sums `before`. scale_stored: they must be
 * those of the rows that are stored. */
bool hd_ck_scale_tiles(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                       int64_t columns, const hd_ck_content *b, hd_ck_tiles *tiles);
void hd_ck_scale_sums(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const hd_ck_tiles *tiles, const hd_ck_content *before, hd_ck_content *sum);
void hd_ck_scale_stored(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                        const hd_ck_content *c, int64_t row);
bool hd_ck_scale_tiles_extent(const hd_ck_extents *extents, int which, int64_t *expected,
                              int64_t *got);

#endif
