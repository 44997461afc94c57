"""Problems, compiled kernels, and kernels run without a GPU.

    D[m, n] = act(alpha * (A[m, k] B[k, n] * scale_a * scale_b) + beta * C[m, n] + bias),  A 2:4 sparse

A linear layer y = x Wᵀ is that with A = W, n = tokens, B = xᵀ and D = yᵀ: x is B stored n x k ("k_major"), y is D
stored n x m ("col_major"): both as NumPy and PyTorch have them. These orders are the defaults."""
import ctypes
import json
from dataclasses import dataclass

import numpy as np

from . import _c
from .elements import decode, elem, info
from .errors import call, caller, invalid, make
from .operands import Operands

_ORDERS = {"k_major": 0, "mn_major": 1, "row_major": 2, "col_major": 3}
_DIMS = {"m": 0, "n": 1, "k": 2, "g": 3, "t": 4}
_SCALES = {None: 0, "one": 1, "vector": 2}
_SCALES_B = {**_SCALES, "sumsq": 3}
_SIM_ORDERS = {"late": 0, "early": 1, "random": 2}
_OPERANDS = ("c", "bias", "scale_a", "scale_b", "block_scale_a", "block_scale_b", "alpha", "beta", "eps", "offsets",
             "gather_b", "scatter_d", "combine_d")


def _choose(table, value, rule):
    if value not in table:
        raise invalid(rule, f"got {value!r}", ", ".join(map(repr, table)))
    return table[value]


@dataclass(frozen=True)
class Dynamic:
    """A size known at launch: at most `max` (0: no bound), a multiple of `divisible_by`."""
    max: int = 0
    divisible_by: int = 1


class Problem:
    """What to compute. Sizes are numbers, or Dynamic(...) (None: Dynamic()) for those known at launch.

    type       element type of A, and of B unless b_type says another
    out        of D; default: that of A, f32 of tf32, bf16 of 8-bit types
    acc        accumulators; default f32, s32 of integers
    bias       element type of a bias of one value a row of D (an output feature); None: none
    bias_along "m" or "n"
    act        "none", "relu", "gelu", "gelu_tanh", "silu"; "swiglu", "geglu", "geglu_tanh", "reglu" of an A that is half
               gate and half up (SparseMatrix of pairs): D has m / 2 rows
    scale_a, scale_b   None, "one" (for the matrix), "vector" (one a row of A, one a column of B); scale_b also "sumsq":
               the kernel computes 1 / sqrt(sum / k + eps) of each column of B, an RMSNorm, from the sums of squares that a
               kernel with reduce="sumsq" returns beside this B
    alpha, beta        True: arguments of the kernel
    c          element type of C; None: no C
    reduce     "absmax", "sumsq": a statistic of each 128 rows of D and column beside D; scale_d = True, with "absmax" and
               a D of 8 bits: these rows are divided by scales, which come instead of the statistic (docs/format.md)
    aux        "result", "input": a second matrix beside D, of its shape and order and of type aux_type: the results before
               they are divided by scales and rounded to D's type, or the input of the activation (not of pairs)
    block      elements of k that share a scale of A and one of B, of type block_type ("f32", "ue8m0", "ue4m3");
               block_rows: rows of A that share one (128, of f32), 0: none
    batch      as many products of the same sizes; groups: as many products that divide the columns of one B and D, by
               offsets in device memory (experts). A number, or Dynamic(max)
    gather_b, scatter_d, combine, t   groups by index, and sums of `combine` columns; t: columns of B, or of the sums
               (include/heddle/ir.h, heddle_problem_set_indices and _combine)
    dependent, weights_ready   programmatic dependent launch (docs/schedule.md)
    schedule   words over the default schedule, e.g. "tile=128x256x64 stages=4" """

    def __init__(self, m, n, k, type="bf16", target="sm_90a", *, b_type=None, out=None, acc=None, bias=None,
                 bias_along="m", act="none", scale_a=None, scale_b=None, alpha=False, beta=False, c=None,
                 b_order="k_major", c_order="col_major", d_order="col_major", ldb=0, ldd=0, ldc=0, dependent=False,
                 weights_ready=False, reduce=None, scale_d=False, aux=None, aux_type="bf16", kind=None,
                 schedule=None, name="linear", block=None, block_type="f32", block_rows=0, batch=None, groups=None, t=None,
                 gather_b=False, scatter_d=False, combine=0):
        file, line = caller()
        p = _c.heddle_problem_create(name.encode(), target.encode())
        if not p:
            raise MemoryError("heddle: no memory for a problem")
        try:
            _c.heddle_problem_set_place(p, file.encode(), line, 1)
            for dim, size in zip("mnk", (m, n, k)):
                self._set_size(p, _DIMS[dim], size)
            _c.heddle_problem_set_a(p, elem(type))
            _c.heddle_problem_set_b(p, elem(b_type or type), _choose(_ORDERS, b_order, "problem.order"), ldb, 0)
            _c.heddle_problem_set_d(p, elem(out) if out else info(type).d, _choose(_ORDERS, d_order, "problem.order"),
                                    ldd, 0)
            if c:
                _c.heddle_problem_set_c(p, elem(c), _choose(_ORDERS, c_order, "problem.order"), ldc, 0)
            if acc:
                _c.heddle_problem_set_accumulator(p, elem(acc))
            if bias:
                _c.heddle_problem_set_bias(p, elem(bias), _choose({"m": 0, "n": 1}, bias_along, "problem.bias"))
            _c.heddle_problem_set_scales(p, _choose(_SCALES, scale_a, "problem.scale"),
                                         _choose(_SCALES_B, scale_b, "problem.scale"))
            _c.heddle_problem_set_scalars(p, alpha, beta)
            _c.heddle_problem_set_act(p, act.encode())
            _c.heddle_problem_set_dependent(p, dependent, weights_ready)
            if reduce or scale_d:
                _c.heddle_problem_set_reduce(p, reduce.encode() if reduce else None, scale_d)
            if aux:
                _c.heddle_problem_set_aux(p, aux.encode(), elem(aux_type))
            if block:
                _c.heddle_problem_set_block_scales(p, elem(block_type), block, 0, 0)
                _c.heddle_problem_set_block_rows(p, block_rows)
            self._set_products(p, batch, groups, t)
            _c.heddle_problem_set_indices(p, gather_b, scatter_d)
            _c.heddle_problem_set_combine(p, combine)
            if kind:
                _c.heddle_problem_set_kind(p, kind.encode())
            if schedule:
                _c.heddle_problem_set_schedule(p, schedule.encode())
            self._module = make(_c.heddle_problem_build, p)
        finally:
            _c.heddle_problem_free(p)

    def _set_products(self, p, batch, groups, t):
        if batch is not None and groups is not None:
            raise invalid("problem.batch", f"got batch = {batch} and groups = {groups}", "one of them")
        for dim, size in (("g", batch if groups is None else groups), ("t", t)):
            if size is not None:
                self._set_size(p, _DIMS[dim], size)
        _c.heddle_problem_set_groups(p, groups is not None)

    @staticmethod
    def _set_size(p, dim, size):
        size = Dynamic() if size is None else size
        if isinstance(size, Dynamic):
            _c.heddle_problem_set_dynamic(p, dim, size.max, size.divisible_by)
        else:
            _c.heddle_problem_set_size(p, dim, int(size))

    @classmethod
    def parse(cls, text, file=None):
        """The problem of a text (docs/ir.md), such as the .heddle files of examples/."""
        self = cls.__new__(cls)
        raw = text.encode()
        self._module = make(_c.heddle_module_parse, (file or "").encode() or None, raw, len(raw))
        return self

    def __del__(self):
        if getattr(self, "_module", None):
            _c.heddle_module_free(self._module)

    def text(self):
        """The problem as text (docs/ir.md)."""
        out = ctypes.POINTER(ctypes.c_char)()
        size = ctypes.c_size_t()
        from .errors import check
        check(_c.heddle_module_print(self._module, ctypes.byref(out), ctypes.byref(size)))
        text = ctypes.string_at(out, size.value).decode()
        _free(out)
        return text

    def hash(self):
        """32 hexadecimal digits, equal for problems that mean the same."""
        out = ctypes.create_string_buffer(33)
        _c.heddle_module_hash(self._module, out)
        return out.value.decode()

    def tuned_schedule(self, size_mnk=(0, 0, 0), target=None, tuned=None):
        """The words of the schedule that tuning chose for these sizes (0: the problem's own); "": the default.

        tuned: a path of an export of `heddle tune`; None: the choices that are shipped."""
        words = ctypes.create_string_buffer(_c.HEDDLE_SCHEDULE_BYTES)
        sizes = (ctypes.c_int64 * 3)(*size_mnk)
        call(_c.heddle_tuned_pick_module, tuned_choices(tuned), self._module, target and target.encode(), sizes, words)
        return words.value.decode()

    def bucket_schedules(self, size_mnk=(0, 0, 0), target=None, tuned=None):
        """Schedules for ranges of the size that is known at launch, "n<=16: tile=64x16 stages=14; tile=128x256": given to
        compile() they make one kernel that has them all, and a launch takes the one for its size.

        tuned: as of tuned_schedule(). Invalid when all sizes are fixed."""
        out, sizes = ctypes.POINTER(ctypes.c_char)(), (ctypes.c_int64 * 3)(*size_mnk)
        call(_c.heddle_tuned_buckets, tuned_choices(tuned), self._module, target and target.encode(), sizes,
             ctypes.byref(out))
        text = ctypes.string_at(out).decode()
        _free(out)
        return text

    def predict(self, schedule=None, size_mnk=(0, 0, 0), target=None):
        """Seconds that a launch with cold operands takes by the cost model; sizes as in tuned_schedule(). Unsupported for
        targets whose rates were not measured (all except sm_90a)."""
        out, sizes = _c.heddle_prediction(), (ctypes.c_int64 * 3)(*size_mnk)
        call(_c.heddle_schedule_predict, self._module, target and target.encode(), schedule and schedule.encode(), sizes,
             ctypes.byref(out))
        return out.seconds

    def compile(self, schedule=None, target=None, *, tuned_for=None, is_choice=False, user_epilogue=None, ptxas=None,
                cache=None):
        """A Kernel. schedule: words over the default one; tuned_for=(m, n, k): the schedule that tuning chose for
        those sizes (0: the problem's own) unless `schedule` is given; user_epilogue: LLVM IR (text or bitcode);
        ptxas: a path, which also makes a cubin; cache: a folder of compiled kernels. is_choice: `schedule` came from
        tuned_schedule() or bucket_schedules(): where ptxas finds that it spills, the next best is taken, as for the
        default; of your own words that is an error."""
        if schedule is None and tuned_for is not None:
            schedule, is_choice = self.tuned_schedule(tuned_for, target) or None, True
        user = user_epilogue.encode() if isinstance(user_epilogue, str) else user_epilogue
        options = _c.heddle_compile_options(
            target=target and target.encode(), schedule=schedule and schedule.encode(), user_epilogue=user,
            user_epilogue_bytes=len(user or b""), ptxas=ptxas and ptxas.encode(), cache=cache and cache.encode(),
            schedule_is_choice=is_choice, tuned=tuned_choices() if is_choice else None)
        return Kernel.made(_c.heddle_compile_module, self._module, ctypes.byref(options))


def _free(pointer):
    ctypes.CDLL(None).free(ctypes.cast(pointer, ctypes.c_void_p))


_tuned = {}


def tuned_choices(path=None):
    """Choices of schedules: those that are shipped, or of an export of `heddle tune`; read once a process."""
    if path not in _tuned:
        _tuned[path] = make(_c.heddle_tuned_read, path.encode()) if path else make(_c.heddle_tuned_shipped)
    return _tuned[path]


def choose_for_device(name):
    """Defaults, and what is near to a shipped choice, by what was measured of this device ("NVIDIA H100 80GB HBM3").
    False where none was: the H200's figures stay. Before the first choice, and before other threads choose."""
    return _c.heddle_tuned_set_device(tuned_choices(), name.encode()) == 0


class Argument:
    """One argument of a launch: name ("a", "n", "ldb"), what it points to, what a launch checks."""

    _CLASSES = ("ptr", "i32", "i64", "f32")

    def __init__(self, raw):
        self.name = raw.name.decode()
        self.kind = self._CLASSES[raw.arg_class]
        self.type = _c.heddle_elem_get(raw.elem).contents.name.decode() if self.kind == "ptr" else None
        self.align, self.divisible_by, self.max = raw.align, raw.divisible_by, raw.max

    def __repr__(self):
        return f"{self.name}: {self.type + ' *' if self.type else self.kind}"


class Kernel:
    """A compiled kernel: `ptx`, `cubin` (None without ptxas), `manifest` (JSON text), `schedule` (its words).

    From files of `heddle gen`: Kernel(manifest_text, ptx_text)."""

    def __init__(self, manifest, ptx, cubin=None, schedule=""):
        self.manifest, self.ptx, self.cubin, self.schedule = manifest, ptx, cubin, schedule
        self.facts = json.loads(manifest)
        raw = manifest.encode()
        handle = make(_c.heddle_manifest_read, raw, len(raw))
        try:
            self.name = _c.heddle_manifest_name(handle).decode()
            self.target = _c.heddle_manifest_target(handle).decode()
            self.family = _c.heddle_manifest_family(handle).decode()
            self.takes_pairs = bool(_c.heddle_manifest_takes_pairs(handle))
            self.prototype = _c.heddle_manifest_prototype(handle).decode()
            self.arguments = []
            for i in range(_c.heddle_manifest_arg_count(handle)):
                one = _c.heddle_manifest_arg()
                call(lambda _, *rest: _c.heddle_manifest_get_arg(*rest), handle, i, ctypes.byref(one))
                self.arguments.append(Argument(one))
        finally:
            _c.heddle_manifest_free(handle)
        self._fixed = {a["kind"]: a["fixed"] for a in self.facts["arg"] if a["fixed"]}

    @classmethod
    def made(cls, compile, *arguments):
        """What a function of the library compiles; its last parameter takes the kernel."""
        compiled = make(compile, *arguments)
        try:
            return cls._of(compiled)
        finally:
            _c.heddle_compiled_free(compiled)

    @classmethod
    def _of(cls, compiled):
        size = ctypes.c_size_t()
        ptx = _c.heddle_compiled_ptx(compiled, ctypes.byref(size)).decode()
        cubin = _c.heddle_compiled_cubin(compiled, ctypes.byref(size))
        cubin = ctypes.string_at(cubin, size.value) if cubin else None
        return cls(_c.heddle_compiled_manifest(compiled, None).decode(), ptx, cubin,
                   _c.heddle_compiled_schedule(compiled).decode())

    def simulate(self, a, b, *, order="late", seed=0, **operands):
        """Runs the PTX itself on the host, every access checked, and returns D as elements of its type; in a tuple with
        its statistics or scales, f32, a row for 128 of D, where the problem says `reduce`, and with the second matrix, where
        it says `aux`.

        a: a SparseMatrix of this kernel's family and type; of a batch or groups a list, one for each product (of a batch
        also one for all). b and the others: elements, or numbers, which are rounded (heddle.encode). In a batch each may
        have one dimension more, for each product's own.
        operands: c, bias, scale_a, scale_b (for "sumsq" [k / 128, n], with eps), alpha, beta; block_scale_a
        [rows, k-blocks] (or [g, rows, k-blocks]) and block_scale_b; of groups offsets (g + 1), gather_b, scatter_d (n each),
        combine_d [t, slots].
        order: when asynchronous work completes: "late", "early", "random" (by seed). Mismatch names each fault that
        was found, with its line of the PTX."""
        given = Operands(self, a, b, self._known(operands))
        args, sizes_of = (_c.heddle_arg * len(self.arguments))(), (ctypes.c_size_t * len(self.arguments))()
        for i, argument in enumerate(self.arguments):
            if argument.kind != "ptr":
                setattr(args[i], argument.kind, given.numbers[argument.name])
            elif argument.name != "workspace":
                array = given.arrays.get(argument.name)
                if array is None:
                    raise invalid("simulate.argument", f"'{argument.name}' is no operand of simulate()",
                                  "kernels without it", "heddle run FILE")
                args[i].ptr, sizes_of[i] = array.ctypes.data, array.nbytes
        ptx, manifest = self.ptx.encode(), self.manifest.encode()
        one = _c.heddle_simulation(manifest=manifest, ptx=ptx, manifest_bytes=len(manifest), ptx_bytes=len(ptx),
                                   args=args, arg_bytes=sizes_of, n_args=len(self.arguments),
                                   order=_choose(_SIM_ORDERS, order, "simulate.order"), seed=seed)
        call(_c.heddle_simulate, ctypes.byref(one))
        results = [given.arrays[name] for name in ("d", "scale_d", "aux") if name in given.arrays]
        return tuple(results) if len(results) > 1 else results[0]

    @staticmethod
    def _known(operands):
        for name in operands:
            if name not in _OPERANDS:
                raise invalid("simulate.argument", f"got {name!r}", ", ".join(_OPERANDS))
        return dict(operands)

    def reference(self, a, b, **operands):
        """(D, S) in double precision: the product with scales, bias and C, without activation, and S = sum of |a * b| of
        each element, scaled alike, by which rounding errors are measured. Operands as for simulate()."""
        return Operands(self, a, b, self._known(operands)).reference()

    def compare(self, d, a, b, **epilogue):
        """How far d is from the product in double precision: a Comparison, which is true when it is right.

        Activations and sums of rounded columns (combine_d) are compared by `heddle run` alone."""
        if self.facts["act"] != "none" or any(x.name in ("user", "combine_d") for x in self.arguments):
            raise invalid("compare.epilogue", f"the kernel has act = {self.facts['act']}, or combine_d",
                          "kernels without activation and combine_d", "heddle run FILE")
        want, scale = self.reference(a, b, **epilogue)
        return Comparison(decode(d, self.facts["d_elem"]).astype(np.float64), want, scale, self.facts)

    def explain(self):
        """What the kernel will do, in a few lines: schedule, launch shape, memory, arguments."""
        variants = self.facts["variant"]
        lines = [f"{self.prototype}", f"target    {self.target}, PTX {self.facts['ptx_version'] / 10:.1f}",
                 f"A         {self.facts['a_elem']}, 2:4 sparse, packed for {self.family}", f"schedule  {self.schedule}"]
        for v in variants:
            lines.append(f"variant   {v['path']}: tile {v['tile_m']} x {v['tile_n']}, {v['n_threads']} threads, "
                         f"cluster {v['cluster']}, split_k {v['split_k']}, {v['shared_bytes']} bytes of shared memory")
        return "\n".join(lines)

    def __repr__(self):
        return f"Kernel({self.prototype}, {self.target})"


class Comparison:
    """A result against the product in double precision. `error`: the largest |d - want| over the sum of |a * b|,
    with the last rounding of D's type allowed for; `bound`: what is legal of it; `wrong`: how many lie above."""

    # One rounding of an accumulator a product; fp8 accumulates with fewer bits (docs/verification.md).
    _BOUNDS = {"e4m3": 2e-4, "e5m2": 2e-4, "tf32": 2e-6, "f16": 2e-6, "bf16": 2e-6}
    _ROUND = {"bf16": 2.0 ** -8, "f16": 2.0 ** -11, "e4m3": 2.0 ** -4, "e5m2": 2.0 ** -3}

    def __init__(self, got, want, scale, facts):
        self.bound = self._BOUNDS.get(facts["a_elem"], 0.0 if info(facts["a_elem"]).kind else 2e-6)
        apart = np.abs(got - want)
        last = np.abs(want) * self._ROUND.get(facts["d_elem"], 2.0 ** -23)
        over = np.maximum(apart - last, 0) / np.maximum(scale, np.finfo(np.float64).tiny)
        over = np.where(np.isfinite(got), over, np.inf)
        self.error, self.wrong, self.total = float(over.max(initial=0)), int((over > self.bound).sum()), got.size

    def __bool__(self):
        return self.wrong == 0

    def __str__(self):
        return (f"{self.wrong} of {self.total} wrong; largest error {self.error:.1e} of sum |a b|, "
                f"at most {self.bound:.0e} is legal")


__all__ = ["Argument", "Comparison", "Dynamic", "Kernel", "Problem", "tuned_choices"]
