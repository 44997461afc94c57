/* Support/nearest.h: finds the most similar name, for suggestions in messages. */
#ifndef HD_NEAREST_H
#define HD_NEAREST_H

/* The number of insertions, deletions and substitutions of characters between two names. Compares
 * their first 63 characters, ignoring case. */
int hd_edit_distance(const char *x, const char *y);

/* Returns the candidates one by one, and NULL at the end. */
typedef const char *hd_next_name(void *user);
/* The nearest candidate, the first of equally near ones. NULL if none is near enough. */
const char *hd_nearest_name(const char *wrong, hd_next_name *next, void *user);

#endif
