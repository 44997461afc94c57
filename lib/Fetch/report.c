/* heddle/fetch.h: reports lookups of a client, and which were missed, to the service. */
#include <jansson.h>

#include "Fetch/http.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "heddle/fetch.h"

enum { MAX_USES = 1000 }; /* in one request */
static const double TIMEOUT_S = 10;

static char *body_of(const char *device_class, const heddle_use *uses, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(list, json_pack("{ss, ss, sI, sb}", "product", uses[i].product, "class",
                                          device_class, "count", (json_int_t)uses[i].count,
                                          "missed", (int)uses[i].missed));
  json_t *root = json_pack("{so}", "uses", list);
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  return text;
}

static heddle_status send(heddle_context *ctx, hd_http *http, const char *body, double timeout_s) {
  hd_http_answer a = {0};
  heddle_status status =
      hd_http_ask(ctx, http, "/v1/uses", body, NULL, timeout_s > 0 ? timeout_s : TIMEOUT_S, &a);
  if (status == HEDDLE_OK && a.status != 204)
    status = hd_http_refused(ctx, &a);
  hd_http_answer_free(&a);
  return status;
}

heddle_status heddle_tuned_report(heddle_context *ctx, const heddle_fetch_options *options,
                                  const heddle_use *uses, size_t n) {
  hd_http_options o = {.server = options->server, .token = options->token, .ca = options->ca};
  hd_http *http;
  uint64_t before = hd_memory_shortages();
  if (!options->device_class)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "report.class",
                    "the device class is missing; legal: the class of the GPU, as heddle fleet "
                    "lists it; nearest: \"NVIDIA H200 700W\"");
  HD_TRY(hd_http_open(ctx, &o, &http));
  heddle_status status = HEDDLE_OK;
  for (size_t i = 0; i < n && status == HEDDLE_OK; i += MAX_USES) {
    char *body = body_of(options->device_class, uses + i, n - i < MAX_USES ? n - i : MAX_USES);
    status = body ? send(ctx, http, body, options->timeout_s) : HEDDLE_NO_MEMORY;
    hd_free(body);
  }
  hd_http_close(http);
  return hd_memory_status(ctx, before, status);
}
