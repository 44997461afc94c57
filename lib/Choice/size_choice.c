#include "Choice/size_choice.h"

#include "Schedule/resolve.h"
#include "Support/arena.h"

/* ---- sizes ---- */

static int64_t shorter(int64_t most, const hd_dense *matrix, bool along) {
  return matrix->op && matrix->ld && along && (most == 0 || matrix->ld < most) ? matrix->ld : most;
}

int64_t hd_largest_size(const hd_problem *p, char dim) {
  bool n = dim == 'n', k = dim == 'k';
  int64_t most = n ? p->n.max : k ? p->k.max : p->m.max;
  most = shorter(most, &p->b, p->b.transposed ? n : k);
  most = shorter(most, &p->c, p->c.transposed ? !n && !k : n);
  return shorter(most, &p->d, p->d.transposed ? !n && !k : n);
}

/* ---- the order ---- */

/* Largest first. */
static const char *const modest[] = {"tile=128x128", "tile=64x128", "tile=64x64"};
/* The same number for pairs with a statistic of 128 rows of D. */
static const char *const modest_pairs[] = {"tile=256x128", "tile=256x64", "tile=256x32"};

/* In a kernel for many sizes, CTAs may share the tiles of some bucket over k through the workspace,
 * which excludes a copy of B in the others. */
static bool is_free(const hd_problem *p, const hd_spilled *spilled, const hd_schedule *s) {
  bool copies = s->b_path == HD_B_COPIED && !p->n.value && !hd_is_grouped(p);
  return hd_schedule_fits(p, s) && !hd_spilled_has(spilled, s) && !copies;
}

static bool read_modest(const hd_problem *p, size_t i, hd_schedule *s) {
  return hd_schedule_read(NULL, hd_device_model_of(p->target), p,
                          p->pair && p->reduce ? modest_pairs[i] : modest[i], s) == HEDDLE_OK;
}

bool hd_choose_modest(const hd_problem *p, hd_schedule *schedule) {
  hd_schedule s;
  for (size_t i = HD_COUNT(modest); i-- > 0;)
    if (read_modest(p, i, &s) && hd_schedule_fits(p, &s)) {
      *schedule = s;
      return true;
    }
  return false;
}

/* The next schedule in the ranking of the model, with usual values for sizes that stay open. */
static bool next_ranked(const hd_device_model *device, const hd_problem *whole,
                        const hd_problem *fixed, const hd_spilled *spilled, hd_schedule *s) {
  enum { USUAL = 4096, MAX_RANKED = 96 };
  const hd_size *const sizes[] = {&fixed->m, &fixed->n, &fixed->k};
  hd_ranked_schedule list[MAX_RANKED];
  int64_t size_mnk[3];
  for (int i = 0; i < 3; i++) {
    int64_t largest = hd_largest_size(whole, "mnk"[i]);
    int64_t open = largest && largest < USUAL ? largest : USUAL;
    size_mnk[i] = sizes[i]->value ? sizes[i]->value : open;
  }
  int32_t n = hd_schedule_heuristic(device, whole, size_mnk, list, MAX_RANKED);
  for (int32_t i = 0; i < n; i++)
    if (is_free(whole, spilled, &list[i].schedule)) {
      *s = list[i].schedule;
      return true;
    }
  return false;
}

static bool next_modest(const hd_problem *whole, const hd_spilled *spilled, hd_schedule *s) {
  for (size_t i = 0; i < HD_COUNT(modest); i++)
    if (read_modest(whole, i, s) && is_free(whole, spilled, s))
      return true;
  return false;
}

heddle_status hd_choose_for_sizes(heddle_context *ctx, const hd_front *front,
                                  const hd_tuned *tuned, const int64_t size_mnk[3],
                                  const hd_spilled *spilled, const hd_tuned_entry **entry,
                                  hd_schedule *schedule) {
  static const int64_t none[3];
  const hd_problem *whole = &front->problem;
  hd_problem fixed = *whole;
  hd_size *const sizes_of[] = {&fixed.m, &fixed.n, &fixed.k};
  hd_schedule next;
  *entry = NULL;
  for (int i = 0; i < 3; i++) {
    int64_t largest = hd_largest_size(whole, "mnk"[i]);
    bool legal = !largest || size_mnk[i] <= largest; /* the launch refuses larger sizes */
    if (size_mnk[i] && legal)
      sizes_of[i]->value = size_mnk[i];
  }
  HD_TRY(hd_problem_check_sizes(ctx, &fixed));
  hd_product product = hd_product_of(&fixed, none);
  *entry = tuned ? hd_tune_pick(tuned, &fixed, &product, spilled, schedule) : NULL;
  if (*entry && is_free(whole, spilled, schedule))
    return HEDDLE_OK;
  *entry = NULL;
  const hd_device_model *device =
      tuned ? hd_tuned_ceilings(tuned) : hd_device_model_of(fixed.target);
  *schedule = hd_schedule_default(device, &fixed);
  if (is_free(whole, spilled, schedule))
    return HEDDLE_OK;
  if (next_ranked(device, whole, &fixed, spilled, &next) || next_modest(whole, spilled, &next))
    *schedule = next;
  else if (!hd_schedule_fits(whole, schedule))
    *schedule = hd_schedule_default(device, whole);
  return HEDDLE_OK;
}
