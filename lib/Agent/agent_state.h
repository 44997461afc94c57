/* Agent/agent_state.h: shared by the parts of an agent. */
#ifndef HD_AGENT_STATE_H
#define HD_AGENT_STATE_H

#include "Agent/agent.h"
#include "Agent/agent_device.h"
#include "Agent/spool.h"
#include "Support/child.h"

typedef struct hd_agent {
  const hd_agent_options *o;
  hd_http *http;
  hd_journal *spool;
  hd_agent_device device;
  json_t *build;    /* `build` of a claim; owned */
  char *claim_path; /* owned: file with the last claim */
  hd_child tuner;   /* between leases it waits for the next one; pid 0: none */
  const char *policy; /* of the tuner */
  bool polling;     /* the current request is aborted when the agent is told to stop */
  double wait_s;    /* delay before the next retry; 0: no failure so far */
  double send_at;   /* next time to send the spool, on the monotonic clock */
} hd_agent;

static const double HD_ANSWER_S = 5; /* time limit for the answer to a request */

/* A string of a JSON object, borrowed from it; "" if there is none. */
const char *hd_agent_string(const json_t *object, const char *field);
bool hd_agent_is_stopped(const hd_agent *agent);
/* Logs a line {"event": EVENT, …}; fields (may be NULL) is consumed. */
void hd_agent_log(const hd_agent *agent, const char *event, json_t *fields);
/* The delay before the next retry: doubles up to a minute; at least the answer's Retry-After. */
double hd_agent_back_off(hd_agent *agent, const hd_http_answer *answer);
/* Sends the contents of the spool until it is empty, the server does not answer, or the time is up.
 * Logs the answers to ends of jobs. *finished (may be NULL): set if the server accepted or refused
 * the end of this lease. */
heddle_status hd_agent_send(heddle_context *ctx, hd_agent *agent, double until, int64_t lease,
                            bool *finished);

/* ---- the tuner (tuner.c) ---- */

bool hd_tuner_knows(const char *policy);
/* Gives the tuner a lease (borrowed) with a known policy. Starts it, unless it waits for one. */
heddle_status hd_tuner_begin(heddle_context *ctx, hd_agent *agent, const json_t *lease);
/* Ends the tuner and its processes, so that the GPU is free. Accepts that there is none. */
void hd_tuner_stop(hd_agent *agent);

/* ---- one lease (lease.c) ---- */

/* Does the job of a lease (borrowed), claimed at asked_at, and ends the lease: finished, released
 * or lost. HEDDLE_ENVIRONMENT if the spool's file cannot be used. */
heddle_status hd_lease_work(heddle_context *ctx, hd_agent *agent, const json_t *lease,
                            double asked_at);
/* Releases a job; retries until `until`. */
void hd_lease_release(hd_agent *agent, int64_t lease, const char *why, const char *text,
                      double until);

#endif
