/* heddle/sparse_io.h: shared by prune, compress, pack, unpack, decompress and check: reads a matrix
 * in any of its three forms, and writes one. */
#ifndef HD_SPARSE_IO_H
#define HD_SPARSE_IO_H

#include "heddle/sparse.h"

#define SPARSE_TYPE_ABOUT "element type, if the .npy dtype does not determine it"
#define SPARSE_OUT_ABOUT "the file to write (default: standard output)"
#define SPARSE_TYPE_NONE HEDDLE_N_ELEMS

typedef enum sparse_kind { SPARSE_DENSE, SPARSE_CANONICAL_FILE, SPARSE_PACKED_FILE } sparse_kind;

/* One run of a command: its input and its output. */
typedef struct sparse_job {
  const char *in, *out; /* paths; out NULL: standard output */
  heddle_elem type;     /* --type, or SPARSE_TYPE_NONE */
  heddle_context *ctx;
  /* The input. */
  sparse_kind kind;
  heddle_elem elem;
  uint64_t m, k;
  char *image;             /* owned: a complete heddle file */
  size_t image_bytes;
  heddle_sparse_info info; /* of a heddle file, fully validated */
  void *dense;             /* owned: rows without gaps, row_bytes each */
  size_t row_bytes;
} sparse_job;

/* Reads and validates the input. kinds is the set of 1 << sparse_kind that the command accepts;
 * `instead` names what to use for the others. */
heddle_status sparse_read(sparse_job *job, unsigned kinds, const char *instead);

/* Allocates an image (owned) for a matrix of the job's sizes; *info has the payload's offsets. */
heddle_status sparse_image(sparse_job *job, heddle_sparse_form form, heddle_family family,
                           heddle_sparse_info *info, uint8_t **image);

/* Interleaves m rows of row_bytes bytes of gate and up (pairs), or separates them. */
heddle_status sparse_pair(heddle_context *ctx, uint64_t m, size_t row_bytes, void *rows);
heddle_status sparse_unpair(heddle_context *ctx, uint64_t m, size_t row_bytes, void *rows);

/* Seals and writes an image (consumed), or writes job->dense as .npy; reports it on standard output
 * unless the data goes there. */
heddle_status sparse_write_image(sparse_job *job, const heddle_sparse_info *info, uint8_t *image);
heddle_status sparse_write_dense(sparse_job *job);

/* "3 x 20 bf16, packed for mma, 4736 bytes" of a file; "3 x 20 bf16, dense" of a dense matrix. */
void sparse_describe(const sparse_job *job, char *out, size_t out_bytes);

/* A command that converts one file to another: --type, with help text `of_type`, and -o. */
typedef struct sparse_command {
  const char *usage, *about, *examples, *of_type;
  heddle_status (*run)(sparse_job *job);
} sparse_command;
int sparse_run(const sparse_command *command, int argc, char **argv);

/* Prints diagnostics (with the input's name if they name no file), frees the job, returns the exit
 * code. */
int sparse_finish(sparse_job *job, heddle_status status);

#endif
