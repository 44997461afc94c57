/* Finds targets by name. */
#include <string.h>

#include "Spec/tables.h"

size_t hd_target_count(void) {
  return hd_spec_n_targets;
}

const hd_target *hd_target_get(size_t i) {
  return i < hd_spec_n_targets ? &hd_spec_targets[i] : NULL;
}

heddle_status hd_target_parse(const char *name, const hd_target **target) {
  for (size_t i = 0; i < hd_spec_n_targets; i++)
    if (!strcmp(hd_spec_targets[i].name, name)) {
      *target = &hd_spec_targets[i];
      return HEDDLE_OK;
    }
  return HEDDLE_UNSUPPORTED;
}

/* "sm_90x" -> 90; -1 if there is no number. */
static int sm_number(const char *name) {
  int number = 0;
  const char *p = strncmp(name, "sm_", 3) ? name : name + 3;
  if (*p < '0' || *p > '9')
    return -1;
  for (; *p >= '0' && *p <= '9' && number < 100000; p++)
    number = number * 10 + (*p - '0');
  return number;
}

const char *hd_target_nearest(const char *name) {
  enum { FIRST_SPARSE = 80 }; /* older targets have no mma.sp */
  int wanted = sm_number(name), best_distance = 1 << 30;
  const char *best = "sm_90a";
  if (wanted < 0)
    return best;
  for (size_t i = 0; i < hd_spec_n_targets; i++) {
    const hd_target *t = &hd_spec_targets[i];
    if (!strcmp(t->formerly, name))
      return t->name;
    if (t->sm < FIRST_SPARSE)
      continue;
    int distance = (t->sm > wanted ? t->sm - wanted : wanted - t->sm) * 4 + (t->suffix != 'a');
    if (distance < best_distance) {
      best_distance = distance;
      best = t->name;
    }
  }
  return best;
}
