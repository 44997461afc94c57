/* heddle explain: how a problem will be computed, what it costs, and what was not possible. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Passes/front.h"
#include "Schedule/resolve.h"
#include "Support/diag.h"
#include "commands.h"
#include "compile_input.h"
#include "explain_cost.h"
#include "explain_json.h"
#include "heddle/sparse.h"
#include "sizes.h"

static const char about[] =
    "Prints the schedule that is chosen, its instruction, tile, stages and memory, the time\n"
    "that it is predicted to take with what binds it, what was measured, what a dense library\n"
    "would take (and whether that is less), the entry points and what each needs of the\n"
    "launch's values, the arguments and the C prototype, the bytes of packed A, and why the\n"
    "other families and paths are not taken.";

static const char examples[] =
    "heddle explain examples/linear_bf16.heddle\n"
    "heddle explain examples/odd_sizes.heddle --json\n"
    "heddle explain examples/linear_bf16.heddle --target sm_80\n"
    "heddle explain --type e4m3 -m 28672 -k 4096 -n ..65536 --d-order col_major\n"
    "heddle explain examples/linear_bf16.heddle --schedule \"tile=128x256x64 cluster=2\"\n";

/* ---- the problem ---- */

/* Who adds up the parts of a tile. */
static const char *summing(const hd_problem *p, const hd_schedule *s) {
  if (hd_schedule_along_k(s) == 1)
    return "last to arrive";
  return hd_schedule_owners(p, s) > 1 ? "CTAs of their cluster" : "first of their cluster";
}

static void print_size(const char *name, const hd_size *size) {
  if (size->value)
    printf(" %s=%" PRId64, name, size->value);
  else if (size->max)
    printf(" %s<=%" PRId64, name, size->max);
  else
    printf(" %s", name);
}

static const char *elem_name(heddle_elem elem) { return heddle_elem_get(elem)->name; }

static const char *scale_text(const hd_dense *scale, const char *one, const char *many) {
  return !scale->op ? "" : scale->one ? one : many;
}

static void print_problem(const hd_problem *p) {
  printf("problem   %s: D = epilogue(A x B),", hd_op_str(p->kernel, HD_ATTR_NAME));
  print_size("M", &p->m);
  print_size("N", &p->n);
  print_size("K", &p->k);
  if (hd_is_batch(p))
    print_size("G", &p->g);
  const heddle_elem_info *a = heddle_elem_get(p->a_elem);
  printf("\n          A %s %d:%d sparse, B %s %s, accumulate %s, D %s %s\n", a->name, a->kept,
         a->group, elem_name(p->b.elem), p->b.transposed ? "mn_major" : "k_major",
         elem_name(p->acc_elem), elem_name(p->d.elem),
         p->d.transposed ? "col_major" : "row_major");
  if (p->block)
    printf("scales    %s for each %d of k, of A's rows and B's columns, in %s order\n",
           elem_name(p->block_a.elem), p->block, hd_scales_in_tiles(p) ? "tile" : "k-block");
  printf("epilogue  %s%s%s%s%s%s%s%s\n", p->act, p->alpha ? ", alpha" : "",
         p->beta ? ", beta" : "", p->c.op ? ", C" : "", p->bias.op ? ", bias along " : "",
         !p->bias.op ? "" : p->bias_along_n ? "n" : "m",
         scale_text(&p->scale_a, ", a scale of A", ", scales of A's rows"),
         scale_text(&p->scale_b, ", a scale of B", ", scales of B's columns"));
  if (p->pair)
    puts("pairs     A's rows are gate and up, interleaved (heddle pack --pair); D has M / 2 rows");
}

/* ---- the schedule ---- */

static const char *sharing(const hd_schedule *s) {
  return s->cluster < 2              ? ""
         : hd_schedule_is_pair(s)    ? ", pairs of CTAs multiply together, half of B in each"
         : s->multicast == HD_MULTICAST_A ? ", A multicast to 2 CTAs"
                                      : ", B multicast to 2 CTAs";
}

static void print_schedule(const hd_problem *p, const hd_schedule *s) {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(s, text);
  printf("target    %s\nschedule  %s\n", p->target->name, text);
  const hd_spec_row *row = hd_spec_find(hd_op_str(p->matmul, HD_ATTR_ROW));
  if (row)
    printf(
        "row       %s\n          %s\n          verified: syntax by %s, layout by %s; source %s\n",
        row->name, row->ptx, hd_verified_by_name(row->syntax_verified_by),
        hd_verified_by_name(row->layout_verified_by), row->source);
  printf("tile      %d x %d, k %d a stage, %d stages of %d bytes; a CTA may take %d bytes of "
         "shared memory\n",
         s->tile_m, s->tile_n, s->tile_k, s->stages, hd_schedule_stage_bytes(p, s),
         hd_schedule_shared_limit(p, s));
  printf("registers %d accumulators a thread over %d warps\n", hd_schedule_accumulators(p, s),
         s->warps_m * s->warps_n);
  if (hd_schedule_is_tensor(s))
    printf("tensor    %d tiles of accumulators, metadata%s of %d stages: %d columns of %u\n",
           hd_schedule_sum_slots(p, s), p->block ? " and scales" : "", s->stages,
           hd_schedule_columns(p, s), p->target->tensor_columns);
  if (p->m.value && p->n.value) {
    int64_t tiles = ((p->m.value + s->tile_m - 1) / s->tile_m) *
                    ((p->n.value + s->tile_n - 1) / s->tile_n) * (p->g.value ? p->g.value : 1);
    printf("work      %" PRId64 " tiles%s", tiles,
           hd_is_batch(p) && !p->g.value ? " in each product" : "");
    if (s->split_k > 1)
      printf(" by %d splits of k, summed by the %s", s->split_k, summing(p, s));
    if (s->stream_k)
      printf(", the last waves shared over k (stream-K)");
    printf(", %d CTAs an SM%s%s\n", s->ctas_per_sm,
           s->persistent ? ", persistent" : "", sharing(s));
  }
}

/* ---- the kernel ---- */

static const char *path_cost(const char *path) {
  if (!strncmp(path, "tma", 3))
    return "one thread issues tensor-map copies; no address arithmetic";
  if (!strcmp(path, "gather16"))
    return "producer warps copy rows by index with cp.async, 16 bytes a thread, then a proxy "
           "fence: no multicast";
  if (!strcmp(path, "gather8"))
    return "producer warps copy by cp.async of 8 bytes, stages ahead, then a proxy fence: no "
           "multicast";
  if (!strcmp(path, "gather4"))
    return "producer warps copy by cp.async of 4 bytes, stages ahead, then a proxy fence: twice "
           "the copy instructions of gather8, no multicast";
  if (!strncmp(path, "gather", 6))
    return "producer warps load and store every element, then a proxy fence: many instructions a "
           "byte, no multicast; expect a fraction of the TMA path's speed";
  if (!strcmp(path, "cp_async16"))
    return "cp.async of 16 bytes: full speed";
  if (!strcmp(path, "cp_async4"))
    return "cp.async of 4 bytes: four times the copy instructions";
  return "element loads and shared stores: through registers, two instructions an element";
}

static void print_expr(const hd_expr *e) {
  printf("%s", hd_arg_name(e->arg));
  if (e->mul != 1)
    printf(" * %" PRId64, e->mul);
  if (e->add)
    printf(" + %" PRId64, e->add);
  if (e->div > 1)
    printf(" / %" PRId64, e->div);
}

static void print_launch(const hd_variant *v) {
  if (v->dependent_launch)
    printf("launch    dependent: may start before its predecessor in the stream has ended; %s\n",
           v->weights_ready ? "A is read before" : "nothing is read before");
  if (v->tile_cluster < v->cluster)
    printf("          in clusters of %d that share nothing, so that they are spread evenly\n",
           v->cluster);
}

static void print_variants(const hd_manifest *m) {
  print_launch(&m->variant[0]);
  for (int i = 0; i < m->n_variants; i++) {
    const hd_variant *v = &m->variant[i];
    printf("variant   %s: B by %s, %d threads, ", v->entry, v->path, v->n_threads);
    if (v->n_registers) /* ptxas tells */
      printf("%d registers, ", v->n_registers);
    printf("%d bytes of shared memory\n", v->shared_bytes);
    printf("          taken when");
    for (int r = 0; r < v->n_requirements; r++) {
      printf("%s ", r ? " and" : "");
      print_expr(&v->requirement[r].value);
      if (v->requirement[r].at_most)
        printf(" is at most %" PRId64, v->requirement[r].at_most);
      else
        printf(" is a multiple of %" PRId64, v->requirement[r].modulo);
    }
    printf("%s\n          cost: %s\n", v->n_requirements ? "" : " nothing before it fits",
           path_cost(v->path));
  }
}

static void print_argument(const hd_arg *arg) {
  printf("argument  %s", hd_arg_name(arg->kind));
  if (arg->fixed > 0)
    printf(" = %" PRId64 " (fixed)", arg->fixed);
  else if (hd_arg_class_of(arg->kind) == HEDDLE_CLASS_PTR)
    printf(": %s, aligned to %d bytes", elem_name(arg->elem), arg->align);
  if (arg->divisible_by > 1)
    printf(", a multiple of %" PRId64, arg->divisible_by);
  if (arg->max)
    printf(", at most %" PRId64, arg->max);
  if (hd_arg_is_batch_stride(arg->kind) && !arg->fixed)
    printf(arg->kind == HD_ARG_STRIDE_A ? ", in bytes" : ", in elements");
  if (hd_arg_is_batch_stride(arg->kind) && !arg->fixed && !arg->at_least.mul)
    printf("; 0: all products share %s", hd_arg_name(arg->kind) + strlen("stride_"));
  else if (arg->at_least.div && !arg->fixed) {
    printf(", at least ");
    print_expr(&arg->at_least);
  }
  printf("\n");
}

static void print_prototype(const hd_manifest *m) {
  static const char *const types[] = {"const void *", "int32_t ", "int64_t ", "float "};
  printf("prototype int %s(", m->name);
  for (int i = 0; i < m->n_args; i++) {
    const hd_arg *arg = &m->arg[i];
    if (!hd_arg_is_passed(arg))
      continue;
    bool written = arg->kind == HD_ARG_D || arg->kind == HD_ARG_WORKSPACE;
    printf("%s%s, ", written ? "void *" : types[hd_arg_class_of(arg->kind)],
           hd_arg_name(arg->kind));
  }
  printf("void *stream)\n");
}

static heddle_status print_kernel(heddle_context *ctx, compile_input *in, const hd_problem *p) {
  trial_kernel kernel = {0};
  heddle_status status = compile_input_compile(ctx, in, &kernel);
  if (status == HEDDLE_OK) {
    print_variants(&kernel.manifest);
    for (int i = 0; i < kernel.manifest.n_args; i++)
      print_argument(&kernel.manifest.arg[i]);
    print_prototype(&kernel.manifest);
  }
  size_t packed, row_bytes;
  if (status == HEDDLE_OK && p->m.value && p->k.value &&
      compile_packed_bytes(ctx, &kernel.manifest, p->m.value, p->k.value, &packed) == HEDDLE_OK &&
      heddle_sparse_dense_row_bytes(ctx, p->a_elem, (uint64_t)p->k.value, &row_bytes) == HEDDLE_OK)
    printf("packed A  %zu bytes (dense %zu): heddle pack --type %s --family %s\n", packed,
           (size_t)p->m.value * row_bytes, elem_name(p->a_elem), kernel.manifest.family);
  trial_kernel_free(&kernel);
  return status;
}

/* ---- what is not taken ---- */

static void print_reason(heddle_context *quiet) {
  const heddle_diagnostic *d = hd_first_error(quiet);
  printf("%s%s%s%s\n", d ? "refused[" : "refused", d ? d->rule : "", d ? "]: " : "",
         d ? d->text : "");
}

/* --schedule stands over the text's own words, not in their place. */
static void print_alternative(const hd_problem *p, const hd_schedule_words *own, const char *text) {
  heddle_context *quiet = heddle_context_create();
  hd_schedule_words words = *own;
  hd_schedule s;
  heddle_status status = hd_schedule_parse(quiet, HD_NOWHERE, text, &words);
  if (status == HEDDLE_OK)
    status = hd_schedule_resolve(quiet, hd_device_model_of(p->target), p, &words, &s);
  if (status == HEDDLE_OK)
    status = hd_schedule_check(quiet, p, &s);
  printf("could     %-22s ", text);
  if (status == HEDDLE_OK)
    printf("legal: --schedule \"%s\"\n", text);
  else
    print_reason(quiet);
  heddle_context_free(quiet);
}

static void print_alternatives(const hd_problem *p, const hd_schedule_words *own,
                               const hd_schedule *chosen) {
  static const char *const words[] = {
      "family=mma", "family=wgmma", "family=tcgen05", "a=reg",       "a=desc",
      "cluster=2",  "b=tma",        "b=gather",       "b=cp_async",  "b=ld_st",
      "split_k=2",  "stream_k=1",   "store=permuted", "store=staged"};
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(chosen, text);
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (!strstr(text, words[i]))
      print_alternative(p, own, words[i]);
}

/* ---- buckets ---- */

/* What a table needs of a schedule's words. */
static void print_short(const hd_schedule *s) {
  char tile[24], splits[24] = "";
  snprintf(tile, sizeof tile, "%dx%d", s->tile_m, s->tile_n);
  if (s->split_k > 1)
    snprintf(splits, sizeof splits, " split_k=%d", s->split_k);
  printf("%-8s stages=%-2d%s%s%s%s", tile, s->stages, s->cluster > 1 ? " cluster=2" : "", splits,
         s->stream_k ? " stream_k=1" : "", s->store == HD_STORE_QUAD ? "" : " ");
  printf("%s", s->store == HD_STORE_QUAD ? "" : hd_key_word(HD_KEY_STORE, s->store));
}

/* From where to where, which schedule, what it is predicted to take there, why it was chosen. */
static void print_buckets(const hd_problem *p, const hd_bucket_plan *plan,
                          const int64_t size_mnk[3], const hd_device_model *ceilings) {
  int64_t from = 1, mnk[3] = {size_mnk[0], size_mnk[1], size_mnk[2]};
  for (int32_t i = 0; i < plan->n; i++) {
    const hd_bucket *b = &plan->list[i];
    hd_schedule s = b->words.value;
    printf("bucket    %s %6" PRId64 " .. ", plan->dim, from);
    if (b->to)
      printf("%-6" PRId64, b->to);
    else
      printf("%-6s", "");
    printf(" ");
    mnk[plan->dim[0] == 'n'] = b->to ? b->to : from;
    print_short(&s);
    if (hd_cost_is_estimate(p))
      printf(", %.2f us at %" PRId64, hd_schedule_cost(p, &s, mnk, ceilings).seconds * 1e6,
             mnk[plan->dim[0] == 'n']);
    printf(": %s\n", b->why);
    from = b->to + 1;
  }
}

/* ---- all ---- */

static heddle_status print_as_json(heddle_context *ctx, const explained *what) {
  const hd_problem *p = what->problem;
  trial_kernel kernel = {0};
  explained all = *what;
  heddle_status status = compile_input_compile(ctx, what->input, &kernel);
  all.manifest = &kernel.manifest;
  if (status == HEDDLE_OK && p->m.value && p->k.value)
    status = compile_packed_bytes(ctx, &kernel.manifest, p->m.value, p->k.value, &all.packed_bytes);
  if (status == HEDDLE_OK)
    status = explain_print_json(&all);
  trial_kernel_free(&kernel);
  return status;
}

static heddle_status explain_front(hd_pass_context *pass, compile_input *in,
                                   const int64_t size[HD_N_ARG_KINDS], bool json, hd_front *front) {
  const hd_problem *p = &front->problem;
  const hd_schedule *s = &front->schedule;
  hd_schedule_words own = {0}; /* before all keys take over; what is wrong, choosing tells */
  (void)hd_schedule_parse(NULL, HD_NOWHERE, hd_op_str(p->kernel, HD_ATTR_SCHEDULE), &own);
  HD_TRY(hd_front_choose(pass, front));
  const int64_t size_mnk[] = {size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K]};
  const hd_device_model *ceilings =
      in->tuned ? hd_tuned_ceilings(in->tuned) : hd_device_model_of(p->target);
  if (json)
    return print_as_json(pass->ctx, &(explained){p, s, size_mnk, ceilings, in, NULL, 0});
  print_problem(p);
  if (in->plan.dim[0])
    print_buckets(p, &in->plan, size_mnk, ceilings);
  print_schedule(p, s);
  explain_print_cost(p, s, size_mnk, ceilings, in->entry);
  if (!in->entry) /* what was measured knows better */
    explain_print_promising(p, s, size_mnk, ceilings);
  heddle_status status = print_kernel(pass->ctx, in, p);
  print_alternatives(p, &own, s);
  return status;
}

/* What was chosen; of buckets, that of the size asked for, else the one of the largest sizes. */
static const char *detailed_schedule(const compile_input *in, const int64_t *size,
                                     char text[HD_SCHEDULE_TEXT]) {
  int64_t asked = size[in->plan.dim[0] == 'n' ? HD_ARG_N : HD_ARG_M];
  if (in->plan.n == 0)
    return in->schedule;
  hd_schedule_print_words(&hd_bucket_plan_find(&in->plan, asked ? asked : INT64_MAX)->words, text);
  return text;
}

static heddle_status explain(heddle_context *ctx, compile_input *in, const char *sizes, bool json) {
  int64_t size[HD_N_ARG_KINDS] = {0};
  HD_TRY(compile_input_read(ctx, in));
  HD_TRY(compile_input_sizes(ctx, in, sizes, size));
  HD_TRY(compile_input_choose(ctx, in, size, false));
  char text[HD_SCHEDULE_TEXT];
  hd_pass_context pass = {
      .ctx = ctx, .target = in->target, .schedule_text = detailed_schedule(in, size, text)};
  hd_front front;
  HD_TRY(hd_front_parse(&pass, in->path, in->text, in->text_bytes, &front));
  heddle_status status = explain_front(&pass, in, size, json, &front);
  hd_front_free(&front);
  return status;
}

int cmd_explain(int argc, char **argv) {
  compile_input in = {0};
  const char *sizes = NULL;
  bool json = false;
  const cli_option options[] = {
      {"size", CLI_TEXT, &sizes, "N=512,K=64", "what to predict, where sizes are known at launch"},
      {"json", CLI_FLAG, &json, NULL, "one JSON object"},
      PROBLEM_SHAPE_OPTIONS(in.flags),
      PROBLEM_OPERAND_OPTIONS(in.flags),
      COMPILE_INPUT_OPTIONS(in),
      {0}};
  const cli_command command = {"explain FILE|PROBLEM [OPTIONS]", about, examples, options, 0, 1};
  int code = cli_parse(&command, argc, argv, &in.path, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = explain(ctx, &in, sizes, json);
  compile_input_free(&in);
  return cli_finish(ctx, status);
}
