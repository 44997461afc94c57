/* The test's side of the fake: its state and the count of allocations (linked with FAKE_WRAPS). */
#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>

atomic_int fake_n_allocations;
atomic_int fake_refuse_in;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__real_ffi_closure_alloc(size_t n, void **code);
void *__wrap_ffi_closure_alloc(size_t n, void **code);

static bool is_refused(void) { return fake_refuse_in && --fake_refuse_in == 0; }

void *__wrap_malloc(size_t n) {
  fake_n_allocations++;
  return is_refused() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size) {
  fake_n_allocations++;
  return is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n) {
  fake_n_allocations++;
  return __real_realloc(p, n);
}

void *__wrap_ffi_closure_alloc(size_t n, void **code) {
  return is_refused() ? NULL : __real_ffi_closure_alloc(n, code);
}

fake_cuda *fake_reset(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  fake_cuda *fake = library ? dlsym(library, "fake_state") : NULL;
  if (!fake)
    abort();
  *fake = (fake_cuda){.n_devices = 2, .resident = 1, .n_sms = 10};
  return fake;
}
