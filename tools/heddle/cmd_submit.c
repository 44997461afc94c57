/* heddle submit: requests choices from a tuning service for a model, a grid or problems. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Choice/model.h"
#include "Fetch/http.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/lines.h"
#include "commands.h"
#include "service_client.h"

static const char about[] =
    "Asks a tuning service to tune products: the linear layers of a model (a transformer's\n"
    "config.json, a safetensors index or file) for some counts of tokens, or the products of a\n"
    "grid. A product that has a choice or is already queued makes no new job. The service gets\n"
    "only product keys, never the model. Large products are queued first, since they take\n"
    "longest: at the end no GPU waits long for another one.\n"
    "\n"
    "Lines of a --grid file are TYPE M K N [DTYPE [ORDER [weights_ready]]]; # starts a comment.";
static const char examples[] =
    "heddle submit --server http://tuner:7433 --class \"NVIDIA H200 700W\" --model "
    "llama/config.json "
    "--tokens 1,16,64,2048\n"
    "heddle submit --model mixtral/config.json --tokens 32 --tensor-parallel 4 --dry-run\n"
    "heddle submit --server unix:/run/heddled.sock --class scripted:h200 --grid few.grid\n";

typedef struct submit_args {
  service_args service;
  const char *model, *grid, *tokens, *target, *policy, *note;
  heddle_elem type;
  int64_t n_ways, priority;
  bool apart, again, dry_run, weights_ready;
} submit_args;

typedef struct product_list {
  hd_product *list; /* owned */
  int32_t n, cap;
} product_list;

/* ---- products ---- */

static heddle_status read_tokens(heddle_context *ctx, const char *text,
                                 int64_t tokens[HD_MODEL_MOST_TOKENS], int32_t *n) {
  char *words = hd_xstrdup(text), *rest = NULL;
  bool ok = true;
  *n = 0;
  for (char *word = strtok_r(words, ",", &rest); word && ok; word = strtok_r(NULL, ",", &rest)) {
    int64_t value = 0;
    ok = *n < HD_MODEL_MOST_TOKENS && cli_parse_int(word, &value) && value >= 1 &&
         value <= HD_PRODUCT_MOST_SIZE;
    if (ok)
      tokens[(*n)++] = value;
  }
  hd_free(words);
  return ok && *n ? HEDDLE_OK
                  : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "submit.tokens",
                             "got --tokens \"%.60s\"; legal: up to %d counts, 1 to %d; nearest: "
                             "--tokens 1,16,256",
                             text, HD_MODEL_MOST_TOKENS, HD_PRODUCT_MOST_SIZE);
}

static heddle_status read_model(heddle_context *ctx, const submit_args *a, product_list *out) {
  int64_t tokens[HD_MODEL_MOST_TOKENS];
  hd_model_options o = {.target = a->target,
                        .type = a->type,
                        .tokens = tokens,
                        .n_ways = a->n_ways,
                        .apart = a->apart};
  HD_TRY(read_tokens(ctx, a->tokens, tokens, &o.n_tokens));
  return hd_model_read(ctx, a->model, &o, &out->list, &out->n);
}

static heddle_status read_grid(heddle_context *ctx, const submit_args *a, product_list *out) {
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, a->grid, &text, &n_bytes));
  heddle_status status = HEDDLE_OK;
  hd_lines lines = hd_lines_of(a->grid, text);
  for (char *line; status == HEDDLE_OK && (line = hd_lines_next_entry(&lines));) {
    hd_product p;
    hd_front front = {0};
    status = hd_product_line(ctx, lines.loc, a->target, line, &p);
    if (status == HEDDLE_OK)
      status = hd_product_build(ctx, lines.loc, &p, &front);
    hd_front_free(&front);
    if (status == HEDDLE_OK)
      HD_PUSH(out->list, out->n, out->cap, p);
  }
  hd_free(text);
  return status;
}

/* ---- sending ---- */

static double work_of(const hd_product *p) {
  return (double)p->m * (double)p->n * (double)p->k * (double)(p->g ? p->g : 1);
}

static int by_work(const void *a, const void *b) {
  double x = work_of(a), y = work_of(b);
  return (x < y) - (x > y);
}

static json_t *keys_of(const submit_args *a, const product_list *products) {
  json_t *keys = json_array();
  for (int32_t i = 0; i < products->n; i++) {
    char key[HD_PRODUCT_TEXT];
    hd_product p = products->list[i];
    p.weights_ready |= a->weights_ready;
    hd_product_print(&p, key);
    bool again = false;
    for (size_t k = 0; k < json_array_size(keys); k++)
      again |= strcmp(json_string_value(json_array_get(keys, k)), key) == 0;
    if (!again)
      json_array_append_new(keys, json_string(key));
  }
  return keys;
}

static char *body_of(const submit_args *a, json_t *keys) {
  json_t *o = json_pack("{s:O, s:s}", "products", keys, "class", a->service.device_class);
  if (a->policy)
    json_object_set_new(o, "policy", json_string(a->policy));
  if (a->note)
    json_object_set_new(o, "note", json_string(a->note));
  if (a->priority >= 0)
    json_object_set_new(o, "priority", json_integer(a->priority));
  if (a->again)
    json_object_set_new(o, "again", json_true());
  char *body = json_dumps(o, JSON_COMPACT);
  json_decref(o);
  return body;
}

static void print_submitted(const hd_http_answer *answer) {
  json_t *o = json_loadb(hd_strbuf_text(&answer->body), answer->body.len, 0, NULL);
  json_int_t campaign = json_integer_value(json_object_get(o, "campaign"));
  printf("%" JSON_INTEGER_FORMAT " new jobs, %" JSON_INTEGER_FORMAT
         " were queued already, %" JSON_INTEGER_FORMAT " have a choice",
         json_integer_value(json_object_get(o, "created")),
         json_integer_value(json_object_get(o, "joined")),
         json_integer_value(json_object_get(o, "chosen")));
  if (campaign)
    printf("; campaign %" JSON_INTEGER_FORMAT, campaign);
  printf("\n");
  json_decref(o);
}

static heddle_status send(heddle_context *ctx, const submit_args *a, json_t *keys) {
  hd_http_answer answer = {0};
  hd_http *http = NULL;
  char *token = NULL, *body = body_of(a, keys);
  heddle_status status = service_token(ctx, &a->service, &token);
  hd_http_options o = {.server = a->service.server, .token = token, .ca = a->service.ca};
  if (status == HEDDLE_OK)
    status = hd_http_open(ctx, &o, &http);
  if (status == HEDDLE_OK)
    status = hd_http_ask(ctx, http, "/v1/jobs", body, NULL, 60, &answer);
  if (status == HEDDLE_OK && (answer.status < 200 || answer.status > 299))
    status = hd_http_refused(ctx, &answer);
  if (status == HEDDLE_OK)
    print_submitted(&answer);
  hd_http_answer_free(&answer);
  hd_http_close(http);
  hd_free(token);
  hd_free(body);
  return status;
}

static heddle_status submit(heddle_context *ctx, const submit_args *a) {
  product_list products = {0};
  heddle_status status = a->model ? read_model(ctx, a, &products) : read_grid(ctx, a, &products);
  if (products.n && !a->dry_run)
    qsort(products.list, (size_t)products.n, sizeof *products.list, by_work);
  json_t *keys = status == HEDDLE_OK ? keys_of(a, &products) : NULL;
  hd_free(products.list);
  if (status == HEDDLE_OK && a->dry_run) {
    size_t i;
    const json_t *key;
    json_array_foreach(keys, i, key) printf("%s\n", json_string_value(key));
  } else if (status == HEDDLE_OK) {
    status = send(ctx, a, keys);
  }
  json_decref(keys);
  return status;
}

static int check_args(const submit_args *a) {
  const cli_number numbers[] = {{"--tensor-parallel", a->n_ways, 1, 1024},
                                {"--priority", a->priority, -1, 9}};
  int code = cli_check_numbers("submit.number", numbers, HD_COUNT(numbers));
  if (code == CLI_GO && !a->model == !a->grid)
    code = cli_usage_error("submit.input", "got %s; legal: --model FILE or --grid FILE",
                           a->model ? "both a model and a grid" : "neither a model nor a grid");
  if (code == CLI_GO && a->model && !a->tokens)
    code = cli_usage_error("submit.tokens", "got a model without --tokens; legal: counts; "
                                            "nearest: --tokens 1,16,256");
  if (code == CLI_GO && !a->dry_run)
    code = service_check(&a->service);
  if (code == CLI_GO && !a->dry_run && !a->service.device_class)
    code = cli_usage_error("submit.class", "--class is missing; legal: one of `heddle fleet`; "
                                           "nearest: --class \"NVIDIA H200 700W\"");
  return code;
}

int cmd_submit(int argc, char **argv) {
  submit_args a = {.target = "sm_90a", .type = HEDDLE_N_ELEMS, .n_ways = 1, .priority = -1};
  const cli_option options[] = {
      SERVICE_OPTIONS(a.service),
      {"class", CLI_TEXT, &a.service.device_class, "NAME", SERVICE_CLASS_ABOUT},
      {"model", CLI_TEXT, &a.model, "FILE", "a model: config.json, safetensors index or file"},
      {"tokens", CLI_TEXT, &a.tokens, "N,N", "with --model: counts of tokens"},
      {"tensor-parallel", CLI_INT, &a.n_ways, "N",
       "with --model: the part that one of N GPUs computes (1)"},
      {"apart", CLI_FLAG, &a.apart, NULL,
       "with --model: q, k, v, gate and up are separate products"},
      {"type", CLI_ELEM, &a.type, "T", "element type of A and B (default: the model's)"},
      {"grid", CLI_TEXT, &a.grid, "FILE", "read the products from a file"},
      {"weights-ready", CLI_FLAG, &a.weights_ready, NULL,
       "with the attribute weights_ready: launches overlap"},
      {"target", CLI_TEXT, &a.target, "T", "sm_90a"},
      {"policy", CLI_TEXT, &a.policy, "WORD", "how the jobs are measured (default)"},
      {"priority", CLI_INT, &a.priority, "P", "priority, 0 to 9; 9 is first (4)"},
      {"note", CLI_TEXT, &a.note, "TEXT", "name of the campaign"},
      {"again", CLI_FLAG, &a.again, NULL, "also tune products that have a choice"},
      {"dry-run", CLI_FLAG, &a.dry_run, NULL, "only print the product keys"},
      {0}};
  const cli_command command = {
      "submit --server URL --class NAME --model FILE --tokens N,N", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO)
    code = check_args(&a);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  return cli_finish(ctx, submit(ctx, &a));
}
