#include "sizes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "cli.h"

static const hd_arg_kind kinds[] = {HD_ARG_M,   HD_ARG_N,   HD_ARG_K,
                                    HD_ARG_LDB, HD_ARG_LDC, HD_ARG_LDD,
                                    HD_ARG_LDSA, HD_ARG_LDSB, HD_ARG_G, HD_ARG_T,
                                    HD_ARG_STRIDE_A, HD_ARG_STRIDE_B, HD_ARG_STRIDE_C,
                                    HD_ARG_STRIDE_D, HD_ARG_STRIDE_BIAS, HD_ARG_STRIDE_SCALE_A,
                                    HD_ARG_STRIDE_SCALE_B};

static heddle_status set_size(heddle_context *ctx, const char *name, const char *value,
                              int64_t *size) {
  const char *names[HD_COUNT(kinds)];
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    names[i] = hd_arg_name(kinds[i]);
  for (size_t i = 0; i < HD_COUNT(kinds); i++) {
    if (strcasecmp(name, names[i]))
      continue;
    int64_t v, least = hd_arg_is_batch_stride(kinds[i]) ? 0 : 1;
    if (!cli_parse_int(value, &v) || v < least || v > INT32_MAX)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                      "got %s = %s; legal: %d to 2147483647", name, value, (int)least);
    if (size[kinds[i]])
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size",
                      "got %s = %s after %s = %lld; legal: once", name, value, name,
                      (long long)size[kinds[i]]);
    size[kinds[i]] = v ? v : TRIAL_SHARED;
    return HEDDLE_OK;
  }
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.size", "got '%s'; nearest: %s", name,
                  cli_nearest(name, names, HD_COUNT(names)));
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
