"""Shared by the parts: arguments, a clock, figures, and operands without zeros."""
import argparse
import json
import math
import time

import torch


parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=60)
parser.add_argument("--json")
parser.add_argument("--dense", default="default", help="llama: a mode of torch.compile; dense runs in it, too")
parser.add_argument("--tokens", default="4096,1,512,64", help="llama: numbers of tokens, in this order")
parser.add_argument("--only", help="llama: these contenders, and dense bf16")
parser.add_argument("--ready", action="store_true", help="llama: programmatic dependent launch")
parser.add_argument("--no-workspace", action="store_true", help="llama: schedules that need none")
parser.add_argument("--no-fuse-add", action="store_true", help="llama: residuals are added behind Heddle's kernels")
parser.add_argument("--fold-norms", nargs="?", const="model", choices=("model", "always", "off"),
                    help="llama: Heddle's bf16 kernels normalise, where the cost model says so, always, or never")
parser.add_argument("--profile", type=int, help="llama: the kernels at so many tokens; training: 1")
args = parser.parse_args()
START = time.time()
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # without a GPU the dense form runs, to test the script
figures = {}


def left():
    """Seconds that are left to this part."""
    return args.seconds - (time.time() - START)


def note(name, value):
    figures[name] = value


def finish(line, code=0):
    print(line, flush=True)
    if args.json:
        json.dump(dict(figures, summary=line), open(args.json, "w"), indent=1)
    raise SystemExit(code)


def sparse_weight(m, k, dtype, device=DEVICE):
    """A random weight with exactly two of four (float32: one of two) non-zeros."""
    group, kept = (2, 1) if dtype == torch.float32 else (4, 2)
    keep = torch.rand(m, k // group, group, device=device).argsort(-1).argsort(-1) < kept
    values = uniform((m, k), dtype, device)
    return torch.where(keep.view(m, k), values, torch.zeros((), dtype=dtype, device=device))


def uniform(shape, dtype, device=DEVICE):
    """Uniform in [-9, 9), integers for int8, without zeros, as torch.testing.make_tensor makes them."""
    if dtype == torch.int8:
        values = torch.randint(-9, 9, shape, device=device)
        return torch.where(values == 0, 1, values).to(dtype)
    return (torch.rand(shape, device=device) * 18 - 9).to(dtype)


def median_of(times):
    times = sorted(times)
    return times[len(times) // 2]


def seconds(function, rounds=5):
    """Median time of a call on the device, over rounds."""
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return median_of(times)


def order_of(names, index):
    """The names in the order of a round: it begins with the next one and goes on in other steps than the round before."""
    steps = [step for step in range(1, len(names)) if math.gcd(step, len(names)) == 1] or [0]
    return [names[(index + place * steps[index % len(steps)]) % len(names)] for place in range(len(names))]


def time_graphs(graphs, rounds=7, seconds=0.02):
    """{name: seconds per replay}: medians over interleaved rounds of CUDA graphs, each about `seconds` long."""
    def replay(graph, n):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(n):
            graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / n
    counts = {}
    for name, graph in graphs.items():
        replay(graph, 2)
        counts[name] = max(2, int(seconds / max(replay(graph, 3), 1e-6)))
    times = {name: [] for name in graphs}
    for index in range(rounds):
        for name in order_of(list(graphs), index):
            times[name].append(replay(graphs[name], counts[name]))
    return {name: median_of(t) for name, t in times.items()}


def kernels_of(function, rounds=5, shown=24):
    """The kernels that a call runs, with number, mean time and mean idle time before them in µs per call, the longest first;
    and the sums."""
    for _ in range(2):
        function()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(rounds):
            function()
        torch.cuda.synchronize()
    events = sorted((e.time_range.start, e.time_range.end, e.name) for e in profile.events()
                    if e.device_type == torch.autograd.DeviceType.CUDA)
    rows, last = {}, events[0][0] if events else 0
    for start, end, name in events:
        us, idle, count = rows.get(name, (0, 0, 0))
        rows[name] = us + end - start, idle + max(start - last, 0), count + 1
        last = max(last, end)
    rows = sorted(((us / rounds, idle / rounds, count / rounds, name) for name, (us, idle, count) in rows.items()), reverse=True)
    lines = [f"{us:10.1f} us {idle:6.1f} idle {count:6.1f} x {name[:90]}" for us, idle, count, name in rows[:shown]]
    us, idle, count = (sum(row[i] for row in rows) for i in range(3))
    return "\n".join([*lines, f"{us:10.1f} us in all, {idle:.1f} idle, {count:.0f} kernels"])


def capture(function):
    """A CUDA graph of one call, after three calls on the side stream."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        graph.result = function()
    return graph
