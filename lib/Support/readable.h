/* Support/readable.h: text of others, for a terminal. */
#ifndef HD_READABLE_H
#define HD_READABLE_H

#include <stddef.h>

/* The text with each byte that is not UTF-8, that a terminal obeys, or of a character that shows
 * nothing (a byte order mark, a change of direction), as \xNN; new lines and tabs
 * stay. Writes at most out_bytes with the final NUL; returns the length that it would have. */
size_t hd_readable(const char *text, char *out, size_t out_bytes);

#endif
