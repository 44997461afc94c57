/* heddle/tuned_file.h: where the tuned choices are: --db FILE, or what was installed with the
 * tool. */
#ifndef HD_TUNED_FILE_H
#define HD_TUNED_FILE_H

#include "Choice/tuned.h"
#include "service_client.h"

/* path NULL: ../share/heddle/tuned.json beside the tool's folder; *tuned stays NULL when that is
 * not there. *tuned is owned. */
heddle_status tuned_open(heddle_context *ctx, const char *path, hd_tuned **tuned);
/* Of a service when args names one, else as tuned_open. */
heddle_status tuned_open_from(heddle_context *ctx, const char *path, const service_args *args,
                              hd_tuned **tuned);
/* The same for --ceilings FILE: HEDDLE_INVALID when the file has none. */
heddle_status tuned_open_ceilings(heddle_context *ctx, const char *path, hd_tuned **tuned);

#endif
