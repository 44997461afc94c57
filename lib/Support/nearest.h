/* Support/nearest.h: which name was meant by a wrong one. */
#ifndef HD_NEAREST_H
#define HD_NEAREST_H

/* Insertions, deletions and changes of a character that lead from one name to the other. Their
 * first 63 characters count, whatever their case. */
int hd_edit_distance(const char *x, const char *y);

/* `next` yields the candidates one by one, and NULL at the end. */
typedef const char *hd_next_name(void *user);
/* The nearest of them, of equal ones the first; NULL when none is near. */
const char *hd_nearest_name(const char *wrong, hd_next_name *next, void *user);

#endif
