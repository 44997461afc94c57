// mma.sp and mma.sp::ordered_metadata: PTX ISA 9.7.14.6.
// Emit the ordered form: the plain one is emulated from sm_100 on.

defvar MmaEffects = [
  Effect<"register", "read", "generic", "register", "A, B, C, metadata">,
  Effect<"register", "write", "generic", "register", "D">];

class AccReg<string d> { string Reg = !if(!eq(d, "f32"), "f", "r"); }

class MmaSp<bit ordered, string shape, int k, string d, string a, string b, Operand meta>
    : Row<"MMA_SP"> {
  let Ordered = ordered;
  let ARegisters = 1;
  let M = 16;
  let N = 8;
  let K = k;
  let Issuer = "warp";
  let Operands = "d, a, b, c, e, f";
  let Source = "PTX ISA 9.7.14.6.3 (mma.sp), fragments 9.7.14.6.2";
  let Effects = MmaEffects;
  let A = Operand<"register", a, "r", !div(!mul(k, ElemInfo<a>.Bits), 128),
                  FragA<a, !div(!mul(k, ElemInfo<a>.Bits), 128)>>;
  let B = Operand<"register", b, "r", !div(!mul(k, ElemInfo<b>.Bits), 128),
                  FragB<b, !div(!mul(k, ElemInfo<b>.Bits), 128)>>;
  let C = Operand<"register", d, AccReg<d>.Reg, !div(4, ElemInfo<d>.PerReg), FragD<d, 8>>;
  let D = C;
  let Meta = meta;
  let LayoutVerifiedBy = "two";
  string Head = !if(ordered, "mma.sp::ordered_metadata", "mma.sp") # ".sync.aligned." # shape
                # ".row.col";
  string LlvmHead = !if(ordered, "llvm.nvvm.mma.sp.ordered.metadata.", "llvm.nvvm.mma.sp.")
                    # shape # ".row.col.";
}

class MetaOperand<Fragment f> : Operand<"register", "", "r", 1, f>;

// Which lanes bring metadata: codes a row = k / group; 4, 8 or 16 of them.
class MetaFor<string a, int k> {
  int Codes = !div(k, ElemInfo<a>.Group);
  int U = ElemInfo<a>.Group;
  Operand Op = !cond(!eq(Codes, 4) : MetaOperand<MetaOne<U>>,
                     !and(!eq(Codes, 8), !ge(ElemInfo<a>.Bits, 16)) : MetaOperand<MetaPair<U>>,
                     !eq(Codes, 8) : MetaOperand<MetaPairRows<U>>,
                     true : MetaOperand<MetaAll<U>>);
  int Selectors = !cond(!eq(Codes, 4) : 4, !eq(Codes, 8) : 2, true : 1);
}

class MmaSpPlain<bit ordered, int k, string d, string a, string b>
    : MmaSp<ordered, "m16n8k" # k, k, d, a, b, MetaFor<a, k>.Op> {
  let Selectors = MetaFor<a, k>.Selectors;
  // ptxas lets selectors 2 and 3 pass in one case only.
  let SelectorsTaken = !if(!and(!eq(k, 32), !eq(d, "f32"), !eq(a, "f16")), 4, Selectors);
  let Ptx = Head # "." # d # "." # a # "." # b # "." # d;
  let LayoutVerifiedBy = RunsOnHopper;
}

foreach ordered = [0, 1] in {
  defvar P = !if(ordered, "mma_sp_ordered_", "mma_sp_");
  defvar Ptx80 = !if(ordered, 85, 71);
  // 16-bit: 2:4, f16 with f16 or f32 accumulators, bf16 with f32.
  foreach k = [16, 32] in {
    foreach d = ["f16", "f32"] in
      def P # "m16n8k" # k # "_" # d # "_f16_f16" : MmaSpPlain<ordered, k, d, "f16", "f16"> {
        let Llvm = LlvmHead # d # "." # d;
        let Where = [Since<80, Ptx80>];
      }
    def P # "m16n8k" # k # "_f32_bf16_bf16" : MmaSpPlain<ordered, k, "f32", "bf16", "bf16"> {
      let Llvm = LlvmHead # "bf16";
      let Where = [Since<80, Ptx80>];
    }
  }
  // tf32: 1:2.
  foreach k = [8, 16] in
    def P # "m16n8k" # k # "_f32_tf32_tf32" : MmaSpPlain<ordered, k, "f32", "tf32", "tf32"> {
      let Llvm = LlvmHead # "tf32";
      let Where = [Since<80, Ptx80>];
    }
  // Integers: 8-bit 2:4, 4-bit 4:8 in pairs.
  foreach a = ["s8", "u8"] in foreach b = ["s8", "u8"] in foreach k = [32, 64] in
    def P # "m16n8k" # k # "_s32_" # a # "_" # b : MmaSpPlain<ordered, k, "s32", a, b> {
      let Llvm = LlvmHead # !if(!eq(a, b), a, a # "." # b);
      let Where = [Since<80, Ptx80>];
      let Modifiers = ["SATFINITE"];
    }
  foreach a = ["s4", "u4"] in foreach b = ["s4", "u4"] in foreach k = [64, 128] in
    def P # "m16n8k" # k # "_s32_" # a # "_" # b : MmaSpPlain<ordered, k, "s32", a, b> {
      let Llvm = LlvmHead # !if(!eq(a, b), a, a # "." # b);
      let Where = [Since<80, Ptx80>];
      let Modifiers = ["SATFINITE"];
    }
  // fp8 without .kind: sm_89 on; emulated on sm_90.
  foreach a = ["e4m3", "e5m2"] in foreach b = ["e4m3", "e5m2"] in
    def P # "m16n8k64_f32_" # a # "_" # b : MmaSpPlain<ordered, 64, "f32", a, b> {
      let Llvm = LlvmHead # "f32." # a # "." # b # ".f32";
      let Where = [Since<89, !if(ordered, 85, 84)>];
    }
}

defvar F8F6F4 = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"];

// kind::f8f6f4: 25 pairs, f16 and f32 accumulators, 8-bit containers.
foreach d = ["f16", "f32"] in foreach a = F8F6F4 in foreach b = F8F6F4 in
  def "mma_sp_ordered_m16n8k64_f8f6f4_" # d # "_" # a # "_" # b
      : MmaSp<1, "m16n8k64", 64, d, a, b, MetaFor<a, 64>.Op> {
    defvar fp8 = !and(!or(!eq(a, "e4m3"), !eq(a, "e5m2")), !or(!eq(b, "e4m3"), !eq(b, "e5m2")));
    let Kind = "f8f6f4";
    let Selectors = 1;
    let SelectorsTaken = 1;
    let Ptx = Head # ".kind::f8f6f4." # d # "." # a # "." # b # "." # d;
    let Llvm = LlvmHead # "kind.f8f6f4." # d # "." # a # "." # b # "." # d;
    let Where = !listconcat([Arch<120, 87>, Family<120, 88>],
        // ptxas takes fp8 with f32 accumulators on sm_10x and sm_110 too.
        !if(!and(fp8, !eq(d, "f32")),
            [UndefinedArch<100, 86>, UndefinedFamily<100, 88>, UndefinedArch<110, 90>,
             UndefinedFamily<110, 90>], []<Avail>));
  }

// fp8 with f16 accumulators and no .kind: the ISA's target notes name it, its syntax does not.
foreach a = ["e4m3", "e5m2"] in foreach b = ["e4m3", "e5m2"] in
  def "mma_sp_ordered_m16n8k64_f16_" # a # "_" # b : MmaSpPlain<1, 64, "f16", a, b> {
    let Where = [UndefinedArch<120, 87>, UndefinedFamily<120, 88>];
    let Note = "the ISA's syntax has no such form";
    let LayoutVerifiedBy = "none";
  }

// fp8 with a .kind that wants block scales, without them: ptxas takes it, no text defines it.
foreach kind = ["mxf8f6f4", "mxf4", "mxf4nvf4", "f16", "tf32", "i8"] in
  foreach a = ["e4m3", "e5m2"] in foreach b = ["e4m3", "e5m2"] in foreach d = ["f16", "f32"] in
    def "mma_sp_ordered_m16n8k64_unscaled_" # kind # "_" # d # "_" # a # "_" # b
        : MmaSp<1, "m16n8k64", 64, d, a, b, MetaFor<a, 64>.Op> {
      defvar scaled = !ne(!find(kind, "mx"), -1);
      let Kind = kind;
      let Selectors = 1;
      let SelectorsTaken = 1;
      let Ptx = Head # ".kind::" # kind # "." # d # "." # a # "." # b # "." # d;
      let LayoutVerifiedBy = "none";
      let Note = "the ISA has this .kind with block scales, or in tcgen05, only";
      let Where = !listconcat(
          !if(scaled, [UndefinedArch<120, 87>, UndefinedArch<121, 88>], []<Avail>),
          !if(!eq(kind, "mxf8f6f4"), [UndefinedFamily<120, 88>], []<Avail>),
          !cond(!eq(d, "f16") : []<Avail>,
                !eq(kind, "i8") : [UndefinedArch<100, 86>, UndefinedArch<110, 90>],
                !eq(kind, "mxf4") : [UndefinedArch<100, 86>, UndefinedArch<103, 88>,
                                     UndefinedArch<110, 90>],
                !eq(kind, "mxf4nvf4") : [UndefinedArch<100, 87>, UndefinedArch<103, 88>,
                                         UndefinedArch<110, 90>],
                true : [UndefinedArch<100, 86>, UndefinedFamily<100, 88>, UndefinedArch<110, 90>,
                        UndefinedFamily<110, 90>]),
          [UndefinedArch<90, 999>]); // never: keeps the list from being empty
    }

// Block scaling: D = (A * scale_A) * (B * scale_B) + C.
class MmaSpScaled<string kind, int k, int vec, string a, string b, string s>
    : MmaSp<1, "m16n8k" # k, k, "f32", a, b, MetaFor<a, k>.Op> {
  let Kind = kind;
  let ScaleVec = vec;
  let Selectors = 1;
  let SelectorsTaken = 1;
  let Operands = "d, a, b, c, e, f, scale-a-data, {byte-id-a, thread-id-a}, "
                 "scale-b-data, {byte-id-b, thread-id-b}";
  let Source = "PTX ISA 9.7.14.6.3 (mma.sp), scales 9.7.14.3";
  let ScaleA = Operand<"register", s, "r", 1, FragScaleA<vec>>;
  let ScaleB = Operand<"register", s, "r", 1, FragScaleB<vec>>;
  let Ptx = Head # ".kind::" # kind # ".block_scale.scale_vec::" # vec # "X.f32."
            # ElemInfo<a>.Ptx # "." # ElemInfo<b>.Ptx # ".f32." # s;
  string LlvmScaled = "llvm.nvvm.mma.sp.ordered.metadata.block.scale.m16n8k" # k # ".row.col." # kind
             # ".scale." # vec # "x.f32." # ElemInfo<a>.Ptx # "." # ElemInfo<b>.Ptx # ".f32." # s;
  let Llvm = LlvmScaled;
}
foreach a = F8F6F4 in foreach b = F8F6F4 in
  def "mma_sp_ordered_m16n8k64_mxf8f6f4_f32_" # a # "_" # b
      : MmaSpScaled<"mxf8f6f4", 64, 1, a, b, "ue8m0"> {
    let Modifiers = ["SCALE_VEC"];
    let Where = [Arch<120, 87>, Family<120, 88>];
  }
def mma_sp_ordered_m16n8k128_mxf4_f32_e2m1p_e2m1p
    : MmaSpScaled<"mxf4", 128, 2, "e2m1p", "e2m1p", "ue8m0"> {
  let Modifiers = ["SCALE_VEC"];
  let Where = [Arch<120, 87>, Arch<121, 88>];
}
foreach form = [[2, 0], [4, 0], [4, 1]] in {
  defvar Vec = form[0];
  defvar S = !if(form[1], "ue4m3", "ue8m0");
  def "mma_sp_ordered_m16n8k128_mxf4nvf4_" # Vec # "x_f32_e2m1p_e2m1p_" # S
      : MmaSpScaled<"mxf4nvf4", 128, Vec, "e2m1p", "e2m1p", S> {
    // 4X with ue8m0 came with PTX 9.1, which neither ptxas 13.0 nor LLVM 22 knows.
    defvar late = !and(!eq(Vec, 4), !eq(S, "ue8m0"));
    let Where = !if(late, [Arch<120, 91>, Arch<121, 91>], [Arch<120, 87>, Arch<121, 88>]);
    let SyntaxVerifiedBy = !if(late, "none", "ptxas");
    let Note = !if(late, "PTX 9.1: LLVM 22 and ptxas 13.0 end at 9.0", "");
    let Llvm = !if(late, "", LlvmScaled);
  }
}
