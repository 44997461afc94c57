/* Without compiling: predicted times and those of a dense library, and the legal schedules. Then
 * writes a launcher for two chips, as C code that does not need Heddle. `ahead DIR`; needs no
 * GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heddle/compile.h"
#include "heddle/launcher.h"
#include "heddle/schedule.h"
#include "heddle/tuned.h"

static const char text[] =
  "module version=1 level=problem sync=none\n"
  "kernel {name = \"up\", target = \"sm_90a\"} {\n"
  "  %m: i32 = size {dim = m, value = 4096}\n  %n: i32 = size {dim = n, max = 65536}\n"
  "  %k: i32 = size {dim = k, value = 4096}\n  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
  "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
  "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n  store %x {type = bf16, order = row_major}\n}\n";
static heddle_context *ctx;
static void must(heddle_status status) {
  char line[1024];
  for (size_t i = 0; status && heddle_context_get(ctx, i); i++, puts(line))
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
  if (status) exit(heddle_status_exit_code(status));
}

static void put(const char *dir, const char *name, const char *ending, const void *data, size_t n) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, n, file) != n || fclose(file)) exit((perror(path), 4));
}

int main(int argc, char **argv) {
  static const char *const targets[] = {"sm_80", "sm_90a"};
  const char *dir = argc > 1 ? argv[1] : ".";
  heddle_module *module; heddle_schedule_list *legal; heddle_launcher *launcher;
  heddle_launcher_part part[2] = {{0}};
  heddle_tuned *tuned; heddle_compiled *code[2]; char *plan; size_t n;
  must(heddle_module_parse(ctx = heddle_context_create(), "up", text, sizeof text - 1, &module));
  must(heddle_tuned_shipped(ctx, &tuned));
  must(heddle_tuned_buckets(ctx, tuned, module, NULL, NULL, &plan)); /* a schedule per range of n */
  for (int64_t tokens = 1; tokens <= 4096; tokens *= 16) {
    heddle_prediction p;
    const int64_t mnk[3] = {0, tokens, 0};
    must(heddle_schedule_predict(ctx, module, NULL, plan, mnk, &p));
    printf("N=%lld: %.1f us, dense %.1f us, %s binds\n", (long long)tokens, p.seconds * 1e6,
           p.dense_seconds * 1e6, p.binds);
  }
  must(heddle_schedule_enumerate(ctx, module, NULL, "tile=128x256", &legal));
  printf("%zu legal schedules with tile=128x256\n", heddle_schedule_list_count(legal));
  for (int i = 0; i < 2; i++) { /* the two targets need different packed forms of A */
    heddle_compile_options options = {.target = targets[i], .schedule = i ? plan : NULL};
    must(heddle_compile_module(ctx, module, &options, &code[i]));
    part[i].manifest_json = heddle_compiled_manifest(code[i], &part[i].json_bytes);
    part[i].image.ptx = heddle_compiled_ptx(code[i], &part[i].image.ptx_bytes);
  }
  must(heddle_launcher_write(ctx, part, 2, &launcher));
  const char *name = heddle_launcher_name(launcher), *c = heddle_launcher_source(launcher),
             *h = heddle_launcher_header(launcher), *json = heddle_launcher_manifest(launcher);
  const void *binary = heddle_launcher_binary(launcher, &n);
  put(dir, name, "h", h, strlen(h)), put(dir, name, "c", c, strlen(c));
  put(dir, name, "c.bin", binary, n), put(dir, name, "json", json, strlen(json));
  printf("wrote %s/%s.h, .c, .c.bin and .json for sm_80 and sm_90a\n", dir, name);
  heddle_launcher_free(launcher);
  for (int i = 0; i < 2; i++) heddle_compiled_free(code[i]);
  heddle_schedule_list_free(legal);
  heddle_tuned_free(tuned);
  free(plan);
  heddle_module_free(module);
  heddle_context_free(ctx);
  return 0;
}
