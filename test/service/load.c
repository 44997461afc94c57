/* service-load: one side of a comparison, for run_load. Prints "COUNT SECONDS" of completed work.
 *
 *   cycles-bare STORE CLIENTS SECONDS   claim, one record, finish: the service's own statements and
 *                                       transactions on one connection per client, nothing else
 *   cycles-http SOCKET CLIENTS SECONDS  the same through heddled
 *   rows-bare, rows-http                batches of 64 measurements of one lease
 *   wait-http SOCKET CLIENTS SECONDS    claims that wait; prints "waiting" when all of them do
 *
 * Enough jobs of class load must exist. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "Store/store.h"
#include "Support/file.h"
#include "Support/strbuf.h"

enum { BATCH = 64 };

typedef struct client {
  const char *where;
  int index;
  double until;
  bool (*step)(struct client *c);
  long long n, n_done;
  hd_store *store;
  int fd;
  long long lease;
  hd_strbuf heard;
  bool failed;
} client;

static const char schedule[] =
    "family=wgmma tile=128x64x64 warps=4x1 stages=6 cluster=1 multicast=b a=desc b=auto split_k=1";

static const char race[] =
    "{\"mode\":\"interleaved\",\"contenders\":[{\"schedule\":\"tile=128x128\",\"role\":\"default\","
    "\"rounds_us\":[10,10.1,10.2,10.1,10,10.1,10.2,10.1,10]},{\"schedule\":\"tile=128x64\","
    "\"role\":"
    "\"candidate\",\"rounds_us\":[9,9.1,9.2,9.1,9,9.1,9.2,9.1,9],\"cubin\":\"ab12\"}]}";

/* ---- bare ---- */

#define RUN(c, query, rows, ...)                                                                   \
  (hd_store_run((c)->store, HD_Q_##query, &arena, (rows), __VA_ARGS__) == HD_SQL_OK)

/* The statements of a POST /v1/leases that finds a job. */
static bool claim_bare(client *c) {
  hd_arena arena = {0};
  hd_rows rows, job;
  char request[64], device[32];
  snprintf(request, sizeof request, "load-%d-%d-%lld", getpid(), c->index, c->n);
  snprintf(device, sizeof device, "LOAD-%d", c->index);
  bool ok =
      hd_store_begin(c->store) == HD_SQL_OK && RUN(c, lease_of_request, &rows, "t", request) &&
      RUN(c, device_seen, &rows, "ttttttt", device, "H200", "load", "580", "load:1", "b1", "0") &&
      RUN(c, lease_of_device, &rows, "t", device) && RUN(c, job_next, &job, "t", "load") &&
      job.n == 1;
  long long id = ok ? hd_cell_int(&job, 0, 0) : 0;
  ok = ok && RUN(c, lease_add, &rows, "itttttti", (int64_t)id, request, "", device, "load:1", "b1",
                 "{\"device\":{\"name\":\"NVIDIA H200\"}}", (int64_t)30000);
  c->lease = ok ? hd_cell_int(&rows, 0, 0) : 0;
  ok = ok && RUN(c, job_lease, &rows, "ii", (int64_t)id, (int64_t)c->lease) &&
       RUN(c, head_get, &rows, "ttt", hd_cell_text(&job, 0, 1), "load", "default") &&
       hd_store_commit(c->store) == HD_SQL_OK;
  hd_arena_free(&arena);
  return ok;
}

static json_t *batch_of(long long first, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(list, json_pack("{sI, ss, ss, sf, sf, sf, sf, sf, si}", "seq",
                                          (json_int_t)(first + i), "schedule", schedule, "verdict",
                                          "ok", "us", 9.5, "us_min", 9.4, "us_max", 9.7,
                                          "predicted_us", 9.9, "error", 1e-4, "sm_mhz", 1755));
  return list;
}

static bool measure_bare(client *c, long long first, int n) {
  hd_arena arena = {0};
  hd_rows rows;
  json_t *list = batch_of(first, n);
  bool ok = RUN(c, lease_get, &rows, "i", (int64_t)c->lease) &&
            RUN(c, measurement_add, &rows, "ji", list, (int64_t)c->lease);
  json_decref(list);
  hd_arena_free(&arena);
  return ok;
}

/* The statements of a POST …/finish that makes a new choice. */
static bool finish_bare(client *c) {
  hd_arena arena = {0};
  hd_rows rows, lease, last;
  bool ok = hd_store_begin(c->store) == HD_SQL_OK &&
            RUN(c, lease_get, &lease, "i", (int64_t)c->lease) &&
            RUN(c, measurement_count, &rows, "i", (int64_t)c->lease) &&
            RUN(c, canaries, &rows, "t", hd_cell_text(&lease, 0, 3)) &&
            RUN(c, lease_end, &rows, "it", (int64_t)c->lease, "done") && rows.n == 1;
  const char *product = ok ? hd_cell_text(&lease, 0, 8) : "";
  ok = ok && RUN(c, job_end, &rows, "itt", hd_cell_int(&lease, 0, 1), "done", NULL) &&
       RUN(c, serial_next, &rows, "") &&
       RUN(c, version_last, &last, "ttt", product, "load", "default");
  int64_t serial = ok ? hd_cell_int(&rows, 0, 0) : 0,
          version = ok ? hd_cell_int(&last, 0, 0) + 1 : 0;
  ok = ok && RUN(c, head_get, &rows, "ttt", product, "load", "default") &&
       RUN(c, rejections, &rows, "ttti", product, "load", "default", serial) &&
       RUN(c, race_add, &rows, "itttttttiiiiiit", (int64_t)c->lease, product, "load", "default",
           "LOAD", "b1", NULL, "new", (int64_t)0, version, serial, (int64_t)400, (int64_t)20,
           (int64_t)0, race) &&
       RUN(c, choice_add, &rows, "tttittddtttttit", product, "load", "default", version,
           "tile=128x64", "tile=128x128", 9.1, 10.1, "interleaved", "NVIDIA H200", "580", "b1",
           "ab12", (int64_t)c->lease, "race") &&
       RUN(c, head_set, &rows, "tttiii", product, "load", "default", version, serial, (int64_t)0) &&
       RUN(c, event_add, &rows, "ttiit", "chosen", "", (int64_t)1, (int64_t)c->lease,
           "a sentence") &&
       RUN(c, head_get, &rows, "ttt", product, "load", "default") &&
       hd_store_commit(c->store) == HD_SQL_OK;
  hd_arena_free(&arena);
  return ok;
}

static bool cycle_bare(client *c) {
  c->n_done = 1;
  return claim_bare(c) && measure_bare(c, 0, 1) && finish_bare(c);
}

static bool rows_bare(client *c) {
  c->n_done = BATCH;
  return (c->lease || claim_bare(c)) && measure_bare(c, c->n, BATCH);
}

/* ---- through heddled ---- */

static bool http(client *c, const char *path, const char *body, int *status) {
  char head[256], piece[16384];
  int n = snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   path, strlen(body));
  hd_strbuf out = {0};
  hd_strbuf_addn(&out, head, (size_t)n);
  hd_strbuf_add(&out, body);
  bool ok = write(c->fd, out.text, out.len) == (ssize_t)out.len;
  hd_strbuf_free(&out);
  c->heard.len = 0;
  while (ok) {
    ssize_t got = read(c->fd, piece, sizeof piece);
    ok = got > 0;
    if (!ok)
      break;
    hd_strbuf_addn(&c->heard, piece, (size_t)got);
    const char *end = strstr(c->heard.text, "\r\n\r\n");
    const char *length = strcasestr(c->heard.text, "content-length:");
    size_t body_bytes = length ? strtoul(length + 15, NULL, 10) : 0;
    if (end && c->heard.len >= (size_t)(end - c->heard.text) + 4 + body_bytes)
      break;
  }
  *status = ok ? atoi(c->heard.text + 9) : 0;
  return ok;
}

static bool claim_http(client *c, int wait_s) {
  char body[600];
  int status;
  snprintf(body, sizeof body,
           "{\"request\":\"load-%d-%d-%lld\",\"agent\":\"load:1\",\"device\":{\"uuid\":\"LOAD-%d\","
           "\"name\":\"NVIDIA H200\",\"class\":\"load\",\"driver\":\"580\"},\"build\":{\"version\":"
           "\"0.1.0\",\"sources\":\"b1\"},\"wait_s\":%d}",
           getpid(), c->index, c->n, c->index, wait_s);
  bool ok = http(c, "/v1/leases", body, &status);
  const char *lease = ok ? strstr(c->heard.text, "\"lease\":") : NULL;
  c->lease = lease ? atoll(lease + 8) : 0;
  return ok && (wait_s || status == 201);
}

static bool post(client *c, const char *what, const char *body, int wanted) {
  char path[64];
  int status;
  snprintf(path, sizeof path, "/v1/leases/%lld/%s", c->lease, what);
  return http(c, path, body, &status) && status == wanted;
}

static bool measure_http(client *c, long long first, int n) {
  json_t *body = json_pack("{so}", "measurements", batch_of(first, n));
  char *text = json_dumps(body, JSON_COMPACT);
  bool ok = post(c, "measurements", text, 204);
  free(text);
  json_decref(body);
  return ok;
}

static bool cycle_http(client *c) {
  char body[1200];
  c->n_done = 1;
  snprintf(
      body, sizeof body,
      "{\"outcome\":\"done\",\"measurements\":1,\"n_legal\":400,\"n_measured\":20,\"race\":%s}",
      race);
  return claim_http(c, 0) && measure_http(c, 0, 1) && post(c, "finish", body, 200);
}

static bool rows_http(client *c) {
  c->n_done = BATCH;
  return (c->lease || claim_http(c, 0)) && measure_http(c, c->n, BATCH);
}

static bool wait_http(client *c) {
  c->n_done = 1;
  return claim_http(c, 60);
}

/* ---- clients ---- */

static int connect_to(const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

static void *run(void *user) {
  client *c = user;
  while (!c->failed && hd_clock_seconds() < c->until) {
    c->failed = !c->step(c);
    c->n += c->failed ? 0 : c->n_done;
  }
  return NULL;
}

static const struct {
  const char *name;
  bool (*step)(client *c);
  bool bare;
} modes[] = {{"cycles-bare", cycle_bare, true},
             {"cycles-http", cycle_http, false},
             {"rows-bare", rows_bare, true},
             {"rows-http", rows_http, false},
             {"wait-http", wait_http, false}};

int main(int argc, char **argv) {
  size_t mode = 0;
  while (argc == 5 && mode < HD_COUNT(modes) && strcmp(modes[mode].name, argv[1]) != 0)
    mode++;
  if (argc != 5 || mode == HD_COUNT(modes)) {
    fprintf(stderr, "usage: service-load MODE STORE|SOCKET CLIENTS SECONDS\n");
    return 2;
  }
  int n = atoi(argv[3]), failed = 0;
  long long total = 0;
  struct rlimit limit = {65536, 65536};
  setrlimit(RLIMIT_NOFILE, &limit);
  client *list = calloc((size_t)n, sizeof *list);
  pthread_t *thread = calloc((size_t)n, sizeof *thread);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  for (int i = 0; i < n; i++) {
    list[i] = (client){.where = argv[2], .index = i, .step = modes[mode].step};
    list[i].fd = modes[mode].bare ? -1 : connect_to(argv[2]);
    if (modes[mode].bare ? hd_store_open(NULL, argv[2], &list[i].store) != HEDDLE_OK
                         : list[i].fd < 0) {
      fprintf(stderr, "cannot connect to %s\n", argv[2]);
      return 4;
    }
  }
  double begun = hd_clock_seconds();
  for (int i = 0; i < n; i++) {
    list[i].until = begun + atof(argv[4]);
    pthread_create(&thread[i], &attributes, run, &list[i]);
  }
  for (int i = 0; i < n; i++) {
    pthread_join(thread[i], NULL);
    total += list[i].n;
    failed += list[i].failed;
    if (list[i].failed)
      fprintf(stderr, "client %d: %s\n", i,
              list[i].store ? hd_store_error(list[i].store) : hd_strbuf_text(&list[i].heard));
    hd_store_close(list[i].store);
  }
  printf("%lld %.3f\n", total, hd_clock_seconds() - begun);
  return failed ? 1 : 0;
}
