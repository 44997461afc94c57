#include "Service/service.h"

#include <sodium.h>

#include "Service/server.h"
#include "Service/service_state.h"
#include "Support/memory.h"

/* Migrates the schema, and reads choices and tokens, before requests are accepted. */
static heddle_status read_all(heddle_context *ctx, hd_service *s) {
  hd_store *store;
  bool changed;
  HD_TRY(hd_store_open(ctx, s->config->store, &store));
  heddle_status status = hd_store_migrate(ctx, store, 0);
  if (status == HEDDLE_OK && (hd_snapshot_refresh(s->snapshot, store, &changed) != HD_SQL_OK ||
                              hd_tokens_refresh(s->tokens, store) != HD_SQL_OK))
    status = hd_store_failed(ctx, store);
  hd_store_close(store);
  return status;
}

static heddle_status start(heddle_context *ctx, hd_service *s) {
  HD_TRY(read_all(ctx, s));
  HD_TRY(hd_config_check(ctx, s->config, hd_tokens_are_required(s->tokens)));
  HD_TRY(hd_workers_start(ctx, s));
  s->store_is_up = true;
  return hd_keeper_start(ctx, s);
}

heddle_status hd_service_start(heddle_context *ctx, const hd_config *config, hd_service **service) {
  if (sodium_init() < 0)
    return HD_BUG(ctx, "libsodium does not start");
  hd_service *s = hd_try_zalloc(ctx, sizeof *s, "the service");
  if (!s)
    return HEDDLE_NO_MEMORY;
  s->config = config;
  s->snapshot = hd_snapshot_create();
  s->tokens = hd_tokens_create(config->rate, config->burst, config->require_tokens != 0);
  s->openapi = hd_openapi_text();
  pthread_mutex_init(&s->waiting_lock, NULL);
  pthread_mutex_init(&s->metrics.lock, NULL);
  s->server = hd_server_create(s);
  heddle_status status = start(ctx, s);
  if (status != HEDDLE_OK) {
    hd_service_stop(s);
    return status;
  }
  *service = s;
  return HEDDLE_OK;
}

heddle_status hd_service_listen(heddle_context *ctx, hd_service *s, int fd) {
  return hd_server_listen(ctx, s->server, fd);
}

void hd_service_stop(hd_service *s) {
  if (!s)
    return;
  hd_server_quiesce(s->server);
  hd_keeper_stop(s); /* answers waiting claims */
  if (s->n_workers)
    hd_workers_stop(s); /* finishes queued requests */
  hd_server_free(s->server);
  hd_snapshot_free(s->snapshot);
  hd_tokens_free(s->tokens);
  hd_free(s->metrics.states);
  hd_free(s->openapi);
  hd_free(s);
}
