/* heddle tune: finds the fastest schedule of a problem, or of each problem of a grid, by
 * measuring. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/lines.h"
#include "Tune/tune.h"
#include "commands.h"
#include "compile_input.h"
#include "interrupt.h"
#include "promise.h"
#include "sizes.h"
#include "tune_commands.h"
#include "tune_worker_words.h"
#include "tuned_file.h"

static const char about[] =
    "Measures the legal schedules with the least predicted times and records every measurement in\n"
    "--db. Each result is compared with double precision before the schedule is timed. In the\n"
    "last step the fastest schedules and the default run in interleaved rounds; for N >= 1024,\n"
    "where the power cap limits the GPU, each runs alone for a second (--no-sustained:\n"
    "interleaved). The fastest is the choice. run, gen, bench and explain use it with --db FILE.\n"
    "\n"
    "A candidate that crashes, hangs or fails is recorded, and the search continues. If a result\n"
    "is wrong, the exit code is 1. --budget and Ctrl-C stop cleanly, and --resume measures what\n"
    "the records lack, so you can tune in several runs.\n"
    "\n"
    "A choice belongs to the types, sizes, orders and epilogue of the problem, including pairs\n"
    "and batches; a user function, alpha and beta are ignored. Lines of a --grid file are TYPE M "
    "K\n"
    "N [DTYPE [ORDER [weights_ready]]]; # starts a comment. With weights_ready launches overlap,\n"
    "and the product has its own records and choice.\n"
    "\n"
    "Other commands: heddle tune list | merge | export | evaluate | calibrate.";

static const char examples[] =
    "heddle tune examples/linear_bf16.heddle --db mine.db\n"
    "heddle tune --type bf16 -m 28672 -k 4096 -n 333 --d-order col_major --db mine.db\n"
    "heddle tune --type bf16 -m 28672 -k 4096 -n 16 --act swiglu --db mine.db\n"
    "heddle tune --grid docs/bench/llama.grid --budget 300 --resume --db mine.db\n"
    "heddle tune --grid decode.grid --weights-ready both --db mine.db\n"
    "heddle tune --grid few.grid --exhaustive --csv --db sweep.db > sweep.csv\n"
    "heddle tune --grid docs/bench/unseen.grid --compare --resume --budget 500 --db compare.db\n"
    "heddle tune list --db mine.db\n"
    "heddle tune merge --db mine.db theirs.db\n"
    "heddle tune export --db mine.db --choices -o tuned.json\n";

typedef struct tune_args {
  const char *path; /* of the problem; NULL: from flags or grid */
  problem_flags flags;
  const char *grid, *db, *target, *sizes, *ptxas, *cache, *worker, *only, *ceilings, *ready;
  hd_bench_promise promise;
  int64_t budget, deadline, top, finalists, jobs, device, seed;
  bool resume, exhaustive, compare, no_sustained, csv, json;
  sigset_t held; /* signals are held: the tuner ends cleanly when one arrives */
} tune_args;

typedef struct product_list {
  hd_product *list; /* owned */
  int32_t n, cap;
} product_list;

/* ---- what to tune ---- */

/* Adds a product without weights_ready, with it, or both. One that already has it is added once. */
static void add_promised(hd_bench_promise promise, hd_product p, product_list *out) {
  if (promise != HD_BENCH_READY || p.weights_ready)
    HD_PUSH(out->list, out->n, out->cap, p);
  if (promise == HD_BENCH_NO_PROMISE || p.weights_ready)
    return;
  p.weights_ready = true;
  HD_PUSH(out->list, out->n, out->cap, p);
}

static heddle_status read_grid(heddle_context *ctx, const tune_args *a, product_list *out) {
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, a->grid, &text, &n_bytes));
  heddle_status status = HEDDLE_OK;
  hd_lines lines = hd_lines_of(a->grid, text);
  for (char *line; (line = hd_lines_next_entry(&lines));) {
    hd_product p;
    hd_front front = {0};
    status = hd_product_line(ctx, lines.loc, a->target ? a->target : "sm_90a", line, &p);
    if (status == HEDDLE_OK) /* an error before anything is measured, if no kernel supports it */
      status = hd_product_build(ctx, lines.loc, &p, &front);
    if (status != HEDDLE_OK)
      break;
    hd_front_free(&front);
    add_promised(a->promise, p, out);
  }
  hd_free(text);
  if (status == HEDDLE_OK && out->n == 0)
    status = hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = a->grid}, "tune.grid",
                      "the file has no product; legal: TYPE M K N");
  return status;
}

/* Tuning measures matrices without gaps between rows. */
static heddle_status refuse_pitches(heddle_context *ctx, const int64_t size[HD_N_ARG_KINDS]) {
  static const hd_arg_kind pitches[] = {HD_ARG_LDB, HD_ARG_LDC, HD_ARG_LDD};
  for (size_t i = 0; i < HD_COUNT(pitches); i++)
    if (size[pitches[i]])
      return hd_error(
          ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.pitch",
          "got %s = %lld, but tuning measures matrices without padding; legal: M, N and K",
          hd_arg_name(pitches[i]), (long long)size[pitches[i]]);
  return HEDDLE_OK;
}

static heddle_status read_problem(heddle_context *ctx, const tune_args *a, product_list *out) {
  compile_input in = {.path = a->path, .flags = a->flags, .target = a->target, .ptxas = "none"};
  int64_t size[HD_N_ARG_KINDS] = {0};
  hd_product p;
  heddle_status status = compile_input_read(ctx, &in);
  if (status == HEDDLE_OK)
    status = compile_input_sizes(ctx, &in, a->sizes, size);
  const int64_t hint[] = {size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K]};
  if (status == HEDDLE_OK)
    status = refuse_pitches(ctx, size);
  if (status == HEDDLE_OK)
    status = compile_input_product(ctx, &in, hint, &p);
  compile_input_free(&in);
  if (status == HEDDLE_OK)
    add_promised(a->promise, p, out);
  return status;
}

/* ---- telling ---- */

typedef struct teller {
  const tune_args *args;
  double told_at;
  int n_wrong;
} teller;

static void print_csv(const hd_product *p, const hd_record *r) {
  double tflops = r->median > 0 ? hd_product_flops(p) / r->median * 1e-12 : 0;
  printf("%s%s%s,%lld,%lld,%lld,%.3f,%.3f,%.3f,%.1f,%.0f,%d,%.3g,%s,\"heddle %s %s\",%s,1,%s,",
         heddle_elem_get(p->a)->name, p->a == p->b ? "" : "x",
         p->a == p->b ? "" : heddle_elem_get(p->b)->name, (long long)p->m, (long long)p->k,
         (long long)p->n, r->median * 1e6, r->min * 1e6, r->max * 1e6, tflops, r->power_w,
         r->sm_mhz, r->error, hd_verdict_name(r->verdict), p->d_col_major ? "col" : "row",
         r->schedule, heddle_elem_get(p->d)->name, p->weights_ready ? "weights_ready" : "");
  if (r->predicted > 0)
    printf("%.3f", r->predicted * 1e6);
  printf("\n");
}

static void print_json(const hd_choice *c) {
  json_t *object = tune_choice_json(c);
  char *line = json_dumps(object, TUNE_JSON_FORM);
  if (line)
    puts(line);
  hd_free(line);
  json_decref(object);
}

/* Prints " 9.75 us, sustained 10.20 us ". */
static void print_times(double seconds, double sustained) {
  printf("  %.2f us", seconds * 1e6);
  if (sustained > 0)
    printf(", sustained %.2f us", sustained * 1e6);
  printf("  ");
}

static void print_choice(const hd_choice *c) {
  bool other = strcmp(c->schedule, c->default_schedule) != 0;
  printf("%s\n", c->product);
  print_times(c->seconds, c->sustained);
  printf("%s\n", c->schedule);
  print_times(c->default_seconds, c->default_sustained);
  printf("the default%s%s\n  %lld of %lld legal schedules measured\n", other ? ": " : " is it",
         other ? c->default_schedule : "", (long long)c->n_measured, (long long)c->n_legal);
}

static void print_contest(const hd_tune_event *e) {
  const hd_tune_contest *c = e->contest;
  printf("%s: chosen %.3f us, best %.3f us, ratio %.4f, noise %.4f, %lld of %lld measured\n"
         "  chosen %s\n  best   %s\n",
         e->choice->product, c->chosen_seconds * 1e6, c->best_seconds * 1e6,
         c->chosen_seconds / c->best_seconds, c->noise, (long long)c->n_searched,
         (long long)e->n_legal, c->chosen, c->best);
}

static void print_progress(const hd_tune_event *e) {
  char name[HD_PRODUCT_TEXT];
  hd_product_print(e->product, name);
  int left = (int)e->left_seconds;
  fprintf(stderr, "[%d/%d] %s: %lld of %lld measured, best %.2f us, %lld lost, ",
          e->product_index + 1, e->n_products, name, (long long)e->n_measured,
          (long long)e->n_wanted, e->best * 1e6, (long long)e->n_lost);
  if (e->n_alone)
    fprintf(stderr, "%s timed alone, %d of %d, ", e->round ? "second" : "first", e->turn + 1,
            e->n_alone);
  fprintf(stderr, "about %d:%02d left\n", left / 60, left % 60);
}

static bool tell(void *user, const hd_tune_event *e) {
  enum { EVERY_S = 3 };
  teller *t = user;
  bool goes_on = !interrupt_came(&t->args->held);
  t->n_wrong += e->record && e->record->verdict == HD_VERDICT_WRONG;
  if (e->record && !e->record->final && t->args->csv)
    print_csv(e->product, e->record);
  if (e->contest)
    print_contest(e);
  else if (e->choice && t->args->json)
    print_json(e->choice);
  else if (e->choice && !t->args->csv)
    print_choice(e->choice);
  fflush(stdout);
  double now = hd_clock_seconds();
  if (now - t->told_at < EVERY_S && !e->choice)
    return goes_on;
  t->told_at = now;
  print_progress(e);
  return goes_on;
}

/* ---- tuning ---- */

static heddle_status tune_all(heddle_context *ctx, const tune_args *a, const product_list *products,
                              hd_records *records) {
  worker_words words;
  teller t = {.args = a};
  hd_tuned *tuned = NULL;
  heddle_status status =
      worker_words_make(ctx, a->worker, a->device, a->cache, a->ptxas, &words);
  if (status == HEDDLE_OK)
    status = tuned_open_ceilings(ctx, a->ceilings, &tuned);
  hd_tune_options o = {.worker = words.argv,
                       .n_jobs = (int32_t)a->jobs,
                       .deadline_s = (double)a->deadline,
                       .budget_s = (double)a->budget,
                       .n_top = a->top,
                       .n_finalists = (int32_t)a->finalists,
                       .only = a->only,
                       .exhaustive = a->exhaustive || a->compare,
                       .compare = a->compare,
                       .no_sustained = a->no_sustained,
                       .resume = a->resume,
                       .seed = (uint64_t)a->seed,
                       .ceilings = tuned ? hd_tuned_ceilings(tuned) : hd_device_model_of(NULL),
                       .records = records,
                       .tell = tell,
                       .user = &t};
  int32_t n_done;
  if (status == HEDDLE_OK && a->csv) /* bench's columns that one round fills, then the model's */
    printf("type,m,k,n,us,us_min,us_max,tflops,watts,sm_mhz,error,verdict,contender,d_type,rounds,"
           "promise,predicted_us\n");
  if (status == HEDDLE_OK)
    status = hd_tune(ctx, &o, products->list, products->n, &n_done);
  heddle_tuned_free(tuned);
  worker_words_free(&words);
  if (status == HEDDLE_OK && n_done < products->n)
    hd_note(ctx, HD_NOWHERE, "tune.unfinished",
            "%d of %d problems have a choice; continue with --resume", n_done, products->n);
  if (status == HEDDLE_OK && t.n_wrong)
    status = hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "tune.verify",
                      "%d schedules gave a wrong result; see heddle tune list --all", t.n_wrong);
  return status;
}

static heddle_status tune(heddle_context *ctx, tune_args *a) {
  product_list products = {0};
  hd_records *records = NULL;
  heddle_status status =
      a->grid ? read_grid(ctx, a, &products) : read_problem(ctx, a, &products);
  if (status == HEDDLE_OK)
    status = hd_records_open(ctx, a->db, true, &records);
  if (status == HEDDLE_OK)
    status = tune_all(ctx, a, &products, records);
  hd_records_close(records);
  hd_free(products.list);
  return status;
}

/* ---- the command ---- */

static int check_args(tune_args *a) {
  const cli_number numbers[] = {{"--budget", a->budget, 0, INT32_MAX},
                                {"--deadline", a->deadline, 0, 3600},
                                {"--top", a->top, 0, INT32_MAX},
                                {"--finalists", a->finalists, 0, HD_TUNE_MOST_FINALISTS},
                                {"--jobs", a->jobs, 0, HD_TUNE_MOST_JOBS},
                                {"--device", a->device, 0, INT32_MAX}};
  int code = cli_check_numbers("tune.number", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  bool given = a->path || problem_flags_given(&a->flags);
  if (!a->grid == !given)
    return cli_usage_error("tune.input",
                           "got %s; legal: a problem's FILE or options, or --grid FILE",
                           a->grid ? "both a problem and a grid" : "neither a problem nor a grid");
  return promise_read(a->ready, &a->promise);
}

static int tune_main(int argc, char **argv) {
  /* Reserves a processor for this process and one for the measuring process, whose launches must
   * not be delayed. */
  tune_args a = {
      .db = TUNE_DB_DEFAULT, .ready = "no", .seed = 1, .jobs = sysconf(_SC_NPROCESSORS_ONLN) - 2};
  a.jobs = a.jobs < 1 ? 1 : a.jobs > HD_TUNE_MOST_JOBS ? HD_TUNE_MOST_JOBS : a.jobs;
  const cli_option options[] = {
      {"grid", CLI_TEXT, &a.grid, "FILE", "read the problems from a file: lines of TYPE M K N"},
      {"db", CLI_TEXT, &a.db, "FILE", TUNE_DB_ABOUT},
      {"budget", CLI_INT, &a.budget, "SECONDS", "begin no measurement after this time (no limit)"},
      {"resume", CLI_FLAG, &a.resume, NULL, "measure only what the records lack"},
      {"exhaustive", CLI_FLAG, &a.exhaustive, NULL, "measure every legal schedule"},
      {"compare", CLI_FLAG, &a.compare, NULL,
       "measure all, then time the search's choice against the best of all"},
      {"only", CLI_TEXT, &a.only, "KEYS",
       "only schedules with these keys: \"a=desc raster_group=8\""},
      {"top", CLI_INT, &a.top, "N", "measurements for each problem (one in twenty, 8 to 64)"},
      {"finalists", CLI_INT, &a.finalists, "N",
       "contenders in the last step besides the default (6; alone 8)"},
      {"no-sustained", CLI_FLAG, &a.no_sustained, NULL,
       "use interleaved rounds in the last step for N >= 1024, too"},
      {"jobs", CLI_INT, &a.jobs, "N",
       "processes that compile candidates in advance (processors - 2); 0: none"},
      {"deadline", CLI_INT, &a.deadline, "SECONDS", "time limit of a candidate (30)"},
      {"csv", CLI_FLAG, &a.csv, NULL,
       "print one CSV line for each measurement: columns of bench, and predicted_us"},
      {"json", CLI_FLAG, &a.json, NULL, "print one JSON object for each choice"},
      {"size", CLI_TEXT, &a.sizes, "N=512,K=64",
       "the sizes to tune, if they are known only at launch"},
      PROBLEM_SHAPE_OPTIONS(a.flags),
      PROBLEM_OPERAND_OPTIONS(a.flags),
      {"ceilings", CLI_TEXT, &a.ceilings, "FILE", TUNE_CEILINGS_ABOUT},
      {"weights-ready", CLI_TEXT, &a.ready, "W", PROMISE_ABOUT " (no)"},
      {"target", CLI_TEXT, &a.target, "T", "the target (default: the problem's, or sm_90a)"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"seed", CLI_INT, &a.seed, "S", "seed of the operands (1)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH); none: the driver compiles"},
      {"cache", CLI_TEXT, &a.cache, "DIR", "folder of compiled kernels (a temporary one)"},
      {"worker", CLI_TEXT, &a.worker, "COMMAND",
       "use another measuring process (lib/Tune/README.md)"},
      {0}};
  const cli_command command = {
      "tune FILE|PROBLEM | --grid FILE [OPTIONS]", about, examples, options, 0, 1};
  const char *args[1] = {NULL};
  int n_args, code = cli_parse(&command, argc, argv, args, &n_args);
  if (code != CLI_GO)
    return code;
  a.path = args[0];
  code = check_args(&a);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  interrupt_hold(&a.held);
  code = cli_finish(ctx, tune(ctx, &a));
  interrupt_release(&a.held);
  return code;
}

static const struct verb {
  const char *name;
  int (*run)(int argc, char **argv);
} verbs[] = {{"worker", tune_worker},       {"evaluate", tune_evaluate}, {"list", tune_list},
             {"calibrate", tune_calibrate}, {"merge", tune_merge},       {"export", tune_export},
             {"scripted", tune_scripted},   {"lease", tune_lease}};

/* Refuses a misspelt verb: a word that is neither a file nor an option. CLI_GO, or the exit
 * code. */
static int check_verb(const char *word) {
  const char *names[HD_COUNT(verbs)];
  for (size_t i = 0; i < HD_COUNT(verbs); i++)
    names[i] = verbs[i].name;
  const char *nearest = cli_nearest(word, names, HD_COUNT(verbs));
  if (*word == '-' || !cli_is_near(word, nearest) || access(word, F_OK) == 0)
    return CLI_GO;
  return cli_usage_error("tune.verb", "there is no file '%s'; nearest: heddle tune %s",
                         word, nearest);
}

int cmd_tune(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < HD_COUNT(verbs); i++)
    if (strcmp(argv[1], verbs[i].name) == 0)
      return verbs[i].run(argc - 1, argv + 1);
  int code = argc > 1 ? check_verb(argv[1]) : CLI_GO;
  return code == CLI_GO ? tune_main(argc, argv) : code;
}
