"""The arrays and numbers of a launch: of one product, of a batch, or of groups (docs/support.md)."""
import ctypes

import numpy as np

from . import _c
from .elements import DTYPES, as_elements, decode, elem, per_byte
from .errors import call, invalid
from .matrix import SparseMatrix, _move_rows


def _matrices(kernel, a):
    """A as a list of matrices, one for each product, or one for all."""
    matrices = list(a) if isinstance(a, (list, tuple)) else [a]
    type, family = kernel.facts["a_elem"], kernel.family
    for one in matrices:
        if not isinstance(one, SparseMatrix) or (one.type, one.family) != (type, family):
            raise invalid("sparse.family", f"got {one!r:.80}", f"a SparseMatrix of {type}, family {family}",
                          f"SparseMatrix.from_dense(w, \"{type}\", \"{family}\", prune=True)")
        if one.pair != kernel.takes_pairs:
            raise invalid("sparse.pair", f"got a matrix packed with pair={one.pair}", f"pair={kernel.takes_pairs}, as the "
                          f"kernel's act = {kernel.facts['act']} has its rows")
        if one.shape != matrices[0].shape:
            raise invalid("array.shape", f"got matrices of {matrices[0].shape} and {one.shape}", "one shape")
    if not matrices:
        raise invalid("array.shape", "got no matrix", "one, or one for each product")
    return matrices


def pack_block_scales(scales, type, scale_type, block, k, tiles=False, pair=False):
    """Block scales [rows, ceil(k / block)] in the order that kernels read (docs/format.md): (array, pitch in scales).

    type: of the matrix that they scale; tiles: the order of tensor memory; pair: rows of gate, then of up."""
    scales = np.ascontiguousarray(as_elements(scales, scale_type, "block scales"))
    if scales.ndim != 2 or scales.shape[1] != -(-k // block):
        raise invalid("array.shape", f"got block scales of shape {scales.shape}", f"(rows, {-(-k // block)})")
    if pair:
        scales = _move_rows(_c.heddle_sparse_pair_rows, scales)
    shape = _c.heddle_block_scale_shape(order=int(tiles), elem=elem(type), block=block, rows=scales.shape[0], k=k,
                                        scale_bytes=scales.itemsize)
    pitch, size = ctypes.c_size_t(), ctypes.c_size_t()
    call(_c.heddle_block_scale_plan, ctypes.byref(shape), ctypes.byref(pitch), ctypes.byref(size))
    packed = np.zeros(size.value, np.uint8)
    call(_c.heddle_block_scale_pack, ctypes.byref(shape), scales.ctypes.data, scales.strides[0], packed.ctypes.data, pitch)
    return packed.view(scales.dtype), pitch.value // scales.itemsize


class Operands:
    """What a launch takes: `arrays` and `numbers`, by the names of the kernel's arguments. `arrays["d"]` is the result."""

    def __init__(self, kernel, a, b, given):
        self.kernel, self.facts, self.given = kernel, kernel.facts, given
        self.names = {argument.name: argument for argument in kernel.arguments}
        self.arrays, self.numbers = {}, {name: given.pop(name, 1.0) for name in ("alpha", "beta")}
        self.sums = bool(self.facts.get("scale_b_statistic"))
        if "eps" in self.names:
            self.numbers["eps"] = float(self._wanted("eps"))
        self.matrices = _matrices(kernel, a)
        self.is_batch = "stride_a" in self.names or any(x["kind"] == "g" for x in self.facts["arg"])
        self.is_grouped = "offsets" in self.names
        self._add("b", b, self.facts["b_elem"], 2)
        self._set_sizes()
        self._add_a()
        for name, dimensions in (("bias", 1), ("scale_a", 1), ("scale_b", 1), ("c", 2)):
            if name == "scale_b" and self.sums:
                self._add_sums()
            elif name in self.names:
                self._add(name, self._wanted(name), self.names[name].type, dimensions)
        for name in ("offsets", "gather_b", "scatter_d", "combine_d"):
            if name in self.names:
                self.arrays[name] = self._index(name)
        if "scatter_d" in self.names and self.arrays["scatter_d"].shape != (self.numbers["n"],):
            raise invalid("array.shape", f"scatter_d has the shape {self.arrays['scatter_d'].shape}",
                          f"({self.numbers['n']},), an index for each column of the products")
        for name in ("block_scale_a", "block_scale_b"):
            if name in self.names:
                self._add_block_scales(name)
        self._add_d()

    def _index(self, name):
        """Whole numbers that an i32 holds: others would be cut without a word."""
        got = np.asarray(self._wanted(name))
        if got.dtype.kind not in "iu" or got.size and (got.min() < -2 ** 31 or got.max() >= 2 ** 31):
            raise invalid("array.type", f"{name} has the type {got.dtype}" if got.dtype.kind not in "iu" else
                          f"{name} has {got.min()} and {got.max()}", "integers of 32 bits")
        return np.ascontiguousarray(got, np.int32)

    def _wanted(self, name):
        if self.given.get(name) is None:
            raise invalid("simulate.argument", f"'{name}' is missing", f"an array of {self.names[name].type}")
        return self.given[name]

    def _add(self, name, value, type, dimensions):
        """An operand; in a batch with one dimension more for each product's own, otherwise all share it."""
        value = np.atleast_1d(value) if dimensions == 1 else value
        array = np.ascontiguousarray(as_elements(value, type, name))
        apart = self.is_batch and not self.is_grouped and array.ndim == dimensions + 1
        if array.ndim != dimensions + apart:
            raise invalid("array.shape", f"{name} has {array.ndim} dimensions",
                          f"{dimensions}" + (f", or {dimensions + 1} in a batch" if self.is_batch else ""))
        self.arrays[name] = array
        self.numbers[f"stride_{name}"] = array[0].size * per_byte(type) if apart else 0
        if dimensions == 2:
            self.numbers[f"ld{name}"] = array.shape[-1] * per_byte(type)
        if apart:
            self._count(name, array.shape[0])

    def _add_sums(self):
        """Sums of squares: a row for each 128 of k, a column for each of B's."""
        sums = np.ascontiguousarray(as_elements(self._wanted("scale_b"), "f32", "scale_b"))
        shape = -(-self.numbers["k"] // 128), self.numbers["n"]
        if sums.shape != shape:
            raise invalid("array.shape", f"scale_b has the shape {sums.shape}", f"{shape}: sums for each 128 of k")
        self.arrays["scale_b"], self.numbers["ldsb"] = sums, shape[1]

    def _count(self, name, n):
        """The number of products, which all that have one of their own must agree on."""
        if self.numbers.setdefault("g", n) != n:
            raise invalid("array.shape", f"{name} has {n} matrices", f"{self.numbers['g']}, as other operands have")

    def _set_sizes(self):
        shape, mn_major = self.arrays["b"].shape[-2:], self.facts["b_mn_major"]
        m, k = self.matrices[0].shape
        columns, inner = (shape[1], shape[0]) if mn_major else shape
        inner *= 1 if mn_major else per_byte(self.facts["b_elem"])
        if inner != k:
            raise invalid("array.shape", f"got b with k = {inner}", f"k = {k}, which a has")
        n = columns
        if "gather_b" in self.names:
            n = len(self._wanted("gather_b"))
        self.numbers.update(m=m, n=n, k=k, ldsd=n)
        if "gather_b" in self.names:
            self.numbers["t"] = columns
        if "combine_d" in self.names:
            t = len(self._wanted("combine_d"))
            if self.numbers.setdefault("t", t) != t:
                raise invalid("array.shape", f"combine_d has {t} rows", f"{self.numbers['t']}, the columns of b")
        if self.is_grouped:
            n_offsets = np.size(self._wanted("offsets"))
            if n_offsets < 2:
                raise invalid("array.shape", f"offsets has {n_offsets} elements", "one more than there are groups")
            self._count("offsets", n_offsets - 1)
        for dim in ("m", "n", "k", "g", "t"):
            fixed = self.kernel._fixed.get(dim)
            if fixed and self.numbers.setdefault(dim, fixed) != fixed:
                raise invalid("array.shape", f"got {dim} = {self.numbers[dim]}", f"{dim} = {fixed}, which the kernel has")

    def _add_a(self):
        if len(self.matrices) > 1:
            self._count("a", len(self.matrices))
        if self.is_batch:
            self.numbers.setdefault("g", 1)
        if self.is_grouped and len(self.matrices) != self.numbers["g"]:
            raise invalid("array.shape", f"got {len(self.matrices)} matrices of a", f"{self.numbers['g']}, one for each group")
        self.arrays["a"] = np.concatenate([one.payload for one in self.matrices])
        self.numbers["stride_a"] = self.matrices[0].payload.size if len(self.matrices) > 1 else 0

    def _add_block_scales(self, name):
        """From [rows, k-blocks], or [g, rows, k-blocks] for products with scales of their own; 1-D: as they lie."""
        of_b, type = name == "block_scale_b", self.names[name].type
        scales = as_elements(self._wanted(name), type, name)
        if scales.ndim == 1:
            self.arrays[name] = np.ascontiguousarray(scales)
            return
        each = 1 if of_b else max(self.facts["scale_rows"], 1)
        rows = -(-self.numbers[("t" if "gather_b" in self.names else "n") if of_b else "m"] // each)
        apart = ("stride_b" if of_b else "stride_a") in self.names
        if scales.ndim not in ((2, 3) if apart else (2,)) or scales.shape[-2] != rows:
            raise invalid("array.shape", f"{name} has the shape {scales.shape}", f"({rows}, k-blocks)"
                          + (f", or ({self.numbers['g']}, {rows}, k-blocks)" if apart else ""))
        if apart and self.numbers["g"] != (scales.shape[0] if scales.ndim == 3 else 1):
            raise invalid("array.shape", f"{name} has the shape {scales.shape}",
                          f"({self.numbers['g']}, {rows}, k-blocks): each product has scales of its own")
        parts = []
        for one in scales if scales.ndim == 3 else scales[None]:
            pair = self.kernel.takes_pairs and not of_b
            packed, pitch = pack_block_scales(one, self.facts["a_elem"], type, self.facts["scale_block"], self.numbers["k"],
                                              self.facts["scale_tiles"], pair)
            parts.append(packed)
        whole = -(-packed.size // pitch) * pitch  # every product but the last fills its last line
        self.arrays[name] = np.concatenate([np.pad(x, (0, whole - x.size)) for x in parts[:-1]] + parts[-1:])
        self.numbers["ldsb" if of_b else "ldsa"] = pitch

    def _add_d(self):
        height = self.numbers["m"] // (2 if self.kernel.takes_pairs else 1)
        columns = self.numbers["t"] if "combine_d" in self.names else self.numbers["n"]
        shape = (columns, height) if self.facts["d_col_major"] else (height, columns)
        self.numbers.update(ldd=shape[1], stride_d=shape[0] * shape[1])
        self.numbers.setdefault("ldc", shape[1])
        self.arrays["d"] = np.zeros((self.numbers["g"], *shape) if self.is_batch and not self.is_grouped else shape,
                                    DTYPES[self.facts["d_elem"]])
        if self.facts.get("statistic"):
            self.arrays["scale_d"] = np.zeros((-(-height // 128), columns), np.float32)
        if "aux" in self.names:
            self.numbers.update(ldaux=shape[1], stride_aux=shape[0] * shape[1])
            self.arrays["aux"] = np.zeros(self.arrays["d"].shape, DTYPES[self.names["aux"].type])

    # ---- the product in double precision ----

    def _part(self, name, g, dimensions):
        """Product g's part of an operand of the caller's; None: it is absent."""
        value = self.given.get(name)
        if value is None:
            return None
        value = np.asarray(value, np.float64)
        return value[g] if value.ndim > dimensions and not self.is_grouped else value

    def _block_factors(self, name, g, rows):
        """[rows, k] factors of the elements of A, or of the products' columns of B."""
        of_b, scales = name == "block_scale_b", self.given.get(name)
        if scales is None:
            return None
        scales = decode(as_elements(scales, self.names[name].type, name), self.names[name].type).astype(np.float64)
        scales = scales[g] if scales.ndim == 3 else scales
        each = 1 if of_b else max(self.facts["scale_rows"], 1)
        along = np.repeat(scales, self.facts["scale_block"], axis=1)[:, :self.numbers["k"]]
        if of_b and "gather_b" in self.names:
            return along[np.clip(self.arrays["gather_b"], 0, len(along) - 1)]
        return np.repeat(along, each, axis=0)[:rows]

    def _one(self, g, x, columns):
        """(y, s) of product g, n x m: the product, and the sum of |a b|, with scales, alpha, bias and C. columns: of
        a whole operand that belong to it."""
        w = self.matrices[g % len(self.matrices)].numbers().astype(np.float64)
        factors = self._block_factors("block_scale_a", g, w.shape[0]), self._block_factors("block_scale_b", g, None)
        if factors[0] is not None:
            w, x = w * factors[0], x * factors[1][columns]
        y, s = x @ w.T, np.abs(x) @ np.abs(w).T
        for name, axis in (("scale_a", (1, -1)), ("scale_b", (-1, 1))):
            scale = self._part(name, g, 2 if self.sums else 1)
            if scale is not None and scale.ndim == 2:
                scale = 1 / np.sqrt(scale.sum(axis=0) / self.numbers["k"] + self.numbers["eps"])
            if scale is not None:
                scale = np.atleast_1d(scale)
                factor = scale[columns] if name == "scale_b" and scale.size > 1 else scale
                factor = factor.reshape(axis if factor.size > 1 else (1, 1))
                y, s = y * factor, s * np.abs(factor)
        alpha, bias = self.numbers["alpha"], self._part("bias", g, 1)
        y, s = alpha * y, abs(alpha) * s
        if bias is not None:
            y = y + (bias[columns].reshape(-1, 1) if self.facts["bias_along_n"] else bias.reshape(1, -1))
        if "c" in self.arrays:
            c = self.arrays["c"][g] if self.arrays["c"].ndim == 3 else self.arrays["c"]
            c = self.numbers["beta"] * decode(c, self.facts["c_elem"]).astype(np.float64)
            c = (c if self.facts["c_col_major"] else c.T)[columns]
            y, s = y + c, s + np.abs(c)
        return y, s

    def _columns_of_b(self, g):
        x = self.arrays["b"]
        x = decode(x[g] if x.ndim == 3 else x, self.facts["b_elem"]).astype(np.float64)
        return x.T if self.facts["b_mn_major"] else x

    def _groups(self):
        """(y, s) of all columns, those of no group zeros."""
        n, x = self.numbers["n"], self._columns_of_b(0)
        if "gather_b" in self.names:
            index = self.arrays["gather_b"]
            x = np.where(((index >= 0) & (index < len(x)))[:, None], x[np.clip(index, 0, len(x) - 1)], 0)
        ends = np.maximum.accumulate(np.clip(self.arrays["offsets"], 0, n))
        y, s = np.zeros((n, self.numbers["m"])), np.zeros((n, self.numbers["m"]))
        for g in range(self.numbers["g"]):
            mine = slice(ends[g], ends[g + 1])
            y[mine], s[mine] = self._one(g, x[mine], mine)
        return self._place(y), self._place(s)

    def _place(self, y):
        """Scattered columns, or sums of them."""
        if "scatter_d" in self.names:
            to, out = self.arrays["scatter_d"], np.zeros_like(y)
            there = (to >= 0) & (to < len(y))
            out[to[there]] = y[there]
            return out
        if "combine_d" in self.names:
            index = self.arrays["combine_d"]
            there = (index >= 0) & (index < len(y))
            return np.where(there[..., None], y[np.clip(index, 0, len(y) - 1)], 0).sum(axis=1)
        return y

    def reference(self):
        """(D, S) in double precision, in the order of D (Kernel.reference)."""
        if self.is_grouped:
            both = self._groups()
        elif self.is_batch:
            each = [self._one(g, self._columns_of_b(g), slice(None)) for g in range(self.numbers["g"])]
            both = tuple(np.stack(x) for x in zip(*each))
        else:
            both = self._one(0, self._columns_of_b(0), slice(None))
        return both if self.facts["d_col_major"] else tuple(x.swapaxes(-1, -2) for x in both)
