#include "bench_print.h"
#include "cli.h"
#include "report.h"
#include "Support/memory.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

bool bench_format_parse(const char *text, bench_format *format) {
  static const char *const names[] = {"table", "csv", "json"}; /* ORDER bench_format */
  for (int i = 0; i < 3; i++)
    if (strcmp(text, names[i]) == 0) {
      *format = (bench_format)i;
      return true;
    }
  return false;
}

/* 2 m n k of the dense product divided by the time, in TFLOP/s; 0 if there is no time. */
static double tflops(const hd_bench_problem *p, double seconds) {
  double batch = p->g ? (double)p->g : 1;
  return seconds > 0 ? 2e-12 * batch * (double)p->m * (double)p->n * (double)p->k / seconds : 0;
}

static const char *elem_name(heddle_elem elem) { return heddle_elem_get(elem)->name; }

static void add_epilogue(hd_strbuf *s, const hd_bench_problem *p) {
  const hd_product_epilogue *e = &p->epilogue;
  if (p->g)
    hd_strbuf_printf(s, " -g %lld", (long long)p->g);
  if (e->act[0])
    hd_strbuf_printf(s, " --act %s", e->act);
  if (e->bias)
    hd_strbuf_printf(s, " --bias %c", e->bias);
  hd_strbuf_add(s, e->c ? " -c" : "");
  if (e->scale_a)
    hd_strbuf_printf(s, " --scale-a %s", e->scale_a == 'v' ? "vector" : "one");
  if (e->scale_b)
    hd_strbuf_printf(s, " --scale-b %s", hd_product_scale_word(e->scale_b));
  if (e->reduce)
    hd_strbuf_printf(s, " --reduce %s", hd_product_reduce_word(e->reduce));
  if (e->aux)
    hd_strbuf_printf(s, " --aux %s:%s", hd_product_aux_word(e->aux), elem_name(e->aux_type));
  if (e->blocks)
    hd_strbuf_printf(s, " --blocks %s", e->blocks == 'b' ? "128x128" : "1x128");
}

char *bench_command(const hd_bench_problem *p, uint64_t seed, const char *name, bool weights_ready,
                    hd_trigger trigger) {
  hd_strbuf s = {0};
  hd_strbuf_printf(&s, "heddle bench --type %s --d-type %s -m %lld -n %lld -k %lld --seed %llu%s",
                   elem_name(p->elem), elem_name(p->d_elem), (long long)p->m, (long long)p->n,
                   (long long)p->k, (unsigned long long)seed,
                   weights_ready ? " --weights-ready yes"
                   : trigger     ? " --weights-ready no"
                                 : "");
  add_epilogue(&s, p);
  if (trigger)
    hd_strbuf_printf(&s, " --predecessor %s", hd_trigger_name(trigger));
  char who[16] = "", order[8] = "";
  int at = 0;
  sscanf(name, "%15s %7s %n", who, order, &at);
  if (strcmp(who, "heddle") == 0 && strcmp(name + at, "dynamic") == 0)
    hd_strbuf_printf(&s, " --order %s --dynamic", order);
  else if (strcmp(who, "heddle") == 0)
    hd_strbuf_printf(&s, " --order %s --schedule \"%s\"", order, name + at);
  else
    hd_strbuf_printf(&s, " --peers %s", who);
  return hd_strbuf_take(&s);
}

/* ---- head ---- */

static void print_json_head(const hd_device_info *d) {
  json_t *device =
      json_pack("{s:s, s:s, s:i, s:i, s:I}", "name", d->name, "target", d->target, "sms", d->n_sms,
                "driver", d->driver_version, "l2_bytes", (json_int_t)d->l2_bytes);
  char *text = json_dumps(device, 0);
  printf("{\"device\": %s,\n \"rows\": [", text ? text : "null");
  hd_free(text);
  json_decref(device);
}

static void print_table_head(const bench_printer *printer, const hd_device_info *d,
                             const hd_nvml *nvml) {
  cli_print("# %s, %d SMs, driver API %d.%d", d->name, d->n_sms, d->driver_version / 1000,
            d->driver_version % 1000 / 10);
  hd_nvml_sample s;
  if (nvml && hd_nvml_read(NULL, nvml, &s) == HEDDLE_OK)
    printf(", %.0f W of %.0f W, SM %u MHz, memory %u MHz, %u C", s.power_w, s.power_limit_w,
           s.sm_mhz, s.memory_mhz, s.temperature_c);
  printf("\n");
  if (printer->summary || printer->dynamic)
    return;
  printf("%-5s %6s %6s %6s  %9s %9s %9s %8s %7s %7s", "type", "m", "k", "n", "us", "min", "max",
         "TFLOP/s", "x dense", "x peer");
  if (printer->alone)
    printf(" %8s %8s %6s %5s", "burst", "sustain", "W", "MHz");
  printf(" %9s  %s\n", "error", "contender");
}

void bench_print_head(const bench_printer *printer, const hd_device_info *device,
                      const hd_nvml *nvml) {
  if (printer->format == BENCH_JSON)
    print_json_head(device);
  else if (printer->format == BENCH_TABLE)
    print_table_head(printer, device, nvml);
  else
    printf("%s", bench_csv_head);
}

void bench_print_tail(const bench_printer *printer) {
  if (printer->format == BENCH_JSON)
    printf("\n]}\n");
}

/* ---- rows ---- */

/* The times that ratios are relative to: the shortest of the case; 0: not measured. */
typedef struct bests {
  double dense, peer;
} bests;

static bests find_bests(const hd_bench_result *result) {
  bests b = {0};
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    bool dense = strncmp(r->name, "cublas", 6) == 0;
    if (!dense && strncmp(r->name, "cusparselt", 10) != 0)
      continue;
    if (dense && (b.dense == 0 || r->timing.median < b.dense))
      b.dense = r->timing.median;
    if (b.peer == 0 || r->timing.median < b.peer)
      b.peer = r->timing.median;
  }
  return b;
}

static void print_ratio(double of, double seconds) {
  if (of > 0 && seconds > 0)
    printf(" %7.3f", of / seconds);
  else
    printf(" %7s", "-");
}

/* What was compared after the measurement; "" if the row stores no D. */
static const char *checked_of(const hd_bench_row *r) {
  return r->bound == 0 ? "" : r->whole ? "all" : "rows";
}

static const char *promise_of(const hd_bench_row *r) {
  return r->weights_ready ? "weights_ready" : "";
}

/* "": no predecessor. */
static const char *predecessor_of(const hd_bench_row *r) {
  return r->trigger ? hd_trigger_name(r->trigger) : "";
}

static void print_table_row(const bench_printer *printer, const hd_bench_problem *p,
                            const hd_bench_row *r, const bests *b) {
  printf("%-5s %6lld %6lld %6lld  %9.2f %9.2f %9.2f %8.1f", elem_name(p->elem), (long long)p->m,
         (long long)p->k, (long long)p->n, r->timing.median * 1e6, r->timing.min * 1e6,
         r->timing.max * 1e6, tflops(p, r->timing.median));
  print_ratio(b->dense, r->timing.median);
  print_ratio(b->peer, r->timing.median);
  if (printer->alone)
    printf(" %8.1f %8.1f %6.0f %5u", tflops(p, r->alone.burst),
           tflops(p, r->alone.sustained), r->alone.power_w, r->alone.sm_mhz);
  cli_print(" %9.2g  %s%s%s\n", r->error, r->name, r->weights_ready ? " weights_ready" : "",
         !r->ok             ? "  WRONG RESULT"
         : r->n_rounds == 1 ? "  (quick look)"
                            : "");
}

/* Quotes are doubled inside quoted CSV fields. */
static void add_quoted(hd_strbuf *out, const char *text) {
  hd_strbuf_add(out, "\"");
  for (; *text; text++)
    hd_strbuf_printf(out, "%s%c", *text == '"' ? "\"" : "", *text);
  hd_strbuf_add(out, "\"");
}

const char bench_csv_head[] =
    "type,m,k,n,us,us_min,us_max,tflops,burst_tflops,sustained_tflops,watts,sm_mhz,error,verdict,"
    "contender,d_type,rounds,promise,predecessor,checked,command\n";

void bench_csv_case(hd_strbuf *out, uint64_t seed, const hd_bench_problem *p,
                    const hd_bench_result *result) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    char *command = bench_command(p, seed, r->name, r->weights_ready, r->trigger);
    hd_strbuf_printf(out, "%s,%lld,%lld,%lld,%.3f,%.3f,%.3f,%.1f,%.1f,%.1f,%.0f,%u,%.3g,%s,",
                     elem_name(p->elem), (long long)p->m, (long long)p->k, (long long)p->n,
                     r->timing.median * 1e6, r->timing.min * 1e6, r->timing.max * 1e6,
                     tflops(p, r->timing.median), tflops(p, r->alone.burst),
                     tflops(p, r->alone.sustained), r->alone.power_w, r->alone.sm_mhz, r->error,
                     r->broke ? report_broke : r->ok ? "ok" : "WRONG");
    add_quoted(out, r->name);
    hd_strbuf_printf(out, ",%s,%d,%s,%s,%s,", elem_name(p->d_elem), r->n_rounds, promise_of(r),
                     predecessor_of(r), checked_of(r));
    add_quoted(out, command);
    hd_strbuf_add(out, "\n");
    hd_free(command);
  }
}

static void print_json_case(bench_printer *printer, const hd_bench_problem *p,
                            const hd_bench_result *result) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    char *command = bench_command(p, printer->seed, r->name, r->weights_ready, r->trigger);
    json_t *row = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:f, s:b, s:s, s:i, "
        "s:s, s:s, s:s, s:s}",
        "type", elem_name(p->elem), "d_type", elem_name(p->d_elem), "m", (json_int_t)p->m, "k",
        (json_int_t)p->k, "n", (json_int_t)p->n, "us", r->timing.median * 1e6, "us_min",
        r->timing.min * 1e6, "us_max", r->timing.max * 1e6, "tflops", tflops(p, r->timing.median),
        "burst_tflops", tflops(p, r->alone.burst), "sustained_tflops",
        tflops(p, r->alone.sustained), "watts", r->alone.power_w, "sm_mhz", (int)r->alone.sm_mhz,
        "error", r->error, "ok", r->ok, "contender", r->name, "rounds", (int)r->n_rounds, "promise",
        promise_of(r), "predecessor", predecessor_of(r), "checked", checked_of(r), "command",
        command);
    char *text = json_dumps(row, JSON_REAL_PRECISION(6));
    printf("%s\n  %s", printer->n_rows++ ? "," : "", text ? text : "null");
    hd_free(text);
    json_decref(row);
    hd_free(command);
  }
}

void bench_print_case(bench_printer *printer, const hd_bench_problem *p,
                      const hd_bench_result *result) {
  bests b = find_bests(result);
  if (printer->format == BENCH_CSV) {
    hd_strbuf rows = {0};
    bench_csv_case(&rows, printer->seed, p, result);
    printf("%s", hd_strbuf_text(&rows));
    hd_strbuf_free(&rows);
  } else if (printer->format == BENCH_JSON)
    print_json_case(printer, p, result);
  else
    for (int32_t i = 0; i < result->n_rows; i++)
      print_table_row(printer, p, &result->row[i], &b);
  fflush(stdout);
}
