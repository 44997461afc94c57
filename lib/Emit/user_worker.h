/* Emit/user_worker.h: heddle-epilogue, the process that reads LLVM IR. Its limits end only this
 * process, not the host's. */
#ifndef HD_USER_WORKER_H
#define HD_USER_WORKER_H

#include "Emit/user_ir.h"
#include "Support/strbuf.h"

/* The work of the worker: limits this whole process, reads the file and writes the answer. Returns
 * the exit code. */
int hd_user_answer(const char *path, const char *name, hd_strbuf *answer);

#endif
