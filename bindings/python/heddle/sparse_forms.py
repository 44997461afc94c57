"""Sparse weights in the forms of others, there and back."""
from typing import NamedTuple

import numpy as np

from .checkpoint import FILE_NAMES
from .elements import DTYPES
from .errors import invalid
from .matrix import SparseMatrix

FAMILY = "wgmma"  # the two families have the same bytes for types that these forms have

# Which elements of a group stay, the first in the low bit, by code. tf32 has groups of two, other types of four.
_MASK_OF_CODE = {0x4: 0b0011, 0x8: 0b0101, 0x9: 0b0110, 0xc: 0b1001, 0xd: 0b1010, 0xe: 0b1100}
_MASK_OF_CODE_OF_TWO = {0x4: 0b01, 0xe: 0b10}


def to_bitmask(matrix):
    """compressed-tensors' sparse-24-bitmask: (compressed [m, k/2], bitmask [m, k/8], shape): what stays, in order, and a
    bit an element, the first in the low bit."""
    values, codes = matrix.canonical()
    group, masks = (2, _MASK_OF_CODE_OF_TWO) if matrix.type == "tf32" else (4, _MASK_OF_CODE)
    nibbles = np.stack((codes & 15, codes >> 4), -1).reshape(codes.shape[0], -1)[:, :matrix.shape[1] // group]
    table = np.zeros(16, np.uint8)
    table[list(masks)] = list(masks.values())
    bits = (table[nibbles][..., None] >> np.arange(group, dtype=np.uint8)) & 1
    return values, np.packbits(bits.reshape(bits.shape[0], -1), axis=1, bitorder="little"), np.array(matrix.shape)


def from_bitmask(compressed, bitmask, shape, type):
    """The SparseMatrix of a sparse-24-bitmask weight."""
    m, k = (int(x) for x in shape)
    bits = np.unpackbits(np.ascontiguousarray(bitmask).view(np.uint8), axis=1, count=k, bitorder="little").astype(bool)
    if bits.shape != (m, k) or not (bits.reshape(m, -1, 4).sum(-1) == 2).all():
        raise invalid("weights.bitmask", "a group of the mask has not two bits of four", "two of each four")
    dense = np.zeros((m, k), DTYPES[type])
    dense[bits] = np.ascontiguousarray(compressed).view(DTYPES[type]).ravel()
    return SparseMatrix.from_dense(dense, type, FAMILY)


def _metadata_words(type):
    """CUTLASS's metadata elements: dtype and codes of each; rows that are permuted together."""
    return (np.int32, 8, 16) if np.dtype(DTYPES[type]).itemsize == 1 else (np.int16, 4, 32)


def _check_cutlass(shape, type):
    _, per_word, group = _metadata_words(type)
    m, k = shape
    if m % group or k // (2 if type == "tf32" else 4) % (2 * per_word):
        raise invalid("weights.cutlass", f"got {m} x {k} {type}",
                      f"rows in multiples of {group}, two whole words of metadata a row")


def to_cutlass(matrix):
    """torch's CUTLASS form (torch._sparse_semi_structured_*): (values [m, k/2], metadata). The values are the canonical
    ones; metadata words are reordered: rows r and r + 8 of a group beside each other, 2 x 2 blocks transposed, pairs of
    columns stored by column. m is a multiple of 32 (8-bit: 16), k of 64 (8-bit: 128; tf32: 32)."""
    _check_cutlass(matrix.shape, matrix.type)
    values, codes = matrix.canonical()
    word, per_word, group = _metadata_words(matrix.type)
    m, columns = codes.shape[0], codes.shape[1] * 2 // per_word
    words = np.ascontiguousarray(codes).view(word)
    rows = words.reshape(m // group, group // 8, 8, columns).swapaxes(1, 2)
    blocks = rows.reshape(m // 2, 2, columns // 2, 2).swapaxes(1, 3)
    return values, np.ascontiguousarray(blocks.reshape(m, columns // 2, 2).swapaxes(0, 1)).reshape(m, columns)


def from_cutlass(values, metadata, type):
    """The SparseMatrix of torch's CUTLASS form."""
    word, per_word, group = _metadata_words(type)
    m, columns = metadata.shape
    blocks = np.ascontiguousarray(metadata).view(word).reshape(columns // 2, m, 2).swapaxes(0, 1)
    rows = blocks.reshape(m // 2, 2, columns // 2, 2).swapaxes(1, 3).reshape(m // group, 8, group // 8, columns)
    codes = np.ascontiguousarray(rows.swapaxes(1, 2).reshape(m, columns)).view(np.uint8)
    k = codes.shape[1] * 2 * (2 if type == "tf32" else 4)
    return SparseMatrix.from_canonical(np.ascontiguousarray(values), codes, (m, k), type, FAMILY)


# ---- as tensors of a file, by blocks of rows ----


class Part(NamedTuple):
    """A tensor of a form, [m, columns] for a weight of m rows. Its order: "rows"; "pairs" of columns, each [m, 2]; or
    "shape", which is m and k alone."""
    suffix: str
    file_type: str
    item: int  # bytes of an element
    columns: int
    order: str = "rows"

    def shape(self, experts, m):
        return [*experts, self.columns] if self.order == "shape" else [*experts, m, self.columns]

    def where(self, m, matrix, first, count):
        """Of some rows: (first byte, bytes of a run, runs, bytes from run to run)."""
        row = self.item * self.columns
        if self.order == "shape":
            return matrix * row, row, 1, row
        if self.order == "pairs":
            pair = 2 * self.item
            return matrix * m * row + first * pair, count * pair, self.columns // 2, m * pair
        return (matrix * m + first) * row, count * row, 1, count * row


class Form(NamedTuple):
    parts: object  # (type, m, k) -> Parts, or a refusal
    make: object   # SparseMatrix -> an array a Part
    take: object   # (type, array of each Part) -> SparseMatrix
    columns: int   # k is so many times the columns of the first part


def _values(type, suffix, columns):
    return Part(suffix, FILE_NAMES[type], np.dtype(DTYPES[type]).itemsize, columns)


def _parts_of_dense(type, m, k):
    return [_values(type, "", k)]


def _parts_of_bitmask(type, m, k):
    return [_values(type, ".compressed", k // 2), Part(".bitmask", "U8", 1, -(-k // 8)), Part(".shape", "I64", 8, 2, "shape")]


def _parts_of_cutlass(type, m, k):
    _check_cutlass((m, k), type)
    word, per_word, _ = _metadata_words(type)
    item = np.dtype(word).itemsize
    return [_values(type, ".values", k // 2),
            Part(".metadata", f"I{8 * item}", item, k // (2 if type == "tf32" else 4) // per_word, "pairs")]


FORMS = {
    "dense": Form(_parts_of_dense, lambda w: (w.dense(),), lambda type, w: SparseMatrix.from_dense(w, type, FAMILY), 1),
    "bitmask": Form(_parts_of_bitmask, to_bitmask, lambda type, *arrays: from_bitmask(*arrays, type), 2),
    "cutlass": Form(_parts_of_cutlass, to_cutlass, lambda type, *arrays: from_cutlass(*arrays, type), 2),
}


def form_of(name):
    if name not in FORMS:
        raise invalid("weights.form", f"got '{name}'", ", ".join(FORMS))
    return FORMS[name]
