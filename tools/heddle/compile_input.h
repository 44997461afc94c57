/* heddle/compile_input.h: shared by gen, run and explain: the problem's file and options, and
 * compiling the kernel. */
#ifndef HD_COMPILE_INPUT_H
#define HD_COMPILE_INPUT_H

#include "Choice/bucket_choose.h"
#include "cli.h"
#include "find_program.h"
#include "problem_flags.h"
#include "service_client.h"
#include "trial/trial.h"

typedef struct compile_input {
  const char *path;    /* of the text; "-": standard input; NULL: the problem is in flags */
  problem_flags flags; /* options: the problem, if there is no text */
  const char *target, *schedule, *epilogue, *ptxas, *cache; /* options; NULL: not given */
  const char *name, *prefix; /* options: for the kernel */
  char *text;         /* owned */
  size_t text_bytes;
  char *epilogue_text; /* owned; NULL: no epilogue */
  size_t epilogue_bytes;
  char *epilogue_worker; /* owned; NULL: heddle-epilogue was not found */
  char *ptxas_path; /* owned; NULL: not found, or --ptxas none */
  const char *db;   /* option: tuned choices; NULL: the shipped ones */
  service_args service; /* options: a service instead */
  bool no_tuned;
  hd_tuned *tuned;  /* owned; NULL: not opened */
  const hd_tuned_entry *entry; /* the choice that `schedule` is from; NULL: none */
  const char *buckets; /* option; NULL: automatic */
  const char *typical; /* option: sizes and their weights; NULL: not given */
  hd_module *module; /* owned: the parsed text, with the kernel's name from the options; NULL: not
                        parsed yet, or consumed by the front */
  hd_front front;    /* owned: made from module; module NULL: not made yet, or compiled */
  int64_t hint_mnk[3]; /* sizes known at launch for which the schedule was chosen */
  hd_bucket_plan plan; /* the chosen schedules; n 0: none; dim "": one for all sizes */
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

/* For a command whose output files have the kernel's name. */
#define COMPILE_INPUT_NAMES(in)                                                                    \
  {"name", CLI_TEXT, &(in).name, "NAME", "the name of the kernel (default: from FILE)"}, {         \
    "prefix", CLI_TEXT, &(in).prefix, "P", "prefix for the name of the kernel"                     \
  }

/* Reads the files and finds ptxas. HEDDLE_ENVIRONMENT if --ptxas names no executable program. */
heddle_status compile_input_read(heddle_context *ctx, compile_input *in);
void compile_input_free(compile_input *in);

/* Parse: the text to in->module. Front: the module to in->front. Existing results are kept. */
heddle_status compile_input_parse(heddle_context *ctx, compile_input *in);
heddle_status compile_input_front(heddle_context *ctx, compile_input *in);

/* If the input has no schedule, chooses it by tuned choices (unless --no-tuned) and the model, into
 * in->plan: one per bucket of a size that is known at launch; a single one with --buckets none, or
 * if `one_size` is set and that size is given. size is indexed by HD_ARG_M etc.; 0: the
 * problem's. */
heddle_status compile_input_choose(heddle_context *ctx, compile_input *in,
                                   const int64_t size[HD_N_ARG_KINDS], bool one_size);

/* Discards what was read and chosen, to compile for another target. */
void compile_input_forget(compile_input *in);

/* Compiles the input with its own or the chosen schedule; in->front is consumed. If a chosen
 * schedule spills, in->plan becomes the schedules that were used. */
heddle_status compile_input_compile(heddle_context *ctx, compile_input *in, trial_kernel *kernel);
/* Compiles another text with this schedule and the input's options. */
heddle_status compile_input_text(heddle_context *ctx, const compile_input *in, const char *text,
                                 const char *schedule, trial_kernel *kernel);

/* Parses --size (NULL: none) into size, which must be all 0; refuses sizes that the problem does
 * not have. */
heddle_status compile_input_sizes(heddle_context *ctx, compile_input *in, const char *text,
                                  int64_t size[HD_N_ARG_KINDS]);

/* The product of the input's problem; hint_mnk as in hd_product_of. */
heddle_status compile_input_product(heddle_context *ctx, compile_input *in,
                                    const int64_t hint_mnk[3], hd_product *product);

/* Keeps only the chosen bucket that a launch of in->hint_mnk uses; keeps all if that size or
 * --buckets is not given. */
void compile_input_keep_one(compile_input *in);

/* Bytes of packed A for the manifest's type and family. */
heddle_status compile_packed_bytes(heddle_context *ctx, const hd_manifest *manifest, int64_t m,
                                   int64_t k, size_t *n_bytes);

#endif
