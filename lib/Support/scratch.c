#include "Support/scratch.h"

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

/* Waits for this process to end. The first rm fails if a process still writes to the folder. */
static const char watch[] = "exec 2>/dev/null; read end\n"
                            "rm -rf \"$0\" || { sleep 1; rm -rf \"$0\"; }";

heddle_status hd_scratch_open(heddle_context *ctx, const char *base, hd_scratch *scratch) {
  hd_scratch made = {0};
  HD_TRY(hd_file_tempdir(ctx, base, &made.path));
  const char *const argv[] = {"/bin/sh", "-c", watch, made.path, NULL};
  heddle_status status = hd_child_start(ctx, argv, &made.keeper);
  if (status != HEDDLE_OK) {
    hd_scratch_close(&made);
    return status;
  }
  *scratch = made;
  return HEDDLE_OK;
}

void hd_scratch_close(hd_scratch *scratch) {
  if (scratch->path)
    (void)hd_file_remove(NULL, scratch->path);
  hd_child_stop(&scratch->keeper, NULL);
  hd_free(scratch->path);
  scratch->path = NULL;
}
