"""Residual additions under torch.compile: add(residual, heddle.linear(x, ...)) becomes linear(x, ..., addend=residual).

A pass over the graph after autograd, which touches no other ops (_passes.py)."""
import torch

aten = torch.ops.aten
_VIEWS = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)


def fuse_add(graph):
    """Rewrites the additions of a torch.fx.Graph after autograd (aten ops with meta["val"]), in place; how many. Inductor
    calls it by itself; call it in a pass of your own that takes the place of torch._inductor.config's
    post_grad_custom_post_pass."""
    adds = [node for node in graph.nodes if node.target is aten.add.Tensor and node.kwargs.get("alpha", 1) == 1]
    return sum(_fuse(graph, add, *add.args[:2]) or _fuse(graph, add, *add.args[1::-1]) for add in adds)


def _fuse(graph, add, y, residual):
    """Whether `add` is now the linear op that computes y, with the residual as its addend."""
    linear = _linear_behind(y)
    if linear is None or not _fits(add, y, linear, residual) or _is_written_between(linear, add):
        return False
    with graph.inserting_before(add):
        flat = residual if y is linear else _viewed(graph, residual, linear.meta["val"].shape)
        new = graph.call_function(linear.target, (*_arguments(linear)[:-1], flat))
        new.meta = dict((add if y is linear else linear).meta)
        result = new
        if y is not linear:
            result = graph.call_function(y.target, (new, *y.args[1:]), y.kwargs)
            result.meta = dict(add.meta)
    add.replace_all_uses_with(result)
    for old in dict.fromkeys((add, y, linear)):
        graph.erase_node(old)
    return True


def _linear_behind(y):
    """The linear op whose result is y, seen as it is or in another shape, if nothing else uses it; None."""
    if not isinstance(y, torch.fx.Node) or len(y.users) != 1:
        return None
    linear = y.args[0] if y.target in _VIEWS else y
    if linear.target not in (torch.ops.heddle.linear.default, torch.ops.heddle.linear_with_grad.default):
        return None
    *_, act, _, addend = _arguments(linear)
    return linear if len(linear.users) == 1 and act == "none" and addend is None else None


def _arguments(linear):
    """All arguments in their order, with defaults."""
    given = dict(zip((a.name for a in linear.target._schema.arguments), linear.args), **linear.kwargs)
    return [given.get(a.name, a.default_value) for a in linear.target._schema.arguments]


def _fits(add, y, linear, residual):
    """Whether the residual is an addend of this y: the sum changes neither shape, type nor strides, and the kernel reads
    the residual as it lies. A y in another shape than the op's has the same rows."""
    if not isinstance(residual, torch.fx.Node) or residual is y:
        return False
    values = [node.meta.get("val") for node in (add, y, residual, linear)]
    if not all(isinstance(value, torch.Tensor) for value in values):
        return False
    total, seen, added, made = values
    if any(v.dtype != total.dtype or v.device != total.device for v in values) or not total.is_floating_point():
        return False
    if not (_same(total.shape, seen.shape) and _same(total.shape, added.shape) and _same(total.stride(), seen.stride())):
        return False
    if y is linear:
        return _known(added.stride(-1) == 1)
    symbolic = sum(not isinstance(size, int) for size in made.shape)
    return symbolic < 2 and _same(made.shape[-1:], seen.shape[-1:]) and _same(added.stride(), seen.stride())


def _known(fact):
    """A fact about sizes that may be symbolic; False: not known, and no guard is added."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true
    return statically_known_true(fact)


def _same(sizes, others):
    return len(sizes) == len(others) and all(_known(a == b) for a, b in zip(sizes, others))


def _is_written_between(linear, add):
    """Whether an op in between may write to memory, such as that of the linear op's inputs: it would now run before it."""
    node = linear.next
    while node is not add:
        schema = getattr(node.target, "_schema", None)
        if isinstance(node.target, torch._ops.HigherOrderOperator) or (schema and schema.is_mutable):
            return True
        node = node.next
    return False


def _viewed(graph, residual, shape):
    """The residual in another shape, of which one size may be symbolic."""
    view = graph.call_function(aten.view.default, (residual, [s if isinstance(s, int) else -1 for s in shape]))
    view.meta = {**residual.meta, "val": residual.meta["val"].view(shape)}
    return view
