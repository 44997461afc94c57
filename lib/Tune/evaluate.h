/* Tune/evaluate.h: how well the model ranks, and what the search would have found, compared
 * with the measurements of every schedule of a product. */
#ifndef HD_EVALUATE_H
#define HD_EVALUATE_H

#include "Schedule/cost.h"
#include "Choice/product.h"

typedef struct hd_evaluation {
  double rank_correlation; /* Spearman's, of predicted and measured times */
  double first, five;      /* the best of the model's first, and first five, over the best of all */
  double found;            /* the best of what the search would have measured, over the same */
  int64_t n, n_searched;
} hd_evaluation;

/* What a schedule took: seconds a launch, > 0. */
typedef struct hd_timed {
  char *schedule;
  double seconds;
} hd_timed;

/* The search may measure n_search of the list (0: hd_search_share). HEDDLE_INVALID when a schedule
 * is not one, or there are fewer than two. */
heddle_status hd_evaluate(heddle_context *ctx, const hd_product *product, const hd_timed *list,
                          int64_t n, int64_t n_search, const hd_device_model *ceilings,
                          hd_evaluation *result);

#endif
