/* heddle-epilogue FILE NAME: converts the LLVM IR of an epilogue, text or bitcode, to the subset
 * that heddle parses without LLVM (lib/Emit/user_ir.h). heddle starts it for each epilogue that
 * needs LLVM, so that input that crashes or hangs LLVM ends only this process. */
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
