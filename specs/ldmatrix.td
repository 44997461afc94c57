// ldmatrix and stmatrix: PTX ISA 9.7.14.5.15 and .16. D is the register side; (row, col) is the place in
// memory: row i is the 16 bytes at the address that lane i gives, the matrices of one instruction one
// after the other.

defvar MatrixB8Where = [Arch<100, 86>, Family<100, 88>, Arch<110, 90>, Family<110, 90>,
                        Arch<120, 87>, Family<120, 88>];
defvar LdEffects = [Effect<"shared", "read", "generic", "register", "one 16-byte row a lane">,
                    Effect<"register", "write", "generic", "register", "destination">];
defvar StEffects = [Effect<"register", "read", "generic", "register", "source">,
                    Effect<"shared", "write", "generic", "register", "one row a lane">];

class Stack<int num, int rows> { // register bits that step over stacked matrices
  list<list<int>> Images = !cond(!eq(num, 1) : []<list<int>>, !eq(num, 2) : [[rows, 0]],
                                 true : [[rows, 0], [!mul(2, rows), 0]]);
}
class FragM8N8<int num, bit trans>
    : Fragment<"register", 32, num, 16, !mul(8, num), 8,
               !if(trans, Lanes<[[2, 0], [4, 0]], GCols, 1>.Images,
                   Lanes<[[0, 2], [0, 4]], GRows, 1>.Images),
               Stack<num, 8>.Images, !if(trans, [[1, 0]], [[0, 1]])>;
class FragM8N16<int num>
    : Fragment<"register", 32, num, 8, !mul(8, num), 16,
               Lanes<[[0, 4], [0, 8]], GRows, 1>.Images, Stack<num, 8>.Images,
               [[0, 1], [0, 2]]>;
// Transposed: register 2*j + h of matrix j: rows 4*q .. +3, column g + 8*h: what mma takes of A.
class FragM16N16<int num>
    : Fragment<"register", 32, !mul(2, num), 8, !mul(16, num), 16,
               Lanes<[[4, 0], [8, 0]], GCols, 1>.Images,
               !listconcat([[0, 8]], Stack<num, 16>.Images), [[1, 0], [2, 0]]>;
// stmatrix, 8-bit: byte f of register j: row 2*q + (f & 1), column g + 8*(f >> 1): what a lane holds of
// an accumulator's 16 rows and 8 columns, each column a row of memory. Production code agrees: CUTLASS
// (SM100_U8x4_STSM_T) and DeepGEMM store tcgen05.ld.16x256b's registers so.
class FragM16N8<int num>
    : Fragment<"register", 32, num, 8, !mul(8, num), 16,
               Lanes<[[2, 0], [4, 0]], GCols, 1>.Images, Stack<num, 8>.Images,
               [[1, 0], [0, 8]]>;

class MatrixMove<string family, string op, string text, string llvm, Fragment f, int regs,
                 string elem> : Row<family> {
  let Ptx = op # ".sync.aligned." # text;
  let Operands = !if(!eq(op, "ldmatrix"), "r, [p]", "[p], r");
  let Llvm = "llvm.nvvm." # op # ".sync.aligned." # llvm;
  let Source = !if(!eq(op, "ldmatrix"), "PTX ISA 9.7.14.5.15 (ldmatrix)",
                   "PTX ISA 9.7.14.5.16 (stmatrix)");
  let Issuer = "warp";
  let A = Operand<"shared", elem, "r", 1>; // the address
  let D = Operand<"register", elem, "r", regs, f>;
  let Effects = !if(!eq(op, "ldmatrix"), LdEffects, StEffects);
  let M = f.Rows;
  let N = f.Cols;
}

foreach num = [1, 2, 4] in {
  foreach trans = [0, 1] in {
    defvar T = !if(trans, ".trans", "");
    def "ldmatrix_m8n8_x" # num # !if(trans, "_trans", "") # "_b16"
        : MatrixMove<"LDMATRIX", "ldmatrix", "m8n8.x" # num # T # ".shared.b16",
                     "m8n8.x" # num # T # ".b16", FragM8N8<num, trans>, num, "f16"> {
      let Where = [Since<75, 65>];
      let LayoutVerifiedBy = RunsOnHopper;
    }
    def "stmatrix_m8n8_x" # num # !if(trans, "_trans", "") # "_b16"
        : MatrixMove<"STMATRIX", "stmatrix", "m8n8.x" # num # T # ".shared.b16",
                     "m8n8.x" # num # T # ".b16", FragM8N8<num, trans>, num, "f16"> {
      let Where = [Since<90, 78>];
      let LayoutVerifiedBy = RunsOnHopper;
    }
  }
  foreach fmt = ["b6x16_p32", "b4x16_p64"] in
    def "ldmatrix_m8n16_x" # num # "_" # fmt
        : MatrixMove<"LDMATRIX", "ldmatrix", "m8n16.x" # num # ".shared.b8x16." # fmt,
                     "m8n16.x" # num # ".b8x16." # fmt, FragM8N16<num>, num, "u8"> {
      let Where = MatrixB8Where;
      let LayoutVerifiedBy = "two";
    }
  def "stmatrix_m16n8_x" # num # "_trans_b8"
      : MatrixMove<"STMATRIX", "stmatrix", "m16n8.x" # num # ".trans.shared.b8",
                   "m16n8.x" # num # ".trans.b8", FragM16N8<num>, num, "u8"> {
    let Where = MatrixB8Where;
    let LayoutVerifiedBy = "two";
  }
}
foreach num = [1, 2] in foreach fmt = ["b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"] in
  def "ldmatrix_m16n16_x" # num # "_trans_"
      # !cond(!eq(fmt, "b8") : "b8", !eq(fmt, "b8x16.b6x16_p32") : "b6x16_p32", true : "b4x16_p64")
      : MatrixMove<"LDMATRIX", "ldmatrix", "m16n16.x" # num # ".trans.shared." # fmt,
                   "m16n16.x" # num # ".trans." # fmt, FragM16N16<num>, !mul(2, num), "u8"> {
    let Where = MatrixB8Where;
    let LayoutVerifiedBy = "two";
  }
