/* checked_records.h: what the parts of heddle-tblgen share. */
#ifndef TBLGEN_CHECKED_RECORDS_H
#define TBLGEN_CHECKED_RECORDS_H

#include "Layout/layout.h"
#include "record.h"

/* A Fragment record, read. */
typedef struct fragment {
  const char *space;
  long lanes, regs, bits, rows, cols, mask, unit;
  bool broadcast;
  hd_layout map; /* (lane, reg, field) -> (row, col); masked lane bits have the image 0 */
} fragment;

/* Reads a Fragment; false after reporting what is wrong with its form. */
bool fragment_read(const record *r, fragment *f);
/* Proves it: registers and fields fill the tile, once (or often enough, when broadcast). */
bool fragment_prove(const record *r, const fragment *f);

/* Checks a Row against the rules of specs/README.md. Errors are reported on the record. */
void row_check(const record *row);

/* Words of the schema and the C enumerators that they stand for (ORDER FAMILY); NULL: no such
 * word. */
const char *word_family(const char *word);
const char *word_issuer(const char *word);
const char *word_completion(const char *word);
const char *word_space(const char *word);
const char *word_proxy(const char *word);
const char *word_access(const char *word);
const char *word_modifier(const char *word);
const char *word_syntax_verified_by(const char *word);
const char *word_layout_verified_by(const char *word);

/* The generated C file. Byte-reproducible. */
void tables_write(dump *d, hd_strbuf *out);

#endif
