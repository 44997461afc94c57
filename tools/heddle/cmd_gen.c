/* heddle gen: compiles a problem to PTX, cubin, C launcher, header and manifest. Needs no GPU and
 * no driver. */
#include <stdio.h>
#include <string.h>

#include "Kernel/bundle.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "commands.h"
#include "compile_input.h"
#include "gen_files.h"
#include "gen_role.h"
#include "sizes.h"

static const char about[] =
    "Writes these files to DIR, where NAME is the name of the kernel:\n"
    "\n"
    "  NAME.ptx, NAME.cubin  the code (a cubin only if ptxas is found)\n"
    "  NAME.h, NAME.c        a launcher in C11 that does not link libcuda\n"
    "  NAME.c.bin            the code, which NAME.c includes with .incbin\n"
    "  NAME.json             the manifest\n"
    "\n"
    "With -o - only the PTX is written, to standard output. The command needs no GPU and no\n"
    "driver. The same input gives the same bytes.\n"
    "\n"
    "With --targets the launcher has the code of several chips, and NAME_load picks the best one\n"
    "for the device. A size known only at launch gets several schedules (--buckets), and NAME\n"
    "picks one by the size.\n"
    "\n"
    "With --compress NAME.c.bin is about an eighth as large. NAME.c then includes <zstd.h>, and\n"
    "the program is linked with -lzstd.\n"
    "\n"
    "If ptxas finds that a chosen schedule spills (or uses a stack frame, or serialises wgmma),\n"
    "the next best schedule is used, and a note says so. If you gave the schedule, the command\n"
    "fails.\n"
    "\n"
    "FILE can also be a kernel at tile level (heddle-opt --stop-after select_operand_path), which\n"
    "is one variant, or at role level. A kernel at role level is checked first, and gives only\n"
    "PTX and cubin.";

static const char examples[] =
    "heddle gen examples/linear_bf16.heddle -o out\n"
    "heddle gen examples/bias_gelu.heddle --target sm_80 -o out\n"
    "heddle gen --type bf16 -m 4096 -k 4096 -n ..65536 --bias m --act gelu --name up -o out\n"
    "heddle gen examples/linear_bf16.heddle --schedule \"tile=128x128x64 stages=6\" -o out\n"
    "heddle gen examples/dynamic_tokens.heddle --targets sm_80,sm_90a,sm_100a -o out\n"
    "heddle gen examples/dynamic_tokens.heddle --targets sm_80,sm_90a --compress -o small\n"
    "heddle gen examples/decode.heddle -o - | less\n"
    "heddle gen examples/user_epilogue.heddle --epilogue examples/user_epilogue.ll -o out\n"
    "heddle-opt examples/decode.heddle --passes all -o role.heddle\n"
    "heddle gen role.heddle -o by_hand\n";

typedef struct gen_options {
  compile_input input;
  const char *dir, *sizes, *targets;
  bool force, compress;
} gen_options;

/* ---- one problem ---- */

static heddle_image code_of(const trial_kernel *kernel) {
  heddle_image code = {0};
  code.cubin = heddle_compiled_cubin(kernel->compiled, &code.cubin_bytes);
  code.ptx = heddle_compiled_ptx(kernel->compiled, &code.ptx_bytes);
  return code;
}

/* One target: writes PTX and cubin next to the launcher, and the kernel's own manifest. Several
 * targets: the launcher contains their code, and one manifest describes all of them. */
static heddle_status write_kernels(heddle_context *ctx, const gen_options *o,
                                   const trial_kernel *kernel, int32_t n) {
  hd_launcher_part part[HD_MAX_PARTS];
  hd_launcher_files files;
  hd_strbuf targets = {0};
  char *json = NULL;
  for (int32_t i = 0; i < n; i++) {
    part[i] = (hd_launcher_part){&kernel[i].manifest, code_of(&kernel[i])};
    hd_strbuf_printf(&targets, "%s%s", i ? "," : "", kernel[i].manifest.target);
  }
  heddle_image own = o->targets ? (heddle_image){0} : part[0].code;
  heddle_status status = hd_launcher_write(ctx, part, n, o->compress, &files);
  if (status == HEDDLE_OK && !o->targets)
    json = hd_xstrdup(heddle_compiled_manifest(kernel->compiled, NULL));
  else if (status == HEDDLE_OK)
    status = hd_bundle_write(ctx, part, n, &files.binary, &json);
  if (status == HEDDLE_OK) {
    const gen_file list[GEN_FILES] = {{"ptx", own.ptx, own.ptx_bytes},
                                      {"cubin", own.cubin, own.cubin_bytes},
                                      {"h", files.header, strlen(files.header)},
                                      {"c", files.source, strlen(files.source)},
                                      {"c.bin", files.binary.data, files.binary.n_bytes},
                                      {"json", json, strlen(json)}};
    status = gen_files_write(ctx, o->dir, kernel->manifest.name, hd_strbuf_text(&targets),
                             o->force, list);
    hd_launcher_files_free(&files);
  }
  hd_strbuf_free(&targets);
  hd_free(json);
  return status;
}

static heddle_status compile_for(heddle_context *ctx, gen_options *o, trial_kernel *kernel) {
  int64_t size[HD_N_ARG_KINDS] = {0};
  HD_TRY(compile_input_sizes(ctx, &o->input, o->sizes, size));
  HD_TRY(compile_input_choose(ctx, &o->input, size, true));
  return compile_input_compile(ctx, &o->input, kernel);
}

/* Copies the next target of --targets to `name`; false: there are no more. */
static bool next_target(const char **at, char name[16]) {
  size_t n = strcspn(*at, ",");
  if (!**at)
    return false;
  snprintf(name, 16, "%.*s", (int)n, *at);
  *at += n + ((*at)[n] == ',');
  return true;
}

static heddle_status compile_all(heddle_context *ctx, gen_options *o, trial_kernel *kernel,
                                 int32_t *n) {
  char name[16];
  if (!o->targets) {
    *n = 1;
    return compile_for(ctx, o, kernel);
  }
  for (const char *at = o->targets; next_target(&at, name);) {
    if (*n == HD_MAX_PARTS)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "gen.targets",
                      "got more than %d targets; legal: up to %d", HD_MAX_PARTS, HD_MAX_PARTS);
    for (int32_t i = 0; i < *n; i++)
      if (strcmp(kernel[i].manifest.target, name) == 0)
        return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "gen.targets",
                        "got %s twice; legal: each target once", name);
    o->input.target = name;
    compile_input_forget(&o->input);
    HD_TRY(compile_for(ctx, o, &kernel[*n]));
    ++*n;
  }
  return HEDDLE_OK;
}

static heddle_status generate_problem(heddle_context *ctx, gen_options *o) {
  trial_kernel *kernel = hd_xzalloc(sizeof *kernel * HD_MAX_PARTS);
  int32_t n = 0;
  heddle_status status = compile_all(ctx, o, kernel, &n);
  if (status == HEDDLE_OK && strcmp(o->dir, "-") == 0)
    status = hd_file_write(ctx, "-", code_of(kernel).ptx, code_of(kernel).ptx_bytes);
  else if (status == HEDDLE_OK)
    status = write_kernels(ctx, o, kernel, n);
  for (int32_t i = 0; i < HD_MAX_PARTS; i++)
    trial_kernel_free(&kernel[i]);
  hd_free(kernel);
  return status;
}

/* ---- role level ---- */

static heddle_status generate_role(heddle_context *ctx, const gen_options *o,
                                   const hd_module *module) {
  gen_role_code code = {0};
  heddle_status status = gen_role_compile(ctx, &o->input, o->sizes, module, &code);
  const gen_file files[GEN_FILES] = {{"ptx", code.ptx, code.ptx_bytes},
                                     {"cubin", code.cubin, code.cubin_bytes},
                                     {"h", NULL, 0}, {"c", NULL, 0}, {"c.bin", NULL, 0},
                                     {"json", NULL, 0}};
  if (status == HEDDLE_OK && strcmp(o->dir, "-") == 0)
    status = hd_file_write(ctx, "-", code.ptx, code.ptx_bytes);
  else if (status == HEDDLE_OK)
    status = gen_files_write(ctx, o->dir, code.name, "role level", o->force, files);
  gen_role_code_free(&code);
  return status;
}

static heddle_status generate(heddle_context *ctx, gen_options *o) {
  HD_TRY(compile_input_read(ctx, &o->input));
  HD_TRY(compile_input_parse(ctx, &o->input));
  const hd_module *module = o->input.module;
  if (o->compress && module->level == HD_LEVEL_ROLE)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "gen.compress",
                    "got --compress for a kernel at role level, which has no launcher");
  heddle_status status = module->level == HD_LEVEL_ROLE ? generate_role(ctx, o, module)
                                                        : generate_problem(ctx, o);
  if (status == HEDDLE_OK && !o->input.ptxas && !o->input.ptxas_path)
    hd_warning(ctx, HD_NOWHERE, "gen.ptxas",
               "ptxas was not found: there is no cubin, and ptxas has not checked the PTX; give "
               "--ptxas PATH");
  return status;
}

int cmd_gen(int argc, char **argv) {
  gen_options o = {.dir = "."};
  const cli_option options[] = {
      {"o", CLI_TEXT, &o.dir, "DIR", "the folder (.), or - for PTX on standard output"},
      {"targets", CLI_TEXT, &o.targets, "T,T",
       "one launcher for several chips: sm_80,sm_90a,sm_100a"},
      {"compress", CLI_FLAG, &o.compress, NULL,
       "compress NAME.c.bin; the launcher then needs libzstd"},
      {"force", CLI_FLAG, &o.force, NULL, "replace a kernel of the same name for other targets"},
      {"size", CLI_TEXT, &o.sizes, "N=512,K=64", SIZES_HINT_ABOUT},
      COMPILE_INPUT_NAMES(o.input),
      PROBLEM_SHAPE_OPTIONS(o.input.flags),
      PROBLEM_OPERAND_OPTIONS(o.input.flags),
      COMPILE_INPUT_OPTIONS(o.input),
      {0}};
  const cli_command command = {"gen FILE|PROBLEM [OPTIONS] [-o DIR]", about, examples, options, 0,
                               1};
  int code = cli_parse(&command, argc, argv, &o.input.path, NULL);
  if (code != CLI_GO)
    return code;
  if (o.targets && o.input.target)
    return cli_usage_error("gen.targets", "got --target and --targets; legal: one of them");
  if (o.targets && strcmp(o.dir, "-") == 0)
    return cli_usage_error("gen.targets", "got --targets with -o -; legal: a folder");
  if (o.compress && strcmp(o.dir, "-") == 0)
    return cli_usage_error("gen.compress", "got --compress with -o -; legal: a folder");
  if (strcmp(o.dir, "-") == 0 && !o.input.ptxas)
    o.input.ptxas = "none"; /* only PTX is written */
  heddle_context *ctx = heddle_context_create();
  heddle_status status = generate(ctx, &o);
  compile_input_free(&o.input);
  return cli_finish(ctx, status);
}
