#include "Check/check_instances.h"
#include "Spec/spec.h"

bool hd_ck_limits_of(const char *target, hd_ck_limits *limits) {
  const hd_target *t;
  if (!target || hd_target_parse(target, &t) != HEDDLE_OK)
    return false;
  *limits = (hd_ck_limits){.shared_bytes = t->shared_per_block,
                           .shared_sm = t->shared_per_sm,
                           .registers_sm = t->registers_per_sm,
                           .registers_thread = t->max_registers_per_thread,
                           .tensor_columns = t->tensor_columns,
                           .has_tma = t->has_tma,
                           .has_cluster = t->has_cluster};
  return true;
}
