/* Memory order between the lanes of a warp. bar.warp.sync orders their accesses. No other .sync
 * instruction does, and neither does the completion of a wgmma or tcgen05.st that used the values
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "Support/strbuf.h"
#include "sim_harness.h"

/* 128 threads. %r1 = shared base, %r2 = address of the thread's word, which contains %r0 = tid, %r3
 * = address of another lane's word, %p0: tid 0, %p1: warp 0. The words are followed by a fence for
 * the async proxy and a barrier. %r20 = 32 columns of tensor memory, in the texts that use some. */
static const char head[] =
    ".visible .entry meet(.param .u64 p0)\n{\n"
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n"
    "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %tid.x; mov.u32 %r1, smem;\n"
    "shl.b32 %r2, %r0, 2; add.s32 %r2, %r2, %r1; xor.b32 %r3, %r2, 4;\n"
    "setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32; mov.b32 %r4, %r0; mov.b32 %r20, 0;\n"
    "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
    "@%p0 mbarrier.init.shared::cta.b64 [%r1+1024], 1; fence.mbarrier_init.release.cluster;\n";
static const char take_columns[] =
    "@!%p1 bra T; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+1032], 32;\n"
    "T: bar.sync 0; ld.shared.b32 %r20, [%r1+1032];\n";
static const char give_columns[] =
    "\ntcgen05.fence::before_thread_sync; bar.sync 0; @!%p1 bra G;\n"
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32; G:\n";
static const char publish[] = "st.shared.b32 [%r2], %r0; fence.proxy.async; bar.sync 0;\n";

typedef struct meeting {
  const char *name, *rule; /* NULL: correct */
  const char *text;
} meeting;

/* ---- one lane writes a word, another lane reads it ---- */

static const meeting kinds[] = {
    {"bar.warp.sync", NULL, "bar.warp.sync -1;"},
    {"shfl", "race", "shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;"},
    {"vote", "race", "vote.sync.ballot.b32 %r5, %p0, -1;"},
    {"elect", "race", "elect.sync %r5|%p2, -1;"},
    {"redux", "race", "redux.sync.add.s32 %r5, %r0, -1;"},
    {"ldmatrix", "race", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r1+512];"},
    {"stmatrix", "race", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r0};"},
    {"movmatrix", "race", "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r0;"},
    {"mma", "race",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0,%r0,%r0}, "
     "{%r0,%r0}, {%f0,%f1,%f2,%f3};"},
    {"mma.sp", "race",
     "mov.b32 %r5, 0x44444444; mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16"
     ".bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0,%r0,%r0}, {%r0,%r0,%r0,%r0}, {%f0,%f1,%f2,%f3}, %r5, "
     "0;"},
    {"wgmma.fence", "race", "wgmma.fence.sync.aligned;"},
    {"wgmma.commit_group", "race", "wgmma.commit_group.sync.aligned;"},
    {"wgmma.wait_group", "race", "wgmma.wait_group.sync.aligned 0;"},
    {"setmaxnreg", "race", "setmaxnreg.inc.sync.aligned.u32 128;"},
    {"tcgen05.alloc", "race",
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+1032], 32;"},
    {"relinquish_alloc_permit", "race",
     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"},
    {"tcgen05.wait::ld", "race", "tcgen05.wait::ld.sync.aligned;"},
    {"tcgen05.wait::st", "race", "tcgen05.wait::st.sync.aligned;"},
};

static void word_text(hd_strbuf *out, const meeting *kind) {
  hd_strbuf_printf(out, "%s%sst.shared.b32 [%%r2+512], %%r0; bar.sync 0;\n", head, publish);
  hd_strbuf_add(out, "shl.b32 %r6, %r0, 4; add.s32 %r6, %r6, %r1; add.s32 %r6, %r6, 1040;\n");
  hd_strbuf_printf(out, "@!%%p1 bra X; st.shared.b32 [%%r2], %%r4; %s\n"
                        "ld.shared.b32 %%r7, [%%r3]; bar.warp.sync -1; X: ret;\n}\n", kind->text);
}

/* ---- lanes read words that are then overwritten ---- */

#define READ "ld.shared.b32 %r4, [%r2];\n"
#define MMA /* B: the words of warps 2 and 3 */                                                    \
  "add.s32 %r8, %r1, 256; shr.u32 %r8, %r8, 4; cvt.u64.u32 %rd1, %r8; or.b64 %rd1, %rd1, 0x80000;" \
  "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "                 \
  "{%f0,%f1,%f2,%f3}, {%r4,%r4,%r4,%r4}, %rd1, 0, 1, 1, 0;\n"                                      \
  "wgmma.commit_group.sync.aligned;\n"
#define WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define STORE "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%r4};\n"
#define STORED "tcgen05.wait::st.sync.aligned;\n"
#define BY_COPY                                                                                    \
  "@!%p0 bra C; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+1024], 128;\n"                   \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 128, "         \
  "[%r1+1024]; W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+1024], 0; @!%p3 bra W; C:\n"
#define BY_STORE "@%p0 st.shared.b32 [%r1+4], %r0;\n"

static const meeting overwrites[] = {
    {"read, the lanes meet", NULL, READ "bar.warp.sync -1;" BY_COPY},
    {"read, they do not", "R3", READ BY_COPY},
    {"read behind their meeting", "R3", "bar.warp.sync -1;" READ BY_COPY},
    {"read, the lanes meet, overwritten by a thread", NULL, READ "bar.warp.sync -1;" BY_STORE},
    {"read, wgmma, waited for", "R3", READ MMA WAIT BY_COPY},
    {"read, wgmma, waited for, the lanes meet", NULL, READ MMA WAIT "bar.warp.sync -1;" BY_COPY},
    {"read, the lanes meet, wgmma", NULL, READ "bar.warp.sync -1;" MMA BY_COPY WAIT},
    {"read, mma", "R3",
     READ "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, "
          "{%r4,%r4,%r4,%r4}, {%r4,%r4}, {%f0,%f1,%f2,%f3};" BY_COPY},
    {"read, in tensor memory", "R3", READ STORE STORED BY_COPY},
    {"read, in tensor memory, the lanes meet", NULL, READ STORE STORED "bar.warp.sync -1;" BY_COPY},
};

static void overwrite_text(hd_strbuf *out, const meeting *kind) {
  bool tensor = strstr(kind->text, "tcgen05");
  hd_strbuf_printf(out, "%s%s%s", head, publish, tensor ? take_columns : "");
  hd_strbuf_add(out, "shl.b32 %r9, %r0, 16; and.b32 %r9, %r9, 0x600000; add.s32 %r9, %r9, %r20;\n");
  hd_strbuf_printf(out, "%s%sret;\n}\n", kind->text, tensor ? give_columns : "");
}

/* ---- the runs ---- */

typedef void text_maker(hd_strbuf *out, const meeting *kind);

static bool is_right(text_maker *make, const meeting *kind, hd_sim_mode mode) {
  static uint32_t a[64];
  hd_strbuf text = {0};
  harness h;
  hd_strbuf_add(&text, ".version 8.6\n.target sm_100a\n.extern .shared .align 1024 .b8 smem[];\n");
  make(&text, kind);
  harness_start(&h, "meet", 128, 2048, 1);
  h.options = (hd_sim_options){.mode = mode, .seed = 1, .max_steps = 100000};
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "a", a, sizeof a, false));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  bool right = kind->rule ? status == HEDDLE_MISMATCH && harness_found(&h, kind->rule)
                          : status == HEDDLE_OK;
  if (!right) {
    fprintf(stderr, "%s (mode %s): status %d\n", kind->name, hd_sim_mode_name(mode), status);
    harness_print(&h);
  }
  hd_strbuf_free(&text);
  harness_stop(&h);
  return right;
}

static int wrong_in(text_maker *make, const meeting *kind, size_t n) {
  int wrong = 0;
  for (size_t i = 0; i < n; i++)
    for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++)
      wrong += !is_right(make, &kind[i], (hd_sim_mode)mode);
  return wrong;
}

static void one_kind_orders_memory(void **state) {
  (void)state;
  assert_int_equal(wrong_in(word_text, kinds, HD_COUNT(kinds)), 0);
}

static void reads_are_ordered_by_a_meeting_alone(void **state) {
  (void)state;
  assert_int_equal(wrong_in(overwrite_text, overwrites, HD_COUNT(overwrites)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_kind_orders_memory),
      cmocka_unit_test(reads_are_ordered_by_a_meeting_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
