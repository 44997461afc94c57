"""reported.py DIR [cut|flip]: writes the files of reported.test."""
import struct
import sys

folder, what = sys.argv[1], sys.argv[2:]


def npy(name, rows, cols, code, item):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(f"{folder}/{name}", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        out.write(b"".join(item(i) for i in range(rows * cols)))


def half(i):
    return struct.pack("<H", 0x3F00 + i % 199)


if what == ["cut"]:
    text = open(f"{folder}/one/up.ptx").read()
    last = text.rindex(".visible .entry")
    open(f"{folder}/half.ptx", "w").write(text[:(last + len(text)) // 2])
    open(f"{folder}/entry.ptx", "w").write(text[:last])
elif what == ["flip"]:
    image = bytearray(open(f"{folder}/p.hdl", "rb").read())
    image[-1] ^= 1
    open(f"{folder}/p.hdl", "wb").write(image)
else:
    npy("a.npy", 512, 512, "<u2", lambda i: half(i) if i % 4 < 2 else b"\0\0")
    npy("dense.npy", 64, 64, "<u2", half)
    npy("k62.npy", 64, 62, "<u2", half)
    npy("f32.npy", 64, 64, "<f4", lambda i: struct.pack("<f", i % 97 - 48.0))
