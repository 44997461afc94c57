#include "compile_input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Compile/compile_front.h"
#include "Compile/manifest_make.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "heddle/sparse.h"
#include "sizes.h"
#include "tuned_file.h"

/* ---- ptxas ---- */

static heddle_status choose_ptxas(heddle_context *ctx, compile_input *in) {
  if (in->ptxas && !strcmp(in->ptxas, "none"))
    return HEDDLE_OK;
  if (!in->ptxas) {
    in->ptxas_path = compile_find_ptxas();
    return HEDDLE_OK;
  }
  if (access(in->ptxas, X_OK) != 0)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tool.ptxas",
                    "'%s' cannot be run; leave --ptxas out to search PATH", in->ptxas);
  in->ptxas_path = hd_xstrdup(in->ptxas);
  return HEDDLE_OK;
}

/* ---- reading ---- */

heddle_status compile_input_parse(heddle_context *ctx, compile_input *in) {
  if (in->module)
    return HEDDLE_OK;
  HD_TRY(hd_parse(ctx, in->path, in->text, in->text_bytes, &in->module));
  if (!in->name && !in->prefix)
    return HEDDLE_OK;
  hd_op *kernel = hd_find_op(in->module->body, HD_OP_KERNEL);
  const char *own = kernel ? hd_op_str(kernel, HD_ATTR_NAME) : NULL;
  const char *name = hd_arena_printf(&in->module->arena, "%s%s", in->prefix ? in->prefix : "",
                                     in->name ? in->name : own ? own : "");
  if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
          strlen(name) || !*name || (*name >= '0' && *name <= '9'))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "gen.name",
                    "got kernel name \"%.60s\"; legal: a C identifier", name);
  if (kernel)
    hd_op_set_str(in->module, kernel, HD_ATTR_NAME, name);
  return HEDDLE_OK;
}

heddle_status compile_input_front(heddle_context *ctx, compile_input *in) {
  hd_pass_context pass = {.ctx = ctx, .target = in->target};
  if (in->front.module)
    return HEDDLE_OK;
  HD_TRY(compile_input_parse(ctx, in));
  hd_module *module = in->module;
  in->module = NULL;
  return hd_front_read(&pass, module, &in->front);
}

void compile_input_forget(compile_input *in) {
  hd_front_free(&in->front);
  in->entry = NULL;
  in->plan.n = 0;
}

/* Reads FILE, or makes a text from options that describe the problem. */
static heddle_status read_text(heddle_context *ctx, compile_input *in) {
  bool given = problem_flags_given(&in->flags);
  if (in->path && given)
    return hd_error(
        ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option",
        "got %.200s and options of a problem; legal: one of them; nearest: heddle new prints the "
        "text of the options' problem",
        in->path);
  if (in->path)
    return hd_file_read_text(ctx, in->path, &in->text, &in->text_bytes);
  in->path = "command line";
  return problem_flags_text(ctx, &in->flags, in->target, in->name, &in->text, &in->text_bytes);
}

heddle_status compile_input_read(heddle_context *ctx, compile_input *in) {
  HD_TRY(read_text(ctx, in));
  if (in->epilogue)
    HD_TRY(hd_file_read_text(ctx, in->epilogue, &in->epilogue_text, &in->epilogue_bytes));
  if (in->epilogue)
    in->epilogue_worker = find_beside("heddle-epilogue");
  if (!in->cache)
    in->cache = getenv("HEDDLE_CACHE");
  if (in->cache && !*in->cache)
    in->cache = NULL;
  return choose_ptxas(ctx, in);
}

void compile_input_free(compile_input *in) {
  hd_free(in->text);
  hd_free(in->epilogue_text);
  hd_free(in->epilogue_worker);
  hd_free(in->ptxas_path);
  hd_module_free(in->module);
  hd_front_free(&in->front);
  heddle_tuned_free(in->tuned);
}

/* ---- compiling ---- */

static heddle_compile_options options_of(const compile_input *in) {
  return (heddle_compile_options){.target = in->target,
                                  .n_threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN),
                                  .schedule = in->schedule,
                                  .user_epilogue = in->epilogue_text,
                                  .user_epilogue_bytes = in->epilogue_bytes,
                                  .epilogue_worker = in->epilogue_worker,
                                  .ptxas = in->ptxas_path,
                                  .cache = in->cache};
}

/* With many schedules ptxas takes seconds: on a terminal a line says so until clear_progress. */
static void tell_progress(const compile_input *in) {
  const hd_problem *p = &in->front.problem;
  int32_t n = in->plan.n > 1 ? in->plan.n : 1;
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "compiling %s for %s: %d schedule%s%s\r", hd_op_str(p->kernel, HD_ATTR_NAME),
            p->target->name, n, n > 1 ? "s" : "", in->ptxas_path ? ", then ptxas" : "");
}

static void clear_progress(void) {
  if (isatty(STDERR_FILENO))
    fputs("\033[K", stderr);
}

heddle_status compile_input_compile(heddle_context *ctx, compile_input *in, trial_kernel *kernel) {
  heddle_compile_options options = options_of(in);
  HD_TRY(compile_input_front(ctx, in));
  hd_chosen chosen = {.plan = in->plan, .tuned = in->tuned};
  memcpy(chosen.hint_mnk, in->hint_mnk, sizeof chosen.hint_mnk);
  tell_progress(in);
  heddle_status status = hd_compile_front(ctx, &in->front, in->plan.n ? &chosen : NULL, &options,
                                          &kernel->compiled);
  clear_progress();
  HD_TRY(status);
  if (in->plan.n && chosen.fell_back[0] && chosen.plan.n == 1)
    in->entry = NULL; /* a schedule other than the measured one was compiled */
  in->plan = chosen.plan;
  return trial_kernel_open(ctx, kernel);
}

heddle_status compile_input_text(heddle_context *ctx, const compile_input *in, const char *text,
                                 const char *schedule, trial_kernel *kernel) {
  heddle_compile_options options = options_of(in);
  options.schedule = schedule;
  return trial_kernel_compile(ctx, in->path, text, strlen(text), &options, kernel);
}

/* ---- the product, and its tuned choices ---- */

heddle_status compile_input_sizes(heddle_context *ctx, compile_input *in, const char *text,
                                  int64_t size[HD_N_ARG_KINDS]) {
  hd_manifest arguments = {0};
  if (!text)
    return HEDDLE_OK;
  HD_TRY(sizes_read(ctx, text, size));
  HD_TRY(compile_input_front(ctx, in));
  hd_manifest_args(&in->front.problem, false, &arguments);
  return trial_check_sizes(ctx, &arguments, size);
}

heddle_status compile_input_product(heddle_context *ctx, compile_input *in,
                                    const int64_t hint_mnk[3], hd_product *product) {
  HD_TRY(compile_input_front(ctx, in));
  const hd_problem *p = &in->front.problem;
  if (p->block && !hd_scales_promoted(p))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "tune.block-scale",
                    "a product with block scales cannot be measured; legal: --schedule, as `heddle "
                    "explain` prints it");
  if (hd_is_batch(p) && !p->g.value && !hd_is_grouped(p))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->g.op->loc, "tune.batch",
                    "a batch whose g is known only at launch cannot be measured; legal: a fixed g, "
                    "as -g 8");
  if (p->user || p->alpha || p->beta)
    hd_note(ctx, p->epilogue->loc, "tune.epilogue",
            "the measurement leaves out %s, which do%s not change the best tile",
            p->user ? "the user function" : "alpha and beta", p->user ? "es" : "");
  if (p->gather || p->scatter || p->combine)
    hd_note(ctx, p->offsets->loc, "tune.groups",
            "the measurement leaves out indices of columns; a choice that they rule out is not "
            "used");
  *product = hd_product_of(p, hint_mnk);
  return HEDDLE_OK;
}

/* ---- choosing ---- */

/* Parses "N=16,64,512" or "N=..16,17..64" to upper limits. */
static heddle_status read_borders(heddle_context *ctx, const char *text, char dim,
                                  int64_t border[HD_MOST_BUCKETS], int32_t *n) {
  const char *at = text;
  bool ok = (at[0] | 0x20) == dim && at[1] == '=';
  for (at += ok ? 2 : 0; ok && *at; at += *at == ',') {
    char *end;
    const char *dots = strstr(at, "..");
    if (dots && dots < at + strcspn(at, ","))
      at = dots + 2;
    if (!*at || *at == ',') /* "513..": all larger sizes */
      break;
    ok = *n + 1 < HD_MOST_BUCKETS;
    int64_t to = strtoll(at, &end, 10);
    ok = ok && end != at && (!*end || *end == ',') && to >= 1 && (!*n || to > border[*n - 1]);
    if (ok)
      border[(*n)++] = to;
    at = end;
  }
  if (ok && *n)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "buckets.borders",
                  "got \"%.60s\"; legal: auto, none, or up to %d increasing limits; nearest: "
                  "%c=16,64,512",
                  text, HD_MOST_BUCKETS - 1, dim - 0x20);
}

/* Parses "1:0.5,512:0.3"; the default weight is 1. */
static heddle_status read_typical(heddle_context *ctx, const char *text,
                                  hd_typical_size list[HD_MOST_TYPICAL], int32_t *n) {
  bool ok = *text != '\0';
  for (const char *at = text; ok && *at; at += *at == ',') {
    char *end;
    hd_typical_size t = {strtoll(at, &end, 10), 1};
    ok = end != at && t.size >= 1 && t.size <= INT32_MAX && *n < HD_MOST_TYPICAL &&
         (!*n || t.size > list[*n - 1].size);
    if (ok && *end == ':')
      t.weight = strtod(at = end + 1, &end);
    ok = ok && end != at && isfinite(t.weight) && t.weight > 0 && (!*end || *end == ',');
    if (ok)
      list[(*n)++] = t;
    at = end;
  }
  return ok ? HEDDLE_OK
            : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "buckets.typical",
                       "got \"%.60s\"; legal: up to %d increasing sizes, each with a weight above "
                       "0; nearest: 1:0.5,512:0.3",
                       text, HD_MOST_TYPICAL);
}

static heddle_status choose_buckets(heddle_context *ctx, compile_input *in, const int64_t hint[3]) {
  int64_t border[HD_MOST_BUCKETS];
  char dim = hd_bucket_dim(&in->front.problem);
  int64_t asked = hint[dim == 'n'];
  hd_schedule s;
  hd_typical_size typical[HD_MOST_TYPICAL];
  hd_bucket_options options = {.tuned = in->tuned, .typical = typical};
  if (in->typical)
    HD_TRY(read_typical(ctx, in->typical, typical, &options.n_typical));
  memcpy(options.hint_mnk, hint, sizeof options.hint_mnk);
  if (in->buckets && strcmp(in->buckets, "auto") != 0) {
    HD_TRY(read_borders(ctx, in->buckets, dim, border, &options.n_borders));
    options.border = border;
  }
  HD_TRY(hd_bucket_choose(ctx, &in->front, &options, &in->plan));
  if (!asked)
    return HEDDLE_OK;
  /* Sets in->entry if the bucket of the given size has the schedule that was measured for it. */
  HD_TRY(hd_choose_for_sizes(ctx, &in->front, in->tuned, hint, NULL, &in->entry, &s));
  if (!hd_schedule_equals(&s, &hd_bucket_plan_find(&in->plan, asked)->words.value))
    in->entry = NULL;
  return HEDDLE_OK;
}

/* Notes features of the chip that need the target name with the letter 'a'. */
static void note_feature(heddle_context *ctx, const hd_problem *p) {
  static const struct {
    const char *plain, *has;
  } features[] = {{"sm_90", "wgmma.mma_async.sp"},
                  {"sm_100", "tcgen05.mma.sp"},
                  {"sm_103", "tcgen05.mma.sp"},
                  {"sm_120", "mma.sp of fp8, fp6, fp4 types"},
                  {"sm_121", "mma.sp of fp8, fp6, fp4 types"}};
  for (size_t i = 0; i < HD_COUNT(features); i++)
    if (strcmp(p->target->name, features[i].plain) == 0)
      hd_note(ctx, p->kernel->loc, "target.feature",
              "%s is portable to later chips; %s needs the target %sa", features[i].plain,
              features[i].has, features[i].plain);
}

/* Reports the lookup to the service, and whether an exact choice was missing. */
static void report_use(const compile_input *in, const int64_t hint[3]) {
  const hd_problem *p = &in->front.problem;
  if (!in->service.server || !in->tuned || (p->block && !hd_scales_promoted(p)))
    return;
  char key[HD_PRODUCT_TEXT];
  hd_product product = hd_product_of(p, hint);
  hd_product_print(&product, key);
  service_report(&in->service, key, !hd_tune_lookup(in->tuned, &product));
}

heddle_status compile_input_choose(heddle_context *ctx, compile_input *in,
                                   const int64_t size[HD_N_ARG_KINDS], bool one_size) {
  const int64_t hint[] = {size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K]};
  memcpy(in->hint_mnk, hint, sizeof in->hint_mnk);
  HD_TRY(compile_input_front(ctx, in));
  if (in->schedule)
    return HEDDLE_OK;
  if (!in->no_tuned && !in->tuned)
    HD_TRY(tuned_open_from(ctx, in->db, &in->service, &in->tuned));
  const hd_problem *p = &in->front.problem;
  note_feature(ctx, p);
  if (hd_op_has(p->kernel, HD_ATTR_SCHEDULE) || in->front.module->level != HD_LEVEL_PROBLEM)
    return HEDDLE_OK;
  char dim = hd_bucket_dim(p);
  bool one = !dim || (in->buckets && !strcmp(in->buckets, "none")) ||
             (one_size && hint[dim == 'n'] && !in->buckets);
  report_use(in, hint);
  if (!one)
    return choose_buckets(ctx, in, hint);
  hd_schedule s;
  HD_TRY(hd_choose_for_sizes(ctx, &in->front, in->tuned, hint, NULL, &in->entry, &s));
  in->plan = (hd_bucket_plan){.n = 1, .list[0].words = hd_schedule_all_words(&s)};
  return HEDDLE_OK;
}

void compile_input_keep_one(compile_input *in) {
  int64_t asked = in->hint_mnk[hd_dim_index(*in->plan.dim)];
  if (in->plan.n < 2 || in->buckets || !asked)
    return;
  hd_bucket one = {.words = hd_bucket_plan_find(&in->plan, asked)->words};
  in->plan = (hd_bucket_plan){.n = 1, .list[0] = one};
}

heddle_status compile_packed_bytes(heddle_context *ctx, const hd_manifest *manifest, int64_t m,
                                   int64_t k, size_t *n_bytes) {
  return heddle_sparse_packed_bytes(ctx, manifest->a_elem, trial_kernel_family(manifest),
                                    (uint64_t)m, (uint64_t)k, n_bytes);
}
