/* Check/check_statistic.h: statistics of D; included by check_machine.h. */
#ifndef HD_CHECK_STATISTIC_H
#define HD_CHECK_STATISTIC_H

/* First column and number of columns of matrix or group g: each group has its own columns. */
int64_t hd_ck_first_column(const hd_ck_extents *extents, int64_t g);
int64_t hd_ck_width(const hd_ck_extents *extents, int64_t g);

/* --- check_factor.c --------------------------------------------------------------------------- */
/* Tag of one strip's part of a statistic, from (row, col) of matrix g on; with is_factor: tag of
 * the factors of the rows from there on. */
uint64_t hd_ck_statistic_tag(int64_t g, int64_t row, int64_t col, bool is_factor);
/* Tag of the scales of columns from `column` on, of which those before n exist. */
uint64_t hd_ck_columns_tag(int64_t column, int64_t n);
/* Rows of A for 128 rows of D, from the op's activation. */
int64_t hd_ck_statistic_rows(const hd_op *op);
/* Reads the region and returns its tag. */
uint64_t hd_ck_read_statistic(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                              hd_ck_region region);
/* Writes the region with the tag: the warp alone (occurrence 0), or all warps that take part write
 * some of it, which to other warps is one write, of this occurrence. */
void hd_ck_write_statistic(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                           hd_ck_region region, uint32_t occurrence, uint64_t tag);
/* Reads the factors of an op with an epilogue, if it has any, for the columns from `col` on. */
void hd_ck_read_factors(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                        int64_t row, int64_t col);

/* --- check_reduce.c --------------------------------------------------------------------------- */
void hd_ck_finish_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_reduce_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_scale_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* --- check_columns.c -------------------------------------------------------------------------- */
void hd_ck_scale_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

#endif
