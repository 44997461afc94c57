#include "find_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/arena.h"

/* FOLDER/NAME if it is executable (owned). */
static char *program_in(const char *folder, size_t len, const char *name) {
  char *path = hd_xmalloc(len + strlen(name) + 2);
  sprintf(path, "%.*s/%s", (int)len, folder, name);
  if (len && access(path, X_OK) == 0)
    return path;
  hd_free(path);
  return NULL;
}

char *find_program(const char *name) {
  const char *folders = getenv("PATH");
  while (folders && *folders) {
    size_t len = strcspn(folders, ":");
    char *found = program_in(folders, len, name);
    if (found)
      return found;
    folders += len + (folders[len] == ':');
  }
  return NULL;
}

char *find_beside(const char *name) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(self, '/');
  char *found = slash ? program_in(self, (size_t)(slash - self), name) : NULL;
  return found ? found : find_program(name);
}

char *compile_find_ptxas(void) {
  static const char usual[] = "/usr/local/cuda/bin";
  char *found = find_program("ptxas");
  return found ? found : program_in(usual, sizeof usual - 1, "ptxas");
}
