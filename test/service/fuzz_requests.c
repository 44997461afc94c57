/* service-fuzz: passes untrusted bytes through all parsers of the service: routes, queries, bodies
 * of every route, Authorization, product keys, races. The sanitizers must find nothing. What is
 * accepted must be consistent: a key parses again, a choice is never slower than its default.
 *
 * With clang's -fsanitize=fuzzer (HD_LIBFUZZER) libFuzzer calls LLVMFuzzerTestOneInput. Otherwise
 * main makes its own requests: service-fuzz COUNT [SEED] mutates legal ones at random, and prints
 * how many were accepted. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/decide.h"
#include "Interface/product_key.h"
#include "Service/service_state.h"
#include "Support/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long long n_accepted[5]; /* routes, queries, bodies, keys, scanned bodies */

static void must(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "service-fuzz: %s\n", what);
  abort();
}

/* ---- parsers of untrusted bytes ---- */

static void try_race(const json_t *race) {
  hd_race_figures f;
  hd_race_read(race, &f);
  int chosen = hd_race_decide(&f, f.n > 1 ? f.list[f.n - 1].schedule : NULL, NULL, 0);
  must(chosen >= 0 && chosen < f.n, "a choice outside its race");
  must(!(f.list[chosen].median > f.list[f.first].median), "a choice loses to its default");
}

static void try_body(hd_request *r, const char *text, size_t n) {
  json_error_t error;
  hd_problem problem;
  size_t n_elements;
  bool scanned = hd_scan(r->route->body, text, n, &n_elements);
  r->body = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
  must(r->body || !scanned, "the scanner accepts what is no JSON");
  if (!r->body)
    return;
  if (!hd_validate(&r->arena, r->route->body, r->body, &problem)) {
    must(!scanned, "the scanner accepts what is refused");
    hd_refuse_problem(r, &problem);
    return;
  }
  const json_t *list = json_object_get(r->body, "measurements");
  must(!scanned || !json_is_array(list) || n_elements == json_array_size(list),
       "the scanner counts wrongly");
  n_accepted[2]++;
  n_accepted[4] += scanned;
  const json_t *race = json_object_get(r->body, "race");
  if (race)
    try_race(race);
}

static void try_key(const char *text) {
  hd_product_key x, y;
  hd_key_problem problem = {0};
  if (!hd_key_parse(text, &x, &problem)) {
    must(problem.legal != NULL, "a refusal says nothing legal");
    return;
  }
  n_accepted[3]++;
  must(hd_key_parse(text, &y, &problem) && hd_key_distance(&x, &y) == 0,
       "a key is far from itself");
}

/* Splits "NAME=VALUE&…" in place. */
static void try_query(hd_request *r, char *text) {
  const char *pairs[HD_MAX_QUERY + 1][2];
  int n = 0;
  char *rest = NULL;
  for (char *p = strtok_r(text, "&", &rest); p && n <= HD_MAX_QUERY;
       p = strtok_r(NULL, "&", &rest)) {
    char *equals = strchr(p, '=');
    if (equals)
      *equals = '\0';
    pairs[n][0] = p;
    pairs[n++][1] = equals ? equals + 1 : "";
  }
  hd_problem problem;
  bool ok = hd_validate_query(&r->arena, r->route, (const char *const(*)[2])pairs, n, &r->query,
                              &problem);
  if (!ok)
    hd_refuse_problem(r, &problem);
  n_accepted[1] += ok;
}

static void try_token(hd_service *s, hd_request *r, const char *text) {
  must(!hd_tokens_identify(s->tokens, r, text), "a token was let in");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hd_service service;
  static const hd_config config;
  if (!service.tokens)
    service.tokens = hd_tokens_create(0, 0, true);
  service.config = &config;
  if (size < 2)
    return 0;
  const char *other;
  char *text = hd_xmalloc(size);
  memcpy(text, data + 2, size - 2);
  text[size - 2] = '\0';
  hd_request *r = hd_xzalloc(sizeof *r);
  r->service = &service;
  r->route = hd_route_get((hd_route_id)(data[1] % HD_N_ROUTES));
  switch (data[0] % 5) {
  case 0:
    n_accepted[0] += hd_route_find("GET", text, r->path, &other) != NULL;
    break;
  case 1:
    try_query(r, text);
    break;
  case 2:
    if (hd_route_has_body(r->route))
      try_body(r, text, size - 2);
    break;
  case 3:
    try_key(text);
    break;
  default:
    if (r->route->scope != HD_SCOPE_NONE)
      try_token(&service, r, text);
  }
  free(text);
  hd_request_free(r);
  return 0;
}

#ifndef HD_LIBFUZZER

/* ---- generated requests ---- */

#define KEY "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=16 k=4096 k_major row_major"
#define DEVICE                                                                                     \
  "{\"uuid\":\"GPU-1\",\"name\":\"NVIDIA "                                                         \
  "H200\",\"class\":\"H200\",\"driver\":\"580\",\"ecc\":true}"

typedef struct seed {
  int kind, route; /* -1: any */
  const char *text;
} seed;

static const seed seeds[] = {
    {0, -1, "/v1/leases/12/finish"},
    {0, -1, "/v1/bundles/1/diff/2"},
    {0, -1, "/v1/jobs"},
    {1, HD_ROUTE_choice, "product=" KEY "&class=H200&policy=default&exact=1"},
    {1, HD_ROUTE_jobs, "state=queued&class=H200&campaign=1&before=99&limit=10"},
    {2, HD_ROUTE_submit,
     "{\"products\":[\"" KEY
     "\"],\"class\":\"H200\",\"priority\":4,\"note\":\"x\",\"again\":true}"},
    {2, HD_ROUTE_claim,
     "{\"request\":\"request-1\",\"agent\":\"host:1\",\"device\":" DEVICE
     ",\"build\":{\"version\":\"0.1.0\",\"sources\":\"b1\"},\"wait_s\":10}"},
    {2, HD_ROUTE_measure,
     "{\"measurements\":[{\"seq\":0,\"schedule\":\"tile=128x64\",\"verdict\":\"ok\",\"us\":9.5,"
     "\"cubin\":\"ab\",\"throttle\":4},{\"verdict\":\"hang\",\"schedule\":\"a=1\",\"seq\":1,"
     "\"us\":1.25e+2,\"why\":null}]}"},
    {2, HD_ROUTE_finish,
     "{\"outcome\":\"done\",\"begin\":{\"read_us\":1,\"kernel_us\":2.5},\"race\":{\"mode\":"
     "\"alone\","
     "\"contenders\":[{\"schedule\":\"a=1\",\"role\":\"default\",\"rounds_us\":[10,11,10]},"
     "{\"schedule\":\"b=1\",\"role\":\"candidate\",\"rounds_us\":[9,9.5,9]}]}}"},
    {2, HD_ROUTE_uses,
     "{\"uses\":[{\"product\":\"" KEY "\",\"class\":\"x\",\"count\":1,\"missed\":false}]}"},
    {2, HD_ROUTE_reject, "{\"product\":\"" KEY "\",\"class\":\"H200\",\"version\":3}"},
    {2, HD_ROUTE_budget, "{\"tenant\":\"team\",\"budget_s\":1e6}"},
    {3, -1, KEY},
    {3, -1, KEY " batch=8 groups=4 meta=3 pair=silu w=s4 weights_ready"},
    {4, HD_ROUTE_jobs,
     "Bearer hdl_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    {4, HD_ROUTE_jobs, "Basic dXNlcjpoZGxfMDEyMzQ1Njc4OWFiY2RlZg=="}};

/* Applies a few mutations: a changed byte, a cut, a repeated or foreign piece. */
static size_t change(uint8_t *data, size_t n, size_t cap, uint64_t *state) {
  static const char *const pieces[] = {"null",     "-1",   "1e999", "9223372036854775808",
                                       "\"",       "[[[[", "{}",    "\\u0000",
                                       "\xff\xfe", "true", " ",     "=",
                                       "&",        "/",    "%00",   "0x10",
                                       "1048577",  ",,",   "}}"};
  for (uint64_t k = hd_hash_next(state) % 4; k > 0 && n > 2; k--) {
    uint64_t x = hd_hash_next(state);
    size_t at = 2 + (size_t)(x >> 8) % (n - 2);
    const char *piece = pieces[(x >> 40) % HD_COUNT(pieces)];
    size_t length = strlen(piece);
    switch (x % 5) {
    case 0:
      data[at] = (uint8_t)(x >> 32);
      break;
    case 1:
      data[at] ^= (uint8_t)(1u << (x >> 32) % 8);
      break;
    case 2: /* cut */
      memmove(data + at, data + at + (n - at) / 2, n - at - (n - at) / 2);
      n -= (n - at) / 2;
      break;
    case 3: /* say it twice */
      length = n - at < 64 ? n - at : 64;
      if (n + length > cap)
        break;
      memmove(data + at + length, data + at, n - at);
      n += length;
      break;
    default:
      if (n + length > cap)
        break;
      memmove(data + at + length, data + at, n - at);
      memcpy(data + at, piece, length);
      n += length;
    }
  }
  return n;
}

int main(int argc, char **argv) {
  unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
  uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  uint8_t data[4096];
  for (unsigned long long i = 0; i < count; i++) {
    const seed *s = &seeds[hd_hash_next(&state) % HD_COUNT(seeds)];
    size_t n = strlen(s->text);
    uint64_t x = hd_hash_next(&state); /* now and then at a route that it was not made for */
    data[0] = (uint8_t)s->kind;
    data[1] = (uint8_t)(s->route >= 0 && x % 4 ? (uint64_t)s->route : x >> 8);
    memcpy(data + 2, s->text, n);
    n = change(data, n + 2, sizeof data, &state);
    LLVMFuzzerTestOneInput(data, n);
  }
  printf(
      "%llu requests, nothing found; accepted: %llu routes, %llu queries, %llu bodies (%llu "
      "scanned), %llu keys\n",
      count, n_accepted[0], n_accepted[1], n_accepted[2], n_accepted[4], n_accepted[3]);
  return 0;
}

#endif
