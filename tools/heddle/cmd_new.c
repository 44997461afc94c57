/* heddle new: writes the text of a problem that is given by options. */
#include "Passes/front.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "commands.h"
#include "problem_flags.h"

static const char about[] =
    "Prints the text of the problem D = epilogue(A x B): A is M x K and 2:4 sparse, B is K x N,\n"
    "D is M x N. gen, run, explain and tune accept the same options instead of a FILE. The text\n"
    "form has more features (docs/ir.md). A size of ..65536 is known only at launch, and is at\n"
    "most 65536.";

static const char examples[] =
    "heddle new --type bf16 -m 4096 -k 4096 -n ..65536 --bias m --act gelu > linear.heddle\n"
    "heddle new --type e4m3 -m 28672 -k 8192 -n 512 --scale-a vector --scale-b vector --name up\n"
    "heddle new --type bf16 -m 4096 -k 2048 -n ..65536 -g 64 --groups --gather ..8192\n"
    "heddle new --type e4m3 -m 4096 -k 7168 -n ..65536 --blocks 128x128\n"
    "heddle new --type f16 -m 1000 -k 512 -n 64 -c f16 --beta --target sm_80 -o residual.heddle\n";

int cmd_new(int argc, char **argv) {
  problem_flags flags = {0};
  const char *target = NULL, *name = NULL, *out = "-";
  const cli_option options[] = {
      PROBLEM_SHAPE_OPTIONS(flags),
      PROBLEM_OPERAND_OPTIONS(flags),
      {"target", CLI_TEXT, &target, "T", "sm_80 … sm_121a (sm_90a)"},
      {"name", CLI_TEXT, &name, "NAME", "the name of the kernel (gemm)"},
      {"o", CLI_TEXT, &out, "FILE", "the file to write (standard output)"},
      {0}};
  const cli_command command = {
      "new -m M -n N -k K --type T [OPTIONS] [-o FILE]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  char *text = NULL;
  size_t text_bytes;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = problem_flags_text(ctx, &flags, target, name, &text, &text_bytes);
  hd_pass_context pass = {.ctx = ctx};
  hd_front front;
  if (status == HEDDLE_OK) /* refuses what a compile would refuse of the problem itself */
    status = hd_front_parse(&pass, "command line", text, text_bytes, &front);
  if (status == HEDDLE_OK) {
    hd_front_free(&front);
    status = hd_file_write(ctx, out, text, text_bytes);
  }
  hd_free(text);
  return cli_finish(ctx, status);
}
