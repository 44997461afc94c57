/* heddle report: tables, goals and pictures from the output of `heddle bench --format csv`. */
#include "cli.h"
#include "commands.h"
#include "report.h"
#include "Support/diag.h"

static const char about[] =
    "Reads CSV files of heddle bench. Prints in Markdown every case with its peers, and each type\n"
    "and range of N against its goal. --cutlass derives CUTLASS' time in each case from a table\n"
    "of its times together with cuBLAS' and cuSPARSELt's. -o draws roofline.svg and speedup.svg.\n"
    "The same files give the same bytes.";

static const char examples[] =
    "heddle report docs/bench/h200.csv --cutlass docs/bench/cutlass.csv -o docs/bench\n"
    "heddle report bf16.csv s8.csv --goals\n"
    "heddle report bf16.csv s8.csv --goals --untuned\n";

int cmd_report(int argc, char **argv) {
  const char *paths[CLI_MAX_ARGS], *cutlass = NULL, *folder = NULL;
  bool goals = false, untuned = false;
  const cli_option options[] = {
      {"cutlass", CLI_TEXT, &cutlass, "CSV",
       "times in us: type,m,k,n,cublas,cusparselt,cutlass"},
      {"goals", CLI_FLAG, &goals, NULL, "only the goals"},
      {"untuned", CLI_FLAG, &untuned, NULL,
       "use the goals of untuned problems (bench --random)"},
      {"o", CLI_TEXT, &folder, "DIR", "draw roofline.svg and speedup.svg in DIR"},
      {NULL, CLI_FLAG, NULL, NULL, NULL}};
  const cli_command command = {
      "report CSV... [--cutlass CSV] [-o DIR]", about, examples, options, 1, CLI_MAX_ARGS};
  int n, go = cli_parse(&command, argc, argv, paths, &n);
  if (go != CLI_GO)
    return go;
  heddle_context *ctx = heddle_context_create();
  report r = {0};
  heddle_status status = HEDDLE_OK;
  for (int i = 0; i < n && status == HEDDLE_OK; i++)
    status = report_read(ctx, paths[i], &r);
  if (status == HEDDLE_OK && cutlass)
    status = report_add_cutlass(ctx, cutlass, &r);
  if (status == HEDDLE_OK && !goals) {
    report_print_head();
    for (int32_t i = 0; i < r.n; i++)
      report_print_case(&r.cell[i]);
  }
  if (status == HEDDLE_OK)
    report_print_goals(&r, untuned);
  if (status == HEDDLE_OK && folder)
    status = report_plot(ctx, &r, folder);
  report_free(&r);
  return cli_finish(ctx, status);
}
