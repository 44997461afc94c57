/* The child process that tunes: `heddle tune lease`. It stays for the next lease of the same
 * policy, because its measuring process holds a CUDA context: to start one takes as long as some
 * jobs, and longer if the agents of other GPUs do the same. */
#include <string.h>

#include "Agent/agent_state.h"
#include "Support/arena.h"
#include "Support/diag.h"

/* The tuner's options for each policy. */
static const struct policy {
  const char *name;
  const char *options[6]; /* ends with NULL */
} policies[] = {{"default", {NULL}},
                {"quick", {"--top", "8", "--finalists", "2", "--no-sustained"}},
                {"thorough", {"--top", "256", "--finalists", "12"}}};

static const struct policy *policy_named(const char *name) {
  for (size_t i = 0; i < HD_COUNT(policies); i++)
    if (strcmp(policies[i].name, name) == 0)
      return &policies[i];
  return NULL;
}

bool hd_tuner_knows(const char *policy) { return policy_named(policy) != NULL; }

/* ---- the command line ---- */

enum { MAX_WORDS = 64, NUMBERS = 3 };

typedef struct words {
  const char *list[MAX_WORDS];
  int n;
  char number[NUMBERS][32];
  hd_strbuf worker;
} words;

static void add_word(words *w, const char *option, const char *value) {
  if (!value)
    return;
  w->list[w->n++] = option;
  w->list[w->n++] = value;
}

static void add_number(words *w, int slot, const char *option, int64_t value) {
  snprintf(w->number[slot], sizeof w->number[slot], "%lld", (long long)value);
  add_word(w, option, w->number[slot]);
}

static heddle_status start(heddle_context *ctx, hd_agent *agent, const struct policy *policy) {
  const hd_agent_options *o = agent->o;
  words argv = {.list = {o->heddle, "tune", "lease"}, .n = 3};
  add_number(&argv, 0, "--jobs", o->jobs);
  add_number(&argv, 1, "--memory", o->memory_mib);
  add_number(&argv, 2, "--deadline", o->deadline_s ? o->deadline_s : 30);
  add_word(&argv, "--cache", o->cache);
  add_word(&argv, "--ptxas", o->ptxas);
  add_word(&argv, "--gpu", o->scripted ? NULL : agent->device.is.uuid);
  if (o->scripted) {
    hd_strbuf_printf(&argv.worker, "%s tune scripted %s", o->heddle,
                     o->scripted_options ? o->scripted_options : "");
    add_word(&argv, "--worker", hd_strbuf_text(&argv.worker));
  }
  for (int i = 0; policy->options[i]; i++)
    argv.list[argv.n++] = policy->options[i];
  argv.list[argv.n] = NULL;
  heddle_status status = hd_child_start(ctx, argv.list, &agent->tuner);
  hd_strbuf_free(&argv.worker);
  return status;
}

/* ---- leases ---- */

/* The lease as a request of the tuner (owned). The incumbent's cubin only if another build made it:
 * with the same build, comparing is useless. */
static char *request_of(const hd_agent *agent, const json_t *lease) {
  const json_t *incumbent = json_object_get(lease, "incumbent");
  json_t *o = json_object();
  json_object_set(o, "product", json_object_get(lease, "product"));
  json_object_set(o, "seed", json_object_get(lease, "seed"));
  if (json_is_object(incumbent)) {
    bool same_build =
        strcmp(hd_agent_string(incumbent, "build"), hd_agent_string(agent->build, "sources")) == 0;
    json_object_set(o, "incumbent", json_object_get(incumbent, "schedule"));
    if (!same_build && *hd_agent_string(incumbent, "cubin"))
      json_object_set(o, "incumbent_cubin", json_object_get(incumbent, "cubin"));
  }
  char *text = json_dumps(o, JSON_COMPACT);
  json_decref(o);
  return text;
}

/* Whether the tuner of the last lease can go on with this one. */
static bool is_kept(hd_agent *agent, const struct policy *policy) {
  hd_child *child = &agent->tuner;
  if (child->pid)
    hd_children_wait(&child, 1, 0);
  return child->pid && !child->ended && !child->heard.len && agent->policy == policy->name;
}

heddle_status hd_tuner_begin(heddle_context *ctx, hd_agent *agent, const json_t *lease) {
  const struct policy *policy = policy_named(hd_agent_string(lease, "policy"));
  if (!is_kept(agent, policy)) {
    hd_tuner_stop(agent);
    HD_TRY(start(ctx, agent, policy));
    agent->policy = policy->name;
  }
  char *request = request_of(agent, lease);
  (void)hd_child_say(&agent->tuner, request); /* one that has ended is heard of next */
  hd_free(request);
  return HEDDLE_OK;
}

void hd_tuner_stop(hd_agent *agent) { hd_child_stop(&agent->tuner, NULL); }
