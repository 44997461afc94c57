/* checked_records.h: shared by the parts of heddle-tblgen. */
#ifndef TBLGEN_CHECKED_RECORDS_H
#define TBLGEN_CHECKED_RECORDS_H

#include "Layout/layout.h"
#include "record.h"

/* The contents of a Fragment record. */
typedef struct fragment {
  const char *space;
  long lanes, regs, bits, rows, cols, mask, unit;
  bool broadcast;
  hd_layout map; /* (lane, reg, field) -> (row, col); masked lane bits map to 0 */
} fragment;

/* Reads a Fragment; false after reporting a malformed field. */
bool fragment_read(const record *r, fragment *f);
/* Proves that registers and fields cover the tile exactly once, or equally often if broadcast. */
bool fragment_prove(const record *r, const fragment *f);

/* Checks a Row against the rules of specs/README.md. Errors are reported on the record. */
void row_check(const record *row);

/* The C enumerators for words of the schema (ORDER FAMILY); NULL: unknown word. */
const char *word_family(const char *word);
const char *word_issuer(const char *word);
const char *word_completion(const char *word);
const char *word_space(const char *word);
const char *word_proxy(const char *word);
const char *word_access(const char *word);
const char *word_modifier(const char *word);
const char *word_syntax_verified_by(const char *word);
const char *word_layout_verified_by(const char *word);

/* Writes the C file. The same records give the same bytes. */
void tables_write(dump *d, hd_strbuf *out);

#endif
