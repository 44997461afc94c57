"""RMSNorms whose weight moves into the layers behind them: what remains is a factor for each token, which Heddle's kernels
apply (linear_norm)."""
import torch
from torch import nn

from ..errors import invalid

# Norms of Hugging Face's decoder layers, and the layers that read them, one of the lists. Both norms must be there: in blocks
# with others they may stand elsewhere.
_READERS = {"input_layernorm": (("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), ("self_attn.qkv_proj",)),
            "post_attention_layernorm": (("mlp.gate_proj", "mlp.up_proj"), ("mlp.gate_up_proj",))}
_NOT_WITH = ("pre_feedforward_layernorm", "post_feedforward_layernorm")  # post_attention_layernorm is not that of the MLP
_OUTPUTS = {"self_attn": "o_proj", "mlp": "down_proj"}  # the other layer of these modules, which reads something else
_TOLERANCE = 0.02  # of the largest output


def fold_norm(norm, *layers):
    """Multiplies the weight of an RMSNorm into the columns of the nn.Linear layers that read it, in place, and returns the
    norm without a weight, to be put in its place:

        block.norm = fold_norm(block.norm, block.q, block.k, block.v)

    norm: an nn.RMSNorm, or a module that computes the same with `weight` and `eps` or `variance_epsilon`, which four random
    rows show. Without a weight it is returned as it is. Fold before the layers are pruned: what stays depends on it. The
    result changes by a rounding of the weights. Everything that reads the norm must be among the layers, and no layer may
    read something else as well, nor share its weight with one that does: this cannot be seen here."""
    weight = getattr(norm, "weight", None)
    if weight is None and isinstance(norm, nn.RMSNorm):
        return norm
    bare = _without_weight(norm, weight)
    _check_layers(weight, layers)
    with torch.no_grad():
        for layer in layers:
            layer.weight.copy_(layer.weight.float() * weight.to(layer.weight.device).float())
    return bare


def _without_weight(norm, weight):
    eps = getattr(norm, "eps", getattr(norm, "variance_epsilon", None))
    legal = "an RMSNorm: `weight` of one dimension on a device, `eps` or `variance_epsilon`, no bias"
    if not isinstance(weight, torch.Tensor) or weight.dim() != 1 or weight.is_meta or not weight.is_floating_point() or \
            getattr(norm, "bias", None) is not None or not (isinstance(norm, nn.RMSNorm) or isinstance(eps, float)):
        raise invalid("torch.fold-norm", f"got {norm}", legal)
    bare = nn.RMSNorm(weight.numel(), eps=eps, elementwise_affine=False).train(norm.training)
    if not _is_rms_norm(norm, bare, weight.detach()):
        raise invalid("torch.fold-norm", f"got {norm}, which computes something else than RMSNorm", legal)
    return bare


@torch.no_grad()
def _is_rms_norm(norm, bare, weight):
    """Looked at on four random rows, not around 0, one of them so small that eps matters."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(4, weight.numel(), generator=generator) + torch.tensor([[0.0], [1], [-2], [0]])
    rows = (rows * torch.tensor([[1.0], [1], [1], [1e-3]])).to(weight)
    try:
        got = norm(rows)
    except Exception:  # whatever it needs, it is no function of rows alone
        return False
    want = bare(rows).float() * weight.float()
    if not isinstance(got, torch.Tensor) or got.shape != want.shape:
        return False
    apart, largest = (got.float() - want).abs().amax(1), want.abs().amax(1)
    return bool((apart <= _TOLERANCE * largest).all())


def _check_layers(weight, layers):
    if not layers:
        raise invalid("torch.fold-norm", "got no layers", "the nn.Linear layers that read the norm")
    for layer in layers:
        dense = isinstance(layer, nn.Linear) and type(layer.weight.data) is torch.Tensor and not layer.weight.is_meta
        if not dense or not layer.weight.is_floating_point():
            raise invalid("torch.fold-norm", f"got {layer}", "nn.Linear with a dense weight, before it is pruned")
        if layer.in_features != weight.numel():
            raise invalid("torch.shape", f"got a layer of {layer.in_features} input features and a norm of {weight.numel()}",
                          "one size")
    if len({layer.weight.data_ptr() for layer in layers}) < len(layers):
        raise invalid("torch.fold-norm", "got one weight in two layers", "each weight once")


def fold_norms(model, norms, wanted):
    """fold_norm in all modules of a model (sparsify). norms: True (Hugging Face's names), or {name of a norm: names of the
    layers that read it}, both seen from the module that has the norm. wanted: whether a layer of this full name becomes
    sparse: where one does not, the norm stays. How many were folded."""
    table = _READERS if norms is True else {name: (tuple(layers),) for name, layers in norms.items()}
    n_folded = 0
    for prefix, module in list(model.named_modules()):
        if norms is True and not _is_decoder_layer(module):
            continue
        for name, alternatives in table.items():
            norm = _submodule(module, name)
            for names in alternatives if norm is not None else ():
                layers = [_submodule(module, one) for one in names]
                full = [f"{prefix}.{one}" if prefix else one for one in names]
                if None in layers or not all(map(wanted, full)) or (norms is True and not _reads_all(module, names)):
                    continue
                parent, _, last = name.rpartition(".")
                setattr(module.get_submodule(parent), last, fold_norm(norm, *layers))
                n_folded += 1
                break
    if not n_folded:
        raise invalid("torch.fold-norms", f"no module of the model has {list(table)} and layers that read them",
                      "names of norms and layers, as in model.named_modules()")
    return n_folded


def _submodule(module, name):
    try:
        return module.get_submodule(name)
    except AttributeError:
        return None


def _is_decoder_layer(module):
    names = dict(module.named_children())
    return all(name in names for name in _READERS) and not any(name in names for name in _NOT_WITH)


def _reads_all(module, names):
    """Whether the layers are all that read the input of their module: it has no other nn.Linear, except that of _OUTPUTS."""
    parent = names[0].partition(".")[0]
    known = {*names, f"{parent}.{_OUTPUTS[parent]}"}
    return all(f"{parent}.{name}" in known for name, layer in module.get_submodule(parent).named_modules()
               if isinstance(layer, nn.Linear))
