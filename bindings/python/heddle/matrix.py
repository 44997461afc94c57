"""2:4 sparse matrices: prune, pack, and back (docs/format.md says how they lie in memory)."""
import ctypes

import numpy as np

from . import _c
from .elements import DTYPES, as_elements, decode, elem, info, per_byte
from .errors import call, check, invalid

FORMAT_VERSION = 1  # of docs/format.md: the packed bytes of another version are another order


def _family(name):
    number = ctypes.c_int()
    if _c.heddle_family_parse(str(name).encode(), ctypes.byref(number)) != _c.HEDDLE_OK:
        raise invalid("sparse.family", f"got family '{name}'", "mma, wgmma")
    return number.value


def _dense(dense, type, what):
    dense = as_elements(dense, type, what)
    if dense.ndim != 2:
        raise invalid("array.shape", f"{what} has {dense.ndim} dimensions", "2: rows and columns")
    return dense


def prune(dense, type):
    """A pruned copy of a matrix of numbers, or of elements of a type: in each group the units of largest
    magnitude stay (ties: the lower index), the others become +0. Of most types two of four stay.

    Returns elements (DTYPES[type]); heddle.decode makes numbers of them."""
    out = np.array(_dense(dense, type, "dense"), order="C")
    m, k = out.shape[0], out.shape[1] * per_byte(type)
    call(_c.heddle_sparse_prune, elem(type), m, k, out.ctypes.data, out.strides[0])
    return out


def packed_bytes(m, k, type, family="wgmma"):
    """Bytes of the packed form of an m x k matrix."""
    size = ctypes.c_size_t()
    call(_c.heddle_sparse_packed_bytes, elem(type), _family(family), m, k, ctypes.byref(size))
    return size.value


class SparseMatrix:
    """A 2:4 sparse matrix in the order that kernels read: `payload` (bytes as uint8), `shape`, `type`, `family`.

    `family` is the kind of instruction that reads it ("wgmma", "mma"): Kernel.family says it of a kernel. With `pair`
    the rows are half of gate and half of up, for kernels with act = "swiglu" and its like (Kernel.takes_pairs): they lie
    interleaved in the payload, and apart in all else."""

    def __init__(self, payload, shape, type, family, pair=False):
        payload = np.ascontiguousarray(payload, dtype=np.uint8).reshape(-1)
        want = packed_bytes(*shape, type, family)
        if payload.size != want:
            raise invalid("sparse.bytes", f"got {payload.size} bytes for {shape[0]} x {shape[1]} {type}", f"{want}")
        self.payload, self.shape, self.type, self.family, self.pair = payload, tuple(shape), type, family, pair

    @classmethod
    def from_dense(cls, dense, type=None, family="wgmma", prune=False, pair=False):
        """Packs a matrix that is 2:4 already; with prune=True any, of which the largest stay. pair: its rows are gate,
        then up, as many of each."""
        type = type or _infer(dense)
        if prune:
            dense = globals()["prune"](dense, type)
        dense = np.ascontiguousarray(_dense(dense, type, "dense"))
        if pair:
            dense = _move_rows(_c.heddle_sparse_pair_rows, dense)
        m, k = dense.shape[0], dense.shape[1] * per_byte(type)
        payload = np.empty(packed_bytes(m, k, type, family), np.uint8)
        call(_c.heddle_sparse_pack_dense, elem(type), _family(family), m, k, dense.ctypes.data, dense.strides[0],
             payload.ctypes.data)
        return cls(payload, (m, k), type, family, pair)

    @classmethod
    def from_canonical(cls, values, codes, shape, type, family="wgmma"):
        """Packs the canonical form: `values` [m][k / 2] and `codes`, a nibble a group (see canonical())."""
        plan = cls._plan(shape, type)
        values, codes = (np.ascontiguousarray(x).view(np.uint8).reshape(-1) for x in (values, codes))
        if values.size != plan.values_bytes or codes.size != plan.codes_bytes:
            raise invalid("sparse.bytes", f"got {values.size} bytes of values and {codes.size} of codes",
                          f"{plan.values_bytes} and {plan.codes_bytes}")
        payload = np.empty(packed_bytes(*shape, type, family), np.uint8)
        call(_c.heddle_sparse_pack, elem(type), _family(family), *shape, values.ctypes.data, codes.ctypes.data,
             payload.ctypes.data)
        return cls(payload, shape, type, family)

    @staticmethod
    def _plan(shape, type):
        plan = _c.heddle_sparse_info()
        call(_c.heddle_sparse_plan, _c.HEDDLE_SPARSE_CANONICAL, elem(type), 0, *shape, ctypes.byref(plan))
        return plan

    def canonical(self):
        """(values, codes): what stays of each row in ascending order, and a code a group, two a byte."""
        plan = self._plan(self.shape, self.type)
        values = np.empty((self.shape[0], plan.values_row_bytes), np.uint8)
        codes = np.empty((self.shape[0], plan.codes_row_bytes), np.uint8)
        call(_c.heddle_sparse_unpack, elem(self.type), _family(self.family), *self.shape, self.payload.ctypes.data,
             values.ctypes.data, codes.ctypes.data)
        if self.pair:
            values, codes = (_move_rows(_c.heddle_sparse_unpair_rows, x) for x in (values, codes))
        return values.view(DTYPES[self.type]), codes

    def dense(self):
        """The dense matrix, as elements (DTYPES[type])."""
        values, codes = self.canonical()
        row = ctypes.c_size_t()
        call(_c.heddle_sparse_dense_row_bytes, elem(self.type), self.shape[1], ctypes.byref(row))
        out = np.zeros((self.shape[0], row.value), np.uint8)
        call(_c.heddle_sparse_decompress, elem(self.type), *self.shape, values.ctypes.data, codes.ctypes.data,
             out.ctypes.data, row.value)
        return out.view(DTYPES[self.type])

    def numbers(self):
        """The dense matrix as f32 numbers."""
        return decode(self.dense(), self.type)

    def image(self):
        """A whole file (.hdl) in memory: header, checksum, payload."""
        plan = _c.heddle_sparse_info()
        call(_c.heddle_sparse_plan, _c.HEDDLE_SPARSE_PACKED, elem(self.type), _family(self.family), *self.shape,
             ctypes.byref(plan))
        plan.pair = self.pair
        image = np.zeros(plan.file_bytes, np.uint8)
        image[plan.payload_offset:plan.payload_offset + plan.payload_bytes] = self.payload
        call(_c.heddle_sparse_seal, ctypes.byref(plan), image.ctypes.data)
        return image

    @classmethod
    def from_image(cls, image):
        """The matrix of a packed file; header, checksum, every code and the padding are checked."""
        image = np.frombuffer(image, np.uint8)
        plan = _c.heddle_sparse_info()
        call(_c.heddle_sparse_check, image.ctypes.data, image.size, ctypes.byref(plan))
        if plan.form != _c.HEDDLE_SPARSE_PACKED:
            raise invalid("sparse.form", "got a canonical file", "a packed one", "heddle pack FILE -o packed.hdl")
        type = _c.heddle_elem_get(plan.elem).contents.name.decode()
        family = _c.heddle_family_name(plan.family).decode()
        payload = image[plan.payload_offset:plan.payload_offset + plan.payload_bytes]
        return cls(payload.copy(), (plan.m, plan.k), type, family, plan.pair)

    def __repr__(self):
        return (f"SparseMatrix({self.shape[0]} x {self.shape[1]} {self.type}, {self.family}, "
                f"{'pairs, ' if self.pair else ''}{self.payload.nbytes} bytes)")


def _move_rows(move, rows):
    """Rows of gate and up interleaved, or apart again."""
    moved = np.empty_like(rows)
    call(move, rows.shape[0], rows.strides[0], rows.ctypes.data, moved.ctypes.data)
    return moved


def _infer(dense):
    from .elements import type_of
    found = type_of(np.asarray(dense))
    found = "tf32" if found == "f32" else found
    if not found:
        raise invalid("array.dtype", f"dense has dtype {np.asarray(dense).dtype}, which names no element type",
                      "type= one of " + ", ".join(t for t in DTYPES if info(t).group))
    return found


__all__ = ["FORMAT_VERSION", "SparseMatrix", "packed_bytes", "prune"]
