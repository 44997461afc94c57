#include "bench_args.h"

#include <stdio.h>
#include <string.h>

#include "bench_peers.h"
#include "promise.h"

const char *const bench_orders[4] = {"both", "col", "row", "each"};

static int read_scale(const char *option, const char *word, char *scale) {
  *scale = word ? *word : 0;
  return !word || strcmp(word, "one") == 0 || strcmp(word, "vector") == 0
             ? CLI_GO
             : cli_usage_error("bench.epilogue", "got %s %.40s; legal: one, vector", option, word);
}

int bench_read_epilogue(bench_args *a) {
  hd_product_epilogue *e = &a->problem.epilogue;
  snprintf(e->act, sizeof e->act, "%s", a->act && strcmp(a->act, "none") ? a->act : "");
  const char *legal = hd_product_epilogue_check(e);
  if (*legal)
    return cli_usage_error("bench.epilogue", "got --act %.40s; legal: %s", a->act, legal);
  e->bias = a->bias ? *a->bias : 0;
  if (a->bias && strcmp(a->bias, "m") != 0 && strcmp(a->bias, "n") != 0)
    return cli_usage_error("bench.epilogue", "got --bias %.40s; legal: m, n", a->bias);
  int code = read_scale("--scale-a", a->scale_a, &e->scale_a);
  return code == CLI_GO ? read_scale("--scale-b", a->scale_b, &e->scale_b) : code;
}

/* The files and summaries of bench know no epilogue. */
static int check_epilogue(const bench_args *a) {
  hd_product p = hd_bench_product(&a->problem);
  bool plain = hd_product_is_plain(&p) && !p.g;
  if (!plain && (a->random || a->csv || a->sample || (a->grid && !a->beside && !a->dynamic)))
    return cli_usage_error("bench.epilogue",
                           "got an epilogue, or a batch, with --random, --sample, -o or a grid; "
                           "legal: one case, or --grid --beside");
  if (a->beside && (plain || a->dynamic || a->sweep || a->csv))
    return cli_usage_error("bench.beside",
                           "got --beside %s; legal: with --act, --bias, -c, --scale-a, --scale-b "
                           "or -g",
                           plain ? "the product itself" : "with --dynamic, --sweep or -o");
  return CLI_GO;
}

/* What a case of groups has none of. */
static int check_groups(const bench_args *a) {
  hd_product p = hd_bench_product(&a->problem);
  bool file = a->csv || a->resume, drawn = a->random || a->sweep || a->sample;
  bool other = drawn || file || a->dynamic || a->beside || a->promise ||
               !hd_product_is_plain(&p) || p.g;
  if (!a->groups && (a->routing || a->index_schedules.n || a->plain_schedules.n))
    return cli_usage_error("bench.groups", "got --routing, --index-schedule or --plain-schedule "
                                           "without --groups; nearest: --groups 8");
  if (a->groups && other)
    return cli_usage_error("bench.groups",
                           "got --groups with an epilogue, a batch, --random, --sweep, --sample, "
                           "--dynamic, --beside, --weights-ready or a file; legal: with sizes or "
                           "--grid, --routing and schedules");
  return CLI_GO;
}

/* Checked before a device is looked for: a wrong use is one on every machine. */
int bench_check_args(const bench_args *a, hd_bench_options *options, bench_format *format) {
  const cli_number numbers[] = {
      {"-m", a->problem.m, 1, HD_PRODUCT_MOST_SIZE},
      {"-n", a->problem.n, 1, HD_PRODUCT_MOST_SIZE},
      {"-k", a->problem.k, 1, HD_PRODUCT_MOST_SIZE},
      {"-g", a->problem.g, 0, HD_PRODUCT_MOST_SIZE},
      {"--device", a->device, 0, INT32_MAX},
      {"--finalists", a->finalists, 1, INT32_MAX}, {"--jobs", a->jobs, 1, INT32_MAX},
      {"--random", a->random, 0, 100000}, {"--sample", a->sample, 0, 1000},
      {"--seconds", a->seconds, 0, INT32_MAX}, {"--sustained", a->sustained, 100, 60000}};
  int code = cli_check_numbers("bench.number", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  bool many = a->grid || a->random;
  if (a->grid && a->random)
    return cli_usage_error("bench.random", "got --grid and --random; legal: one of them");
  heddle_elem only;
  if (a->only && heddle_elem_parse(a->only, &only) != HEDDLE_OK)
    return cli_usage_error("bench.only", "got \"%s\"; legal: a type, as bf16 or e4m3", a->only);
  if (!bench_format_parse(a->format, format))
    return cli_usage_error("bench.format", "got \"%s\"; legal: table, csv, json", a->format);
  if (a->dynamic && (a->sweep || a->sample || a->schedules.n || a->csv || a->resume ||
                     *format != BENCH_TABLE))
    return cli_usage_error("bench.dynamic", "got --dynamic with schedules, a file or a format of "
                                            "their own; legal: a grid or sizes, and an order");
  if (a->predict && !a->dynamic)
    return cli_usage_error("bench.dynamic", "got --predict without --dynamic; legal: both");
  code = check_groups(a);
  if (code == CLI_GO)
    code = check_epilogue(a);
  if (code != CLI_GO)
    return code;
  bool table = a->dynamic || a->beside; /* of its own */
  const char *promise = a->promise ? a->promise : many && !table ? "both" : "no";
  if (bench_peers_check(a->peers) != CLI_GO || promise_read(promise, &options->promise) != CLI_GO)
    return 2;
  if (a->csv && strcmp(a->csv, "-") == 0)
    return cli_usage_error("bench.file", "got -o -; legal: a file's name, or --format csv");
  if (a->resume && !a->csv)
    return cli_usage_error("bench.file", "got --resume without -o; legal: -o FILE --resume");
  if (a->alone && a->no_alone)
    return cli_usage_error("bench.alone", "got --alone and --no-alone; legal: one of them");
  for (size_t i = 0; i < HD_COUNT(bench_orders); i++)
    if (strcmp(a->order, bench_orders[i]) == 0) {
      bool compared = a->dynamic && i == HD_BENCH_BOTH; /* each with its own */
      options->order = compared ? HD_BENCH_EACH : (hd_bench_order)i;
      return CLI_GO;
    }
  return cli_usage_error("bench.order", "got \"%s\"; legal: both, col, row, each", a->order);
}
