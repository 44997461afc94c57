/* Reads tuned choices (heddle/tuned.h) from a database instead of an exported file. */
#include "Tune/records.h"

static heddle_status each_choice(heddle_context *ctx, void *user, hd_choice_fn each,
                                 void *each_user) {
  return hd_records_each_choice(ctx, user, each, each_user);
}

heddle_status hd_records_read_tuned(heddle_context *ctx, const char *path, heddle_tuned **tuned) {
  hd_records *records;
  if (!hd_tuned_is_database(path))
    return heddle_tuned_read(ctx, path, tuned);
  HD_TRY(hd_records_open(ctx, path, false, &records));
  heddle_status status = hd_tuned_collect(ctx, path, each_choice, records, tuned);
  hd_records_close(records);
  return status;
}
