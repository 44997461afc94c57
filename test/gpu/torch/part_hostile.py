"""Wrong or unusual uses. Each must end in a named error (a rule of Heddle's, or PyTorch's own message) or in the
right result. A crash, a hang or a wrong number is a failure."""
import copy
import ctypes
import io
import subprocess
import sys
import threading
import traceback

import torch
from common import DEVICE, finish, left, note, sparse_weight
from torch import nn

import heddle.torch as ht
from heddle import HeddleError

M, K = 192, 256
USES = []


def use(function):
    USES.append(function)
    return function


def weight(dtype=torch.bfloat16, m=M, k=K):
    return sparse_weight(m, k, dtype)


def tokens(n=24, k=K, dtype=torch.bfloat16):
    return torch.randn(n, k, device=DEVICE).to(dtype)


def right(got, x, w, bias=None):
    want = x.double().reshape(-1, w.shape[1]) @ w.double().t() + (0 if bias is None else bias.double())
    torch.testing.assert_close(got.double().reshape(want.shape), want, rtol=1e-2, atol=1e-2 * w.shape[1] ** 0.5)
    return "right"


def named(function, *arguments, rule=None, **more):
    """The message of a refusal. It must name its rule, or be PyTorch's own."""
    try:
        function(*arguments, **more)
        if DEVICE == "cuda":
            torch.cuda.synchronize()
    except (HeddleError, RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        text = str(error)
        assert "CUDA error" not in text and "illegal" not in text, text
        assert rule is None or rule in text, f"expected {rule}: {text}"
        return "refused: " + text.strip().splitlines()[0][:110]
    raise AssertionError("was not refused")


# ---- wrong operands ----

@use
def x_of_float64():
    return named(ht.linear, tokens(dtype=torch.float64), ht.pack(weight()), M, rule="torch.dtype")


@use
def x_of_another_type_than_the_layer():
    layer = ht.SparseLinear.from_linear(nn.Linear(K, M, device=DEVICE).bfloat16())
    return named(layer, tokens(dtype=torch.float16), rule="torch.dtype")


@use
def packed_too_short():
    return named(ht.linear, tokens(), ht.pack(weight())[:-128].contiguous(), M, rule="torch.packed" if DEVICE == "cuda"
                 else "sparse.bytes")


@use
def packed_of_another_size():
    return named(ht.linear, tokens(), ht.pack(weight()), M + 64)


@use
def packed_of_floats():
    return named(ht.linear, tokens(), weight(), M, rule="torch.packed")


@use
def packed_on_the_cpu():
    return named(ht.linear, tokens(), ht.pack(weight()).cpu(), M, rule="torch.device") if DEVICE == "cuda" else "skip"


@use
def x_on_the_cpu():
    return named(ht.linear, tokens().cpu(), ht.pack(weight()), M) if DEVICE == "cuda" else "skip"


@use
def bias_on_the_cpu():
    return named(ht.linear, tokens(), ht.pack(weight()), M, torch.ones(M).bfloat16(), rule="torch.device") \
        if DEVICE == "cuda" else "skip"


@use
def bias_too_short():
    return named(ht.linear, tokens(), ht.pack(weight()), M, torch.ones(M - 1, device=DEVICE).bfloat16())


@use
def bias_of_float64():
    return named(ht.linear, tokens(), ht.pack(weight()), M, torch.ones(M, device=DEVICE, dtype=torch.float64),
                 rule="torch.bias") if DEVICE == "cuda" else "skip"


@use
def one_of_two_scales():
    q, s = ht.quantize_rows(weight())
    x, _ = ht.quantize_rows(tokens())
    return named(torch.ops.heddle.linear, x, ht.pack(q), M, None, None, s, rule="torch.scales")


@use
def too_few_token_scales():
    q, s = ht.quantize_rows(weight())
    x, sx = ht.quantize_rows(tokens())
    return named(ht.scaled_linear, x, ht.pack(q), sx[:-1], s, M)


@use
def an_unknown_activation():
    return named(ht.linear, tokens(), ht.pack(weight()), M, act="swish", rule="torch.act")


@use
def x_without_dimensions():
    return named(ht.linear, torch.ones((), device=DEVICE).bfloat16(), ht.pack(weight()), M, rule="torch.shape")


@use
def x_of_another_k():
    return named(ht.linear, tokens(k=K + 64), ht.pack(weight()), M)


@use
def zero_output_features():
    return named(ht.linear, tokens(), ht.pack(weight()), 0, rule="torch.shape")


@use
def in_features_no_group_divides():
    return named(ht.SparseLinear.from_linear, nn.Linear(K + 2, M, device=DEVICE).bfloat16(), rule="sparse.shape")


@use
def a_dense_weight_without_pruning():
    return named(ht.SparseLinear.from_linear, nn.Linear(K, M, device=DEVICE).bfloat16(), prune=False,
                 rule="sparse.not-2-4")


@use
def a_state_of_another_shape():
    layer = ht.SparseLinear(K, M, device=DEVICE)
    return named(layer.load_state_dict, ht.SparseLinear(K, M + 64, device=DEVICE).state_dict())


@use
def a_state_of_another_format():
    layer = ht.SparseLinear(K, M, device=DEVICE)
    state = layer.state_dict()
    state["_extra_state"]["format"] = 2
    return named(layer.load_state_dict, state, rule="torch.state-format")


@use
def a_gradient_through_scales():
    (q, s), (x, sx) = ht.quantize_rows(weight(), torch.int8), ht.quantize_rows(tokens(), torch.int8)
    bias = torch.zeros(M, device=DEVICE).requires_grad_()
    return named(lambda: ht.scaled_linear(x, ht.pack(q), sx, s, M, bias).sum().backward(), rule="torch.autograd")


@use
def a_gradient_through_activations():
    w, gate, said = weight(), weight(), []
    for act, function in (("silu", torch.nn.functional.silu), ("swiglu", None)):
        x = tokens().requires_grad_()
        if act == "swiglu":
            ht.linear(x, ht.pack(torch.cat((gate, w)), pair=True), M, act=act).float().square().mean().backward()
        else:
            ht.linear(x, ht.pack(w), M, act=act).float().square().mean().backward()
        z = x.detach().float().requires_grad_()
        y = function(z @ w.float().t()) if function else torch.nn.functional.silu(z @ gate.float().t()) * (z @ w.float().t())
        y.square().mean().backward()
        torch.testing.assert_close(x.grad.float(), z.grad, rtol=0.1, atol=0.02 * z.grad.abs().max().item())
        said.append(act)
    return "right: " + ", ".join(said)


@use
def pairs_of_seven_features():
    return named(ht.linear, tokens(), ht.pack(weight(m=16), pair=True), 7, act="swiglu", rule="torch.pair")


@use
def a_plain_weight_as_a_pair():
    return named(ht.linear, tokens(), ht.pack(weight()), M, act="swiglu", rule="torch.packed" if DEVICE == "cuda"
                 else "sparse.bytes")


@use
def a_state_of_a_pair_in_a_plain_layer():
    state = ht.SparseLinear(K, 96, device=DEVICE, act="swiglu").state_dict()
    return named(ht.SparseLinear(K, 192, device=DEVICE).load_state_dict, state)


@use
def gate_and_up_in_one_kernel():
    gate, up, x = weight(m=96), weight(m=96), tokens()
    for n in (1, 9, 24):
        y = ht.linear(x[:n], ht.pack(torch.cat((gate, up)), pair=True), 96, act="swiglu")
        want = torch.nn.functional.silu(x[:n].float() @ gate.float().t()) * (x[:n].float() @ up.float().t())
        torch.testing.assert_close(y.float(), want, rtol=2e-2, atol=2e-2 * want.abs().max().item())
    return "right"


@use
def addends_of_another_shape():
    x, packed, said = tokens(), ht.pack(weight()), []
    for shape in ((24, M + 8), (23, M), (M,), (1, 24, M), (24, 1, M), (M, 24)):
        said.append(named(ht.linear, x, packed, M, addend=torch.ones(shape, device=DEVICE).bfloat16(), rule="torch.shape"))
    return said[-1]


@use
def addends_of_another_type():
    for dtype in (torch.float32, torch.float16, torch.float64, torch.int32):
        said = named(ht.linear, tokens(), ht.pack(weight()), M, addend=torch.ones(24, M, device=DEVICE).to(dtype),
                     rule="torch.addend")
    return said


@use
def an_addend_of_integers():
    w, x = weight(dtype=torch.int8), torch.ones(24, K, dtype=torch.int8, device=DEVICE)
    added = torch.ones(24, M, dtype=torch.int32, device=DEVICE)
    return named(ht.linear, x, ht.pack(w), M, addend=added, rule="torch.addend")


@use
def an_addend_on_the_cpu():
    return named(ht.linear, tokens(), ht.pack(weight()), M, addend=torch.ones(24, M).bfloat16(), rule="torch.device") \
        if DEVICE == "cuda" else "skip"


@use
def an_addend_and_an_activation():
    residual, packed = torch.ones(24, M, device=DEVICE).bfloat16(), ht.pack(weight())
    pair = ht.pack(weight(m=2 * M), pair=True)
    said = named(ht.linear, tokens(), pair, M, act="swiglu", addend=residual, rule="torch.addend")
    return said and named(ht.linear, tokens(), packed, M, act="relu", addend=residual, rule="torch.addend")


@use
def a_model_without_matching_layers():
    return named(ht.sparsify, nn.Sequential(nn.ReLU()), rule="torch.pattern")


# ---- unusual operands ----

@use
def x_transposed():
    w, x = weight(), tokens(n=K, k=24).t()
    return right(ht.linear(x, ht.pack(w), M), x, w)


@use
def x_expanded():
    w, x = weight(), tokens(1).expand(24, K)
    return right(ht.linear(x, ht.pack(w), M), x, w)


@use
def nan_behind_rows():
    w, wide = weight(), torch.full((24, K + 40), float("nan"), device=DEVICE).bfloat16()
    wide[:, :K] = tokens()
    return right(ht.linear(wide[:, :K], ht.pack(w), M), wide[:, :K], w)


@use
def nan_behind_the_last_row():
    w, long = weight(), torch.full((40, K), float("nan"), device=DEVICE).bfloat16()
    long[:23] = tokens(23)
    return right(ht.linear(long[:23], ht.pack(w), M), long[:23], w)


@use
def a_misaligned_address():
    w, flat = weight(), torch.randn(24 * K + 1, device=DEVICE).bfloat16()
    x = flat[1:].view(24, K)
    return right(ht.linear(x, ht.pack(w), M), x, w)


@use
def zero_tokens():
    y = ht.linear(tokens(0), ht.pack(weight()), M)
    assert y.shape == (0, M)
    return "right"


@use
def one_token_of_one_dimension():
    w, x = weight(), tokens(1)[0]
    y = ht.linear(x, ht.pack(w), M)
    assert y.shape == (M,)
    return right(y, x[None], w)


@use
def every_count_of_tokens():
    w = weight()
    packed = ht.pack(w)
    for n in (1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 65, 127, 129, 255, 257, 511, 513):
        x = tokens(n)
        right(ht.linear(x, packed, M), x, w)
    return "right"


@use
def seventy_thousand_tokens():
    w, x = weight(), tokens(70001)
    y = ht.linear(x, ht.pack(w), M)
    return right(y[-5:], x[-5:], w)


@use
def odd_sizes():
    w, x = weight(m=77, k=132), tokens(13, 132)
    return right(ht.linear(x, ht.pack(w), 77), x, w)


@use
def infinities_and_nan_in_x():
    w, x = weight(), tokens()
    x[3, 5], x[7, 9] = float("inf"), float("nan")
    y, want = ht.linear(x, ht.pack(w), M), x.float() @ w.float().t()
    assert torch.equal(y[7].isnan(), want[7].isnan()) or y[7].isnan().any()
    keep = [i for i in range(24) if i not in (3, 7)]
    return right(y[keep], x[keep], w)


def plus_value(x, w, added):
    return (x.double() @ w.double().t() + added.double()).bfloat16()


def plus(x, w, residual):
    """Compares the sum with that in double precision."""
    got = ht.linear(x, ht.pack(w), w.shape[0], addend=residual)
    want = x.double() @ w.double().t() + residual.double()
    keep = want.isfinite()
    assert torch.equal(got.isfinite(), keep), "other elements are infinite or NaN"
    torch.testing.assert_close(got.double()[keep], want[keep], rtol=2.0 ** -7, atol=1e-3 * w.shape[1] ** 0.5)
    return "right"


def residual(n=24, m=M, dtype=torch.bfloat16):
    return (torch.randn(n, m, device=DEVICE) * 30).to(dtype)


@use
def an_addend_for_every_count_of_tokens():
    w = weight()
    for n in (1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 65, 127, 129, 255, 257, 511, 513, 2049):
        plus(tokens(n), w, residual(n))
    return "right"


@use
def addends_as_they_may_lie():
    """With NaN between rows, at odd pitches and addresses, transposed, expanded, of every second column."""
    w, x, flat = weight(), tokens(), residual(1, 24 * M + 1)[0]
    for gap in (1, 8, 40):
        wide = torch.full((24, M + gap), float("nan"), device=DEVICE).bfloat16()
        wide[:, :M] = residual()
        plus(x, w, wide[:, :M])
    plus(x, w, flat[1:].view(24, M)), plus(x, w, residual(M, 24).t()), plus(x, w, residual(1).expand(24, M))
    return plus(x, w, residual(24, 2 * M)[:, ::2])


@use
def an_addend_with_nan_and_infinite_rows():
    added = residual()
    added[3], added[7], added[9, 5] = float("nan"), float("inf"), float("nan")
    return plus(tokens(), weight(), added)


@use
def an_addend_that_is_x():
    x, w = tokens(), weight(m=K)
    before = x.clone()
    said = plus(x, w, x)
    assert torch.equal(x, before), "x was written to"
    return said


@use
def an_addend_is_not_written_to():
    added = residual()
    before = added.clone()
    y = ht.linear(tokens(), ht.pack(weight()), M, addend=added)
    assert torch.equal(added, before) and y.data_ptr() != added.data_ptr()
    return "right"


@use
def an_addend_of_no_tokens_and_of_one():
    w, x = weight(), tokens(1)[0]
    y = ht.linear(tokens(0), ht.pack(w), M, addend=residual(0))
    assert y.shape == (0, M)
    y = ht.linear(x, ht.pack(w), M, addend=residual(1)[0] * 0)
    assert y.shape == (M,)
    return right(y, x[None], w)


@use
def an_addend_of_odd_sizes():
    return plus(tokens(13, 132), weight(m=77, k=132), residual(13, 77))


@use
def an_addend_and_a_bias_of_another_type():
    w, x, added, bias = weight(), tokens(), residual(), torch.randn(M, device=DEVICE) * 9
    got = ht.linear(x, ht.pack(w), M, bias, addend=added)
    torch.testing.assert_close(got, plus_value(x, w, added.double() + bias.double()), rtol=2e-2, atol=0.1)
    return "right"


@use
def an_addend_that_wants_a_gradient():
    w, x, added = weight(), tokens(), residual().requires_grad_()
    ht.linear(x, ht.pack(w), M, addend=added).sum().backward()
    assert torch.equal(added.grad, torch.ones_like(added)) and x.grad is None
    with torch.no_grad():
        assert not ht.linear(x, ht.pack(w), M, addend=added).requires_grad
    return "right"


@use
def the_meta_device():
    y = ht.linear(torch.empty(5, K, dtype=torch.bfloat16, device="meta"),
                  torch.empty(ht.packed_bytes(M, K, torch.bfloat16), dtype=torch.uint8, device="meta"), M)
    assert y.shape == (5, M) and y.device.type == "meta"
    return "right"


@use
def copied_and_pickled():
    layer = ht.SparseLinear.from_linear(nn.Linear(K, M, device=DEVICE).bfloat16())
    x, file = tokens(), io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    for other in (copy.deepcopy(layer), torch.load(file, weights_only=False)):
        torch.testing.assert_close(other(x), layer(x), rtol=0, atol=0)
    return "right"


@use
def half_of_a_bf16_layer():
    layer = ht.SparseLinear.from_linear(nn.Linear(K, M, device=DEVICE).bfloat16()).half()
    x = tokens()
    return right(layer(x), x, layer.dense_weight(), layer.bias)


@use
def autocast():
    layer = ht.SparseLinear.from_linear(nn.Linear(K, M, device=DEVICE).bfloat16())
    x = tokens(dtype=torch.float32)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        return right(layer(x), x, layer.dense_weight(), layer.bias)


# ---- streams, threads, graphs, processes ----

def on_gpu(function):
    function.on_gpu = True
    return function


@use
@on_gpu
def another_stream():
    w, x, stream = weight(), tokens(), torch.cuda.Stream()
    packed = ht.pack(w)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = ht.linear(x, packed, M)
    stream.synchronize()
    return right(y, x, w)


@use
@on_gpu
def two_streams_of_one_layer_at_once():
    w = weight(m=256, k=8192)
    packed, streams = ht.pack(w), [torch.cuda.Stream() for _ in range(2)]
    xs, ys = [tokens(16, 8192) for _ in range(40)], []
    torch.cuda.synchronize()
    for i, x in enumerate(xs):
        with torch.cuda.stream(streams[i % 2]):
            ys.append(ht.linear(x, packed, 256))
    torch.cuda.synchronize()
    for x, y in zip(xs, ys):
        right(y, x, w)
    return "right"


def in_threads(n, function):
    errors = []

    def body():
        try:
            function()
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=body) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@use
def sixteen_threads():
    w = weight(m=128 + 64)
    packed = ht.pack(w)

    def body():
        for n in (3, 40, 70):
            x = tokens(n)
            right(ht.linear(x, packed, M), x, w)
    in_threads(16, body)
    return "right"


@use
def a_thread_that_never_used_cuda():
    w, x = weight(), tokens()
    packed, out = ht.pack(w), []
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    in_threads(1, lambda: out.append(ht.linear(x, packed, M)))
    return right(out[0], x, w)


@use
@on_gpu
def a_captured_graph():
    w, x = weight(), tokens()
    packed = ht.pack(w)
    ht.linear(x, packed, M)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ht.linear(x, packed, M)
    for _ in range(3):
        x.copy_(tokens())
        graph.replay()
        torch.cuda.synchronize()
        right(y, x, w)
    return "right"


@use
@on_gpu
def a_captured_graph_with_an_addend():
    w, x, added = weight(m=256, k=8192), tokens(16, 8192), residual(16, 256)
    packed = ht.pack(w)
    ht.linear(x, packed, 256, addend=added)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ht.linear(x, packed, 256, addend=added)
    for _ in range(3):
        x.copy_(tokens(16, 8192)), added.copy_(residual(16, 256))
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, plus_value(x, w, added), rtol=2e-2, atol=0.5)
    return "right"


@use
@on_gpu
def an_addend_that_the_predecessor_writes():
    """With weights_ready the kernel starts before the one that writes its addend has ended."""
    w, x = weight(m=320), tokens()
    packed = ht.pack(w)
    ht.settings["weights_ready"] = True
    try:
        for i in range(30):
            added = residual(m=320)
            late = torch.stack([added] * 64).sum(0, dtype=torch.float32).div(64).bfloat16()
            y = ht.linear(x, packed, 320, addend=late)
            y = ht.linear(x, packed, 320, addend=y)
            torch.testing.assert_close(y, plus_value(x, w, plus_value(x, w, late)), rtol=2e-2, atol=2)
    finally:
        ht.settings["weights_ready"] = False
    return "right"


@use
@on_gpu
def a_capture_of_a_kernel_that_is_not_there():
    w, x, graph = weight(m=448), tokens(), torch.cuda.CUDAGraph()
    packed = ht.pack(w)
    torch.cuda.synchronize()

    def body():
        with torch.cuda.graph(graph):
            ht.linear(x, packed, 448)
    said = named(body, rule="torch.capture")
    return said if right(ht.linear(x, packed, 448), x, w) else ""


@use
@on_gpu
def weights_packed_right_before_kernels_that_read_them_early():
    ht.settings["weights_ready"] = True
    try:
        layer, x = ht.SparseLinear(K, 320, bias=False, device=DEVICE), tokens()
        for i in range(30):
            w = weight(m=320)
            layer.set_weight(w)
            assert right(layer(x), x, w)
    finally:
        ht.settings["weights_ready"] = False
    return "right"


@use
@on_gpu
def a_captured_pack_before_kernels_that_read_early():
    w, graph = weight(), torch.cuda.CUDAGraph()
    ht.pack(w)

    def body():
        with torch.cuda.graph(graph):
            ht.pack(w)
    ht.settings["weights_ready"] = True
    try:
        return named(body, rule="torch.weights-ready")
    finally:
        ht.settings["weights_ready"] = False


@use
@on_gpu
def two_graphs_of_a_split_kernel_at_once():
    w = weight(m=256, k=8192)
    packed, graphs = ht.pack(w), []
    for _ in range(2):
        x = tokens(16, 8192)
        ht.linear(x, packed, 256)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = ht.linear(x, packed, 256)
        graphs.append((graph, x, y))
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, (graph, _, _) in zip(streams, graphs):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    for _, x, y in graphs:
        right(y, x, w)
    return "right"


@use
@on_gpu
def graphs_that_own_the_workspace_of_a_split_kernel():
    w, x = weight(m=256, k=8192), tokens(16, 8192)
    packed, driver, n_nodes = ht.pack(w), ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t()
    ht.linear(x, packed, 256)
    for _ in range(3):  # the second and third reuse the workspace of the previous graph
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            y = ht.linear(x, packed, 256)
        driver.cuGraphGetNodes(ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(n_nodes))
        for _ in range(3):
            x.copy_(tokens(16, 8192))
            graph.replay()
            torch.cuda.synchronize()
            right(y, x, w)
        del y, graph
    if ht.extension()[0] == "c++" and n_nodes.value != 1:
        return f"{n_nodes.value} nodes, expected the kernel alone"
    return "right"


@use
@on_gpu
def x_freed_in_flight():
    w, kept = weight(m=1024, k=4096), []
    packed = ht.pack(w)
    for i in range(30):
        x = tokens(64, 4096)
        kept.append((x.clone(), ht.linear(x, packed, 1024)))
        del x
        torch.full((64, 4096), float("nan"), device=DEVICE).bfloat16()
    for x, y in kept:
        right(y, x, w)
    return "right"


@use
@on_gpu
def a_forked_child():
    code = ("import torch, os, heddle.torch as ht\n"
            "w = torch.zeros(64, 64, device='cuda').bfloat16(); p = ht.pack(w); x = torch.ones(4, 64, device='cuda').bfloat16()\n"
            "ht.linear(x, p, 64); torch.cuda.synchronize(); pid = os.fork()\n"
            "if pid == 0:\n"
            "    try:\n        ht.linear(x, p, 64); torch.cuda.synchronize(); os._exit(7)\n"
            "    except RuntimeError as e:\n        print(str(e)[:90], flush=True); os._exit(3)\n"
            "print('exit', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n")
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=120)
    assert "exit 3" in done.stdout, done.stdout + done.stderr[-300:]
    return "refused: " + done.stdout.splitlines()[0]


@use
@on_gpu
def the_second_device():
    if torch.cuda.device_count() < 2:
        return "skip"
    w, x = weight().to("cuda:1"), tokens().to("cuda:1")
    return right(ht.linear(x, ht.pack(w), M), x, w)  # cuda:0 is the current device


outcomes = {}
for function in USES:
    name = function.__name__
    if left() < 1 or (getattr(function, "on_gpu", False) and DEVICE != "cuda"):
        outcomes[name] = "skip"
        continue
    try:
        outcomes[name] = function() or "right"
    except Exception as error:
        traceback.print_exc(limit=3)
        outcomes[name] = f"FAILED {type(error).__name__}: {str(error)[:150]}"
    print(f"{name:42} {outcomes[name]}", flush=True)
note("outcomes", outcomes)
bad = [name for name, said in outcomes.items() if said.startswith("FAILED")]
skipped = [name for name, said in outcomes.items() if said == "skip"]
finish(f"{len(outcomes)} uses: {len(outcomes) - len(bad) - len(skipped)} named error or right, {len(bad)} failed, "
       f"{len(skipped)} skipped (no second device, or no GPU)" + "".join(f"; {name}" for name in bad), bool(bad))
