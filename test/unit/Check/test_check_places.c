/* Kernels that access the wrong object or the wrong address: arguments, tensor maps, parts of
 * k-blocks and blocks, offsets that overflow, and registers or memory with two uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "Support/strbuf.h"
#include "check_harness.h"

/* For CLUSTER: the copy of A, and the bytes that a stage then expects. */
#define COPY "copy.bulk %a, %offset, %sa, %c, %full {offset = 0, bytes = 4608}"
#define SHORT_COPY(offset)                                                                         \
  {COPY, "copy.bulk %a, %offset, %sa, %c, %full {offset = " offset ", bytes = 4592}"}, {           \
    "{bytes = 12800}", "{bytes = 12784}"                                                           \
  }

/* For LAST: the slot of D is filled again while a copy out of it may still read it. */
#define UNWAITED {"        bulk.wait {pending = 0}\n", ""}
#define ONE_TILE {"%m: i32 = const {value = 512}", "%m: i32 = const {value = 64}"}
/* For LAST: the producer waits for the empty slot after another of its ops. */
#define WAIT "        barrier.wait %empty, %c {parity = 1}\n"
#define WAITS_BEHIND(op) {WAIT, ""}, {op, op WAIT}
#define EXPECT "        barrier.expect %full, %c {bytes = 8704}\n"
#define COPY_A "        copy.bulk %a, %from, %sa, %c, %full {bytes = 4608, offset = 0}\n"
#define COPY_B "        copy.tma %map_b, %sb, %c, %k0, %c0, %full {bytes = 4096, offset = 0}\n"

/* For LAST: the consumer releases its slot of the ring outside the loop. */
#define RELEASE {"        warp.sync\n        barrier.arrive %empty, %d {scope = warp}\n", ""}
#define ARRIVE "        barrier.arrive %empty, %uc {scope = warp}\n"
/* For LAST: the consumer gathers B itself, one unit in advance. `fence`: the proxy fence before the
 * count, or nothing. */
#define GATHER_B(name, unit, cursor)                                                               \
  "      %" name ": i32 = rem " unit ", %c2\n"                                                     \
  "      %" name "64: i64 = extend %" name "\n"                                                    \
  "      %" name "128: i64 = mul %" name "64, %l128\n"                                             \
  "      copy.ld_st %b, %pitch, %sb, " cursor ", %c0, %" name "128, %l256, %n {offset = 0, "       \
  "rows = 32, row_bytes = 128, vec = 16}\n"
#define GATHERED(fence)                                                                            \
  {"  %map_d: tmap", "  %b: ptr<bf16> = arg {type = bf16, arg = b}\n"                              \
                     "  %ldb: i64 = arg {arg = ldb}\n"                                             \
                     "  %map_d: tmap"},                                                            \
      {"{bytes = 8704}", "{bytes = 4608}"}, {COPY_B, ""},                                          \
      {"    %dt: cursor = for", "    %l128: i64 = const {value = 128}\n"                           \
                                "    %l256: i64 = const {value = 256}\n"                           \
                                "    %l2: i64 = const {value = 2}\n"                               \
                                "    %pitch: i64 = mul %ldb, %l2\n" GATHER_B(                      \
                                    "g", "%dblock", "%dstart") "      fence.proxy_async\n"         \
                                                               "    %dt: cursor = for"},           \
      {"      %none: frag", "      role.sync {id = 1}\n      %none: frag"}, {                      \
    "      last_arriver", "      %ahead: i32 = add %u, %dgrid\n" GATHER_B("h", "%ahead", "%dc")    \
                              fence "      last_arriver"                                           \
  }

/* For RING_SUM: the consumer waits for a wgmma group at the beginning of the next iteration, and
 * the loop carries its metadata. `used`: the metadata that wgmma reads, %meta of this iteration or
 * %old of the previous one. */
#define CARRIED(used)                                                                              \
  {"      %te: cursor, %x: frag<f32 x 8> = for %lo, %hi, %c1, %tc, %none (%g: i32, %c: cursor, "   \
   "%acc: frag<f32 x 8>) {\n",                                                                     \
   "      barrier.wait %full, %tc {parity = 0}\n"                                                  \
   "      %first: frag<s32 x 1> = load.meta %sa, %tc, %w {word = 0}\n"                             \
   "      %te: cursor, %xl: frag<f32 x 8>, %cl: cursor, %ml: frag<s32 x 1> = for %lo, %hi, %c1, "  \
   "%tc, %none, %tc, %first (%g: i32, %c: cursor, %accl: frag<f32 x 8>, %prev: cursor, "           \
   "%old: frag<s32 x 1>) {\n"                                                                      \
   "        %acc: frag<f32 x 8> = wgmma.wait %accl {pending = 0}\n"                                \
   "        %later: i1 = cmp %g, %lo {pred = ne}\n"                                                \
   "        if %later {\n"                                                                         \
   "          barrier.arrive %empty, %prev {scope = warp}\n"                                       \
   "          yield\n"                                                                             \
   "        }\n"},                                                                                 \
      {"%sb, %meta, %more", "%sb, " used ", %more"}, {"%sb, %meta, %yes", "%sb, " used ", %yes"},  \
      {"        %x3: frag<f32 x 8> = wgmma.wait %x2 {pending = 0}\n", ""},                         \
      {"        barrier.arrive %empty, %c {scope = warp}\n        yield %cn, %x3\n",               \
       "        yield %cn, %x2, %c, %meta\n"},                                                     \
  {                                                                                                \
    "      %is_first", "      %x: frag<f32 x 8> = wgmma.wait %xl {pending = 0}\n"                  \
                       "      barrier.arrive %empty, %cl {scope = warp}\n"                         \
                       "      %is_first"                                                           \
  }

static const injected table[] = {
    {"the last of two tiles fills a slot again", LAST, "R6", {UNWAITED}},
    {"what only the last fences", LAST, "R2", {GATHERED("")}},
    {"a slot set free before the lanes meet",
     LAST,
     "R3",
     {RELEASE, {"      last_arriver", ARRIVE "      last_arriver"}}},
    /* waits that come too late */
    {"a slot of the next turn is expected before it is empty",
     LAST,
     "phase arrivals",
     {WAITS_BEHIND(EXPECT)}},
    {"nothing lands behind the wait", LAST, "phase", {WAITS_BEHIND(COPY_B), ONE_TILE}},
    /* a kernel that computes nothing */
    {"no tiles at all",
     AMPERE,
     "coverage",
     {{"for %block, %units, %grid", "for %block, %c0, %grid"}}},
    {"tiles, and no store",
     CLUSTER,
     "coverage",
     {{"      store.tile %d, %ldd, %rowd, %cold, %m, %n, %accd {type = bf16, order = row_major, "
       "act = "
       "none, path = direct}\n",
       ""}}},
    {"a producer that is not single",
     CLUSTER,
     "phase",
     {{"registers = 40, single} {", "registers = 40} {"}}},
    /* the metadata and their selector */
    {"the second k-step's selector in the first",
     CLUSTER,
     "data",
     {{"selector = 0, step = 0}", "selector = 1, step = 0}"}}},
    {"the first k-step's selector in the second",
     CLUSTER,
     "data",
     {{"selector = 1, step = 1}", "selector = 0, step = 1}"}}},
    {"the selector of an mma.sp", AMPERE, "data", {{"selector = 1}", "selector = 0}"}}},
    /* registers of a wgmma in flight */
    {"metadata move while they are read", RING_SUM, "R5", {CARRIED("%meta")}},
    {"accumulators that go round a fence",
     CLUSTER,
     "R5",
     {{"wgmma.sp.ss %accg, %sa", "wgmma.sp.ss %x3, %sa"}}},
    /* rows of A */
    {"a row of A without bytes",
     AMPERE,
     "data",
     {{"copy.cp_async %a, %pitcha, %sa, %c, %row, %fa, %pitcha, %slabs",
       "copy.cp_async %a, %pitcha, %sa, %c, %row, %fa, %l2, %slabs"}}},
    /* arguments */
    {"A copied from B",
     CLUSTER,
     "data",
     {{"%a: ptr<bf16> = arg {arg = a,", "%a: ptr<bf16> = arg {arg = b,"}}},
    {"B gathered from A", GATHER, "data", {{"copy.ld_st %b,", "copy.ld_st %a,"}}},
    {"B boxed from D", CLUSTER, "data", {{"tmap {arg = b,", "tmap {arg = d,"}}},
    {"D stored over A", CLUSTER, "data", {{"store.tile %d,", "store.tile %a,"}}},
    {"D stored over C", CLUSTER, "data", {{"arg {arg = d,", "arg {arg = c,"}}},
    {"partials stored over A", SPLIT, "data", {{"partial.store %workspace", "partial.store %a"}}},
    {"arrivals counted in D", SPLIT, "data", {{"last_arriver %workspace", "last_arriver %d"}}},
    /* tensor maps of B */
    {"B's sizes swapped", CLUSTER, "data", {{"dims = [\"k\", \"n\"]", "dims = [\"n\", \"k\"]"}}},
    {"B as tall as A", CLUSTER, "data", {{"dims = [\"k\", \"n\"]", "dims = [\"k\", \"m\"]"}}},
    {"B's pitch in other elements", CLUSTER, "data", {{"\"ldb*2\"", "\"ldb*4\""}}},
    {"D's pitch for B's", CLUSTER, "data", {{"\"ldb*2\"", "\"ldd*2\""}}},
    {"boxes of wider elements",
     CLUSTER,
     "data",
     {{"arg = b, type = bf16", "arg = b, type = f32"}, {"box = [64, 32]", "box = [32, 32]"}}},
    /* parts of objects that must be moved as a whole */
    {"a box that begins inside of a k-block",
     CLUSTER,
     "data",
     {{"%k0: i32 = mul %i, %c64",
       "%k1: i32 = mul %i, %c64\n        %aside: i32 = const {value = 8}\n"
       "        %k0: i32 = add %k1, %aside"}}},
    {"a box that begins at no multiple of 16 bytes of a row",
     CLUSTER,
     "alignment",
     {{"%k0: i32 = mul %i, %c64", "%k1: i32 = mul %i, %c64\n        %k0: i32 = add %k1, %c1"}}},
    {"rows gathered from inside of a k-block",
     GATHER,
     "data",
     {{"%fb: i64 = mul %k0l, %l2", "%f0: i64 = mul %k0l, %l2\n        %fb: i64 = add %f0, %l2"}}},
    {"the end of a block left out", CLUSTER, "undecided", {SHORT_COPY("0")}},
    {"a block moved by 16 bytes", CLUSTER, "undecided", {SHORT_COPY("16")}},
    /* faults that only a large product shows */
    {"A's offset in 32 bits",
     CLUSTER,
     "overflow",
     {{"%slabbytes: i64 = const", "%slabbytes: i32 = const"},
      {"%block0: i64 = mul %slab64, %nk64", "%block0: i32 = mul %slab, %nk"},
      {"%index: i64 = add %block0, %i64v", "%index: i32 = add %block0, %i"},
      {"%offset: i64 = mul %index, %slabbytes",
       "%offset0: i32 = mul %index, %slabbytes\n        %offset: i64 = extend %offset0"}}},
    /* one address or register with two uses */
    {"metadata move to registers that are read", RING_SUM, "R5", {CARRIED("%old")}},
    {"a copy over what st.async wrote",
     RING_SUM,
     "R2",
     {{"  barrier.init %sent\n", "  barrier.init %sent\n  barrier.init %added\n"},
      {"  %drained: barrier",
       "  %added: barrier = barrier {name = \"added\", stages = 1, count = 4}\n"
       "  %drained: barrier"},
      {"      yield %te\n    }\n  }\n  role {name = \"consumer\"",
       "      yield %te\n    }\n"
       "    %once: cursor = cursor {stages = 1}\n"
       "    barrier.wait %added, %once {parity = 0}\n"
       "    barrier.expect %full, %e {bytes = 2048}\n"
       "    copy.tma %tb, %sb, %e, %c0, %c0, %full {bytes = 2048, offset = 0}\n"
       "    barrier.wait %full, %e {parity = 0}\n"
       "  }\n  role {name = \"consumer\""},
      {"      yield %te\n    }\n  }\n}",
       "      yield %te\n    }\n    barrier.arrive %added, %only {scope = warp}\n  }\n}"}}},
};

static void find_injected(void **state) {
  (void)state;
  assert_int_equal(count_missed(table, HD_COUNT(table)), 0);
}

static void assert_sound(const char *file, const edit *edits, size_t n) {
  char *text = kernel_text(file);
  for (size_t i = 0; i < n; i++)
    text = replace(text, &edits[i]);
  hd_check_report report = {0};
  assert_int_equal(check_text(text, &report), HEDDLE_OK);
  hd_check_report_free(&report);
  free(text);
}

/* Of each tile a CTA is the last to arrive at most once, however many parts of the tile it
 * computes. */
static void accept_last_once(void **state) {
  (void)state;
  static const edit once[] = {UNWAITED, ONE_TILE};
  assert_sound(LAST, NULL, 0);
  assert_sound(LAST, once, HD_COUNT(once));
}

/* The lanes of a warp converge where they count, whether they are the last or not. */
static void accept_met_at_count(void **state) {
  (void)state;
  static const edit counted[] = {
      RELEASE, {"        bulk.commit\n      }\n", "        bulk.commit\n      }\n" ARRIVE}};
  assert_sound(LAST, counted, HD_COUNT(counted));
}

static void accept_fenced_ahead(void **state) {
  (void)state;
  static const edit gathered[] = {GATHERED("      fence.proxy_async\n")};
  assert_sound(LAST, gathered, HD_COUNT(gathered));
}

/* Where the ring does not wrap around, the data that arrive after the wait show that the wait is
 * over. */
static void accept_late_wait(void **state) {
  (void)state;
  static const edit expected[] = {WAITS_BEHIND(EXPECT), ONE_TILE};
  static const edit brought[] = {WAITS_BEHIND(COPY_A), ONE_TILE};
  assert_sound(LAST, expected, HD_COUNT(expected));
  assert_sound(LAST, brought, HD_COUNT(brought));
}

enum { BLOCKS = 512, SIZES = 128 };

/* Allocates blocks of many sizes with holes between them: a block in a hole has to move when it
 * grows. */
static void hold_blocks(void *block[BLOCKS]) {
  for (size_t i = 0; i < BLOCKS; i++)
    block[i] = hd_xmalloc((i / 2 % SIZES + 1) * 1024);
  for (size_t i = 0; i < BLOCKS; i += 2) {
    free(block[i]);
    block[i] = NULL;
  }
}

/* The list of steps may have to grow at any op, also at the end of a last_arriver region. */
static void accept_any_length(void **state) {
  (void)state;
  hd_strbuf lines = {0};
  void *held[BLOCKS];
  hold_blocks(held);
  for (int n = 0; n < 128; n++) {
    hd_strbuf_printf(&lines, "  %%filler%d: i32 = const {value = 0}\n", n);
    hd_strbuf with = {0};
    hd_strbuf_printf(&with, "%s  %%full: barrier = ", hd_strbuf_text(&lines));
    const edit longer[] = {ONE_TILE, {"  %full: barrier = ", hd_strbuf_text(&with)}};
    assert_sound(LAST, longer, HD_COUNT(longer));
    hd_strbuf_free(&with);
  }
  hd_strbuf_free(&lines);
  for (size_t i = 0; i < BLOCKS; i++)
    free(held[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(find_injected),       cmocka_unit_test(accept_last_once),
      cmocka_unit_test(accept_met_at_count), cmocka_unit_test(accept_fenced_ahead),
      cmocka_unit_test(accept_late_wait),    cmocka_unit_test(accept_any_length)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
