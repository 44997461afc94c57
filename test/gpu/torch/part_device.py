"""Prune and pack on the device: the bytes equal the host's; the speed is compared with a copy."""
import numpy as np
import torch
from common import DEVICE, finish, note, seconds
from torch import nn

import heddle
import heddle.torch as ht
from heddle.torch import formats


def equal_to_the_host():
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8):
        w = (torch.randn(200, 520, device=DEVICE) * 20).to(dtype)
        type = ht.type_of(dtype)
        raw = w.cpu().view(torch.uint8).numpy().view(heddle.DTYPES[type])
        host = heddle.SparseMatrix.from_dense(raw, type, prune=True)
        assert np.array_equal(ht.pack(w).cpu().numpy(), host.payload), type
        transposed = w.view(torch.uint8).view(200, 520, -1).transpose(0, 1).contiguous().view(dtype).view(520, 200)
        assert np.array_equal(ht.pack(transposed, transposed=True).cpu().numpy(), host.payload), type
        out, twin = ht.pack(w), ht.pack(w, transposed=True)
        if dtype in (torch.bfloat16, torch.float16):
            scale = ht.row_scales(w)
            quantized = ht.pack_quantized(w, scale, torch.float8_e4m3fn).cpu()
            assert torch.equal(quantized, ht.pack_quantized(w.cpu(), scale.cpu(), torch.float8_e4m3fn)), type
        both = torch.zeros_like(out), torch.zeros_like(twin)
        formats.pack_with_twin(w, *both)
        assert torch.equal(both[0], out) and torch.equal(both[1], twin), type
        if dtype != torch.float32:
            mask = torch.zeros(200, 520, dtype=torch.bool, device=DEVICE)
            formats.pack_two_way(w, *both, mask)
            assert torch.equal(mask.cpu(), ht.two_way_mask(w.cpu())) and torch.equal(mask, ht.two_way_mask(w)), type
            under = torch.zeros_like(both[0]), torch.zeros_like(both[1])
            formats.pack_masked(w, mask, *under)
            assert torch.equal(both[0], under[0]) and torch.equal(both[1], under[1]), type
            pruned = (w.view(torch.uint8).view(200, 520, -1) * mask[..., None]).view(200, -1).view(dtype)
            assert torch.equal(both[0], ht.pack(pruned)) and torch.equal(both[1], ht.pack(pruned, transposed=True)), type
    print("device bytes = host bytes: 5 types")


equal_to_the_host()
if DEVICE != "cuda":
    finish("device bytes = host bytes (no GPU: nothing was timed)")
m, k, LAUNCHES = 28672, 8192, 8


def each(function):
    """Seconds of a call among several without a gap."""
    return seconds(lambda: [function() for _ in range(LAUNCHES)]) / LAUNCHES


w = torch.randn(m, k, device=DEVICE).bfloat16()
copy = each(lambda: w.clone())
eager = each(lambda: ht.pack(w))
twin = each(lambda: ht.pack(w, transposed=True))
packs = ht.pack(w), ht.pack(w, transposed=True)
both = each(lambda: formats.pack_with_twin(w, *packs))
fresh = torch.empty(m, k, dtype=torch.bool, device=DEVICE)
two_way = each(lambda: formats.pack_two_way(w, *packs, fresh))
scale = ht.row_scales(w)
quantized = each(lambda: ht.pack_quantized(w, scale, torch.float8_e4m3fn))
scaling = each(lambda: ht.row_scales(w))
quantized_bytes = w.nbytes + ht.packed_bytes(m, k, torch.float8_e4m3fn)
packer = torch.compile(ht.pack, dynamic=False)
packer(w)
fused = each(lambda: packer(w))
n_bytes = w.nbytes + ht.packed_bytes(m, k, w.dtype)
for name, t in (("a copy", copy), ("prune + pack, eager", eager), ("transposed", twin), ("both", both),
                ("both and a two-way mask", two_way), ("quantized to e4m3", quantized), ("the scales of its rows", scaling),
                ("prune + pack, torch.compile", fused)):
    print(f"{name:28} {t * 1e3:8.2f} ms")
note("pack_over_copy_eager", copy / eager), note("transposed_over_copy", copy / twin)
note("pack_over_copy_compiled", copy / fused), note("both_over_copy", copy / both)
print(f"of a copy's speed, bytes alike: eager {copy / eager * n_bytes / (2 * w.nbytes):.3f}, "
      f"transposed {copy / twin * n_bytes / (2 * w.nbytes):.3f}, compiled {copy / fused * n_bytes / (2 * w.nbytes):.3f}, "
      f"both {copy / both * (2 * n_bytes - w.nbytes) / (2 * w.nbytes):.3f}, "
      f"both and a mask {copy / two_way * (2 * n_bytes - w.nbytes / 2) / (2 * w.nbytes):.3f}, "
      f"quantized {copy / quantized * quantized_bytes / (2 * w.nbytes):.3f}")
layers = nn.ModuleList(nn.Linear(4096, size, bias=False, device=DEVICE, dtype=torch.bfloat16)
                       for size in (6144, 4096, 28672, 14336))
torch.cuda.synchronize()
one = seconds(lambda: [ht.pack(layer.weight.detach()) for layer in layers], 3)
print(f"an 8B model's weights (32 x these layers): {32 * one:.2f} s of device time, eager")
sparse = [ht.SparseLinear.from_linear(layer, dtype=torch.float8_e4m3fn) for layer in layers]
both = list(zip(sparse, layers))
fp8 = seconds(lambda: [layer.set_weight(dense.weight.detach()) for layer, dense in both], 3)
print(f"the same as fp8 with row scales: {32 * fp8:.2f} s")
note("8b_seconds", 32 * one), note("8b_seconds_fp8", 32 * fp8)

of_a_copy = {name: copy / t * n_bytes / (2 * w.nbytes) for name, t in (("eager", eager), ("compiled", fused))}
finish(f"an 8B model in {32 * one:.2f} s, {32 * fp8:.2f} s as fp8; pack at "
       + ", ".join(f"{ratio:.2f} ({name})" for name, ratio in of_a_copy.items()) + " of a copy")
