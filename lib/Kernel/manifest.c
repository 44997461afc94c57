#include "Kernel/manifest.h"

#include <string.h>

static const struct {
  const char *name;
  hd_arg_class class;
} args[HD_N_ARG_KINDS] = {
    {"none", HD_CLASS_I64},
#define HD_ARG(kind, name, class) {name, HD_CLASS_##class},
#include "Kernel/args.def"
#undef HD_ARG
};

const char *hd_arg_name(hd_arg_kind kind) {
  return (unsigned)kind < HD_N_ARG_KINDS ? args[kind].name : "?";
}

hd_arg_class hd_arg_class_of(hd_arg_kind kind) {
  return (unsigned)kind < HD_N_ARG_KINDS ? args[kind].class : HD_CLASS_I64;
}

heddle_status hd_arg_parse(const char *name, hd_arg_kind *kind) {
  for (int i = 0; i < HD_N_ARG_KINDS; i++) {
    if (strcmp(name, args[i].name) == 0) {
      *kind = (hd_arg_kind)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

const hd_arg *hd_manifest_arg(const hd_manifest *manifest, hd_arg_kind kind) {
  for (int i = 0; i < manifest->n_args; i++) {
    if (manifest->arg[i].kind == kind)
      return &manifest->arg[i];
  }
  return NULL;
}
