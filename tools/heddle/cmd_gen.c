/* heddle gen: a problem to PTX, cubin, C launcher, header and manifest. Needs no GPU and no
 * driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Kernel/launcher_c.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "commands.h"
#include "compile_input.h"
#include "gen_role.h"
#include "sizes.h"

static const char about[] =
    "Writes NAME.ptx, NAME.cubin (when ptxas is found), NAME.h and NAME.c (a launcher in C11\n"
    "that links no libcuda) and NAME.json (the manifest) into DIR, NAME being the kernel's.\n"
    "With -o - the PTX alone goes to standard output. Needs no GPU and no driver; the same input\n"
    "gives the same bytes. ptxas' findings (spills, stack frames, serialised wgmma) fail the\n"
    "command. Of kernels at role level (heddle-opt), written or changed by hand, there are PTX\n"
    "and cubin, if the check finds them sound.";

static const char examples[] =
    "heddle gen examples/linear_bf16.heddle -o out\n"
    "heddle gen examples/bias_gelu.heddle --target sm_80 -o out\n"
    "heddle gen examples/linear_bf16.heddle --schedule \"tile=128x128x64 stages=6\" -o out\n"
    "heddle gen examples/decode.heddle -o - | less\n"
    "heddle gen examples/user_epilogue.heddle --epilogue examples/user_epilogue.ll -o out\n"
    "heddle-opt examples/decode.heddle --passes all -o role.heddle\n"
    "heddle gen role.heddle -o by_hand\n";

static heddle_status write_one(heddle_context *ctx, const char *path, const void *data,
                               size_t n_bytes) {
  HD_TRY(hd_file_write(ctx, path, data, n_bytes));
  printf("wrote %s (%zu bytes)\n", path, n_bytes);
  return HEDDLE_OK;
}

/* No such file now: one of an earlier gen would be taken for this kernel's. */
static void remove_stale(const char *path) {
  if (unlink(path) == 0)
    printf("removed %s (of an earlier kernel)\n", path);
}

typedef struct part {
  const char *extension;
  const void *data; /* NULL: there is none */
  size_t n_bytes;
} part;
enum { N_PARTS = 5 };

static heddle_status write_all(heddle_context *ctx, const char *dir, const char *name,
                               const part parts[N_PARTS]) {
  heddle_status status = hd_file_mkdirs(ctx, dir);
  for (size_t i = 0; i < N_PARTS && status == HEDDLE_OK; i++) {
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%s/%s.%s", dir, name, parts[i].extension);
    if (parts[i].data)
      status = write_one(ctx, hd_strbuf_text(&path), parts[i].data, parts[i].n_bytes);
    else
      remove_stale(hd_strbuf_text(&path));
    hd_strbuf_free(&path);
  }
  return status;
}

/* The launcher first: what it refuses, a kernel's name, leaves no files behind. */
static heddle_status write_kernel(heddle_context *ctx, const char *dir,
                                  const trial_kernel *kernel) {
  hd_launcher_code code = {0};
  code.cubin = heddle_compiled_cubin(kernel->compiled, &code.cubin_bytes);
  code.ptx = heddle_compiled_ptx(kernel->compiled, &code.ptx_bytes);
  if (strcmp(dir, "-") == 0)
    return hd_file_write(ctx, dir, code.ptx, code.ptx_bytes);
  char *header = NULL, *source = NULL;
  HD_TRY(hd_launcher_write(ctx, &kernel->manifest, &code, &header, &source));
  size_t json_bytes;
  const char *json = heddle_compiled_manifest(kernel->compiled, &json_bytes);
  const part parts[N_PARTS] = {{"ptx", code.ptx, code.ptx_bytes},
                               {"cubin", code.cubin, code.cubin_bytes},
                               {"h", header, strlen(header)},
                               {"c", source, strlen(source)},
                               {"json", json, json_bytes}};
  heddle_status status = write_all(ctx, dir, heddle_compiled_name(kernel->compiled), parts);
  free(header);
  free(source);
  return status;
}

static void warn_without_ptxas(heddle_context *ctx, const compile_input *in) {
  if (!in->ptxas && !in->ptxas_path)
    hd_warning(ctx, HD_NOWHERE, "gen.ptxas",
               "ptxas was not found: no cubin, and its gate was not applied; give --ptxas PATH");
}

static heddle_status generate_role(heddle_context *ctx, const compile_input *in, const char *sizes,
                                   const hd_module *module, const char *dir) {
  gen_role_code code = {0};
  heddle_status status = gen_role_compile(ctx, in, sizes, module, &code);
  const part parts[N_PARTS] = {{"ptx", code.ptx, code.ptx_bytes},
                               {"cubin", code.cubin, code.cubin_bytes}, {"h", NULL, 0},
                               {"c", NULL, 0}, {"json", NULL, 0}};
  if (status == HEDDLE_OK && strcmp(dir, "-") == 0)
    status = hd_file_write(ctx, dir, code.ptx, code.ptx_bytes);
  else if (status == HEDDLE_OK)
    status = write_all(ctx, dir, code.name, parts);
  gen_role_code_free(&code);
  return status;
}

static heddle_status generate_problem(heddle_context *ctx, compile_input *in, const char *sizes,
                                      const char *dir) {
  int64_t size[HD_N_ARG_KINDS] = {0};
  HD_TRY(compile_input_sizes(ctx, in, sizes, size));
  HD_TRY(compile_input_tune(ctx, in, size));
  trial_kernel kernel = {0};
  heddle_status status = compile_input_compile(ctx, in, NULL, NULL, &kernel);
  if (status == HEDDLE_OK)
    status = write_kernel(ctx, dir, &kernel);
  trial_kernel_free(&kernel);
  return status;
}

static heddle_status generate(heddle_context *ctx, compile_input *in, const char *sizes,
                              const char *dir) {
  HD_TRY(compile_input_read(ctx, in));
  hd_module *role = gen_role_parse(in);
  heddle_status status = role ? generate_role(ctx, in, sizes, role, dir)
                              : generate_problem(ctx, in, sizes, dir);
  hd_module_free(role);
  if (status == HEDDLE_OK)
    warn_without_ptxas(ctx, in);
  return status;
}

int cmd_gen(int argc, char **argv) {
  compile_input in = {0};
  const char *dir = ".", *sizes = NULL;
  const cli_option options[] = {
      {"o", CLI_TEXT, &dir, "DIR", "where the files go (here); -: PTX, to standard output"},
      {"size", CLI_TEXT, &sizes, "N=512,K=64", SIZES_HINT_ABOUT},
      COMPILE_INPUT_OPTIONS(in),
      {0}};
  const cli_command command = {"gen FILE [OPTIONS] [-o DIR]", about, examples, options, 1, 1};
  int code = cli_parse(&command, argc, argv, &in.path, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = generate(ctx, &in, sizes, dir);
  compile_input_free(&in);
  return cli_finish(ctx, status);
}
