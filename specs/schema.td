// What a row says. One record an instruction variant; heddle-tblgen checks every record and writes
// the C tables of lib/Spec (ORDER FAMILY: the words below are the enumerators of Spec/spec.h).

// ---- targets -------------------------------------------------------------------------------------
class Target<int sm, string suffix, int family, int minPtx, int llvmPtx> {
  int Sm = sm;               // 90
  string Suffix = suffix;    // "", "a" or "f"
  int Family = family;       // head of the family: features of sm_<Family>f reach every member
  int MinPtx = minPtx;       // first PTX version (as 80 for 8.0) that knows the target
  int TakenPtx = minPtx;     // first version at which ptxas lets it pass; earlier is undefined
  int LlvmPtx = llvmPtx;     // the PTX feature to hand to LLVM 22
  int SharedBlock = 0;       // bytes a block may opt in to
  int SharedSm = 0;
  int Registers = 65536;     // an SM
  int MaxRegisters = 255;    // a thread
  int MaxThreads = 2048;     // an SM
  bit Tma = 0;
  bit Cluster = 0;
  int TensorColumns = 0;     // of tensor memory, 128 lanes each
  string Formerly = "";      // its name in earlier PTX versions
  string Source = "";
}

// Where a row is legal: Since = this sm or later; Arch = sm_<n>a alone; Family = sm_<n>f and a/f
// members of its family from <n> up. Ptx: from this version (the target's own minimum also holds).
// Undefined: ptxas takes the row there, the ISA does not define it; never legal.
class Avail<string kind, int sm, int ptx, bit undefined = 0> {
  string Kind = kind;
  int Sm = sm;
  int Ptx = ptx;
  bit Undefined = undefined;
}
class Since<int sm, int ptx> : Avail<"SINCE", sm, ptx>;
class Arch<int sm, int ptx> : Avail<"ARCH", sm, ptx>;
class Family<int sm, int ptx> : Avail<"FAMILY", sm, ptx>;
class UndefinedSince<int sm, int ptx> : Avail<"SINCE", sm, ptx, 1>;
class UndefinedArch<int sm, int ptx> : Avail<"ARCH", sm, ptx, 1>;
class UndefinedFamily<int sm, int ptx> : Avail<"FAMILY", sm, ptx, 1>;

// ---- layouts -------------------------------------------------------------------------------------
// (lane, reg, field) -> (row, col). Entry i of Lane, Reg and Field is where bit i of that coordinate
// moves, as [rows, columns]; the images are XORed (DESIGN.md 4). Repeat counts further registers with
// an integer stride: [count, rows, columns]. Lanes with (lane & Mask) == value contribute; the value
// comes from the selector. FieldBase: first field in use, when a selector chooses bytes.
class Fragment<string space, int lanes, int regs, int width, int rows, int cols,
               list<list<int>> lane, list<list<int>> reg, list<list<int>> elem> {
  string Space = space;
  int Lanes = lanes;
  int Regs = regs;
  int Bits = width;
  int Rows = rows;
  int Cols = cols;
  list<list<int>> Lane = lane;
  list<list<int>> Reg = reg;
  list<list<int>> Field = elem;
  list<list<int>> Repeat = [];
  int Mask = 0;
  int Unit = 1;       // columns that one field stands for: the group, for metadata
  bit Broadcast = 0;  // several lanes hold the same element (block scales)
}
def NoFragment : Fragment<"none", 0, 0, 0, 0, 0, [], [], []>;

// ---- effects -------------------------------------------------------------------------------------
class Effect<string space, string access, string proxy, string done, string what> {
  string Space = space;    // register, shared, tensor, global, cluster
  string Access = access;  // read, write, order
  string Proxy = proxy;    // generic, async, tensor
  string Done = done;      // what shows that it happened: a word of row_check.c
  string What = what;
}

// ---- operands and rows ---------------------------------------------------------------------------
class Operand<string space, string elem, string reg, int regs, Fragment fragment = NoFragment> {
  string Space = space;
  string Elem = elem;   // a word of heddle/types.def, "" for untyped
  string Reg = reg;     // "r", "f", "l" as in inline asm; "" none
  int Regs = regs;      // registers a thread
  Fragment Layout = fragment;
}
def NoOperand : Operand<"none", "", "", 0>;

class Row<string family> {
  string Family = family;
  string Ptx;                 // every mandatory qualifier; optional ones are Modifiers
  string Operands;
  string Llvm = "";           // intrinsic, or "" for inline asm
  string Source;
  string Issuer;              // thread, warp, warpgroup, cta_pair
  int M = 0;
  int N = 0;
  int K = 0;
  bit Ordered = 0;
  bit ARegisters = 0;
  int CtaGroup = 0;
  string Kind = "";
  int ScaleVec = 0;
  Operand A = NoOperand;
  Operand B = NoOperand;
  Operand C = NoOperand;
  Operand D = NoOperand;
  Operand Meta = NoOperand;
  Operand ScaleA = NoOperand;
  Operand ScaleB = NoOperand;
  int Selectors = 0;          // the ISA defines 0..Selectors-1
  int SelectorsTaken = 0;     // ptxas takes 0..SelectorsTaken-1
  list<string> Modifiers = [];
  list<Avail> Where = [];
  list<Effect> Effects = [];
  string SyntaxVerifiedBy = "ptxas";   // ptxas | none
  string LayoutVerifiedBy = "none";    // h200 | two | none (two: Spec and Sim, transcribed apart)
  string Note = "";               // why no target and PTX version that we have takes it
}

// What verified the layout of rows that sm_90a runs: test/gpu/onehot/run_onehot passed on an H200 on 2026-11-21
// (driver 580.159): 980 rows, 6019366656 checks, 0 mismatches. "two" again when a layout changes.
defvar RunsOnHopper = "h200";

// ---- descriptors ---------------------------------------------------------------------------------
class BitField<string name, int lo, int hi, string text, int shift = 0, int fixed = -1,
               list<int> defined = []> {
  string Name = name;
  int Lo = lo;
  int Hi = hi;
  string Text = text;
  int Shift = shift;      // encoded = value >> Shift
  int Fixed = fixed;      // the value that the ISA demands; -1: free
  list<int> Defined = defined; // encoded values that the ISA defines, all below 64; none: every one
}
class Descriptor<int width, string source, list<BitField> fields> {
  int Bits = width;
  string Source = source;
  list<BitField> Fields = fields;
}

// ---- words about element types -------------------------------------------------------------------
class ElemInfo<string e> {
  int Bits = !cond(!or(!eq(e, "f16"), !eq(e, "bf16")) : 16,
                   !or(!eq(e, "tf32"), !eq(e, "f32"), !eq(e, "s32")) : 32,
                   !or(!eq(e, "s4"), !eq(e, "u4"), !eq(e, "e2m1p")) : 4,
                   true : 8);
  // Elements of a sparse group that one 4-bit code describes.
  int Group = !cond(!eq(e, "tf32") : 2, !eq(Bits, 4) : 8, true : 4);
  // Without the "p" of packed: the PTX spelling.
  string Ptx = !cond(!eq(e, "e2m1p") : "e2m1", true : e);
  int PerReg = !div(32, Bits);
}
