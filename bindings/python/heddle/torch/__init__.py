"""Heddle in PyTorch.

    import heddle.torch
    heddle.torch.sparsify(model)                                 # every nn.Linear: pruned 2:4 and packed, in place
    heddle.torch.sparsify(model, dtype=torch.float8_e4m3fn)      # fp8, scales by row and token

The ops are torch.ops.heddle.linear and masked_linear: they compile without graph breaks, with dynamic numbers of
tokens, run in CUDA graphs, on any stream and thread."""
from . import _ops  # noqa: F401  (defines torch.ops.heddle)
from ._extension import extension
from ._fusion import fuse_add
from ._norm_fusion import fuse_norm
from ._plans import settings
from .formats import (dense_of, dtype_of, is_sparse, mask_of, pack, pack_quantized, packed_bytes, prune, two_way_mask, type_of,
                      unpack)
from .layers import SparseLinear, TrainableSparseLinear, linear, quantize_rows, repack, row_scales, scaled_linear
from .models import GatedMLP, prepare, sparsify
from .norms import fold_norm
from .semi_structured import SparseSemiStructuredTensorHeddle, to_sparse_semi_structured

__all__ = ["GatedMLP", "SparseLinear", "SparseSemiStructuredTensorHeddle", "TrainableSparseLinear", "dense_of",
           "dtype_of", "extension", "fold_norm", "fuse_add", "fuse_norm", "is_sparse", "linear", "mask_of", "pack",
           "pack_quantized", "packed_bytes", "prepare", "prune", "quantize_rows", "repack", "row_scales",
           "scaled_linear", "settings", "sparsify", "to_sparse_semi_structured", "two_way_mask", "type_of", "unpack"]
