/* Support/statistics.h: statistics of timings. */
#ifndef HD_STATISTICS_H
#define HD_STATISTICS_H

/* Sorts n values, ascending. */
void hd_sort(double *values, int n);
/* The median of n values, which are sorted in place; NaN if n is 0. */
double hd_median(double *values, int n);
/* The probability that x wins at least as many of n rounds against y by chance; ties are
 * ignored. */
double hd_sign_test(const double *x, const double *y, int n);

#endif
