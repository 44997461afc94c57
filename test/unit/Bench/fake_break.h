/* For libraries made for tests: breaks the device of the driver made for tests. */
#ifndef FAKE_BREAK_H
#define FAKE_BREAK_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "Runtime/fake_cuda.h"

/* If the variable of the environment names this size: as a driver does after a kernel accessed an
 * illegal address. */
static inline void fake_break(const char *variable, uint64_t size) {
  const char *breaks = getenv(variable);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  fake_cuda *fake = driver ? dlsym(driver, "fake_state") : NULL;
  if (fake && breaks && strtoull(breaks, NULL, 10) == size)
    fake->broken = 700;
  if (driver)
    dlclose(driver);
}

#endif
