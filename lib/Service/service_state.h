/* Service/service_state.h: shared by the parts of the service. */
#ifndef HD_SERVICE_STATE_H
#define HD_SERVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "Service/metrics.h"
#include "Service/request.h"
#include "Service/service.h"
#include "Service/snapshot.h"
#include "Service/tokens.h"
#include "Support/diag.h"
#include "Support/file.h"

/* Requests that need the database: readers handle GETs, writers all others. */
typedef struct hd_queue {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  hd_request *first, **last;
  int n;
  bool closed;
} hd_queue;

struct hd_service {
  const hd_config *config;
  hd_snapshot *snapshot;
  hd_tokens *tokens;
  hd_metrics metrics;
  char *openapi; /* owned: /openapi.json */

  hd_queue writes, reads;
  pthread_t worker[128], keeper;
  int n_workers;
  bool keeper_runs;

  pthread_mutex_t waiting_lock;        /* for claims that wait for a job */
  hd_request *waiting, **waiting_last; /* oldest first */
  atomic_int n_waiting;
  int wake[2]; /* a pipe that wakes the keeper */
  atomic_bool jobs_changed, choices_changed, stopping;
  atomic_bool store_is_up;

  struct hd_server *server;
};

/* ---- queue.c: requests that need the database ---- */
bool hd_queue_push(hd_queue *queue, hd_request *r, int max); /* false: the queue is full */
heddle_status hd_workers_start(heddle_context *ctx, hd_service *s);
void hd_workers_stop(hd_service *s);
/* Runs a handler, and ends its transaction. Answers the request, or leaves it waiting. */
void hd_request_run(hd_request *r, hd_store *store);

/* ---- keeper.c: periodic work ---- */
heddle_status hd_keeper_start(heddle_context *ctx, hd_service *s);
void hd_keeper_stop(hd_service *s);

/* ---- waiting.c: claims that wait for a job ---- */
void hd_wait_for_job(hd_request *r); /* for a claim without a job */
/* Removes the claims for which `take` returns true, at most n, oldest first; returns a list. */
hd_request *hd_take_waiting(hd_service *s, bool (*take)(const hd_request *r, const void *user),
                            const void *user, int64_t n);
void hd_keeper_wake(hd_service *s);

/* ---- log.c ---- */
void hd_log_request(const hd_request *r);
void hd_log_text(const hd_service *s, const char *level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- leases.c: also used by the keeper and finish ---- */
bool hd_leases_expire(hd_request *r, int *n);
bool hd_leases_charge(hd_request *r);
bool hd_lease_put_back(hd_request *r, int64_t job, int64_t lease, const char *why,
                       const char **state);
/* Columns of hd_lease_get, which gets the lease of the path, or refuses another token's lease. */
enum {
  HD_LEASE_JOB = 1,
  HD_LEASE_TOKEN = 2,
  HD_LEASE_DEVICE = 3,
  HD_LEASE_BUILD = 4,
  HD_LEASE_ENVIRONMENT = 5,
  HD_LEASE_HOW = 6,
  HD_LEASE_PRODUCT = 8,
  HD_LEASE_CLASS = 9,
  HD_LEASE_POLICY = 10,
  HD_LEASE_STATE = 11
};
bool hd_lease_get(hd_request *r, hd_rows *rows);
bool hd_lease_refuse_ended(hd_request *r, const hd_rows *lease);

/* ---- choices.c: the subject of a choice, and its versions ---- */
typedef struct hd_subject {
  const char *product, *class, *policy;
} hd_subject;
/* Takes the next serial: other changes of choices wait until this transaction ends. */
bool hd_serial_take(hd_request *r, int64_t *serial);
bool hd_version_next(hd_request *r, const hd_subject *subject, int64_t *version);
/* build "": the build of the copied version. */
bool hd_version_copy(hd_request *r, const hd_subject *subject, int64_t of, int64_t version,
                     const char *origin, const char *build);
bool hd_head_get(hd_request *r, const hd_subject *subject, hd_rows *rows);
bool hd_head_set(hd_request *r, const hd_subject *subject, int64_t version, int64_t serial,
                 bool pinned);
json_t *hd_drift_json(const hd_rows *canaries_all);

#endif
