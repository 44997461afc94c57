#!/usr/bin/env python3
"""activations.py HEDDLE DIR: activations where they are hard, in every column, run by the simulator.

B is zero and the bias is along n, so an activation's argument is the bias, exactly. Two adjacent columns share a
reciprocal, so every special argument has an ordinary neighbour. The expected values are Python's."""
import math
import os
import random
import struct
import subprocess
import sys

HEDDLE, DIR = sys.argv[1:3]
N, M, K = 256, 64, 64
SPECIAL = [math.nan, math.inf, 0.0, -0.0, 1e-30, -1e-30, 87.5, -87.5, 43.0, -43.0, -44.0, -60.0, 1e4, -1e4, 3e38]
TOGETHER = [-41.0, -1e4]  # exp(41) exp(1e4), limited to what the kernel computes, must not overflow
BITS = {"bf16": 8, "f16": 11, "f32": 24}
HALF_UNITS = {"silu": 12, "gelu": 26, "gelu_tanh": 400}  # of f32


def write(name, dtype, shape, data):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(-(len(head) + 11) % 64 + len(head)) + "\n"
    with open(os.path.join(DIR, name), "wb") as f:
        f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data)


def read(name, kind):
    data = open(os.path.join(DIR, name), "rb").read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return [v for v, in struct.iter_unpack("<e" if kind == "f16" else "<f", data)]


def falling(v):
    return 0.0 if v < -700 else math.inf if v > 700 else math.exp(v)


def silu(x):
    return x / (1 + falling(-x))


def gelu_tanh(x):
    return x / (1 + falling(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu(x):
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


def arguments(kind):
    """f32 values from -100 to 100; every second column of the first ones is special."""
    few = random.Random(7)
    values = [few.uniform(-20, 20) for _ in range(N // 2)] + [100 - 200 * i / (N // 2 - 1) for i in range(N // 2)]
    for i, special in enumerate(SPECIAL):
        if not (kind == "f16" and 1e5 < special < math.inf):
            values[2 * i + i % 2] = special
    values[64:66] = TOGETHER
    return list(struct.unpack(f"<{N}f", struct.pack(f"<{N}f", *values)))


def is_right(act, kind, x, got, want):
    if math.isnan(want):
        return math.isnan(got)
    if math.isinf(want):
        return got == want
    rounding = 2.0 ** -BITS[kind] * 1.07  # half a unit, of which an activation may add a fifteenth
    if kind == "f32":
        rounding = HALF_UNITS[act] * 2.0 ** -24
    least = 2.0 ** -61 * (abs(x) + 1) + (2.0 ** -25 if kind == "f16" else 0)
    return abs(got - want) <= rounding * abs(want) + least


def run(act, apply, kind):
    values = arguments(kind)
    write("bias.npy", "<f4", f"({N},)", struct.pack(f"<{N}f", *values))
    problem = ["--type", "f16" if kind == "f16" else "bf16", "--d-type", kind, "-m", str(M), "-n", str(N), "-k", str(K),
               "--target", "sm_90a", "--bias", "n", "--act", act, "--name", "act"]
    files = ["-b", os.path.join(DIR, "b.npy"), "--bias", os.path.join(DIR, "bias.npy"), "-o", os.path.join(DIR, "d.npy")]
    text = os.path.join(DIR, "act.heddle")
    made = subprocess.run([HEDDLE, "new", *problem], capture_output=True, text=True, check=True).stdout
    with open(text, "w") as f:
        f.write(made)
    ran = subprocess.run([HEDDLE, "run", text, "--backend", "sim", *files], capture_output=True, text=True)
    got = read("d.npy", kind)
    wrong = 0
    for i, value in enumerate(got):
        x = values[i % N]
        if not is_right(act, kind, x, value, apply(x)):
            wrong += 1
            if wrong < 4:
                print(f"{act} {kind}: column {i % N}, x = {x}: {value}, expected {apply(x)}")
    print(f"{act} {kind} elements={len(got)} wrong={wrong} exit={ran.returncode}")


for activation in (silu, gelu_tanh, gelu):
    for kind_of_d in BITS:
        write("b.npy", "<f2" if kind_of_d == "f16" else "<u2", f"({N}, {K})", bytes(2 * N * K))
        run(activation.__name__, activation, kind_of_d)
