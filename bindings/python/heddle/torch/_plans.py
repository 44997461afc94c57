"""Kernels for a layer: one for each range of token counts, made once for a device, types, epilogue and sizes.

The schedule of each is what tuning chose at the upper end of its range, else the model's default."""
import ctypes
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from .. import _c
from ..errors import HeddleError, call, invalid, make
from ..kernel import Dynamic, Problem
from .formats import packed_bytes, type_of

ACTS = ("none", "relu", "gelu", "gelu_tanh", "silu")  # ORDER ACTS (extension.cpp)
ROLES = ("a", "b", "d", "bias", "scale_a", "scale_b", "n", "ldb", "ldd", "workspace")  # ORDER ROLES (extension.cpp)
# Buckets of token counts: a kernel serves those up to the first number (0: any), and its schedule is the one that was
# tuned at the second.
BUCKETS = ((8, 1), (16, 16), (32, 32), (64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024), (2048, 2048),
           (4096, 4096), (0, 8192))
_OUT = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.int32: "s32", torch.int8: "s8"}


class Runtime:
    """The CUDA driver, opened by Heddle, and the device's target; one a process."""

    def __init__(self):
        self.handle = make(_c.heddle_runtime_create, None)
        self.targets = {}

    def target(self, device):
        """The target of the current device ("sm_90a")."""
        if device not in self.targets:
            torch.zeros(1, device=f"cuda:{device}")  # this thread has its context now
            out = ctypes.create_string_buffer(16)
            call(_c.heddle_device_target, self.handle, out)
            self.targets[device] = out.value.decode()
        return self.targets[device]


_runtime = None
_lock = threading.RLock()


def runtime():
    global _runtime
    with _lock:
        if _runtime is None:
            torch.cuda.init()
            _runtime = Runtime()
        return _runtime


class Loaded:
    """A kernel in the current context: its handle, and what each argument is (ROLES)."""

    def __init__(self, kernel):
        self.kernel = kernel  # the compiled one: what it says of itself
        image, ptx, manifest = _c.heddle_image(), kernel.ptx.encode(), kernel.manifest.encode()
        image.ptx, image.ptx_bytes = ptx, len(ptx)
        if kernel.cubin:
            image.cubin, image.cubin_bytes = ctypes.cast(kernel.cubin, ctypes.c_void_p), len(kernel.cubin)
        self.handle = make(_c.heddle_kernel_load, runtime().handle, manifest, len(manifest), ctypes.byref(image))
        self.roles = bytes(ROLES.index(argument.name) for argument in kernel.arguments)


class Key:
    """What a kernel is made for. Fields are numbers, as extension.cpp has them (ORDER KEY)."""

    def __init__(self, device, x, out, bias, act, scaled, m, k, bucket):
        self.device, self.x, self.out, self.bias, self.act, self.scaled, self.m, self.k, self.bucket = (
            device, x, out, bias, act, scaled, m, k, bucket)

    def fields(self):
        return (self.device, _number(self.x), _number(self.out), _number(self.bias), ACTS.index(self.act),
                int(self.scaled), self.m, self.k, self.bucket)

    @classmethod
    def of(cls, fields):
        device, x, out, bias, act, scaled, m, k, bucket = fields
        return cls(device, _dtype(x), _dtype(out), _dtype(bias), ACTS[act], bool(scaled), m, k, bucket)


def bucket_of(tokens):
    """Which of BUCKETS a number of tokens belongs to."""
    return next((i for i, (limit, _) in enumerate(BUCKETS[:-1]) if tokens <= limit), len(BUCKETS) - 1)


def _problem(key, target):
    type = type_of(key.x)
    if key.out not in _OUT:
        raise invalid("torch.out_dtype", f"got {key.out}", ", ".join(map(str, _OUT)))
    if key.bias is not None and key.bias not in (torch.float32, torch.float16, torch.bfloat16):
        raise invalid("torch.bias", f"got a bias of {key.bias}", "float32, float16, bfloat16")
    scale = "vector" if key.scaled else None
    return Problem(m=key.m, n=Dynamic(max=BUCKETS[key.bucket][0]), k=key.k, type=type, target=target,
                   out=_OUT[key.out], bias=_OUT[key.bias] if key.bias is not None else None, act=key.act,
                   scale_a=scale, scale_b=scale)


def compile_kernel(key, target, use=lambda kernel: kernel):
    """use(the Kernel of a key): with the schedule that tuning chose for such a size, else the default of the bucket's
    largest. Where that spills (which an epilogue or another ptxas may cause) narrower tiles are next. Needs no GPU."""
    problem, refused = _problem(key, target), None
    tuned = problem.tuned_schedule((0, BUCKETS[key.bucket][1], 0))
    for words in dict.fromkeys((tuned, "", "tile=128x128", "tile=64x128", "tile=64x64")):
        try:
            return use(problem.compile(words or None, ptxas=settings["ptxas"], cache=settings["cache"]))
        except HeddleError as error:
            refused = refused or error
            if error.rule not in _SPILLS and words in (tuned, ""):
                raise
    raise refused


_SPILLS = ("kernel.gate", "ptxas.spill", "ptxas.remark")
_kernels = {}


def _find_ptxas():
    """A ptxas of the CUDA toolkit's, which is quicker than the driver's compiler and runs on many threads."""
    return shutil.which("ptxas") or next(filter(os.path.exists, ["/usr/local/cuda/bin/ptxas"]), None)


# ptxas: a path, or None: the driver compiles. cache: a folder of compiled kernels, shared by any number of processes.
settings = {"ptxas": _find_ptxas(), "cache": None}


def kernel_of(key):
    """The kernel of a key, Loaded: made on first use, in the current context."""
    fields = key.fields()
    with _lock:
        if fields not in _kernels:
            if torch.cuda.is_current_stream_capturing():
                raise invalid("torch.capture", f"the kernel for {key.m} x {key.k} and so many tokens is not made, and "
                              "cannot be while a graph is captured", "kernels that are there",
                              "heddle.torch.prepare(model) before, or one call")
            target = runtime().target(key.device)
            _kernels[fields] = compile_kernel(key, target, Loaded)
        return _kernels[fields]


def make_ahead(keys, threads=None):
    """Compiles and loads for several keys at once, on threads; all of one device, which is the current one."""
    fresh = [key for key in {key.fields(): key for key in keys}.values() if key.fields() not in _kernels]
    if not fresh:
        return
    target = runtime().target(fresh[0].device)

    def make_one(key):
        with torch.cuda.device(key.device):
            torch.cuda.current_stream()
            torch.zeros(1, device="cuda")  # a new thread gets the device's context
            return compile_kernel(key, target, Loaded)
    with ThreadPoolExecutor(threads or min(16, os.cpu_count() or 1)) as pool:
        for key, loaded in zip(fresh, pool.map(make_one, fresh)):
            with _lock:
                _kernels.setdefault(key.fields(), loaded)


# ---- dtypes as numbers: c10::ScalarType, which C++ counts in (ORDER SCALAR TYPES) ----

_NUMBERS = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
            torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15, torch.float8_e5m2: 23,
            torch.float8_e4m3fn: 24, None: -1}


def _number(dtype):
    if dtype not in _NUMBERS:
        raise invalid("torch.dtype", f"got {dtype}", ", ".join(map(str, _NUMBERS)))
    return _NUMBERS[dtype]


def _dtype(number):
    for dtype, one in _NUMBERS.items():
        if one == number:
            return dtype
    raise invalid("torch.dtype", f"got scalar type {number}", ", ".join(map(str, _NUMBERS)))


# ---- for the extension ----

_RESOLVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, ctypes.c_size_t)


def connect(library):
    """Gives the extension Heddle's functions, and a way to ask for kernels."""
    def resolve(fields, message, n_bytes):
        try:
            key = Key.of(fields[:9])
            with torch.cuda.device(key.device):
                register(library, key, kernel_of(key))
            return 0
        except Exception as error:  # into C++ nothing may be raised
            text = f"heddle: {error}" if isinstance(error, HeddleError) else f"heddle: {type(error).__name__}: {error}"
            raw = text.encode()[:n_bytes - 1] + b"\0"
            ctypes.memmove(message, raw, len(raw))
            return 1
    connect.kept = _RESOLVE(resolve)
    functions = (_c._heddle_kernel_launch, _c._heddle_kernel_workspace, _c._heddle_context_create,
                 _c._heddle_context_free, _c._heddle_context_count, _c._heddle_context_get,
                 _c._heddle_diagnostic_format, connect.kept)
    addresses = (ctypes.c_void_p * len(functions))(*(ctypes.cast(f, ctypes.c_void_p).value for f in functions))
    limits = (ctypes.c_int64 * len(BUCKETS))(*(limit for limit, _ in BUCKETS))
    library.heddle_torch_init(addresses, limits, ctypes.c_size_t(len(BUCKETS)))


def register(library, key, loaded):
    library.heddle_torch_register((ctypes.c_int64 * 9)(*key.fields()), ctypes.c_void_p(loaded.handle), loaded.roles,
                                  ctypes.c_size_t(len(loaded.roles)),
                                  ctypes.c_int64(packed_bytes(key.m, key.k, key.x)))
