/* heddle/compile_input.h: what gen, run and explain share: the problem's file, options that go with
 * it, and the kernel they make. */
#ifndef HD_COMPILE_INPUT_H
#define HD_COMPILE_INPUT_H

#include "Choice/bucket_choose.h"
#include "cli.h"
#include "find_program.h"
#include "problem_flags.h"
#include "service_client.h"
#include "trial/trial.h"

typedef struct compile_input {
  const char *path;    /* of its text; "-" = standard input; NULL: the problem is in flags */
  problem_flags flags; /* options: the problem, where there is no text */
  const char *target, *schedule, *epilogue, *ptxas, *cache; /* options; NULL: not given */
  const char *name, *prefix; /* options: of the kernel */
  char *text;         /* owned */
  size_t text_bytes;
  char *epilogue_text; /* owned; NULL: none */
  size_t epilogue_bytes;
  char *epilogue_worker; /* owned; NULL: heddle-epilogue is not to be found */
  char *ptxas_path; /* owned; NULL: none found, or --ptxas none */
  const char *db;   /* options: of tuned choices; NULL: the shipped ones */
  service_args service; /* options: or of a service */
  bool no_tuned;
  hd_tuned *tuned;  /* owned; NULL: not looked up */
  const hd_tuned_entry *entry; /* what `schedule` was taken from; NULL: nothing */
  const char *buckets; /* option; NULL: chosen */
  const char *typical; /* option: sizes and their weights; NULL: not said */
  hd_module *module; /* owned: the text, parsed, with the kernel's name as options say; NULL: not
                        yet, or it became the front */
  hd_front front;    /* owned: read from it; of module NULL: not yet, or compiled */
  int64_t hint_mnk[3]; /* of sizes known at launch, the ones it was chosen for */
  hd_bucket_plan plan; /* what was chosen; of n 0: nothing; of dim "": one schedule for all sizes */
} compile_input;

/* Rows of a command's option table for the input in variable `in`. */
#define COMPILE_INPUT_OPTIONS(in)                                                                  \
  {"target", CLI_TEXT, &(in).target, "T", "replaces the target of FILE: sm_80 … sm_121a"},         \
      {"schedule", CLI_TEXT, &(in).schedule, "S",                                                  \
       "overrides the default schedule: \"tile=128x256x64 stages=4\""},                            \
      {"typical", CLI_TEXT, &(in).typical, "N:W,N:W",                                              \
       "sizes of launches with weights, to make buckets for: 1:0.5,512:0.3"},                      \
      {"buckets", CLI_TEXT, &(in).buckets, "B",                                                    \
       "one schedule for each range of a size: auto, none, or limits: N=16,64,512"},               \
      {"epilogue", CLI_TEXT, &(in).epilogue, "FILE",                                               \
       "the user epilogue, as LLVM IR or bitcode"},                                                \
      {"ptxas", CLI_TEXT, &(in).ptxas, "PATH",                                                     \
       "the assembler (default: PATH, then /usr/local/cuda/bin), or none"},                        \
      {"cache", CLI_TEXT, &(in).cache, "DIR",                                                      \
       "folder of compiled kernels, kept and reused ($HEDDLE_CACHE)"},                             \
      {"db", CLI_TEXT, &(in).db, "FILE",                                                           \
       "tuned choices: records of `heddle tune` or an export (the shipped ones)"},                 \
      SERVICE_LOOKUP_OPTIONS((in).service),                                                        \
  {                                                                                                \
    "no-tuned", CLI_FLAG, &(in).no_tuned, NULL, "use the model's default; ignore tuned choices"    \
  }

/* Of a command whose output has the kernel's name. */
#define COMPILE_INPUT_NAMES(in)                                                                    \
  {"name", CLI_TEXT, &(in).name, "NAME", "the name of the kernel (default: from FILE)"}, {         \
    "prefix", CLI_TEXT, &(in).prefix, "P", "prefix for the name of the kernel"                     \
  }

/* Reads the files and finds ptxas. HEDDLE_ENVIRONMENT when --ptxas names nothing that runs. */
heddle_status compile_input_read(heddle_context *ctx, compile_input *in);
void compile_input_free(compile_input *in);

/* The text to in->module; the module to in->front. Once: an existing module is kept. */
heddle_status compile_input_parse(heddle_context *ctx, compile_input *in);
heddle_status compile_input_front(heddle_context *ctx, compile_input *in);

/* Where the input names no schedule: chooses it, by the tuned choices (unless they are refused) and
 * the model, into in->plan: one for each bucket of a size that is known at launch; one alone
 * with --buckets none, and where `one_size` and that size is given. size is by HD_ARG_M and its
 * like; 0: as the problem says. */
heddle_status compile_input_choose(heddle_context *ctx, compile_input *in,
                                   const int64_t size[HD_N_ARG_KINDS], bool one_size);

/* Forgets what was read and chosen, for another target. */
void compile_input_forget(compile_input *in);

/* Compiles the input with what it says or what was chosen for it; in->front is consumed. Where a
 * choice does not fit into registers, in->plan becomes what was taken. */
heddle_status compile_input_compile(heddle_context *ctx, compile_input *in, trial_kernel *kernel);
/* Compiles another text, with this schedule, by the input's options. */
heddle_status compile_input_text(heddle_context *ctx, const compile_input *in, const char *text,
                                 const char *schedule, trial_kernel *kernel);

/* --size's text (NULL: none) into size, all 0 before; refuses what the input's problem does not
 * take. */
heddle_status compile_input_sizes(heddle_context *ctx, compile_input *in, const char *text,
                                  int64_t size[HD_N_ARG_KINDS]);

/* The product that the input's problem is of; hint_mnk as hd_product_of has it. */
heddle_status compile_input_product(heddle_context *ctx, compile_input *in,
                                    const int64_t hint_mnk[3], hd_product *product);

/* Of the buckets that were chosen, keeps the one that a launch of in->hint_mnk takes: all of them
 * where that size is not given, or --buckets is. */
void compile_input_keep_one(compile_input *in);

/* Bytes of packed A for the manifest's type and family. */
heddle_status compile_packed_bytes(heddle_context *ctx, const hd_manifest *manifest, int64_t m,
                                   int64_t k, size_t *n_bytes);

#endif
