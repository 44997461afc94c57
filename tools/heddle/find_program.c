#include "find_ptxas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/arena.h"

/* FOLDER/ptxas when it can be run (owned). */
static char *ptxas_in(const char *folder, size_t len) {
  char *path = hd_xmalloc(len + sizeof "/ptxas");
  sprintf(path, "%.*s/ptxas", (int)len, folder);
  if (len && access(path, X_OK) == 0)
    return path;
  free(path);
  return NULL;
}

char *compile_find_ptxas(void) {
  const char *folders = getenv("PATH");
  while (folders && *folders) {
    size_t len = strcspn(folders, ":");
    char *found = ptxas_in(folders, len);
    if (found)
      return found;
    folders += len + (folders[len] == ':');
  }
  static const char usual[] = "/usr/local/cuda/bin";
  return ptxas_in(usual, sizeof usual - 1);
}
