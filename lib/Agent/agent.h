/* Agent/agent.h: an agent: it asks heddled for work on one GPU, has `heddle tune lease` do it in a
 * child process, and brings back what was measured (docs/service.md). It opens no port. Whatever a
 * candidate does, it does to a grandchild; whatever the server says is checked by the child. */
#ifndef HD_AGENT_H
#define HD_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/context.h"

/* Zero-initialise. Strings are borrowed. */
typedef struct hd_agent_options {
  const char *server, *token, *ca; /* as hd_http_options */
  const char *heddle;              /* the tool that measures */
  const char *state;               /* folder of the spool: one agent's own */
  const char *locks;               /* folder of the GPUs' locks: shared by all agents of the host */
  const char *name;                /* "HOST/PID", for people */
  const char *device_class;        /* NULL: name and power limit, as "NVIDIA H200 700W" */
  unsigned gpu;                    /* NVML's number of it */
  const char *nvml;                /* NVML's library; NULL: the driver's */
  const char *scripted; /* no GPU: computed figures of the class "scripted:…"; NULL: measure */
  const char *scripted_options;              /* of `heddle tune scripted`; NULL: none */
  const char *cache, *ptxas;                 /* as `heddle tune` has them; NULL: its defaults */
  int64_t jobs;                              /* processes that compile ahead */
  int64_t memory_mib;                        /* that a measuring process may take; 0: no limit */
  int64_t deadline_s;                        /* of a candidate; 0: 30 */
  int64_t most_leases;                       /* then it ends; 0: never */
  bool no_wait;                              /* ends when there is no work, too */
  bool (*stop)(void *user);                  /* true: give the job back and end */
  void (*log)(void *user, const char *line); /* a line of JSON for each thing that happened */
  void *user;
} hd_agent_options;

/* Works until it is told to stop. HEDDLE_OK then; HEDDLE_ENVIRONMENT when it cannot begin: no GPU,
 * no folder, a spool that another agent has, a heddle that does not run; HEDDLE_INVALID for a
 * server or a token that is refused. */
heddle_status hd_agent_run(heddle_context *ctx, const hd_agent_options *options);

#endif
