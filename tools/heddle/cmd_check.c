/* heddle check: validates a matrix or a file. */
#include <stdio.h>

#include "cli.h"
#include "commands.h"
#include "sparse_io.h"

#include "Support/diag.h"
#include "Support/memory.h"

/* A matrix is 2:4 sparse if it can be compressed. */
static heddle_status check_dense(sparse_job *job) {
  heddle_sparse_info info;
  uint8_t *image;
  HD_TRY(sparse_image(job, HEDDLE_SPARSE_CANONICAL, HEDDLE_FAMILY_NONE, &info, &image));
  heddle_status status =
      heddle_sparse_compress(job->ctx, job->elem, job->m, job->k, job->dense, job->row_bytes,
                             image + info.values_offset, image + info.codes_offset);
  hd_free(image);
  return status;
}

/* Reading a heddle file validates all of it. */
static heddle_status check(sparse_job *job, bool json) {
  static const char *const kinds[] = {"dense", "canonical", "packed"}; /* ORDER sparse_kind */
  char text[128];
  HD_TRY(sparse_read(job, ~0u, ""));
  if (job->kind == SPARSE_DENSE)
    HD_TRY(check_dense(job));
  sparse_describe(job, text, sizeof text);
  if (json)
    printf("{\"sound\": true, \"kind\": \"%s\", \"type\": \"%s\", \"m\": %llu, "
           "\"k\": %llu}\n",
           kinds[job->kind], heddle_elem_get(job->elem)->name, (unsigned long long)job->m,
           (unsigned long long)job->k);
  else
    printf("sound: %s\n", text);
  return HEDDLE_OK;
}

int cmd_check(int argc, char **argv) {
  sparse_job job = {.type = SPARSE_TYPE_NONE};
  bool json = false;
  const cli_option options[] = {{"type", CLI_ELEM, &job.type, "T", SPARSE_TYPE_ABOUT},
                                {"json", CLI_FLAG, &json, NULL,
                                 "print one JSON object if it is valid"},
                                {0}};
  const cli_command command = {
      .usage = "check IN [--type T] [--json]",
      .about = "Checks that a dense .npy matrix is 2:4 sparse, or that a canonical or packed file\n"
               "is valid: header, sizes, checksum, every code, padding. Otherwise it prints a\n"
               "diagnostic, and the exit code is 2.",
      .examples = "heddle check w.packed\nheddle check w24.npy --type bf16\n"
                  "heddle check w.packed --json\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  int code = cli_parse(&command, argc, argv, &job.in, &(int){0});
  return code == CLI_GO ? sparse_finish(&job, check(&job, json)) : code;
}
