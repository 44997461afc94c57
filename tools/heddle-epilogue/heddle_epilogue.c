/* heddle-epilogue FILE NAME: LLVM IR of an epilogue, text or bitcode, to the text that heddle reads
 * by itself (lib/Emit/user_ir.h). Started by heddle for each epilogue that LLVM has to read: what
 * crashes or hangs LLVM ends this process alone. */
#include <stdbool.h>
#include <stdio.h>

#include "Emit/user_worker.h"

int main(int argc, char **argv) {
  hd_strbuf answer = {0};
  if (argc == 3) {
    int code = hd_user_answer(argv[1], argv[2], &answer);
    bool written = fwrite(answer.text, 1, answer.len, stdout) == answer.len && fflush(stdout) == 0;
    hd_strbuf_free(&answer);
    return written ? code : 4;
  }
  fprintf(stderr, "usage: heddle-epilogue FILE NAME (started by heddle; see docs/embedding.md)\n");
  return 2;
}
