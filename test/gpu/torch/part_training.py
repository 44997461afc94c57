"""A training step of an MLP (4096 -> 14336 -> 4096, SiLU) at 4096 tokens, sparse against dense, in eager mode and under
torch.compile: forward, gradients of x and the weights, for the sparse ones repack(), with and without SGD. "straight
through" chooses its masks anew in each step, "same mask" is that without choosing. Steps follow each other without
synchronisation; contenders run in interleaved rounds. `--profile 1`: prints the kernels of each."""
import torch
from common import DEVICE, args, finish, kernels_of, left, median_of, note, seconds
from torch import nn

import heddle.torch as ht
from heddle.torch import formats

TOKENS, D_MODEL, D_FFN = (4096, 4096, 14336) if DEVICE == "cuda" else (64, 128, 256)
STEPS, ROUNDS = 8, 7


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D_MODEL, D_FFN, bias=False), nn.SiLU(), nn.Linear(D_FFN, D_MODEL, bias=False)).to(
        DEVICE, torch.bfloat16)


def loss_of(net, compile):
    def loss(x):
        return net(x).float().square().mean()
    return torch.compile(loss, dynamic=False) if compile else loss


def step(net, loss, x, sgd, new_mask=None):
    loss(x).backward()
    with torch.no_grad():
        for p in net.parameters():
            if sgd:
                p.sub_(p.grad, alpha=1e-3)
            p.grad = None
    x.grad = None
    ht.repack(net, new_mask, masked=True)  # of "sparse": the gradients are masked, so the weights after SGD are, too


x = torch.randn(TOKENS, D_MODEL, device=DEVICE).bfloat16().requires_grad_()
nets = {"dense": mlp(), "sparse": ht.sparsify(mlp(), trainable=True),
        "straight through": ht.sparsify(mlp(), trainable="straight_through")}
contenders = {}
for compile in (False, True):
    for sgd in (True, False):
        for kind, net, new_mask in (*((*item, None) for item in nets.items()), ("same mask", nets["straight through"], False)):
            loss = loss_of(net, compile)
            name = f"{kind}, {'compiled' if compile else 'eager'}, {'with' if sgd else 'without'} SGD"
            contenders[name] = (lambda net=net, loss=loss, sgd=sgd, new_mask=new_mask: step(net, loss, x, sgd, new_mask))
            for _ in range(3):
                contenders[name]()
if DEVICE != "cuda":
    finish("no GPU: nothing was timed")
times = {name: [] for name in contenders}
for _ in range(ROUNDS):
    for name, one in contenders.items():
        times[name].append(seconds(lambda: [one() for _ in range(STEPS)], 1) / STEPS)
times = {name: median_of(t) for name, t in times.items()}
for name, t in times.items():
    print(f"{name:32} {t * 1e3:8.3f} ms")
g, w, sparse = torch.randn_like(nets["sparse"][0].weight), nets["sparse"][0].weight.detach(), nets["sparse"]
mask, pruned, packs, fresh = sparse[0].mask, sparse[0].pruned, (sparse[0].packed, sparse[0].packed_t), sparse[0].mask.clone()
for name, f in (("g.mul_(mask)", lambda: g.mul_(mask)), ("g.masked_fill_(pruned, 0)", lambda: g.masked_fill_(pruned, 0)),
                ("pack", lambda: ht.pack(w)), ("pack, transposed", lambda: ht.pack(w, transposed=True)),
                ("both packs", lambda: formats.pack_with_twin(w, *packs)),
                ("both packs under a mask", lambda: formats.pack_masked(w, mask, *packs)),
                ("mask and both packs", lambda: formats.pack_two_way(w, *packs, fresh)), ("clone", lambda: w.clone())):
    print(f"of {tuple(w.shape)}: {name:26} {seconds(lambda: [f() for _ in range(STEPS)], 9) / STEPS * 1e6:9.1f} us")
repack = {masked: seconds(lambda: ht.repack(sparse, masked=masked), 9) for masked in (True, False)}
print(f"repack of both layers: {repack[True] * 1e3:.3f} ms, {repack[False] * 1e3:.3f} with the mask applied to the weight")
if args.profile and left() > 0:
    for name, one in contenders.items():
        print(f"-- {name}\n" + kernels_of(one))
ratios = {name: times["dense," + name.partition(",")[2]] / t for name, t in times.items() if not name.startswith("dense")}
note("training", times), note("ratios", ratios), note("repack", {str(k): v for k, v in repack.items()})
finish("over dense: " + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()))
