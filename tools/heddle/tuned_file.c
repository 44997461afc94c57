#include "tuned_file.h"

#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/strbuf.h"
#include "Tune/records.h"

heddle_status tuned_open(heddle_context *ctx, const char *path, hd_tuned **tuned) {
  if (path)
    return hd_records_read_tuned(ctx, path, tuned);
  char self[4096];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  self[len > 0 ? len : 0] = '\0';
  char *slash = strrchr(self, '/');
  hd_strbuf shipped = {0};
  hd_strbuf_printf(&shipped, "%.*s/../share/heddle/tuned.json",
                   slash ? (int)(slash - self) : 0, self);
  bool installed = access(hd_strbuf_text(&shipped), R_OK) == 0;
  heddle_status status = installed ? heddle_tuned_read(ctx, hd_strbuf_text(&shipped), tuned)
                                   : heddle_tuned_shipped(ctx, tuned);
  hd_strbuf_free(&shipped);
  return status;
}

heddle_status tuned_open_from(heddle_context *ctx, const char *path, const service_args *args,
                              hd_tuned **tuned) {
  if (path && args->server)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tuned.source",
                    "got --db and --server; legal: one of them");
  return args->server ? service_tuned(ctx, args, tuned) : tuned_open(ctx, path, tuned);
}

heddle_status tuned_open_ceilings(heddle_context *ctx, const char *path, hd_tuned **tuned) {
  HD_TRY(tuned_open(ctx, path, tuned));
  if (!path || hd_tuned_has_ceilings(*tuned))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "tune.ceilings",
                  "the file has no ceilings; legal: a file of `heddle tune calibrate -o`");
}
