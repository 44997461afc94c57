"""What a call costs the host: heddle.torch.linear and the op itself in eager mode, the driver's launch of the same
kernel under it, nn.functional.linear.

Each is a loop without synchronisation over a tiny product, so that the device is never the bound; the median of rounds.
`launch` is heddle_kernel_launch through ctypes with ready arguments; a null call of ctypes is subtracted."""
import ctypes
import time

import torch
from common import DEVICE, finish, median_of, note, sparse_weight

import heddle.torch as ht
from heddle import _c
from heddle.torch import _ops, _plans

M, K, CALLS = 64, 64, 2000
if DEVICE != "cuda":
    finish("skipped: no GPU")


def per_call(function):
    times = []
    for _ in range(CALLS):
        function()
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
        torch.cuda.synchronize()
    return median_of(times)


w, x = sparse_weight(M, K, torch.bfloat16), torch.randn(1, K, device=DEVICE).bfloat16()
packed, op = ht.pack(w), torch.ops.heddle.linear.default
loaded = _plans.kernel_of(_plans.Key(0, torch.bfloat16, torch.bfloat16, None, "none", False, M, K))
d = torch.empty(1, M, device=DEVICE, dtype=torch.bfloat16)
values = {"a": packed.data_ptr(), "b": x.data_ptr(), "d": d.data_ptr(), "n": 1, "ldb": K, "ldd": M}
args = (_c.heddle_arg * len(loaded.roles))()
for i, argument in enumerate(loaded.kernel.arguments):
    if argument.name in values:
        setattr(args[i], argument.kind, values[argument.name])
launch, null = _c._heddle_kernel_launch, _c._heddle_version_number
handle, n_args, stream = ctypes.c_void_p(loaded.handle), ctypes.c_size_t(len(args)), ctypes.c_void_p(0)
with torch.inference_mode():
    figures = {
        "linear (inference_mode)": per_call(lambda: ht.linear(x, packed, M)),
        "op (inference_mode)": per_call(lambda: op(x, packed, M)),
        "op in Python": per_call(lambda: _ops._launch_form(x, packed, M)),
        "F.linear, dense": per_call(lambda: torch.nn.functional.linear(x, w)),
        "torch.empty": per_call(lambda: torch.empty(1, M, device=DEVICE, dtype=torch.bfloat16)),
        "ctypes, null call": per_call(lambda: null()),
        "launch, through ctypes": per_call(lambda: launch(None, handle, args, n_args, stream)),
    }
with torch.no_grad():
    figures["linear (no_grad)"] = per_call(lambda: ht.linear(x, packed, M))
    figures["op (no_grad)"] = per_call(lambda: op(x, packed, M))
figures["launch alone"] = figures["launch, through ctypes"] - figures["ctypes, null call"]
for name, value in figures.items():
    print(f"{name:26} {value:7.2f} us")
    note(name, value)
over = {name: figures[f"{name} (inference_mode)"] - figures["launch alone"] for name in ("linear", "op")}
note("over", over)
finish(f"extension: {ht.extension()[0]}; over its kernel's launch: heddle.torch.linear {over['linear']:.2f} us (at most "
       f"3 wanted), torch.ops.heddle.linear {over['op']:.2f}")
