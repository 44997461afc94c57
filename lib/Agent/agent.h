/* Agent/agent.h: an agent for one GPU: it claims work from heddled, runs `heddle tune lease` in a
 * child process, and sends the measurements (docs/service.md). It opens no port. Candidates run in
 * a grandchild process, and the child validates everything from the server. */
#ifndef HD_AGENT_H
#define HD_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/context.h"

/* Zero-initialise. Strings are borrowed. */
typedef struct hd_agent_options {
  const char *server, *token, *ca; /* as hd_http_options */
  const char *heddle;              /* the tool that measures */
  const char *state;               /* folder of the spool, used by one agent only */
  const char *locks;               /* folder of the GPU locks, shared by all agents of the host */
  const char *name;                /* "HOST/PID", for people */
  const char *device_class;        /* NULL: name and power limit, as "NVIDIA H200 700W" */
  unsigned gpu;                    /* NVML's index of the GPU */
  const char *nvml;                /* NVML's library; NULL: the driver's */
  const char *scripted; /* no GPU: computed times of the class "scripted:…"; NULL: measure */
  const char *scripted_options;              /* for `heddle tune scripted`; NULL: none */
  const char *cache, *ptxas;                 /* as in `heddle tune`; NULL: its defaults */
  int64_t jobs;                              /* processes that compile in advance */
  int64_t memory_mib;                        /* memory limit of a measuring process; 0: none */
  int64_t deadline_s;                        /* time limit of a candidate; 0: 30 */
  int64_t most_leases;                       /* ends after this many leases; 0: never */
  bool no_wait;                              /* also ends when there is no work */
  bool (*stop)(void *user);                  /* true: release the job and end */
  void (*log)(void *user, const char *line); /* a JSON line per event */
  void *user;
} hd_agent_options;

/* Works until it is told to stop, and then returns HEDDLE_OK. HEDDLE_ENVIRONMENT if it cannot
 * start: no GPU, no folder, a spool that another agent uses, or a heddle that does not run.
 * HEDDLE_INVALID for a refused server or token. */
heddle_status hd_agent_run(heddle_context *ctx, const hd_agent_options *options);

#endif
