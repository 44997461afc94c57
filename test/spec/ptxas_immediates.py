"""Immediates compared with ptxas: negation and transpose of wgmma.sp, byte-id and thread-id of block scales.

usage: ptxas_immediates.py HEDDLE PTXAS
Heddle's answers come from the operand lists of the rows and from `heddle layout --selector`."""
import itertools
import json
import subprocess
import sys
import tempfile

import candidates
import ptxas_product

TYPES = [("f32", "f16", "f16", 32), ("f16", "f16", "f16", 32), ("f32", "bf16", "bf16", 32),
         ("f32", "tf32", "tf32", 16), ("f32", "e4m3", "e5m2", 64), ("f16", "e5m2", "e5m2", 64),
         ("s32", "s8", "u8", 64)]
SCALED = ["mma_sp_ordered_m16n8k64_mxf8f6f4_f32_e4m3_e5m2",
          "mma_sp_ordered_m16n8k128_mxf4_f32_e2m1p_e2m1p",
          "mma_sp_ordered_m16n8k128_mxf4nvf4_4x_f32_e2m1p_e2m1p_ue4m3"]


def wgmma_cells(rows):
    """(cell, legal): every list of up to five immediates from a few values."""
    for (d, a, b, k), form in itertools.product(TYPES, ("ss", "rs")):
        row = rows[f"wgmma_sp_{form}_m64n64k{k}_{d}_{a}_{b}"]
        names = [o for o in row["operands"].split(", ") if o.startswith("imm-")]
        a_operand = "l0" if form == "ss" else "{r0,r1,r2,r3}"
        head = f"{candidates.accumulators(d, 32)},{a_operand},l1,r9,0,p0"
        for n in range(6):
            for values in itertools.product((1, -1, 0, 2) if n <= 2 else (1, 0, -1), repeat=n):
                legal = n == len(names) and all(
                    v in ((1, -1) if "scale" in name else (0, 1)) for name, v in zip(names, values))
                yield (row["ptx"], None, head + "".join(f",{v}" for v in values)), legal


def has_scale_layout(heddle, row, operand, byte, thread):
    run = subprocess.run([heddle, "layout", row, "--operand", operand, "--selector",
                          str(byte + 4 * thread)], capture_output=True)
    return run.returncode == 0


def scale_cells(heddle, rows):
    for name, operand in itertools.product(SCALED, ("scale_a", "scale_b")):
        row = rows[name]
        ops = candidates.mma_operands(row["k"], "f32", "e4m3", "e4m3", 0, row["k"] == 128)
        for byte, thread in itertools.product(range(4), range(5)):
            chosen, other = f"{{{byte},{thread}}}", "{0,0}"
            pair = (chosen, other) if operand == "scale_a" else (other, chosen)
            yield ((row["ptx"], None, f"{ops},r0,{pair[0]},r1,{pair[1]}"),
                   has_scale_layout(heddle, name, operand, byte, thread))


def compare(ptxas, folder, target, version, cells):
    texts = [cell for cell, _ in cells]
    accepted = ptxas_product.ptxas_accepts(ptxas, folder, target, version, texts)
    wrong = [(text, ops, legal) for i, ((text, _, ops), legal) in enumerate(cells)
             if legal != (i in accepted)]
    for text, ops, legal in wrong[:10]:
        print(f"{target} {text} {ops[-40:]}: heddle {'legal' if legal else 'illegal'}, ptxas not")
    return len(wrong)


def main():
    heddle, ptxas = sys.argv[1:3]
    listing = subprocess.run([heddle, "list", "--format", "json"], capture_output=True, text=True)
    rows = {r["row"]: r for r in json.loads(listing.stdout)}
    wgmma, scales = list(wgmma_cells(rows)), list(scale_cells(heddle, rows))
    with tempfile.TemporaryDirectory() as folder:
        wrong = compare(ptxas, folder, "sm_90a", "8.5", wgmma)
        wrong += compare(ptxas, folder, "sm_120a", "8.7", scales)
    legal = sum(ok for _, ok in wgmma + scales)
    print(f"cells={len(wgmma) + len(scales)} legal={legal} mismatches={wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
