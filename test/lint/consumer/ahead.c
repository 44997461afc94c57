/* A program with a kernel that was compiled ahead of time. It does not use Heddle. */
#include <stdio.h>

#include "dynamic_tokens.h"

int main(void) {
  printf("%s\n", dynamic_tokens_error(HEDDLE_LAUNCH_NULL));
  return 0;
}
