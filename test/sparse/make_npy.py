"""make_npy.py OUT DESCR ROWSxCOLS VALUE...: writes a .npy file; values repeat to fill the shape.
DESCR: <f2 <f4 <f8 <u2 |u1 |i1 (a trailing F: Fortran order)."""
import struct
import sys

out, descr, shape, *values = sys.argv[1:]
fortran, descr = descr.endswith("F"), descr.rstrip("F")
rows, cols = map(int, shape.split("x"))
code = {"<f2": "<e", "<f4": "<f", "<f8": "<d", "<u2": "<H", "|u1": "<B", "|i1": "<b"}[descr]
convert = float if code[1] in "efd" else lambda text: int(text, 0)
items = [convert(values[i % len(values)]) for i in range(rows * cols)]
header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({rows}, {cols}), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(out, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(b"".join(struct.pack(code, item) for item in items))
