#include "Support/readable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "Support/arena.h"

/* False for terminal controls (U+009B begins an escape sequence, like ESC [), and for invisible
 * characters and direction marks, which can disguise other text. */
static bool shows(uint32_t character) {
  static const struct {
    uint32_t first, last;
  } hidden[] = {{0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
                {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f}};
  for (size_t i = 0; i < HD_COUNT(hidden); i++)
    if (character >= hidden[i].first && character <= hidden[i].last)
      return false;
  return true;
}

/* The number of bytes of the character at s (the Unicode standard, "Well-Formed UTF-8 Byte
 * Sequences"). 0 if there is no valid character, or an invisible one. */
static size_t character_bytes(const unsigned char *s) {
  static const struct {
    unsigned char first, last, least, most; /* range of the first byte, and of the second */
  } forms[] = {{0xc2, 0xdf, 0x80, 0xbf}, {0xe0, 0xe0, 0xa0, 0xbf}, {0xe1, 0xec, 0x80, 0xbf},
               {0xed, 0xed, 0x80, 0x9f}, {0xee, 0xef, 0x80, 0xbf}, {0xf0, 0xf0, 0x90, 0xbf},
               {0xf1, 0xf3, 0x80, 0xbf}, {0xf4, 0xf4, 0x80, 0x8f}};
  if (s[0] < 0x80)
    return (s[0] >= ' ' && s[0] != 0x7f) || s[0] == '\n' || s[0] == '\t';
  size_t n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4, i = 0;
  while (i < HD_COUNT(forms) && (s[0] < forms[i].first || s[0] > forms[i].last))
    i++;
  if (i == HD_COUNT(forms) || s[1] < forms[i].least || s[1] > forms[i].most)
    return 0;
  uint32_t character = s[0] & (0x7fu >> n);
  for (size_t j = 1; j < n; j++) {
    if ((s[j] & 0xc0) != 0x80)
      return 0;
    character = character << 6 | (s[j] & 0x3f);
  }
  return shows(character) ? n : 0;
}

size_t hd_readable(const char *text, char *out, size_t out_bytes) {
  const unsigned char *from = (const unsigned char *)text;
  size_t len = 0, room = out_bytes ? out_bytes - 1 : 0, end = 0;
  while (*from) {
    char escaped[5];
    size_t n = character_bytes(from), n_out = n ? n : 4;
    if (!n)
      snprintf(escaped, sizeof escaped, "\\x%02x", *from);
    if (end == len && len + n_out <= room) {
      memcpy(out + len, n ? (const char *)from : escaped, n_out);
      end += n_out;
    }
    len += n_out;
    from += n ? n : 1;
  }
  if (out_bytes)
    out[end] = '\0';
  return len;
}
