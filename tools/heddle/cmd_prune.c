/* heddle prune: keeps the largest magnitudes of every group. */
#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/diag.h"

static heddle_status prune(sparse_job *job, bool two_way) {
  HD_TRY(sparse_read(job, 1u << SPARSE_DENSE, "it is already sparse"));
  if (job->type == SPARSE_TYPE_NONE && job->elem == HEDDLE_TF32)
    hd_note(job->ctx, (hd_loc){.file = job->in}, "sparse.tf32",
            "f32 without --type is pruned as tf32, one of two; legal: --type tf32, or a file of "
            "another type's bits");
  if (two_way)
    HD_TRY(heddle_sparse_prune_two_way(job->ctx, job->elem, job->m, job->k, job->dense,
                                       job->row_bytes, NULL));
  else
    HD_TRY(heddle_sparse_prune(job->ctx, job->elem, job->m, job->k, job->dense, job->row_bytes));
  return sparse_write_dense(job);
}

int cmd_prune(int argc, char **argv) {
  sparse_job job = {.type = SPARSE_TYPE_NONE};
  bool two_way = false;
  const cli_option options[] = {
      {"type", CLI_ELEM, &job.type, "T", SPARSE_TYPE_ABOUT},
      {"two-way", CLI_FLAG, &two_way, NULL,
       "along rows and columns: of each 4 x 4 tile two of each row and column, for training"},
      {"o", CLI_TEXT, &job.out, "OUT", SPARSE_OUT_ABOUT},
      {0}};
  const cli_command command = {
      .usage = "prune IN.npy [--type T] [--two-way] [-o OUT.npy]",
      .about = "Keeps the two largest magnitudes of every four elements of a row (tf32: one of\n"
               "two; 4-bit types: two pairs of four) and sets the others to zero. Of equal\n"
               "magnitudes, the lower index is kept. NaN counts as larger than Inf.",
      .examples = "heddle prune w.npy --type bf16 -o w24.npy\n"
                  "heddle prune w.npy --type bf16 --two-way -o w24.npy\n"
                  "heddle prune w.npy --type e4m3 | heddle pack - --type e4m3 -o w.packed\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  int code = cli_parse(&command, argc, argv, &job.in, &(int){0});
  return code == CLI_GO ? sparse_finish(&job, prune(&job, two_way)) : code;
}
