"""Layers over torch.ops.heddle: SparseLinear in place of nn.Linear, and sparsify for a whole model."""
import math

import torch
from torch import nn

from ..errors import invalid
from ..matrix import FORMAT_VERSION
from . import _ops, _plans, formats


def linear(x, packed, out_features, bias=None, act="none", addend=None):
    """y = act(x Wᵀ + bias) with a packed W (formats.pack) of x's type. x: [..., in_features], any strides.

    addend: of y's shape and type, added in the kernel, so that the sum is rounded once; only without an act."""
    return _ops.linear(x, packed, out_features, bias, None, None, act, None, addend)


def scaled_linear(x, packed, scale_x, scale_w, out_features, bias=None, act="none", out_dtype=torch.bfloat16,
                  addend=None):
    """The same of fp8 (or int8) with scales as torch._scaled_mm has them by row: y[t, m] is scaled by
    scale_x[t] * scale_w[m]; scale_x: one for each token ([tokens] or [tokens, 1]), scale_w: one for each output
    feature ([m] or [1, m])."""
    return _ops.linear(x, packed, out_features, bias, scale_x, scale_w, act, out_dtype, addend)


def _largest(dtype):
    return torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max


def row_scales(w, dtype=torch.float8_e4m3fn):
    """A scale for each row, so that its largest magnitude becomes the type's."""
    return torch.linalg.vector_norm(w, math.inf, -1).float().clamp_min(1e-12) / _largest(dtype)  # one kernel, one read


def quantize_rows(w, dtype=torch.float8_e4m3fn):
    """(q, scale): w ≈ q * scale[:, None], each row scaled so that its largest magnitude is the type's."""
    top, scale = _largest(dtype), row_scales(w, dtype)
    q = w.float() / scale[..., None]
    return (q.clamp(-top, top) if dtype.is_floating_point else q.round().clamp(-top, top)).to(dtype), scale


class SparseLinear(nn.Module):
    """nn.Linear with a 2:4-sparse weight, kept in the order that the tensor cores read.

    Buffers: `packed` (uint8, docs/format.md) and, of 8-bit weights, `weight_scale` (f32, one a row). state_dict holds
    them with the version of the format; a state of another version, type or shape is refused by name.

    With an act of pairs ("swiglu", "geglu", "geglu_tanh", "reglu") the weight is gate and then up, each of out_features
    rows, a multiple of 8; so are bias and weight_scale: y = act(gate) * up in one kernel (from_pair)."""

    def __init__(self, in_features, out_features, bias=True, dtype=torch.bfloat16, act="none", device=None,
                 out_dtype=None):
        super().__init__()
        formats.type_of(dtype)
        self.in_features, self.out_features, self.weight_dtype, self.act = in_features, out_features, dtype, act
        self.scaled = dtype.itemsize == 1
        self.out_dtype = out_dtype or (torch.bfloat16 if self.scaled else dtype)
        self.pair = act in _plans.PAIRS
        if self.pair and out_features % 8:
            raise invalid("torch.pair", f"got {out_features} output features with act = {act}", "multiples of 8")
        self.rows = _plans.rows_of(out_features, act)  # of the weight
        size = formats.packed_bytes(self.rows, in_features, dtype)
        self.register_buffer("packed", torch.zeros(size, dtype=torch.uint8, device=device))
        if self.scaled:
            self.register_buffer("weight_scale", torch.ones(self.rows, dtype=torch.float32, device=device))
        self.bias = nn.Parameter(torch.zeros(self.rows, dtype=self.out_dtype, device=device)) if bias else None

    @classmethod
    def from_linear(cls, layer, *, dtype=None, scores=None, mask=None, prune=True, act="none"):
        """The sparse form of an nn.Linear, on its device.

        dtype: of the weight; default: the layer's own; float8_e4m3fn quantises by row, after pruning
        scores, mask: in the place of magnitudes: the largest scores stay, or what the mask says
        prune: False refuses a weight that is not 2:4 already
        act: of pairs: the layer's rows are gate, then up, and its output is half as wide"""
        weight = formats.dense_of(layer.weight.detach())
        dtype = dtype or weight.dtype
        if act in _plans.PAIRS and layer.out_features % 16:
            raise invalid("torch.pair", f"got {layer.out_features} rows of gate and up", "a multiple of 16")
        features = layer.out_features // (2 if act in _plans.PAIRS else 1)
        self = cls(layer.in_features, features, layer.bias is not None, dtype, act, weight.device,
                   weight.dtype if dtype.itemsize == 1 and weight.dtype != torch.float32 else None)
        if mask is not None:
            weight = weight * mask
        elif scores is not None:
            weight = formats.prune(weight, scores)
        self.set_weight(weight, prune=prune)
        if layer.bias is not None:
            self.bias = nn.Parameter(layer.bias.detach().to(self.out_dtype), requires_grad=layer.bias.requires_grad)
        return self

    @classmethod
    def from_pair(cls, gate, up, *, dtype=None, scores=None, prune=True, act="swiglu"):
        """act(gate(x)) * up(x) of two nn.Linear as one layer and one kernel. scores: a pair of tensors."""
        if act not in _plans.PAIRS or gate.weight.shape != up.weight.shape or gate.weight.dtype != up.weight.dtype \
                or (gate.bias is None) != (up.bias is None):
            raise invalid("torch.pair", f"got act = {act}, gate {tuple(gate.weight.shape)} {gate.weight.dtype}, up "
                          f"{tuple(up.weight.shape)} {up.weight.dtype}, biases {gate.bias is not None} and "
                          f"{up.bias is not None}", f"{', '.join(_plans.PAIRS)}; two layers of one shape and type")
        both = nn.Linear(gate.in_features, 2 * gate.out_features, gate.bias is not None, device="meta")
        halves = [formats.dense_of(layer.weight.detach()) for layer in (gate, up)]
        both.weight = nn.Parameter(torch.cat(halves), requires_grad=False)
        if gate.bias is not None:
            both.bias = nn.Parameter(torch.cat((gate.bias.detach(), up.bias.detach())), gate.bias.requires_grad)
        return cls.from_linear(both, dtype=dtype, scores=None if scores is None else torch.cat(tuple(scores)),
                               prune=prune, act=act)

    @torch.no_grad()
    def set_weight(self, weight, prune=True):
        """Takes a dense weight [out_features, in_features] (of pairs gate, then up): prunes, quantises and packs it on
        its device."""
        if tuple(weight.shape) != (self.rows, self.in_features):
            raise invalid("torch.shape", f"got a weight of shape {tuple(weight.shape)}",
                          f"({self.rows}, {self.in_features})")
        if self.scaled and prune and self.weight_dtype.is_floating_point and weight.element_size() == 2:
            self.weight_scale.copy_(row_scales(weight, self.weight_dtype))
            self.packed.copy_(formats.pack_quantized(weight, self.weight_scale, self.weight_dtype, self.pair))
            _plans.weights_written(self.packed)
            return
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
        self.packed.copy_(formats.pack(weight, self.pair))
        _plans.weights_written(self.packed)

    def _load_from_state_dict(self, *args, **kwargs):
        super()._load_from_state_dict(*args, **kwargs)
        _plans.weights_written(self.packed)

    def dense_weight(self):
        """The weight as nn.Linear would have it (8-bit: with its scales; of pairs gate, then up)."""
        weight = formats.unpack(self.packed, self.rows, self.in_features, self.weight_dtype, self.pair)
        return (weight.float() * self.weight_scale[:, None]).to(self.out_dtype) if self.scaled else weight

    def forward(self, x):
        if x.dtype != self.weight_dtype and not self.scaled:
            if not torch.is_autocast_enabled(x.device.type):
                raise invalid("torch.dtype", f"got x of {x.dtype}", f"{self.weight_dtype}, which the weight is packed in",
                              f"x.to({self.weight_dtype})")
            x = x.to(self.weight_dtype)
        if not self.scaled:
            return _ops.linear(x, self.packed, self.out_features, self.bias, None, None, self.act)
        q, scale = quantize_rows(x, self.weight_dtype)
        return _ops.linear(q, self.packed, self.out_features, self.bias, scale.reshape(-1), self.weight_scale, self.act,
                           self.out_dtype)

    def kernel_keys(self, max_tokens=None):
        """What its kernels are made for, one for each range of token counts; none when it is not on a CUDA device."""
        if not self.packed.is_cuda:
            return []
        bias = None if self.bias is None else self.bias.dtype
        out = torch.int32 if self.weight_dtype == torch.int8 and not self.scaled else self.out_dtype
        key = _plans.Key(self.packed.device.index, self.weight_dtype, out, bias, self.act, self.scaled, self.rows,
                         self.in_features)
        ranges = _plans.buckets(key, _plans.runtime().target(key.device))
        n = _plans.bucket_of(ranges, max_tokens) + 1 if max_tokens else len(ranges)
        return [key.at(bucket) for bucket in range(n)]

    def get_extra_state(self):
        return {"format": FORMAT_VERSION, "type": formats.type_of(self.weight_dtype),
                "shape": (self.out_features, self.in_features), "act": self.act}

    def set_extra_state(self, state):
        want = self.get_extra_state()
        for name in ("format", "type", "shape"):
            if tuple(state[name]) != tuple(want[name]) if name == "shape" else state[name] != want[name]:
                raise invalid(f"torch.state-{name}", f"got a state with {name} {state[name]}", f"{want[name]}")
        if (state["act"] in _plans.PAIRS) != self.pair:
            raise invalid("torch.state-act", f"got a state with act {state['act']}", f"{self.act}, or one as it")
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
    too; the gradient to the weight is dense, masked. After each optimizer step: heddle.torch.repack(model).

    straight_through: the weight stays dense, its gradient is not masked, and repack() chooses the mask anew: what is pruned
    may come back. Only two-way.

    `mask` is True where a weight stays; change it in place, then repack(new_mask=False)."""

    def __init__(self, layer, two_way=True, straight_through=False):
        super().__init__()
        if straight_through and not two_way:
            raise invalid("torch.straight-through", "got two_way=False", "two_way=True")
        self.in_features, self.out_features, self.two_way = layer.in_features, layer.out_features, two_way
        self.straight_through = straight_through
        weight = layer.weight.detach()
        mask = formats.two_way_mask(weight) if two_way else formats.mask_of(weight)
        self.weight = nn.Parameter(weight.clone() if straight_through else weight * mask)
        self.bias = nn.Parameter(layer.bias.detach().clone()) if layer.bias is not None else None
        size = formats.packed_bytes(layer.out_features, layer.in_features, weight.dtype)
        size_t = formats.packed_bytes(layer.in_features, layer.out_features, weight.dtype)
        self.register_buffer("mask", mask)
        self.register_buffer("pruned", None if straight_through else ~mask, persistent=False)
        self._mask_version = mask._version
        self.register_buffer("packed", torch.zeros(size, dtype=torch.uint8, device=weight.device), persistent=False)
        self.register_buffer("packed_t", torch.zeros(size_t, dtype=torch.uint8, device=weight.device) if two_way
                             else None, persistent=False)
        self.repack()

    @torch.no_grad()
    def repack(self, new_mask=None, masked=False):
        """Packs the weight as it is now, under the mask; new_mask=True chooses the mask anew by magnitude (None: where the
        layer is straight_through). masked=True: the weight is zero where the mask is False, as it stays under an optimizer
        that works element by element on these gradients (SGD, Adam): saves a pass over the weight."""
        if new_mask is None:
            new_mask = self.straight_through
        if new_mask and self.two_way:
            formats.pack_two_way(self.weight, self.packed, self.packed_t, self.mask)
        elif new_mask:
            self.mask.copy_(formats.mask_of(self.weight))
        if self.straight_through:
            if not new_mask:
                formats.pack_masked(self.weight, self.mask, self.packed, self.packed_t)
            return
        if new_mask or self.mask._version != self._mask_version:
            torch.logical_not(self.mask, out=self.pruned)
            self._mask_version, masked = self.mask._version, False
        if not masked:
            self.weight.masked_fill_(self.pruned, 0)
        if not self.two_way:
            formats.pack(self.weight, out=self.packed)
        elif not new_mask:
            formats.pack_with_twin(self.weight, self.packed, self.packed_t)

    def __setstate__(self, state):
        """Of a copy, or what was pickled: its mask counts its versions anew."""
        super().__setstate__(state)
        self._mask_version = -1

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._mask_version = -1
        return self

    def forward(self, x):
        return torch.ops.heddle.masked_linear(x, self.weight, self.packed, self.packed_t, self.bias, self.pruned,
                                              self.straight_through)


def repack(model, new_mask=None, masked=False):
    """Renews the packed weights of all TrainableSparseLinear layers (TrainableSparseLinear.repack): after
    optimizer.step()."""
    for layer in model.modules():
        if isinstance(layer, TrainableSparseLinear):
            layer.repack(new_mask, masked)
