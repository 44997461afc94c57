/* The combine kernel. Like the copy kernel, it is short, written here as text of role level, and
 * checked separately. The warps divide the parts of a column, or of several short columns. */
#include "Compile/combine_kernel.h"

#include "Compile/copy_kernel.h"
#include "Support/strbuf.h"

enum { MAX_WARPS = 8, PART = 512 /* bytes that a warp adds up at a time: 16 per lane */ };

static int32_t elem_bytes(const hd_problem *p) {
  return heddle_elem_get(p->d.elem)->container_bits / 8;
}

static int64_t rows_of(const hd_problem *p) { return p->m.value / hd_rows_of_d(p); }

/* Number of parts in a column. */
static int64_t count_parts(const hd_problem *p) {
  return (rows_of(p) * elem_bytes(p) + PART - 1) / PART;
}

/* Number of warps that work on one column. */
static int32_t count_warps(const hd_problem *p) {
  return count_parts(p) < MAX_WARPS ? (int32_t)count_parts(p) : MAX_WARPS;
}

int32_t hd_combine_kernel_columns(const hd_problem *p) { return MAX_WARPS / count_warps(p); }

bool hd_combine_kernel_is_dependent(const hd_problem *p) { return p->target->sm >= 90; }

static void print_kernel(hd_strbuf *out, const hd_problem *p) {
  const char *type = heddle_elem_get(p->d.elem)->name;
  bool dependent = hd_combine_kernel_is_dependent(p);
  int32_t warps = count_warps(p), columns = hd_combine_kernel_columns(p);
  hd_strbuf_printf(
      out,
      "module version=1 level=role sync=placed\n"
      "kernel {name = \"%s_combine\", target = \"%s\", threads = %d, persistent%s} {\n"
      "  %%products: ptr<%s> = arg {arg = workspace, type = %s}\n"
      "  %%index: ptr<s32> = arg {arg = combine_d, type = s32}\n"
      "  %%d: ptr<%s> = arg {arg = d, type = %s}\n"
      "  %%n: i32 = arg {arg = n}\n"
      "  %%t: i32 = arg {arg = t}\n"
      "  %%ldd: i64 = arg {arg = ldd}\n",
      hd_op_str(p->kernel, HD_ATTR_NAME), p->target->name, 32 * warps * columns,
      dependent ? ", dependent" : "", type, type, type, type);
  hd_strbuf_printf(
      out,
      "  role {name = \"combine\", warp_lo = 0, n_warps = %d} {\n"
      "%s"
      "    %%none: i32 = const {value = 0}\n"
      "    %%parts: i32 = const {value = %lld}\n"
      "    %%warps: i32 = const {value = %d}\n"
      "    %%columns: i32 = const {value = %d}\n"
      "    %%up: i32 = const {value = %d}\n"
      "    %%t_up: i32 = add %%t, %%up\n"
      "    %%steps: i32 = div %%t_up, %%columns\n"
      "    %%warp: i32 = warp_index\n"
      "    %%which: i32 = div %%warp, %%warps\n"
      "    %%own: i32 = rem %%warp, %%warps\n"
      "    %%first: i32 = block_index\n"
      "    %%ctas: i32 = grid_size\n"
      "    for %%first, %%steps, %%ctas (%%step: i32) {\n"
      "      %%before: i32 = mul %%step, %%columns\n"
      "      %%column: i32 = add %%before, %%which\n"
      "      for %%none, %%parts, %%warps (%%done: i32) {\n"
      "        %%part: i32 = add %%done, %%own\n"
      "        combine.global %%products, %%index, %%d, %%ldd, %%column, %%part, %%n, %%t "
      "{type = %s, m = %lld, bytes = %lld, panel = %d, slots = %lld}\n"
      "        yield\n"
      "      }\n"
      "      yield\n"
      "    }\n"
      "  }\n"
      "}\n",
      warps * columns, dependent ? "    grid.wait\n" : "", (long long)count_parts(p), warps,
      columns, columns - 1, type,
      (long long)rows_of(p), (long long)(hd_combine_pitch(p) * elem_bytes(p)), PART,
      (long long)hd_combine_slots(p));
}

heddle_status hd_combine_kernel_add(heddle_context *ctx, const hd_problem *p, hd_module *module) {
  return hd_serving_kernel_add(ctx, p, print_kernel, module);
}
