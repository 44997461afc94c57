/* One target per public parser, selected by FUZZ_PARSER: any input must end in a status. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Choice/tuned.h"
#include "Emit/user_ir.h"
#include "Kernel/bundle.h"
#include "Schedule/schedule.h"
#include "Sim/sim.h"
#include "Sparse/npy.h"
#include "Support/memory.h"
#include "Support/strbuf.h"
#include "Tune/records.h"
#include "heddle/ir.h"
#include "heddle/manifest.h"
#include "heddle/sparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* A module that parses is printed and parsed again. */
static inline void fuzz_module(heddle_context *ctx, const char *text, size_t n) {
  heddle_module *module, *again;
  char *printed;
  size_t printed_bytes;
  if (heddle_module_parse(ctx, NULL, text, n, &module) != HEDDLE_OK)
    return;
  heddle_module_print(module, &printed, &printed_bytes);
  if (heddle_module_parse(ctx, NULL, printed, printed_bytes, &again) != HEDDLE_OK)
    abort();
  heddle_module_free(again);
  heddle_module_free(module);
  free(printed);
}

static inline void fuzz_manifest(heddle_context *ctx, const char *text, size_t n) {
  heddle_manifest *manifest;
  if (heddle_manifest_read(ctx, text, n, &manifest) == HEDDLE_OK)
    heddle_manifest_free(manifest);
}

static inline void fuzz_bundle(heddle_context *ctx, const char *text, size_t n) {
  hd_arena arena = {0};
  hd_bundle bundle;
  (void)hd_bundle_read(ctx, text, n, &arena, &bundle);
  hd_arena_free(&arena);
}

static inline void fuzz_schedule(heddle_context *ctx, const char *text, size_t n) {
  char *copy = strndup(text, n);
  hd_schedule_words words = {0};
  (void)hd_schedule_parse(ctx, HD_NOWHERE, copy, &words);
  free(copy);
}

static inline void fuzz_tuned(heddle_context *ctx, const char *text, size_t n) {
  hd_tuned *tuned;
  if (hd_tuned_parse(ctx, "fuzz", text, n, &tuned) == HEDDLE_OK)
    heddle_tuned_free(tuned);
}

static inline void fuzz_npy(heddle_context *ctx, const char *text, size_t n) {
  hd_npy npy;
  (void)hd_npy_open(ctx, "fuzz", text, n, &npy);
}

static inline void fuzz_sparse(heddle_context *ctx, const char *text, size_t n) {
  heddle_sparse_info info;
  (void)heddle_sparse_check(ctx, text, n, &info);
}

/* --- PTX -------------------------------------------------------------------------------------- */

/* Prefix for input that is no whole text: registers with values, shared memory, three pointers. */
static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 smem[];\n"
    ".visible .entry micro(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n"
    ".reg .pred %p<16>; .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<64>;\n"
    "ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2];\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, %cluster_ctarank;\n"
    "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p0, %r0, 0; setp.ge.u32 %p1, %r0, 32;\n"
    "mul.wide.u32 %rd3, %r0, 4; add.s64 %rd4, %rd0, %rd3; add.s64 %rd5, %rd1, %rd3;\n"
    "shl.b32 %r4, %r0, 2; add.s32 %r4, %r4, %r1;\n";

/* The first word after `before`, truncated to fit. */
static inline void find_word(const char *text, const char *before, char *out, size_t out_bytes) {
  const char *at = strstr(text, before);
  size_t n = 0;
  for (at = at ? at + strlen(before) : ""; *at == ' ' || *at == '\t'; at++)
    ;
  while (n + 1 < out_bytes && at[n] && !strchr(" \t\n(", at[n]))
    n++;
  memcpy(out, at, n);
  out[n] = 0;
}

/* A whole text, or the body of an entry; two CTAs of a cluster with 64 threads each. */
static inline void fuzz_ptx(heddle_context *ctx, const char *data, size_t n) {
  enum { BUFFERS = 3, BYTES = 1024, STEPS = 3000 };
  static uint8_t memory[BUFFERS][BYTES];
  hd_strbuf text = {0};
  char entry[64];
  bool whole = n > 8 && !memcmp(data, ".version", 8);
  hd_strbuf_add(&text, whole ? "" : head);
  hd_strbuf_addn(&text, data, n);
  hd_strbuf_add(&text, whole ? "" : "\nret;\n}\n");
  find_word(hd_strbuf_text(&text), ".entry", entry, sizeof entry);
  hd_variant variant = {.entry = entry, .path = "fuzz", .n_threads = 64, .cluster = 2,
                        .shared_bytes = 4096, .n_params = BUFFERS};
  static const hd_arg_kind kinds[BUFFERS] = {HD_ARG_A, HD_ARG_D, HD_ARG_WORKSPACE};
  hd_launch_plan plan = {.variant = &variant, .grid_x = 2};
  hd_values values = {{0}};
  hd_sim_buffer buffers[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) {
    variant.param[i] = (hd_param){.arg = kinds[i]};
    values.v[kinds[i]] = 0x100000ull * (uint64_t)(i + 1);
    buffers[i] = (hd_sim_buffer){.name = "x", .address = values.v[kinds[i]], .n_bytes = BYTES,
                                 .data = memory[i], .writable = i > 0};
  }
  const hd_sim_launch launch = {.file = "fuzz", .ptx = hd_strbuf_text(&text), .ptx_bytes = text.len,
                                .plan = &plan, .values = &values, .buffers = buffers,
                                .n_buffers = BUFFERS};
  hd_sim_options options = {.seed = n, .mode = (hd_sim_mode)(n % 3), .max_steps = STEPS};
  hd_arena arena = {0};
  hd_sim_report report = {0};
  (void)hd_sim_run(ctx, &launch, &options, &arena, &report);
  hd_arena_free(&arena);
  hd_strbuf_free(&text);
}

/* --- the user's epilogue ---------------------------------------------------------------------- */

static inline void find_function(const char *text, size_t n, char *name, size_t name_bytes) {
  char *copy = strndup(text, n);
  const char *define = strstr(copy, "define");
  find_word(define ? define : "", "@", name, name_bytes);
  free(copy);
}

/* The bounded text parser, in this process; what it accepts is evaluated. */
static inline void fuzz_user(heddle_context *ctx, const char *text, size_t n) {
  static hd_user_function function;
  static const float data[16] = {1, 2, 3};
  char name[64];
  find_function(text, n, name, sizeof name);
  if (hd_user_parse(ctx, text, n, name, &function) != HEDDLE_OK ||
      hd_user_check_evaluated(ctx, &function) != HEDDLE_OK)
    return;
  hd_user_memory memory = {.data = (const uint8_t *)data, .n_bytes = sizeof data};
  (void)hd_user_call(&function, &memory, 0.5, -2, 3, 4);
}

/* Any LLVM IR, text or bitcode: LLVM reads it in the worker process. */
static inline void fuzz_worker(heddle_context *ctx, const char *ir, size_t n) {
  hd_user_function *function = NULL;
  (void)hd_user_read(ctx, &(hd_user_source){ir, n, FUZZ_WORKER}, "f", &function);
  hd_free(function);
}

/* --- records ---------------------------------------------------------------------------------- */

static inline bool each_record(void *user, const hd_record *record) {
  *(size_t *)user += strlen(record->product);
  return true;
}

static inline bool each_choice(void *user, const hd_choice *choice) {
  *(size_t *)user += strlen(choice->product);
  return true;
}

/* Opens a database for reading, then for writing, which may upgrade it. */
static inline void fuzz_records(heddle_context *ctx, const char *data, size_t n) {
  static char path[64];
  static int file = -1;
  size_t sum = 0;
  if (file < 0) {
    snprintf(path, sizeof path, "/dev/shm/heddle-fuzz-%d.db", (int)getpid());
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  }
  if (ftruncate(file, 0) || pwrite(file, data, n, 0) != (ssize_t)n)
    abort();
  for (int write = 0; write < 2; write++) {
    hd_records *records = NULL;
    if (hd_records_open(ctx, path, write, &records) == HEDDLE_OK) {
      (void)hd_records_each(ctx, records, NULL, each_record, &sum);
      (void)hd_records_each_choice(ctx, records, each_choice, &sum);
    }
    hd_records_close(records);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  static heddle_context *ctx;
  ctx = ctx ? ctx : heddle_context_create();
  heddle_context_clear(ctx);
  FUZZ_PARSER(ctx, (const char *)data, n_bytes);
  return 0;
}
