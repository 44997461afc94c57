/* Support/readable.h: makes text from untrusted input safe for a terminal. */
#ifndef HD_READABLE_H
#define HD_READABLE_H

#include <stddef.h>

/* Copies the text and replaces by \xNN each byte that is not UTF-8, that is a terminal control, or
 * that belongs to an invisible character (a byte order mark, a direction mark). Keeps newlines and
 * tabs. Writes at most out_bytes with the final NUL; returns the length of the whole result. */
size_t hd_readable(const char *text, char *out, size_t out_bytes);

#endif
