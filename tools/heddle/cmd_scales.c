/* heddle scales: converts row-major block scales to the order that kernels read. */
#include <stdio.h>
#include <string.h>

#include "Sparse/npy.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "cli.h"
#include "commands.h"
#include "heddle/block_scale.h"
#include "sparse_io.h"

typedef struct scales_job {
  heddle_context *ctx;
  const char *in, *out;
  const char *family;
  heddle_block_scale_shape shape;
  int64_t block, k; /* as given; k 0: whole blocks */
  uint64_t blocks;  /* blocks per row */
  void *scales; /* owned: rows x blocks of `elem` */
  heddle_elem elem;
  bool pair;
} scales_job;

/* wgmma has f32 scales, with which kernels promote the sums of a k-block. */
static heddle_status find_order(scales_job *job) {
  enum { USUAL_BLOCK = 64, PROMOTED_BLOCK = 128, F32_BYTES = 4 };
  bool tensor = strcmp(job->family, "tcgen05") == 0, f32 = strcmp(job->family, "wgmma") == 0;
  job->shape.order = tensor ? HEDDLE_SCALES_TILES : HEDDLE_SCALES_K_BLOCKS;
  job->shape.scale_bytes = f32 ? F32_BYTES : 1;
  job->elem = f32 ? HEDDLE_F32 : HEDDLE_U8;
  if (job->block == INT64_MIN) /* not given */
    job->block = f32 ? PROMOTED_BLOCK : USUAL_BLOCK;
  if (tensor || f32 || strcmp(job->family, "mma") == 0)
    return HEDDLE_OK;
  static const char *const legal[] = {"mma", "wgmma", "tcgen05"};
  return hd_error(job->ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.family",
                  "got '%s'; legal: mma, wgmma, tcgen05 (which scale blocks); nearest: %s",
                  job->family, cli_nearest(job->family, legal, HD_COUNT(legal)));
}

static heddle_status write_scales(scales_job *job, size_t pitch, size_t n_bytes) {
  uint8_t *packed = hd_try_zalloc(job->ctx, n_bytes, "the packed scales");
  if (!packed)
    return HEDDLE_NO_MEMORY;
  size_t bytes = job->shape.scale_bytes;
  heddle_status status = heddle_block_scale_pack(job->ctx, &job->shape, job->scales,
                                                 job->blocks * bytes, packed, pitch);
  if (status == HEDDLE_OK)
    status = hd_npy_write(job->ctx, job->out ? job->out : "-", job->elem, n_bytes / pitch,
                          pitch / bytes, packed, pitch);
  hd_free(packed);
  if (status == HEDDLE_OK && job->out)
    printf("%s: %zu %s at a pitch of %zu bytes, for %llu rows of k %llu\n", job->out,
           n_bytes / pitch,
           job->shape.order == HEDDLE_SCALES_TILES ? "bands of 128 rows" : "k-blocks", pitch,
           (unsigned long long)job->shape.rows, (unsigned long long)job->shape.k);
  return status;
}

static heddle_status run(scales_job *job) {
  size_t pitch, n_bytes;
  HD_TRY(find_order(job));
  HD_TRY(hd_npy_read(job->ctx, job->in, job->elem, &job->scales, &job->shape.rows,
                     &job->blocks));
  if (job->block < 1 || job->block > UINT32_MAX)
    return hd_error(job->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.block",
                    "got blocks of %lld; nearest: %d", (long long)job->block,
                    job->block < 1 ? 32 : 64);
  job->shape.block = (uint32_t)job->block;
  uint64_t block = (uint64_t)job->block;
  job->shape.k = job->k ? (uint64_t)job->k : job->blocks * block;
  if (job->k < 0 || (job->shape.k + block - 1) / block != job->blocks)
    return hd_error(job->ctx, HEDDLE_INVALID, (hd_loc){.file = job->in}, "block-scale.k",
                    "got %llu scales a row for k %lld in blocks of %llu; nearest: k %llu",
                    (unsigned long long)job->blocks, (long long)job->k, (unsigned long long)block,
                    (unsigned long long)(job->blocks * block));
  HD_TRY(heddle_block_scale_plan(job->ctx, &job->shape, &pitch, &n_bytes));
  if (job->pair)
    HD_TRY(sparse_pair(job->ctx, job->shape.rows, job->blocks * job->shape.scale_bytes,
                       job->scales));
  return write_scales(job, pitch, n_bytes);
}

int cmd_scales(int argc, char **argv) {
  scales_job job = {.family = "mma", .shape.elem = HEDDLE_E4M3, .block = INT64_MIN};
  const cli_option options[] = {
      {"type", CLI_ELEM, &job.shape.elem, "T", "element type of the scaled matrix (e4m3)"},
      {"block", CLI_INT, &job.block, "N",
       "elements of k that share a scale (64; wgmma: 128)"},
      {"family", CLI_TEXT, &job.family, "F",
       "instruction family: mma (default; sm_120a), wgmma (sm_90a), tcgen05 (sm_100a)"},
      {"k", CLI_INT, &job.k, "K", "k of the matrix (default: whole blocks)"},
      {"pair", CLI_FLAG, &job.pair, NULL, "for an A packed with --pair: rows of gate, then of up"},
      {"o", CLI_TEXT, &job.out, "OUT", "the .npy file to write (default: standard output)"},
      {0}};
  const cli_command command = {
      .usage = "scales IN.npy [--family F] [--type T] [--block N] [--k K] [--pair] [-o OUT]",
      .about = "Converts block scales (bytes of ue8m0 or ue4m3, for wgmma f32; a row for each\n"
               "row of A, or for 128 rows that share a scale, or for each column of B) to the\n"
               "bytes that a kernel reads as block_scale_a or block_scale_b (docs/format.md). A\n"
               "row of OUT is a k-block (mma, wgmma) or 128 rows (tcgen05); its length is the\n"
               "pitch. Blocks past K are 0.",
      .examples = "heddle scales sa.npy --type e4m3 --block 64 -o sa.k_blocks.npy\n"
                  "heddle scales weight_scale_inv.npy --family wgmma -o sa.k_blocks.npy\n"
                  "heddle scales sa.npy --family tcgen05 --type e4m3 -o sa.tiles.npy\n"
                  "heddle scales sb.npy --type e2m1p --block 32 --k 4160 -o sb.k_blocks.npy\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  int code = cli_parse(&command, argc, argv, &job.in, &(int){0});
  if (code != CLI_GO)
    return code;
  job.ctx = heddle_context_create();
  heddle_status status = run(&job);
  hd_free(job.scales);
  return cli_finish(job.ctx, status);
}
