// Register fragments. g = lane / 4, q = lane % 4 in what follows; e = elements a register.
// Images are [row, column]; lane bits 0..1 are q, bits 2..4 are g, bits 5..6 the warp of a warpgroup.

class Fields<int e> { // consecutive elements of one register, along columns
  list<list<int>> Cols = !cond(!eq(e, 1) : [], !eq(e, 2) : [[0, 1]], !eq(e, 4) : [[0, 1], [0, 2]],
                               true : [[0, 1], [0, 2], [0, 4]]);
  list<list<int>> Rows = !cond(!eq(e, 1) : [], !eq(e, 2) : [[1, 0]], !eq(e, 4) : [[1, 0], [2, 0]],
                               true : [[1, 0], [2, 0], [4, 0]]);
}
class Lanes<list<list<int>> q, list<list<int>> g, int warps> {
  list<list<int>> Images = !listconcat(q, g, !if(!eq(warps, 4), [[16, 0], [32, 0]], []<list<int>>));
}
defvar GRows = [[1, 0], [2, 0], [4, 0]];
defvar GCols = [[0, 1], [0, 2], [0, 4]];

// A, compressed. register j: row g + 8*(j&1), columns e*(4*(j>>1) + q) .. +e-1.
//   regs 4: m16 x 16 bytes of packed row ... 32 bytes; regs 2: half of it
class FragA<string elem, int regs, int warps = 1>
    : Fragment<"register", !mul(32, warps), regs, ElemInfo<elem>.Bits, !mul(16, warps),
               !mul(ElemInfo<elem>.PerReg, !mul(2, regs)),
               Lanes<[[0, ElemInfo<elem>.PerReg], [0, !mul(2, ElemInfo<elem>.PerReg)]], GRows,
                     warps>.Images,
               !if(!eq(regs, 2), [[8, 0]], [[8, 0], [0, !mul(4, ElemInfo<elem>.PerReg)]]),
               Fields<ElemInfo<elem>.PerReg>.Cols>;

// B. register j: rows (k) 4*e*j + e*q .. +e-1, column (n) g.
class FragB<string elem, int regs>
    : Fragment<"register", 32, regs, ElemInfo<elem>.Bits,
               !mul(ElemInfo<elem>.PerReg, !mul(4, regs)), 8,
               Lanes<[[ElemInfo<elem>.PerReg, 0], [!mul(2, ElemInfo<elem>.PerReg), 0]], GCols,
                     1>.Images,
               !if(!eq(regs, 2), [[!mul(4, ElemInfo<elem>.PerReg), 0]],
                   [[!mul(4, ElemInfo<elem>.PerReg), 0], [!mul(8, ElemInfo<elem>.PerReg), 0]]),
               Fields<ElemInfo<elem>.PerReg>.Rows>;

// C and D, n columns. 32-bit: register i: row g + 8*((i>>1)&1), column 8*(i>>2) + 2*q + (i&1).
// 16-bit: register i: row g + 8*(i&1), columns 8*(i>>1) + 2*q and the next one.
class FragD<string elem, int n, int warps = 1>
    : Fragment<"register", !mul(32, warps), !div(n, ElemInfo<elem>.PerReg) /* set below */,
               ElemInfo<elem>.Bits, !mul(16, warps), n,
               Lanes<[[0, 2], [0, 4]], GRows, warps>.Images,
               !if(!eq(ElemInfo<elem>.PerReg, 1), [[0, 1], [8, 0]], [[8, 0]]),
               Fields<ElemInfo<elem>.PerReg>.Cols> {
  let Regs = !div(!div(n, 2), ElemInfo<elem>.PerReg);
  let Repeat = !if(!gt(n, 8), [[!div(n, 8), 0, 8]], []<list<int>>);
}

// Metadata: 4-bit codes, one a group of u elements (u = 2 tf32, 4, 8 for 4-bit types).
// One: a single lane of each four (lane % 4 == selector): low half row g, high half row g + 8.
class MetaOne<int u, int warps = 1>
    : Fragment<"register", !mul(32, warps), 1, 4, !mul(16, warps), !mul(4, u),
               Lanes<[[0, 0], [0, 0]], GRows, warps>.Images, [],
               [[0, u], [0, !mul(2, u)], [8, 0]]> { let Mask = 3; let Unit = u; }
// Pair: lanes 2*selector + h of each four hold columns 4*u*h .. : low half row g, high half row g + 8.
class MetaPair<int u, int warps = 1>
    : Fragment<"register", !mul(32, warps), 1, 4, !mul(16, warps), !mul(8, u),
               Lanes<[[0, !mul(4, u)], [0, 0]], GRows, warps>.Images, [],
               [[0, u], [0, !mul(2, u)], [8, 0]]> { let Mask = 2; let Unit = u; }
// PairRows (8- and 4-bit types): half of All, chosen by the selector: lane 2*selector + h of each four
// holds row g + 8*h, all 8 groups. The ISA's figure is not in its text: it follows All, whose lanes 0
// and 1 hold the first half of k, as Pair follows One.
class MetaPairRows<int u, int warps = 1>
    : Fragment<"register", !mul(32, warps), 1, 4, !mul(16, warps), !mul(8, u),
               Lanes<[[8, 0], [0, 0]], GRows, warps>.Images, [],
               [[0, u], [0, !mul(2, u)], [0, !mul(4, u)]]> { let Mask = 2; let Unit = u; }
// All: lane q holds row g + 8*(q&1), columns 8*u*(q>>1) .. : 8 groups.
class MetaAll<int u, int warps = 1>
    : Fragment<"register", !mul(32, warps), 1, 4, !mul(16, warps), !mul(16, u),
               Lanes<[[8, 0], [0, !mul(8, u)]], GRows, warps>.Images, [],
               [[0, u], [0, !mul(2, u)], [0, !mul(4, u)]]> { let Unit = u; }

// Block scales: 8-bit; `vec` of the four bytes are in use, byte i scales k block i.
// A: lanes 2*thread-id + h: row g + 8*h. B: lanes with lane % 4 == thread-id: column g.
class FragScaleA<int vec>
    : Fragment<"register", 32, 1, 8, 16, vec, Lanes<[[8, 0], [0, 0]], GRows, 1>.Images, [],
               Fields<vec>.Cols> { let Mask = 2; }
class FragScaleB<int vec>
    : Fragment<"register", 32, 1, 8, vec, 8, Lanes<[[0, 0], [0, 0]], GCols, 1>.Images, [],
               Fields<vec>.Rows> { let Mask = 3; }
