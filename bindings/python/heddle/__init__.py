"""Heddle: kernels for the product of a 2:4-sparse and a dense matrix on NVIDIA tensor cores.

    import heddle, numpy as np
    w, x = np.random.randn(256, 512), np.random.randn(96, 512)             # a layer, 96 tokens
    problem = heddle.Problem(m=256, n=None, k=512, type="bf16", out="f32")  # y = x W^T, tokens known at launch
    kernel = problem.compile()                                              # PTX for sm_90a
    weights = heddle.SparseMatrix.from_dense(w, "bf16", kernel.family, prune=True)
    y = kernel.simulate(weights, x)                                         # the PTX itself, without a GPU
    print(kernel.compare(y, weights, x))

heddle.torch has the same as PyTorch layers, heddle.weights converts checkpoints; both are imported by themselves.
"""
from ._c import HEDDLE_VERSION as __version__
from .elements import DTYPES, decode, encode
from .errors import (Diagnostic, EnvironmentProblem, HeddleError, InternalError, Invalid, Mismatch, NotFound,
                     OutOfMemory, Unsupported)
from .kernel import Comparison, Dynamic, Kernel, Problem
from .matrix import FORMAT_VERSION, SparseMatrix, packed_bytes, prune

__all__ = ["Comparison", "DTYPES", "Diagnostic", "Dynamic", "EnvironmentProblem", "FORMAT_VERSION", "HeddleError",
           "InternalError", "Invalid", "Kernel", "Mismatch", "NotFound", "OutOfMemory", "Problem", "SparseMatrix",
           "Unsupported", "__version__", "decode", "encode", "packed_bytes", "prune"]
