/* heddle-agent: works on one GPU for a tuning service (docs/service.md, lib/Agent). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "Agent/agent.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "cli.h"
#include "interrupt.h"

static const char about[] =
    "Claims jobs of a tuning service for one GPU, measures with `heddle tune`, and sends the\n"
    "results. It keeps results that the service has not confirmed in --state. It opens no port.\n"
    "SIGTERM and Ctrl-C release the job. The log on standard error is JSON, one event on each "
    "line.\n"
    "\n"
    "--scripted NAME needs no GPU: the times are computed and belong to the class scripted:NAME.";
static const char examples[] =
    "heddle-agent --server http://tuner:7433 --token-file /etc/heddle/token --gpu 0\n"
    "heddle-agent --server unix:/run/heddled.sock --scripted h200 --once\n";

static bool stop(void *user) {
  return interrupt_came(user);
}

static void log_line(void *user, const char *line) {
  char at[32];
  time_t now = time(NULL);
  struct tm utc;
  (void)user;
  strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  fprintf(stderr, "{\"at\":\"%s\",%s\n", at, line + 1);
}

/* Path of `heddle` in the folder of this program. */
static char *find_heddle(void) {
  char self[4096];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 16);
  self[len > 0 ? len : 0] = '\0';
  char *slash = strrchr(self, '/');
  strcpy(slash ? slash + 1 : self, "heddle");
  return hd_xstrdup(access(self, X_OK) == 0 ? self : "heddle");
}

static heddle_status read_token(heddle_context *ctx, const char *path, char **token) {
  size_t n_bytes;
  if (!path)
    return HEDDLE_OK;
  HD_TRY(hd_file_read_text(ctx, path, token, &n_bytes));
  (*token)[strcspn(*token, "\r\n")] = '\0';
  return HEDDLE_OK;
}

static char *default_state(const char *scripted, int64_t gpu) {
  const char *home = getenv("STATE_DIRECTORY"); /* set by systemd */
  char text[512];
  snprintf(text, sizeof text, "%s/%s%lld", home ? home : "heddle-agent",
           scripted ? "scripted-" : "gpu-", (long long)gpu);
  return hd_xstrdup(text);
}

int main(int argc, char **argv) {
  hd_agent_options o = {.locks = "/tmp/heddle-locks", .log = log_line, .stop = stop};
  const char *token_file = NULL;
  int64_t gpu = 0;
  char name[160], host[64] = "", *token = NULL;
  sigset_t held;
  o.jobs = sysconf(_SC_NPROCESSORS_ONLN) > 2 ? 2 : 0;
  o.memory_mib = 65536;
  const cli_option options[] = {
      {"server", CLI_TEXT, &o.server, "URL", "http://HOST:PORT, https://…, unix:/PATH"},
      {"token-file", CLI_TEXT, &token_file, "FILE",
       "file with the token, which has the scope work (none)"},
      {"ca", CLI_TEXT, &o.ca, "FILE", "certificates for https (default: those of the system)"},
      {"gpu", CLI_INT, &gpu, "I", "the GPU, by NVML's number (0)"},
      {"class", CLI_TEXT, &o.device_class, "NAME",
       "class of the GPU (default: name and power limit)"},
      {"scripted", CLI_TEXT, &o.scripted, "NAME",
       "use no GPU, but computed times of the class scripted:NAME"},
      {"scripted-options", CLI_TEXT, &o.scripted_options, "WORDS",
       "options of heddle tune scripted"},
      {"state", CLI_TEXT, &o.state, "DIR", "folder of the spool (heddle-agent/gpu-I)"},
      {"locks", CLI_TEXT, &o.locks, "DIR", "folder of the locks of the GPUs (/tmp/heddle-locks)"},
      {"heddle", CLI_TEXT, &o.heddle, "PATH",
       "the heddle tool that measures (default: in the same folder)"},
      {"cache", CLI_TEXT, &o.cache, "DIR",
       "folder of compiled kernels (default: one for each lease)"},
      {"ptxas", CLI_TEXT, &o.ptxas, "PATH", "ptxas (found on PATH); none: the driver compiles"},
      {"jobs", CLI_INT, &o.jobs, "N",
       "processes that compile candidates in advance (2; on two processors 0)"},
      {"memory", CLI_INT, &o.memory_mib, "MIB", "memory limit of a measuring process (65536)"},
      {"deadline", CLI_INT, &o.deadline_s, "SECONDS", "time limit of a candidate (30)"},
      {"nvml", CLI_TEXT, &o.nvml, "PATH", "the NVML library (default: the driver's)"},
      {"leases", CLI_INT, &o.most_leases, "N", "end after N leases (never)"},
      {"once", CLI_FLAG, &o.no_wait, NULL, "end when there is no work"},
      {0}};
  const cli_command command = {
      "heddle-agent --server URL [OPTIONS]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  const cli_number numbers[] = {{"--gpu", gpu, 0, 1024},
                                {"--jobs", o.jobs, 0, 128},
                                {"--memory", o.memory_mib, 0, INT32_MAX},
                                {"--deadline", o.deadline_s, 0, 3600},
                                {"--leases", o.most_leases, 0, INT32_MAX}};
  if (code == CLI_GO)
    code = cli_check_numbers("agent.number", numbers, sizeof numbers / sizeof *numbers);
  if (code == CLI_GO && !o.server)
    code = cli_usage_error("agent.server", "--server is missing; legal: its address; nearest: "
                                           "--server http://127.0.0.1:7433");
  if (code != CLI_GO)
    return cli_close(code);
  gethostname(host, sizeof host - 1);
  snprintf(name, sizeof name, "%s/%d", *host ? host : "host", (int)getpid());
  char *heddle = find_heddle(), *state = default_state(o.scripted, gpu);
  o.name = name;
  o.gpu = (unsigned)gpu;
  o.heddle = o.heddle ? o.heddle : heddle;
  o.state = o.state ? o.state : state;
  o.user = &held;
  heddle_context *ctx = heddle_context_create();
  interrupt_hold(&held);
  heddle_status status = read_token(ctx, token_file, &token);
  o.token = token;
  if (status == HEDDLE_OK)
    status = hd_agent_run(ctx, &o);
  hd_free(heddle);
  hd_free(state);
  hd_free(token);
  return cli_close(cli_finish(ctx, status)); /* a signal that arrived was handled */
}
