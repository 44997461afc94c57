"""A training step of an MLP (4096 -> 14336 -> 4096, SiLU) at 4096 tokens: forward, gradients to x and the weights, SGD,
and for the sparse one repack(): against dense, in eager mode and under torch.compile. `--profile 1`: their kernels."""
import torch
from common import DEVICE, args, finish, kernels_of, note, seconds
from torch import nn

import heddle.torch as ht

TOKENS, D_MODEL, D_FFN = (4096, 4096, 14336) if DEVICE == "cuda" else (64, 128, 256)


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D_MODEL, D_FFN, bias=False), nn.SiLU(), nn.Linear(D_FFN, D_MODEL, bias=False)).to(
        DEVICE, torch.bfloat16)


def forward_of(net, compile):
    def loss(x):
        return net(x).float().square().mean()
    return torch.compile(loss, dynamic=False) if compile else loss


def step(net, loss, x, repack):
    loss(x).backward()
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(p.grad, alpha=1e-3)
            p.grad = None
    x.grad = None
    if repack:
        ht.repack(net)


x = torch.randn(TOKENS, D_MODEL, device=DEVICE).bfloat16().requires_grad_()
dense, sparse = mlp(), ht.sparsify(mlp(), trainable=True)
times = {}
for compile in (False, True):
    for name, net, repack in (("dense", dense, False), ("sparse, no repack", sparse, False), ("sparse", sparse, True)):
        loss, name = forward_of(net, compile), name + (", compiled" if compile else "")
        for _ in range(3):
            step(net, loss, x, repack)
        if DEVICE != "cuda":
            continue
        times[name] = seconds(lambda: step(net, loss, x, repack), 15)
        print(f"{name:32} {times[name] * 1e3:8.3f} ms")
        if args.profile:
            print(kernels_of(lambda: step(net, loss, x, repack)))
if DEVICE != "cuda":
    finish("no GPU: nothing was timed")
g, w, mask = torch.randn_like(sparse[0].weight), sparse[0].weight.detach(), sparse[0].mask
for name, f in (("g.mul_(mask)", lambda: g.mul_(mask)), ("g * (w != 0)", lambda: g * (w != 0)),
                ("g.masked_fill_(mask, 0)", lambda: g.masked_fill_(mask, 0)), ("torch.where", lambda: torch.where(mask, g, 0)),
                ("pack", lambda: ht.pack(w)), ("pack, transposed", lambda: ht.pack(w, transposed=True)),
                ("two_way_mask", lambda: ht.two_way_mask(w)), ("clone", lambda: w.clone())):
    print(f"of {tuple(w.shape)}: {name:24} {seconds(f, 9) * 1e6:9.1f} us")
alone = seconds(lambda: ht.repack(sparse), 15)
print(f"repack alone                     {alone * 1e3:8.3f} ms")
note("training", times), note("repack", alone)
finish(f"MLP step with repack: {times['dense'] / times['sparse']:.3f} x dense (eager), "
       f"{times['dense, compiled'] / times['sparse, compiled']:.3f} (both compiled); repack {alone * 1e3:.2f} ms")
