/* Support/lines.h: reads a text line by line. */
#ifndef HD_LINES_H
#define HD_LINES_H

#include "Support/diag.h"

typedef struct hd_lines {
  hd_loc loc; /* location of the last returned line */
  char *rest; /* borrowed: the remaining lines */
} hd_lines;

/* Iterates over a text (borrowed, modified in place). Diagnostics call it `file`. */
hd_lines hd_lines_of(const char *file, char *text);
/* The next line without its end, "\n" or "\r\n"; NULL at the end of the text. */
char *hd_lines_next(hd_lines *lines);
/* The next line that is not blank, without its comment (from # on). */
char *hd_lines_next_entry(hd_lines *lines);

#endif
