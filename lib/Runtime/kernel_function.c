/* The typed C function of a kernel: a libffi closure over the launch path. */
#include <ffi.h>
#include <string.h>

#include "Runtime/loaded_kernel.h"
#include "Support/arena.h"
#include "Support/diag.h"

struct hd_closure {
  ffi_closure *writable;
  void *code; /* the same memory, executable */
  ffi_cif cif;
  ffi_type *types[HD_MAX_ARGS + 1];
};

static ffi_type *ffi_type_of(heddle_arg_class class) {
  switch (class) {
  case HEDDLE_CLASS_PTR:
    return &ffi_type_pointer;
  case HEDDLE_CLASS_I32:
    return &ffi_type_sint32;
  case HEDDLE_CLASS_I64:
    return &ffi_type_sint64;
  case HEDDLE_CLASS_F32:
    return &ffi_type_float;
  }
  return &ffi_type_pointer;
}

static void called(ffi_cif *cif, void *result, void **args, void *user) {
  const heddle_kernel *kernel = user;
  hd_values values = {{0}};
  (void)cif;
  for (int i = 0; i < kernel->n_passed; i++) {
    heddle_arg_class class = hd_arg_class_of(kernel->passed[i]);
    heddle_arg arg = {.i64 = 0};
    /* libffi passes the address of each argument, whose width depends on its class. */
    memcpy(&arg, args[i], class == HEDDLE_CLASS_PTR || class == HEDDLE_CLASS_I64 ? 8 : 4);
    values.v[kernel->passed[i]] = hd_arg_bits(class, arg);
  }
  void *stream = *(void **)args[kernel->n_passed];
  *(ffi_sarg *)result = hd_kernel_launch_values(NULL, kernel, &values, stream);
}

static bool prepare(heddle_kernel *kernel, struct hd_closure *closure) {
  unsigned n = 0;
  for (int i = 0; i < kernel->n_passed; i++)
    closure->types[n++] = ffi_type_of(hd_arg_class_of(kernel->passed[i]));
  closure->types[n++] = &ffi_type_pointer;
  return closure->writable &&
         ffi_prep_cif(&closure->cif, FFI_DEFAULT_ABI, n, &ffi_type_sint, closure->types) ==
             FFI_OK &&
         ffi_prep_closure_loc(closure->writable, &closure->cif, called, kernel, closure->code) ==
             FFI_OK;
}

heddle_status heddle_kernel_function(heddle_context *ctx, heddle_kernel *kernel,
                                     heddle_function *function) {
  if (!kernel->closure) {
    struct hd_closure *made = hd_try_zalloc(ctx, sizeof *made, "a typed function");
    if (!made)
      return HEDDLE_NO_MEMORY;
    made->writable = ffi_closure_alloc(sizeof *made->writable, &made->code);
    if (!prepare(kernel, made)) {
      hd_closure_free(made);
      return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "kernel.function",
                      "no executable memory for a typed function (libffi)");
    }
    kernel->closure = made;
  }
  memcpy(function, &kernel->closure->code, sizeof *function);
  return HEDDLE_OK;
}

void hd_closure_free(struct hd_closure *closure) {
  if (closure && closure->writable)
    ffi_closure_free(closure->writable);
  hd_free(closure);
}
