/* The choices that are part of the library. */
#include "Choice/h200_json.h" /* made by the build */
#include "Choice/tuned.h"

heddle_status heddle_tuned_shipped(heddle_context *ctx, heddle_tuned **tuned) {
  return hd_tuned_parse(ctx, "h200.json", (const char *)h200_json, sizeof h200_json, tuned);
}
