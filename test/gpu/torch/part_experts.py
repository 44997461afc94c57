"""Grouped dense products of PyTorch, torch._grouped_mm (bf16) and torch._scaled_grouped_mm (e4m3), for the cases of
heddle bench --groups: microseconds per launch in a CUDA graph, with cold weights. That bench prints Heddle's times."""
import itertools

import torch
from common import DEVICE, finish, left, median_of, note

M, K, COLD_BYTES = 4096, 2048, 256 << 20
if DEVICE != "cuda":
    finish("skipped: no GPU")


def sizes(routing, groups, tokens):
    """Balanced, or Zipf with exponent 1 in a random order, as lib/Reference/routing.c distributes tokens."""
    if routing == "balanced":
        return [tokens * (i + 1) // groups - tokens * i // groups for i in range(groups)]
    total = sum(1 / (i + 1) for i in range(groups))
    rest = [int(tokens / total / (i + 1)) for i in range(1, groups)]
    shares = [tokens - sum(rest)] + rest
    return [shares[i] for i in torch.randperm(groups, generator=torch.Generator().manual_seed(1)).tolist()]


def product(kind, groups, tokens, offsets):
    """A call with its own operands."""
    if kind == "bf16":
        x = torch.randn(tokens, K, device=DEVICE).bfloat16()
        w = torch.randn(groups, M, K, device=DEVICE, dtype=torch.bfloat16)
        return lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=offsets)
    x = torch.randn(tokens, K, device=DEVICE).to(torch.float8_e4m3fn)
    w = torch.cat([torch.randn(1, M, K, device=DEVICE).to(torch.float8_e4m3fn) for _ in range(groups)])
    scale_x, scale_w = torch.ones(tokens, device=DEVICE), torch.ones(groups, M, device=DEVICE)
    return lambda: torch._scaled_grouped_mm(x, w.transpose(-2, -1), scale_x, scale_w, offs=offsets,
                                            out_dtype=torch.bfloat16)


def microseconds(calls):
    """Time of one call: the median of nine replays of a graph that makes all of them four times."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for call in calls * 4:
            call()
    for _ in range(9):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / 4 / len(calls))
    return median_of(times)


cases = list(itertools.product(("bf16", "e4m3"), (8, 64), (64, 8192, 32768), ("balanced", "zipf")))
done = 0
print(f"torch {torch.__version__}\n{'type':6} {'g':>4} {'routing':>9} {'tokens':>6} {'torch_us':>10}")
for kind, groups, tokens, routing in cases:
    if left() < 5:
        break
    offsets = torch.tensor(sizes(routing, groups, tokens), device=DEVICE).cumsum(0).to(torch.int32)
    weights = groups * M * K * (2 if kind == "bf16" else 1)
    us = microseconds([product(kind, groups, tokens, offsets) for _ in range(min(4, COLD_BYTES // weights + 1))])
    note(f"{kind} {groups} {routing} {tokens}", us)
    print(f"{kind:6} {groups:4} {routing:>9} {tokens:6} {us:10.2f}", flush=True)
    done += 1
    torch.cuda.empty_cache()
finish(f"{done} of {len(cases)} grouped products of PyTorch timed")
