/* What the static archives of Debian 12 ask for, and libheddle does not want from outside. Nothing here is
 * exported. */
#include <stdint.h>
#include <sys/random.h>

/* What jansson's code compares a stream with (cmake/HeddleDependencies.cmake renames its stdin): no
 * stream is at address 0. */
extern const void *const hd_no_stream;
const void *const hd_no_stream = 0;

/* LLVM's names of temporary files, which Heddle never makes. Of glibc it would need 2.36. */
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value = 0;
  return getrandom(&value, sizeof value, 0) == sizeof value ? value : 0;
}
