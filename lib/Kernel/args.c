#include "Kernel/args.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  heddle_arg_class class;
} args[HD_N_ARG_KINDS] = {
    {"none", HEDDLE_CLASS_I64},
#define HD_ARG(kind, name, class) {name, HEDDLE_CLASS_##class},
#include "Kernel/args.def"
#undef HD_ARG
};

const char *hd_arg_name(hd_arg_kind kind) {
  return (unsigned)kind < HD_N_ARG_KINDS ? args[kind].name : "?";
}

heddle_arg_class hd_arg_class_of(hd_arg_kind kind) {
  return (unsigned)kind < HD_N_ARG_KINDS ? args[kind].class : HEDDLE_CLASS_I64;
}

uint64_t hd_arg_bits(heddle_arg_class class, heddle_arg arg) {
  uint32_t bits;
  switch (class) {
  case HEDDLE_CLASS_PTR:
    return (uint64_t)(uintptr_t)arg.ptr;
  case HEDDLE_CLASS_I32:
    return (uint64_t)(int64_t)arg.i32;
  case HEDDLE_CLASS_I64:
    return (uint64_t)arg.i64;
  case HEDDLE_CLASS_F32:
    memcpy(&bits, &arg.f32, sizeof bits);
    return bits;
  }
  return 0;
}

const char *hd_arg_c_type(hd_arg_kind kind) {
  switch (hd_arg_class_of(kind)) {
  case HEDDLE_CLASS_PTR:
    return hd_arg_is_written(kind) ? "void *" : "const void *";
  case HEDDLE_CLASS_I32:
    return "int32_t ";
  case HEDDLE_CLASS_I64:
    return "int64_t ";
  case HEDDLE_CLASS_F32:
    return "float ";
  }
  return "";
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

void hd_expr_print(const hd_expr *x, hd_strbuf *out) {
  if (x->div == 0)
    return;
  if (x->arg == HD_ARG_NONE)
    hd_strbuf_printf(out, "%lld", (long long)x->mul);
  else
    hd_strbuf_add(out, hd_arg_name(x->arg));
  if (x->arg != HD_ARG_NONE && x->mul != 1)
    hd_strbuf_printf(out, "*%lld", (long long)x->mul);
  if (x->add)
    hd_strbuf_printf(out, "+%lld", (long long)x->add);
  if (x->div != 1)
    hd_strbuf_printf(out, "/%lld", (long long)x->div);
}

/* Reads an optional sign and digits. False if there are no digits, or more than 15. */
static bool read_number(const char **at, int64_t *value) {
  size_t sign = **at == '-', n = strspn(*at + sign, "0123456789");
  *value = n > 0 && n <= 15 ? strtoll(*at, NULL, 10) : 0;
  *at += sign + n;
  return n > 0 && n <= 15;
}

heddle_status hd_expr_parse(const char *text, hd_expr *x) {
  bool none = *text == '\0';
  hd_expr made = {.mul = !none, .div = !none};
  int64_t *parts[] = {&made.mul, &made.add, &made.div};
  char name[16] = "";
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
  if (n >= sizeof name)
    return HEDDLE_INVALID;
  memcpy(name, text, n);
  if (n > 0 && (hd_arg_parse(name, &made.arg) != HEDDLE_OK || made.arg == HD_ARG_NONE))
    return HEDDLE_INVALID;
  text += n;
  if (n == 0 && !none && !read_number(&text, &made.mul))
    return HEDDLE_INVALID;
  for (int i = 0; i < 3; i++)
    if (*text == "*+/"[i]) {
      text++;
      if (!read_number(&text, parts[i]))
        return HEDDLE_INVALID;
    }
  if (*text || (made.div == 0 && !none))
    return HEDDLE_INVALID;
  *x = made;
  return HEDDLE_OK;
}
