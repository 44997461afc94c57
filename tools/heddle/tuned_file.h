/* heddle/tuned_file.h: finds the tuned choices: --db FILE, or those installed with the tool. */
#ifndef HD_TUNED_FILE_H
#define HD_TUNED_FILE_H

#include "Choice/tuned.h"
#include "service_client.h"

/* path NULL: ../share/heddle/tuned.json relative to the tool's folder; if it does not exist, the
 * choices that are part of the library. *tuned is owned. */
heddle_status tuned_open(heddle_context *ctx, const char *path, hd_tuned **tuned);
/* From a service if args names one, else as tuned_open. */
heddle_status tuned_open_from(heddle_context *ctx, const char *path, const service_args *args,
                              hd_tuned **tuned);
/* The same for --ceilings FILE: HEDDLE_INVALID if the file has no rates. */
heddle_status tuned_open_ceilings(heddle_context *ctx, const char *path, hd_tuned **tuned);

#endif
