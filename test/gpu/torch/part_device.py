"""Prune and pack on the device (tensor operations of heddle.torch.formats), equal to the host's bytes; and a training
step of an MLP: forward, gradients, SGD, repack."""
import numpy as np
import torch
from common import DEVICE, finish, median_of, note
from torch import nn

import heddle
import heddle.torch as ht


def seconds(function, rounds=5):
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return median_of(times)


def equal_to_the_host():
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8):
        w = (torch.randn(200, 520, device=DEVICE) * 20).to(dtype)
        type = ht.type_of(dtype)
        raw = w.cpu().view(torch.uint8).numpy().view(heddle.DTYPES[type])
        host = heddle.SparseMatrix.from_dense(raw, type, prune=True)
        assert np.array_equal(ht.pack(w).cpu().numpy(), host.payload), type
    print("device bytes = host bytes: 5 types")


equal_to_the_host()
if DEVICE != "cuda":
    finish("device bytes = host bytes (no GPU: nothing was timed)")
m, k = 28672, 8192
w = torch.randn(m, k, device=DEVICE).bfloat16()
copy = seconds(lambda: w.clone())
eager = seconds(lambda: ht.pack(w))
packer = torch.compile(ht.pack, dynamic=False)
packer(w)
fused = seconds(lambda: packer(w))
n_bytes = w.nbytes + ht.packed_bytes(m, k, w.dtype)
for name, t in (("a copy", copy), ("prune + pack, eager", eager), ("prune + pack, torch.compile", fused)):
    print(f"{name:28} {t * 1e3:8.2f} ms")
note("pack_over_copy_eager", copy / eager), note("pack_over_copy_compiled", copy / fused)
print(f"of a copy's speed, bytes alike: eager {copy / eager * n_bytes / (2 * w.nbytes):.3f}, "
      f"compiled {copy / fused * n_bytes / (2 * w.nbytes):.3f}")
layers = nn.ModuleList(nn.Linear(4096, size, bias=False, device=DEVICE, dtype=torch.bfloat16)
                       for size in (6144, 4096, 28672, 14336))
torch.cuda.synchronize()
one = seconds(lambda: [ht.pack(layer.weight.detach()) for layer in layers], 3)
print(f"an 8B model's weights (32 x these layers): {32 * one:.2f} s of device time, eager")
note("8b_seconds", 32 * one)


def step(net, x, repack):
    loss = net(x).square().mean()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(p.grad, alpha=1e-3)
            p.grad = None
    if repack:
        ht.repack(net)


def mlp():
    return nn.Sequential(nn.Linear(4096, 14336, bias=False), nn.SiLU(), nn.Linear(14336, 4096, bias=False)).to(
        DEVICE, torch.bfloat16)


x = torch.randn(4096, 4096, device=DEVICE).bfloat16().requires_grad_()
dense, sparse = mlp(), ht.sparsify(mlp(), trainable=True)
times = {}
for name, net, repack in (("dense", dense, False), ("sparse", sparse, False), ("sparse, repack each step", sparse, True)):
    step(net, x, repack)
    times[name] = seconds(lambda: step(net, x, repack))
    print(f"MLP step, {name:26} {times[name] * 1e3:8.2f} ms")
note("training", times)
finish(f"pack at {copy / eager * n_bytes / (2 * w.nbytes):.2f} (eager), {copy / fused * n_bytes / (2 * w.nbytes):.2f} "
       f"(compiled) of a copy; MLP step {times['dense'] / times['sparse, repack each step']:.2f} x dense with repack")
