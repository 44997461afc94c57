"""A Llama-3-8B layer, end to end in one CUDA graph: dense under torch.compile, cuSPARSELt in torch, Heddle.

Weights are cold: 218 MB of a layer (fp8, sparse: 68 MB) pass through L2 between two uses of one matrix. All contenders
have the same projections (q, k, v in one; gate and up in one) and the same attention, and run in interleaved rounds.
Heddle's SwiGLU is in the kernel of gate and up; for the others torch.compile fuses what it can.
Dense runs under torch.compile's default mode, with cuBLAS matmuls. `--dense MODE`: under another mode besides
(max-autotune takes minutes).
`--only A,B`: only these contenders, and "dense bf16". `--ready`: Heddle's kernels read their weights before the
predecessor kernel has ended, and Inductor's kernels allow this (programmatic dependent launch). `--no-fuse-add`: residuals
are added behind Heddle's kernels, not in them. `--fold-norms`: the weights of the norms are multiplied into Heddle's bf16
layers, and its kernels normalise where the cost model says that this is faster; `--fold-norms always`: wherever they can;
`--fold-norms off`: never, so that the norms are kernels without weights. `--profile N`: prints the kernels of each
contender at N tokens, instead of the comparison."""
import torch
import torch._inductor.config
from common import DEVICE, args, capture, finish, kernels_of, left, note, time_graphs
from contenders import F8, Cusparselt, DenseFp8, compiled
from llama_block import NORMS, Block
from torch import nn

import heddle.torch as ht

ORDER = [int(n) for n in args.tokens.split(",")]  # as they are measured
TOKENS = sorted(ORDER)
if args.ready:
    ht.settings["weights_ready"] = True
    if hasattr(torch._inductor.config.triton, "enable_pdl"):
        torch._inductor.config.triton.enable_pdl = True
ht.settings["workspace"], ht.settings["fuse_add"] = not args.no_workspace, not args.no_fuse_add
ht.settings["fuse_norm"] = {"always": "always", "off": False}.get(args.fold_norms, True)


def replace(block, make):
    for parent, name in ((block, "qkv"), (block, "out"), (block.mlp, "gate_up_proj"), (block.mlp, "down_proj")):
        setattr(parent, name, make(getattr(parent, name)))
    return block


def block():
    torch.manual_seed(1)
    with torch.device(DEVICE):
        made = Block() if DEVICE == "cuda" else Block(256, 4, 2, 512)
    return made.eval().requires_grad_(False)


CONTENDERS = {
    "dense bf16": lambda: compiled(block()),
    "heddle bf16": lambda: compiled(ht.sparsify(block(), compile=False, fold_norms=NORMS if args.fold_norms else False)),
    "cusparselt bf16": lambda: compiled(replace(block(), lambda l: torch.compiler.disable(Cusparselt(l, False)))),
    "dense fp8": lambda: compiled(replace(block(), DenseFp8)),
    "heddle fp8": lambda: compiled(ht.sparsify(block(), dtype=F8, compile=False)),
    "cusparselt fp8": lambda: compiled(replace(block(), lambda l: torch.compiler.disable(Cusparselt(l, True)))),
}

TUNED = [] if args.dense == "default" else [f"{args.dense} bf16", f"{args.dense} fp8"]
if TUNED:
    CONTENDERS[TUNED[0]] = lambda: compiled(block(), args.dense)
    CONTENDERS[TUNED[1]] = lambda: compiled(replace(block(), DenseFp8), args.dense)


def graphs_of(models, n):
    x = torch.randn(n, models["dense bf16"].qkv.in_features, device=DEVICE).bfloat16()
    graphs = {}
    for name, model in models.items():
        try:
            graphs[name] = capture(lambda: model(x)) if DEVICE == "cuda" else model(x)
        except Exception as error:
            print(f"{name}, {n} tokens: {type(error).__name__}: {str(error)[:160]}")
    return graphs


torch._dynamo.config.cache_size_limit = 64
models = {}
for name, make in CONTENDERS.items():
    if args.only and name not in ("dense bf16", *args.only.split(",")):
        continue
    try:
        models[name] = make()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:160]}")
rows = {}
if args.profile:
    with torch.no_grad():
        for name, graph in graphs_of(models, args.profile).items():
            print(f"-- {name}, {args.profile} tokens\n" + kernels_of(graph.replay))
    finish("profiled")
with torch.no_grad():
    for n in ORDER:
        if left() < 10:
            print(f"{n} tokens: out of time")
            continue
        graphs = graphs_of(models, n)
        rows[n] = time_graphs(graphs) if DEVICE == "cuda" else dict.fromkeys(graphs, 1.0)
        print(f"{n} tokens, us: " + ", ".join(f"{name} {t * 1e6:.1f}" for name, t in rows[n].items()), flush=True)
        del graphs
names = list(models)
print(f"weights_ready: {args.ready}, Inductor's PDL: {getattr(torch._inductor.config.triton, 'enable_pdl', None)}, "
      f"workspaces: {not args.no_workspace}, residuals in the kernel: {not args.no_fuse_add}, norms folded: {args.fold_norms}")
print("us        " + "".join(f"{n:>12}" for n in TOKENS if n in rows))
for name in names:
    print(f"{name:18}" + "".join(f"{rows[n].get(name, float('nan')) * 1e6:12.1f}" for n in TOKENS if n in rows))
nan = float("nan")
for ours, others in (("heddle bf16", ("dense bf16", *TUNED[:1], "cusparselt bf16")),
                     ("heddle fp8", ("dense bf16", "dense fp8", *TUNED, "cusparselt fp8"))):
    for other in others:
        if ours not in models or other not in models:
            continue
        ratios = {n: rows[n].get(other, nan) / rows[n].get(ours, nan) for n in TOKENS if n in rows}
        print(f"{ours} over {other:18}" + "".join(f"{r:9.2f}" for r in ratios.values()))
        note(f"{ours} over {other}", ratios)
note("us", {n: {name: t * 1e6 for name, t in row.items()} for n, row in rows.items()})
shown = [f"{rows[n].get('dense bf16', nan) / rows[n].get('heddle bf16', nan):.2f}" for n in TOKENS if n in rows]
finish(f"bf16 over dense (torch.compile, default mode) at {', '.join(str(n) for n in TOKENS if n in rows)} tokens: "
       f"{', '.join(shown)}", len(rows) < len(TOKENS))
