// Copies, groups, barriers and fences: what each reads and writes, through which proxy, and what
// shows that it happened (DESIGN.md 11 turns these effects into rules R1..R8).

class Op<string family, string text, string operands, string llvm, string source, string issuer,
         list<Avail> where, list<Effect> effects> : Row<family> {
  let Ptx = text;
  let Operands = operands;
  let Llvm = llvm;
  let Source = source;
  let Issuer = issuer;
  let Where = where;
  let Effects = effects;
}

// ---- cp.async: generic proxy, completes by group or mbarrier -------------------------------------
defvar CpAsyncEffects = [Effect<"global", "read", "generic", "async_group", "source">,
                         Effect<"shared", "write", "generic", "async_group", "destination">];
class CpAsync<string cache, int n>
    : Op<"COPY", "cp.async." # cache # ".shared.global", "[dst], [src], " # n,
         "llvm.nvvm.cp.async." # cache # ".shared.global." # n, "PTX ISA 9.7.9.25 (cp.async)",
         "thread", [Since<80, 70>], CpAsyncEffects>;
foreach n = [4, 8, 16] in def cp_async_ca_ # n : CpAsync<"ca", n>;
def cp_async_cg_16 : CpAsync<"cg", 16>;
class CpAsyncGroup<string name, string operands, string llvm, string what>
    : Op<"COPY", "cp.async." # name, operands, llvm, "PTX ISA 9.7.9.25 (cp.async groups)", "thread",
         [Since<80, 70>], [Effect<"shared", "order", "generic", "async_group", what>]>;
def cp_async_commit_group : CpAsyncGroup<"commit_group", "", "llvm.nvvm.cp.async.commit.group",
    "closes a group of the thread's earlier cp.async">;
def cp_async_wait_group : CpAsyncGroup<"wait_group", "N", "llvm.nvvm.cp.async.wait.group",
    "all but the N latest groups are done, for this thread">;
def cp_async_wait_all : CpAsyncGroup<"wait_all", "", "llvm.nvvm.cp.async.wait.all",
    "every cp.async of this thread is done">;
foreach inc = ["", ".noinc"] in
  def cp_async_mbarrier_arrive # !subst(".", "_", inc)
    : Op<"COPY", !strconcat("cp.async.mbarrier.arrive", inc, ".shared.b64"), "[mbar]",
         !strconcat("llvm.nvvm.cp.async.mbarrier.arrive", inc, ".shared"), "PTX ISA 9.7.13.15 (mbarrier)",
         "thread", [Since<80, 70>],
         [Effect<"shared", "order", "generic", "mbarrier",
                 "arrives when the thread's earlier cp.async are done">]>;

// ---- cp.async.bulk: async proxy ------------------------------------------------------------------
defvar BulkSource = "PTX ISA 9.7.9.25.4 (cp.async.bulk)";
defvar Hopper90 = [Since<90, 80>];
defvar BulkIn = [Effect<"global", "read", "async", "mbarrier", "source">,
                 Effect<"cluster", "write", "async", "mbarrier", "destination">];
defvar BulkInCta = [Effect<"global", "read", "async", "mbarrier", "source">,
                    Effect<"shared", "write", "async", "mbarrier", "destination">];
defvar BulkOut = [Effect<"shared", "read", "async", "bulk_group", "source (wait_group.read)">,
                  Effect<"global", "write", "async", "bulk_group", "destination (wait_group)">];
defvar BulkPrefetch = [Effect<"global", "read", "async", "none", "prefetched lines; no result">];
defvar Cluster = ".shared::cluster.global.mbarrier::complete_tx::bytes";
defvar CtaOnly = ".shared::cta.global.mbarrier::complete_tx::bytes";
def cp_async_bulk_g2s_cluster
    : Op<"COPY", !strconcat("cp.async.bulk", Cluster), "[dst], [src], size, [mbar]",
         "llvm.nvvm.cp.async.bulk.global.to.shared.cluster", BulkSource, "thread",
         Hopper90, BulkIn>;
def cp_async_bulk_g2s_cluster_multicast
    : Op<"COPY", !strconcat("cp.async.bulk", Cluster, ".multicast::cluster"),
         "[dst], [src], size, [mbar], mask", "llvm.nvvm.cp.async.bulk.global.to.shared.cluster",
         BulkSource, "thread", Hopper90, BulkIn>;
def cp_async_bulk_g2s_cta
    : Op<"COPY", !strconcat("cp.async.bulk", CtaOnly), "[dst], [src], size, [mbar]",
         "llvm.nvvm.cp.async.bulk.global.to.shared.cta", BulkSource, "thread",
         [Since<90, 86>], BulkInCta>;
def cp_async_bulk_s2s
    : Op<"COPY", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
         "[dst], [src], size, [mbar]", "llvm.nvvm.cp.async.bulk.shared.cta.to.cluster", BulkSource,
         "thread", Hopper90,
         [Effect<"shared", "read", "async", "mbarrier", "source">,
          Effect<"cluster", "write", "async", "mbarrier", "destination">]>;
def cp_async_bulk_s2g
    : Op<"COPY", "cp.async.bulk.global.shared::cta.bulk_group", "[dst], [src], size",
         "llvm.nvvm.cp.async.bulk.shared.cta.to.global", BulkSource, "thread",
         Hopper90, BulkOut>;
def cp_async_bulk_prefetch_L2
    : Op<"COPY", "cp.async.bulk.prefetch.L2.global", "[src], size",
         "llvm.nvvm.cp.async.bulk.prefetch.L2", BulkSource, "thread", Hopper90, BulkPrefetch>;
def cp_async_bulk_s2g_mask // of each 16 bytes, those whose bit is set
    : Op<"COPY", "cp.async.bulk.global.shared::cta.bulk_group.cp_mask", "[dst], [src], size, mask",
         "llvm.nvvm.cp.async.bulk.shared.cta.to.global.bytemask", BulkSource, "thread",
         [Since<100, 86>], BulkOut>;

// ---- cp.async.bulk.tensor ------------------------------------------------------------------------
// A box of a tensor, or (im2col) its pixels as columns, (gather4, scatter4) four of its rows.
defvar TensorSource = "PTX ISA 9.7.9.27 (cp.async.bulk.tensor)";
// What came with the tensor cores of sm_100.
defvar Blackwell100 = [Arch<100, 86>, Family<100, 88>, Arch<110, 90>, Family<110, 90>];
class TensorMode<string mode, int rank> {
  bit Rows4 = !ne(!find(mode, "4"), -1);
  bit Halo = !ne(!find(mode, "::w"), -1);
  string Name = "cp_async_bulk_tensor_" # rank # "d_"
                # !if(!eq(mode, "tile"), "", !subst("::", "_", mode) # "_");
  string Llvm = !subst("_no_offs", "", !subst("::", ".", mode)) # "." # rank # "d";
  string Map = "[map, {" # !interleave(!foreach(i, !range(!if(Rows4, 5, rank)), "c" # i), ", ") # "}]";
  // The halo and offset of w, or an offset a dimension but the first and the last.
  int Offsets = !cond(Halo : 2, !eq(mode, "im2col") : !sub(rank, 2), true : 0);
  string Offset = !if(Offsets, ", {" # !interleave(!foreach(i, !range(Offsets), "o" # i), ", ") # "}", "");
}
class TensorRanks<string mode> {
  list<int> All = !cond(!eq(mode, "tile") : [1, 2, 3, 4, 5], !eq(!find(mode, "tile"), 0) : [2],
                        true : [3, 4, 5]);
}
class TensorCopy<string text, string operands, string llvm, list<Avail> where,
                 list<Effect> effects>
    : Op<"COPY", text, operands, !if(!eq(llvm, ""), "", "llvm.nvvm.cp.async.bulk.tensor." # llvm),
         TensorSource, "thread", where, effects>;

foreach mode = ["tile", "im2col", "im2col::w", "im2col::w::128", "tile::gather4"] in
  foreach rank = TensorRanks<mode>.All in {
    defvar T = TensorMode<mode, rank>;
    defvar old = !or(!eq(mode, "tile"), !eq(mode, "im2col"));
    foreach group = [0, 1, 2] in foreach place = ["cluster", "cluster_multicast", "cta"] in {
      defvar cta = !eq(place, "cta");
      defvar mask = !eq(place, "cluster_multicast");
      // A pair's copy may signal a barrier of the other CTA. LLVM has it with .shared::cluster alone.
      def T.Name # "g2s_" # place # !if(group, "_cg" # group, "")
          : TensorCopy<"cp.async.bulk.tensor." # rank # "d.shared::" # !if(cta, "cta", "cluster")
                       # ".global." # mode # ".mbarrier::complete_tx::bytes"
                       # !if(mask, ".multicast::cluster", "")
                       # !if(group, ".cta_group::" # group, ""),
                       "[dst], " # T.Map # ", [mbar]" # T.Offset # !if(mask, ", mask", ""),
                       !if(cta, !if(group, "", "g2s.cta." # T.Llvm), "g2s." # T.Llvm),
                       !cond(!or(!ne(group, 0), !eq(mode, "im2col::w::128")) : Blackwell100,
                             !not(cta) : !if(old, Hopper90, Blackwell100),
                             true : [Since<!if(old, 90, 100), 86>]),
                       !if(cta, BulkInCta, BulkIn)> {
        let CtaGroup = group;
      }
    }
    def T.Name # "prefetch_L2"
        : TensorCopy<"cp.async.bulk.prefetch.tensor." # rank # "d.L2.global." # mode,
                     T.Map # T.Offset, "prefetch." # T.Llvm,
                     !if(old, Hopper90, Blackwell100), BulkPrefetch>;
  }
foreach mode = ["tile", "im2col_no_offs", "tile::scatter4"] in
  foreach rank = TensorRanks<mode>.All in {
    defvar T = TensorMode<mode, rank>;
    def T.Name # "s2g"
        : TensorCopy<"cp.async.bulk.tensor." # rank # "d.global.shared::cta." # mode # ".bulk_group",
                     T.Map # ", [src]", "s2g." # T.Llvm,
                     !if(!eq(mode, "tile::scatter4"), Blackwell100, Hopper90), BulkOut>;
  }
class BulkGroup<string name, string operands, string llvm, string what>
    : Op<"COPY", "cp.async.bulk." # name, operands, llvm, "PTX ISA 9.7.9.25.4 (bulk groups)",
         "thread", Hopper90, [Effect<"shared", "order", "async", "bulk_group", what>]>;
def cp_async_bulk_commit_group : BulkGroup<"commit_group", "",
    "llvm.nvvm.cp.async.bulk.commit.group", "closes a group of the thread's earlier bulk stores">;
def cp_async_bulk_wait_group : BulkGroup<"wait_group", "N", "llvm.nvvm.cp.async.bulk.wait.group",
    "all but the N latest groups are done: writes visible to this thread">;
def cp_async_bulk_wait_group_read : BulkGroup<"wait_group.read", "N",
    "llvm.nvvm.cp.async.bulk.wait.group.read",
    "all but the N latest groups have read their source">;

// ---- wgmma ---------------------------------------------------------------------------------------
class WgmmaSync<string name, string operands, string what>
    : Op<"SYNC", "wgmma." # name # ".sync.aligned", operands, "llvm.nvvm.wgmma." # name
         # ".sync.aligned", "PTX ISA 9.7.15.7 (wgmma." # name # ")", "warpgroup",
         [Arch<90, 80>], [Effect<"register", "order", "async", "wgmma_group", what>]>;
def wgmma_fence : WgmmaSync<"fence", "",
    "earlier register accesses come before later wgmma accesses of the same registers">;
def wgmma_commit_group : WgmmaSync<"commit_group", "", "closes a group of the warp's wgmma">;
def wgmma_wait_group : WgmmaSync<"wait_group", "N",
    "all but the N latest groups are done: registers and shared reads free, results visible">;

// ---- mbarrier ------------------------------------------------------------------------------------
class Mbarrier<string text, string operands, string llvm, list<Avail> where, list<Effect> effects>
    : Op<"SYNC", "mbarrier." # text, operands, llvm, "PTX ISA 9.7.13.15 (mbarrier)", "thread",
         where, effects>;
defvar RelaxedPtx = 86; // .relaxed: ptxas refuses it before
defvar MbarArrive = [Effect<"shared", "order", "generic", "mbarrier",
    "release at CTA scope: the thread's earlier accesses come before the phase completes">];
defvar MbarWait = [Effect<"shared", "order", "generic", "mbarrier",
    "acquire at CTA scope: what was released, or completed by complete_tx, is visible">];
class MbarOrder<string space, string what> {
  list<Effect> Effects = [Effect<space, "order", "generic", "mbarrier", what>];
}
def mbarrier_init : Mbarrier<"init.shared.b64", "[mbar], count", "llvm.nvvm.mbarrier.init.shared",
    [Since<80, 70>], [Effect<"shared", "write", "generic", "register", "the barrier object">]>;
def mbarrier_inval : Mbarrier<"inval.shared.b64", "[mbar]", "llvm.nvvm.mbarrier.inval.shared",
    [Since<80, 70>], [Effect<"shared", "write", "generic", "register", "the barrier object">]>;
def mbarrier_arrive : Mbarrier<"arrive.shared.b64", "state, [mbar]",
    "llvm.nvvm.mbarrier.arrive.shared", [Since<80, 70>], MbarArrive>;
def mbarrier_arrive_drop : Mbarrier<"arrive_drop.shared.b64", "state, [mbar]",
    "llvm.nvvm.mbarrier.arrive.drop.shared", [Since<80, 70>], MbarArrive>;
def mbarrier_arrive_expect_tx : Mbarrier<"arrive.expect_tx.shared.b64", "state, [mbar], bytes", "",
    Hopper90, MbarArrive>;
def mbarrier_arrive_drop_expect_tx : Mbarrier<"arrive_drop.expect_tx.shared.b64",
    "state, [mbar], bytes", "", Hopper90, MbarArrive>;
// Arrives more than once, and may not complete the phase.
foreach op = ["arrive", "arrive_drop"] in
  def "mbarrier_" # op # "_no_complete" : Mbarrier<op # ".noComplete.shared.b64",
      "state, [mbar], count", "llvm.nvvm.mbarrier." # !subst("_", ".", op) # ".noComplete.shared",
      [Since<80, 70>], MbarArrive>;
def mbarrier_pending_count : Mbarrier<"pending_count.b64", "count, token",
    "llvm.nvvm.mbarrier.pending.count", [Since<80, 70>],
    [Effect<"register", "read", "generic", "register", "the state that an arrival returned">]>;
// Of a barrier anywhere in the cluster there is no state. The default scope is CTA.
foreach op = ["arrive", "arrive_drop"] in foreach tx = [0, 1] in {
  defvar Tx = !if(tx, ".expect_tx", "");
  defvar TxName = !if(tx, "_expect_tx", "");
  defvar TxBytes = !if(tx, ", bytes", "");
  def "mbarrier_" # op # TxName # "_remote"
      : Mbarrier<op # Tx # ".shared::cluster.b64", "_, [mbar]" # TxBytes, "", Hopper90,
          MbarOrder<"cluster",
                    "frees a buffer, publishes nothing to another CTA (R3)">.Effects>;
  // Other orders and scopes, of a barrier in this CTA or anywhere in the cluster.
  foreach order = ["release.cluster", "relaxed.cta", "relaxed.cluster"] in
    foreach remote = [0, 1] in
      def "mbarrier_" # op # TxName # !if(remote, "_remote_", "_") # !subst(".", "_", order)
          : Mbarrier<op # Tx # "." # order # !if(remote, ".shared::cluster", ".shared") # ".b64",
              !if(remote, "_", "state") # ", [mbar]" # TxBytes, "",
              !if(!eq(order, "release.cluster"), Hopper90, [Since<90, RelaxedPtx>]),
              MbarOrder<"cluster", !subst(".", " at scope ", order)>.Effects>;
}
foreach op = ["expect_tx", "complete_tx"] in
  foreach scope = ["", ".relaxed.cluster"] in foreach remote = [0, 1] in
    def "mbarrier_" # op # !if(remote, "_remote", "") # !subst(".", "_", scope)
        : Mbarrier<op # scope # !if(remote, ".shared::cluster", ".shared") # ".b64", "[mbar], bytes",
            "", Hopper90, MbarOrder<!if(remote, "cluster", "shared"),
                                    "counts bytes of the phase; orders nothing">.Effects>;
// A wait is given the state that an arrival returned, or the phase's parity.
foreach op = ["try_wait", "test_wait"] in foreach parity = [0, 1] in {
  defvar What = op # !if(parity, ".parity", "");
  defvar Name = "mbarrier_" # op # !if(parity, "_parity", "");
  defvar Args = "done, [mbar], " # !if(parity, "parity", "token");
  def Name : Mbarrier<What # ".shared.b64", Args, "",
      [!if(!eq(op, "try_wait"), Since<90, 78>, !if(parity, Since<80, 71>, Since<80, 70>))],
      MbarWait>;
  foreach order = ["acquire.cluster", "relaxed.cta", "relaxed.cluster"] in
    def Name # "_" # !subst(".", "_", order) : Mbarrier<What # "." # order # ".shared.b64", Args, "",
        !if(!eq(order, "acquire.cluster"), Hopper90, [Since<90, RelaxedPtx>]),
        MbarOrder<"cluster", !subst(".", " at scope ", order)>.Effects>;
}

// ---- fences and barriers -------------------------------------------------------------------------
class Fence<string text, string llvm, string source, string space, list<Avail> where, string what>
    : Op<"SYNC", "fence." # text, "", llvm, source, "thread", where,
         [Effect<space, "order", "async", "none", what>]>;
defvar ProxyWhat = "the thread's earlier generic accesses come before later async-proxy accesses "
                   "that follow through a barrier, and the other way";
defvar ProxySource = "PTX ISA 9.7.13.4 (fence.proxy.async)";
def fence_proxy_async : Fence<"proxy.async", "llvm.nvvm.fence.proxy.async", ProxySource, "global",
    Hopper90, ProxyWhat>;
def fence_proxy_async_shared_cta : Fence<"proxy.async.shared::cta",
    "llvm.nvvm.fence.proxy.async.shared_cta", ProxySource, "shared", Hopper90, ProxyWhat>;
def fence_proxy_async_shared_cluster : Fence<"proxy.async.shared::cluster",
    "llvm.nvvm.fence.proxy.async.shared_cluster", ProxySource, "cluster", Hopper90, ProxyWhat>;
def fence_proxy_async_global : Fence<"proxy.async.global", "llvm.nvvm.fence.proxy.async.global",
    ProxySource, "global", Hopper90, ProxyWhat>;
def fence_mbarrier_init : Fence<"mbarrier_init.release.cluster",
    "llvm.nvvm.fence.mbarrier_init.release.cluster", "PTX ISA 9.7.13.4 (fence.mbarrier_init)",
    "cluster", Hopper90, "earlier mbarrier.init come before what follows a cluster barrier">;
def fence_proxy_alias : Fence<"proxy.alias", "llvm.nvvm.fence.proxy.alias", "PTX ISA 9.7.13.4 (fence)",
    "global", [Since<75, 75>], "accesses by one virtual address come before those by another of the "
                               "same place">;
// .acquire and .release came with PTX 8.6 and sm_90; ptxas takes them wherever it takes .acq_rel.
foreach order = ["acq_rel", "sc", "acquire", "release"] in
  foreach scope = ["cta", "cluster", "gpu", "sys"] in {
    defvar half = !or(!eq(order, "acquire"), !eq(order, "release"));
    def "fence_" # order # "_" # scope : Op<"SYNC", "fence." # order # "." # scope, "", "",
        "PTX ISA 9.7.13.4 (fence)", "thread",
        !cond(half : !listconcat([Since<90, 86>], [!if(!eq(scope, "cluster"), UndefinedSince<90, 78>,
                                                      UndefinedSince<75, 63>)]),
              !eq(scope, "cluster") : [Since<90, 78>],
              true : [Since<75, 63>]),
        [Effect<"global", "order", "generic", "none",
                !if(half, order # "s", "orders the thread's generic accesses") # " at scope " # scope>]>;
  }
// Of shared memory alone, and (proxy) from the generic to the async proxy: release what this CTA holds,
// acquire what the cluster holds.
foreach half = [["acquire", "cluster"], ["release", "cta"]] in foreach proxy = [0, 1] in
  def "fence_" # !if(proxy, "proxy_async_generic_", "") # half[0] # "_sync_restrict"
      : Fence<!if(proxy, "proxy.async::generic.", "") # half[0] # ".sync_restrict::shared::" # half[1]
              # ".cluster",
              "llvm.nvvm.fence." # !if(proxy, "proxy.async_generic.", "") # half[0]
              # ".sync_restrict.space." # half[1] # ".scope.cluster", "PTX ISA 9.7.13.4 (fence)",
              !if(!eq(half[1], "cta"), "shared", "cluster"), [Since<90, 86>],
              half[0] # "s shared memory alone, at scope cluster"
              # !if(proxy, ", from the generic to the async proxy", "")>;
// A tensor map that was written by generic stores, before a copy reads it: its 128 bytes.
foreach half = ["acquire", "release"] in foreach scope = ["cta", "cluster", "gpu", "sys"] in
  def "fence_proxy_tensormap_" # half # "_" # scope
      : Fence<"proxy.tensormap::generic." # half # "." # scope,
              "llvm.nvvm.fence.proxy.tensormap_generic." # half # "." # scope,
              "PTX ISA 9.7.13.4 (fence.proxy.tensormap)", "global", [Since<90, 83>],
              half # "s tensor maps at scope " # scope # ", from the generic to the tensormap proxy"> {
    let Operands = !if(!eq(half, "acquire"), "[map], 128", "");
  }

class Barrier<string text, string operands, string llvm, string source, string issuer,
              string space, list<Avail> where, string what>
    : Op<"SYNC", text, operands, llvm, source, issuer, where,
         [Effect<space, "order", "generic", "none", what>]>;
def bar_sync : Barrier<"bar.sync", "id, threads", "llvm.nvvm.barrier.cta.sync.aligned.count",
    "PTX ISA 9.7.13.1 (bar)", "warp", "shared", [Since<75, 63>],
    "all named threads arrive; their earlier accesses are visible to each other after">;
def bar_arrive : Barrier<"bar.arrive", "id, threads", "llvm.nvvm.barrier.cta.arrive.aligned.count",
    "PTX ISA 9.7.13.1 (bar)", "warp", "shared", [Since<75, 63>],
    "arrives; its earlier accesses are visible to the threads that sync">;
defvar ClusterSource = "PTX ISA 9.7.13.3 (barrier.cluster)";
def barrier_cluster_arrive : Barrier<"barrier.cluster.arrive.aligned", "",
    "llvm.nvvm.barrier.cluster.arrive.aligned", ClusterSource, "warp", "cluster", [Since<90, 78>],
    "arrives, releasing at cluster scope">;
def barrier_cluster_arrive_relaxed : Barrier<"barrier.cluster.arrive.relaxed.aligned", "",
    "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned", ClusterSource, "warp", "cluster", Hopper90,
    "arrives, orders nothing">;
def barrier_cluster_wait : Barrier<"barrier.cluster.wait.aligned", "",
    "llvm.nvvm.barrier.cluster.wait.aligned", ClusterSource, "warp", "cluster", [Since<90, 78>],
    "waits for every thread of the cluster, acquiring at cluster scope">;
def griddepcontrol_wait : Barrier<"griddepcontrol.wait", "", "llvm.nvvm.griddepcontrol.wait",
    "PTX ISA 9.7.13.12 (griddepcontrol)", "thread", "global", [Since<90, 78>],
    "the grids that this one depends on are done, their writes visible">;
def griddepcontrol_launch_dependents : Barrier<"griddepcontrol.launch_dependents", "",
    "llvm.nvvm.griddepcontrol.launch.dependents", "PTX ISA 9.7.13.12 (griddepcontrol)", "thread",
    "global", [Since<90, 78>], "lets the dependent grid start; publishes nothing">;
foreach way = ["inc", "dec"] in
  def setmaxnreg_ # way : Op<"SYNC", "setmaxnreg." # way # ".sync.aligned.u32", "n",
      "llvm.nvvm.setmaxnreg." # way # ".sync.aligned.u32", "PTX ISA 9.7.20.5 (setmaxnreg)",
      "warpgroup", [Arch<90, 80>, Arch<100, 86>, Family<100, 88>, Arch<110, 90>,
      Family<110, 90>, Arch<120, 87>, Family<120, 88>],
      [Effect<"register", "order", "generic", "none",
       !if(!eq(way, "inc"), "waits until the registers are there", "gives registers back")>]>;
