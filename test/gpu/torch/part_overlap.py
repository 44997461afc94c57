"""A chain of gated MLPs (gate, up and SwiGLU in one kernel, then down) of Llama-3-8B in one CUDA graph, with and without
settings["weights_ready"]. A setting holds for a process, so each runs in two of its own, one after the other."""
import os
import subprocess
import sys

import torch
from common import DEVICE, capture, finish, left, note, time_graphs

import heddle.torch as ht

TOKENS = (1, 16, 64, 256)
D_MODEL, D_FFN, LAYERS = (4096, 14336, 6) if DEVICE == "cuda" else (256, 512, 2)
CHILD = "HEDDLE_OVERLAP_READY"
BOUND = 0.01  # of the difference between the graph and eager mode, relative to the result


def layer(m, k):
    return ht.pack((torch.randn(m, k, device=DEVICE) / k ** 0.5).bfloat16())


def child():
    """Prints "TOKENS MICROSECONDS ERROR" for each number of tokens."""
    ht.settings["weights_ready"] = os.environ[CHILD] == "1"
    torch.manual_seed(1)
    layers = [(layer(2 * D_FFN, D_MODEL), layer(D_MODEL, D_FFN)) for _ in range(LAYERS)]
    for n in TOKENS:
        x = torch.randn(n, D_MODEL, device=DEVICE).bfloat16()

        def chain(x=x):
            for both, down in layers:
                x = ht.linear(ht.linear(x, both, D_FFN, act="swiglu"), down, D_MODEL)
            return x
        want = chain().float()
        if DEVICE != "cuda":
            print(n, 0.0, 0.0)
            continue
        graph = capture(chain)
        seconds = time_graphs({"chain": graph})["chain"]
        print(n, seconds * 1e6, ((graph.result.float() - want).norm() / want.norm()).item(), flush=True)


def run(ready):
    """{tokens: [microseconds, error]} of a process, or {} if it failed."""
    done = subprocess.run([sys.executable, __file__], env={**os.environ, CHILD: ready}, capture_output=True, text=True,
                          timeout=max(left(), 1) + 60)
    if done.returncode:
        print(done.stderr[-800:])
        return {}
    return {int(n): [float(us), float(error)] for n, us, error in map(str.split, done.stdout.splitlines())}


if CHILD in os.environ:
    child()
    sys.exit()
runs = [(ready, run(ready)) for ready in ("0", "1", "0", "1")]
print(f"us of {LAYERS} MLPs, two runs each: tokens, without weights_ready, with, ratio")
wrong = sum(not figures for _, figures in runs)
for n in TOKENS:
    us = {ready: [figures[n][0] for which, figures in runs if which == ready and n in figures] for ready in "01"}
    wrong += sum(figures[n][1] > BOUND for _, figures in runs if n in figures)
    note(str(n), us)
    if us["0"] and us["1"]:
        print(n, *(f"{t:.1f}" for t in us["0"] + us["1"]), f"{sum(us['0']) / sum(us['1']) if sum(us['1']) else 1:.3f}")
finish(f"{len(TOKENS)} numbers of tokens, {wrong} wrong or failed", code=wrong > 0)
