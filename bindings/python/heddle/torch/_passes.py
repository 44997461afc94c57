"""Heddle's passes in Inductor: residuals (_fusion.py), then norms (_norm_fusion.py), which read the sums of what the first
have made.

They run over the graph after autograd wherever an op of Heddle's is traced (install), and are part of the key of Inductor's
caches."""
import hashlib
import sys
from functools import cache

from . import _fusion, _norm_fusion, _plans

_HOOK = "post_grad_custom_post_pass"
_SETTINGS = "fuse_add", "fuse_norm"


@cache
def _pass_class():
    """Made when something is compiled: its base class is Inductor's, which takes a second to import."""
    from torch._inductor.custom_graph_pass import CustomGraphPass

    class Fusions(CustomGraphPass):
        def __init__(self, before=None):
            self.before = before  # a pass that runs first

        def __call__(self, graph):
            if self.before is not None:
                self.before(graph)
            if _plans.settings["fuse_add"]:
                _fusion.fuse_add(graph)
            if _plans.settings["fuse_norm"]:
                _norm_fusion.fuse_norm(graph)

        def uuid(self):
            """What the result depends on, for Inductor's caches; None, which means no cache: a function that runs first
            does not say it."""
            own = _source_hash(), *(_plans.settings[name] for name in _SETTINGS)
            if self.before is None:
                return own
            before = self.before.uuid() if isinstance(self.before, CustomGraphPass) else None
            return before and (own, before)

    return Fusions


@cache
def _source_hash():
    sources = (open(module.__file__, "rb").read() for module in (_fusion, _norm_fusion))
    return hashlib.sha256(b"\0".join(sources)).hexdigest()


def install():
    """Sets Inductor's hook, behind the passes that are set already. Called with each op of Heddle's that is traced: torch
    has a hook for each thread, and a thread that compiles has imported torch._dynamo."""
    if not any(_plans.settings[name] for name in _SETTINGS) or "torch._dynamo" not in sys.modules:
        return
    try:
        from torch._inductor import config, custom_graph_pass
    except ImportError:  # a torch without such passes
        return
    if not hasattr(config, _HOOK):
        return
    hook = getattr(config, _HOOK)
    passes = hook if isinstance(hook, (list, tuple)) else [] if hook is None else [hook]
    if any(isinstance(one, _pass_class()) for one in passes):
        return
    if not passes:
        setattr(config, _HOOK, _pass_class()())
    elif hasattr(custom_graph_pass, "get_custom_graph_passes"):  # this torch takes several
        setattr(config, _HOOK, (*passes, _pass_class()()))
    elif not isinstance(hook, getattr(custom_graph_pass, "CustomInferenceAwareGraphPass", ())):  # called in another way
        setattr(config, _HOOK, _pass_class()(hook))
