/* An external program: it uses only installed headers and libraries. */
#include <heddle/context.h>
#include <heddle/types.h>
#include <heddle/version.h>
#include <stdio.h>

int main(void) {
  heddle_context *ctx = heddle_context_create();
  heddle_elem elem;
  int ok = ctx && heddle_elem_parse("bf16", &elem) == HEDDLE_OK &&
           heddle_elem_get(elem)->container_bits == 16 && heddle_context_count(ctx) == 0 &&
           heddle_version_number() == HEDDLE_VERSION_NUMBER;
  heddle_context_free(ctx);
  printf("consumer=%s\n", ok ? "ok" : "wrong");
  return !ok;
}
