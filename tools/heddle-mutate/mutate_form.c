#include <stdio.h>
#include <string.h>

#include "Compile/combine_kernel.h"
#include "Compile/manifest_make.h"
#include "Emit/emit.h"
#include "Passes/front.h"
#include "Passes/plan.h"
#include "Reference/routing.h"
#include "Support/activations.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "mutate.h"

enum { STAGES = 3, RAGGED = 3, RESIDENT = 2, BOX = 64, PRODUCTS = 2, GROUPS = 3, TOKENS = 40 };

/* A problem and its schedule. */
typedef struct source {
  heddle_context *ctx;
  const char *name;
  char *text, *user_ir; /* owned */
  size_t text_bytes, user_ir_bytes;
  hd_module *module; /* owned: problem level, with small sizes */
  hd_problem problem;
  hd_schedule schedule;
  char schedule_text[HD_SCHEDULE_TEXT];
  trial_request request; /* the launch, with values for sizes that the problem leaves open */
  const char *path;      /* of the example; NULL: drawn at random */
  int64_t only;          /* the index of a kernel, modulo their number; -1: all */
} source;

/* --- small instances ------------------------------------------------------------------------ */

static bool is_permuted(const source *s) { return s->schedule.store == HD_STORE_PERMUTED; }

static bool in_tensor_memory(const source *s) { return hd_schedule_is_tensor(&s->schedule); }

static bool is_in_parts(const source *s) {
  return s->schedule.split_k > 1 || s->schedule.stream_k;
}

/* Whole panels of a transposed B; two groups of permuted columns per CTA; in tensor memory, what
 * fits beside the other parts. */
static int32_t small_tile_n(const source *s) {
  if (s->problem.b.transposed)
    return HD_K_BLOCK_BYTES / 2 * s->schedule.cluster;
  if (is_permuted(s))
    return 8 * hd_d_run(&s->problem) * s->schedule.cluster;
  return in_tensor_memory(s) && is_in_parts(s) && !s->problem.block ? 32 : 64;
}

/* One slab; in tensor memory 128 lanes; with a statistic its rows. */
static int32_t small_tile_m(const source *s) {
  if (s->problem.reduce)
    return hd_reduce_rows(&s->problem);
  return in_tensor_memory(s) ? 128 : 64;
}

/* Leaves keys that depend on the tile to the compiler. */
static void print_small(source *s) {
  hd_schedule_words small = {.value = s->schedule, .given = (1u << HD_N_KEYS) - 1};
  static const hd_key follows[] = {HD_KEY_WARPS, HD_KEY_CLUSTER_LAUNCH, HD_KEY_CTAS_PER_SM};
  for (size_t i = 0; i < HD_COUNT(follows); i++)
    small.given &= ~(1u << follows[i]);
  small.value.tile_m = small_tile_m(s);
  small.value.tile_n = small_tile_n(s);
  small.value.stages = STAGES;
  small.value.b_path = HD_B_AUTO;
  small.value.split_k = s->schedule.split_k < 2 ? 1 : 2;
  hd_schedule_print_words(&small, s->schedule_text);
}

/* Chooses the shipped schedule, with the smallest tile that has all of its parts. */
static heddle_status choose_schedule(source *s, const char *text) {
  hd_pass_context pass = {.ctx = s->ctx, .schedule_text = text};
  hd_front probe;
  HD_TRY(hd_front_read(&pass, hd_module_clone(s->module), &probe));
  heddle_status status = hd_front_choose(&pass, &probe);
  s->problem = probe.problem;
  s->schedule = probe.schedule;
  if (status == HEDDLE_OK && text)
    hd_schedule_print(&s->schedule, s->schedule_text);
  else if (status == HEDDLE_OK)
    print_small(s);
  hd_front_free(&probe);
  return status;
}

/* Tiles for two CTAs: one of them gets two, so that the ring continues; three if there are two sets
 * of accumulators. */
static int64_t n_tiles(const source *s) {
  if (!s->schedule.persistent)
    return 1;
  return in_tensor_memory(s) ? 5 : 3;
}

/* k: enough k-blocks per split for every slot and phase, the last one ragged, and one more with
 * split-K, for odd and even counts. n: leaves boxes of B past N if a tile has several. g: few
 * products of a batch, or few groups, of which one ends within a tile. */
static int64_t small_size(const source *s, const char *dim) {
  int32_t k_block = hd_k_block_size(s->problem.a_elem), splits = s->schedule.split_k;
  int64_t trips = 2 * s->schedule.stages + 1;
  if (*dim == 'g')
    return hd_is_grouped(&s->problem) ? GROUPS : PRODUCTS;
  if (*dim == 't')
    return TOKENS;
  if (*dim == 'k')
    return (trips * splits + (splits > 1)) * k_block - k_block / 2;
  if (*dim == 'm')
    return s->schedule.tile_m * s->schedule.cluster -
           (s->problem.pair ? 2 * HD_PAIR_ROWS : RAGGED); /* gate and up stay whole */
  int32_t ragged = is_permuted(s) ? 4 * hd_d_run(&s->problem) : 8;
  int32_t past = s->schedule.tile_n > BOX ? s->schedule.tile_n / 2 : 0;
  return n_tiles(s) * s->schedule.tile_n - past - ragged;
}

static void shrink_sizes(source *s) {
  HD_FOR_OPS(op, s->module->body->first->regions[0]) {
    if (op->kind == HD_OP_SIZE && hd_op_has(op, HD_ATTR_VALUE)) {
      hd_op_remove_attr(op, HD_ATTR_DIVISIBLE_BY);
      hd_op_set_int(s->module, op, HD_ATTR_VALUE, small_size(s, hd_op_str(op, HD_ATTR_DIM)));
    }
    hd_op_remove_attr(op, HD_ATTR_LD);
  }
}

/* --- reading -------------------------------------------------------------------------------- */

/* Reads the user's epilogue, NAME.ll next to the example. */
static void read_epilogue(source *s, const char *example) {
  const char *dot = strrchr(example, '.');
  hd_strbuf path = {0};
  hd_strbuf_addn(&path, example, dot ? (size_t)(dot - example) : strlen(example));
  hd_strbuf_add(&path, ".ll");
  heddle_context *quiet = heddle_context_create();
  if (hd_file_read_text(quiet, hd_strbuf_text(&path), &s->user_ir, &s->user_ir_bytes) != HEDDLE_OK)
    s->user_ir = NULL;
  heddle_context_free(quiet);
  hd_strbuf_free(&path);
}

static void set_sizes(source *s) {
  static const struct {
    hd_arg_kind kind;
    const char *dim;
  } sizes[] = {{HD_ARG_M, "m"}, {HD_ARG_N, "n"}, {HD_ARG_K, "k"}, {HD_ARG_G, "g"},
               {HD_ARG_T, "t"}};
  for (size_t i = 0; i < HD_COUNT(sizes); i++) {
    const hd_size *size = hd_problem_size(&s->problem, sizes[i].kind);
    s->request.size[sizes[i].kind] = size->value || !size->op ? 0 : small_size(s, sizes[i].dim);
  }
  if (hd_is_grouped(&s->problem))
    s->request.routing = hd_routing_name(HD_ROUTING_ZIPF);
}

static heddle_status read_example(source *s, const char *path, const char *schedule) {
  HD_TRY(hd_file_read_text(s->ctx, path, &s->text, &s->text_bytes));
  HD_TRY(hd_parse(s->ctx, path, s->text, s->text_bytes, &s->module));
  if (!s->module->body->first || s->module->level != HD_LEVEL_PROBLEM)
    return hd_error(s->ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "mutate.level",
                    "got no kernel at problem level; legal: a problem's FILE");
  read_epilogue(s, path);
  HD_TRY(choose_schedule(s, schedule));
  hd_schedule_words words = {0};
  HD_TRY(hd_schedule_parse(s->ctx, HD_NOWHERE, s->schedule_text, &words));
  hd_schedule_apply(&words, &s->schedule);
  set_sizes(s);
  shrink_sizes(s);
  return HEDDLE_OK;
}

static void free_source(source *s) {
  hd_module_free(s->module);
  hd_free(s->text);
  hd_free(s->user_ir);
}

/* --- one kernel ----------------------------------------------------------------------------- */

static hd_module *only_kernel(const hd_module *all, int32_t index) {
  hd_module *one = hd_module_clone(all);
  int32_t i = 0;
  HD_FOR_OPS(kernel, one->body)
    if (i++ != index)
      hd_op_erase(kernel);
  return one;
}

static heddle_status emit_module(heddle_context *ctx, const mutate_form *form,
                                 const hd_module *module, hd_emit_result *result) {
  hd_emit_options options = {.user = {form->user_ir, form->user_ir_bytes, NULL}};
  return hd_emit_ptx(ctx, module, &options, result);
}

heddle_status mutate_emit(heddle_context *ctx, const mutate_form *form, const hd_module *module,
                          char **ptx) {
  hd_emit_result result = {0};
  HD_TRY(emit_module(ctx, form, module, &result));
  *ptx = result.ptx;
  result.ptx = NULL;
  hd_emit_result_free(&result);
  return HEDDLE_OK;
}

/* The number of concurrent CTAs. Two clusters if partial sums meet in the workspace: those of a
 * single cluster arrive in order whatever the scope of an atomic is. */
static uint32_t resident_of(const hd_schedule *s) {
  bool meet = (s->split_k > 1 && s->reduce == HD_REDUCE_WORKSPACE) || s->stream_k;
  return RESIDENT * (meet ? (uint32_t)s->cluster : 1);
}

static heddle_status fill_form(const source *s, const hd_plan *plan, mutate_form *form) {
  hd_emit_result result = {0};
  HD_TRY(emit_module(s->ctx, form, form->module, &result));
  const hd_plan *const plans[] = {plan, NULL}; /* NULL: of the combining kernel */
  heddle_status status = hd_manifest_make(s->ctx, &plan->p, plans, &result, (hd_hash){0},
                                          &form->arena, &form->manifest);
  form->ptx = result.ptx;
  result.ptx = NULL;
  hd_emit_result_free(&result);
  form->request = s->request;
  form->request.bare = true;
  form->resident = resident_of(&s->schedule);
  form->path = s->path;
  return status;
}

static void free_form(mutate_form *form) {
  hd_module_free(form->module);
  hd_arena_free(&form->arena);
  hd_free(form->ptx);
}

static heddle_status visit_kernels(source *s, hd_module *role, mutate_visit *visit, void *user) {
  int32_t i = 0, n = 0;
  HD_FOR_OPS(kernel, role->body)
    n++;
  HD_FOR_OPS(kernel, role->body) {
    if (s->only >= 0 && s->only % n != i) {
      i++;
      continue;
    }
    hd_plan *plan;
    HD_TRY(hd_plan_of(s->ctx, role, kernel, &plan));
    mutate_form form = {.target = hd_op_str(kernel, HD_ATTR_TARGET), .user_ir = s->user_ir,
                        .user_ir_bytes = s->user_ir_bytes};
    snprintf(form.name, sizeof form.name, "%.40s/%.20s", s->name,
             plan->variant->name);
    form.module = only_kernel(role, i++);
    heddle_status status =
        plan->p.combine ? hd_combine_kernel_add(s->ctx, &plan->p, form.module) : HEDDLE_OK;
    if (status == HEDDLE_OK)
      status = fill_form(s, plan, &form);
    if (status == HEDDLE_OK)
      status = visit(user, &form);
    free_form(&form);
    HD_TRY(status);
  }
  return HEDDLE_OK;
}

static heddle_status compile_source(source *s, mutate_visit *visit, void *user) {
  hd_pass_context pass = {.ctx = s->ctx, .schedule_text = s->schedule_text};
  hd_module *role = hd_module_clone(s->module);
  heddle_status status =
      hd_run_pipeline(&pass, role, &(hd_pipeline_options){.stop_after = "insert_fences"});
  if (status == HEDDLE_OK)
    status = visit_kernels(s, role, visit, user);
  hd_module_free(role);
  return status;
}

heddle_status mutate_each_form(heddle_context *ctx, const char *path, const char *schedule,
                               mutate_visit *visit, void *user) {
  const char *slash = strrchr(path, '/');
  source s = {.ctx = ctx, .name = slash ? slash + 1 : path, .path = path,
              .only = -1};
  heddle_status status = read_example(&s, path, schedule);
  if (status == HEDDLE_OK)
    status = compile_source(&s, visit, user);
  free_source(&s);
  return status;
}

heddle_status mutate_drawn_kernel(heddle_context *ctx, const mutate_problem *problem,
                                  mutate_visit *visit, void *user) {
  source s = {.ctx = ctx, .name = "drawn", .request = problem->request, .only = problem->pick};
  snprintf(s.schedule_text, sizeof s.schedule_text, "%s", problem->schedule);
  const char *text = hd_strbuf_text(&problem->text);
  heddle_status status = hd_parse(ctx, s.name, text, strlen(text), &s.module);
  if (status == HEDDLE_OK)
    status = compile_source(&s, visit, user);
  free_source(&s);
  return status;
}
