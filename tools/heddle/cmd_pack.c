/* heddle pack: packs a dense 2:4 or a canonical matrix. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"
#include "pack_device.h"
#include "sparse_io.h"

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

typedef struct pack_args {
  heddle_family family; /* NONE: the default of the type */
  bool pair, prune, two_way, time;
  int64_t n_matrices; /* of a batch; 0: no batch */
  int64_t threads;
  const char *device; /* NULL: on the host; "sim", or a device number */
  const char *twin;   /* the file of the packed transposed matrix, or NULL */
} pack_args;

/* Packs the transposed matrix on the host; elements have 16 bits. */
static heddle_status prune_pack_twin(sparse_job *job, heddle_family family,
                                     const heddle_prune_pack_options *options, void *payload) {
  uint16_t *transposed = hd_try_malloc(job->ctx, job->m * job->k * sizeof *transposed, "the twin");
  if (!transposed)
    return HEDDLE_NO_MEMORY;
  for (uint64_t i = 0; i < job->m; i++)
    for (uint64_t j = 0; j < job->k; j++)
      memcpy(&transposed[j * job->m + i],
             (const char *)job->dense + i * job->row_bytes + j * sizeof *transposed,
             sizeof *transposed);
  heddle_status status =
      heddle_sparse_prune_pack(job->ctx, job->elem, family, job->k, job->m, transposed,
                               job->m * sizeof *transposed, options, payload);
  hd_free(transposed);
  return status;
}

static heddle_status prune_pack(sparse_job *job, heddle_family family, const pack_args *a,
                                const pack_result *to) {
  if (a->device && strcmp(a->device, "sim") == 0)
    return pack_in_simulator(job, to);
  if (a->device)
    return pack_on_device(job, atoi(a->device), to);
  heddle_prune_pack_options options = {.n_threads = (int32_t)a->threads};
  if (a->two_way)
    HD_TRY(heddle_sparse_prune_two_way(job->ctx, job->elem, job->m, job->k, job->dense,
                                       job->row_bytes, NULL));
  HD_TRY(heddle_sparse_prune_pack(job->ctx, job->elem, family, job->m, job->k, job->dense,
                                  job->row_bytes, &options, to->payload));
  return to->twin ? prune_pack_twin(job, family, &options, to->twin) : HEDDLE_OK;
}

static heddle_status pack_into(sparse_job *job, heddle_family family, const pack_args *a,
                               const pack_result *to) {
  void *payload = to->payload;
  if (a->prune)
    return prune_pack(job, family, a, to);
  if (job->kind == SPARSE_DENSE)
    return heddle_sparse_pack_dense(job->ctx, job->elem, family, job->m, job->k, job->dense,
                                    job->row_bytes, payload);
  return heddle_sparse_pack(job->ctx, job->elem, family, job->m, job->k,
                            job->image + job->info.values_offset,
                            job->image + job->info.codes_offset, payload);
}

/* The default family: wgmma for the types that it supports. */
static heddle_family default_family(const sparse_job *job) {
  heddle_sparse_info info;
  heddle_status status = heddle_sparse_plan(NULL, HEDDLE_SPARSE_PACKED, job->elem,
                                            HEDDLE_FAMILY_WGMMA, job->m, job->k, &info);
  return status == HEDDLE_UNSUPPORTED ? HEDDLE_FAMILY_MMA : HEDDLE_FAMILY_WGMMA;
}

/* Interleaves rows of gate and up before they are packed. */
static heddle_status interleave(sparse_job *job) {
  const heddle_sparse_info *info = &job->info;
  if (job->kind == SPARSE_DENSE)
    return sparse_pair(job->ctx, job->m, job->row_bytes, job->dense);
  HD_TRY(sparse_pair(job->ctx, job->m, info->values_row_bytes, job->image + info->values_offset));
  return sparse_pair(job->ctx, job->m, info->codes_row_bytes, job->image + info->codes_offset);
}

/* Pads each matrix of a batch, stored one below another, to whole slabs, so that the packed
 * matrices are contiguous (docs/format.md). */
static heddle_status separate(sparse_job *job, uint64_t n) {
  enum { SLAB = 64 };
  uint64_t rows = job->m / n, whole = (rows + SLAB - 1) / SLAB * SLAB;
  if (job->m % n)
    return hd_error(job->ctx, HEDDLE_INVALID, (hd_loc){.file = job->in}, "sparse.batch",
                    "%llu rows cannot be divided into %llu matrices; legal: a --batch that divides "
                    "the rows; nearest: %llu rows",
                    (unsigned long long)job->m, (unsigned long long)n,
                    (unsigned long long)((rows + 1) * n));
  if (rows == whole)
    return HEDDLE_OK;
  if (job->kind != SPARSE_DENSE)
    return hd_error(job->ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = job->in}, "sparse.batch",
                    "the matrices of the canonical file have %llu rows; legal: a multiple of %d, "
                    "or a dense matrix; nearest: heddle decompress first",
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

/* The minimum of many runs, over at least half a second: other load on the machine only adds
 * time. */
static heddle_status time_on_host(sparse_job *job, heddle_family family, const pack_args *a,
                                  const pack_result *to, double *seconds) {
  enum { MIN_RUNS = 5 };
  const double at_least_s = 0.5;
  double began = hd_clock_seconds();
  *seconds = HUGE_VAL;
  for (int run = 0; run < MIN_RUNS || hd_clock_seconds() - began < at_least_s; run++) {
    double start = hd_clock_seconds();
    HD_TRY(prune_pack(job, family, a, to));
    *seconds = fmin(*seconds, hd_clock_seconds() - start);
  }
  return HEDDLE_OK;
}

static void print_speed(const sparse_job *job, double seconds) {
  printf("pruned and packed %llu x %llu %s: %.2f GB/s of dense bytes", (unsigned long long)job->m,
         (unsigned long long)job->k, heddle_elem_get(job->elem)->name,
         (double)job->m * (double)job->row_bytes / seconds / 1e9);
}

static heddle_status print_time(sparse_job *job, heddle_family family, const pack_args *a,
                                const pack_result *to) {
  double seconds;
  pack_speed speed;
  if (a->device) {
    HD_TRY(pack_time_on_device(job, atoi(a->device), to, &speed));
    print_speed(job, speed.seconds);
    printf(", %s, %.1f us, %.3f of a copy of the same bytes\n", speed.device, speed.seconds * 1e6,
           speed.copy_seconds / speed.seconds);
    return HEDDLE_OK;
  }
  HD_TRY(time_on_host(job, family, a, to, &seconds));
  print_speed(job, seconds);
  printf(", %lld %s\n", (long long)a->threads, a->threads == 1 ? "thread" : "threads");
  return HEDDLE_OK;
}

/* An image of a packed matrix, and the job that writes it. */
typedef struct output {
  sparse_job job;
  heddle_sparse_info info;
  uint8_t *image; /* owned; NULL: none */
} output;

static heddle_status make_output(const sparse_job *job, heddle_family family, output *o) {
  o->job = *job;
  return sparse_image(&o->job, HEDDLE_SPARSE_PACKED, family, &o->info, &o->image);
}

static heddle_status make_twin(const sparse_job *job, heddle_family family, const char *path,
                               output *o) {
  sparse_job twin = *job;
  if (heddle_elem_get(job->elem)->container_bits != 16)
    return hd_error(job->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "pack.twin-type",
                    "got %s; legal: bf16, f16; nearest: heddle pack of the transposed matrix",
                    heddle_elem_get(job->elem)->name);
  twin.m = job->k;
  twin.k = job->m;
  twin.out = path;
  return make_output(&twin, family, o);
}

static heddle_status write_output(output *o) {
  uint8_t *image = o->image;
  o->image = NULL;
  return image ? sparse_write_image(&o->job, &o->info, image) : HEDDLE_OK;
}

static void *payload_of(const output *o) {
  return o->image ? o->image + o->info.payload_offset : NULL;
}

static heddle_status pack_and_write(sparse_job *job, heddle_family family, const pack_args *a,
                                    output *own, output *twin) {
  HD_TRY(make_output(job, family, own));
  own->info.pair = a->pair;
  if (a->twin)
    HD_TRY(make_twin(job, family, a->twin, twin));
  const pack_result to = {payload_of(own), payload_of(twin), own->info.payload_bytes,
                          twin->info.payload_bytes, a->two_way};
  HD_TRY(pack_into(job, family, a, &to));
  if (a->time)
    return print_time(job, family, a, &to);
  HD_TRY(write_output(own));
  return write_output(twin);
}

static heddle_status pack(sparse_job *job, const pack_args *a) {
  output own = {0}, twin = {0};
  unsigned dense = 1u << SPARSE_DENSE, canonical = 1u << SPARSE_CANONICAL_FILE;
  HD_TRY(sparse_read(job, a->prune ? dense : dense | canonical,
                     a->prune ? "only a dense matrix can be pruned" : "it is already packed"));
  if (a->n_matrices)
    HD_TRY(separate(job, (uint64_t)a->n_matrices));
  heddle_family family = a->family == HEDDLE_FAMILY_NONE ? default_family(job) : a->family;
  if (a->pair)
    HD_TRY(interleave(job));
  heddle_status status = pack_and_write(job, family, a, &own, &twin);
  hd_free(own.image);
  hd_free(twin.image);
  return status;
}

static int parse_family(const char *name, heddle_family *family) {
  static const char *const names[] = {"mma", "wgmma"};
  if (!name ||
      (heddle_family_parse(name, family) == HEDDLE_OK && *family != HEDDLE_FAMILY_NONE))
    return CLI_GO;
  return cli_usage_error("sparse.family", "unknown family '%s'; legal: mma or wgmma; nearest: %s",
                         name, cli_nearest(name, names, 2));
}

static int check_args(const pack_args *a, const char *out) {
  enum { MAX_THREADS = 64 };
  if (a->n_matrices < 0)
    return cli_usage_error("sparse.batch", "got --batch %lld; legal: 1 or more; nearest: 1",
                           (long long)a->n_matrices);
  if (a->n_matrices && a->pair)
    return cli_usage_error("sparse.batch", "got --batch with --pair; legal: one of them; nearest: "
                                           "a file of pairs for each matrix, one behind the other");
  if (a->threads < 1 || a->threads > MAX_THREADS)
    return cli_usage_error("sparse.threads", "got --threads %lld; legal: 1 to %d; nearest: %d",
                           (long long)a->threads, MAX_THREADS, a->threads < 1 ? 1 : MAX_THREADS);
  if (a->twin && (!a->prune || a->pair || a->n_matrices))
    return cli_usage_error("sparse.twin", "got --twin %s; legal: with --prune, without --pair and "
                                          "--batch; nearest: --prune --twin %s",
                           !a->prune ? "without --prune" : a->pair ? "with --pair" : "with --batch",
                           a->twin);
  if (a->twin && !a->time && strcmp(a->twin, out ? out : "-") == 0)
    return cli_usage_error("sparse.twin", "got --twin %s, where the matrix is written; legal: two "
                                          "files; nearest: --twin %s.twin",
                           a->twin, a->twin);
  if (a->two_way && !a->twin)
    return cli_usage_error("sparse.two-way", "got --two-way without --twin; legal: both; nearest: "
                                             "--two-way --twin FILE");
  if (a->time && !a->prune)
    return cli_usage_error("sparse.time", "got --time without --prune; legal: both; nearest: "
                                          "--prune --time");
  bool sim = a->device && strcmp(a->device, "sim") == 0;
  if (a->device && !sim && (!a->device[0] || a->device[strspn(a->device, "0123456789")] ||
                            strlen(a->device) > 3))
    return cli_usage_error("sparse.device", "got --device %s; legal: a device's number, sim; "
                                            "nearest: 0", a->device);
  if (a->device && !a->prune)
    return cli_usage_error("sparse.device", "got --device without --prune; legal: both; nearest: "
                                            "--prune --device %s", a->device);
  if (sim && a->time)
    return cli_usage_error("sparse.time", "got --time with the simulator; legal: with a device or "
                                          "on the host; nearest: --device 0");
  return CLI_GO;
}

int cmd_pack(int argc, char **argv) {
  sparse_job job = {.type = SPARSE_TYPE_NONE};
  const char *family_name = NULL;
  pack_args a = {.threads = sysconf(_SC_NPROCESSORS_ONLN)};
  const cli_option options[] = {
      {"type", CLI_ELEM, &job.type, "T", SPARSE_TYPE_ABOUT},
      {"family", CLI_TEXT, &family_name, "F",
       "mma or wgmma (default: wgmma if it supports the type)"},
      {"pair", CLI_FLAG, &a.pair, NULL,
       "half of the rows are gate, the others up: for kernels with act = swiglu and similar"},
      {"batch", CLI_INT, &a.n_matrices, "G", "IN is G matrices of a batch, one below the other"},
      {"prune", CLI_FLAG, &a.prune, NULL,
       "prune the dense IN first, as `heddle prune` does"},
      {"threads", CLI_INT, &a.threads, "N",
       "with --prune: 1 to 64 threads (default: all processors)"},
      {"device", CLI_TEXT, &a.device, "I",
       "with --prune: use a kernel on device number I, or `sim` to simulate it"},
      {"twin", CLI_TEXT, &a.twin, "FILE",
       "with --prune: also pack the transposed matrix (bf16, f16), for the gradient"},
      {"two-way", CLI_FLAG, &a.two_way, NULL,
       "with --twin: prune along rows and columns, so that both have the same elements"},
      {"time", CLI_FLAG, &a.time, NULL, "with --prune: print the speed, and write nothing"},
      {"o", CLI_TEXT, &job.out, "OUT", SPARSE_OUT_ABOUT},
      {0}};
  const cli_command command = {
      .usage = "pack IN [--type T] [--family mma|wgmma] [--pair] [--batch G] "
               "[--prune [--threads N | --device I] [--twin FILE [--two-way]] [--time]] [-o OUT]",
      .about = "Converts a canonical file, or a dense .npy matrix that is 2:4 sparse, to the\n"
               "packed format: the bytes that a kernel reads as A, the same for every schedule,\n"
               "tile and N (docs/format.md). --prune accepts any dense matrix.",
      .examples = "heddle pack w24.npy --type bf16 -o w.packed\n"
                  "heddle pack w.npy --type bf16 --prune -o w.packed\n"
                  "heddle pack w.npy --type bf16 --prune --threads 2 --time\n"
                  "heddle pack w.npy --type bf16 --prune --device 0 -o w.packed\n"
                  "heddle pack w.npy --type bf16 --prune --twin wt.packed -o w.packed\n"
                  "heddle pack w.npy --type bf16 --prune --twin wt.packed --two-way -o w.packed\n"
                  "heddle pack w.canonical --family mma -o w.packed\n"
                  "heddle pack w24.npy --type bf16 --pair -o gate_up.packed\n"
                  "heddle pack w24.npy --type bf16 --batch 4 -o batch.packed\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  int code = cli_parse(&command, argc, argv, &job.in, &(int){0});
  if (code == CLI_GO)
    code = parse_family(family_name, &a.family);
  if (code == CLI_GO)
    code = check_args(&a, job.out);
  return code == CLI_GO ? sparse_finish(&job, pack(&job, &a)) : code;
}
