/* Tune/evaluate.h: rates the model's ranking, and the result that the search would have found,
 * given measurements of every schedule of a product. */
#ifndef HD_EVALUATE_H
#define HD_EVALUATE_H

#include "Schedule/cost.h"
#include "Choice/product.h"

typedef struct hd_evaluation {
  double rank_correlation; /* Spearman's, of predicted and measured times */
  double first, five;      /* best time of the model's top 1, and top 5, relative to the optimum */
  double found;            /* best time that the search would measure, relative to the optimum */
  int64_t n, n_searched;
} hd_evaluation;

/* The measured time of a schedule: seconds per launch, > 0. */
typedef struct hd_timed {
  char *schedule;
  double seconds;
} hd_timed;

/* The search may measure n_search of the list (0: hd_search_share). HEDDLE_INVALID if a schedule is
 * invalid or n < 2. */
heddle_status hd_evaluate(heddle_context *ctx, const hd_product *product, const hd_timed *list,
                          int64_t n, int64_t n_search, const hd_device_model *ceilings,
                          hd_evaluation *result);

#endif
