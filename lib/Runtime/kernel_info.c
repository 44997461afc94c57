/* The queries of heddle/kernel.h on a loaded kernel. */
#include "Runtime/loaded_kernel.h"

const char *heddle_kernel_name(const heddle_kernel *kernel) { return kernel->manifest.name; }

const char *heddle_kernel_family(const heddle_kernel *kernel) { return kernel->manifest.family; }

bool heddle_kernel_takes_pairs(const heddle_kernel *kernel) {
  return hd_act_is_pair(kernel->manifest.act);
}

const char *heddle_kernel_prototype(const heddle_kernel *kernel) { return kernel->prototype; }

size_t heddle_kernel_arg_count(const heddle_kernel *kernel) { return (size_t)kernel->n_passed; }

const char *heddle_kernel_arg_name(const heddle_kernel *kernel, size_t i) {
  return i < (size_t)kernel->n_passed ? hd_arg_name(kernel->passed[i]) : NULL;
}

heddle_arg_class heddle_kernel_arg_class(const heddle_kernel *kernel, size_t i) {
  hd_arg_kind kind = i < (size_t)kernel->n_passed ? kernel->passed[i] : HD_ARG_NONE;
  return hd_arg_class_of(kind);
}

size_t heddle_kernel_variant_count(const heddle_kernel *kernel) {
  return (size_t)kernel->manifest.n_variants;
}

heddle_status heddle_kernel_get_info(const heddle_kernel *kernel, size_t index,
                                     heddle_kernel_info *info) {
  if (index >= (size_t)kernel->manifest.n_variants)
    return HEDDLE_INVALID;
  *info = kernel->loaded[0].info[index];
  return HEDDLE_OK;
}
