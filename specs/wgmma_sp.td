// wgmma.mma_async.sp: PTX ISA 9.7.15.6. A from shared memory (ss) or registers (rs), B from shared
// memory, D in the registers of a warpgroup. No LLVM intrinsic: inline asm.

defvar WgmmaEffectsSs = [
  Effect<"shared", "read", "async", "wgmma_group", "A and B through descriptors">,
  Effect<"register", "read", "async", "wgmma_group", "metadata">,
  Effect<"register", "read", "async", "wgmma_group", "accumulators, when scale-d is true">,
  Effect<"register", "write", "async", "wgmma_group", "accumulators">];
defvar WgmmaEffectsRs = [
  Effect<"shared", "read", "async", "wgmma_group", "B through its descriptor">,
  Effect<"register", "read", "async", "wgmma_group", "A and metadata">,
  Effect<"register", "read", "async", "wgmma_group", "accumulators, when scale-d is true">,
  Effect<"register", "write", "async", "wgmma_group", "accumulators">];

class WgmmaMeta<string a> {
  Operand Op = !cond(!eq(ElemInfo<a>.Bits, 8) : MetaOperand<MetaAll<4, 4>>,
                     true : MetaOperand<MetaPair<ElemInfo<a>.Group, 4>>);
  int Selectors = !if(!eq(ElemInfo<a>.Bits, 8), 1, 2);
}

class WgmmaSp<bit rs, int n, string d, string a, string b> : Row<"WGMMA_SP"> {
  let Ordered = 1;
  let ARegisters = rs;
  let M = 64;
  let N = n;
  let K = !div(512, ElemInfo<a>.Bits);
  let Issuer = "warpgroup";
  let Source = "PTX ISA 9.7.15.6.3 (wgmma.mma_async.sp), fragments 9.7.15.6.2";
  let Effects = !if(rs, WgmmaEffectsRs, WgmmaEffectsSs);
  let Ptx = "wgmma.mma_async.sp.sync.aligned.m64n" # n # "k" # !div(512, ElemInfo<a>.Bits) # "."
            # d # "." # a # "." # b;
  let A = !if(rs, Operand<"register", a, "r", 4, FragA<a, 4, 4>>, Operand<"shared", a, "l", 1>);
  let B = Operand<"shared", b, "l", 1>;
  let D = Operand<"register", d, AccReg<d>.Reg, !div(!div(n, 2), ElemInfo<d>.PerReg),
                  FragD<d, n, 4>>;
  let Meta = WgmmaMeta<a>.Op;
  let Selectors = WgmmaMeta<a>.Selectors;
  let SelectorsTaken = WgmmaMeta<a>.Selectors;
  let LayoutVerifiedBy = RunsOnHopper;
  bit Int = !eq(d, "s32");
  bit Half = !eq(ElemInfo<a>.Bits, 16);
  let Operands = "d, " # !if(rs, "a", "a-desc") # ", b-desc, sp-meta, sp-sel, scale-d"
      # !if(Int, "", ", imm-scale-a, imm-scale-b")
      # !if(Half, !if(rs, ", imm-trans-b", ", imm-trans-a, imm-trans-b"), "");
  let Modifiers = !listconcat(["SCALE_D"],
      !if(Int, ["SATFINITE"], ["NEGATE_A", "NEGATE_B"]),
      !if(Half, !if(rs, ["TRANS_B"], ["TRANS_A", "TRANS_B"]), []<string>));
  let Where = [Arch<90, !if(!and(Int, !ne(a, b)), 84, 82)>];
}

multiclass WgmmaAllN<list<int> ns, string d, string a, string b> {
  foreach n = ns in foreach rs = [0, 1] in
    def "wgmma_sp_" # !if(rs, "rs", "ss") # "_m64n" # n # "k" # !div(512, ElemInfo<a>.Bits) # "_"
        # d # "_" # a # "_" # b : WgmmaSp<rs, n, d, a, b>;
}
defvar EveryN = !range(8, 257, 8);
defvar IntegerN = [8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256];

foreach d = ["f16", "f32"] in {
  defm "" : WgmmaAllN<EveryN, d, "f16", "f16">;
  foreach a = ["e4m3", "e5m2"] in foreach b = ["e4m3", "e5m2"] in
    defm "" : WgmmaAllN<EveryN, d, a, b>;
}
defm "" : WgmmaAllN<EveryN, "f32", "bf16", "bf16">;
defm "" : WgmmaAllN<EveryN, "f32", "tf32", "tf32">;
foreach a = ["s8", "u8"] in foreach b = ["s8", "u8"] in
  defm "" : WgmmaAllN<IntegerN, "s32", a, b>;
