/* A program with a kernel compiled ahead of time, which knows no Heddle. */
#include <stdio.h>

#include "dynamic_tokens.h"

int main(void) {
  printf("%s\n", dynamic_tokens_error(HEDDLE_LAUNCH_NULL));
  return 0;
}
