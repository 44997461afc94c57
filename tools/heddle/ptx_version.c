#include "ptx_version.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"

static const char *const versions[] = {"6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4",
                                       "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2", "8.3",
                                       "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1"};

unsigned ptx_version_parse(const char *text) {
  for (size_t i = 0; text && i < HD_COUNT(versions); i++)
    if (!strcmp(text, versions[i]))
      return (unsigned)(text[0] - '0') * 10 + (unsigned)(text[2] - '0');
  return 0;
}

const char *ptx_version_nearest(const char *text) {
  double wanted = text ? strtod(text, NULL) : 0;
  const char *best = versions[0];
  for (size_t i = 0; i < HD_COUNT(versions); i++) {
    double here = strtod(versions[i], NULL) - wanted, there = strtod(best, NULL) - wanted;
    if (here * here < there * there)
      best = versions[i];
  }
  return best;
}
