"""What else PyTorch has for a linear layer: dense fp8, and cuSPARSELt."""
import torch
from torch import nn

import heddle.torch as ht

F8 = torch.float8_e4m3fn


def compiled(module, mode="default"):
    """torch.compile for the ops between the matmuls, separately for each shape."""
    return torch.compile(module, dynamic=False, mode=None if mode == "default" else mode + "-no-cudagraphs")


class DenseFp8(nn.Module):
    """fp8 with row and token scales, by torch._scaled_mm."""

    def __init__(self, layer):
        super().__init__()
        q, scale = ht.quantize_rows(layer.weight.detach())
        self.register_buffer("q", q), self.register_buffer("scale", scale)

    def forward(self, x):
        q, scale = ht.quantize_rows(x)
        return torch._scaled_mm(q, self.q.t(), scale[:, None], self.scale[None, :], out_dtype=torch.bfloat16)


class Cusparselt(nn.Module):
    """torch._cslt_sparse_mm with its own search; bf16, or fp8 without scales. Tokens are padded to 16, its minimum."""

    def __init__(self, layer, fp8):
        super().__init__()
        weight = ht.prune(layer.weight.detach())
        self.fp8 = fp8
        weight = weight.to(F8) if fp8 else weight
        self.register_buffer("w", torch._cslt_compress(weight))
        self.alg = {}

    def forward(self, x):
        n = x.shape[0]
        x = nn.functional.pad(x, (0, 0, 0, -n % 16))
        x = x.to(F8) if self.fp8 else x
        more = {"out_dtype": torch.bfloat16} if self.fp8 else {}
        if x.shape not in self.alg:
            self.alg[x.shape] = torch._cslt_sparse_mm_search(self.w, x.t(), **more)
        y = torch._cslt_sparse_mm(self.w, x.t(), transpose_result=True, alg_id=self.alg[x.shape], **more)
        return y[:n]
