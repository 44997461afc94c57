/* Injected faults: correct kernels of test/check/Inputs with one op removed or moved, or one value
 * off by one. The rule that each fault breaks must report it. The checker must accept the kernels
 * themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "check_harness.h"

/* The loads of metadata of GATHER's consumer. */
#define META                                                                                       \
  "        %meta: frag<s32 x 1> = load.meta %sa, %d1, %w {word = 0}\n"                             \
  "        %meta2: frag<s32 x 1> = load.meta %sa, %d1, %w4 {word = 0}\n"

/* For SPLIT: each CTA that stored a partial sums all partials, not only the last one to arrive. */
#define WHOEVER_COMES                                                                              \
  {"      last_arriver %workspace, %place, %ns {offset = 1024} {\n", ""}, {                        \
    "%m, %n, %s1 {type = f16, order = row_major, act = none, path = direct}\n      }\n",          \
        "%m, %n, %s1 {type = f16, order = row_major, act = none, path = direct}\n"                 \
  }

/* For SPLIT: the partials are stored after the counter is incremented. */
#define STORED_WHEN_COUNTED                                                                        \
  {"      " STORE, ""}, {"offset = 1024} {\n", "offset = 1024} {\n        " STORE}
#define STORE                                                                                      \
  "partial.store %workspace, %place, %split, %ns, %lo, %hi, %nk, %r0, %r1 "                        \
  "{splits = 3, bytes = 4608}\n"

static const injected table[] = {
    /* R1: completion is observed before the data is used */
    {"full wait removed", CLUSTER, "R1", {{"        barrier.wait %full, %d1 {parity = 0}\n", ""}}},
    {"full wait of the other parity", CLUSTER, "R1 deadlock phase",
     {{"barrier.wait %full, %d1 {parity = 0}", "barrier.wait %full, %d1 {parity = 1}"}}},
    {"full wait on the slot before", CLUSTER, "R1 deadlock phase",
     {{"barrier.wait %full, %d1", "barrier.wait %full, %prev"}}},
    {"metadata of the slot before", CLUSTER, "R1 R3 data",
     {{"load.meta %sa, %d1, %w", "load.meta %sa, %prev, %w"}}},
    {"one cp.async group too many pending", AMPERE, "R1",
     {{"cp_async.wait {pending = 1}", "cp_async.wait {pending = 2}"}}},
    {"cp.async wait removed", AMPERE, "R1", {{"        cp_async.wait {pending = 1}\n", ""}}},
    {"no barrier behind the cp.async wait", AMPERE, "R1 R3",
     {{"        cta.sync\n        %ahead", "        %ahead"}}},
    {"barrier in front of the cp.async wait", AMPERE, "R1",
     {{"        cp_async.wait {pending = 1}\n        cta.sync\n",
       "        cta.sync\n        cp_async.wait {pending = 1}\n"}}},
    {"commit of the prologue removed", AMPERE, "R1",
     {{"        cp_async.commit\n        %cn", "        %cn"}}},
    {"commit of the loop removed", AMPERE, "R1",
     {{"        cp_async.commit\n        %m0", "        %m0"}}},
    {"read of the next slot", AMPERE, "R1 data",
     {{"        %m0: frag<s32 x 1> = load.meta %sa, %rc",
       "        %rn: cursor = cursor.next %rc {stages = 3}\n"
       "        %m0: frag<s32 x 1> = load.meta %sa, %rn"},
      {"        %rn: cursor = cursor.next %rc {stages = 3}\n        yield", "        yield"}}},
    {"B's rows as far apart as they are long", AMPERE, "data",
     {{"copy.cp_async %b, %pitchb, %sb, %c,", "copy.cp_async %b, %rowb, %sb, %c,"}}},
    {"D at B's pitch", AMPERE, "data",
     {{"store.tile %d, %ldd, %d0,", "store.tile %d, %ldb, %d0,"}}},
    {"the kernel ends before a cp.async has landed", AMPERE, "R1",
     {{"      yield\n    }\n  }\n}",
       "      yield\n    }\n"
       "    cta.sync\n"
       "    %s0: cursor = cursor {stages = 3}\n"
       "    %l0: i64 = const {value = 0}\n"
       "    copy.cp_async %b, %pitchb, %sb, %s0, %c0, %l0, %rowb, %n {offset = 0, rows = 16, "
       "row_bytes = 128, vec = 16}\n"
       "    cp_async.commit\n"
       "  }\n}"}}},
    /* R2: generic-proxy writes that wgmma reads */
    {"proxy fence removed", GATHER, "R2", {{"        fence.proxy_async\n", ""}}},
    {"proxy fence in front of the writes", GATHER, "R2",
     {{"        fence.proxy_async\n", ""},
      {"        copy.ld_st", "        fence.proxy_async\n        copy.ld_st"}}},
    {"proxy fence behind the arrival", GATHER, "R2",
     {{"        fence.proxy_async\n        barrier.arrive %full, %c {scope = thread}\n",
       "        barrier.arrive %full, %c {scope = thread}\n        fence.proxy_async\n"}}},
    {"writes of other lanes not published", GATHER, "R2",
     {{"barrier.arrive %full, %c {scope = thread}", "barrier.arrive %full, %c {scope = warp}"},
      {"count = 129", "count = 5"}}},
    {"cp.async not waited for before the fence", GATHER, "R2",
     {{"copy.ld_st %b", "copy.cp_async %b"}, {"vec = 2}", "vec = 16}"}}},
    {"cp.async waited for behind the fence", GATHER, "R2",
     {{"copy.ld_st %b", "copy.cp_async %b"},
      {"vec = 2}", "vec = 16}"},
      {"        fence.proxy_async\n", "        cp_async.commit\n        fence.proxy_async\n"
                                      "        cp_async.wait {pending = 0}\n"}}},
    /* R3: nothing is overwritten while it may still be read */
    {"empty wait removed", CLUSTER, "R3 R1",
     {{"        barrier.wait %empty, %c {parity = 1}\n", ""}}},
    {"empty arrival on the own slot", CLUSTER, "R3 deadlock",
     {{"barrier.arrive %empty, %prev", "barrier.arrive %empty, %d1"}}},
    {"wgmma wait removed", CLUSTER, "R3 R5",
     {{"        %x3: frag<f32 x 32> = wgmma.wait %x2 {pending = 1}\n", ""},
      {"wgmma.fence %x3", "wgmma.fence %x2"},
      {"yield %d2, %x3, %d1", "yield %d2, %x2, %d1"}}},
    {"one wgmma group too many pending", CLUSTER, "R3",
     {{"%x2 {pending = 1}", "%x2 {pending = 2}"}}},
    {"arrival in front of the wait", CLUSTER, "R3",
     {{"      %accd: frag<f32 x 32> = wgmma.wait %accl {pending = 0}\n"
       "      barrier.arrive %empty, %lastc {scope = warp, rank = 3}\n",
       "      barrier.arrive %empty, %lastc {scope = warp, rank = 3}\n"
       "      %accd: frag<f32 x 32> = wgmma.wait %accl {pending = 0}\n"}}},
    {"one lane tells before the others have met it", GATHER, "R3",
     {{"        warp.sync\n        barrier.arrive", "        barrier.arrive"}}},
    {"the lanes meet behind the arrival", GATHER, "R3",
     {{"        warp.sync\n        barrier.arrive %empty, %d1 {scope = warp}\n",
       "        barrier.arrive %empty, %d1 {scope = warp}\n        warp.sync\n"}}},
    {"the lanes meet in front of the metadata", CLUSTER, "R3",
     {{"        warp.sync\n        %some", "        %some"},
      {"        %meta: frag", "        warp.sync\n        %meta: frag"}}},
    {"drained as far as one lane knows", RING_SUM, "R3",
     {{"        warp.sync\n        barrier.arrive", "        barrier.arrive"}}},
    {"the group is never committed", CLUSTER, "R3 R5", {{"        wgmma.commit\n", ""}}},
    {"no barrier between tiles", AMPERE, "R3 R1", {{"      cta.sync\n      %cold", "      %cold"}}},
    {"copies in front of the barrier", AMPERE, "R3 R1",
     {{"        cta.sync\n        %ahead", "        %ahead"},
      {"        cp_async.commit\n        %m0",
       "        cp_async.commit\n        cta.sync\n        %m0"}}},
    {"gather in front of the empty wait", GATHER, "R3 R1 phase",
     {{"        barrier.wait %empty, %c {parity = 1}\n", ""},
      {"        fence.proxy_async\n",
       "        fence.proxy_async\n        barrier.wait %empty, %c {parity = 1}\n"}}},
    /* R4: initialisation and exit */
    {"init fence removed", CLUSTER, "R4", {{"  fence.barrier_init\n", ""}}},
    {"init fence behind the sync", CLUSTER, "R4",
     {{"  fence.barrier_init\n  cluster.sync\n", "  cluster.sync\n  fence.barrier_init\n"}}},
    {"init fence behind the sync, in the warp of which any lane may copy", STAGED, "R4",
     {{"  fence.barrier_init\n  cta.sync\n", "  cta.sync\n  fence.barrier_init\n"}}},
    {"only the CTA is in step", CLUSTER, "R4",
     {{"  fence.barrier_init\n  cluster.sync\n", "  fence.barrier_init\n  cta.sync\n"}}},
    {"no sync behind the init", GATHER, "R4",
     {{"  fence.barrier_init\n  cta.sync\n", "  fence.barrier_init\n"}}},
    {"a barrier without init", CLUSTER, "R4", {{"  barrier.init %empty\n", ""}}},
    {"the cluster does not leave together", CLUSTER, "R4", {{"  }\n  cluster.sync\n}", "  }\n}"}}},
    /* R5: registers of wgmma */
    {"wgmma fence removed", CLUSTER, "R5",
     {{"        %accf: frag<f32 x 32> = wgmma.fence %acc\n", ""}, {"%accf, %sa", "%acc, %sa"}}},
    {"fence in front of the metadata", CLUSTER, "R5",
     {{"        %accf: frag<f32 x 32> = wgmma.fence %acc\n", ""},
      {"        %meta: frag",
       "        %accf: frag<f32 x 32> = wgmma.fence %acc\n        %meta: frag"}}},
    {"accumulators beside the fence", CLUSTER, "R5", {{"wgmma.sp.ss %accf", "wgmma.sp.ss %acc"}}},
    {"A registers beside the fence", GATHER, "R5", {{"%fb2, %sb, %d1", "%rb, %sb, %d1"}}},
    {"accumulators stored before the wait", CLUSTER, "R5",
     {{"%m, %n, %accd", "%m, %n, %accl"}}},
    {"the last group still pending", CLUSTER, "R5",
     {{"wgmma.wait %accl {pending = 0}", "wgmma.wait %accl {pending = 1}"}}},
    {"A registers loaded while they are read", GATHER, "R5 R3",
     {{"%x2, %y2 {pending = 0}", "%x2, %y2 {pending = 1}"}}},
    {"A registers loaded while they are read, metadata after", GATHER, "R5",
     {{"%x2, %y2 {pending = 0}", "%x2, %y2 {pending = 1}"},
      {META, ""},
      {"        %some", "        %a1: frag<f32 x 32>, %b1: frag<f32 x 32> = "
                         "wgmma.wait %acc, %bcc {pending = 0}\n" META "        %some"},
      {"wgmma.fence %acc, %bcc,", "wgmma.fence %a1, %b1,"},
      {"      store.tile %d, %ldd, %rowd, %cold, %m, %n, %p",
       "      %pd: frag<f32 x 32>, %qd: frag<f32 x 32> = wgmma.wait %p, %q {pending = 0}\n"
       "      store.tile %d, %ldd, %rowd, %cold, %m, %n, %pd"},
      {"%m, %n, %q", "%m, %n, %qd"}}},
    {"metadata loaded while it is read", CLUSTER, "R5",
     {{"%y2 {pending = 1}", "%y2 {pending = 2}"}}},
    {"metadata over metadata that is read", GATHER, "R5 R3",
     {{"%x2, %y2 {pending = 0}", "%x2, %y2 {pending = 1}"}}},
    {"stale accumulators", CLUSTER, "R5", {{"wgmma.sp.ss %x1", "wgmma.sp.ss %accf"}}},
    {"sum started from nothing", CLUSTER, "R5",
     {{"%meta, %some {row", "%meta, %yes {row"}}},
    {"a warp leaves before its wgmma is over", CLUSTER, "R5",
     {{"      yield %te2\n    }\n",
       "      yield %te2\n    }\n"
       "    %s0: cursor = cursor {stages = 3}\n"
       "    %no: i1 = const {value = 0}\n"
       "    %m0: frag<s32 x 1> = load.meta %sa, %s0, %w {word = 0}\n"
       "    %u0: frag<f32 x 32> = frag.undef\n"
       "    %u1: frag<f32 x 32> = wgmma.fence %u0\n"
       "    %u2: frag<f32 x 32> = wgmma.sp.ss %u1, %sa, %s0, %wg, %sb, %m0, %no {row = "
       "\"wgmma_sp_ss_m64n64k32_f32_bf16_bf16\", selector = 0, step = 0}\n"
       "    wgmma.commit\n"}}},
    /* R2, R6: D stored through shared memory */
    {"staged without the proxy fence", STAGED, "R2", {{"      fence.proxy_async\n", ""}}},
    {"proxy fence behind the lanes' meeting", STAGED, "R2",
     {{"      fence.proxy_async\n      warp.sync\n",
       "      warp.sync\n      fence.proxy_async\n"}}},
    {"copied out before the lanes met", STAGED, "R2",
     {{"      warp.sync\n      copy.out", "      copy.out"}}},
    {"copied out in front of the fill", STAGED, "R1 R2 data",
     {{"      copy.out %map_d, %sd, %own, %col0, %row\n", ""},
      {"      stage.tile %sd, %own",
       "      copy.out %map_d, %sd, %own, %col0, %row\n      stage.tile %sd, %own"}}},
    {"a slot filled again without a wait", STAGED, "R6",
     {{"      bulk.wait {pending = 1}\n      warp.sync\n      stage.tile %sd, %own",
       "      warp.sync\n      stage.tile %sd, %own"}}},
    {"one copy out too many pending", STAGED, "R6",
     {{"bulk.wait {pending = 1}", "bulk.wait {pending = 2}"}}},
    {"only one lane has waited", STAGED, "R6",
     {{"      warp.sync\n      stage.tile %sd, %own", "      stage.tile %sd, %own"}}},
    {"a copy out is never committed", STAGED, "R6",
     {{"      bulk.commit\n      yield", "      yield"}}},
    {"the end before the last copies", STAGED, "R6", {{"    bulk.wait {pending = 0}\n", ""}}},
    {"the end with one copy to come", STAGED, "R6",
     {{"bulk.wait {pending = 0}", "bulk.wait {pending = 1}"}}},
    {"both slices in one slot", STAGED, "R6",
     {{"%other: i32 = add %own, %c1", "%other: i32 = add %own, %c0"}}},
    {"warps share their slots", STAGED, "R1 R6 R2",
     {{"%own: i32 = mul %w, %c2", "%own: i32 = mul %group, %c2"}}},
    {"a slot that is not there", STAGED, "bounds",
     {{"%other: i32 = add %own, %c1", "%other: i32 = add %own, %c2"}}},
    {"the other slot copied out", STAGED, "R1 R2 data",
     {{"copy.out %map_d, %sd, %own", "copy.out %map_d, %sd, %w"}}},
    {"copied to other columns", STAGED, "data",
     {{"copy.out %map_d, %sd, %other, %col1", "copy.out %map_d, %sd, %other, %col0"}}},
    {"columns of another slice", STAGED, "data", {{"offset = 32}", "offset = 0}"}}},
    {"D's map clips elsewhere", STAGED, "bounds", {{"[\"n\", \"m\"]", "[\"n\", \"k\"]"}}},
    {"D's map of another pitch", STAGED, "bounds", {{"ldd*4", "ldd*2"}}},
    {"a slice that is copied nowhere", STAGED, "coverage",
     {{"      copy.out %map_d, %sd, %other, %col1, %row\n", ""}}},
    /* R7: partials of a split tile */
    {"partials summed by whoever comes", SPLIT, "R7", {WHOEVER_COMES}},
    {"stored when already counted", SPLIT, "R7", {STORED_WHEN_COUNTED}},
    {"one arrival more awaited", SPLIT, "R7",
     {{"last_arriver %workspace, %place, %ns {", "last_arriver %workspace, %place, %c8 {"}}},
    {"one arrival fewer awaited", SPLIT, "R7",
     {{"last_arriver %workspace, %place, %ns {", "last_arriver %workspace, %place, %c2 {"}}},
    {"a counter of all warps", SPLIT, "R7",
     {{"last_arriver %workspace, %place", "last_arriver %workspace, %of_tile"}}},
    {"a counter in the first partial", SPLIT, "R7", {{"offset = 1024}", "offset = 512}"}}},
    {"sums of another warp", SPLIT, "R7",
     {{"partial.sum %workspace, %place", "partial.sum %workspace, %of_tile"}}},
    {"the own partial in another's turn", SPLIT, "R7",
     {{"partial.sum %workspace, %place, %split", "partial.sum %workspace, %place, %c0"}}},
    {"one partial fewer in the sum", SPLIT, "R7",
     {{"%split, %ns, %r0, %r1 {bytes", "%split, %c2, %r0, %r1 {bytes"}}},
    {"fragments in another order", SPLIT, "R7",
     {{"partial.sum %workspace, %place, %split, %ns, %r0, %r1",
       "partial.sum %workspace, %place, %split, %ns, %r1, %r0"}}},
    {"warps share a record", SPLIT, "R7",
     {{"%w64: i64 = extend %w\n", "%w64: i64 = extend %pair\n"}}},
    {"tiles share a record", SPLIT, "R7",
     {{"%of_tile: i64 = mul %tile64, %l13824", "%of_tile: i64 = mul %tile64, %l1152"}}},
    {"splits share a partial", SPLIT, "R7 data",
     {{"partial.store %workspace, %place, %split", "partial.store %workspace, %place, %c0"},
      {"partial.sum %workspace, %place, %split", "partial.sum %workspace, %place, %c0"}}},
    {"a k-block in two splits", SPLIT, "R7 data",
     {{"%hi: i32 = div %hi0, %ns", "%hi1: i32 = div %hi0, %ns\n      %hi2: i32 = add %hi1, %c1\n"
                                   "      %hi: i32 = min %hi2, %nk"}}},
    {"a k-block in no split", SPLIT, "R7 data",
     {{"%lo: i32 = div %lo0, %ns", "%lo1: i32 = div %lo0, %ns\n      %lo2: i32 = min %split, %c1\n"
                                   "      %lo: i32 = add %lo1, %lo2"}}},
    {"a unit fewer than there are", SPLIT, "R7 coverage",
     {{"%units: i32 = mul %tiles, %ns",
       "%all: i32 = mul %tiles, %ns\n  %units: i32 = sub %all, %c1"}}},
    {"a workspace too small", SPLIT, "bounds", {{"bytes = 13824}", "bytes = 13680}"}}},
    {"D from the own share", SPLIT, "data", {{"%m, %n, %s0", "%m, %n, %r0"}}},
    /* Partial sums sent across a cluster: R1 (received and acquired), R4 (the receiver is running),
     * and to which tile and columns they belong */
    {"sums that may not have landed", SUM, "R1",
     {{"          barrier.wait %sent, %pc {parity = 0, scope = cluster}\n", ""}}},
    {"sums that are not acquired", SUM, "R1", {{"{parity = 0, scope = cluster}", "{parity = 0}"}}},
    {"sums acquired by the CTA alone", SUM, "R1", {{"scope = cluster", "scope = cta"}}},
    {"sums of the other parity", SUM, "R1 phase deadlock",
     {{"{parity = 0, scope = cluster}", "{parity = 1, scope = cluster}"}}},
    {"a slot that is not expected", SUM, "deadlock",
     {{"          barrier.expect %sent, %pc {bytes = 4096}\n", ""}}},
    {"half a slot expected", SUM, "tx-bytes R1 deadlock",
     {{"%pc {bytes = 4096}", "%pc {bytes = 2048}"}}},
    {"one arrival too many for a slot", SUM, "deadlock arrivals",
     {{"name = \"sent\", stages = 3, count = 1", "name = \"sent\", stages = 3, count = 2"}}},
    {"sent to a CTA that may not have begun", SUM, "R4",
     {{"  cluster.sync {relaxed}\n", "  cta.sync\n"}}},
    {"a relaxed sync at the end", CLUSTER, "R4",
     {{"  }\n  cluster.sync\n", "  }\n  cluster.sync {relaxed}\n"}}},
    {"a barrier that CTAs may not see", SUM, "R4", {{"  fence.barrier_init\n", ""}}},
    {"warps share a part of a slot", SUM, "R1 data",
     {{"partial.send %sp, %part", "partial.send %sp, %c0"}}},
    {"parts of another warp", SUM, "data",
     {{"partial.add %sp, %pc, %part", "partial.add %sp, %pc, %other"}}},
    {"the slot before", SUM, "R1 data deadlock",
     {{"partial.add %sp, %pc, %part", "partial.add %sp, %ps, %part"}}},
    {"a split too few received", SUM, "data arrivals",
     {{"for %c1, %ns, %c1, %ps, %x", "for %c1, %pfew, %c1, %ps, %x"},
      {"        %ps: cursor = cursor",
       "        %pfew: i32 = sub %ns, %c1\n        %ps: cursor = cursor"}}},
    {"a split too many received", SUM, "tx-bytes",
     {{"for %c1, %ns, %c1, %ps, %x", "for %c1, %c4, %c1, %ps, %x"}}},
    {"added under another's name", SUM, "data bounds",
     {{"%part, %p, %ns, %nk, %so_far", "%part, %c1, %ns, %nk, %so_far"}}},
    {"sent under another's name", SUM, "data R1 bounds",
     {{"%part, %rank, %ns, %nk, %x", "%part, %c1, %ns, %nk, %x"}}},
    {"more splits than slots", SUM, "bounds",
     {{"        partial.send %sp, %part, %rank, %ns",
       "        %c5: i32 = add %c4, %c1\n        %many: i32 = min %c5, %nk\n"
       "        partial.send %sp, %part, %rank, %many"}}},
    {"more splits than k-blocks", SUM, "bounds",
     {{"partial.send %sp, %part, %rank, %ns, %nk", "partial.send %sp, %part, %rank, %ns, %c1"}}},
    {"a part that begins between 16 bytes", SUM, "bounds", /* and the part ends within its slot */
     {{"        partial.send %sp, %part",
       "        %c3: i32 = sub %c4, %c1\n        %last_part: i32 = mul %c3, %c1024\n"
       "        %past: i32 = add %part, %c4\n        %odd: i32 = min %past, %last_part\n"
       "        partial.send %sp, %odd"}}},
    {"a k-block as often as there are", SUM, "data", /* counted by the senders */
     {{"        %g64: i64 = extend %g\n",
       "        %sums: i1 = cmp %rank, %c0 {pred = eq}\n        %gg: i32 = select %sums, %g, %lo\n"
       "        %g64: i64 = extend %gg\n"},
      {"%k0: i32 = mul %g, %c64", "%k0: i32 = mul %gg, %c64"}}},
    {"a k-block in two CTAs", SUM, "data",
     {{"  %hi: i32 = div %hi0, %ns\n", "  %hi1: i32 = div %hi0, %ns\n  %hi2: i32 = add %hi1, %c1\n"
                                      "  %hi: i32 = min %hi2, %nk\n"}}},
    {"stored without the others'", SUM, "data bounds",
     {{"%m, %n, %sum {type", "%m, %n, %x {type"}}},
    {"stored where the sum is not", SUM, "data bounds",
     {{"%receives: i1 = cmp %rank, %c0", "%receives: i1 = cmp %rank, %c1"}}},
    {"idle CTAs work", SUM, "bounds data",
     {{"select %works, %cluster, %tiles", "select %yes, %cluster, %tiles"}}},
    {"a CTA's accumulators on their way", SUM, "R5",
     {{"%ns, %nk, %x, %sent", "%ns, %nk, %none, %sent"}}},
    /* Sums stored over the ring: R3, which covers reads, and to which columns they belong */
    {"sums over a ring that is still read", RING_SUM, "R1 R3",
     {{"        barrier.wait %drained, %only {parity = 0}\n        %away0", "        %away0"}}},
    {"the ring's last phase but one", RING_SUM, "R3",
     {{"        barrier.wait %drained, %only {parity = 0}\n        %away1",
       "        barrier.wait %drained, %only {parity = 1}\n        %away1"}}},
    {"the ring told drained before it is", RING_SUM, "R3",
     {{"        barrier.arrive %drained, %only {scope = warp, rank = 3}\n", ""},
      {"        barrier.arrive %drained, %only {scope = warp, rank = 3}\n", ""},
      {"      %none: frag<f32 x 8> = frag.undef\n",
       "      %none: frag<f32 x 8> = frag.undef\n"
       "      barrier.arrive %drained, %only {scope = warp, rank = 3}\n"}}},
    {"drained for its own CTA alone", RING_SUM, "deadlock tx-bytes",
     {{"%drained, %only {scope = warp, rank = 3}", "%drained, %only {scope = warp}"}}},
    {"one warp may still read", RING_SUM, "R3 arrivals",
     {{"\"drained\", stages = 1, count = 8", "\"drained\", stages = 1, count = 7"}}},
    {"drained by one warp too many", RING_SUM, "deadlock",
     {{"\"drained\", stages = 1, count = 8", "\"drained\", stages = 1, count = 9"}}},
    {"columns of the other CTA sent", RING_SUM, "data",
     {{"%x {offset = 8}\n        partial.send", "%x {offset = 0}\n        partial.send"}}},
    {"columns of the other CTA kept", RING_SUM, "data",
     {{"%own1: frag<f32 x 4> = frag.columns %x {offset = 8}",
       "%own1: frag<f32 x 4> = frag.columns %x {offset = 0}"}}},
    {"stored at the other CTA's columns", RING_SUM, "data",
     {{"%col1: i32 = add %n0, %c8", "%col1: i32 = add %n0, %c0"}}},
    {"sent to itself", RING_SUM, "bounds", {{"%sent {owner = 1}", "%sent {owner = 0}"}}},
    /* R8 */
    {"grid.wait removed", CLUSTER, "R8", {{"  grid.wait\n", ""}}},
    /* barriers: bytes, counts, phases and deadlock */
    {"too few bytes expected", CLUSTER, "tx-bytes", {{"bytes = 12800", "bytes = 12784"}}},
    {"too many bytes expected", CLUSTER, "tx-bytes", {{"bytes = 12800", "bytes = 12816"}}},
    {"a box not expected", CLUSTER, "tx-bytes", {{"bytes = 12800", "bytes = 8704"}}},
    {"expect removed", CLUSTER, "deadlock tx-bytes arrivals R1",
     {{"        barrier.expect %full, %c {bytes = 12800}\n", ""}}},
    {"empty count one too few", CLUSTER, "arrivals", {{"count = 8", "count = 7"}}},
    {"empty count one too many", CLUSTER, "deadlock arrivals", {{"count = 8", "count = 9"}}},
    {"full count one too many", CLUSTER, "deadlock arrivals", {{"count = 1}", "count = 2}"}}},
    {"gather count one too few", GATHER, "arrivals", {{"count = 129", "count = 128"}}},
    {"empty wait of the other parity", CLUSTER, "deadlock",
     {{"barrier.wait %empty, %c {parity = 1}", "barrier.wait %empty, %c {parity = 0}"}}},
    {"arrival only at the own CTA", CLUSTER, "deadlock",
     {{"%prev {scope = warp, rank = 3}", "%prev {scope = warp}"}}},
    {"arrival removed", CLUSTER, "deadlock arrivals",
     {{"          barrier.arrive %empty, %prev {scope = warp, rank = 3}\n", ""}}},
    {"last arrival removed", CLUSTER, "deadlock arrivals",
     {{"      barrier.arrive %empty, %lastc {scope = warp, rank = 3}\n", ""}}},
    {"arrival in every turn", CLUSTER, "R3 arrivals phase",
     {{"%later: i1 = cmp %j, %c0 {pred = gt}", "%later: i1 = cmp %j, %c0 {pred = ge}"}}},
    {"the producer stops a k-block early", CLUSTER, "deadlock",
     {{"%te: cursor = for %c0, %nk, %c1", "%te: cursor = for %c1, %nk, %c1"}}},
    {"warps that only wait fall behind", GATHER, "phase",
     {{"        barrier.arrive %full, %c {scope = thread}\n", ""},
      {"count = 129", "count = 1"},
      {"        copy.ld_st", "        role.sync {id = 1}\n        copy.ld_st"}}},
    /* the computed data */
    {"half of B twice", CLUSTER, "data R1",
     {{"{offset = 4096, bytes = 4096", "{offset = 0, bytes = 4096"}}},
    {"A of another k-block", CLUSTER, "data bounds",
     {{"%index: i64 = add %block0, %i64v", "%index: i64 = add %block0, %slab64"}}},
    {"B of another column", CLUSTER, "data",
     {{"%nh: i32 = add %n0, %half", "%nh: i32 = add %half, %half"}}},
    {"a step left out", AMPERE, "data",
     {{"yield %wn2, %rn, %y2, %y3", "yield %wn2, %rn, %y0, %y3"}}},
    {"strips swapped", AMPERE, "data",
     {{"%d0, %cold", "%D, %cold"}, {"%d1, %cold", "%d0, %cold"}, {"%D,", "%d1,"}}},
    {"metadata of another strip", GATHER, "data",
     {{"load.meta %sa, %d1, %w4", "load.meta %sa, %d1, %w"}}},
    {"the warpgroup disagrees on its slab", CLUSTER, "bounds uniform",
     {{"%wg: i32 = div %w, %c4", "%wg: i32 = div %w, %c2"}}},
    {"a condition that depends on the warp", CLUSTER, "uniform deadlock arrivals",
     {{"%later: i1 = cmp %j, %c0 {pred = gt}", "%later: i1 = cmp %w, %c2 {pred = gt}"}}},
    /* bounds of global memory */
    {"slabs past the end not clamped", CLUSTER, "bounds",
     {{"%slab64: i64 = extend %slab\n", "%slab64: i64 = extend %slab0\n"}}},
    {"D not masked", CLUSTER, "bounds", {{"%cold, %m, %n, %accd", "%cold, %mu, %n, %accd"}}},
    {"B's rows too long", AMPERE, "bounds",
     {{"%k64: i64 = extend %k\n", "%k64: i64 = extend %kk\n"}}},
    {"B's columns past its end", GATHER, "bounds",
     {{"%fb, %rowbytes, %n {", "%fb, %rowbytes, %nn {"}}},
    {"a tile that nobody writes", CLUSTER, "coverage bounds",
     {{"%um: i32 = div %mu, %c128", "%um: i32 = div %m, %c128"}}},
    {"a strip written twice", CLUSTER, "data coverage",
     {{"%strip0: i32 = mul %w, %c16", "%strip0: i32 = mul %wg, %c16"}}},
    /* resource limits */
    {"too much shared memory", CLUSTER, "shared",
     {{"bytes = 8192, stages = 3", "bytes = 81920, stages = 3"}}},
    {"fragments that do not fit the role", CLUSTER, "registers",
     {{"registers = 232", "registers = 32"}}},
    {"more CTAs than an SM has shared memory for", CLUSTER, "shared",
     {{"cluster = 2, threads", "cluster = 2, min_ctas = 6, threads"}}},
    {"more CTAs than an SM has registers for", CLUSTER, "registers",
     {{"cluster = 2, threads", "cluster = 2, min_ctas = 2, threads"}}},
    {"a cluster on a target without", AMPERE, "target",
     {{"threads = 128, persistent", "threads = 128, cluster = 2, persistent"}}},
    {"D's rows longer than its pitch", CLUSTER, "bounds",
     {{"%ldd: i64 = arg {arg = ldd}", "%ldd: i64 = const {value = 1}"}}},
};

/* --- tests ---------------------------------------------------------------------------------- */

static void find_injected(void **state) {
  (void)state;
  assert_int_equal(count_missed(table, HD_COUNT(table)), 0);
}

static void accept_sound(void **state) {
  (void)state;
  static const char *const files[] = {CLUSTER, GATHER, AMPERE, SPLIT,
                                      SUM,     RING_SUM, STAGED};
  for (size_t i = 0; i < HD_COUNT(files); i++) {
    char *text = kernel_text(files[i]);
    hd_check_report report = {0};
    assert_int_equal(check_text(text, &report), HEDDLE_OK);
    assert_true(report.n_accesses > 1000 && report.n_pairs > report.n_accesses);
    assert_int_equal(report.n_findings, 0);
    hd_check_report_free(&report);
    free(text);
  }
}

/* A tile that is not split is complete where it was summed, so no CTA has to be counted. */
static void accept_whole_tiles(void **state) {
  (void)state;
  static const edit whole = {"%ns: i32 = min %c3, %nk", "%ns: i32 = min %c1, %nk"};
  static const edit slips[][2] = {{WHOEVER_COMES}, {STORED_WHEN_COUNTED}};
  for (size_t i = 0; i < HD_COUNT(slips); i++) {
    char *text = replace(kernel_text(SPLIT), &whole);
    text = replace(replace(text, &slips[i][0]), &slips[i][1]);
    hd_check_report report = {0};
    assert_int_equal(check_text(text, &report), HEDDLE_OK);
    hd_check_report_free(&report);
    free(text);
  }
}

/* A main loop of 16384 iterations is checked in the time of a short one. The same holds with a
 * fault. */
static void decide_long(void **state) {
  (void)state;
  static const edit fixed = {"%k: i32 = arg {arg = k}", "%k: i32 = const {value = 1048576}"};
  static const edit slip = {"%y2 {pending = 1}", "%y2 {pending = 2}"};
  char *text = replace(kernel_text(CLUSTER), &fixed);
  hd_check_report report = {0};
  assert_int_equal(check_text(text, &report), HEDDLE_OK);
  assert_true(report.n_steps < 200000);
  hd_check_report_free(&report);
  text = replace(text, &slip);
  assert_int_equal(check_text(text, &report), HEDDLE_MISMATCH);
  hd_check_report_free(&report);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accept_sound),
      cmocka_unit_test(accept_whole_tiles),
      cmocka_unit_test(decide_long),
      cmocka_unit_test(find_injected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
