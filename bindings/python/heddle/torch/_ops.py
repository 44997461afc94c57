"""torch.ops.heddle: the ops, their fakes, their gradients, and the form in Python where C++ is not to be had.

    heddle::linear(x, packed, out_features, bias=None, scale_x=None, scale_w=None, act="none", out_dtype=None,
                   addend=None)
    heddle::linear_norm(x, packed, out_features, bias=None, act="none", addend=None, sums=None, eps=0., want_sums=False)

y[..., m] = act((x[..., k] W[m, k]^T) * scale_x[token] * scale_w[m] + bias[m]). An act of pairs ("swiglu", ...) is
act(gate) * up of a W that is gate and then up, each of out_features rows, packed interleaved (formats.pack, pair=True);
bias and scale_w have gate's values, then up's. An addend, of y's shape and type, is added to y before y is rounded; with
act="none" alone. linear_with_grad is the same with a gradient to x, bias and addend; linear goes there by itself when one
is wanted. masked_linear has one to the weight, too. heddle::pack(weight, transposed=False) gives the packed bytes of a
weight (formats.pack).

linear_norm is linear for bf16 and f16 without scales, and an RMSNorm in the kernels: with `sums`, the sums of squares of each
128 elements of x's rows, f32 [in_features / 128, tokens], it multiplies each row of x by 1 / sqrt(sum / in_features + eps).
It returns y and, with want_sums, such sums of y before it is rounded, [out_features / 128, tokens] (otherwise an empty
tensor). It has no gradient; torch.compile makes it of a norm and linear (_norm_fusion.py)."""
import ctypes

import torch

from .. import _c
from ..errors import call, invalid
from . import _extension, _passes, _plans, formats
from ._plans import SUM_ROWS

_SCHEMA = ("(Tensor x, Tensor packed, int out_features, Tensor? bias=None, Tensor? scale_x=None, "
           "Tensor? scale_w=None, str act=\"none\", ScalarType? out_dtype=None, Tensor? addend=None) -> Tensor")
_NORM_SCHEMA = ("(Tensor x, Tensor packed, int out_features, Tensor? bias=None, str act=\"none\", Tensor? addend=None, "
                "Tensor? sums=None, float eps=0., bool want_sums=False) -> (Tensor, Tensor)")
_OUT = {torch.bfloat16: torch.bfloat16, torch.float16: torch.float16, torch.float32: torch.float32,
        torch.int8: torch.int32, torch.float8_e4m3fn: torch.bfloat16, torch.float8_e5m2: torch.bfloat16}


def _out_dtype(x, out_dtype):
    if x.dtype not in _OUT:
        raise invalid("torch.dtype", f"got x of {x.dtype}", ", ".join(map(str, _OUT)))
    return out_dtype or _OUT[x.dtype]


def _check_addend(x, m, act, out, addend):
    """The kernel adds it before the activation, so an act is refused: what is meant is the sum behind it."""
    if act != "none":
        raise invalid("torch.addend", f"got an addend with act = {act}", "act = none")
    if not out.is_floating_point or addend.dtype != out:
        raise invalid("torch.addend", f"got an addend of {addend.dtype} to a result of {out}",
                      f"{out}" if out.is_floating_point else "none: a result of a floating-point type can have one")
    if tuple(addend.shape) != (*x.shape[:-1], m):
        raise invalid("torch.shape", f"got an addend of shape {tuple(addend.shape)}", f"{(*x.shape[:-1], m)}")


def _check(x, packed, m, bias, scale_x, scale_w, act, out, addend):
    """What every form of the op refuses, by the same rules as extension.cpp. out: the type of the result."""
    if x.dim() < 1 or m < 1:
        raise invalid("torch.shape", f"got x of {x.dim()} dimensions, {m} output features", "at least 1 of each")
    for name, other in (("packed", packed), ("bias", bias), ("scale_x", scale_x), ("scale_w", scale_w),
                        ("addend", addend)):
        if other is not None and other.device != x.device:
            raise invalid("torch.device", f"got {name} on {other.device} and x on {x.device}", "one device")
    if packed.dtype != torch.uint8:
        raise invalid("torch.packed", f"got packed of {packed.dtype}", "uint8")
    if (scale_x is None) != (scale_w is None):
        raise invalid("torch.scales", "got one of two scales", "none or both")
    if act not in _plans.ACTS:
        raise invalid("torch.act", f"got '{act}'", ", ".join(_plans.ACTS))
    if act in _plans.PAIRS and m % 8:
        raise invalid("torch.pair", f"got {m} output features with act = {act}", "multiples of 8", f"{m + -m % 8}")
    if addend is not None:
        _check_addend(x, m, act, out, addend)


def _check_norm(x, m, sums, eps, want_sums):
    k, n = x.shape[-1] if x.dim() else 0, x.shape[:-1].numel()
    if x.dtype not in (torch.bfloat16, torch.float16):
        raise invalid("torch.norm", f"got sums with x of {x.dtype}", "bfloat16, float16")
    if want_sums and m % SUM_ROWS:
        raise invalid("torch.norm", f"got {m} output features whose sums are wanted", "multiples of 128")
    if sums is None:
        return
    if sums.device != x.device:
        raise invalid("torch.device", f"got sums on {sums.device} and x on {x.device}", "one device")
    if k % SUM_ROWS or sums.dtype != torch.float32 or eps < 0:
        raise invalid("torch.norm", f"got {k} input features, sums of {sums.dtype}, eps {eps}",
                      "multiples of 128, float32, at least 0")
    if sums.dim() != 2 or sums.shape[0] != k // SUM_ROWS or sums.shape[1] != n:
        raise invalid("torch.shape", f"got sums of shape {tuple(sums.shape)}", f"({k // SUM_ROWS}, {n})")


def _fake(x, packed, out_features, bias=None, scale_x=None, scale_w=None, act="none", out_dtype=None, addend=None):
    _passes.install()
    out = _out_dtype(x, out_dtype)
    _check(x, packed, out_features, bias, scale_x, scale_w, act, out, addend)
    return x.new_empty((*x.shape[:-1], out_features), dtype=out)


def _norm_fake(x, packed, out_features, bias=None, act="none", addend=None, sums=None, eps=0., want_sums=False):
    y = _fake(x, packed, out_features, bias, None, None, act, None, addend)
    _check_norm(x, out_features, sums, eps, want_sums)
    size = (out_features // SUM_ROWS, x.shape[:-1].numel()) if want_sums else (0,)
    return y, x.new_empty(size, dtype=torch.float32)


def _dense_form(x, packed, out_features, bias=None, scale_x=None, scale_w=None, act="none", out_dtype=None, addend=None):
    """On the CPU, for tests and for models that were moved there: the dense product in f32 (f64 of integers)."""
    out = _out_dtype(x, out_dtype)
    y = _dense_product(x, packed, out_features, bias, scale_x, scale_w, act, out, addend)
    return y.to(out) if out.is_floating_point else y.round().clamp(-2 ** 31, 2 ** 31 - 1).to(out)


def _norm_dense_form(x, packed, out_features, bias=None, act="none", addend=None, sums=None, eps=0., want_sums=False):
    """linear_norm on the CPU."""
    _check_norm(x, out_features, sums, eps, want_sums)
    factors = None if sums is None else torch.rsqrt(sums.sum(0) / x.shape[-1] + eps)
    y = _dense_product(x, packed, out_features, bias, factors, None, act, x.dtype, addend)
    if not want_sums:
        return y.to(x.dtype), x.new_empty(0, dtype=torch.float32)
    return y.to(x.dtype), y.reshape(-1, out_features // SUM_ROWS, SUM_ROWS).square().sum(-1).t().contiguous()


def _dense_product(x, packed, out_features, bias, scale_x, scale_w, act, out, addend):
    """y before it is rounded; a scale_x alone is that of a norm."""
    _check(x, packed, out_features, bias, scale_x if scale_w is not None else None, scale_w, act, out, addend)
    wide = torch.float64 if x.dtype == torch.int8 else torch.float32
    rows = _plans.rows_of(out_features, act)
    weight = formats.unpack(packed, rows, x.shape[-1], x.dtype, act in _plans.PAIRS)
    y = x.to(wide) @ weight.to(wide).t()
    if scale_x is not None:
        y = y * scale_x.reshape(*x.shape[:-1], 1).to(wide)
    if scale_w is not None:
        y = y * scale_w.reshape(-1).to(wide)
    y = y if addend is None else y + addend.to(wide)
    return _activated(y if bias is None else y + bias.to(wide), act)


_FUNCTIONS = {"none": lambda v: v, "relu": torch.relu, "gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu,
              "gelu_tanh": lambda v: torch.nn.functional.gelu(v, approximate="tanh")}


def _activated(y, act):
    if act not in _plans.PAIRS:
        return _FUNCTIONS[act](y)
    gate, up = y.chunk(2, -1)
    return _FUNCTIONS[_plans.PAIRS[act]](gate) * up


def _rows(x, k):
    rows = x if x.dim() == 2 else x.reshape(-1, k)
    readable = (rows.stride(1) == 1 or k == 1) and (rows.shape[0] == 1 or rows.stride(0) >= k)
    return rows if readable else rows.contiguous()


def _pitch(rows):
    """The distance between rows in elements; of a single row, whose stride means nothing, its length."""
    return rows.shape[1] if rows.shape[0] == 1 else rows.stride(0)


def _vector(value, size, dtype, name):
    if value is None:
        return None
    value = value.to(dtype).contiguous() if dtype else value.contiguous()
    if value.numel() != size:
        raise invalid("torch.shape", f"got {name} of shape {tuple(value.shape)}", f"{size} values")
    return value


_workspaces = {}


def _workspace(kernel, args, stream, x):
    """As extension.cpp: one for each kernel and stream; in a capture one of the graph's own."""
    size = ctypes.c_uint64()
    call(_c.heddle_kernel_workspace, kernel, args, len(args), ctypes.byref(size))
    if not size.value:
        return None
    if torch.cuda.is_current_stream_capturing():
        return torch.zeros(size.value, dtype=torch.uint8, device=x.device)
    key = (kernel, stream)
    if key not in _workspaces or _workspaces[key].numel() < size.value:
        _workspaces[key] = torch.zeros(size.value, dtype=torch.uint8, device=x.device)
    return _workspaces[key]


def _launch_form(x, packed, out_features, bias=None, scale_x=None, scale_w=None, act="none", out_dtype=None,
                 addend=None):
    """On the GPU, through ctypes: what extension.cpp does, about 20 µs a call slower."""
    return _launch(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype, addend)[0]


def _norm_launch_form(x, packed, out_features, bias=None, act="none", addend=None, sums=None, eps=0., want_sums=False):
    """linear_norm on the GPU, through ctypes."""
    _check_norm(x, out_features, sums, eps, want_sums)
    return _launch(x, packed, out_features, bias, None, None, act, None, addend, sums, eps, want_sums)


def _launch(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype, addend, sums=None, eps=0., want_sums=False):
    """(y, the sums of its squares)"""
    out, m, k = _out_dtype(x, out_dtype), _plans.rows_of(out_features, act), x.shape[-1]
    _check(x, packed, out_features, bias, scale_x, scale_w, act, out, addend)
    n = x.numel() // k if k else 0
    integer = x.dtype == torch.int8
    want = formats.packed_bytes(m, k, x.dtype)
    if packed.numel() != want or not packed.is_contiguous():
        raise invalid("torch.packed", f"got {packed.numel()} packed bytes", f"{want} for {m} x {k} {x.dtype}")
    d = torch.empty((*x.shape[:-1], out_features), dtype=out, device=x.device)
    of_d = torch.empty((out_features // SUM_ROWS, n) if want_sums else (0,), dtype=torch.float32, device=x.device)
    bias = _vector(bias, m, torch.float32 if integer else None, "bias")
    scale_w, scale_x = _vector(scale_w, m, torch.float32, "scale_w"), _vector(scale_x, n, torch.float32, "scale_x")
    with torch.cuda.device(x.device):
        key = _plans.Key(x.device.index, x.dtype, out, None if bias is None else bias.dtype, act, scale_x is not None,
                         m, k, addend=addend is not None, norm=sums is not None, reduce=want_sums)
        ranges = _plans.buckets(key, _plans.runtime().target(key.device))
        loaded = _plans.kernel_of(key.at(_plans.bucket_of(ranges, n)))
        if n == 0:
            return d, of_d
        rows, stream = _rows(x, k), torch.cuda.current_stream().cuda_stream
        added = None if addend is None else _rows(addend, out_features)
        of_x = scale_x if sums is None else sums.contiguous()
        values = {"a": packed, "b": rows, "c": added, "d": d, "bias": bias, "scale_a": scale_w, "scale_b": of_x,
                  "scale_d": of_d}
        numbers = {"n": n, "ldb": _pitch(rows), "ldc": 0 if added is None else _pitch(added), "ldd": out_features,
                   "ldsb": n, "ldsd": n, "eps": eps}
        args = (_c.heddle_arg * len(loaded.roles))()
        kept = None
        for i, argument in enumerate(loaded.kernel.arguments):
            if argument.kind != "ptr":
                setattr(args[i], argument.kind, numbers[argument.name])
            elif argument.name != "workspace":
                args[i].ptr = values[argument.name].data_ptr()
        for i, argument in enumerate(loaded.kernel.arguments):
            if argument.name == "workspace":
                kept = _workspace(loaded.handle, args, stream, x)
                args[i].ptr = kept.data_ptr() if kept is not None else None
        call(_c.heddle_kernel_launch, loaded.handle, args, len(args), stream)
    return d, of_d


# ---- packing ----

def _pack_fake(weight, transposed=False):
    m, k = weight.shape[::-1] if transposed else weight.shape
    return weight.new_empty(formats.packed_bytes(m, k, weight.dtype), dtype=torch.uint8)


# ---- gradients ----

def _save(ctx, inputs, output):
    x, packed, m, bias, scale_x, scale_w, act = inputs[:7]
    ctx.m, ctx.k, ctx.x_dtype, ctx.act, ctx.scaled = m, x.shape[-1], x.dtype, act, scale_x is not None
    ctx.bias_dtype = None if bias is None else bias.dtype
    ctx.save_for_backward(packed, *((x, bias) if act != "none" else ()))


def _slope(act, grad, z):
    """The gradient behind an activation of z."""
    aten = torch.ops.aten
    if act == "relu":
        return torch.where(z > 0, grad, 0)
    if act == "silu":
        return aten.silu_backward(grad, z)
    return aten.gelu_backward(grad, z, approximate="tanh" if act == "gelu_tanh" else "none")


def _before_activation(ctx, weight, grad):
    """The gradient to x W^T + bias, which is computed once more: the forward pass kept x alone."""
    _, x, bias = ctx.saved_tensors
    z = (x @ weight.t() if bias is None else x @ weight.t() + bias).float()
    grad = grad.float()
    if ctx.act not in _plans.PAIRS:
        return _slope(ctx.act, grad, z).to(x.dtype)
    gate, up = z.chunk(2, -1)
    of = _plans.PAIRS[ctx.act]
    return torch.cat((_slope(of, grad * up, gate), grad * _FUNCTIONS[of](gate)), -1).to(x.dtype)


_ADDEND = 8  # its position among the arguments, the last


def _backward(ctx, grad):
    """To x through the dense weight, unpacked on its device; to the bias by a sum; to the addend as it is."""
    grad_addend = grad if any(ctx.needs_input_grad[_ADDEND:]) else None  # torch leaves out arguments that are defaults
    if not any(ctx.needs_input_grad[:_ADDEND]):
        return *[None] * _ADDEND, grad_addend
    if ctx.scaled:
        raise invalid("torch.autograd", "got scales", "no scales: a quantised x has no gradient",
                      "dequantised operands, or x.detach()")
    packed = ctx.saved_tensors[0]
    weight = formats.unpack(packed, _plans.rows_of(ctx.m, ctx.act), ctx.k, ctx.x_dtype, ctx.act in _plans.PAIRS)
    if ctx.act != "none":
        grad = _before_activation(ctx, weight, grad)
    grad_x = grad @ weight
    grad_bias = grad.reshape(-1, grad.shape[-1]).sum(0).to(ctx.bias_dtype) if ctx.bias_dtype else None
    return grad_x, None, None, grad_bias, None, None, None, None, grad_addend


def _masked(x, weight, packed, packed_t=None, bias=None, pruned=None, straight_through=False):
    return torch.ops.heddle.linear(x, packed, weight.shape[0], bias)


def _masked_fake(x, weight, packed, packed_t=None, bias=None, pruned=None, straight_through=False):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _masked_save(ctx, inputs, output):
    x, weight, _, packed_t, bias, pruned, ctx.straight_through = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(x, weight, packed_t, pruned)


def _masked_backward(ctx, grad):
    """dgrad: by the packed transposed twin where the mask is two-way, else dense; wgrad: dense, masked unless
    straight_through."""
    x, weight, packed_t, pruned = ctx.saved_tensors
    grad_x = grad_weight = None
    if ctx.needs_input_grad[0]:
        grad_x = grad @ weight if packed_t is None else torch.ops.heddle.linear(grad, packed_t, weight.shape[1])
    rows = grad.reshape(-1, weight.shape[0])
    if ctx.needs_input_grad[1]:
        grad_weight = rows.t() @ x.reshape(-1, weight.shape[1])
        if not ctx.straight_through:
            grad_weight.masked_fill_(weight == 0 if pruned is None else pruned, 0)
    return grad_x, grad_weight, None, None, rows.sum(0) if ctx.has_bias else None, None, None


def _norm_save(ctx, inputs, output):
    raise invalid("torch.autograd", "got an input of linear_norm that wants a gradient",
                  "torch.no_grad(), or linear behind a norm")


def _norm_backward(ctx, *grads):
    """Not reached: _norm_save refuses."""
    raise invalid("torch.autograd", "got linear_norm", "linear behind a norm")


# ---- registration ----

def _define(library):
    """All ops. With the extension the schemas, CUDA and Autograd of `linear` are there already."""
    extension = _extension.load()
    if extension is not None:
        _plans.connect(extension)
    for name in ("linear", "linear_with_grad"):
        if extension is None:
            library.define(name + _SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))
            library.impl(name, _launch_form, "CUDA")
        library.impl(name, _dense_form, "CPU")
        torch.library.register_fake(f"heddle::{name}", _fake, lib=library)
    if extension is None:
        library.define("linear_norm" + _NORM_SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))
        library.impl("linear_norm", _norm_launch_form, "CUDA")
        torch.library.register_autograd("heddle::linear_norm", _norm_backward, setup_context=_norm_save, lib=library)
    library.impl("linear_norm", _norm_dense_form, "CPU")
    torch.library.register_fake("heddle::linear_norm", _norm_fake, lib=library)
    torch.library.register_autograd("heddle::linear_with_grad", _backward, setup_context=_save, lib=library)
    if extension is None:
        torch.library.register_autograd("heddle::linear", _backward, setup_context=_save, lib=library)
    library.define("masked_linear(Tensor x, Tensor weight, Tensor packed, Tensor? packed_t=None, Tensor? bias=None, "
                   "Tensor? pruned=None, bool straight_through=False) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    library.define("pack(Tensor weight, bool transposed=False) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    for device in ("CUDA", "CPU"):
        library.impl("masked_linear", _masked, device)
        library.impl("pack", formats.pack_now, device)
    torch.library.register_fake("heddle::pack", _pack_fake, lib=library)
    torch.library.register_fake("heddle::masked_linear", _masked_fake, lib=library)
    torch.library.register_autograd("heddle::masked_linear", _masked_backward, setup_context=_masked_save, lib=library)


_library = torch.library.Library("heddle", "FRAGMENT")
_define(_library)
_quick = _extension.call()


def linear(x, packed, out_features, bias=None, scale_x=None, scale_w=None, act="none", out_dtype=None, addend=None):
    """torch.ops.heddle.linear, in eager mode without the cost of torch.ops."""
    if _quick is not None:  # in a trace it is NotImplemented
        y = _quick(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype, addend)
        if y is not NotImplemented:
            return y
    return torch.ops.heddle.linear(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype, addend)
