"""Kernels for a layer: one for each range of token counts, made once for a device, types, epilogue and sizes.

The ranges, and the schedule of each, are the compiler's for the layer's problem (Problem.bucket_schedules): what tuning
chose, else the model's. They are compiled one by one, when they are needed or ahead: all of them take seconds."""
import ctypes
import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from .. import _c
from ..errors import HeddleError, Unsupported, call, invalid, make
from ..elements import elem
from ..kernel import Dynamic, Kernel, Problem, choose_for_device
from .formats import packed_bytes, type_of

# Activations; those of pairs take a weight that is half gate, half up, its rows interleaved (formats.pair_rows).
ACTS = ("none", "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu", "geglu_tanh", "reglu")  # ORDER ACTS (extension.cpp)
SUM_ROWS = 128  # features that a sum of squares covers
PAIRS = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh", "reglu": "relu"}  # and the activation of gate
ROLES = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "scale_d", "n", "ldb", "ldc", "ldd", "ldsb", "ldsd", "eps",
         "workspace")  # ORDER ROLES (extension_launch.h)
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


def load(kernel):
    """The handle of a kernel in the current context."""
    image, ptx, manifest = _c.heddle_image(), kernel.ptx.encode(), kernel.manifest.encode()
    image.ptx, image.ptx_bytes = ptx, len(ptx)
    if kernel.cubin:
        image.cubin, image.cubin_bytes = ctypes.cast(kernel.cubin, ctypes.c_void_p), len(kernel.cubin)
    return make(_c.heddle_kernel_load, runtime().handle, manifest, len(manifest), ctypes.byref(image))


class Loaded:
    """A kernel in the current context: its handle, and what each argument is (ROLES)."""

    def __init__(self, kernel):
        self.kernel = kernel  # the compiled one: what it says of itself
        self.handle = load(kernel)
        self.roles = bytes(ROLES.index(argument.name) for argument in kernel.arguments)

    def set_overlapping(self, kernel):
        """Also loads a kernel for launches that can overlap with the kernel before them (heddle_kernel_set_overlapping)."""
        handle = load(kernel)
        try:
            call(_c.heddle_kernel_set_overlapping, self.handle, handle)
        except HeddleError:
            _c.heddle_kernel_free(handle)
            raise


class Key:
    """What a kernel is made for; m: rows of the weight; bucket: which range of token counts; addend: whether there is
    one, of the type of the output; norm: whether it normalises x, by given sums of squares; reduce: whether it writes such
    sums of its output. Fields are numbers, as extension_launch.h has them (ORDER KEY)."""

    def __init__(self, device, x, out, bias, act, scaled, m, k, bucket=0, addend=False, norm=False, reduce=False):
        self.device, self.x, self.out, self.bias, self.act, self.scaled, self.m, self.k, self.bucket = (
            device, x, out, bias, act, scaled, m, k, bucket)
        self.addend, self.norm, self.reduce = addend, norm, reduce

    def family(self):
        """Without the bucket."""
        return (self.device, _number(self.x), _number(self.out), _number(self.bias), ACTS.index(self.act),
                int(self.scaled), self.m, self.k, int(self.addend), int(self.norm), int(self.reduce))

    def fields(self):
        return (*self.family(), self.bucket)

    def at(self, bucket):
        return Key.of(self.family(), bucket)

    @classmethod
    def of(cls, fields, bucket=0):
        device, x, out, bias, act, scaled, m, k, *flags = fields
        return cls(device, _dtype(x), _dtype(out), _dtype(bias), ACTS[act], bool(scaled), m, k, bucket, *map(bool, flags))


FAMILY_FIELDS = 11


def rows_of(out_features, act):
    """Rows of the weight of so many output features: of pairs twice as many."""
    return 2 * out_features if act in PAIRS else out_features


def _problem(key, target, max_tokens=0, overlapping=False):
    type = type_of(key.x)
    if key.out not in _OUT:
        raise invalid("torch.out_dtype", f"got {key.out}", ", ".join(map(str, _OUT)))
    if key.bias is not None and key.bias not in (torch.float32, torch.float16, torch.bfloat16):
        raise invalid("torch.bias", f"got a bias of {key.bias}", "float32, float16, bfloat16")
    scale = "vector" if key.scaled else None
    return Problem(m=key.m, n=Dynamic(max=max_tokens), k=key.k, type=type, target=target,
                   out=_OUT[key.out], bias=_OUT[key.bias] if key.bias is not None else None, act=key.act,
                   c=_OUT[key.out] if key.addend else None, scale_a=scale, scale_b="sumsq" if key.norm else scale,
                   reduce="sumsq" if key.reduce else None,
                   dependent=settings["weights_ready"], weights_ready=overlapping)


_buckets = {}


def buckets(key, target):
    """[(tokens that the range takes at most, words of its schedule)] of a layer; the last takes any number: 0."""
    family = (*key.family(), target, settings["workspace"])
    if family not in _buckets:
        if not _buckets and torch.cuda.is_available():
            choose_for_device(torch.cuda.get_device_name())
        parts = (part.rpartition(": ") for part in _problem(key, target).bucket_schedules().split("; "))
        _buckets[family] = [(int(border.partition("<=")[2] or 0), words if settings["workspace"] else
                             without_workspace(words)) for border, _, words in parts]
    return _buckets[family]


def without_workspace(words):
    """A schedule whose partial sums, if it has any, meet in shared memory."""
    if "reduce=workspace" in words.split():
        words = re.sub(r"\bsplit_k=\d+", "split_k=1", words)
    return words.replace("stream_k=1", "stream_k=0")


def bucket_of(ranges, tokens):
    """Which of the ranges a number of tokens belongs to."""
    return next((i for i, (limit, _) in enumerate(ranges[:-1]) if tokens <= limit), len(ranges) - 1)


def predicted_seconds(key, target, tokens):
    """The cost model's time of a launch with so many tokens; None: it has no rates of the target."""
    ranges = buckets(key, target)
    limit, words = ranges[bucket_of(ranges, tokens)]
    try:
        return _problem(key, target, limit).predict(words, (0, tokens, 0))
    except Unsupported:
        return None


def splits_k(key, target, tokens):
    """Whether the schedule for so many tokens divides k among CTAs."""
    ranges = buckets(key, target)
    words = ranges[bucket_of(ranges, tokens)][1].split()
    return "stream_k=1" in words or not {"split_k=1", "split_k=0"} & set(words)


def compile_kernel(key, target, use=lambda kernel: kernel):
    """use(the Kernel of a key). Where its schedule spills by ptxas, compile() takes the next best; where by the driver's
    compiler, which tells when it loads, narrower tiles are next. Needs no GPU."""
    limit, planned = buckets(key, target)[key.bucket]
    problem, refused = _problem(key, target, limit), None
    for words in dict.fromkeys((planned, "", "tile=128x128", "tile=64x128", "tile=64x64")):
        try:
            return use(problem.compile(words or None, is_choice=words == planned, ptxas=settings["ptxas"],
                                       cache=settings["cache"]))
        except HeddleError as error:
            refused = refused or error
            if error.rule not in _SPILLS and words in (planned, ""):
                raise
    raise refused


_SPILLS = ("kernel.gate", "ptxas.spill", "ptxas.remark")


def compile_overlapping(key, target):
    """The Kernel that launches take which can overlap with the kernel before them: it is weights_ready, and needs no
    workspace. Needs no GPU."""
    problem = _problem(key, target, buckets(key, target)[key.bucket][0], overlapping=True)
    words = without_workspace(problem.bucket_schedules().split("; ")[-1].rpartition(": ")[2])
    return problem.compile(words, is_choice=True, ptxas=settings["ptxas"], cache=settings["cache"])


def _make(key, target):
    """The kernel of a key, Loaded. With settings["weights_ready"] it has an overlapping one, unless that spills, or copies
    its B to a workspace; then all launches are ordinary."""
    loaded = compile_kernel(key, target, Loaded)
    if settings["weights_ready"]:
        try:
            loaded.set_overlapping(compile_overlapping(key, target))
        except HeddleError as error:
            if error.rule not in (*_SPILLS, "kernel.overlapping"):
                raise
            call(_c.heddle_kernel_set_overlapping, loaded.handle, None)
    return loaded


_kernels = {}


def _find_ptxas():
    """A ptxas of the CUDA toolkit's, which is quicker than the driver's compiler and runs on many threads."""
    return shutil.which("ptxas") or next(filter(os.path.exists, ["/usr/local/cuda/bin/ptxas"]), None)


# ptxas: a path, or None: the driver compiles. cache: a folder of compiled kernels, shared by any number of processes.
# weights_ready: in a captured graph, a kernel right behind another one of Heddle's starts before that has ended, and reads
# its weights at once (programmatic dependent launch). Elsewhere launches are ordinary ones, which are faster there. Each
# kernel is compiled twice. Set it before the first layer is made. What Heddle itself does to packed weights has ended
# before it returns (weights_written); your own writes to `packed` must have, too. workspace: False selects schedules that
# need none. Set it before the first layer is made. fuse_add: torch.compile adds residuals in the kernels (_fusion.py).
# fuse_norm: it normalises in them where that is faster by the cost model; "always": wherever it can (_norm_fusion.py). Both
# are read when something is compiled.
settings = {"ptxas": _find_ptxas(), "cache": None, "weights_ready": False, "workspace": True, "fuse_add": True,
            "fuse_norm": True}


def kernel_of(key):
    """The kernel of a key, Loaded: made on first use, in the current context."""
    fields = key.fields()
    with _lock:
        if fields not in _kernels:
            if torch.cuda.is_current_stream_capturing():
                compiled_only = key.addend or key.norm or key.reduce  # of what torch.compile fuses
                raise invalid("torch.capture", f"the kernel for {key.m} x {key.k} and so many tokens is not made, and "
                              "cannot be while a graph is captured", "kernels that are there",
                              "one call before" if compiled_only else "heddle.torch.prepare(model) before, or one call")
            target = runtime().target(key.device)
            _kernels[fields] = _make(key, target)
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
            return _make(key, target)
    with ThreadPoolExecutor(threads or min(16, os.cpu_count() or 1)) as pool:
        for key, loaded in zip(fresh, pool.map(make_one, fresh)):
            with _lock:
                _kernels.setdefault(key.fields(), loaded)


def weights_written(packed):
    """After each write to packed weights: kernels that are `weights_ready` do not wait for it, so the host does."""
    if not (settings["weights_ready"] and packed.is_cuda):
        return
    if torch.cuda.is_current_stream_capturing():
        raise invalid("torch.weights-ready", "packed weights are written while a graph is captured, and kernels would read "
                      "them too early", "a write before the capture", 'heddle.torch.settings["weights_ready"] = False')
    torch.cuda.current_stream(packed.device).synchronize()


# ---- the kernels that prune and pack ----

_packers = {}


_PACK_COMPILERS = {"plain": _c.heddle_pack_compile, "transposed": _c.heddle_pack_compile_transposed,
                   "twin": _c.heddle_pack_compile_twin, "two_way": _c.heddle_pack_compile_two_way,
                   "masked": _c.heddle_pack_compile_masked}  # and "quantized", which has a second type


def compile_packer(type, target, form="plain"):
    """The Kernel that prunes and packs weights of a type, or (two types) that converts them as well. transposed: they are
    transposed in memory; twin: it packs the transposed weight, too; two_way: both under a mask that it chooses; masked:
    under one that is given. Needs no GPU."""
    ptxas = settings["ptxas"] and settings["ptxas"].encode()
    if isinstance(type, tuple):
        return Kernel.made(_c.heddle_pack_compile_quantized, *map(elem, type), target.encode(), ptxas)
    return Kernel.made(_PACK_COMPILERS[form], elem(type), target.encode(), ptxas)


def packer_of(device, type, form="plain"):
    """Its handle in the device's context, which is the current one; None: it is not made, and cannot be while a graph is
    captured."""
    key = device, type, form
    with _lock:
        if key not in _packers and not torch.cuda.is_current_stream_capturing():
            _packers[key] = load(compile_packer(type, runtime().target(device), form))
        return _packers.get(key)


def _with_pitch(weight):
    """The weight in rows without gaps between elements, and the distance between rows in elements."""
    weight = weight if weight.stride(1) == 1 and weight.stride(0) >= weight.shape[1] else weight.contiguous()
    return weight, max(weight.stride(0), weight.shape[1])


def pack_on_device(weight, transposed=False, out=None, twin=None, mask=None, keep=None):
    """The packed bytes of a weight on a GPU (transposed: of weight.t()), pruned by magnitude, on the current stream, in
    `out` where that is given; None: there is no kernel. twin: takes the bytes of weight.t(), from the same read. mask: takes
    a two-way mask, under which both are packed; keep: has such a mask."""
    weight, pitch = _with_pitch(weight)
    m, k = weight.shape[::-1] if transposed else weight.shape
    forms = (("two_way", mask, _c.heddle_pack_device_two_way), ("masked", keep, _c.heddle_pack_device_masked),
             ("twin", twin, _c.heddle_pack_device_twin))
    form, _, launch = next((row for row in forms if row[1] is not None),
                           ("transposed" if transposed else "plain", None, _c.heddle_pack_device))
    with torch.cuda.device(weight.device):
        packer = packer_of(weight.device.index, type_of(weight.dtype), form)
        if packer is None:
            return None
        if out is None:
            out = torch.empty(packed_bytes(m, k, weight.dtype), dtype=torch.uint8, device=weight.device)
        results = [t.data_ptr() for t in (keep, out, twin, mask) if t is not None]
        call(launch, packer, m, k, weight.data_ptr(), pitch * weight.element_size(), *results,
             torch.cuda.current_stream().cuda_stream)
    return out


def quantize_on_device(weight, scale, dtype):
    """The packed bytes of a weight on a GPU, pruned by magnitude, its rows divided by their scales and converted to an
    fp8 type; None: there is no kernel."""
    (weight, pitch), (m, k) = _with_pitch(weight), weight.shape
    scale = scale.float().contiguous()
    with torch.cuda.device(weight.device):
        if torch.cuda.get_device_capability() < (8, 9):
            return None
        packer = packer_of(weight.device.index, (type_of(weight.dtype), type_of(dtype)))
        if packer is None:
            return None
        out = torch.empty(packed_bytes(m, k, dtype), dtype=torch.uint8, device=weight.device)
        call(_c.heddle_pack_device_quantized, packer, m, k, weight.data_ptr(), pitch * weight.element_size(),
             scale.data_ptr(), out.data_ptr(), torch.cuda.current_stream().cuda_stream)
    return out


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

_RESOLVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_void_p,
                            ctypes.c_size_t)


def connect(library):
    """Gives the extension Heddle's functions, and a way to ask for kernels."""
    def resolve(fields, tokens, message, n_bytes):
        try:
            key = Key.of(fields[:FAMILY_FIELDS])
            with torch.cuda.device(key.device):
                register(library, key, tokens)
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
    library.heddle_torch_init(addresses)


def register(library, key, tokens):
    """Makes the kernel for so many tokens, and tells the extension."""
    ranges = buckets(key, runtime().target(key.device))
    bucket = bucket_of(ranges, tokens)
    loaded = kernel_of(key.at(bucket))
    limits = (ctypes.c_int64 * len(ranges))(*(limit for limit, _ in ranges))
    library.heddle_torch_register((ctypes.c_int64 * FAMILY_FIELDS)(*key.family()), limits, ctypes.c_size_t(len(ranges)),
                                  ctypes.c_size_t(bucket), ctypes.c_void_p(loaded.handle), loaded.roles,
                                  ctypes.c_size_t(len(loaded.roles)),
                                  ctypes.c_int64(packed_bytes(key.m, key.k, key.x)))
