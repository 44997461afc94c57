/* heddle/jit.h: ranges of a size, each compiled and loaded once. */
#include <string.h>

#include "Choice/bucket_choose.h"
#include "Compile/bucket_kernels.h"
#include "Compile/manifest_make.h"
#include "IR/public_module.h"
#include "Jit/jit_range.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/parallel.h"

/* ---- planning ---- */

static const char *copy_text(hd_arena *arena, const char *text) {
  return text ? hd_arena_strdup(arena, text) : NULL;
}

static void copy_options(heddle_jit *jit, const heddle_compile_options *from) {
  heddle_compile_options *to = &jit->compile;
  *to = *from;
  to->target = copy_text(&jit->arena, from->target);
  if (from->user_epilogue)
    to->user_epilogue = hd_arena_copy(&jit->arena, from->user_epilogue, from->user_epilogue_bytes);
  to->ptxas = copy_text(&jit->arena, from->ptxas);
  to->cache = copy_text(&jit->arena, from->cache);
  to->epilogue_worker = copy_text(&jit->arena, from->epilogue_worker);
  to->schedule = NULL;
  to->schedule_is_choice = false;
}

/* Plans the ranges by the options' schedule, or by Heddle's choice. Plans one range if the problem
 * names its schedule, or if no size is open. */
static heddle_status plan_ranges(heddle_context *ctx, heddle_jit *jit, const hd_front *front,
                                 const heddle_compile_options *o, hd_bucket_plan *plan) {
  const hd_problem *p = &front->problem;
  const char *own = hd_op_str(p->kernel, HD_ATTR_SCHEDULE);
  bool named = o->schedule && *o->schedule;
  *plan = (hd_bucket_plan){.n = 1};
  jit->is_choice = front->module->level == HD_LEVEL_PROBLEM && !(own && *own) &&
                   (!named || o->schedule_is_choice);
  jit->has_words = named;
  if (named)
    return hd_bucket_plan_parse(ctx, p->kernel->loc, o->schedule, plan);
  if (!jit->is_choice)
    return HEDDLE_OK;
  const hd_bucket_options options = {.tuned = o->tuned};
  if (hd_bucket_dim(p))
    return hd_bucket_choose(ctx, front, &options, plan);
  static const int64_t fixed[3];
  const hd_tuned_entry *entry;
  hd_schedule s;
  HD_TRY(hd_choose_for_sizes(ctx, front, o->tuned, fixed, NULL, &entry, &s));
  plan->list[0].words = hd_schedule_all_words(&s);
  return HEDDLE_OK;
}

static bool same_words(const hd_schedule_words *x, const hd_schedule_words *y) {
  char text[2][HD_SCHEDULE_TEXT];
  hd_schedule_print_words(x, text[0]);
  hd_schedule_print_words(y, text[1]);
  return strcmp(text[0], text[1]) == 0;
}

static void make_ranges(heddle_jit *jit, const hd_bucket_plan *plan) {
  jit->dim = plan->n > 1 ? plan->dim[0] : 0;
  for (int32_t i = 0; i < plan->n; i++) {
    hd_jit_range *r = &jit->range[jit->n_ranges++];
    r->to = plan->list[i].to;
    r->hint = r->to ? r->to : i ? plan->list[i - 1].to + 1 : 0;
    r->words = plan->list[i].words;
    pthread_mutex_init(&r->lock, NULL);
    for (int32_t j = 0; j < i && !r->same; j++)
      if (!jit->range[j].same && same_words(&jit->range[j].words, &r->words))
        r->same = &jit->range[j];
  }
}

/* Finds what all ranges must share, from the plans of all: the format of A and the workspace. Runs
 * the passes on the front up to select_operand_path. */
static heddle_status find_common(heddle_context *ctx, heddle_jit *jit, hd_front *front,
                                 const hd_bucket_plan *plan) {
  static const char last[] = "select_operand_path";
  hd_pass_context pass = {.ctx = ctx};
  const hd_problem *p = &front->problem;
  const char *own = hd_op_str(p->kernel, HD_ATTR_SCHEDULE);
  hd_bucket_plan said;
  if (own && hd_bucket_plan_is(own)) {
    HD_TRY(hd_bucket_plan_parse(ctx, p->kernel->loc, own, &said));
    plan = &said;
  }
  if (front->module->level == HD_LEVEL_PROBLEM)
    HD_TRY(hd_bucket_kernels(ctx, front->module, plan));
  HD_TRY(hd_front_choose(&pass, front));
  if (strcmp(front->last_pass, last) != 0)
    HD_TRY(hd_run_pipeline(&pass, front->module,
                           &(hd_pipeline_options){.start_after = front->last_pass,
                                                  .stop_after = last}));
  jit->family = hd_manifest_family(p, &front->schedule);
  jit->records = hd_records_of(front->module);
  for (const hd_plan *of = front->module->plans; of; of = of->next)
    jit->copies |= of->s.b_path == HD_B_COPIED;
  if (jit->records.bytes && jit->copies)
    return hd_refuse_copied_split(ctx, p, "range");
  if (jit->records.bytes)
    hd_records_set(jit->module, jit->module->body->first, jit->records);
  return HEDDLE_OK;
}

/* Copies the problem. The kernels of the plan do without weights_ready; with it each gets another
 * one besides. */
static heddle_status copy_problem(heddle_context *ctx, heddle_jit *jit, const hd_module *from,
                                  hd_module **problem) {
  HD_TRY(hd_module_copy(ctx, from, &jit->module));
  hd_op *kernel = jit->module->body->first;
  jit->overlaps =
      from->level == HD_LEVEL_PROBLEM && kernel && hd_op_has(kernel, HD_ATTR_WEIGHTS_READY);
  if (jit->overlaps)
    hd_op_remove_attr(kernel, HD_ATTR_WEIGHTS_READY);
  return hd_module_copy(ctx, jit->module, problem);
}

static heddle_status plan_all(heddle_context *ctx, heddle_jit *jit, const heddle_module *module,
                              const heddle_compile_options *o) {
  hd_pass_context pass = {.ctx = ctx, .target = o->target};
  hd_manifest manifest = {0};
  hd_bucket_plan plan;
  hd_module *problem;
  hd_front front;
  HD_TRY(copy_problem(ctx, jit, module->ir, &problem));
  HD_TRY(hd_front_read(&pass, problem, &front));
  heddle_status status = plan_ranges(ctx, jit, &front, o, &plan);
  if (status == HEDDLE_OK) {
    make_ranges(jit, &plan);
    hd_manifest_args(&front.problem, true, &manifest);
    for (int32_t i = 0; i < manifest.n_args; i++)
      if (hd_arg_is_passed(&manifest.arg[i]))
        jit->passed[jit->n_passed++] = manifest.arg[i].kind;
    status = find_common(ctx, jit, &front, &plan);
  }
  hd_front_free(&front);
  return status;
}

/* ---- compiling all ranges in parallel ---- */

typedef struct eager {
  heddle_jit *jit;
  heddle_context *said[HD_MOST_BUCKETS];
  heddle_status status[HD_MOST_BUCKETS];
} eager;

static void make_one(void *user, int32_t i) {
  eager *e = user;
  heddle_kernel *kernel;
  const hd_driver *cu = &e->jit->runtime->cu;
  if (e->jit->range[i].same)
    return;
  e->said[i] = heddle_context_create();
  e->status[i] = hd_driver_check(e->said[i], cu, cu->context_set(e->jit->context), "context_set");
  if (e->status[i] == HEDDLE_OK)
    e->status[i] = hd_jit_range_get(e->said[i], e->jit, &e->jit->range[i], &kernel);
}

static heddle_status make_all(heddle_context *ctx, heddle_jit *jit, int32_t n_threads) {
  eager e = {.jit = jit};
  heddle_status first = HEDDLE_OK;
  hd_parallel(n_threads, jit->n_ranges, make_one, &e);
  for (int32_t i = 0; i < jit->n_ranges; i++) {
    if (!e.said[i]) /* uses the kernel of another range */
      continue;
    if (first == HEDDLE_OK)
      first = hd_jit_say_again(ctx, e.status[i], e.said[i]);
    heddle_context_free(e.said[i]);
  }
  return first;
}

/* ---- public functions ---- */

static heddle_status create(heddle_context *ctx, heddle_jit *jit, const heddle_module *module,
                            const heddle_jit_options *options) {
  HD_CU_TRY(ctx, jit->runtime, context_get, &jit->context);
  if (!jit->context)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "jit.context",
                    "no CUDA context is current on this thread; make one current first "
                    "(cudaSetDevice, cuCtxSetCurrent or heddle_device_use)");
  copy_options(jit, &options->compile);
  HD_TRY(plan_all(ctx, jit, module, &options->compile));
  return options->lazy ? HEDDLE_OK : make_all(ctx, jit, options->n_threads);
}

heddle_status heddle_jit_create(heddle_context *ctx, const heddle_runtime *runtime,
                                const heddle_module *module, const heddle_jit_options *options,
                                heddle_jit **jit) {
  static const heddle_jit_options defaults = {0};
  uint64_t before = hd_memory_shortages();
  heddle_jit *made = hd_try_zalloc(ctx, sizeof *made, "kernels by range");
  if (!made)
    return HEDDLE_NO_MEMORY;
  made->runtime = runtime;
  pthread_mutex_init(&made->lock, NULL);
  heddle_status status = create(ctx, made, module, options ? options : &defaults);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *jit = made;
  else
    heddle_jit_free(made);
  return status;
}

void heddle_jit_free(heddle_jit *jit) {
  if (!jit)
    return;
  for (int32_t i = 0; i < jit->n_ranges; i++) {
    heddle_kernel_free(atomic_load(&jit->range[i].kernel));
    hd_free(jit->range[i].schedule);
    pthread_mutex_destroy(&jit->range[i].lock);
  }
  pthread_mutex_destroy(&jit->lock);
  hd_module_free(jit->module);
  hd_arena_free(&jit->arena);
  hd_free(jit);
}

static hd_jit_range *find_range(heddle_jit *jit, int64_t size) {
  int32_t i = 0;
  while (i + 1 < jit->n_ranges && size > jit->range[i].to)
    i++;
  return &jit->range[i];
}

heddle_status heddle_jit_prepare(heddle_context *ctx, heddle_jit *jit, const int64_t size_mnk[3]) {
  heddle_kernel *kernel;
  int64_t size = jit->dim ? size_mnk[hd_dim_index(jit->dim)] : 0;
  return hd_jit_range_get(ctx, jit, find_range(jit, size), &kernel);
}

static heddle_status gather(heddle_context *ctx, const heddle_jit *jit, const heddle_arg *args,
                            size_t n_args, hd_values *values) {
  if (n_args != (size_t)jit->n_passed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.args",
                    "got %zu arguments; legal: %d, as heddle_jit_arg_name has them", n_args,
                    jit->n_passed);
  memset(values, 0, sizeof *values);
  for (size_t i = 0; i < n_args; i++)
    values->v[jit->passed[i]] = hd_arg_bits(hd_arg_class_of(jit->passed[i]), args[i]);
  return HEDDLE_OK;
}

static hd_jit_range *range_of(heddle_jit *jit, const hd_values *values) {
  hd_arg_kind kind = jit->dim == 'm' ? HD_ARG_M : jit->dim == 'n' ? HD_ARG_N : HD_ARG_K;
  return find_range(jit, jit->dim ? (int64_t)values->v[kind] : 0);
}

heddle_status heddle_jit_workspace(heddle_context *ctx, heddle_jit *jit, const heddle_arg *args,
                                   size_t n_args, uint64_t *n_bytes) {
  hd_values values;
  heddle_kernel *kernel;
  HD_TRY(gather(ctx, jit, args, n_args, &values));
  HD_TRY(hd_jit_range_get(ctx, jit, range_of(jit, &values), &kernel));
  return hd_kernel_workspace_values(ctx, kernel, &values, n_bytes);
}

heddle_status heddle_jit_launch(heddle_context *ctx, heddle_jit *jit, const heddle_arg *args,
                                size_t n_args, void *stream) {
  hd_values values;
  HD_TRY(gather(ctx, jit, args, n_args, &values));
  hd_jit_range *range = range_of(jit, &values);
  heddle_kernel *kernel = atomic_load(&(range->same ? range->same : range)->kernel);
  if (!kernel) {
    int capturing = 0;
    HD_CU_TRY(ctx, jit->runtime, capture_status, stream, &capturing);
    if (capturing)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "jit.capture",
                      "the kernel for this size is not compiled, and cannot be compiled during "
                      "stream capture; nearest: heddle_jit_prepare before the capture");
    HD_TRY(hd_jit_range_get(ctx, jit, range, &kernel));
  }
  return hd_kernel_launch_values(ctx, kernel, &values, stream);
}

/* ---- queries ---- */

size_t heddle_jit_arg_count(const heddle_jit *jit) { return (size_t)jit->n_passed; }

const char *heddle_jit_arg_name(const heddle_jit *jit, size_t i) {
  return i < (size_t)jit->n_passed ? hd_arg_name(jit->passed[i]) : NULL;
}

heddle_arg_class heddle_jit_arg_class(const heddle_jit *jit, size_t i) {
  return i < (size_t)jit->n_passed ? hd_arg_class_of(jit->passed[i]) : HEDDLE_CLASS_I64;
}

const char *heddle_jit_family(const heddle_jit *jit) { return jit->family; }

size_t heddle_jit_range_count(const heddle_jit *jit) { return (size_t)jit->n_ranges; }

heddle_status heddle_jit_get_range(const heddle_jit *jit, size_t index, heddle_jit_range *range) {
  if (index >= (size_t)jit->n_ranges)
    return HEDDLE_INVALID;
  const hd_jit_range *own = &jit->range[index], *r = own->same ? own->same : own;
  bool is_ready = atomic_load(&r->kernel) != NULL;
  *range = (heddle_jit_range){own->to, is_ready, is_ready ? r->schedule : NULL};
  return HEDDLE_OK;
}
