/* heddle explain: how a problem is computed, what it costs, and what was not possible. */
#include "Passes/front.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "commands.h"
#include "explained.h"
#include "sizes.h"

static const char about[] =
    "Prints how a problem is computed:\n"
    "\n"
    "- the chosen schedule, with its instruction, tile, stages and memory\n"
    "- the predicted time and its bottleneck, the measured time, and the time of a dense library\n"
    "- the entry points, and the conditions under which a launch uses each one\n"
    "- the arguments, the C prototype, and the bytes of packed A\n"
    "- why other instruction families and operand paths were not chosen\n"
    "\n"
    "Of several buckets ptxas tells the registers only if --ptxas is given: that takes longer.";

static const char examples[] =
    "heddle explain examples/linear_bf16.heddle\n"
    "heddle explain examples/dynamic_tokens.heddle --html explain.html\n"
    "heddle explain examples/odd_sizes.heddle --json\n"
    "heddle explain examples/linear_bf16.heddle --target sm_80\n"
    "heddle explain --type e4m3 -m 28672 -k 4096 -n ..65536 --d-order col_major\n"
    "heddle explain examples/linear_bf16.heddle --schedule \"tile=128x256x64 cluster=2\"\n";

typedef struct explain_args {
  compile_input in;
  const char *sizes, *html; /* options */
  bool json;
} explain_args;

static heddle_status explain_front(hd_pass_context *pass, explain_args *a, explained *e,
                                   hd_front *front) {
  const hd_problem *p = &front->problem;
  e->problem = p;
  e->schedule = &front->schedule;
  /* hd_front_choose reports errors in these words. */
  (void)hd_schedule_parse(NULL, HD_NOWHERE, hd_op_str(p->kernel, HD_ATTR_SCHEDULE), &e->own);
  HD_TRY(hd_front_choose(pass, front));
  e->ceilings = a->in.tuned ? hd_tuned_ceilings(a->in.tuned) : hd_device_model_of(p->target);
  explain_gather(e);
  heddle_status status = explain_gather_kernel(pass, e);
  if (!a->html && !a->json)
    explain_print_text(e); /* what could be gathered, even if the kernel cannot be built */
  else if (status == HEDDLE_OK)
    status = a->html ? explain_write_html(pass->ctx, e, a->html) : explain_print_json(e);
  return status;
}

static heddle_status explain_chosen(heddle_context *ctx, explain_args *a, explained *e) {
  const compile_input *in = &a->in;
  const hd_bucket *bucket = explain_bucket_of(in, e->size_mnk);
  char text[HD_SCHEDULE_TEXT];
  if (bucket)
    hd_schedule_print_words(&bucket->words, text);
  hd_pass_context pass = {
      .ctx = ctx, .target = in->target, .schedule_text = bucket ? text : in->schedule};
  hd_front front;
  HD_TRY(hd_front_parse(&pass, in->path, in->text, in->text_bytes, &front));
  heddle_status status = explain_front(&pass, a, e, &front);
  hd_front_free(&front);
  return status;
}

static heddle_status explain(heddle_context *ctx, explain_args *a) {
  compile_input *in = &a->in;
  int64_t size[HD_N_ARG_KINDS] = {0};
  HD_TRY(compile_input_read(ctx, in));
  HD_TRY(compile_input_sizes(ctx, in, a->sizes, size));
  HD_TRY(compile_input_choose(ctx, in, size, false));
  /* Assembling dozens of kernels takes many seconds, so their registers need --ptxas. */
  if (in->plan.n > 1 && !in->ptxas && in->ptxas_path) {
    hd_note(ctx, HD_NOWHERE, "explain.ptxas",
            "the registers of %d buckets are not shown; --ptxas %s shows them, and which schedules "
            "spill",
            in->plan.n, in->ptxas_path);
    hd_free(in->ptxas_path);
    in->ptxas_path = NULL;
  }
  const int64_t size_mnk[] = {size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K]};
  explained e = {.input = in, .size_mnk = size_mnk};
  /* Compiles first, so that a schedule that spills is replaced by the next one, and the schedule
   * that was used is printed. */
  if (in->plan.n)
    e.failed = compile_input_compile(ctx, in, &e.kernel);
  heddle_status status = explain_chosen(ctx, a, &e);
  explained_free(&e);
  return status;
}

int cmd_explain(int argc, char **argv) {
  explain_args a = {0};
  const cli_option options[] = {
      {"size", CLI_TEXT, &a.sizes, "N=512,K=64",
       "the sizes to predict, if they are known only at launch"},
      {"json", CLI_FLAG, &a.json, NULL, "print one JSON object"},
      {"html", CLI_TEXT, &a.html, "FILE", "write an HTML page with pictures; -: standard output"},
      PROBLEM_SHAPE_OPTIONS(a.in.flags),
      PROBLEM_OPERAND_OPTIONS(a.in.flags),
      COMPILE_INPUT_OPTIONS(a.in),
      {0}};
  const cli_command command = {"explain FILE|PROBLEM [OPTIONS]", about, examples, options, 0, 1};
  int code = cli_parse(&command, argc, argv, &a.in.path, NULL);
  if (code != CLI_GO)
    return code;
  if (a.json && a.html)
    return cli_usage_error("explain.form", "got --json and --html; legal: one of them");
  heddle_context *ctx = heddle_context_create();
  heddle_status status = explain(ctx, &a);
  compile_input_free(&a.in);
  return cli_finish(ctx, status);
}
