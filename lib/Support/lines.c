#include "Support/lines.h"

#include <string.h>

hd_lines hd_lines_of(const char *file, char *text) {
  return (hd_lines){.loc = {.file = file, .line = 0, .col = 1}, .rest = text};
}

char *hd_lines_next(hd_lines *lines) {
  char *line = lines->rest, *end = line + strcspn(line, "\n");
  if (!*line)
    return NULL;
  lines->rest = end + (*end == '\n');
  lines->loc.line++;
  *end = '\0';
  if (end > line && end[-1] == '\r')
    end[-1] = '\0';
  return line;
}

char *hd_lines_next_entry(hd_lines *lines) {
  for (char *line; (line = hd_lines_next(lines));) {
    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, " \t\r")])
      return line;
  }
  return NULL;
}
