"""Heddle as a backend of torch.sparse's semi-structured tensors: any shape, strides and size of the dense operand.

    W = SparseSemiStructuredTensorHeddle.from_dense(weight)   # [m, k], 2:4
    torch.nn.functional.linear(x, W, bias); torch.mm(x, W.t()); torch.mm(W, B)"""

import torch
from torch.sparse import SparseSemiStructuredTensor
from torch.sparse.semi_structured import _SEMI_STRUCTURED_SPARSE_CONFIG

from . import formats


class SparseSemiStructuredTensorHeddle(SparseSemiStructuredTensor):
    """`packed` holds the packed bytes (docs/format.md); `meta` is None."""

    BACKEND = "heddle"
    _DTYPE_SHAPE_CONSTRAINTS = {  # the group is all that a kernel asks of a shape
        torch.int8: _SEMI_STRUCTURED_SPARSE_CONFIG(1, 4, 1, 1),
        torch.float16: _SEMI_STRUCTURED_SPARSE_CONFIG(1, 4, 1, 1),
        torch.bfloat16: _SEMI_STRUCTURED_SPARSE_CONFIG(1, 4, 1, 1),
        torch.float32: _SEMI_STRUCTURED_SPARSE_CONFIG(1, 2, 1, 1),
    }

    @staticmethod
    def __new__(cls, shape, packed, meta, packed_t, meta_t, compressed_swizzled_bitmask,
                fuse_transpose_cusparselt=False, alg_id_cusparselt=0, requires_grad=False, dtype=None):
        """As the base class, but packed bytes do not say what they are: dtype does."""
        if getattr(cls, "SPARSE_DISPATCH", None) is None:
            cls._load_dispatch_table({
                torch.ops.aten.values: _values, torch.ops.aten.indices: _indices, torch.ops.aten.mm: _matmul,
                torch.ops.aten.matmul: _matmul, torch.ops.aten.addmm: _addmm, torch.ops.aten.linear: _linear,
                torch.ops.aten.t: _transpose, torch.ops.aten.detach: _detach, torch.ops.aten.view: _view,
            })
            torch._dynamo.allow_in_graph(cls)
        held = packed if packed is not None else packed_t
        tensor = torch.Tensor._make_wrapper_subclass(cls, shape, device=held.device, dtype=dtype,
                                                     requires_grad=requires_grad)
        tensor.packed, tensor.packed_t = packed, packed_t
        tensor.meta = tensor.meta_t = tensor.compressed_swizzled_bitmask = None
        tensor.fuse_transpose_cusparselt, tensor.alg_id_cusparselt = False, 0
        return tensor

    def __tensor_flatten__(self):
        names = [name for name in ("packed", "packed_t") if getattr(self, name) is not None]
        return names, (self.shape, self.dtype, self.requires_grad)

    @classmethod
    def __tensor_unflatten__(cls, inner, meta, outer_size, outer_stride):
        shape, dtype, requires_grad = meta
        return cls(shape, inner.get("packed"), None, inner.get("packed_t"), None, None, requires_grad=requires_grad,
                   dtype=dtype)

    @classmethod
    def _validate_device_dim_dtype_shape(cls, original_tensor):
        """The base class's refusals; a tensor on the CPU is taken, too (its products are dense)."""
        if original_tensor.is_cuda:
            super()._validate_device_dim_dtype_shape(original_tensor)

    @classmethod
    def from_dense(cls, original_tensor):
        cls._validate_device_dim_dtype_shape(original_tensor)
        return cls(original_tensor.shape, formats.pack(original_tensor), None, None, None, None,
                   requires_grad=original_tensor.requires_grad, dtype=original_tensor.dtype)

    @property
    def is_transposed(self):
        return self.packed is None

    def to_dense(self):
        m, k = self.shape if self.packed is not None else reversed(self.shape)
        held = self.packed if self.packed is not None else self.packed_t
        dense = formats.unpack(held, m, k, self.dtype)
        return dense if self.packed is not None else dense.t()

    def _mm(self, B, *, bias=None, **kwargs):
        """W @ B: [m, k] @ [k, n]."""
        if self.packed is None or B.dim() != 2 or isinstance(B, SparseSemiStructuredTensor):
            raise NotImplementedError(f"`{type(self).__name__}`: W.t() @ B is not supported; legal: W @ B, x @ W.t()")
        return torch.ops.heddle.linear(B.t(), self.packed, self.shape[0], bias).t()


def to_sparse_semi_structured(original_tensor):
    """torch.sparse.to_sparse_semi_structured with this backend."""
    return SparseSemiStructuredTensorHeddle.from_dense(original_tensor)


# ---- the dispatch table ----

def _values(func, types, args=(), kwargs=None):
    w = args[0]
    return formats.compress(w.to_dense())[0]


def _indices(func, types, args=(), kwargs=None):
    """Codes as docs/format.md has them: a nibble a group, the first in the low bits (not CUTLASS's order)."""
    return formats.compress(args[0].to_dense())[1]


def _like(w, shape, packed, packed_t):
    return type(w)(shape, packed, None, packed_t, None, None, requires_grad=False, dtype=w.dtype)


def _transpose(func, types, args=(), kwargs=None):
    w = args[0]
    return _like(w, torch.Size((w.shape[-1], w.shape[0])), w.packed_t, w.packed)


def _detach(func, types, args=(), kwargs=None):
    w = args[0]
    return _like(w, w.shape, w.packed, w.packed_t)


def _view(func, types, args=(), kwargs=None):
    w, shape = args
    if tuple(shape) != tuple(w.shape):
        raise NotImplementedError(f"`view` of a {type(w).__name__} to another shape is not supported")
    return w


def _times_transposed(x, w, bias=None):
    """x @ W with W the transposed view of a packed weight."""
    if w.packed is not None:
        raise NotImplementedError(f"`{type(w).__name__}`: x @ W is not supported; legal: W @ B, x @ W.t()")
    return torch.ops.heddle.linear(x, w.packed_t, w.shape[1], bias)


def _matmul(func, types, args=(), kwargs=None):
    a, b = args
    if isinstance(a, SparseSemiStructuredTensorHeddle):
        return a._mm(b)
    return _times_transposed(a, b)


def _addmm(func, types, args=(), kwargs=None):
    bias, a, b = args
    if isinstance(a, SparseSemiStructuredTensorHeddle) or bias.dim() != 1:
        raise NotImplementedError("addmm: legal: bias of one dimension + x @ W.t()")
    return _times_transposed(a, b, bias)


def _linear(func, types, args=(), kwargs=None):
    x, w, bias = args if len(args) == 3 else (*args, None)
    if isinstance(x, SparseSemiStructuredTensor) or w.packed is None:
        raise NotImplementedError("linear: legal: a dense x, W as it is")
    return torch.ops.heddle.linear(x, w.packed, w.shape[0], bias)


__all__ = ["SparseSemiStructuredTensorHeddle", "to_sparse_semi_structured"]
