"""block_scales.py [--f32] DIR M N K: writes small integers in e4m3 with A 2:4-sparse, and scales 1, 2, 4 for each 64
of k, to DIR/a.npy, b.npy, sa.npy, sb.npy. With --f32: one f32 scale for each 128 of k, for A also for each 128 rows.
block_scales.py --check [--f32] DIR M N K: checks that DIR/d.npy (f32) is their product.
block_scales.py --packed DIR M N K: checks that DIR/packed.npy is sa.npy with one k-block per row."""
import struct
import sys

F32 = "--f32" in sys.argv or "--packed" in sys.argv
BLOCK, ROWS = (128, 128) if F32 else (64, 1)
CODE = [0x00, 0x38, 0x40, 0x44, 0x48]  # 0 to 4 in e4m3


def write(path, rows, kind="|u1"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {(len(rows), len(rows[0]))}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        out.write(b"".join(bytes(row) if kind == "|u1" else struct.pack(f"<{len(row)}f", *row) for row in rows))


def sparse(i, j):
    kept = ((0, 1), (1, 3), (0, 2))[(i + j // 4) % 3]
    return (i * 7 + j * 3) % 9 - 4 if j % 4 in kept else 0


def dense(i, j):
    return (i * 5 + j * 11) % 7 - 3


def exponent(i, b):
    return (i * 3 + b * 5 + i // 8) % 3


def code(x):
    return CODE[abs(x)] | (0x80 if x < 0 else 0)


def read_f32(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


folder, m, n, k = sys.argv[-4], *map(int, sys.argv[-3:])
blocks = -(-k // BLOCK)
if sys.argv[1] == "--check":
    expected = [sum(sparse(i, x) * dense(j, x) << exponent(i // ROWS, x // BLOCK) + exponent(j + 1, x // BLOCK)
                    for x in range(k)) for i in range(m) for j in range(n)]
    sys.exit(list(read_f32(folder + "/d.npy")) != expected)
if sys.argv[1] != "--packed":
    write(folder + "/a.npy", [[code(sparse(i, x)) for x in range(k)] for i in range(m)])
    write(folder + "/b.npy", [[code(dense(j, x)) for x in range(k)] for j in range(n)])
if sys.argv[1] == "--packed":
    rows = -(-m // ROWS)
    got = read_f32(folder + "/packed.npy")
    pitch = len(got) // blocks
    sys.exit(pitch % 4 != 0 or [got[b * pitch + i] for i in range(rows) for b in range(blocks)] !=
             [2.0 ** exponent(i, b) for i in range(rows) for b in range(blocks)])
scale = (lambda e: 2.0 ** e) if F32 else (lambda e: 127 + e)
kind = "<f4" if F32 else "|u1"
write(folder + "/sa.npy", [[scale(exponent(i, b)) for b in range(blocks)] for i in range(-(-m // ROWS))], kind)
write(folder + "/sb.npy", [[scale(exponent(j + 1, b)) for b in range(blocks)] for j in range(n)], kind)
