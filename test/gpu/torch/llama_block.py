"""A Llama-3 block as in real models: RMSNorm, rotary attention with grouped heads, SwiGLU. Projections with the same
input are one nn.Linear (q, k, v together; gate and up together) for every contender. heddle.torch.sparsify makes
one kernel of gate, up and SwiGLU."""
import torch
from torch import nn
from torch.nn import functional as F

D_MODEL, N_HEADS, N_KV, D_FFN, MAX_TOKENS = 4096, 32, 8, 14336, 4096
NORMS = {"norm1": ("qkv",), "norm2": ("mlp.gate_up_proj",)}  # and the layers that read them: sparsify(fold_norms=NORMS)


class MLP(nn.Module):
    def __init__(self, d_model, d_ffn, dtype):
        super().__init__()
        self.gate_up_proj = nn.Linear(d_model, 2 * d_ffn, bias=False, dtype=dtype)
        self.down_proj = nn.Linear(d_ffn, d_model, bias=False, dtype=dtype)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, -1)
        return self.down_proj(F.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, d_model=D_MODEL, n_heads=N_HEADS, n_kv=N_KV, d_ffn=D_FFN, dtype=torch.bfloat16):
        super().__init__()
        self.n_heads, self.n_kv, self.d_head = n_heads, n_kv, d_model // n_heads
        self.norm1, self.norm2 = nn.RMSNorm(d_model, dtype=dtype), nn.RMSNorm(d_model, dtype=dtype)
        self.qkv = nn.Linear(d_model, (n_heads + 2 * n_kv) * self.d_head, bias=False, dtype=dtype)
        self.out = nn.Linear(d_model, d_model, bias=False, dtype=dtype)
        self.mlp = MLP(d_model, d_ffn, dtype)
        half = self.d_head // 2  # a model has these tables once, for all layers and steps
        angle = torch.arange(MAX_TOKENS)[:, None] * torch.pow(500000.0, -torch.arange(half) / half)
        self.register_buffer("cos", angle.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angle.sin().to(dtype), persistent=False)

    def rotary(self, x):
        """x [heads, tokens, d_head]: rotated by position."""
        half, cos, sin = self.d_head // 2, self.cos[:x.shape[1]], self.sin[:x.shape[1]]
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def attention(self, x):
        heads = self.qkv(x).view(x.shape[0], -1, self.d_head).transpose(0, 1)
        q, k, v = heads.split((self.n_heads, self.n_kv, self.n_kv))
        y = F.scaled_dot_product_attention(self.rotary(q)[None], self.rotary(k)[None], v[None], is_causal=True,
                                           enable_gqa=True)[0]
        return self.out(y.transpose(0, 1).reshape(x.shape[0], -1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
