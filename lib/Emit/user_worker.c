/* Format of the worker's answer: lines that LLVM printed, if any; a line with ANSWER, the number of
 * the status and the rule; the text of the function, or of the diagnostic. */
#include "Emit/user_worker.h"

#include <stdio.h>
#include <string.h>

#include "Emit/user_screen.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"

#define ANSWER "\nheddle-epilogue answers: "

#define CPU_SECONDS 0.8

enum {
  WAIT_SECONDS = 30, /* elapsed time, for busy machines; the worker limits its own CPU time */
  MEMORY_BYTES = 1 << 30,
  KILLED = 128 + 9,
  OUT_OF_TIME = 128 + 27 /* SIGPROF */,
  RULE_CHARS = 48
};

int hd_user_answer(const char *path, const char *name, hd_strbuf *answer) {
  heddle_context *ctx = heddle_context_create();
  hd_strbuf text = {0};
  char *ir = NULL;
  size_t n_bytes = 0;
  heddle_status status = hd_process_limit(ctx, CPU_SECONDS, MEMORY_BYTES);
  if (status == HEDDLE_OK)
    status = hd_file_read_text(ctx, path, &ir, &n_bytes);
  if (status == HEDDLE_OK)
    status = hd_user_screen(ctx, ir, n_bytes, name, &text);
  const heddle_diagnostic *d = hd_first_error(ctx);
  hd_strbuf_printf(answer, ANSWER "%d %s\n%s", (int)status, d ? d->rule : "none",
                   status == HEDDLE_OK ? hd_strbuf_text(&text)
                   : d                 ? d->text
                                       : "no memory");
  hd_free(ir);
  hd_strbuf_free(&text);
  heddle_context_free(ctx);
  return heddle_status_exit_code(status);
}

/* The status of a refusal. The worker may have been corrupted, so no other status is accepted. */
static heddle_status status_of(int number) {
  return number == HEDDLE_INVALID || number == HEDDLE_NO_MEMORY ? (heddle_status)number
                                                                : HEDDLE_UNSUPPORTED;
}

static heddle_status take_answer(heddle_context *ctx, const char *said, int code, hd_strbuf *text) {
  int number = -1, n = 0;
  char rule[RULE_CHARS + 1] = "";
  const char *answer = strstr(said, ANSWER);
  if (!answer || sscanf(answer + strlen(ANSWER), "%d %48[a-z0-9.-]%n", &number, rule, &n) != 2)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.worker",
                    "user function: LLVM failed: its process ended with code %d%s; legal: valid "
                    "LLVM IR that LLVM optimises within %g s and %d MiB",
                    code, code == OUT_OF_TIME || code == KILLED ? ", out of time" : "", CPU_SECONDS,
                    MEMORY_BYTES >> 20);
  const char *rest = answer + strlen(ANSWER) + n;
  rest += *rest == '\n';
  if (number != HEDDLE_OK || code != 0)
    return hd_error(ctx, status_of(number), HD_NOWHERE, rule, "%.2000s", rest);
  hd_strbuf_add(text, rest);
  return HEDDLE_OK;
}

/* Starts the worker, which converts the function `name` of the source to the text of user_ir.h.
 * HEDDLE_INVALID, HEDDLE_UNSUPPORTED: the worker refused the function, or failed. */
static heddle_status ask_worker(heddle_context *ctx, const hd_user_source *source,
                                 const char *name, hd_strbuf *text) {
  hd_memory_file file = {.fd = -1};
  hd_strbuf said = {0};
  int code = 0;
  if (source->n_bytes > HD_USER_IR_BYTES)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.size",
                    "user function: got %zu bytes; legal: up to %d", source->n_bytes,
                    HD_USER_IR_BYTES);
  HD_TRY(hd_memory_file_create(ctx, "user IR", source->ir, source->n_bytes, &file));
  const char *const argv[] = {source->worker, file.path, name, NULL};
  heddle_status status = hd_process_run_with(ctx, argv, &file, 1, WAIT_SECONDS, &said, &code);
  hd_memory_file_close(&file);
  if (status == HEDDLE_OK)
    status = take_answer(ctx, hd_strbuf_text(&said), code, text);
  hd_strbuf_free(&said);
  return status;
}

static bool is_bitcode(const hd_user_source *s) {
  return s->n_bytes >= 4 &&
         (memcmp(s->ir, "BC\xc0\xde", 4) == 0 || memcmp(s->ir, "\xde\xc0\x17\x0b", 4) == 0);
}

heddle_status hd_user_read(heddle_context *ctx, const hd_user_source *source, const char *name,
                           hd_user_function **function) {
  hd_user_function *f = hd_try_zalloc(ctx, sizeof *f, "the user's function");
  if (!f)
    return HEDDLE_NO_MEMORY;
  heddle_context *said = source->worker ? NULL : ctx; /* with a worker, a refusal is not final */
  heddle_status status = HEDDLE_UNSUPPORTED;
  if (!is_bitcode(source))
    status = hd_user_parse(said, source->ir, source->n_bytes, name, f);
  else if (!source->worker)
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.text",
                      "user function: got bitcode; legal without heddle-epilogue: text");
  if (status != HEDDLE_OK && status != HEDDLE_NO_MEMORY && source->worker) {
    hd_strbuf text = {0};
    status = ask_worker(ctx, source, name, &text);
    if (status == HEDDLE_OK)
      status = hd_user_parse(ctx, hd_strbuf_text(&text), text.len, name, f);
    hd_strbuf_free(&text);
  }
  if (status == HEDDLE_OK)
    *function = f;
  else
    hd_free(f);
  return status;
}
