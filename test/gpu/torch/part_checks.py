"""torch.library.opcheck; graph breaks on a Llama block; dynamic numbers of tokens; CUDA-graph trees; export."""
import copy
import re
import traceback

import torch
from common import DEVICE, finish, kernels_of, left, note, sparse_weight
from llama_block import NORMS, Block
from torch._inductor.utils import fresh_inductor_cache, run_and_get_code

import heddle.torch as ht

ALL_UTILS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
results = {}


def check(function):
    if left() < 3:
        results[function.__name__] = "out of time"
        return
    try:
        results[function.__name__] = f"ok {function() or ''}".strip()
    except Exception as error:
        traceback.print_exc(limit=4)
        results[function.__name__] = f"FAILED {type(error).__name__}: {str(error)[:200]}"
    print(f"{function.__name__}: {results[function.__name__]}", flush=True)


def op_arguments():
    w = sparse_weight(96, 256, torch.bfloat16)
    x, bias = torch.randn(7, 256, device=DEVICE).bfloat16(), torch.randn(96, device=DEVICE).bfloat16()
    yield x, ht.pack(w), 96
    yield x, ht.pack(w), 96, bias, None, None, "silu"
    yield x.view(7, 1, 256), ht.pack(w), 96, bias
    residual = torch.randn(7, 1, 120, device=DEVICE).bfloat16()[..., :96]
    yield x.view(7, 1, 256), ht.pack(w), 96, bias, None, None, "none", None, residual
    for dtype in (torch.int8, torch.float8_e4m3fn):
        (qw, sw), (qx, sx) = ht.quantize_rows(w, dtype), ht.quantize_rows(x, dtype)
        yield qx, ht.pack(qw), 96, None, sx, sw, "none", torch.bfloat16
        yield qx, ht.pack(qw), 96, None, sx, sw, "none", torch.bfloat16, residual[:, 0]


def norm_arguments():
    """Of linear_norm: sums given, wanted, both."""
    x, w = torch.randn(7, 256, device=DEVICE).bfloat16(), sparse_weight(128, 256, torch.bfloat16)
    sums = x.float().view(7, 2, 128).square().sum(-1).t().contiguous()
    residual, bias = torch.randn(7, 128, device=DEVICE).bfloat16(), torch.randn(128, device=DEVICE).bfloat16()
    yield x, ht.pack(w), 128, bias, "silu", None, sums, 1e-5
    yield x, ht.pack(w), 128, bias, "none", residual, None, 0.0, True
    yield x, ht.pack(w), 128, None, "none", residual, sums, 1e-5, True
    yield x.view(7, 1, 256), ht.pack(w, pair=True), 64, None, "swiglu", None, sums, 1e-5


def opcheck():
    n = 0
    for arguments in op_arguments():
        fp8 = arguments[0].dtype == torch.float8_e4m3fn  # opcheck's schema test multiplies its inputs: not for fp8
        utils = ("test_faketensor", "test_aot_dispatch_dynamic") if fp8 else ALL_UTILS
        torch.library.opcheck(torch.ops.heddle.linear.default, arguments, test_utils=utils)
        n += 1
    x, packed, m = next(op_arguments())
    residual = torch.randn(7, m, device=DEVICE).bfloat16().requires_grad_()
    for op in (torch.ops.heddle.linear, torch.ops.heddle.linear_with_grad):
        torch.library.opcheck(op.default, (x.clone().requires_grad_(), packed, m))
        torch.library.opcheck(op.default, (x.clone().requires_grad_(), packed, m, None, None, None, "none", None, residual))
    w = sparse_weight(96, 256, torch.bfloat16)
    torch.library.opcheck(torch.ops.heddle.masked_linear.default,
                          (x.clone().requires_grad_(), w.clone().requires_grad_(), ht.pack(w)))
    for arguments in norm_arguments():
        torch.library.opcheck(torch.ops.heddle.linear_norm.default, arguments)
        n += 1
    return f"{n + 5} calls"


def small_block(dtype=None):
    torch.manual_seed(3)
    block = Block(256, 4, 2, 512).to(DEVICE).eval()
    for layer in block.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.data = ht.prune(layer.weight.data)
    return block, ht.sparsify(copy.deepcopy(block), dtype=dtype)


def near(got, want):
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)


@torch.no_grad()
def graph_breaks():
    dense, sparse = small_block()
    x = torch.randn(48, 256, device=DEVICE).bfloat16()
    explained = torch._dynamo.explain(sparse)(x)
    note("graph_breaks", explained.graph_break_count)
    assert explained.graph_break_count == 0, explained.break_reasons
    near(sparse(x), dense(x))
    return f"{explained.graph_break_count} breaks, {explained.graph_count} graph"


WITH_ADDEND = r"torch.ops.heddle.linear.default\(.*'none', (?:None|torch\.\w+), (?!addend|None)"  # in Inductor's code


def compiled_with(sparse, x, **settings):
    """(output, Inductor's code, kernels of a call) of a block that was compiled with these settings."""
    torch._dynamo.reset()
    before = dict(ht.settings)
    ht.settings.update(settings)
    compiled = torch.compile(sparse, fullgraph=True)
    try:
        with fresh_inductor_cache():
            y, (code, *_) = run_and_get_code(compiled, x)
            n_kernels = 0
            if DEVICE == "cuda":
                n_kernels = int(kernels_of(lambda: compiled(x)).split()[-2])
    finally:
        ht.settings.update(before)
    return y, code, n_kernels


@torch.no_grad()
def residuals():
    """A compiled block adds both residuals in its kernels, bf16 and fp8, and is as accurate as in eager mode."""
    said = []
    for dtype in (None, torch.float8_e4m3fn):
        dense, sparse = small_block(dtype)
        x = torch.randn(48, 256, device=DEVICE).bfloat16()
        want = dense.double()(x.double())
        (fused, code, n_kernels), (_, other, more) = (compiled_with(sparse, x, fuse_add=on) for on in (True, False))
        n_added, none = (len(re.findall(WITH_ADDEND, one)) for one in (code, other))
        assert (n_added, none) == (2, 0), f"{n_added} addends, {none} with fuse_add off"
        assert n_kernels < more or DEVICE != "cuda", f"{n_kernels} kernels, {more} with fuse_add off"
        apart, eager = ((y.double() - want).abs().mean().item() for y in (fused, sparse(x)))
        assert apart <= 1.05 * eager, f"mean error {apart}, {eager} in eager mode"
        said.append(f"{n_kernels} kernels ({more} with fuse_add off), mean error {apart:.1e} (eager {eager:.1e})")
    return "; ".join(said)


@torch.no_grad()
def norms():
    """Compiled blocks normalise in their kernels, for any number of tokens, and are as accurate as with norms of their own.
    One token in two is so small that eps matters."""
    torch.manual_seed(6)
    dense = torch.nn.Sequential(Block(256, 4, 2, 512), Block(256, 4, 2, 512)).to(DEVICE).eval().requires_grad_(False)
    for block in dense:
        for name, (layer,) in NORMS.items():
            torch.nn.init.uniform_(getattr(block, name).weight, 0.5, 2)
            setattr(block, name, ht.fold_norm(getattr(block, name), block.get_submodule(layer)))
    for layer in dense.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.data = ht.prune(layer.weight.data)
    sparse, x = ht.sparsify(copy.deepcopy(dense)), torch.randn(48, 256, device=DEVICE).bfloat16()
    x[::2] *= 2e-3
    exact = dense.double()
    want = exact(x.double())
    (fused, code, n_kernels), (apart, other, more) = (compiled_with(sparse, x, fuse_norm=how) for how in ("always", False))
    n_ops, none = (one.count("torch.ops.heddle.linear_norm.default(") for one in (code, other))
    assert (n_ops, none) == (7, 0), f"{n_ops} ops with norms, {none} with fuse_norm off"
    assert n_kernels < more or DEVICE != "cuda", f"{n_kernels} kernels, {more} with fuse_norm off"
    errors = [(y.double() - want).abs().mean().item() for y in (fused, apart)]
    assert errors[0] <= 1.05 * errors[1], f"mean error {errors[0]}, {errors[1]} with fuse_norm off"
    ht.settings["fuse_norm"] = "always"
    try:
        torch._dynamo.reset()
        compiled = torch.compile(sparse, fullgraph=True, dynamic=True)
        for n in (33, 48, 7, 1, 130, 600, 2100):
            x = torch.randn(n, 256, device=DEVICE).bfloat16()
            near(compiled(x), exact(x.double()).bfloat16())
    finally:
        ht.settings["fuse_norm"] = True
    return f"{n_kernels} kernels ({more} with fuse_norm off), mean error {errors[0]:.1e} ({errors[1]:.1e})"


@torch.no_grad()
def dynamic_tokens():
    dense, sparse = small_block()
    compiled = torch.compile(sparse, fullgraph=True, dynamic=True)
    counter = torch._dynamo.utils.counters
    for n in (33, 48, 7, 130, 600):
        x = torch.randn(n, 256, device=DEVICE).bfloat16()
        near(compiled(x), dense(x))
    return f"{counter['stats'].get('unique_graphs', '?')} graphs in this process"


@torch.no_grad()
def cudagraph_trees():
    dense, sparse = small_block()
    compiled = torch.compile(sparse, mode="reduce-overhead", fullgraph=True)
    for i in range(4):
        x = torch.randn(48, 256, device=DEVICE).bfloat16()
        near(compiled(x).clone(), dense(x))


@torch.no_grad()
def export():
    dense, sparse = small_block()
    x = torch.randn(48, 256, device=DEVICE).bfloat16()
    program = torch.export.export(sparse, (x,), dynamic_shapes=({0: torch.export.Dim("tokens", min=2, max=4096)},))
    x = torch.randn(96, 256, device=DEVICE).bfloat16()
    near(program.module()(x), dense(x))


def gradients():
    """Gradients of x, weight and bias, compared with the dense layer, in eager mode and compiled."""
    torch.manual_seed(5)
    layer = torch.nn.Linear(256, 128, device=DEVICE).bfloat16()
    sparse = ht.TrainableSparseLinear(layer)
    layer.weight.data = sparse.weight.data.clone()
    x = torch.randn(64, 256, device=DEVICE).bfloat16()
    for run in (sparse, torch.compile(sparse, fullgraph=True)):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        sparse.zero_grad(), layer.zero_grad()
        run(a).square().sum().backward(), layer(b).square().sum().backward()
        for got, want in ((a.grad, b.grad), (sparse.weight.grad, layer.weight.grad * (layer.weight != 0)),
                          (sparse.bias.grad, layer.bias.grad)):
            torch.testing.assert_close(got, want, rtol=3e-2, atol=3e-1)


def without_extension():
    """The Python ops, used without a compiler, give the same numbers."""
    from heddle.torch import _ops
    form = _ops._launch_form if DEVICE == "cuda" else _ops._dense_form
    for arguments in op_arguments():
        torch.testing.assert_close(form(*arguments), torch.ops.heddle.linear(*arguments), rtol=0, atol=0)
    form = _ops._norm_launch_form if DEVICE == "cuda" else _ops._norm_dense_form
    for arguments in norm_arguments():
        torch.testing.assert_close(form(*arguments), torch.ops.heddle.linear_norm(*arguments), rtol=0, atol=0)


print("extension:", *ht.extension())
for one in (graph_breaks, residuals, norms, without_extension, gradients, dynamic_tokens, export, cudagraph_trees, opcheck):
    if DEVICE == "cuda" or one is not cudagraph_trees:
        check(one)
note("results", results)
bad = [name for name, said in results.items() if not said.startswith("ok")]
finish(f"{len(results) - len(bad)} of {len(results)} ok" + "".join(f"; {name}" for name in bad), bool(bad))
