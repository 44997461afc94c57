/* Service/metrics.h: counters, and their text for Prometheus. */
#ifndef HD_METRICS_H
#define HD_METRICS_H

#include <pthread.h>
#include <stdatomic.h>

#include "Service/request.h"

enum { HD_N_LATENCIES = 8 };

typedef struct hd_metrics {
  struct {
    atomic_ullong answers[6];            /* by the first digit of the status */
    atomic_ullong below[HD_N_LATENCIES]; /* by latency in seconds; the text makes them cumulative */
    atomic_ullong microseconds;
  } route[HD_N_ROUTES];
  atomic_ullong exact, nearest, missed, not_modified, expired_leases, store_failures, reads;
  atomic_int connections;
  pthread_mutex_t lock;
  char *states; /* owned: lines about jobs, which the keeper reads from the database */
} hd_metrics;

void hd_metrics_count(hd_metrics *metrics, const hd_request *r, int status);
/* Stores the rows that the keeper has read: class, state, count. */
void hd_metrics_states(hd_metrics *metrics, const hd_rows *job_states);
/* The metrics as text; owned. */
char *hd_metrics_text(hd_service *service);

#endif
