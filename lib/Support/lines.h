/* Support/lines.h: a text line by line. */
#ifndef HD_LINES_H
#define HD_LINES_H

#include "Support/diag.h"

typedef struct hd_lines {
  hd_loc loc; /* of the line that was given last */
  char *rest; /* borrowed: the lines to come */
} hd_lines;

/* Walks a text (borrowed, cut up in place) that diagnostics call `file`. */
hd_lines hd_lines_of(const char *file, char *text);
/* The next line without its end, "\n" or "\r\n"; NULL: there is none. */
char *hd_lines_next(hd_lines *lines);
/* The next that says something: a # and what follows cut off, blank lines passed over. */
char *hd_lines_next_entry(hd_lines *lines);

#endif
