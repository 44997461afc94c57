#include "sizes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "cli.h"

static heddle_status set_size(heddle_context *ctx, const char *name, const char *value,
                              int64_t *size) {
  const char *names[HD_N_ARG_KINDS];
  size_t n = 0;
  for (hd_arg_kind kind = 0; kind < HD_N_ARG_KINDS; kind++) {
    if (!hd_arg_is_size(kind))
      continue;
    names[n++] = hd_arg_name(kind);
    if (strcasecmp(name, hd_arg_name(kind)))
      continue;
    int64_t v, least = hd_arg_is_batch_stride(kind) ? 0 : 1;
    if (!cli_parse_int(value, &v) || v < least || v > INT32_MAX)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                      "got %s = %s; legal: %d to 2147483647", name, value, (int)least);
    if (size[kind])
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                      "got %s = %s after %s = %lld; legal: once", name, value, name,
                      (long long)size[kind]);
    size[kind] = v ? v : TRIAL_SHARED;
    return HEDDLE_OK;
  }
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size", "got '%s'; nearest: %s", name,
                  cli_nearest(name, names, n));
}

heddle_status sizes_read(heddle_context *ctx, const char *text, int64_t size[HD_N_ARG_KINDS]) {
  char *copy = hd_xstrdup(text ? text : ""), *rest = NULL;
  heddle_status status = HEDDLE_OK;
  for (char *pair = strtok_r(copy, ",", &rest); pair && status == HEDDLE_OK;
       pair = strtok_r(NULL, ",", &rest)) {
    char *equals = strchr(pair, '=');
    if (!equals) {
      status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                        "got '%s'; legal: NAME=VALUE, as in N=512", pair);
      break;
    }
    *equals = '\0';
    status = set_size(ctx, pair, equals + 1, size);
  }
  hd_free(copy);
  return status;
}
