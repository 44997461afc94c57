// The same in C++17.
#include <cstdio>

#include "dynamic_tokens.h"

int main() {
  std::printf("%s\n", dynamic_tokens_error(HEDDLE_LAUNCH_NULL));
  return 0;
}
