/* The kernel that copies B. Like the pack kernel, it is short and written here as text of role
 * level. It is checked separately, then added to the module of the kernels that use the copy. */
#include "Compile/copy_kernel.h"

#include "Check/check.h"
#include "Schedule/variants.h"
#include "Support/diag.h"
#include "Support/strbuf.h"

enum { WARPS = 8 };

static int64_t row_bytes(const hd_problem *p) {
  return p->k.value * heddle_elem_get(p->b.elem)->container_bits / 8;
}

/* Number of parts in a row. */
static int64_t count_parts(const hd_problem *p) {
  return (row_bytes(p) + HD_COPY_PART - 1) / HD_COPY_PART;
}

int32_t hd_copy_kernel_rows(const hd_problem *p) {
  int64_t rows = WARPS / count_parts(p);
  return rows > 1 ? (int32_t)rows : 1;
}

static void print_kernel(hd_strbuf *out, const hd_problem *p) {
  const char *type = heddle_elem_get(p->b.elem)->name;
  hd_strbuf_printf(
      out,
      "module version=1 level=role sync=placed\n"
      "kernel {name = \"%s_copy_b\", target = \"%s\", threads = %d, persistent} {\n"
      "  %%b: ptr<%s> = arg {arg = b, type = %s}\n",
      hd_op_str(p->kernel, HD_ATTR_NAME), p->target->name, 32 * WARPS, type, type);
  if (p->gather)
    hd_strbuf_add(out, "  %index: ptr<s32> = arg {arg = gather_b, type = s32}\n"
                       "  %t: i32 = arg {arg = t}\n");
  hd_strbuf_printf(
      out,
      "  %%copy: ptr<%s> = arg {arg = workspace, type = %s}\n"
      "  %%n: i32 = arg {arg = n}\n"
      "  %%pitch: i64 = arg {arg = ldb}\n"
      "  role {name = \"copy\", warp_lo = 0, n_warps = %d} {\n"
      "    grid.launch\n"
      "    %%parts: i32 = const {value = %lld}\n"
      "    %%warps: i32 = const {value = %d}\n"
      "    %%up: i32 = const {value = %d}\n"
      "    %%all: i32 = mul %%n, %%parts\n"
      "    %%all_up: i32 = add %%all, %%up\n"
      "    %%steps: i32 = div %%all_up, %%warps\n"
      "    %%warp: i32 = warp_index\n"
      "    %%first: i32 = block_index\n"
      "    %%ctas: i32 = grid_size\n"
      "    for %%first, %%steps, %%ctas (%%step: i32) {\n"
      "      %%before: i32 = mul %%step, %%warps\n"
      "      %%mine: i32 = add %%before, %%warp\n"
      "      %%row: i32 = div %%mine, %%parts\n"
      "      %%part: i32 = rem %%mine, %%parts\n"
      "      copy.global %%b, %%pitch, %%copy, %%row, %%part, %%n "
      "{type = %s, row_bytes = %lld, bytes = %lld, panel = %d%s}\n"
      "      yield\n"
      "    }\n"
      "  }\n"
      "}\n",
      type, type, WARPS, (long long)count_parts(p), WARPS, WARPS - 1, type,
      (long long)row_bytes(p), (long long)hd_copied_pitch(p), HD_COPY_PART,
      p->gather ? ", gather_b" : "");
}

heddle_status hd_serving_kernel_add(heddle_context *ctx, const hd_problem *p,
                                    void print(hd_strbuf *out, const hd_problem *p),
                                    hd_module *module) {
  hd_strbuf text = {0};
  hd_module *own = NULL;
  print(&text, p);
  heddle_status status = hd_parse_made(ctx, HD_NOWHERE, hd_strbuf_text(&text), &own);
  hd_strbuf_free(&text);
  HD_TRY(status);
  status = hd_check(ctx, own, NULL, NULL);
  if (status == HEDDLE_OK) {
    hd_builder end = hd_builder_at_end(module, module->body);
    hd_value_map map = {0};
    hd_op_clone(&end, own->body->first, &map);
    hd_value_map_free(&map);
  }
  hd_module_free(own);
  return status;
}

heddle_status hd_copy_kernel_add(heddle_context *ctx, const hd_problem *p, hd_module *module) {
  return hd_serving_kernel_add(ctx, p, print_kernel, module);
}
