#include "bench_args.h"

#include <stdio.h>
#include <string.h>

#include "bench_peers.h"
#include "promise.h"

const char *const bench_orders[4] = {"both", "col", "row", "each"};

static int read_scale(const char *option, const char *word, bool of_b, char *scale) {
  *scale = word ? *word : 0;
  return !word || strcmp(word, "one") == 0 || strcmp(word, "vector") == 0 ||
                 (of_b && strcmp(word, "sumsq") == 0)
             ? CLI_GO
             : cli_usage_error("bench.epilogue", "got %s %.40s; legal: one, vector%s", option, word,
                               of_b ? ", sumsq" : "");
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
  e->reduce = a->reduce ? hd_product_reduce(a->reduce) : 0;
  if (a->reduce && !e->reduce)
    return cli_usage_error("bench.epilogue", "got --reduce %.40s; legal: absmax, sumsq, scale",
                           a->reduce);
  if (a->aux && !hd_product_read_aux(a->aux, e))
    return cli_usage_error("bench.epilogue",
                           "got --aux %.40s; legal: result or input, and a type, as in input:f32",
                           a->aux);
  bool tiles = a->blocks && strcmp(a->blocks, "128x128") == 0;
  e->blocks = !a->blocks ? 0 : tiles ? 'b' : 'r';
  if (a->blocks && !tiles && strcmp(a->blocks, "1x128") != 0)
    return cli_usage_error("bench.epilogue", "got --blocks %.40s; legal: 128x128, 1x128",
                           a->blocks);
  int code = read_scale("--scale-a", a->scale_a, false, &e->scale_a);
  return code == CLI_GO ? read_scale("--scale-b", a->scale_b, true, &e->scale_b) : code;
}

/* The files and summaries of bench have no columns for an epilogue. */
static int check_epilogue(const bench_args *a) {
  hd_product p = hd_bench_product(&a->problem);
  bool plain = hd_product_is_plain(&p) && !p.g;
  bool many = a->grid && !a->beside && !a->dynamic && !a->groups;
  if (!plain && (a->random || a->csv || a->sample || many))
    return cli_usage_error("bench.epilogue",
                           "got an epilogue or a batch with --random, --sample, -o or a grid; "
                           "legal: one case, or --grid --beside");
  if (a->beside && (plain || a->dynamic || a->sweep || a->csv))
    return cli_usage_error("bench.beside",
                           "got --beside %s; legal: with --act, --bias, -c, --scale-a, --scale-b, "
                           "--blocks or -g",
                           plain ? "the plain product" : "with --dynamic, --sweep or -o");
  return CLI_GO;
}

/* Options that are not available for cases of groups. */
static int check_groups(const bench_args *a) {
  hd_product p = hd_bench_product(&a->problem);
  p.epilogue.blocks = 0; /* the only part of an epilogue that is measured with groups */
  bool file = a->csv || a->resume, drawn = a->random || a->sweep || a->sample;
  bool other = drawn || file || a->dynamic || a->beside || a->promise || a->predecessor ||
               !hd_product_is_plain(&p) || p.g;
  if (!a->groups && (a->routing || a->index_schedules.n || a->plain_schedules.n))
    return cli_usage_error("bench.groups", "got --routing, --index-schedule or --plain-schedule "
                                           "without --groups; nearest: --groups 8");
  if (a->groups && other)
    return cli_usage_error("bench.groups",
                           "got --groups with an epilogue, a batch, --random, --sweep, --sample, "
                           "--dynamic, --beside, --predecessor, --weights-ready or a file; "
                           "legal: with sizes or --grid, --blocks, --routing and schedules");
  return CLI_GO;
}

/* ---- predecessors ---- */

static bool is_word(const char *at, size_t n, const char *word) {
  return strlen(word) == n && strncmp(at, word, n) == 0;
}

static uint32_t bits_of(const char *word, size_t n) {
  uint32_t all = 0;
  for (hd_trigger t = HD_TRIGGER_EARLY; t < HD_N_TRIGGERS; t++) {
    if (is_word(word, n, hd_trigger_name(t)))
      return 1u << t;
    all |= 1u << t;
  }
  return is_word(word, n, "all") ? all : 0;
}

static int read_triggers(const bench_args *a, uint32_t *triggers) {
  *triggers = 0;
  for (const char *at = a->predecessor; at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    uint32_t bits = bits_of(at, n);
    if (!bits)
      return cli_usage_error("bench.predecessor",
                             "got --predecessor %.40s; legal: of early, late, never, with commas "
                             "between; all; nearest: all",
                             a->predecessor);
    *triggers |= bits;
    at += n;
    if (!*at)
      break;
  }
  bool table = a->dynamic || a->beside || a->sweep || a->sample || a->problem.g;
  if (*triggers && table)
    return cli_usage_error("bench.predecessor",
                           "got --predecessor with --dynamic, --beside, --sweep, --sample or -g; "
                           "legal: cases, a grid or --random");
  return CLI_GO;
}

/* ---- slices ---- */

static bool read_slice(const char *text, int *index, int *n) {
  int end = 0;
  return sscanf(text, "%d/%d%n", index, n, &end) == 2 && !text[end] && *n >= 1 && *index >= 1 &&
         *index <= *n;
}

static int check_slice(const bench_args *a) {
  int index, n;
  if (!a->slice || ((a->grid || a->random) && read_slice(a->slice, &index, &n)))
    return CLI_GO;
  return cli_usage_error("bench.slice",
                         "got --slice %.40s%s; legal: I/N, I from 1 to N, of --grid or --random; "
                         "nearest: 1/2",
                         a->slice, a->grid || a->random ? "" : " of one case");
}

void bench_take_slice(const bench_args *a, bench_grid *grid) {
  int index, n;
  int32_t taken = 0;
  if (!a->slice || !read_slice(a->slice, &index, &n))
    return;
  for (int32_t i = index - 1; i < grid->n; i += n)
    grid->list[taken++] = grid->list[i];
  grid->n = taken;
}

/* ---- all ---- */

/* Checked before a device is opened, so that a wrong use fails in the same way on every machine. */
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
  if (a->dynamic && (a->sweep || a->sample || a->csv || a->resume || *format != BENCH_TABLE))
    return cli_usage_error("bench.dynamic", "got --dynamic with --sweep, -o or --format; legal: "
                                            "a grid or sizes, and --order");
  if (a->dynamic && (a->schedules.n > 1 || (a->schedules.n && a->predict)))
    return cli_usage_error("bench.dynamic", "got --dynamic with %s; legal: one --schedule, for "
                                            "both kernels",
                           a->predict ? "--schedule and --predict" : "more than one --schedule");
  if (a->predict && !a->dynamic)
    return cli_usage_error("bench.dynamic", "got --predict without --dynamic; legal: both");
  code = check_groups(a);
  if (code == CLI_GO)
    code = check_epilogue(a);
  if (code == CLI_GO)
    code = read_triggers(a, &options->triggers);
  if (code == CLI_GO)
    code = check_slice(a);
  if (code != CLI_GO)
    return code;
  bool table = a->dynamic || a->beside; /* prints its own table */
  bool both = (many && !table) || options->triggers;
  const char *promise = a->promise ? a->promise : both ? "both" : "no";
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
      bool compared = (a->dynamic || options->triggers) && i == HD_BENCH_BOTH; /* same order */
      options->order = compared ? HD_BENCH_EACH : (hd_bench_order)i;
      return CLI_GO;
    }
  return cli_usage_error("bench.order", "got \"%s\"; legal: both, col, row, each", a->order);
}
