// tcgen05.mma.sp and what surrounds it: PTX ISA 9.7.16. Element types, M and N stand in the
// instruction descriptor (descriptors.td), so many rows share one text. The ISA draws tensor memory in
// figures only: what follows is said in words by JAX (format_tcgen05_sparse_metadata, scales_layout) and
// by TVM's tests, and agrees with the simulator. Spec.h says which rows are generated.

// Lane = datapath lane, register = 32-bit column of tensor memory. Full (128 rows a CTA): lane = row.
// Half (64 rows a CTA): 16 rows in each 32 lanes, at lane 0 or 16.
defvar TensorFull = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]];
defvar TensorHalf = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [16, 0], [32, 0]];
class FragTensorD<bit half, int n>
    : Fragment<"tensor", 128, n, 32, !if(half, 64, 128), n, !if(half, TensorHalf, TensorFull), [], []> {
  let Repeat = [[n, 0, 1]];
  let Mask = !if(half, 16, 0);
}
// A, compressed: 8 columns a row in every kind.
class FragTensorA<bit half, string elem>
    : Fragment<"tensor", 128, 8, ElemInfo<elem>.Bits, !if(half, 64, 128),
               !mul(8, ElemInfo<elem>.PerReg), !if(half, TensorHalf, TensorFull),
               [[0, ElemInfo<elem>.PerReg], [0, !mul(2, ElemInfo<elem>.PerReg)],
                [0, !mul(4, ElemInfo<elem>.PerReg)]], Fields<ElemInfo<elem>.PerReg>.Cols> {
  let Mask = !if(half, 16, 0);
}
// Metadata of f16 and tf32, in the column that the selector names (0 or 1). Lanes 16*i + r (r < 8) hold
// the first half of k, lanes 8 further the second: low half of a word row 16*i + r, high half that + 8.
class TensorMetaPair<bit half, int u>
    : Fragment<"tensor", 128, 1, 4, !if(half, 64, 128), !mul(8, u),
               !listconcat([[1, 0], [2, 0], [4, 0], [0, !mul(4, u)]],
                           !if(half, [[0, 0], [16, 0], [32, 0]], [[16, 0], [32, 0], [64, 0]])), [],
               [[0, u], [0, !mul(2, u)], [8, 0]]> {
  let Mask = !if(half, 16, 0);
  let Unit = u;
}
// Of the other kinds: two columns, 8 codes each, lane = row.
class TensorMetaAll<bit half, int u>
    : Fragment<"tensor", 128, 2, 4, !if(half, 64, 128), !mul(16, u),
               !if(half, TensorHalf, TensorFull), [[0, !mul(8, u)]],
               [[0, u], [0, !mul(2, u)], [0, !mul(4, u)]]> {
  let Mask = !if(half, 16, 0);
  let Unit = u;
}
class TensorMetaFor<bit half, string a> {
  int U = ElemInfo<a>.Group;
  bit Pair = !ge(ElemInfo<a>.Bits, 16);
  Fragment Layout = !if(Pair, TensorMetaPair<half, U>, TensorMetaAll<half, U>);
}
// Block scales: row r (of B: column n) in lane r % 32 of column r / 32, the same in each 32 lanes; the
// scale's ID is the first of the bytes in use.
class FragTensorScaleA<bit half, int vec>
    : Fragment<"tensor", 128, !if(half, 2, 4), 8, !if(half, 64, 128), vec,
               [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]],
               !if(half, [[32, 0]], [[32, 0], [64, 0]]), Fields<vec>.Cols> { let Broadcast = 1; }
// What tcgen05.cp.32x128b.warpx4 makes of 32 rows of 16 bytes: 4 columns, the same in each 32 lanes.
def FragTensorCopy
    : Fragment<"tensor", 128, 4, 32, 32, 4, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]],
               [[0, 1], [0, 2]], []> { let Broadcast = 1; }
class FragTensorScaleB<int vec>
    : Fragment<"tensor", 128, 8, 8, vec, 256,
               [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 0], [0, 0]],
               [[0, 32], [0, 64], [0, 128]], Fields<vec>.Rows> { let Broadcast = 1; }

defvar Tc05 = [Arch<100, 86>, Family<100, 88>, Arch<110, 90>, Family<110, 90>];
defvar Tc05ArchOnly = [Arch<100, 86>, Arch<110, 90>];
// The ISA says PTX 8.6; ptxas wants 8.8 where the block size is left out.
defvar Tc05DefaultBlock = [Arch<100, 88>, Family<100, 88>, Arch<110, 90>, Family<110, 90>];
defvar Tc05Scale1X = [Arch<100, 86>, Arch<103, 88>, Arch<110, 90>];
defvar Tc05Fp4 = [Arch<100, 86>, Arch<103, 88>, Arch<110, 90>];
defvar Tc05NvFp4 = [Arch<100, 87>, Arch<103, 88>, Arch<110, 90>];

class TcMmaEffects<bit tmemA, bit scaled> {
  list<Effect> List = !listconcat(
    !if(tmemA, [Effect<"tensor", "read", "tensor", "mbarrier", "A">,
                Effect<"shared", "read", "async", "mbarrier", "B through its descriptor">],
        [Effect<"shared", "read", "async", "mbarrier", "A and B through descriptors">]),
    [Effect<"tensor", "read", "tensor", "mbarrier", "metadata">],
    !if(scaled, [Effect<"tensor", "read", "tensor", "mbarrier", "scale_A and scale_B">], []),
    [Effect<"tensor", "read", "tensor", "mbarrier", "D, when enable-input-d is true">,
     Effect<"tensor", "write", "tensor", "mbarrier", "D (tcgen05.commit)">]);
}

class TcMma<int cta, int m, bit tmemA, string kind, int k, string suffix, string d, string a,
            string b, list<Avail> where> : Row<"TCGEN05_SP"> {
  bit Scaled = !ne(suffix, "");
  let Ptx = "tcgen05.mma.sp.cta_group::" # cta # ".kind::" # kind # suffix;
  let Operands = "[d-tmem], " # !if(tmemA, "[a-tmem]", "a-desc") # ", b-desc, [sp-meta-tmem], idesc"
                 # !if(Scaled, ", [scale-A-tmem], [scale-B-tmem]", "") # ", enable-input-d";
  let Source = "PTX ISA 9.7.16.10.9.2 (tcgen05.mma.sp)";
  let Issuer = !if(!eq(cta, 1), "thread", "cta_pair");
  let Ordered = 1;
  let ARegisters = tmemA;
  let CtaGroup = cta;
  let Kind = kind;
  let M = m;
  let N = 256;
  let K = k;
  bit Half = !eq(m, !mul(cta, 64));
  let A = !if(tmemA, Operand<"tensor", a, "r", 1, FragTensorA<Half, a>>, Operand<"shared", a, "l", 1>);
  let B = Operand<"shared", b, "l", 1>;
  let D = Operand<"tensor", d, "r", 1, FragTensorD<Half, 256>>;
  let Meta = Operand<"tensor", "", "r", 1, TensorMetaFor<Half, a>.Layout>;
  let Selectors = !if(TensorMetaFor<Half, a>.Pair, 2, 1);
  let SelectorsTaken = Selectors;
  let LayoutVerifiedBy = "two";
  let Effects = TcMmaEffects<tmemA, Scaled>.List;
  let Modifiers = !listconcat(["SCALE_D", "COLLECTOR"], !if(tmemA, ["ASHIFT"], []<string>),
      !if(Scaled, []<string>, ["DISABLE_LANE"]),
      !if(!or(!eq(kind, "f16"), !eq(kind, "tf32")), ["SCALE_INPUT_D"], []<string>));
  let Where = where;
}

// Every placement of one kind and type pair. Llvm intrinsics take kind, group and collector as
// arguments; scaled ones carry the block size in their name ("asm": LLVM has none of that spelling).
multiclass TcPlaces<string kind, int k, string suffix, string llvm, string d, string a, string b,
                    string s, int vec, list<Avail> where> {
  foreach place = [[1, 64], [1, 128], [2, 128], [2, 256]] in foreach tmemA = [0, 1] in
    def "tcgen05_mma_sp_cg" # place[0] # !if(tmemA, "_ts", "_ss") # "_m" # place[1] # "k" # k # "_"
        # kind # !if(vec, "_" # vec # "x", "") # "_" # d # "_" # a # "_" # b
        # !if(!eq(s, ""), "", "_" # s)
        : TcMma<place[0], place[1], tmemA, kind, k, suffix, d, a, b, where> {
      let Llvm = !if(!eq(llvm, "asm"), "",
                     "llvm.nvvm.tcgen05.mma.sp." # !if(tmemA, "tensor", "shared") # llvm);
      let ScaleVec = vec;
      defvar elem = !if(!eq(s, "ue4m3"), "ue4m3", "ue8m0");
      defvar half = !eq(place[1], !mul(place[0], 64));
      let ScaleA = !if(vec, Operand<"tensor", elem, "r", 1, FragTensorScaleA<half, vec>>, NoOperand);
      let ScaleB = !if(vec, Operand<"tensor", elem, "r", 1, FragTensorScaleB<vec>>, NoOperand);
    }
}
foreach d = ["f16", "f32"] in
  defm "" : TcPlaces<"f16", 32, "", "", d, "f16", "f16", "", 0, Tc05>;
defm "" : TcPlaces<"f16", 32, "", "", "f32", "bf16", "bf16", "", 0, Tc05>;
defm "" : TcPlaces<"tf32", 16, "", "", "f32", "tf32", "tf32", "", 0, Tc05>;
foreach a = F8F6F4 in foreach b = F8F6F4 in {
  foreach d = ["f16", "f32"] in
    defm "" : TcPlaces<"f8f6f4", 64, "", "", d, a, b, "", 0, Tc05>;
  defm "" : TcPlaces<"mxf8f6f4", 64, ".block_scale", ".mxf8f6f4.block_scale", "f32", a, b, "ue8m0",
                     1, Tc05DefaultBlock>;
}
foreach a = ["s8", "u8"] in foreach b = ["s8", "u8"] in
  defm "" : TcPlaces<"i8", 64, "", "", "s32", a, b, "", 0, Tc05ArchOnly>;
defm "" : TcPlaces<"mxf4", 128, ".block_scale", ".mxf4.block_scale", "f32", "e2m1p", "e2m1p",
                   "ue8m0", 2, [Arch<100, 88>, Arch<103, 88>, Arch<110, 90>]>;
defm "" : TcPlaces<"mxf4nvf4", 128, ".block_scale.block32", ".mxf4nvf4.block_scale.block32", "f32",
                   "e2m1p", "e2m1p", "ue8m0", 2, [Arch<100, 88>, Arch<103, 88>, Arch<110, 90>]>;
foreach s = ["ue8m0", "ue4m3"] in
  defm "" : TcPlaces<"mxf4nvf4", 128, ".block_scale.block16", ".mxf4nvf4.block_scale.block16",
                     "f32", "e2m1p", "e2m1p", s, 4, [Arch<100, 88>, Arch<103, 88>, Arch<110, 90>]>;

// Other spellings of the block size: one row each stands for every type pair.
foreach form = ["scale_vec::1X", "block32"] in
  defm "" : TcPlaces<"mxf8f6f4", 64, ".block_scale." # form,
                     !if(!eq(form, "block32"), ".mxf8f6f4.block_scale.block32", "asm"), "f32",
                     "e4m3", "e4m3", "ue8m0_" # !subst("::", "_", form), 1,
                     !if(!eq(form, "block32"), [Family<100, 88>, Family<110, 90>], Tc05Scale1X)>;
foreach form = ["scale_vec::2X", "block32"] in
  defm "" : TcPlaces<"mxf4", 128, ".block_scale." # form,
                     !if(!eq(form, "block32"), ".mxf4.block_scale.block32", "asm"), "f32", "e2m1p",
                     "e2m1p", "ue8m0_" # !subst("::", "_", form), 2,
                     !if(!eq(form, "block32"), [Arch<100, 88>, Arch<103, 88>, Arch<110, 90>],
                         Tc05Fp4)>;
foreach form = ["2X", "4X"] in
  defm "" : TcPlaces<"mxf4nvf4", 128, ".block_scale.scale_vec::" # form, "asm", "f32", "e2m1p",
                     "e2m1p", "ue8m0_scale_vec_" # form, !if(!eq(form, "2X"), 2, 4), Tc05NvFp4>;

// ---- around it -----------------------------------------------------------------------------------
class Tc<string text, string operands, string llvm, string section, string issuer,
         list<Effect> effects>
    : Op<"TCGEN05", "tcgen05." # text, operands, llvm, "PTX ISA 9.7.16 (tcgen05." # section # ")",
         issuer, Tc05, effects>;
foreach cg = [1, 2] in let CtaGroup = cg in {
  defvar G = ".cta_group::" # cg;
  defvar L = ".cg" # cg;
  def tcgen05_alloc_cg # cg : Tc<"alloc" # G # ".sync.aligned.shared::cta.b32", "[dst], columns",
      "llvm.nvvm.tcgen05.alloc.shared" # L, "alloc", "warp",
      [Effect<"tensor", "order", "tensor", "none", "takes columns; blocks until they are free">,
       Effect<"shared", "write", "async", "register", "the address of the columns">]>;
  def tcgen05_dealloc_cg # cg : Tc<"dealloc" # G # ".sync.aligned.b32", "taddr, columns",
      "llvm.nvvm.tcgen05.dealloc" # L, "dealloc", "warp",
      [Effect<"tensor", "order", "tensor", "none", "gives columns back">]>;
  def tcgen05_relinquish_alloc_permit_cg # cg : Tc<"relinquish_alloc_permit" # G # ".sync.aligned",
      "", "llvm.nvvm.tcgen05.relinq.alloc.permit" # L, "alloc", "warp",
      [Effect<"tensor", "order", "tensor", "none", "this CTA allocates no more">]>;
  def tcgen05_commit_cg # cg : Tc<"commit" # G # ".mbarrier::arrive::one.shared::cluster.b64",
      "[mbar]", "llvm.nvvm.tcgen05.commit.shared" # L, "commit", "thread",
      [Effect<"tensor", "order", "tensor", "mbarrier",
              "arrives when the thread's earlier tcgen05.mma, cp and shift are done">]>;
  def tcgen05_commit_multicast_cg # cg
      : Tc<"commit" # G # ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
      "[mbar], mask", "llvm.nvvm.tcgen05.commit.mc.shared" # L, "commit", "thread",
      [Effect<"tensor", "order", "tensor", "mbarrier",
              "arrives in every CTA of the mask when the earlier tcgen05 work is done">]>;
  def tcgen05_shift_cg # cg : Tc<"shift" # G # ".down", "[taddr]",
      "llvm.nvvm.tcgen05.shift.down" # L, "shift", "thread",
      [Effect<"tensor", "write", "tensor", "mbarrier", "rows moved down by one">]> {
    let Where = Tc05Fp4;
  }
  foreach shape = ["128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13",
                   "64x128b.warpx2::01_23", "32x128b.warpx4"] in
    foreach fmt = ["", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"] in {
      defvar ShapeName = !subst(".", "_", !subst("::", "_", shape));
      defvar FmtName = !subst(".b8x16", "", fmt);
      def "tcgen05_cp_cg" # cg # "_" # ShapeName # !subst(".", "_", FmtName)
          : Tc<"cp" # G # "." # shape # fmt, "[taddr], s-desc",
               "llvm.nvvm.tcgen05.cp." # ShapeName # FmtName # L, "cp", "thread",
          [Effect<"shared", "read", "async", "mbarrier", "source through its descriptor">,
           Effect<"tensor", "write", "tensor", "mbarrier", "destination">]> {
        defvar scales = !eq(shape # fmt, "32x128b.warpx4");
        let LayoutVerifiedBy = !if(scales, "two", "none");
        let D = !if(scales, Operand<"tensor", "", "r", 1, FragTensorCopy>, NoOperand);
      }
    }
}
// D of ld and st: row = lane of tensor memory, column = its 32-bit column, both from the address on.
// 16x32bx2: 16 lanes twice, the second half as many columns on as the instruction says; here it follows
// the first. Packed: a register is the low halves of two columns.
class TensorShape<string shape, int num, bit packed> {
  int Each = !cond(!eq(shape, "16x128b") : 2, !eq(shape, "16x256b") : 4, true : 1);
  int Regs = !mul(Each, num);
  int S = !if(packed, 2, 1);
  int Lanes = !if(!eq(shape, "32x32b"), 32, 16);
  int Cols = !mul(S, Regs, !if(!eq(Lanes, 16), 2, 1));
  list<list<int>> Straight = [[1, 0], [2, 0], [4, 0], [8, 0]];
  list<list<int>> Lane = !cond(
    !eq(shape, "32x32b") : !listconcat(Straight, [[16, 0]]),
    !eq(shape, "16x32bx2") : !listconcat(Straight, [[0, !mul(S, num)]]),
    !eq(shape, "16x64b") : !listconcat([[8, 0], [0, S]], GRows),
    !eq(shape, "16x128b") : !listconcat([[0, S], [0, !mul(2, S)]], GRows),
    true : !listconcat([[0, !mul(2, S)], [0, !mul(4, S)]], GRows));
  list<list<int>> First = !cond(!eq(shape, "16x128b") : [[8, 0]], !eq(shape, "16x256b") : [[0, S], [8, 0]],
                                true : []<list<int>>);
  int Step = !cond(!eq(shape, "16x64b") : 2, !eq(shape, "16x128b") : 4, !eq(shape, "16x256b") : 8, true : 1);
}
class FragTensorMove<string shape, int num, bit packed, TensorShape s = TensorShape<shape, num, packed>>
    : Fragment<"register", 32, s.Regs, !if(packed, 16, 32), s.Lanes, s.Cols, s.Lane,
               !listconcat(s.First, !foreach(i, !range(!logtwo(num)), [0, !shl(!mul(s.Step, s.S), i)])),
               !if(packed, [[0, 1]], []<list<int>>)>;
class TensorMove<bit store, string shape, int num, bit packed, list<Effect> effects>
    : Tc<!if(store, "st", "ld") # ".sync.aligned." # shape # ".x" # num
         # !if(packed, !if(store, ".unpack::16b", ".pack::16b"), "") # ".b32", "",
         "llvm.nvvm.tcgen05." # !if(store, "st.", "ld.") # shape # ".x" # num, !if(store, "st", "ld"),
         "warp", effects> {
  defvar split = !if(!eq(shape, "16x32bx2"), ", split", "");
  let Operands = !if(store, "[taddr]" # split # ", r", "d, [taddr]" # split);
  let D = Operand<"register", "", "r", TensorShape<shape, num, packed>.Regs,
                  FragTensorMove<shape, num, packed>>;
  let M = TensorShape<shape, num, packed>.Lanes;
  let N = TensorShape<shape, num, packed>.Cols;
  let LayoutVerifiedBy = "two";
}
foreach shape = ["16x32bx2", "16x64b", "16x128b", "16x256b", "32x32b"] in foreach packed = [0, 1] in
  foreach num = !cond(!eq(shape, "16x128b") : [1, 2, 4, 8, 16, 32, 64],
                      !eq(shape, "16x256b") : [1, 2, 4, 8, 16, 32],
                      true : [1, 2, 4, 8, 16, 32, 64, 128]) in {
    def tcgen05_ld_ # shape # _x # num # !if(packed, "_pack", "") : TensorMove<0, shape, num, packed,
        [Effect<"tensor", "read", "tensor", "tcgen05_wait", "source">,
         Effect<"register", "write", "tensor", "tcgen05_wait", "destination (tcgen05.wait::ld)">]>;
    def tcgen05_st_ # shape # _x # num # !if(packed, "_unpack", "") : TensorMove<1, shape, num, packed,
        [Effect<"register", "read", "tensor", "register", "source">,
         Effect<"tensor", "write", "tensor", "tcgen05_wait", "destination (tcgen05.wait::st)">]>;
  }
foreach what = ["ld", "st"] in
  def tcgen05_wait_ # what : Tc<"wait::" # what # ".sync.aligned", "",
      "llvm.nvvm.tcgen05.wait." # what, "wait", "warp",
      [Effect<"tensor", "order", "tensor", "tcgen05_wait",
              "the thread's earlier tcgen05." # what # " are done">]>;
foreach side = ["before", "after"] in
  def tcgen05_fence_ # side : Tc<"fence::" # side # "_thread_sync", "",
      "llvm.nvvm.tcgen05.fence." # side # ".thread.sync", "fence", "thread",
      [Effect<"tensor", "order", "tensor", "none",
              "tcgen05 work on this side of a thread barrier stays on it">]>;
