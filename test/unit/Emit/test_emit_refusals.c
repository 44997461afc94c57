/* A kernel that needs something unsupported is refused by rule, and LLVM never aborts. */
#include "emit_fixture.h"

#include <stdio.h>
#include <string.h>

#define ROLE "  role {name = \"main\", warp_lo = 0, n_warps = 1} {\n"
#define BUFFER "  %s: buffer = buffer {name = \"s\", space = shared, bytes = 4608, stages = 1, "
#define LINEAR BUFFER "align = 128, layout = linear, type = f16}\n"
#define AT "    %at: cursor = cursor {stages = 1}\n    %z: i32 = const {value = 0}\n"
#define FRAGS                                                                                      \
  "    %e: frag<s32 x 1> = frag.zero\n    %a: frag<s32 x 4> = frag.zero\n"                         \
  "    %c: frag<f32 x 4> = frag.zero\n"
#define BARRIER "  %full: barrier = barrier {name = \"full\", stages = 1, count = 1}\n"
#define SOURCE "  %g: ptr<f16> = arg {arg = b, type = f16}\n  %o: i64 = const {value = 0}\n"
#define COPY "    copy.cp_async %g, %o, %s, %at, %z, %o, %o, %z {offset = 0, "
#define ARGS                                                                                       \
  "  %d: ptr<f32> = arg {arg = d, type = f32}\n  %l: i64 = arg {arg = ldd}\n"                      \
  "  %n: i32 = arg {arg = n}\n"
#define STORE                                                                                      \
  ARGS ROLE FRAGS "    store.tile %d, %l, %n, %n, %n, %n, %c {type = f32, order = row_major, "

#define PACK                                                                                       \
  "  %b: ptr<f16> = arg {arg = b, type = f16}\n  %d: ptr<f16> = arg {arg = d, type = f16}\n"       \
  "  %l: i64 = arg {arg = ldb}\n  %k: i32 = arg {arg = k}\n" ROLE                                  \
  "    prune.pack %b, %l, %d, %k, %k, %k, %k"

#define QUANTIZE                                                                                   \
  "  %b: ptr<f16> = arg {arg = b, type = f16}\n  %d: ptr<f16> = arg {arg = d, type = f16}\n"       \
  "  %l: i64 = arg {arg = ldb}\n  %k: i32 = arg {arg = k}\n" ROLE                                  \
  "    quantize.pack %b, %l, %d, %k, %k, %k, %k, %d "

#define COPY_B                                                                                     \
  "  %b: ptr<f16> = arg {arg = b, type = f16}\n"                                                   \
  "  %w: ptr<f16> = arg {arg = workspace, type = f16}\n"                                           \
  "  %l: i64 = arg {arg = ldb}\n  %n: i32 = arg {arg = n}\n" ROLE                                  \
  "    copy.global %b, %l, %w, %n, %n, %n {"

#define COMBINE                                                                                    \
  "  %p: ptr<f16> = arg {arg = workspace, type = f16}\n"                                           \
  "  %x: ptr<s32> = arg {arg = combine_d, type = s32}\n"                                           \
  "  %d: ptr<f16> = arg {arg = d, type = f16}\n"                                                   \
  "  %l: i64 = arg {arg = ldd}\n  %n: i32 = arg {arg = n}\n" ROLE                                  \
  "    combine.global %p, %x, %d, %l, %n, %n, %n, %n {"

static const struct refusal {
  const char *rule, *target, *body;
} refusals[] = {
    {"emit.target", "sm_80", "  fence.barrier_init\n"},
    {"emit.target", "sm_80", "  grid.wait\n"},
    {"emit.target", "sm_75", LINEAR ROLE AT "    cp_async.commit\n  }\n"},
    {"emit.target", "sm_77", "  cta.sync\n"},
    {"emit.prune-pack", "sm_80", PACK " {type = s4, vec = 4}\n  }\n"},
    {"emit.prune-pack", "sm_80", PACK " {type = f16, vec = 1}\n  }\n"},
    {"emit.prune-pack", "sm_80", PACK " {type = f16, vec = 4, trans}\n  }\n"},
    {"emit.prune-pack", "sm_80", PACK ", %d {type = e4m3, vec = 4}\n  }\n"},
    {"emit.quantize-pack", "sm_80", QUANTIZE "{type = e4m3, b_type = f16, vec = 2}\n  }\n"},
    {"emit.quantize-pack", "sm_90a", QUANTIZE "{type = e4m3, b_type = f32, vec = 4}\n  }\n"},
    {"emit.quantize-pack", "sm_90a", QUANTIZE "{type = s8, b_type = f16, vec = 2}\n  }\n"},
    {"emit.prune-pack", "sm_90a", QUANTIZE "{type = e4m3, b_type = f16, vec = 1}\n  }\n"},
    {"emit.prune-pack", "sm_80", PACK ", %d {type = f16, vec = 2, trans}\n  }\n"},
    {"emit.copy-global", "sm_80",
     COPY_B "type = f16, row_bytes = 7, bytes = 128, panel = 512}\n  }\n"},
    {"emit.copy-global", "sm_80",
     COPY_B "type = f16, row_bytes = 130, bytes = 128, panel = 512}\n  }\n"},
    {"emit.copy-global", "sm_80",
     COPY_B "type = f16, row_bytes = 8, bytes = 128, panel = 256}\n  }\n"},
    {"emit.copy-global", "sm_80",
     COPY_B "type = s4, row_bytes = 8, bytes = 128, panel = 512}\n  }\n"},
    {"emit.combine-global", "sm_80",
     COMBINE "type = f16, m = 9, bytes = 16, panel = 512, slots = 2}\n  }\n"},
    {"emit.combine-global", "sm_80",
     COMBINE "type = f16, m = 9, bytes = 24, panel = 512, slots = 2}\n  }\n"},
    {"emit.combine-global", "sm_80",
     COMBINE "type = f16, m = 9, bytes = 32, panel = 1024, slots = 2}\n  }\n"},
    {"emit.combine-global", "sm_80",
     COMBINE "type = e4m3, m = 9, bytes = 16, panel = 512, slots = 2}\n  }\n"},
    {"emit.row", "sm_80",
     ROLE FRAGS "    %d: frag<f32 x 4> = mma.sp %c, %a, %a, %e {row = "
                "\"no_such_row\", selector = 0}\n  }\n"},
    {"emit.row", "sm_80",
     ROLE FRAGS "    %d: frag<f32 x 4> = mma.sp %c, %a, %a, %e {row = "
                "\"mma_sp_ordered_m16n8k32_f32_f16_f16\", selector = 7}\n  }\n"},
    {"emit.row", "sm_80",
     ROLE FRAGS "    %d: frag<f32 x 4> = mma.sp %c, %a, %a, %e {row = "
                "\"mma_sp_ordered_m16n8k64_f32_e4m3_e4m3\", selector = 0}\n  }\n"},
    {"emit.registers", "sm_80",
     ROLE FRAGS "    %d: frag<f32 x 4> = mma.sp %c, %e, %a, %e {row = "
                "\"mma_sp_ordered_m16n8k32_f32_f16_f16\", selector = 0}\n  }\n"},
    {"emit.layout", "sm_80",
     LINEAR ROLE AT "    %m: frag<s32 x 1> = load.meta %s, %at, %z {word = 0}\n  }\n"},
    {"emit.layout", "sm_80",
     LINEAR ROLE AT "    %b: frag<f16 x 8> = load.b %s, %at, %z {row = "
                    "\"mma_sp_ordered_m16n8k32_f32_f16_f16\", step = 0}\n  }\n"},
    {"emit.layout", "sm_80",
     BUFFER "align = 128, layout = rows, rows = 36, panel = 64, swizzle = 128}\n" ROLE AT
            "    %b: frag<f16 x 8> = load.b %s, %at, %z {row = "
            "\"mma_sp_ordered_m16n8k32_f32_f16_f16\", step = 0}\n  }\n"},
    {"emit.arg", "sm_80",
     ARGS ROLE FRAGS
     "    store.tile %d, %l, %n, %n, %n, %n, %c {type = f32, "
     "order = row_major, act = none, path = direct, alpha}\n  }\n"},
    {"emit.type", "sm_80",
     ARGS ROLE FRAGS
     "    store.tile %d, %l, %n, %n, %n, %n, %c {type = e4m3, "
     "order = row_major, act = none, path = direct}\n  }\n"},
    {"emit.act", "sm_80",
     ARGS ROLE FRAGS
     "    store.tile %d, %l, %n, %n, %n, %n, %c {type = f32, "
     "order = row_major, act = mish, path = direct}\n  }\n"},
    {"emit.registers", "sm_90a",
     "  role {name = \"main\", warp_lo = 0, n_warps = 1, "
     "registers = 40} {\n  }\n"},
    {"shared.align", "sm_80", BUFFER "align = 96, layout = linear}\n"},
    {"shared.size", "sm_80",
     "  %s: buffer = buffer {name = \"s\", space = shared, bytes = 0, "
     "stages = 1, align = 128, layout = linear}\n"},
    {"emit.op", "sm_100a", ROLE "    %k: i32 = size {dim = k, value = 64}\n  }\n"},
    {"emit.tensor", "sm_100a",
     "  %s: buffer = buffer {name = \"s\", space = tmem, bytes = 4096, "
     "stages = 1, align = 512, layout = linear}\n" ROLE
     "    %at: cursor = cursor {stages = 1}\n    %w: i32 = warp_index\n"
     "    %f: frag<f32 x 4> = tcgen05.ld %s, %at, %w {row = \"tcgen05_ld_16x256b_x1\", offset = "
     "0}\n"
     "  }\n"},
    {"emit.tensor", "sm_100a", "  tcgen05.address\n" ROLE "  }\n"},
    {"emit.target", "sm_90a", "  tcgen05.alloc {columns = 32}\n" ROLE "  }\n"},
    {"emit.row", "sm_120a", "  tcgen05.alloc {columns = 32}\n" ROLE "  }\n"},
    {"emit.arrive", "sm_90a",
     BARRIER ROLE AT "    barrier.arrive %full, %at {scope = warp, rank = 65536}\n  }\n"},
    {"emit.cmp", "sm_80", ROLE AT "    %p: i1 = cmp %z, %z {pred = near}\n  }\n"},
    {"emit.copy", "sm_80",
     LINEAR SOURCE ROLE AT COPY "rows = 3, row_bytes = 100, vec = 16}\n  }\n"},
    {"emit.vec", "sm_80", LINEAR SOURCE ROLE AT COPY "rows = 3, row_bytes = 96, vec = 12}\n  }\n"},
    {"emit.word", "sm_80",
     BUFFER "align = 128, layout = packed_a, slab_bytes = 4608, meta_offset = 4096, type = f16}\n"
     ROLE AT "    %m: frag<s32 x 1> = load.meta %s, %at, %z {word = 1}\n  }\n"},
    {"emit.fragment", "sm_80",
     BUFFER "align = 128, layout = packed_a, slab_bytes = 4608, meta_offset = 4096, type = f16}\n"
     ROLE AT "    %m: frag<f16 x 4> = load.a %s, %at, %z {step = 0}\n  }\n"},
    {"emit.c", "sm_80", STORE "act = none, path = direct, c, c_type = e4m3}\n  }\n"},
    {"emit.bias", "sm_80", STORE "act = none, path = direct, bias, bias_type = e4m3}\n  }\n"},
    {"emit.user", "sm_80", STORE "act = user, path = direct}\n  }\n"},
    {"emit.store", "sm_80",
     ARGS ROLE FRAGS "    store.tile %d, %l, %n, %n, %n, %n, %e {type = f32, order = row_major, "
                     "act = none, path = direct}\n  }\n"},
    {"emit.tile_coord", "sm_80",
     ROLE AT "    %i: i32, %j: i32 = tile_coord %z, %z, %z {order = spiral, group = 1}\n  }\n"},
    {"emit.trans", "sm_90a",
     LINEAR ROLE AT FRAGS "    %i: i1 = cmp %z, %z {pred = ne}\n"
     "    %x: frag<s32 x 4> = wgmma.sp.ss %a, %s, %at, %z, %s, %e, %i {row = "
     "\"wgmma_sp_ss_m64n8k64_s32_s8_s8\", selector = 0, step = 0, trans}\n  }\n"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(refusals); i++) {
    heddle_context *ctx = heddle_context_create();
    hd_emit_result result = {0};
    heddle_status status = emit_body(ctx, refusals[i].target, refusals[i].body, NULL, &result);
    if (strcmp(first_rule(ctx), refusals[i].rule) != 0)
      print_message("refusal %zu:\n", i), print_errors(ctx);
    assert_true(status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED);
    assert_string_equal(first_rule(ctx), refusals[i].rule);
    assert_null(result.ptx);
    heddle_context_free(ctx);
  }
}

static heddle_status emit_with(const char *text, int32_t ptx_version, char rule[64]) {
  heddle_context *ctx = heddle_context_create();
  hd_emit_options options = {.ptx_version = ptx_version};
  hd_emit_result result = {0};
  heddle_status status = emit_text(ctx, text, &options, &result);
  snprintf(rule, 64, "%s", first_rule(ctx));
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
  return status;
}

#define MODULE "module version=1 level=role sync=placed\n"
#define KERNEL(name, target, threads)                                                              \
  "kernel {name = \"" name "\", target = \"" target "\", threads = " threads "} {\n}\n"

static void test_modules(void **state) {
  (void)state;
  char rule[64];
  assert_int_equal(emit_with(MODULE KERNEL("k", "sm_80", "32"), 0, rule), HEDDLE_OK);
  assert_int_equal(emit_with(MODULE KERNEL("k", "sm_80", "32"), 89, rule), HEDDLE_UNSUPPORTED);
  assert_string_equal(rule, "emit.ptx");
  assert_int_equal(emit_with(MODULE KERNEL("k", "sm_100a", "32"), 80, rule), HEDDLE_UNSUPPORTED);
  assert_string_equal(rule, "emit.ptx");
  emit_with(MODULE KERNEL("k", "sm_80", "32") KERNEL("k", "sm_80", "32"), 0, rule);
  assert_string_equal(rule, "kernel.name");
  emit_with(MODULE KERNEL("a b", "sm_80", "32"), 0, rule);
  assert_string_equal(rule, "kernel.name");
  emit_with(MODULE KERNEL("k", "sm_80", "33"), 0, rule);
  assert_string_equal(rule, "kernel.threads");
  emit_with(MODULE KERNEL("k", "sm_80", "32") KERNEL("l", "sm_90a", "32"), 0, rule);
  assert_string_equal(rule, "emit.target");
  emit_with(MODULE, 0, rule);
  assert_string_equal(rule, "emit.module");
  emit_with("module version=1 level=role sync=none\n", 0, rule);
  assert_string_equal(rule, "emit.level");
}

/* A sum that uses its own result: the verifier never accepts such a text. */
static void test_a_value_before_it_is_made(void **state) {
  (void)state;
  static const char text[] =
      MODULE "kernel {name = \"k\", target = \"sm_80\", threads = 32} {\n" ROLE AT
             "    %s: i32 = add %z, %z\n  }\n}\n";
  heddle_context *ctx = heddle_context_create();
  hd_module *module = NULL;
  hd_emit_result result = {0};
  assert_int_equal(hd_parse(ctx, "test", text, strlen(text), &module), HEDDLE_OK);
  hd_op *sum = module->body->first->regions[0]->first->regions[0]->last;
  assert_int_equal(sum->kind, HD_OP_ADD);
  sum->operands[1] = sum->results[0];
  assert_int_equal(hd_emit_ptx(ctx, module, NULL, &result), HEDDLE_INTERNAL);
  assert_string_equal(first_rule(ctx), "emit.value");
  hd_module_free(module);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_modules),
                                     cmocka_unit_test(test_a_value_before_it_is_made)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
