/* heddled serve and heddled check. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "heddled.h"

/* ---- files ---- */

/* Reads the files that the configuration names: TLS and the signing key. A missing key is created
 * if `make`. */
static heddle_status read_files(heddle_context *ctx, setup *s, bool make) {
  size_t n;
  hd_config *c = &s->config;
  if (*c->tls_key)
    HD_TRY(hd_file_read_text(ctx, c->tls_key, &s->tls_key, &n));
  if (*c->tls_cert)
    HD_TRY(hd_file_read_text(ctx, c->tls_cert, &s->tls_cert, &n));
  c->tls_key_pem = s->tls_key;
  c->tls_cert_pem = s->tls_cert;
  hd_strbuf path = {0};
  if (*c->key_file)
    hd_strbuf_add(&path, c->key_file);
  else if (strncmp(c->store, "sqlite:", 7) == 0)
    hd_strbuf_printf(&path, "%s.key", c->store + 7);
  else
    hd_strbuf_add(&path, "heddle.key"); /* PostgreSQL: in the current folder */
  s->key_path = hd_strbuf_take(&path);
  if (access(s->key_path, F_OK) == 0)
    return hd_file_read_bytes(ctx, s->key_path, c->key, sizeof c->key);
  if (!make)
    return HEDDLE_OK;
  mode_t before = umask(077); /* only the owner may read it: it signs for this service */
  hd_key_make(c->key);
  heddle_status status = hd_file_write(ctx, s->key_path, c->key, sizeof c->key);
  umask(before);
  return status;
}

/* ---- serving ---- */

/* Writes a log line to standard error with a single write. */
static void log_line(void *user, const char *line) {
  (void)user;
  fprintf(stderr, "%s\n", line);
}

/* Raises the limit of file descriptors for the maximum number of connections. */
static void raise_limit(int64_t n_connections) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  rlim_t wanted = (rlim_t)n_connections + 256;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur =
        limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

static heddle_status serve_on(heddle_context *ctx, setup *s, const int *fds, int n_fds,
                              const sigset_t *ends) {
  hd_service *service;
  int got;
  heddle_status status = hd_service_start(ctx, &s->config, &service);
  if (status != HEDDLE_OK)
    return status;
  for (int i = 0; i < n_fds && status == HEDDLE_OK; i++)
    status = hd_service_listen(ctx, service, fds[i]);
  if (status == HEDDLE_OK) {
    printf("heddled: %s on %s\n", s->config.listen, s->config.store);
    fflush(stdout);
    sigwait(ends, &got);
  }
  hd_service_stop(service);
  return status;
}

heddle_status command_serve(heddle_context *ctx, setup *s) {
  int fds[MAX_LISTEN], n_fds = 0;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, NULL); /* all threads inherit the mask */
  signal(SIGPIPE, SIG_IGN);
  s->config.log = log_line;
  raise_limit(s->config.max_connections);
  HD_TRY(read_files(ctx, s, true));
  HD_TRY(listen_all(ctx, s->config.listen, fds, &n_fds));
  return serve_on(ctx, s, fds, n_fds, &ends);
}

/* ---- checking ---- */

/* Checks everything that serving checks, without writing to the database. */
heddle_status command_check(heddle_context *ctx, setup *s) {
  hd_store *store;
  json_t *tokens;
  HD_TRY(read_files(ctx, s, false));
  HD_TRY(hd_store_open(ctx, s->config.store, &store));
  size_t n_tokens = 0;
  heddle_context *quiet = heddle_context_create(); /* there are no tables before the first start */
  if (hd_token_list(quiet, store, &tokens) == HEDDLE_OK) {
    n_tokens = json_array_size(tokens);
    json_decref(tokens);
  }
  heddle_context_free(quiet);
  hd_store_close(store);
  HD_TRY(hd_config_check(ctx, &s->config, n_tokens > 0));
  printf("the configuration is valid: %s on %s, %zu tokens, key %s\n", s->config.listen,
         s->config.store, n_tokens, s->key_path);
  return HEDDLE_OK;
}
