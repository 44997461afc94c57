/* Interface/product_key.h: the text that names a product (docs/service.md, "The product key"). */
#ifndef HD_PRODUCT_KEY_H
#define HD_PRODUCT_KEY_H

#include <stddef.h>

#include "heddle/types.h"

enum { HD_KEY_BYTES = 400, HD_KEY_MAX_SIZE = 1 << 20 };

typedef struct hd_product_key {
  char target[12];
  heddle_elem a, b, acc, d;
  int32_t m, n, k;
  bool b_mn_major, d_col_major, weights_ready;
  const char
      *extensions; /* within the text: words after the order of D, without a final weights_ready */
  size_t n_extensions;
} hd_product_key;

/* The error in a key: the word, the legal values, and the nearest one; legal is a constant. */
typedef struct hd_key_problem {
  char word[64];
  const char *legal;
  char nearest[64]; /* "": none */
} hd_key_problem;

/* Reads a key; the result borrows the text. False: *problem has the reason. */
bool hd_key_parse(const char *text, hd_product_key *key, hd_key_problem *problem);

/* The distance of two products; infinite if a choice for one cannot be used for the other. */
double hd_key_distance(const hd_product_key *x, const hd_product_key *y);

#endif
