"""RMSNorms under torch.compile: heddle.linear(rms_norm(h), ...) becomes linear_norm(h, ..., sums, eps).

The norm has no weight (fold_norm multiplies it into the columns of the layers that read it). After autograd it is h in f32,
squared, its mean over the last dimension, plus eps, rsqrt, times h, converted back. The sums of squares come from the op that
makes h, if that is Heddle's (it becomes linear_norm with want_sums), or from a kernel that reads h and writes nothing else.

Neither is always faster than the norm: a kernel that writes sums cannot split k, which costs most with few tokens. The cost
model decides (_source) for the number of tokens; if that is dynamic, for the number in the first call."""
import operator
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..errors import HeddleError
from . import _plans
from ._fusion import _VIEWS, _arguments, _is_written_between, _same
from ._plans import SUM_ROWS

aten, prims = torch.ops.aten, torch.ops.prims
_TYPES = (torch.bfloat16, torch.float16)

# A kernel that Inductor makes of a norm, or of its sums: what it adds to the time of a layer besides its bytes, and the rate
# of these. Set by hand, from an H200's profile of a Llama layer (run_torch ... llama --profile): a norm of 512 tokens takes
# 3.1 us and 2 us of idle time, of 4096 tokens 20 us for 67 MB. At 512 tokens the layer gained less than these predict.
_KERNEL_SECONDS, _BYTES_PER_SECOND = 3e-6, 3.2e12
_MARGIN_SECONDS = 1e-6  # a smaller gain is not taken: the predictions are not that accurate


class _Norm(NamedTuple):
    h: torch.fx.Node
    eps: float
    chain: list  # its nodes from the normalised rows to h in f32, the users first
    readers: list  # (linear op, views in between, the nearest to the op first)


def fuse_norm(graph):
    """Rewrites RMSNorms without a weight that only linear ops of Heddle's read, in a torch.fx.Graph after autograd (aten
    ops with meta["val"]), in place; how many. Inductor calls it by itself after fuse_add; call both in a pass of your own
    that takes the place of torch._inductor.config's post_grad_custom_post_pass."""
    n_fused = 0
    for node in list(graph.nodes):
        norm = _norm_at(node)
        n_fused += norm is not None and _fuse(graph, norm)
    return n_fused


def _fuse(graph, norm):
    """Whether the readers of a norm now normalise by sums."""
    producer = _producer(norm.h)
    first = norm.chain[-1] if producer is None else producer
    if any(_is_written_between(first, linear) for linear, _ in norm.readers):
        return False
    source = _source(norm, producer)
    if source is None:
        return False
    sums = _sums_of(graph, producer) if source == "op" else _sums_by_kernel(graph, norm)
    h = norm.chain[-1].args[0]  # norm.h, or what has taken its place
    for linear, views in norm.readers:
        x = h
        with graph.inserting_before(linear):
            for view in reversed(views):
                x = _call(graph, view.target, x, *view.args[1:])
        _as_linear_norm(graph, linear, x=x, sums=sums, eps=norm.eps)
        _erase_unused(graph, views)
    _erase_unused(graph, norm.chain)
    return True


# ---- finding ----

def _norm_at(out):
    """The norm whose result is this node; None."""
    mul = _converted(out)
    if mul is None or mul.target is not aten.mul.Tensor or len(mul.args) != 2:
        return None
    for wide, rsqrt in (mul.args, mul.args[::-1]):
        h = _converted(wide)
        eps, chain = _scale_of(rsqrt, h)
        if not chain:
            continue
        chain = [out, mul, *chain] + [wide] * (wide is not chain[-1])
        readers = _readers(out)
        if readers and _is_exact(h, chain):
            viewed = any(views for _, views in readers)  # then h must be viewed alike
            return _Norm(h, eps, chain, readers) if not viewed or _same(_value(h).stride(), _value(out).stride()) else None
    return None


def _scale_of(rsqrt, h):
    """(eps, its nodes) of 1 / sqrt(mean(h ** 2) + eps) over the last dimension, the last node a conversion of h; or
    (None, None)."""
    add = _argument(rsqrt, aten.rsqrt.default)
    mean = _argument(add, aten.add.Scalar, 2) or _argument(add, aten.add.Tensor, 2)
    square = _argument(mean, aten.mean.dim, 3)
    wide = _argument(square, aten.pow.Tensor_Scalar, 2) or _argument(square, aten.mul.Tensor, 2)
    if h is None or wide is None or _converted(wide) is not h or _value(h) is None:
        return None, None
    eps, (dims, keepdim), other = add.args[1], mean.args[1:], square.args[1]
    squared = other == 2 if square.target is aten.pow.Tensor_Scalar else other is wide
    if not squared or keepdim is not True or list(dims) not in ([-1], [_value(h).dim() - 1]):
        return None, None
    if not isinstance(eps, (int, float)) or not eps >= 0:
        return None, None
    return float(eps), [rsqrt, add, mean, square, wide]


def _argument(node, target, n_args=1):
    """The first argument of a call of this op with so many arguments, if it is a node; None."""
    if not isinstance(node, torch.fx.Node) or node.target is not target or node.kwargs or len(node.args) != n_args:
        return None
    return node.args[0] if isinstance(node.args[0], torch.fx.Node) else None


def _converted(node):
    """What a node converts to another type; None."""
    if not isinstance(node, torch.fx.Node):
        return None
    plain = node.target is aten._to_copy.default and set(node.kwargs) == {"dtype"}
    return node.args[0] if plain or node.target is prims.convert_element_type.default else None


def _value(node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _is_exact(h, chain):
    """Whether the chain takes and gives one type of linear_norm's, computes in f32, on rows of whole sums, and nothing but the
    readers uses it. h in f32 may have other users."""
    out, *inner = chain
    rows, values = _value(h), [_value(node) for node in chain]
    if rows is None or rows.dtype not in _TYPES or any(value is None for value in values):
        return False
    if values[0].dtype != rows.dtype or any(value.dtype != torch.float32 for value in values[1:]):
        return False
    if not isinstance(rows.shape[-1], int) or rows.shape[-1] % SUM_ROWS or not _same(rows.shape, values[0].shape):
        return False
    return all(user in chain for node in inner if _converted(node) is not h for user in node.users)


def _readers(out):
    """[(linear op, views in between, the nearest to the op first)] of all users of a node; None: there are others."""
    readers = []
    for user in out.users:
        if user.target in _VIEWS and _value(user) is not None and _same(_value(user).shape[-1:], _value(out).shape[-1:]):
            behind = _readers(user)
            if behind is None:
                return None
            readers += [(linear, [*views, user]) for linear, views in behind]
            continue
        given = _linear(user)
        if given is None or given["x"] is not out or given["sums"] is not None:
            return None
        if any(value is out for name, value in given.items() if name != "x"):
            return None
        readers.append((user, []))
    return readers


def _linear(node):
    """The arguments of linear_norm for a call of it, or of linear where they mean the same; None."""
    ops = torch.ops.heddle
    if not isinstance(node, torch.fx.Node) or node.target not in (ops.linear.default, ops.linear_norm.default):
        return None
    given = dict(zip((a.name for a in node.target._schema.arguments), _arguments(node)))
    x = _value(given["x"])
    if x is None or x.dtype not in _TYPES:
        return None
    if node.target is ops.linear.default:
        scales, out = [given.pop("scale_x"), given.pop("scale_w")], given.pop("out_dtype")
        if scales != [None, None] or out not in (None, x.dtype):
            return None
        given.update(sums=None, eps=0.0, want_sums=False)
    return given


def _producer(h):
    """The op of Heddle's that makes h and can return its sums of squares; None."""
    value = _value(h)
    while h.target in _VIEWS and _value(h.args[0]) is not None and _same(_value(h.args[0]).shape[-1:], value.shape[-1:]):
        h = h.args[0]
    if h.target is operator.getitem and h.args[1] == 0:
        h = h.args[0]
    given = _linear(h)
    return h if given is not None and given["out_features"] % SUM_ROWS == 0 else None


# ---- choosing ----

def _source(norm, producer):
    """Where the sums come from: "op", "kernel"; None: the norm stays, since neither is faster."""
    if _plans.settings["fuse_norm"] == "always":
        return "kernel" if producer is None else "op"
    rows = _value(norm.h)
    tokens = _tokens(rows)
    if tokens is None:
        return None
    pass_seconds = tokens * rows.shape[-1] * rows.element_size() / _BYTES_PER_SECOND  # of reading h, or writing it
    try:
        target = _target(rows.device)
        slower = sum(_extra_seconds(linear, target, tokens, norm=True) for linear, _ in norm.readers)
        gains = {"kernel": pass_seconds - slower}
        if producer is not None:
            gains["op"] = _KERNEL_SECONDS + 2 * pass_seconds - slower - _extra_seconds(producer, target, tokens, reduce=True)
    except HeddleError:  # there is no such kernel
        return None
    best = max(gains, key=gains.get)
    return best if gains[best] > _MARGIN_SECONDS else None


def _target(device):
    """That of the device; the CPU has the kernels' dense form, and norms are fused as on an H200."""
    if device.type != "cuda":
        return "sm_90a"
    with torch.cuda.device(device), unset_fake_temporarily():
        return _plans.runtime().target(device.index)


def _extra_seconds(linear, target, tokens, **more):
    """How much longer a linear op takes that also normalises, or returns sums, by the cost model. A target that it has no
    rates of: nothing, except that a split k cannot return sums."""
    given = _linear(linear)
    x, bias, m = _value(given["x"]), given["bias"], _plans.rows_of(given["out_features"], given["act"])
    plain = dict(norm=given["sums"] is not None, reduce=given["want_sums"])
    keys = [_plans.Key(x.device.index or 0, x.dtype, x.dtype, None if bias is None else _value(bias).dtype, given["act"],
                       False, m, x.shape[-1], addend=given["addend"] is not None, **flags)
            for flags in (plain, {**plain, **more})]
    before, after = (_plans.predicted_seconds(key, target, tokens) for key in keys)
    if before is not None:
        return after - before
    return float("inf") if "reduce" in more and _plans.splits_k(keys[0], target, tokens) else 0.0


def _tokens(rows):
    """The number of rows, if it is dynamic that of the call that is compiled for; None: not known."""
    n = 1
    for size in rows.shape[:-1]:
        if not isinstance(size, int):
            env, expr = size.node.shape_env, size.node.expr
            newer = hasattr(env, "optimization_hint")
            size = env.optimization_hint(expr, fallback=0) if newer else env.size_hint(expr, allow_none=True)
        n *= int(size or 0)
    return n or None


# ---- rewriting ----

def _call(graph, target, *args, **kwargs):
    """A new call with its value."""
    node = graph.call_function(target, args, kwargs)
    values = torch.fx.node.map_arg(args, lambda arg: arg.meta["val"])
    node.meta["val"] = target(*values, **kwargs)
    if target is torch.ops.heddle.linear_norm.default:
        node.meta["eager_input_vals"] = values, {}  # Inductor keeps these strides: the op would copy others
    return node


def _as_linear_norm(graph, linear, **changes):
    """Replaces a linear op by linear_norm with these arguments; the new op."""
    args = tuple({**_linear(linear), **changes}.values())
    with graph.inserting_before(linear):
        new = _call(graph, torch.ops.heddle.linear_norm.default, *args)
        new.meta = {**linear.meta, **new.meta}
        y = new
        if linear.target is torch.ops.heddle.linear.default:
            y = _call(graph, operator.getitem, new, 0)
    linear.replace_all_uses_with(y)
    graph.erase_node(linear)
    return new


def _sums_of(graph, producer):
    """The sums of squares that the op which makes h returns."""
    if not _linear(producer)["want_sums"]:
        producer = _as_linear_norm(graph, producer, want_sums=True)
    with graph.inserting_after(producer):
        return _call(graph, operator.getitem, producer, 1)


def _sums_by_kernel(graph, norm):
    """The sums of squares of h. Inductor makes one kernel of them: the copy, which gives the sums their order, is not
    written."""
    k = _value(norm.h).shape[-1]
    with graph.inserting_before(norm.chain[0]):
        parts = _call(graph, aten.reshape.default, norm.h, [-1, k // SUM_ROWS, SUM_ROWS])
        parts = _call(graph, aten.permute.default, parts, [1, 0, 2])
        wide = _call(graph, prims.convert_element_type.default, parts, torch.float32)
        squares = _call(graph, aten.clone.default, _call(graph, aten.mul.Tensor, wide, wide),
                        memory_format=torch.contiguous_format)
        return _call(graph, aten.sum.dim_IntList, squares, [-1])


def _erase_unused(graph, nodes):
    """nodes: users first."""
    for node in nodes:
        if not node.users:
            graph.erase_node(node)
