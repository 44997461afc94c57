/* Check/check_statistic.h: statistics of D; a part of check_machine.h. */
#ifndef HD_CHECK_STATISTIC_H
#define HD_CHECK_STATISTIC_H

/* Of groups each has columns of its own: the first, and how many. */
int64_t hd_ck_first_column(const hd_ck_extents *extents, int64_t g);
int64_t hd_ck_width(const hd_ck_extents *extents, int64_t g);

/* --- check_factor.c --------------------------------------------------------------------------- */
/* Of a strip's part from a first row and column on of matrix g; of the factors of the rows from
 * there on. */
uint64_t hd_ck_statistic_tag(int64_t g, int64_t row, int64_t col, bool is_factor);
/* Rows of A for 128 of D, as an op's act says. */
int64_t hd_ck_statistic_rows(const hd_op *op);
/* Reads the region, and gives its tag. */
uint64_t hd_ck_read_statistic(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                              hd_ck_region region);
/* The factors of a store, where it has any: of the tile's columns from `col` on. */
void hd_ck_read_factors(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                        int64_t row, int64_t col);

/* --- check_reduce.c --------------------------------------------------------------------------- */
void hd_ck_finish_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_reduce_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_scale_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

#endif
