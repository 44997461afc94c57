"""operands.py DIR M N K: writes DIR/a.npy (2:4), b.npy and dense.npy of small integers as bf16.
operands.py --check DIR M N K: checks that DIR/d.npy (f32) is their product, computed here in integers."""
import struct
import sys


def bf16(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0] >> 16


def write(path, rows, code, pack):
    shape = (len(rows), len(rows[0]))
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            out.write(b"".join(struct.pack("<H", pack(x)) for x in row))


def sparse(i, j):
    keep = (i + j // 4) % 3  # selects two of four
    return (i * 7 + j * 3) % 9 - 4 if j % 4 in ((0, 1), (1, 3), (0, 2))[keep] else 0


def dense(i, j):
    return (i * 5 + j * 11) % 7 - 3


def read_f32(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


check = sys.argv[1] == "--check"
folder, m, n, k = sys.argv[-4], *map(int, sys.argv[-3:])
a = [[sparse(i, j) for j in range(k)] for i in range(m)]
b = [[dense(i, j) for j in range(k)] for i in range(n)]  # stored n x k
if check:
    want = [float(sum(x * y for x, y in zip(row, col))) for row in a for col in b]
    got = list(read_f32(f"{folder}/d.npy"))
    wrong = sum(x != y for x, y in zip(got, want)) + abs(len(got) - len(want))
    print(f"compared={len(want)} wrong={wrong}")
    sys.exit(wrong != 0)
write(f"{folder}/a.npy", a, "<u2", bf16)
write(f"{folder}/b.npy", b, "<u2", bf16)
write(f"{folder}/dense.npy", [[1] * k] * m, "<u2", bf16)
