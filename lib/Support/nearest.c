#include "Support/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { MAX_CHARS = 63 };

static int least(int a, int b) { return a < b ? a : b; }

/* Levenshtein distance; keeps one row of the table. */
int hd_edit_distance(const char *x, const char *y) {
  size_t nx = strnlen(x, MAX_CHARS), ny = strnlen(y, MAX_CHARS);
  int row[MAX_CHARS + 1];
  for (size_t j = 0; j <= ny; j++)
    row[j] = (int)j;
  for (size_t i = 1; i <= nx; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= ny; j++) {
      int change =
          diagonal + (tolower((unsigned char)x[i - 1]) != tolower((unsigned char)y[j - 1]));
      diagonal = row[j];
      row[j] = least(change, 1 + least(row[j], row[j - 1]));
    }
  }
  return row[ny];
}

const char *hd_nearest_name(const char *wrong, hd_next_name *next, void *user) {
  const char *best = NULL;
  int best_distance = (int)(strnlen(wrong, MAX_CHARS) / 2) + 2; /* ignores dissimilar names */
  for (const char *name = next(user); name; name = next(user)) {
    int distance = hd_edit_distance(wrong, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}
