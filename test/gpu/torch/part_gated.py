"""Gate and up with SwiGLU, of Llama-3-8B and 70B, in one CUDA graph with cold weights: one kernel of Heddle, and what
PyTorch has for it: dense under torch.compile, and cuSPARSELt with a Triton kernel of silu and multiplication."""
import torch
from common import DEVICE, capture, finish, left, note, time_graphs
from contenders import F8, Cusparselt, DenseFp8, compiled
from torch import nn
from torch.nn import functional as F

import heddle.torch as ht

TOKENS = (1, 16, 64, 1024, 4096)
MODELS = {"8B": (4096, 14336), "70B": (8192, 28672)} if DEVICE == "cuda" else {"small": (256, 512)}
COLD_BYTES = 256 << 20  # of packed weights that pass through L2 in a replay
BOUND = {"heddle bf16": 0.01, "heddle fp8": 0.08}  # of the error's norm, relative to the product of the pruned weight


class Gated(nn.Module):
    def __init__(self, both):
        super().__init__()
        self.both = both

    def forward(self, x):
        gate, up = self.both(x).chunk(2, -1)
        return F.silu(gate) * up


def pair(layer, dtype=None):
    gate, up = (nn.Linear(layer.in_features, layer.out_features // 2, bias=False, device="meta") for _ in range(2))
    for half, weight in zip((gate, up), layer.weight.detach().chunk(2)):
        half.weight = nn.Parameter(weight, requires_grad=False)
    return ht.SparseLinear.from_pair(gate, up, dtype=dtype)


CONTENDERS = {
    "dense bf16": lambda l: compiled(Gated(l)),
    "cusparselt bf16": lambda l: compiled(Gated(torch.compiler.disable(Cusparselt(l, False)))),
    "heddle bf16": lambda l: compiled(pair(l)),
    "dense fp8": lambda l: compiled(Gated(DenseFp8(l))),
    "cusparselt fp8": lambda l: compiled(Gated(torch.compiler.disable(Cusparselt(l, True)))),
    "heddle fp8": lambda l: compiled(pair(l, F8)),
}


def layers_of(d_model, d_ffn):
    """{contender: layers with weights of their own}, and the pruned weight of the last ones."""
    n = min(4, COLD_BYTES // (d_model * d_ffn) + 1) if DEVICE == "cuda" else 1
    made = {name: [] for name in CONTENDERS}
    for _ in range(n):
        layer = nn.Linear(d_model, 2 * d_ffn, bias=False, device=DEVICE, dtype=torch.bfloat16).requires_grad_(False)
        for name, make in CONTENDERS.items():
            try:
                made[name].append(make(layer))
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:160]}")
    return {name: own for name, own in made.items() if len(own) == n}, ht.prune(layer.weight.detach())


def graphs_of(layers, x):
    graphs = {}
    for name, own in layers.items():
        def call(own=own):
            return [layer(x) for layer in own][-1]
        try:
            graphs[name] = capture(call) if DEVICE == "cuda" else call()
        except Exception as error:
            print(f"{name}, {len(x)} tokens: {type(error).__name__}: {str(error)[:160]}")
    return graphs


def errors(graphs, x, pruned):
    """Of Heddle's results, on up to 64 rows; results are poisoned first."""
    expected = (F.linear(x[:64].float(), part.float()) for part in pruned.chunk(2))
    expected = F.silu(next(expected)) * next(expected)
    for name in filter(graphs.get, BOUND):
        graph = graphs[name]
        graph.result.fill_(float("nan"))
        graph.replay()
        error = float((graph.result[:64].float() - expected).norm() / expected.norm())
        if not (error < BOUND[name] and bool(graph.result.isfinite().all())):
            yield f"{name}, {len(x)} tokens: error {error:.3g}, bound {BOUND[name]}"


def ratio(row, ours, kind):
    """Time of the faster of the others over ours."""
    others = [row[name] for name in (f"dense {kind}", f"cusparselt {kind}") if name in row]
    return min(others) / row[ours] if others and ours in row else float("nan")


torch._dynamo.config.cache_size_limit = 64
short, wrong = 0, 0
print(f"us{'':12}" + "".join(f"{name:>17}" for name in CONTENDERS) + "   best other over heddle: bf16, fp8")
with torch.no_grad():
    for model, (d_model, d_ffn) in MODELS.items():
        layers, pruned = layers_of(d_model, d_ffn)
        for n in TOKENS:
            if left() < 5:
                print(f"{model}, {n} tokens: out of time")
                short += 1
                continue
            x = torch.randn(n, d_model, device=DEVICE).bfloat16()
            graphs = graphs_of(layers, x)
            for line in errors(graphs, x, pruned) if DEVICE == "cuda" else ():
                print(line)
                wrong += 1
            row = time_graphs(graphs) if DEVICE == "cuda" else dict.fromkeys(graphs, 1.0)
            row = {name: seconds / len(layers[name]) for name, seconds in row.items()}
            ratios = [ratio(row, f"heddle {kind}", kind) for kind in ("bf16", "fp8")]
            print(f"{model:4} {n:5} tok" + "".join(f"{row.get(name, float('nan')) * 1e6:17.2f}" for name in CONTENDERS)
                  + "".join(f"{r:8.2f}" for r in ratios), flush=True)
            note(f"{model} {n}", {"us": {name: s * 1e6 for name, s in row.items()}, "over the best other": ratios})
            del graphs
        del layers, pruned
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
finish(f"gate, up and SwiGLU of {', '.join(MODELS)}: {short} cases out of time, {wrong} results wrong", short + wrong > 0)
