/* heddle unpack: packed to canonical. */
#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/diag.h"
#include "Support/memory.h"

static heddle_status unpack(sparse_job *job) {
  heddle_sparse_info info;
  uint8_t *image;
  HD_TRY(sparse_read(job, 1u << SPARSE_PACKED_FILE,
                     "only a packed file can be unpacked (a dense one: `heddle compress`)"));
  HD_TRY(sparse_image(job, HEDDLE_SPARSE_CANONICAL, HEDDLE_FAMILY_NONE, &info, &image));
  heddle_status status =
      heddle_sparse_unpack(job->ctx, job->elem, job->info.family, job->m, job->k,
                           job->image + job->info.payload_offset, image + info.values_offset,
                           image + info.codes_offset);
  if (status == HEDDLE_OK && job->info.pair)
    status = sparse_unpair(job->ctx, job->m, info.values_row_bytes, image + info.values_offset);
  if (status == HEDDLE_OK && job->info.pair)
    status = sparse_unpair(job->ctx, job->m, info.codes_row_bytes, image + info.codes_offset);
  if (status == HEDDLE_OK)
    return sparse_write_image(job, &info, image);
  hd_free(image);
  return status;
}

int cmd_unpack(int argc, char **argv) {
  const sparse_command command = {
      .usage = "unpack IN [--type T] [-o OUT]",
      .about = "Converts a packed file to the canonical format. It removes the padding, and\n"
               "separates rows of gate and up.",
      .examples = "heddle unpack w.packed -o w.canonical\n",
      .of_type = "refuse a file of another type",
      .run = unpack};
  return sparse_run(&command, argc, argv);
}
