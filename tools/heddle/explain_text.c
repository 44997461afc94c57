/* Prints explain's output as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explained.h"

/* Continuation lines are indented. The text may be untrusted. */
static void print_fact(const explain_fact *f, const char *end) {
  const char *at = hd_strbuf_text(&f->text);
  printf("%-10s", f->label);
  for (size_t n = strcspn(at, "\n"); at[n]; n = strcspn(at, "\n")) {
    cli_print("%.*s", (int)n, at);
    printf("\n%10s", "");
    at += n + 1;
  }
  cli_print("%s", at);
  puts(end);
}

static void print_part(const explained *e, explain_part part) {
  for (int32_t i = 0; i < e->n_facts; i++)
    if (e->fact[i].part == part)
      print_fact(&e->fact[i], "");
}

/* Prints a bucket: its range, schedule, predicted time, and the reason for the choice. */
static void print_bucket(const explained *e, const explain_bucket *b) {
  hd_strbuf words = {0};
  explain_short(&b->bucket->words.value, &words);
  printf("bucket    %s %6" PRId64 " .. ", e->input->plan.dim, b->from);
  if (b->to)
    printf("%-6" PRId64, b->to);
  else
    printf("%-6s", "");
  printf(" %s", hd_strbuf_text(&words));
  if (b->seconds > 0)
    printf(", %.2f us at %" PRId64, b->seconds * 1e6, b->at);
  printf(": %s\n", b->bucket->why);
  hd_strbuf_free(&words);
}

static void print_time(const explained *e) {
  for (int32_t i = 0; i < e->n_facts; i++) {
    const explain_fact *f = &e->fact[i];
    if (f->part != EXPLAIN_TIME)
      continue;
    bool terms = e->is_estimate && f->label == EXPLAIN_PREDICTED;
    print_fact(f, terms ? "; alone" : "");
    for (int32_t t = 0; terms && t < explain_n_terms(e); t++)
      printf("          %8.2f us  %s%s\n", e->cost.alone[e->by_time[t]] * 1e6,
             hd_resource_name(e->by_time[t]), t ? "" : ": the bottleneck");
  }
}

void explain_print_text(const explained *e) {
  print_part(e, EXPLAIN_PROBLEM);
  for (int32_t i = 0; i < e->n_buckets; i++)
    print_bucket(e, &e->bucket[i]);
  print_part(e, EXPLAIN_SCHEDULE);
  print_time(e);
  for (int32_t i = 0; i < e->shared.n_items; i++) {
    const hd_shared_item *x = &e->shared.item[i];
    printf("%-10s%s: %" PRId64 " x %" PRId64 " bytes from %" PRId64 "\n", i ? "" : "shared",
           explain_item_name(x), x->stages, x->slot_bytes, x->offset);
  }
  print_part(e, EXPLAIN_LAUNCH);
  print_part(e, EXPLAIN_ARGUMENT);
  for (int32_t i = 0; i < e->n_alternatives; i++) {
    const explain_alternative *x = &e->alternative[i];
    printf("could     %-22s ", x->words);
    if (!x->legal)
      printf("%s\n", hd_strbuf_text(&x->refusal));
    else if (e->is_estimate)
      printf("legal, %.2f us predicted: --schedule \"%s\"\n", x->cost.seconds * 1e6, x->words);
    else
      printf("legal: --schedule \"%s\"\n", x->words);
  }
}
