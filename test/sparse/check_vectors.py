"""check_vectors.py HEDDLE FORMAT.md FOLDER: makes every test vector of docs/format.md and compares its
bytes. A vector is a block that begins with ```vector; then
    matrix DESCR ROWSxCOLS VALUE...      (as for make_npy.py)
    heddle COMMAND OPTION...             (turns the matrix into the file)
    size BYTES
    OFFSET: HEX BYTES [# remark]         (hexadecimal offset; bytes not listed are not compared)
The last line of output counts vectors and bytes."""
import os
import re
import subprocess
import sys

heddle, document, folder = sys.argv[1:]
maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_npy.py")
n_bytes = n_wrong = 0


def make(name, lines):
    npy, out = (os.path.join(folder, name + end) for end in (".npy", ".hd"))
    for line in lines:
        word, *rest = line.split()
        if word == "matrix":
            subprocess.run([sys.executable, maker, npy, *rest], check=True)
        elif word == "heddle":
            command = [heddle, rest[0], npy, *rest[1:], "-o", out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(out, "rb") as file:
        return file.read()


def compare(name, data, line):
    global n_bytes, n_wrong
    offset, text = line.split("#")[0].split(":")
    expected = bytes.fromhex(text)
    got = data[int(offset, 16) : int(offset, 16) + len(expected)]
    n_bytes += len(expected)
    if got != expected:
        n_wrong += 1
        print(f"{name} at 0x{int(offset, 16):x}: got {got.hex(' ')}, expected {expected.hex(' ')}")


with open(document) as file:
    vectors = re.findall(r"^```vector (\S+)\n(.*?)^```", file.read(), re.M | re.S)
for name, body in vectors:
    lines = [line for line in body.splitlines() if line.strip()]
    data = make(name, lines)
    for line in lines:
        if line.startswith("size "):
            n_wrong += int(line.split()[1]) != len(data)
        elif re.match(r"[0-9a-f]+:", line):
            compare(name, data, line)
print(f"vectors={len(vectors)} bytes={n_bytes} wrong={n_wrong}")
sys.exit(n_wrong != 0 or not vectors)
