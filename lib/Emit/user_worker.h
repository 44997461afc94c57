/* Emit/user_worker.h: both ends of heddle-epilogue. Here: the process that reads LLVM IR, under
 * limits that end it alone. */
#ifndef HD_USER_WORKER_H
#define HD_USER_WORKER_H

#include "Emit/user_ir.h"
#include "Support/strbuf.h"

/* What the worker does, under limits of this whole process: reads the file and answers; its exit
 * code. */
int hd_user_answer(const char *path, const char *name, hd_strbuf *answer);

#endif
