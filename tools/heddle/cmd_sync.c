/* heddle sync: copies the choices of a tuning service to a file. */
#include <stdio.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "commands.h"
#include "heddle/fetch.h"
#include "service_client.h"

static const char about[] =
    "Updates a local file with the choices of a tuning service. --db and heddle_tuned_read accept\n"
    "the file. If the service does not answer, the file is unchanged, and a note says so.";
static const char examples[] =
    "heddle sync --server http://tuner:7433 --class \"NVIDIA H200 700W\" -o h200.json\n"
    "heddle run examples/linear_bf16.heddle --db h200.json\n";

int cmd_sync(int argc, char **argv) {
  service_args a = {0};
  const char *out = "heddle-choices.json";
  const cli_option options[] = {
      SERVICE_OPTIONS(a),
      {"class", CLI_TEXT, &a.device_class, "NAME", SERVICE_CLASS_ABOUT " (all classes)"},
      {"o", CLI_TEXT, &out, "FILE", "the local file (heddle-choices.json)"},
      {0}};
  const cli_command command = {"sync --server URL [-o FILE]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO)
    code = service_check(&a);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  char *token = NULL;
  heddle_fetched f = {0};
  hd_tuned *tuned = NULL;
  heddle_status status = service_token(ctx, &a, &token);
  heddle_fetch_options o = {
      .server = a.server, .token = token, .ca = a.ca, .device_class = a.device_class};
  if (status == HEDDLE_OK)
    status = heddle_tuned_fetch(ctx, &o, out, &f);
  if (status == HEDDLE_OK)
    status = heddle_tuned_read(ctx, out, &tuned);
  if (status == HEDDLE_OK)
    printf("%s: %zu choices, %s\n", out, hd_tuned_count(tuned),
           f.away      ? "of an earlier sync"
           : f.changed ? "new"
                       : "as they were");
  heddle_tuned_free(tuned);
  hd_free(token);
  return cli_finish(ctx, status);
}
