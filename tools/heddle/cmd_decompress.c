/* heddle decompress: canonical or packed to dense. */
#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/arena.h"
#include "Support/diag.h"

static heddle_status expand(sparse_job *job, const heddle_sparse_info *canonical,
                            uint8_t *scratch) {
  uint8_t *base = job->kind == SPARSE_PACKED_FILE ? scratch : (uint8_t *)job->image;
  uint8_t *values = base + canonical->values_offset, *codes = base + canonical->codes_offset;
  if (job->kind != SPARSE_CANONICAL_FILE)
    HD_TRY(heddle_sparse_unpack(job->ctx, job->elem, job->info.family, job->m, job->k,
                                job->image + job->info.payload_offset, values, codes));
  HD_TRY(heddle_sparse_dense_row_bytes(job->ctx, job->elem, job->k, &job->row_bytes));
  job->dense = hd_try_malloc(job->ctx, (size_t)job->m * job->row_bytes, "the dense matrix");
  if (!job->dense)
    return HEDDLE_NO_MEMORY;
  HD_TRY(heddle_sparse_decompress(job->ctx, job->elem, job->m, job->k, values, codes, job->dense,
                                  job->row_bytes));
  return job->info.pair ? sparse_unpair(job->ctx, job->m, job->row_bytes, job->dense) : HEDDLE_OK;
}

static heddle_status decompress(sparse_job *job) {
  heddle_sparse_info canonical;
  uint8_t *scratch;
  HD_TRY(sparse_read(job, 1u << SPARSE_CANONICAL_FILE | 1u << SPARSE_PACKED_FILE,
                     "it is not compressed"));
  HD_TRY(sparse_image(job, HEDDLE_SPARSE_CANONICAL, HEDDLE_FAMILY_NONE, &canonical, &scratch));
  heddle_status status = expand(job, &canonical, scratch);
  hd_free(scratch);
  return status == HEDDLE_OK ? sparse_write_dense(job) : status;
}

int cmd_decompress(int argc, char **argv) {
  const sparse_command command = {
      .usage = "decompress IN [--type T] [-o OUT.npy]",
      .about = "Converts a canonical or packed file to a dense .npy matrix. It is bit for bit the\n"
               "matrix that was compressed, except that a pruned -0.0 becomes +0.",
      .examples = "heddle decompress w.packed -o w24.npy\n",
      .of_type = "refuse a file of another type",
      .run = decompress};
  return sparse_run(&command, argc, argv);
}
