#include "sparse_io.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Sparse/npy.h"
#include "Sparse/sparse_file.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "cli.h"

static const char *const kind_names[] = {"a dense .npy matrix", "a canonical file",
                                         "a packed file"};

static hd_loc here(const sparse_job *job) {
  return (hd_loc){.file = job->in};
}

/* The element type, if the dtype determines it. */
static heddle_elem implied_type(const hd_npy *npy) {
  if (npy->kind == 'f' && npy->item_bytes == 2)
    return HEDDLE_F16;
  if (npy->kind == 'f' && npy->item_bytes == 4)
    return HEDDLE_TF32;
  if (npy->kind == 'i' && npy->item_bytes == 1)
    return HEDDLE_S8;
  return SPARSE_TYPE_NONE;
}

static heddle_status read_dense(sparse_job *job) {
  hd_npy npy;
  HD_TRY(hd_npy_open(job->ctx, job->in, job->image, job->image_bytes, &npy));
  job->elem = job->type != SPARSE_TYPE_NONE ? job->type : implied_type(&npy);
  if (job->elem == SPARSE_TYPE_NONE && npy.item_bytes > 2)
    return hd_error(job->ctx, HEDDLE_INVALID, here(job), "npy.dtype",
                    "dtype '%c%u' cannot hold a sparse element type; legal: f2, f4, u2, i1, u1; "
                    "nearest: f4",
                    npy.kind, npy.item_bytes);
  if (job->elem == SPARSE_TYPE_NONE)
    return hd_error(job->ctx, HEDDLE_INVALID, here(job), "sparse.type",
                    "dtype '%c%u' does not determine the element type; legal: --type %s", npy.kind,
                    npy.item_bytes, npy.item_bytes == 2 ? "bf16" : "e4m3");
  HD_TRY(hd_npy_check_elem(job->ctx, job->in, &npy, job->elem, &job->m, &job->k));
  HD_TRY(heddle_sparse_dense_row_bytes(job->ctx, job->elem, job->k, &job->row_bytes));
  job->kind = SPARSE_DENSE;
  return hd_npy_copy_rows(job->ctx, &npy, &job->dense);
}

static heddle_status read_heddle_file(sparse_job *job) {
  HD_TRY(heddle_sparse_check(job->ctx, job->image, job->image_bytes, &job->info));
  job->kind = job->info.form == HEDDLE_SPARSE_PACKED ? SPARSE_PACKED_FILE : SPARSE_CANONICAL_FILE;
  job->elem = job->info.elem;
  job->m = job->info.m;
  job->k = job->info.k;
  if (job->type != SPARSE_TYPE_NONE && job->type != job->elem)
    return hd_error(job->ctx, HEDDLE_INVALID, here(job), "sparse.type",
                    "got --type %s for a file of type %s; nearest: without --type",
                    heddle_elem_get(job->type)->name, heddle_elem_get(job->elem)->name);
  return HEDDLE_OK;
}

heddle_status sparse_read(sparse_job *job, unsigned kinds, const char *instead) {
  job->ctx = heddle_context_create();
  if (!job->ctx)
    return HEDDLE_NO_MEMORY;
  HD_TRY(hd_sparse_file_read(job->ctx, job->in, &job->image, &job->image_bytes));
  HD_TRY(hd_npy_is(job->image, job->image_bytes) ? read_dense(job) : read_heddle_file(job));
  if (!(kinds >> job->kind & 1))
    return hd_error(job->ctx, HEDDLE_INVALID, here(job), "sparse.form", "the input is %s; %s",
                    kind_names[job->kind], instead);
  return HEDDLE_OK;
}

heddle_status sparse_image(sparse_job *job, heddle_sparse_form form, heddle_family family,
                           heddle_sparse_info *info, uint8_t **image) {
  HD_TRY(heddle_sparse_plan(job->ctx, form, job->elem, family, job->m, job->k, info));
  *image = hd_try_malloc(job->ctx, info->file_bytes, "the file");
  return *image ? HEDDLE_OK : HEDDLE_NO_MEMORY;
}

typedef heddle_status move_rows(heddle_context *ctx, uint64_t m, size_t row_bytes, const void *from,
                                void *to);

static heddle_status move_in_place(heddle_context *ctx, uint64_t m, size_t row_bytes, void *rows,
                                   move_rows *move) {
  size_t n_bytes = (size_t)m * row_bytes;
  void *from = hd_try_malloc(ctx, n_bytes, "rows of gate and up");
  if (!from)
    return HEDDLE_NO_MEMORY;
  memcpy(from, rows, n_bytes);
  heddle_status status = move(ctx, m, row_bytes, from, rows);
  hd_free(from);
  return status;
}

heddle_status sparse_pair(heddle_context *ctx, uint64_t m, size_t row_bytes, void *rows) {
  return move_in_place(ctx, m, row_bytes, rows, heddle_sparse_pair_rows);
}

heddle_status sparse_unpair(heddle_context *ctx, uint64_t m, size_t row_bytes, void *rows) {
  return move_in_place(ctx, m, row_bytes, rows, heddle_sparse_unpair_rows);
}

/* Refuses to write binary data to a terminal. */
static heddle_status check_output(const sparse_job *job) {
  if (job->out || !isatty(STDOUT_FILENO))
    return HEDDLE_OK;
  return hd_error(job->ctx, HEDDLE_INVALID, HD_NOWHERE, "cli.terminal",
                  "standard output is a terminal and the result is binary; legal: -o OUT");
}

static void say_written(const sparse_job *job, const char *what) {
  if (job->out && strcmp(job->out, "-") != 0)
    printf("wrote %s: %s\n", job->out, what);
}

heddle_status sparse_write_image(sparse_job *job, const heddle_sparse_info *info, uint8_t *image) {
  heddle_status status = heddle_sparse_seal(job->ctx, info, image);
  if (status == HEDDLE_OK)
    status = check_output(job);
  if (status == HEDDLE_OK)
    status = hd_file_write(job->ctx, job->out ? job->out : "-", image, info->file_bytes);
  hd_free(image);
  sparse_job made = {.kind = info->form == HEDDLE_SPARSE_PACKED ? SPARSE_PACKED_FILE
                                                                : SPARSE_CANONICAL_FILE,
                     .elem = info->elem,
                     .m = info->m,
                     .k = info->k,
                     .info = *info};
  char text[128];
  sparse_describe(&made, text, sizeof text);
  if (status == HEDDLE_OK)
    say_written(job, text);
  return status;
}

heddle_status sparse_write_dense(sparse_job *job) {
  HD_TRY(check_output(job));
  HD_TRY(hd_npy_write(job->ctx, job->out ? job->out : "-", job->elem, job->m, job->k, job->dense,
                      job->row_bytes));
  job->kind = SPARSE_DENSE;
  char text[128];
  sparse_describe(job, text, sizeof text);
  say_written(job, text);
  return HEDDLE_OK;
}

void sparse_describe(const sparse_job *job, char *out, size_t out_bytes) {
  const char *name = heddle_elem_get(job->elem)->name;
  unsigned long long m = job->m, k = job->k;
  if (job->kind == SPARSE_DENSE)
    snprintf(out, out_bytes, "%llu x %llu %s, dense", m, k, name);
  else if (job->kind == SPARSE_CANONICAL_FILE)
    snprintf(out, out_bytes, "%llu x %llu %s, canonical, %zu bytes", m, k, name,
             job->info.file_bytes);
  else
    snprintf(out, out_bytes, "%llu x %llu %s, packed for %s%s, %zu bytes", m, k, name,
             heddle_family_name(job->info.family), job->info.pair ? ", pairs" : "",
             job->info.file_bytes);
}

int sparse_finish(sparse_job *job, heddle_status status) {
  hd_name_file(job->ctx, 0, job->in);
  hd_free(job->image);
  hd_free(job->dense);
  return cli_finish(job->ctx, status);
}

int sparse_run(const sparse_command *command, int argc, char **argv) {
  sparse_job job = {.type = SPARSE_TYPE_NONE};
  const cli_option options[] = {{"type", CLI_ELEM, &job.type, "T", command->of_type},
                                {"o", CLI_TEXT, &job.out, "OUT", SPARSE_OUT_ABOUT},
                                {0}};
  const cli_command words = {.usage = command->usage,
                             .about = command->about,
                             .examples = command->examples,
                             .options = options,
                             .min_args = 1,
                             .max_args = 1};
  int code = cli_parse(&words, argc, argv, &job.in, &(int){0});
  return code == CLI_GO ? sparse_finish(&job, command->run(&job)) : code;
}
