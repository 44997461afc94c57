"""Whole models: sparsify puts sparse layers in the place of dense ones, prepare compiles what they will launch."""
import fnmatch

import torch
from torch import nn

from ..errors import invalid
from . import _ops, _plans, norms
from .layers import SparseLinear, TrainableSparseLinear


class GatedMLP(nn.Module):
    """down(act(gate(x)) * up(x)): `gate_up` is one layer, one kernel, with an act of pairs.

    sources: the names that gate, up and down had in the module that it replaces."""

    def __init__(self, gate_up, down, sources):
        super().__init__()
        self.gate_up, self.down, self.sources = gate_up, down, sources

    def forward(self, x):
        return self.down(self.gate_up(x))


# Names of gate, up and down in models' own modules; up None: gate holds both, gate first.
_LAYOUTS = (("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2"), ("gate_up_proj", None, "down_proj"))
_TOLERANCE = 0.02  # of the largest output: activations differ by more, rounding by less


def _parts(module):
    """(names, gate, up, down) where a module has layers of these names and shapes; None."""
    for names in _LAYOUTS:
        gate, up, down = (getattr(module, name, None) if name else None for name in names)
        linear = [layer for layer in (gate, up, down) if type(layer) is nn.Linear]
        if len(linear) != 3 - (names[1] is None) or any(layer.weight.is_meta for layer in linear):
            continue
        features = gate.out_features // (2 if up is None else 1)
        same = up is None or (up.weight.shape == gate.weight.shape and (up.bias is None) == (gate.bias is None))
        if same and down.in_features == features and features % 8 == 0:
            return names, gate, up, down
    return None


@torch.no_grad()
def _activation(module, gate, up, down):
    """The act of pairs with which the layers compute what the module computes, looked at on four random rows; None."""
    if module.training or module._forward_hooks or module._forward_pre_hooks:
        return None
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, gate.in_features, generator=generator).to(gate.weight)
    try:
        want = module(x)
    except Exception:  # whatever it needs, it is no function of x alone
        return None
    if not isinstance(want, torch.Tensor) or want.shape != (4, down.out_features):
        return None
    g, u = gate(x).chunk(2, -1) if up is None else (gate(x), up(x))
    apart = {act: (down(_ops._FUNCTIONS[of](g) * u) - want).abs().max().item() for act, of in _plans.PAIRS.items()}
    best = min(apart, key=apart.get)
    return best if apart[best] <= _TOLERANCE * want.abs().max().item() else None


def _is_linear(layer):
    """nn.MultiheadAttention reads the weight of its own kind of nn.Linear, which must stay."""
    return isinstance(layer, nn.Linear) and not isinstance(layer, nn.modules.linear.NonDynamicallyQuantizableLinear)


def _matches(name, patterns, excluded):
    return any(fnmatch.fnmatchcase(name, p) for p in patterns) and not any(fnmatch.fnmatchcase(name, e) for e in excluded)


def _put(model, name, new):
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, new)


def _fuse(model, wanted, dtype, scores):
    """Replaces modules that compute down(act(gate(x)) * up(x)); how many. `down` stays an nn.Linear, to be looked at."""
    n_fused = 0
    for name, module in list(model.named_modules()):
        parts = _parts(module)
        if not parts or not name:
            continue
        names, gate, up, down = parts
        full = [f"{name}.{one}" for one in names[:2] if one]
        act = _activation(module, gate, up, down) if all(map(wanted, full)) else None
        if not act:
            continue
        of = [scores.get(one) for one in full]
        if up is None:
            layer = SparseLinear.from_linear(gate, dtype=dtype, scores=of[0], act=act)
        elif (of[0] is None) == (of[1] is None):
            layer = SparseLinear.from_pair(gate, up, dtype=dtype, scores=None if of[0] is None else of, act=act)
        else:
            continue
        _put(model, name, GatedMLP(layer, down, names))
        if wanted(f"{name}.{names[2]}") and down.in_features % 4 == 0:
            model.get_submodule(name).down = SparseLinear.from_linear(
                down, dtype=dtype, scores=scores.get(f"{name}.{names[2]}"))
        n_fused += 1
    return n_fused


def sparsify(model, pattern="*", *, exclude="*lm_head*", dtype=None, scores=None, trainable=False, fuse=True,
             fold_norms=False, compile=True):
    """Puts a SparseLinear in the place of each nn.Linear whose name matches, in place; returns the model.

    pattern, exclude   names as in fnmatch ("*mlp*"), one or several
    dtype              of the weights; default: each layer's own; torch.float8_e4m3fn quantises weights by row and
                       activations by token
    scores             {name: tensor}: of these layers the largest scores stay, of the others the largest magnitudes
    trainable          TrainableSparseLinear instead; "straight_through": with that option
    fuse               modules that are found to compute down(act(gate(x)) * up(x)), as those of Llama, become a GatedMLP,
                       whose gate, up and act are one kernel; only in eval mode. False: every layer by itself
    fold_norms         the weights of the RMSNorms in front of sparse layers are multiplied into these, before they are pruned
                       (fold_norm), so that torch.compile can normalise in their kernels (bf16, f16). True: in decoder layers
                       named as Hugging Face's (input_layernorm, post_attention_layernorm); or {name of a norm: names of
                       all layers that read it}, seen from the module that has them. Results change by a rounding
    compile            make the kernels of all layers now (on CUDA), not with each layer's first call: prepare()"""
    if trainable not in (False, True, "straight_through"):
        raise invalid("torch.trainable", f"got {trainable!r}", "False, True, 'straight_through'")
    patterns, excluded = ([p] if isinstance(p, str) else list(p or ()) for p in (pattern, exclude))
    group, scores = 2 if dtype == torch.float32 else 4, scores or {}

    def wanted(name):
        return _matches(name, patterns, excluded)
    if fold_norms and trainable:
        raise invalid("torch.fold-norms", f"got fold_norms with trainable = {trainable!r}", "one of them")
    if fold_norms:
        norms.fold_norms(model, fold_norms, wanted)
    n_replaced = _fuse(model, wanted, dtype, scores) if fuse and not trainable else 0
    for name, layer in list(model.named_modules()):
        if not _is_linear(layer) or layer.in_features % group or not wanted(name):
            continue
        if trainable:
            new = TrainableSparseLinear(layer, straight_through=trainable == "straight_through")
        else:
            new = SparseLinear.from_linear(layer, dtype=dtype, scores=scores.get(name))
        if not name:
            return new
        _put(model, name, new)
        n_replaced += 1
    if not n_replaced:
        raise invalid("torch.pattern", f"no nn.Linear of the model matches {patterns}",
                      "names of model.named_modules()")
    if compile and not trainable:
        prepare(model)
    return model


def prepare(model, max_tokens=None):
    """Makes the kernels of all SparseLinear layers that are on a CUDA device, several at once; of token counts up to
    max_tokens. Without it the first call of a layer with so many tokens makes its own, which takes a tenth of a second
    and cannot be done while a graph is captured. Kernels with an addend are made by their first call alone."""
    keys = [key for layer in model.modules() if isinstance(layer, SparseLinear)
            for key in layer.kernel_keys(max_tokens)]
    for index in sorted({key.device for key in keys}):
        with torch.cuda.device(index):
            _plans.make_ahead([key for key in keys if key.device == index])
