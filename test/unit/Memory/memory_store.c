/* An operation of test_memory_short.c: creates, writes and reads a database of heddled (SQLite). */
#include "memory_store.h"

#include <string.h>

#include "Store/store.h"
#include "Support/diag.h"
#include "Support/memory.h"

/* If memory runs out while the JSON is built, it could be stored as if it were empty: this checks
 * for it. */
static hd_sql write_lookups(hd_store *s, hd_arena *arena) {
  hd_rows rows;
  uint64_t before = hd_memory_shortages();
  json_t *uses = json_pack("[{s:s, s:s, s:i, s:b}]", "product", "a product of some length", "class",
                           "a class", "count", 7, "missed", 1);
  hd_sql done = uses && hd_memory_shortages() == before ? hd_store_begin(s) : hd_store_no_memory(s);
  if (done == HD_SQL_OK)
    done = hd_store_run(s, HD_Q_lookup_add, arena, &rows, "j", uses);
  if (done == HD_SQL_OK)
    done = hd_store_commit(s);
  hd_store_rollback(s);
  json_decref(uses);
  return done;
}

heddle_status memory_store(heddle_context *ctx, hd_hash *out) {
  hd_store *s = NULL;
  hd_arena arena = {0};
  hd_rows rows;
  uint64_t before = hd_memory_shortages();
  HD_TRY(hd_store_open(ctx, "sqlite::memory:", &s));
  heddle_status status = hd_store_migrate(ctx, s, 0);
  if (status == HEDDLE_OK && (write_lookups(s, &arena) != HD_SQL_OK ||
                              hd_store_run(s, HD_Q_missed_most, &arena, &rows, "") != HD_SQL_OK))
    status = hd_store_failed(ctx, s);
  if (status != HEDDLE_OK) /* a success must be complete, also with shortages counted */
    status = hd_memory_status(ctx, before, status);
  for (int i = 0; status == HEDDLE_OK && i < rows.n; i++)
    for (int j = 0; j < rows.n_cols; j++) {
      const char *text = hd_cell_text(&rows, i, j);
      *out = hd_hash_combine(*out, hd_hash_bytes(text, strlen(text)));
    }
  hd_store_close(s);
  hd_arena_free(&arena);
  return status;
}
