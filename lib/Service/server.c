#include "Service/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Service/service_state.h"
#include "Support/hash.h"
#include "Support/memory.h"

enum { MAX_SOCKETS = 8, SWALLOW_BYTES = 16 << 20, CONNECTION_BYTES = 8192 };

/* A connection; `since`: start of the current wait for a complete request. */
typedef struct connection {
  struct connection *next, **to_this;
  int fd;
  size_t uri_bytes; /* of the request that is being received */
  atomic_bool busy;
  _Atomic double since;
} connection;

struct hd_server {
  hd_service *service;
  struct MHD_Daemon *daemon[MAX_SOCKETS];
  int listening[MAX_SOCKETS];
  int n;
  pthread_mutex_t lock; /* for connections and the creation of responses */
  connection *connections;
  atomic_ullong n_requests;
  uint64_t boot;
};

/* The state of a request besides its answer; n: bytes of the body, including discarded ones. */
typedef struct incoming {
  hd_request request; /* must be first: both are freed together */
  char *body;         /* owned */
  size_t n, cap;
  bool runs; /* passed to a worker */
} incoming;

/* ---- connections ---- */

static void forget(hd_server *server, connection *c) {
  pthread_mutex_lock(&server->lock);
  *c->to_this = c->next;
  if (c->next)
    c->next->to_this = c->to_this;
  pthread_mutex_unlock(&server->lock);
  hd_free(c);
}

static void on_connection(void *user, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code) {
  hd_server *server = user;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    server->service->metrics.connections--;
    forget(server, *context);
    return;
  }
  connection *c = hd_xzalloc(sizeof *c);
  c->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  c->since = hd_clock_seconds();
  pthread_mutex_lock(&server->lock);
  c->next = server->connections;
  c->to_this = &server->connections;
  if (c->next)
    c->next->to_this = &c->next;
  server->connections = c;
  pthread_mutex_unlock(&server->lock);
  *context = c;
  server->service->metrics.connections++;
}

static connection *connection_of(struct MHD_Connection *mhd) {
  return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void mark(struct MHD_Connection *mhd, bool busy) {
  connection *c = connection_of(mhd);
  c->busy = busy;
  c->since = hd_clock_seconds();
}

void hd_server_cut_slow(hd_service *s) {
  double before = hd_clock_seconds() - (double)s->config->timeout_s;
  pthread_mutex_lock(&s->server->lock);
  for (connection *c = s->server->connections; c; c = c->next)
    if (!c->busy && c->since < before)
      shutdown(c->fd, SHUT_RDWR); /* the library then closes the connection */
  pthread_mutex_unlock(&s->server->lock);
}

/* ---- answers ---- */

static struct MHD_Response *with_headers(struct MHD_Response *response, const char *type) {
  if (type)
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (type && strncmp(type, "text/html", 9) == 0) {
    MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  }
  return response;
}

static void free_native(void *native) {
  MHD_destroy_response(native);
}

/* The response object of a shared answer, created once. */
static struct MHD_Response *native_of(hd_server *server, hd_shared_text *shared) {
  pthread_mutex_lock(&server->lock);
  if (!shared->native) {
    struct MHD_Response *made = with_headers(
        MHD_create_response_from_buffer_with_free_callback(shared->n, shared->text, hd_free),
        shared->type);
    if (*shared->etag)
      MHD_add_response_header(made, MHD_HTTP_HEADER_ETAG, shared->etag);
    MHD_add_response_header(made, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    shared->free_native = free_native;
    shared->native = made;
  }
  pthread_mutex_unlock(&server->lock);
  return shared->native;
}

static enum MHD_Result send_shared(hd_request *r) {
  hd_server *server = r->service->server;
  hd_shared_text *shared = r->shared;
  const char *known =
      MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
  if (!known || !*shared->etag || !strstr(known, shared->etag))
    return MHD_queue_response(r->connection, (unsigned)r->status, native_of(server, shared));
  struct MHD_Response *empty = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(empty, MHD_HTTP_HEADER_ETAG, shared->etag);
  r->status = 304;
  server->service->metrics.not_modified++;
  enum MHD_Result sent = MHD_queue_response(r->connection, 304, empty);
  MHD_destroy_response(empty);
  return sent;
}

static enum MHD_Result send_answer(hd_request *r) {
  if (r->shared)
    return send_shared(r);
  struct MHD_Response *response = with_headers(
      MHD_create_response_from_buffer(r->n_text, r->text ? r->text : "",
                                      r->text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT),
      r->type);
  r->text = NULL;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (r->header_value)
    MHD_add_response_header(response, r->header_name, r->header_value);
  if (r->status == 401) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic realm=\"heddle\"");
  }
  enum MHD_Result sent = MHD_queue_response(r->connection, (unsigned)r->status, response);
  MHD_destroy_response(response);
  return sent;
}

/* ---- the head of a request ---- */

static hd_handler *const handlers[HD_N_ROUTES] = {
#define ROUTE(name, ...) [HD_ROUTE_##name] = hd_route_##name,
#define QUERY(...)
#include "Interface/routes.def"
};

/* Gets the address as it was sent. The library calls this before the rest of the head is read. */
static void *on_uri(void *user, const char *uri, struct MHD_Connection *mhd) {
  (void)user;
  connection_of(mhd)->uri_bytes = strlen(uri);
  return NULL; /* on_request creates the request's context */
}

static bool uri_is_legal(hd_request *r) {
  size_t n_bytes = connection_of(r->connection)->uri_bytes;
  return n_bytes <= HD_MAX_URI_BYTES ||
         hd_refuse(r, HD_RULE_URI_SIZE, "path", hd_arena_printf(&r->arena, "%zu bytes", n_bytes),
                   hd_arena_printf(&r->arena, "at most %d bytes", HD_MAX_URI_BYTES), NULL);
}

typedef struct pairs {
  const char *list[HD_MAX_QUERY + 1][2];
  int n;
} pairs;

static enum MHD_Result add_pair(void *user, enum MHD_ValueKind kind, const char *key,
                                const char *value) {
  pairs *p = user;
  (void)kind;
  if (p->n <= HD_MAX_QUERY) {
    p->list[p->n][0] = key;
    p->list[p->n++][1] = value ? value : "";
  }
  return MHD_YES;
}

static const char *header(hd_request *r, const char *name) {
  return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* Checks everything that does not need the body. */
static bool head_is_legal(hd_request *r) {
  const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
  const char *type = header(r, MHD_HTTP_HEADER_CONTENT_TYPE);
  pairs query = {.n = 0};
  hd_problem problem;
  if (!hd_tokens_identify(r->service->tokens, r, header(r, MHD_HTTP_HEADER_AUTHORIZATION)) ||
      !hd_tokens_spend(r->service->tokens, r))
    return false;
  if (length && strtoull(length, NULL, 10) > r->route->max_body)
    return hd_refuse(r, HD_RULE_BODY_SIZE, "Content-Length", length,
                     hd_arena_printf(&r->arena, "at most %zu bytes", r->route->max_body), NULL);
  if (hd_route_has_body(r->route) && (!type || strncasecmp(type, "application/json", 16) != 0))
    return hd_refuse(r, HD_RULE_BODY_TYPE, "Content-Type", type, "application/json",
                     "application/json");
  MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, add_pair, &query);
  return hd_validate_query(&r->arena, r->route, query.list, query.n, &r->query, &problem) ||
         hd_refuse_problem(r, &problem);
}

static incoming *receive(hd_server *server, struct MHD_Connection *mhd, const char *method,
                         const char *url) {
  const char *other;
  incoming *in = hd_xzalloc(sizeof *in);
  hd_request *r = &in->request;
  r->service = server->service;
  r->connection = mhd;
  r->begun = hd_clock_seconds();
  snprintf(r->id, sizeof r->id, "%016llx",
           (unsigned long long)hd_hash_mix(server->boot + server->n_requests++));
  if (!uri_is_legal(r))
    return in;
  r->route = hd_route_find(method, url, r->path, &other);
  if (r->route) {
    r->run = handlers[r->route->id];
    head_is_legal(r);
  } else if (*other) {
    hd_refuse(r, HD_RULE_ROUTE_METHOD, "method", method, other, NULL);
    hd_answer_header(r, "Allow", "%s", other);
  } else {
    hd_refuse(r, HD_RULE_ROUTE_UNKNOWN, "path", url, "the paths of /openapi.json", NULL);
  }
  return in;
}

/* ---- the body ---- */

/* Receives a part of the body. False: close the connection. */
static bool take(incoming *in, const char *data, size_t n) {
  hd_request *r = &in->request;
  size_t most = r->route ? r->route->max_body : 0;
  if (hd_clock_seconds() - r->begun > (double)r->service->config->timeout_s)
    return false;
  if (in->n + n > most && r->status == 0)
    hd_refuse(r, HD_RULE_BODY_SIZE, "body", hd_arena_printf(&r->arena, "more than %zu bytes", most),
              hd_arena_printf(&r->arena, "at most %zu bytes", most), NULL);
  if (r->status == 0) {
    if (in->n + n + 1 > in->cap) {
      size_t old = in->cap;
      in->cap = 2 * in->cap > in->n + n ? 2 * in->cap : in->n + n + 1;
      in->body = hd_xrealloc(in->body, old, in->cap);
    }
    memcpy(in->body + in->n, data, n);
    in->body[in->n + n] = '\0';
  }
  in->n += n;
  return in->n <= SWALLOW_BYTES;
}

static bool parse(incoming *in) {
  hd_request *r = &in->request;
  json_error_t error;
  hd_problem problem;
  r->body = json_loadb(in->body ? in->body : "", in->n, JSON_REJECT_DUPLICATES, &error);
  hd_free(in->body);
  in->body = NULL;
  if (!r->body)
    return hd_refuse(r, HD_RULE_BODY_JSON,
                     hd_arena_printf(&r->arena, "line %d, column %d", error.line, error.column),
                     error.text, "one JSON object, every name once", NULL);
  return hd_validate(&r->arena, r->route->body, r->body, &problem) ||
         hd_refuse_problem(r, &problem);
}

/* Measurements are passed on as text: as it came if all of it is usual, else written anew. */
static bool read_measurements(incoming *in) {
  hd_request *r = &in->request;
  if (in->body && hd_scan(r->route->body, in->body, in->n, &r->n_rows)) {
    r->raw = in->body;
    in->body = NULL;
    return true;
  }
  if (!parse(in))
    return false;
  const json_t *list = json_object_get(r->body, "measurements");
  r->raw = json_dumps(list, JSON_COMPACT);
  r->n_rows = json_array_size(list);
  return true;
}

static bool read_body(incoming *in) {
  const hd_route *route = in->request.route;
  return !hd_route_has_body(route) ||
         (route->id == HD_ROUTE_measure ? read_measurements(in) : parse(in));
}

/* ---- one request ---- */

/* Handles a complete request: answers it at once, or passes it to a worker. */
static enum MHD_Result begin(incoming *in) {
  hd_request *r = &in->request;
  hd_service *s = r->service;
  if (r->status != 0 || !read_body(in))
    return send_answer(r);
  if (hd_route_is_in_memory(r->route) && r->route->id != HD_ROUTE_choices) {
    r->run(r);
    return send_answer(r);
  }
  in->runs = true;
  MHD_suspend_connection(r->connection);
  hd_queue *queue = strcmp(r->route->method, "GET") == 0 ? &s->reads : &s->writes;
  if (!hd_queue_push(queue, r, (int)s->config->max_queue)) {
    hd_refuse(r, HD_RULE_SERVER_BUSY, NULL, NULL, NULL, NULL);
    hd_request_resume(r);
  }
  return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *n_data, void **context) {
  hd_server *server = user;
  incoming *in = *context;
  (void)version;
  if (!in) {
    mark(mhd, true);
    in = *context = receive(server, mhd, method, url);
    /* a refused request is read to its end, so that the client sees the answer, unless it is too
     * long */
    const char *length = header(&in->request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool endless = length && strtoull(length, NULL, 10) > SWALLOW_BYTES;
    return endless && in->request.status ? send_answer(&in->request) : MHD_YES;
  }
  if (*n_data) {
    bool goes_on = take(in, data, *n_data);
    *n_data = 0;
    return goes_on ? MHD_YES : MHD_NO;
  }
  return in->runs ? send_answer(&in->request) : begin(in);
}

static void on_completed(void *user, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode code) {
  hd_server *server = user;
  incoming *in = *context;
  (void)code;
  mark(mhd, false);
  if (!in)
    return;
  hd_metrics_count(&server->service->metrics, &in->request, in->request.status);
  hd_log_request(&in->request);
  hd_free(in->body);
  hd_request_free(&in->request);
  *context = NULL;
}

/* ---- the server ---- */

hd_server *hd_server_create(hd_service *service) {
  hd_server *server = hd_xzalloc(sizeof *server);
  server->service = service;
  server->boot = hd_hash_bytes(service->config->key, sizeof service->config->key).lo ^
                 (uint64_t)(hd_clock_seconds() * 1e9);
  pthread_mutex_init(&server->lock, NULL);
  return server;
}

heddle_status hd_server_listen(heddle_context *ctx, hd_server *server, int fd) {
  const hd_config *c = server->service->config;
  bool tls = c->tls_key_pem && c->tls_cert_pem;
  unsigned flags =
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0);
  struct MHD_OptionItem secure[] = {
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)c->tls_key_pem},
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)c->tls_cert_pem},
      {MHD_OPTION_END, 0, NULL}};
  if (server->n == MAX_SOCKETS)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                    "got more than %d addresses; legal: at most %d", MAX_SOCKETS, MAX_SOCKETS);
  struct MHD_Daemon *d = MHD_start_daemon(
      flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
      MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
      on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_uri, server,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)c->max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
      (unsigned)c->max_connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)c->timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
      MHD_OPTION_ARRAY, tls ? secure : &secure[2], MHD_OPTION_END);
  if (!d) {
    close(fd);
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "service.start",
                    "the HTTP library does not start%s",
                    tls ? "; legal: a key and certificate in PEM" : "");
  }
  server->daemon[server->n] = d;
  server->listening[server->n++] = fd;
  return HEDDLE_OK;
}

void hd_server_quiesce(hd_server *server) {
  for (int i = 0; i < server->n; i++)
    MHD_quiesce_daemon(server->daemon[i]);
}

void hd_server_free(hd_server *server) {
  if (!server)
    return;
  for (int i = 0; i < server->n; i++) {
    MHD_stop_daemon(server->daemon[i]);
    close(server->listening[i]);
  }
  pthread_mutex_destroy(&server->lock);
  hd_free(server);
}
