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
      *extensions; /* into the text: what follows the order of D, without weights_ready last */
  size_t n_extensions;
} hd_product_key;

/* What is wrong with a key: the word, what it may be, and the nearest; pointers are to constants.
 */
typedef struct hd_key_problem {
  char word[64];
  const char *legal;
  char nearest[64]; /* "": none */
} hd_key_problem;

/* Reads a key (borrowed by the result). False: *problem says why. */
bool hd_key_parse(const char *text, hd_product_key *key, hd_key_problem *problem);

/* How far two products are apart; infinite: the choice of one says nothing about the other. */
double hd_key_distance(const hd_product_key *x, const hd_product_key *y);

#endif
