"""Launches of heddle.torch's ops through ctypes on tensors of the host: the simulator takes the place of the GPU, and checks
each access."""
import contextlib
import ctypes
import types
from unittest import mock

import torch

import heddle.torch as ht
from heddle import _c
from heddle.errors import call
from heddle.torch import _ops, _plans


def _simulated(kernel, x, m, launches):
    """A launch of this kernel on the host, which sees just the bytes that its sizes and pitches name. m: rows of the weight."""
    def run(function, handle, args, n_args, stream):
        names = [argument.name for argument in kernel.arguments]
        number = {a.name: getattr(args[i], a.kind) for i, a in enumerate(kernel.arguments) if a.kind != "ptr"}
        n, k, rows = number["n"], x.shape[-1], m // (2 if kernel.takes_pairs else 1)
        elements = {"a": ht.packed_bytes(m, k, x.dtype), "b": (n - 1) * number["ldb"] + k,
                    "c": (n - 1) * number.get("ldc", 0) + rows, "d": (n - 1) * number["ldd"] + rows, "bias": m, "scale_a": m,
                    "scale_b": (k // 128 - 1) * number["ldsb"] + n if "ldsb" in number else n,
                    "scale_d": (rows // 128 - 1) * number.get("ldsd", 0) + n}
        width = {"a": 1, "b": x.itemsize, "scale_a": 4, "scale_b": 4, "scale_d": 4, "bias": 4}
        sizes = (ctypes.c_size_t * n_args)(*(elements.get(name, 0) * width.get(name, 2) for name in names))
        ptx, manifest = kernel.ptx.encode(), kernel.manifest.encode()
        one = _c.heddle_simulation(manifest=manifest, ptx=ptx, manifest_bytes=len(manifest), ptx_bytes=len(ptx),
                                   args=args, arg_bytes=sizes, n_args=n_args)
        call(_c.heddle_simulate, ctypes.byref(one))
        launches.append(number)
    return run


def launch(form, x, packed, out_features, *args):
    """(the result of a form of an op, the numbers of its launch)"""
    launches = []
    with contextlib.ExitStack() as patch:
        def kernel_of(key):
            kernel = _plans.compile_kernel(key, "sm_90a")
            assert "workspace" not in [argument.name for argument in kernel.arguments]
            patch.enter_context(mock.patch.object(_ops, "call", _simulated(kernel, x, key.m, launches)))
            roles = [_plans.ROLES.index(argument.name) for argument in kernel.arguments]
            return types.SimpleNamespace(kernel=kernel, handle=None, roles=roles)
        for module, name, other in ((torch.cuda, "device", lambda device: contextlib.nullcontext()),
                                    (torch.cuda, "current_stream", lambda: types.SimpleNamespace(cuda_stream=0)),
                                    (_plans, "runtime", lambda: types.SimpleNamespace(target=lambda device: "sm_90a")),
                                    (_plans, "kernel_of", kernel_of)):
            patch.enter_context(mock.patch.object(module, name, other))
        patch.enter_context(mock.patch.dict(ht.settings, workspace=False))
        return form(x, packed, out_features, *args), launches[0]
