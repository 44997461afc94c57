/* heddle fleet: the GPUs of a tuning service and its campaigns. */
#include <jansson.h>
#include <stdio.h>

#include "Fetch/http.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "commands.h"
#include "service_client.h"

static const char about[] =
"Lists the GPUs of a tuning service: class, current job, and the time since the last message;\n"
"and its campaigns: finished jobs, and the estimated remaining time.";
static const char examples[] = "heddle fleet --server http://tuner:7433\n";

static const char *text_in(const json_t *o, const char *field, const char *otherwise) {
  const char *text = json_string_value(json_object_get(o, field));
  return text && *text ? text : otherwise;
}

static long long count_in(const json_t *o, const char *field) {
  return (long long)json_integer_value(json_object_get(o, field));
}

static void print_gpus(const json_t *answer) {
  const json_t *list = json_object_get(answer, "gpus"), *g;
  size_t i, n = json_array_size(list);
  printf("%zu GPU%s\n", n, n == 1 ? "" : "s");
  json_array_foreach(list, i, g) {
    cli_print("%s  %s, last heard %.0f s ago, %lld jobs done%s\n  %s\n", text_in(g, "uuid", "?"),
              text_in(g, "class", "?"), json_number_value(json_object_get(g, "seen_s")),
              count_in(g, "done"),
              json_is_true(json_object_get(g, "scripted")) ? ", its times are computed" : "",
              text_in(g, "product", "idle"));
  }
}

static void print_campaigns(const json_t *answer) {
  const json_t *list = json_object_get(answer, "campaigns"), *c;
  size_t i;
  json_array_foreach(list, i, c) {
    const json_t *eta = json_object_get(c, "eta_s");
    cli_print("campaign %lld  %s%s%lld of %lld done, %lld queued, %lld leased, %lld failed",
              count_in(c, "campaign"), text_in(c, "note", ""), text_in(c, "note", NULL) ? ": " : "",
              count_in(c, "done"), count_in(c, "total"), count_in(c, "queued"),
              count_in(c, "leased"), count_in(c, "failed"));
    if (json_is_number(eta) && json_number_value(eta) > 0)
      printf(", about %.0f s left", json_number_value(eta));
    printf("\n");
  }
}

static heddle_status show(heddle_context *ctx, hd_http *http, const char *path,
                          void (*print)(const json_t *answer)) {
  hd_http_answer a = {0};
  heddle_status status = hd_http_ask(ctx, http, path, NULL, NULL, 10, &a);
  if (status == HEDDLE_OK && a.status != 200)
    status = hd_http_refused(ctx, &a);
  json_t *answer =
      status == HEDDLE_OK ? json_loadb(hd_strbuf_text(&a.body), a.body.len, 0, NULL) : NULL;
  if (status == HEDDLE_OK)
    print(answer);
  json_decref(answer);
  hd_http_answer_free(&a);
  return status;
}

int cmd_fleet(int argc, char **argv) {
  service_args a = {0};
  const cli_option options[] = {SERVICE_OPTIONS(a), {0}};
  const cli_command command = {"fleet --server URL", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO)
    code = service_check(&a);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  char *token = NULL;
  hd_http *http = NULL;
  heddle_status status = service_token(ctx, &a, &token);
  hd_http_options o = {.server = a.server, .token = token, .ca = a.ca};
  if (status == HEDDLE_OK)
    status = hd_http_open(ctx, &o, &http);
  if (status == HEDDLE_OK)
    status = show(ctx, http, "/v1/fleet", print_gpus);
  if (status == HEDDLE_OK)
    status = show(ctx, http, "/v1/campaigns", print_campaigns);
  hd_http_close(http);
  hd_free(token);
  return cli_finish(ctx, status);
}
