/* Emit/user_worker.h: both ends of heddle-epilogue. Here: the process that reads LLVM IR, under
 * limits that end it alone. */
#ifndef HD_USER_WORKER_H
#define HD_USER_WORKER_H

#include "Emit/user_ir.h"
#include "Support/strbuf.h"

/* Starts the worker, which brings the function `name` of the source into the text of user_ir.h.
 * HEDDLE_INVALID, HEDDLE_UNSUPPORTED: it said so, or did not end as it should. */
heddle_status hd_user_ask_worker(heddle_context *ctx, const hd_user_source *source,
                                 const char *name, hd_strbuf *text);
/* What the worker does, under limits of this whole process: reads the file and answers; its exit
 * code. */
int hd_user_answer(const char *path, const char *name, hd_strbuf *answer);

#endif
