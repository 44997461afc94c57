#include "micro.h"

#include <stdio.h>
#include <string.h>

#include "Support/strbuf.h"

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 smem[];\n"
    ".global .align 4 .u32 table[4] = {1, 0x2, 3, -4};\n.global .u64 zero;\n"
    ".const .align 4 .f32 half[2] = {0f3F000000, 0f40000000};\n"
    ".visible .entry micro(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n"
    ".reg .pred %p<16>; .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<16>;\n"
    "ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2];\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, "
    "%ctaid.x;\n"
    "setp.eq.u32 %p0, %r0, 0; setp.ge.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r2, 0;\n"
    "mul.wide.u32 %rd3, %r0, 4; add.s64 %rd4, %rd0, %rd3; add.s64 %rd5, %rd1, %rd3;\n"
    "shl.b32 %r4, %r0, 2; add.s32 %r4, %r4, %r1;\n";

heddle_status micro_run(const micro *c, hd_sim_mode mode, uint64_t seed, uint32_t off,
                        const char *rules, bool *found, bool print) {
  harness h;
  uint32_t a[256], d[256], w[256] = {0};
  hd_strbuf text = {0};
  for (uint32_t i = 0; i < 256; i++)
    a[i] = i;
  memset(d, 0xc5, sizeof d);
  hd_strbuf_printf(&text, "%s%sret;\n}\n", head, c->body);
  harness_start(&h, "micro", 64, 4096, c->grid ? (uint32_t)c->grid : 1);
  h.variant.cluster = c->cluster ? c->cluster : 1;
  h.variant.dependent_launch = c->dependent;
  h.options = (hd_sim_options){.mode = mode, .seed = seed, .off = off, .max_steps = 100000};
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "a", a, sizeof a, false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", d, sizeof d, true));
  harness_param(&h, HD_ARG_WORKSPACE, harness_buffer(&h, "w", w, sizeof w, true));
  h.buffer[2].undefined = false;
  heddle_status status = harness_run_text(&h, text.text, text.len);
  *found = rules && harness_found(&h, rules);
  if (print)
    harness_print(&h);
  hd_strbuf_free(&text);
  harness_stop(&h);
  return status;
}

static int verify_case(const micro *c) {
  int bad = 0;
  bool found, by_chance = c->rules && c->rules[0] == '(';
  for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
      heddle_status status = micro_run(c, (hd_sim_mode)mode, seed, 0,
                                       c->rules ? c->rules + by_chance : NULL, &found, false);
      bool right = c->rules ? status == HEDDLE_MISMATCH && found : status == HEDDLE_OK;
      if (right)
        continue;
      fprintf(stderr, "%s (mode %s, seed %d): status %d\n", c->name,
              hd_sim_mode_name((hd_sim_mode)mode), (int)seed, status);
      micro_run(c, (hd_sim_mode)mode, seed, 0, NULL, &found, true);
      bad++;
    }
  }
  return bad;
}

int micro_verify(const micro *cases, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++)
    bad += verify_case(&cases[i]);
  return bad;
}
