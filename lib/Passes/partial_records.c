#include "Passes/partial_records.h"

enum {
  PARTIAL_BYTES = 4,  /* per element */
  COUNTER_BYTES = 128 /* its own cache line */
};

int64_t hd_record_partial_bytes(const hd_schedule *s) {
  return (int64_t)s->tile_m * s->tile_n / (s->warps_m * s->warps_n) * PARTIAL_BYTES;
}

int64_t hd_record_partial(hd_records records, const hd_schedule *s) {
  return records.bytes - COUNTER_BYTES - hd_record_partial_bytes(s);
}

static hd_records larger(hd_records x, int64_t bytes, int64_t n) {
  return (hd_records){x.bytes > bytes ? x.bytes : bytes, x.n > n ? x.n : (int32_t)n};
}

hd_records hd_records_of(const hd_module *m) {
  hd_records all = {0};
  HD_FOR_OPS(kernel, m->body)
    all = larger(all, hd_op_int(kernel, HD_ATTR_RECORD_BYTES, 0),
                 hd_op_int(kernel, HD_ATTR_RECORDS, 0));
  for (const hd_plan *plan = m->plans; plan; plan = plan->next) {
    const hd_schedule *s = &plan->s;
    if (hd_schedule_shares_tiles(s) && hd_schedule_along_k(s) == 1)
      all = larger(all, hd_record_partial_bytes(s) + COUNTER_BYTES, s->warps_m * s->warps_n);
  }
  return all;
}

void hd_records_set(hd_module *m, hd_op *kernel, hd_records records) {
  hd_op_set_int(m, kernel, HD_ATTR_RECORD_BYTES, records.bytes);
  hd_op_set_int(m, kernel, HD_ATTR_RECORDS, records.n);
}
