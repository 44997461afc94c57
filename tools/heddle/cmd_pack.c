/* heddle pack: dense 2:4 or canonical to packed. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/memory.h"

static heddle_status pack_into(sparse_job *job, heddle_family family, void *payload) {
  if (job->kind == SPARSE_DENSE)
    return heddle_sparse_pack_dense(job->ctx, job->elem, family, job->m, job->k, job->dense,
                                    job->row_bytes, payload);
  return heddle_sparse_pack(job->ctx, job->elem, family, job->m, job->k,
                            job->image + job->info.values_offset,
                            job->image + job->info.codes_offset, payload);
}

/* Without --family: wgmma for the types that it takes. */
static heddle_family default_family(const sparse_job *job) {
  heddle_sparse_info info;
  heddle_status status = heddle_sparse_plan(NULL, HEDDLE_SPARSE_PACKED, job->elem,
                                            HEDDLE_FAMILY_WGMMA, job->m, job->k, &info);
  return status == HEDDLE_UNSUPPORTED ? HEDDLE_FAMILY_MMA : HEDDLE_FAMILY_WGMMA;
}

/* Rows of gate and up, before they are packed. */
static heddle_status interleave(sparse_job *job) {
  const heddle_sparse_info *info = &job->info;
  if (job->kind == SPARSE_DENSE)
    return sparse_pair(job->ctx, job->m, job->row_bytes, job->dense);
  HD_TRY(sparse_pair(job->ctx, job->m, info->values_row_bytes, job->image + info->values_offset));
  return sparse_pair(job->ctx, job->m, info->codes_row_bytes, job->image + info->codes_offset);
}

/* The matrices of a batch, which stand below each other, each in whole slabs: packed, they lie one
 * behind the other (docs/format.md). */
static heddle_status separate(sparse_job *job, uint64_t n) {
  enum { SLAB = 64 };
  uint64_t rows = job->m / n, whole = (rows + SLAB - 1) / SLAB * SLAB;
  if (job->m % n)
    return hd_error(job->ctx, HEDDLE_INVALID, (hd_loc){.file = job->in}, "sparse.batch",
                    "%llu rows are no %llu matrices; legal: a --batch that divides them; nearest: "
                    "%llu rows",
                    (unsigned long long)job->m, (unsigned long long)n,
                    (unsigned long long)((rows + 1) * n));
  if (rows == whole)
    return HEDDLE_OK;
  if (job->kind != SPARSE_DENSE)
    return hd_error(job->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = job->in}, "sparse.batch",
                    "a canonical file of matrices of %llu rows; legal: multiples of %d, or a dense "
                    "matrix; nearest: heddle decompress first",
                    (unsigned long long)rows, SLAB);
  uint8_t *apart = hd_try_zalloc(job->ctx, (size_t)(whole * n) * job->row_bytes, "the batch");
  if (!apart)
    return HEDDLE_NO_MEMORY;
  for (uint64_t i = 0; i < n; i++)
    memcpy(apart + (size_t)(i * whole) * job->row_bytes,
           (uint8_t *)job->dense + (size_t)(i * rows) * job->row_bytes,
           (size_t)rows * job->row_bytes);
  free(job->dense);
  job->dense = apart;
  job->m = whole * n;
  return HEDDLE_OK;
}

static heddle_status pack(sparse_job *job, heddle_family family, bool pair,
                          int64_t n_matrices) {
  heddle_sparse_info info;
  uint8_t *image;
  HD_TRY(sparse_read(job, 1u << SPARSE_DENSE | 1u << SPARSE_CANONICAL_FILE,
                     "it is packed already"));
  if (n_matrices)
    HD_TRY(separate(job, (uint64_t)n_matrices));
  if (family == HEDDLE_FAMILY_NONE)
    family = default_family(job);
  if (pair)
    HD_TRY(interleave(job));
  HD_TRY(sparse_image(job, HEDDLE_SPARSE_PACKED, family, &info, &image));
  info.pair = pair;
  heddle_status status = pack_into(job, family, image + info.payload_offset);
  if (status == HEDDLE_OK)
    return sparse_write_image(job, &info, image);
  hd_free(image);
  return status;
}

static int parse_family(const char *name, heddle_family *family) {
  static const char *const names[] = {"mma", "wgmma"};
  if (!name ||
      (heddle_family_parse(name, family) == HEDDLE_OK && *family != HEDDLE_FAMILY_NONE))
    return CLI_GO;
  return cli_usage_error("sparse.family", "'%s' is no family; legal: mma or wgmma; nearest: %s",
                         name, cli_nearest(name, names, 2));
}

int cmd_pack(int argc, char **argv) {
  sparse_job job = {.type = SPARSE_TYPE_NONE};
  const char *family_name = NULL;
  heddle_family family = HEDDLE_FAMILY_NONE;
  bool pair = false;
  int64_t n_matrices = 0;
  const cli_option options[] = {
      {"type", CLI_ELEM, &job.type, "T", SPARSE_TYPE_ABOUT},
      {"family", CLI_TEXT, &family_name, "F", "mma or wgmma; wgmma where it takes the type"},
      {"pair", CLI_FLAG, &pair, NULL,
       "the rows are gate, then up, as many of each: for kernels with act = swiglu and its like"},
      {"batch", CLI_INT, &n_matrices, "G", "IN is so many matrices of a batch below each other"},
      {"o", CLI_TEXT, &job.out, "OUT", SPARSE_OUT_ABOUT},
      {0}};
  const cli_command command = {
      .usage = "pack IN [--type T] [--family mma|wgmma] [--pair] [--batch G] [-o OUT]",
      .about = "Turns a canonical file, or a dense .npy matrix that is 2:4 sparse, into the\n"
               "packed format: the bytes that a kernel reads as A, the same for every schedule,\n"
               "tile and N (docs/format.md).",
      .examples = "heddle pack w24.npy --type bf16 -o w.packed\n"
                  "heddle pack w.canonical --family mma -o w.packed\n"
                  "heddle pack w24.npy --type bf16 --pair -o gate_up.packed\n"
                  "heddle pack w24.npy --type bf16 --batch 4 -o batch.packed\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  int code = cli_parse(&command, argc, argv, &job.in, &(int){0});
  if (code == CLI_GO)
    code = parse_family(family_name, &family);
  if (code == CLI_GO && n_matrices < 0)
    code = cli_usage_error("sparse.batch", "got --batch %lld; legal: 1 and more; nearest: 1",
                           (long long)n_matrices);
  if (code == CLI_GO && n_matrices && pair)
    code = cli_usage_error("sparse.batch", "got --batch with --pair; legal: one of them; nearest: "
                                           "a file of pairs for each matrix, one behind the other");
  return code == CLI_GO ? sparse_finish(&job, pack(&job, family, pair, n_matrices)) : code;
}
