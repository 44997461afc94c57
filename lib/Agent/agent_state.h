/* Agent/agent_state.h: what the parts of an agent share. */
#ifndef HD_AGENT_STATE_H
#define HD_AGENT_STATE_H

#include "Agent/agent.h"
#include "Agent/agent_device.h"
#include "Agent/spool.h"

typedef struct hd_agent {
  const hd_agent_options *o;
  hd_http *http;
  hd_journal *spool;
  hd_agent_device device;
  json_t *build;    /* `build` of a claim; owned */
  char *claim_path; /* owned: the file that says what was asked for last */
  bool polling;     /* an exchange may be given up when it is told to stop: no other */
  double wait_s;    /* before the next try of what did not work; 0: it works */
  double send_at;   /* when the spool is tried again, on the monotonic clock */
} hd_agent;

static const double HD_ANSWER_S = 5; /* a request waits so long for its answer */

bool hd_agent_is_stopped(const hd_agent *agent);
/* One line: {"event": EVENT, …}; fields (may be NULL) is consumed. */
void hd_agent_log(const hd_agent *agent, const char *event, json_t *fields);
/* The time to wait before the next try: doubles, to a minute; at least what the answer asks for. */
double hd_agent_back_off(hd_agent *agent, const hd_http_answer *answer);
/* Sends what the spool has, until it is empty, the server is away, or the time is up. Logs what the
 * server says to the end of a job. *finished (may be NULL): it took an end of this lease, or
 * refused it. */
heddle_status hd_agent_send(heddle_context *ctx, hd_agent *agent, double until, int64_t lease,
                            bool *finished);

/* ---- one lease (lease.c) ---- */

/* Does the job of a lease (borrowed) that was asked for at that time, and ends it: finished,
 * released or lost. HEDDLE_ENVIRONMENT when the spool's file cannot be used. */
heddle_status hd_lease_work(heddle_context *ctx, hd_agent *agent, const json_t *lease,
                            double asked_at);
/* Gives a job back, trying until then. */
void hd_lease_release(hd_agent *agent, int64_t lease, const char *why, const char *text,
                      double until);

#endif
