/* heddle/gen_files.h: writes the files of one kernel as one set. */
#ifndef HD_GEN_FILES_H
#define HD_GEN_FILES_H

#include "Kernel/launcher_c.h"

typedef struct gen_file {
  const char *extension;
  const void *data; /* NULL: removed, so that it is not taken for this kernel's */
  size_t n_bytes;
} gen_file;
enum { GEN_FILES = 6 }; /* ptx cubin h c c.bin json, in this order */

/* Writes DIR/NAME.* as one set, the manifest last. If gen is killed, the folder has the old kernel,
 * the new one, or files that do not match the hashes of the manifest. Reports each file, and those
 * that it replaces or removes. targets: "sm_80,sm_90a". HEDDLE_INVALID if there is a kernel of that
 * name for other targets, unless `force`. */
heddle_status gen_files_write(heddle_context *ctx, const char *dir, const char *name,
                              const char *targets, bool force, const gen_file files[GEN_FILES]);

#endif
