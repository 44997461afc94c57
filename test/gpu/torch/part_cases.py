"""Shapes, types and tolerances of PyTorch's own tests of semi-structured sparsity (test_sparse_semi_structured.py),
rewritten for heddle.torch: linear with bias and activation in every batch shape, mm with the sparse operand first
and second, refusals, conversions, scaled fp8, an MLP under torch.compile."""
import itertools
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from common import DEVICE, finish, left, note, sparse_weight, uniform

OUT = {torch.int8: torch.int32, torch.float16: torch.float16, torch.bfloat16: torch.bfloat16,
       torch.float32: torch.float32}
TOLERANCE = {torch.int8: (1e-3, 1e-3), torch.float16: (1e-3, 1e-3), torch.bfloat16: (5e-3, 5e-3),
             torch.float32: (1e-3, 75e-2)}
ACTS = {None: lambda y: y, "relu": torch.relu, "silu": torch.nn.functional.silu}


def close(got, want, dtype):
    rtol, atol = TOLERANCE[dtype]
    torch.testing.assert_close(got.float(), want.float(), rtol=rtol, atol=atol)


def linear(dtype, batch, m, n, k, with_bias, act):
    import heddle.torch as ht
    weight, x = sparse_weight(m, k, dtype), uniform((*batch, n, k), dtype)
    bias = uniform((m,), OUT[dtype] if dtype != torch.int8 else torch.int8).to(OUT[dtype]) if with_bias else None
    want = ACTS[act](torch.nn.functional.linear(x.double(), weight.double(), bias.double() if with_bias else None))
    got = ht.linear(x, ht.pack(weight), m, bias, act or "none")
    assert got.dtype == OUT[dtype] and got.shape == (*batch, n, m)
    close(got, want, dtype)


def linear_cases(dtype):
    for batch, i, j, l, with_bias, act in itertools.product(([], [3], [3, 1]), range(3), range(3), range(3),
                                                             (False, True), ACTS):
        if not (act == "silu" and dtype == torch.int8):  # PyTorch has no SiLU of integers
            yield linear, (dtype, batch, 32 << i, 32 << j, 128 << l, with_bias, act)


def as_backend(weight):
    import heddle.torch as ht
    return ht.SparseSemiStructuredTensorHeddle.from_dense(weight)


def product(a, b):
    return a.double() @ b.double()


def mm_first(dtype, shape, transposed):
    """torch.mm(W, B) and torch.mm(W, B.t()), W 256 x 128."""
    a, b = sparse_weight(256, 128, dtype), uniform(shape, dtype)
    b = b.t() if transposed else b
    close(torch.mm(as_backend(a), b), product(a, b), dtype)


def mm_second(dtype, shape):
    """torch.mm(x, W.t()), W 256 x 128."""
    a, b = uniform(shape, dtype), sparse_weight(256, 128, dtype)
    close(torch.mm(a, as_backend(b).t()), product(a, b.t()), dtype)


def refused(dtype, which):
    """torch.mm(W.t(), B) and torch.mm(x, W): NotImplementedError, as with PyTorch's backends."""
    w, x = as_backend(sparse_weight(128, 128, dtype)), uniform((128, 128), dtype)
    try:
        torch.mm(w.t(), x) if which == "first" else torch.mm(x, w)
    except NotImplementedError:
        return
    raise AssertionError("was not refused")


def layer(dtype, shape, inference):
    """nn.Linear with the weight replaced gives the same numbers."""
    linear, x = torch.nn.Linear(128, 256).to(DEVICE).to(dtype), torch.rand(shape, device=DEVICE).to(dtype)
    linear.weight = torch.nn.Parameter(linear.weight.detach() * (sparse_weight(256, 128, dtype) != 0))
    want = linear(x)
    linear.weight = torch.nn.Parameter(as_backend(linear.weight.detach()), requires_grad=False)
    with torch.inference_mode(inference):
        close(linear(x), want, dtype)


def mlp(dtype, shape, compiled):
    import heddle.torch as ht
    net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128)).to(DEVICE).to(dtype)
    for i in (0, 2):
        net[i].weight = torch.nn.Parameter(ht.prune(net[i].weight.detach()))
    x = torch.rand(shape, device=DEVICE).to(dtype)
    with torch.no_grad():
        want = net(x)
        ht.sparsify(net, compile=False)
        got = (torch.compile(net, fullgraph=True) if compiled else net)(x)
    close(got, want, dtype)


def unsupported(what):
    """What PyTorch refuses, too: a dtype, a dimension, a shape that is not divisible by the group."""
    bad = {"dtype": torch.ones(128, 128, dtype=torch.float64, device=DEVICE),
           "dim": torch.ones(128, 128, 128, dtype=torch.float16, device=DEVICE),
           "shape": torch.ones(4, 3, dtype=torch.float16, device=DEVICE)}[what]
    try:
        as_backend(bad)
    except RuntimeError as error:
        assert f"original_tensor.{what}" in str(error)
        return
    raise AssertionError("was not refused")


def conversion(dtype, m, k):
    weight = sparse_weight(m, k, dtype)
    w = as_backend(weight)
    torch.testing.assert_close(w.to_dense(), weight, rtol=0, atol=0)
    values = w.values()
    groups = k // (2 if dtype == torch.float32 else 4)
    assert values.shape == (m, k // 2) and w.indices().shape == (m, (groups + 1) // 2)
    torch.testing.assert_close(values, weight.masked_select(weight != 0).view(m, -1), rtol=0, atol=0)


def added(dtype, batch, m, n, k, with_bias):
    """A residual that the kernel adds: its rows lie together, or in a wider matrix."""
    import heddle.torch as ht
    weight, x = sparse_weight(m, k, dtype), uniform((*batch, n, k), dtype)
    bias = uniform((m,), dtype) if with_bias else None
    wide = uniform((*batch, n, m + 24), dtype)
    want = torch.nn.functional.linear(x.double(), weight.double(), bias.double() if with_bias else None)
    for residual in (wide[..., :m].contiguous(), wide[..., :m]):
        got = ht.linear(x, ht.pack(weight), m, bias, addend=residual)
        assert got.dtype == dtype and got.shape == (*batch, n, m)
        close(got, want + residual.double(), dtype)


def scaled(shape, out, with_bias, with_addend=False):
    """fp8 with row and token scales compared with torch._scaled_mm of the dense weight."""
    import heddle.torch as ht
    w, x = sparse_weight(256, 128, torch.bfloat16), torch.randn(shape, device=DEVICE)
    qw, sw = ht.quantize_rows(w)
    qx, sx = ht.quantize_rows(x)
    bias = torch.randn(256, device=DEVICE).to(out) if with_bias else None
    residual = torch.randn(len(x), 256, device=DEVICE).to(out) if with_addend else None
    got = ht.scaled_linear(qx, ht.pack(qw), sx, sw, 256, bias, out_dtype=out, addend=residual)
    want = (qx.double() * sx[:, None]) @ (qw.double() * sw[:, None]).t() + (bias.double() if with_bias else 0)
    want = want + (residual.double() if with_addend else 0)
    torch.testing.assert_close(got.double(), want, rtol=7e-2, atol=7e-2)  # PyTorch's: fp8 adds with fewer bits
    if out == torch.bfloat16 and not with_addend:
        dense = torch._scaled_mm(qx, qw.t(), sx[:, None], sw[None, :], bias=bias, out_dtype=out)
        torch.testing.assert_close(got, dense, rtol=2e-2, atol=2e-2)


def imported(dtype, m, k):
    """The dense weight from cuSPARSELt's form, and from the tensors that hold it."""
    import heddle.torch as ht
    if DEVICE != "cuda":
        return
    weight = sparse_weight(m, k, torch.bfloat16).to(dtype)
    assert torch.equal(ht.dense_of(torch._cslt_compress(weight), k).float(), weight.float())
    if dtype.itemsize == 2:
        for backend in (torch.sparse.SparseSemiStructuredTensorCUSPARSELT, torch.sparse.SparseSemiStructuredTensorCUTLASS):
            assert torch.equal(ht.pack(ht.dense_of(backend.from_dense(weight))), ht.pack(weight)), backend


def small_cases():
    for dtype, (m, k) in itertools.product((torch.bfloat16, torch.float16, torch.int8, torch.float8_e4m3fn),
                                           ((64, 128), (256, 2112))):
        yield imported, (dtype, m, k)
    for dtype in OUT:
        for shape in ((128, 1), (128, 64), (128, 128)):
            yield mm_first, (dtype, shape, False)
        for shape in ((1, 128), (64, 128), (128, 128)):
            yield mm_first, (dtype, shape, True)
            yield mm_second, (dtype, shape)
        for which in ("first", "second"):
            yield refused, (dtype, which)
        for m, k in ((32, 128), (32, 256), (64, 128), (64, 256), (1, 4), (4, 4)):
            yield conversion, (dtype, m, k)
    for dtype, shape, inference in itertools.product((torch.float16, torch.bfloat16), ((1, 128), (64, 128), (128, 128)),
                                                     (False, True)):
        yield layer, (dtype, shape, inference)
    for shape in ((1, 128), (64, 128), (128, 128), (64, 128, 128)):
        for compiled in (False, True):
            yield mlp, (torch.float16, shape, compiled)
    for what in ("dtype", "dim", "shape"):
        yield unsupported, (what,)
    for shape, out, with_bias in itertools.product(((256, 128), (1, 128), (64, 128)),
                                                   (torch.bfloat16, torch.float16, torch.float32), (False, True)):
        yield scaled, (shape, out, with_bias)
        yield scaled, (shape, out, with_bias, True)
    for dtype, batch, n, with_bias in itertools.product((torch.float16, torch.bfloat16, torch.float32), ([], [3, 1]),
                                                        (1, 32, 130), (False, True)):
        yield added, (dtype, batch, 192, n, 256, with_bias)


def shuffled(cases):
    """A fixed random order that keeps cases of one kernel together: what fits into the time is a sample of all."""
    groups = {}
    for function, parameters in cases:
        kernel = (parameters[0], *parameters[2:3], *parameters[4:]) if function is linear else (function, parameters)
        groups.setdefault(kernel, []).append((function, parameters))
    order = list(groups.values())
    random.Random(1).shuffle(order)
    return [case for group in order for case in group]


def make_kernels(cases):
    """Compiles the kernels of the next linear cases, several in parallel."""
    from heddle.torch import _plans
    keys = []
    for function, parameters in cases:
        if function is linear and DEVICE == "cuda":
            dtype, batch, m, n, k, with_bias, act = parameters
            bias = (torch.float32 if dtype == torch.int8 else OUT[dtype]) if with_bias else None
            n_tokens = n * (3 if batch else 1)
            key = _plans.Key(0, dtype, OUT[dtype], bias, act or "none", False, m, k)
            keys.append(key.at(_plans.bucket_of(_plans.buckets(key, _plans.runtime().target(0)), n_tokens)))
    if keys:
        with torch.cuda.device(0):
            _plans.make_ahead(keys, threads=4)


AT_ONCE = 90  # cases whose kernels are compiled together


def run_share(share):
    """(passed, failures, left out) of the cases of one process."""
    torch.manual_seed(share)
    cases = list(small_cases()) if share == 0 else shuffled(linear_cases(list(OUT)[share - 1]))
    passed, failures, skipped = 0, [], 0
    for i, (function, parameters) in enumerate(cases):
        if i % AT_ONCE == 0 and left() > 12:
            make_kernels(cases[i:i + AT_ONCE])
        if left() < 5:
            skipped += 1
            continue
        try:
            function(*parameters)
            passed += 1
        except Exception as error:
            failures.append(f"{function.__name__}{parameters}: {type(error).__name__}: {str(error)[:300]}")
    return passed, failures, skipped


if __name__ == "__main__":
    import heddle.torch  # noqa: F401  (compiles the extension once, before the processes start)
    with ProcessPoolExecutor(5, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(run_share, range(5)))
    passed, skipped = sum(r[0] for r in results), sum(r[2] for r in results)
    failures = [text for r in results for text in r[1]]
    print("\n".join(failures[:20]))
    note("passed", passed), note("failed", len(failures)), note("out_of_time", skipped)
    finish(f"{passed} passed, {len(failures)} failed, {skipped} out of time", bool(failures))
