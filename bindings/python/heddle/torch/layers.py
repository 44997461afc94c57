"""Layers over torch.ops.heddle: SparseLinear in place of nn.Linear, and sparsify for a whole model."""
import fnmatch

import torch
from torch import nn

from ..errors import invalid
from ..matrix import FORMAT_VERSION
from . import _plans, formats


def linear(x, packed, out_features, bias=None, act="none"):
    """y = act(x Wᵀ + bias) with a packed W (formats.pack) of x's type. x: [..., in_features], any strides."""
    return torch.ops.heddle.linear(x, packed, out_features, bias, None, None, act)


def scaled_linear(x, packed, scale_x, scale_w, out_features, bias=None, act="none", out_dtype=torch.bfloat16):
    """The same of fp8 (or int8) with scales as torch._scaled_mm has them by row: y[t, m] is scaled by
    scale_x[t] * scale_w[m]; scale_x: one for each token ([tokens] or [tokens, 1]), scale_w: one for each output
    feature ([m] or [1, m])."""
    return torch.ops.heddle.linear(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype)


def quantize_rows(w, dtype=torch.float8_e4m3fn):
    """(q, scale): w ≈ q * scale[:, None], each row scaled so that its largest magnitude is the type's."""
    top = torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max
    scale = w.abs().amax(-1).float().clamp_min(1e-12) / top
    q = w.float() / scale[..., None]
    return (q.clamp(-top, top) if dtype.is_floating_point else q.round().clamp(-top, top)).to(dtype), scale


class SparseLinear(nn.Module):
    """nn.Linear with a 2:4-sparse weight, kept in the order that the tensor cores read.

    Buffers: `packed` (uint8, docs/format.md) and, of 8-bit weights, `weight_scale` (f32, one a row). state_dict holds
    them with the version of the format; a state of another version, type or shape is refused by name."""

    def __init__(self, in_features, out_features, bias=True, dtype=torch.bfloat16, act="none", device=None,
                 out_dtype=None):
        super().__init__()
        formats.type_of(dtype)
        self.in_features, self.out_features, self.weight_dtype, self.act = in_features, out_features, dtype, act
        self.scaled = dtype.itemsize == 1
        self.out_dtype = out_dtype or (torch.bfloat16 if self.scaled else dtype)
        size = formats.packed_bytes(out_features, in_features, dtype)
        self.register_buffer("packed", torch.zeros(size, dtype=torch.uint8, device=device))
        if self.scaled:
            self.register_buffer("weight_scale", torch.ones(out_features, dtype=torch.float32, device=device))
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=self.out_dtype, device=device)) if bias else None

    @classmethod
    def from_linear(cls, layer, *, dtype=None, scores=None, mask=None, prune=True, act="none"):
        """The sparse form of an nn.Linear, on its device.

        dtype: of the weight; default: the layer's own; float8_e4m3fn quantises by row, after pruning
        scores, mask: in the place of magnitudes: the largest scores stay, or what the mask says
        prune: False refuses a weight that is not 2:4 already"""
        weight = layer.weight.detach()
        dtype = dtype or weight.dtype
        self = cls(layer.in_features, layer.out_features, layer.bias is not None, dtype, act, weight.device,
                   weight.dtype if dtype.itemsize == 1 and weight.dtype != torch.float32 else None)
        if mask is not None:
            weight = weight * mask
        elif scores is not None:
            weight = formats.prune(weight, scores)
        self.set_weight(weight, prune=prune)
        if layer.bias is not None:
            self.bias = nn.Parameter(layer.bias.detach().to(self.out_dtype), requires_grad=layer.bias.requires_grad)
        return self

    @torch.no_grad()
    def set_weight(self, weight, prune=True):
        """Takes a dense weight [out_features, in_features]: prunes, quantises and packs it on its device."""
        if tuple(weight.shape) != (self.out_features, self.in_features):
            raise invalid("torch.shape", f"got a weight of shape {tuple(weight.shape)}",
                          f"({self.out_features}, {self.in_features})")
        if self.scaled:
            if prune:
                weight = formats.prune(weight.contiguous())
            weight, scale = quantize_rows(weight, self.weight_dtype)
            self.weight_scale.copy_(scale)
        else:
            weight = weight.to(self.weight_dtype).contiguous()
        if not prune and not formats.is_sparse(weight):
            raise invalid("sparse.not-2-4", "the weight has groups with too many non-zeros", "a 2:4 weight",
                          "prune=True")
        self.packed.copy_(formats.pack(weight))

    def dense_weight(self):
        """The weight as nn.Linear would have it (8-bit: with its scales)."""
        weight = formats.unpack(self.packed, self.out_features, self.in_features, self.weight_dtype)
        return (weight.float() * self.weight_scale[:, None]).to(self.out_dtype) if self.scaled else weight

    def forward(self, x):
        if x.dtype != self.weight_dtype and not self.scaled:
            if not torch.is_autocast_enabled(x.device.type):
                raise invalid("torch.dtype", f"got x of {x.dtype}", f"{self.weight_dtype}, which the weight is packed in",
                              f"x.to({self.weight_dtype})")
            x = x.to(self.weight_dtype)
        if not self.scaled:
            return torch.ops.heddle.linear(x, self.packed, self.out_features, self.bias, None, None, self.act)
        q, scale = quantize_rows(x, self.weight_dtype)
        return torch.ops.heddle.linear(q, self.packed, self.out_features, self.bias, scale.reshape(-1),
                                       self.weight_scale, self.act, self.out_dtype)

    def kernel_keys(self, max_tokens=None):
        """What its kernels are made for, one for each bucket of token counts; none when it is not on a CUDA device."""
        if not self.packed.is_cuda:
            return []
        bias = None if self.bias is None else self.bias.dtype
        out = torch.int32 if self.weight_dtype == torch.int8 and not self.scaled else self.out_dtype
        n_buckets = _plans.bucket_of(max_tokens) + 1 if max_tokens else len(_plans.BUCKETS)
        return [_plans.Key(self.packed.device.index, self.weight_dtype, out, bias, self.act, self.scaled,
                           self.out_features, self.in_features, bucket) for bucket in range(n_buckets)]

    def get_extra_state(self):
        return {"format": FORMAT_VERSION, "type": formats.type_of(self.weight_dtype),
                "shape": (self.out_features, self.in_features), "act": self.act}

    def set_extra_state(self, state):
        want = self.get_extra_state()
        for name in ("format", "type", "shape"):
            if tuple(state[name]) != tuple(want[name]) if name == "shape" else state[name] != want[name]:
                raise invalid(f"torch.state-{name}", f"got a state with {name} {state[name]}", f"{want[name]}")
        self.act = state["act"]

    def _apply(self, fn, recurse=True):
        """Moves go on; a change of dtype touches the bias alone: packed weights have the type they were packed in."""
        super()._apply(fn, recurse)
        if self.bias is not None and self.bias.dtype != self.out_dtype:
            self.bias.data = self.bias.data.to(self.out_dtype)
        return self

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
                f"type={formats.type_of(self.weight_dtype)}, act={self.act}")


class TrainableSparseLinear(nn.Module):
    """2:4 training of a layer: a dense weight under a mask, and its packed form, renewed by repack().

    The mask is two-way (2:4 along rows and columns), so that the gradient to x runs on the tensor cores' sparse path,
    too; the gradient to the weight is dense, masked. After each optimizer step: heddle.torch.repack(model)."""

    def __init__(self, layer, two_way=True):
        super().__init__()
        self.in_features, self.out_features, self.two_way = layer.in_features, layer.out_features, two_way
        weight = layer.weight.detach()
        mask = formats.two_way_mask(weight) if two_way else formats.mask_of(weight)
        self.weight = nn.Parameter(weight * mask)
        self.bias = nn.Parameter(layer.bias.detach().clone()) if layer.bias is not None else None
        size = formats.packed_bytes(layer.out_features, layer.in_features, weight.dtype)
        size_t = formats.packed_bytes(layer.in_features, layer.out_features, weight.dtype)
        self.register_buffer("mask", mask)
        self.register_buffer("packed", torch.zeros(size, dtype=torch.uint8, device=weight.device), persistent=False)
        self.register_buffer("packed_t", torch.zeros(size_t, dtype=torch.uint8, device=weight.device) if two_way
                             else None, persistent=False)
        self._take_mask()
        self.repack()

    @torch.no_grad()
    def _take_mask(self):
        """What follows of the mask alone: codes, and where each packed value stands in the weight."""
        ones, size = self.mask.to(self.weight.dtype), self.weight.element_size()
        self.packed.copy_(formats.pack(ones))
        orders = {"order": formats.value_order(self.mask, size)}
        if self.two_way:
            self.packed_t.copy_(formats.pack(ones.t().contiguous()))
            orders["order_t"] = formats.value_order(self.mask, size, transposed=True)
        for name, order in orders.items():
            self.register_buffer(name, order, persistent=False)

    @torch.no_grad()
    def repack(self, new_mask=False):
        """Packs the weight as it is now; new_mask=True chooses the mask anew by magnitude."""
        if new_mask:
            self.mask.copy_(formats.two_way_mask(self.weight) if self.two_way else formats.mask_of(self.weight))
            self._take_mask()
        self.weight.mul_(self.mask)
        m, k = self.weight.shape
        self._put(self.packed, self.order, m, k, self.weight)
        if self.two_way:
            self._put(self.packed_t, self.order_t, k, m, self.weight.t())

    def _put(self, packed, order, m, k, weight):
        """The values into packed bytes whose codes stay; where sizes are padded, all of it anew."""
        if order is None:
            packed.copy_(formats.pack(weight.contiguous()))
        else:
            values = self.weight.view(-1).index_select(0, order.view(-1)).view(order.shape)
            formats.value_view(packed, m, k, weight.dtype).copy_(values)

    def forward(self, x):
        return torch.ops.heddle.masked_linear(x, self.weight, self.packed, self.packed_t, self.bias)


def repack(model, new_mask=False):
    """Renews the packed weights of all TrainableSparseLinear layers: after optimizer.step()."""
    for layer in model.modules():
        if isinstance(layer, TrainableSparseLinear):
            layer.repack(new_mask)


def _wanted(name, layer, patterns, group):
    if not isinstance(layer, nn.Linear) or layer.in_features % group:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def sparsify(model, pattern="*", *, exclude="*lm_head*", dtype=None, scores=None, trainable=False, compile=True):
    """Puts a SparseLinear in the place of each nn.Linear whose name matches, in place; returns the model.

    pattern, exclude   names as in fnmatch ("*mlp*"), one or several
    dtype              of the weights; default: each layer's own; torch.float8_e4m3fn quantises weights by row and
                       activations by token
    scores             {name: tensor}: of these layers the largest scores stay, of the others the largest magnitudes
    trainable          TrainableSparseLinear instead
    compile            make the kernels of all layers now (on CUDA), not with each layer's first call: prepare()"""
    patterns, excluded = ([p] if isinstance(p, str) else list(p or ()) for p in (pattern, exclude))
    group = 2 if dtype == torch.float32 else 4
    replaced = []
    for name, layer in list(model.named_modules()):
        if _wanted(name, layer, patterns, group) and not any(fnmatch.fnmatchcase(name, e) for e in excluded):
            new = TrainableSparseLinear(layer) if trainable else SparseLinear.from_linear(
                layer, dtype=dtype, scores=(scores or {}).get(name))
            if not name:
                return new
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, new)
            replaced.append(new)
    if not replaced:
        raise invalid("torch.pattern", f"no nn.Linear of the model matches {patterns}",
                      "names of model.named_modules()")
    if compile and not trainable:
        prepare(model)
    return model


def prepare(model, max_tokens=None):
    """Makes the kernels of all SparseLinear layers that are on a CUDA device, several at once; of token counts up to
    max_tokens. Without it the first call of a layer with so many tokens makes its own, which takes a tenth of a second
    and cannot be done while a graph is captured."""
    keys = [key for layer in model.modules() if isinstance(layer, SparseLinear)
            for key in layer.kernel_keys(max_tokens)]
    for index in sorted({key.device for key in keys}):
        with torch.cuda.device(index):
            _plans.make_ahead([key for key in keys if key.device == index])
