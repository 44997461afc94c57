/* heddle compress: dense 2:4 to canonical. */
#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/diag.h"
#include "Support/memory.h"

static heddle_status compress(sparse_job *job) {
  heddle_sparse_info info;
  uint8_t *image;
  HD_TRY(sparse_read(job, 1u << SPARSE_DENSE, "`heddle unpack` makes a packed file canonical"));
  HD_TRY(sparse_image(job, HEDDLE_SPARSE_CANONICAL, HEDDLE_FAMILY_NONE, &info, &image));
  heddle_status status =
      heddle_sparse_compress(job->ctx, job->elem, job->m, job->k, job->dense, job->row_bytes,
                             image + info.values_offset, image + info.codes_offset);
  if (status == HEDDLE_OK)
    return sparse_write_image(job, &info, image);
  hd_free(image);
  return status;
}

int cmd_compress(int argc, char **argv) {
  const sparse_command command = {
      .usage = "compress IN.npy [--type T] [-o OUT]",
      .about =
      "Converts a dense matrix that is 2:4 sparse to the canonical format: half of the\n"
      "values and one 4-bit code for each group, for any chip and kernel (docs/format.md).\n"
      "A matrix that is not 2:4 sparse is refused with its first offending group.",
      .examples = "heddle compress w24.npy --type bf16 -o w.canonical\n",
      .of_type = SPARSE_TYPE_ABOUT,
      .run = compress};
  return sparse_run(&command, argc, argv);
}
