"""Host cost of a call: heddle.torch.linear and the op itself in eager mode, the driver's launch of the same kernel,
nn.functional.linear.

Each is a loop without synchronisation over a tiny product, so that the device is never the limit; medians of rounds.
`launch` is heddle_kernel_launch through ctypes with prepared arguments; that of a null ctypes call is subtracted."""
import ctypes
import time

import torch
from common import DEVICE, finish, median_of, note, sparse_weight

import heddle.torch as ht
from heddle import _c
from heddle.torch import _ops, _plans

M, K, CALLS = 64, 64, 1000
if DEVICE != "cuda":
    finish("skipped: no GPU")


def per_call(functions):
    """{name: us per call}: medians of interleaved rounds, so that disturbances of the host affect all of them."""
    times = {name: [] for name in functions}
    for round in range(12):
        for name, function in functions.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                function()
            if round:
                times[name].append((time.perf_counter() - start) / CALLS * 1e6)
    torch.cuda.synchronize()
    return {name: median_of(t) for name, t in times.items()}


w, x = sparse_weight(M, K, torch.bfloat16), torch.randn(1, K, device=DEVICE).bfloat16()
packed, op = ht.pack(w), torch.ops.heddle.linear.default
loaded = _plans.kernel_of(_plans.Key(0, torch.bfloat16, torch.bfloat16, None, "none", False, M, K))
d = torch.empty(1, M, device=DEVICE, dtype=torch.bfloat16)
residual = torch.randn(1, M, device=DEVICE).bfloat16()
values = {"a": packed.data_ptr(), "b": x.data_ptr(), "d": d.data_ptr(), "n": 1, "ldb": K, "ldd": M}
args = (_c.heddle_arg * len(loaded.roles))()
for i, argument in enumerate(loaded.kernel.arguments):
    if argument.name in values:
        setattr(args[i], argument.kind, values[argument.name])
launch, null = _c._heddle_kernel_launch, _c._heddle_version_number
handle, n_args, stream = ctypes.c_void_p(loaded.handle), ctypes.c_size_t(len(args)), ctypes.c_void_p(0)
with torch.inference_mode():
    figures = per_call({
        "heddle.torch.linear": lambda: ht.linear(x, packed, M),
        "torch.ops.heddle.linear": lambda: op(x, packed, M),
        "heddle.torch.linear, addend": lambda: ht.linear(x, packed, M, addend=residual),
        "heddle.torch.linear + residual": lambda: ht.linear(x, packed, M) + residual,
        "op in Python": lambda: _ops._launch_form(x, packed, M),
        "F.linear, dense": lambda: torch.nn.functional.linear(x, w),
        "torch.empty": lambda: torch.empty(1, M, device=DEVICE, dtype=torch.bfloat16),
        "ctypes, null call": lambda: null(),
        "launch, through ctypes": lambda: launch(None, handle, args, n_args, stream),
    })
figures["launch alone"] = figures["launch, through ctypes"] - figures["ctypes, null call"]
for name, value in figures.items():
    print(f"{name:30} {value:7.2f} us")
    note(name, value)
over = {name: figures[name] - figures["launch alone"] for name in ("heddle.torch.linear", "torch.ops.heddle.linear")}
note("over", over)
shown = ", ".join(f"{name} {t:.2f} us" for name, t in over.items())
finish(f"extension: {ht.extension()[0]}; over its kernel's launch (at most 3 wanted): {shown}")
