"""Element types as NumPy has them, and conversions that round as the hardware does."""
import ctypes

import numpy as np

from . import _c
from .errors import check, invalid

# What an array of each type is made of. NumPy has no bf16 and no 8-bit floats: their bits stand in unsigned integers.
DTYPES = {
    "f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "f32": np.float32, "s8": np.int8, "u8": np.uint8,
    "s32": np.int32, "e4m3": np.uint8, "e5m2": np.uint8, "e3m2": np.uint8, "e2m3": np.uint8, "e2m1": np.uint8,
    "e2m1p": np.uint8, "s4": np.uint8, "u4": np.uint8, "ue8m0": np.uint8, "ue4m3": np.uint8,
}
# Types of other packages (ml_dtypes), by the names that they give them.
_FOREIGN = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
_INFER = {"float16": "f16", "float32": "f32", "int8": "s8", "uint8": "u8", "int32": "s32", **_FOREIGN}


def elem(name):
    """The number of an element type."""
    number = ctypes.c_int()
    status = _c.heddle_elem_parse(str(name).encode(), ctypes.byref(number))
    if status != _c.HEDDLE_OK:
        raise invalid("elem.name", f"got '{name}'", ", ".join(DTYPES))
    return number.value


def info(name):
    """The table row of an element type: value_bits, container_bits, kind, group, kept, acc, d."""
    return _c.heddle_elem_get(elem(name)).contents


def per_byte(name):
    """How many elements a byte of memory holds: 2 of 4-bit types, else 1."""
    return 2 if info(name).container_bits == 4 else 1


def type_of(array):
    """The element type that an array's dtype stands for by itself; None when it must be said."""
    return _INFER.get(array.dtype.name)


def encode(values, type):
    """Numbers as elements of a type, rounded once to nearest even; saturating as PTX's cvt does.

    values: anything that NumPy makes an array of; read as f32. The result has DTYPES[type]; of 4-bit types
    two elements a byte along the last axis, low nibble first."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    two = per_byte(type)
    if two == 2 and (not values.shape or values.shape[-1] % 2):
        raise invalid("elem.pair", f"got a last axis of {values.shape[-1:] or 0}", "an even number of 4-bit elements")
    shape = values.shape if two == 1 else (*values.shape[:-1], values.shape[-1] // 2)
    out = np.empty(shape, DTYPES[type])
    check(_c.heddle_elem_from_f32(elem(type), values.size, values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                                  out.ctypes.data))
    return out


def decode(elements, type):
    """The numbers that elements of a type stand for, as f32: the inverse of encode."""
    elements = np.ascontiguousarray(elements)
    two = per_byte(type)
    shape = elements.shape if two == 1 else (*elements.shape[:-1], elements.shape[-1] * 2)
    out = np.empty(shape, np.float32)
    check(_c.heddle_elem_to_f32(elem(type), out.size, elements.ctypes.data,
                                out.ctypes.data_as(ctypes.POINTER(ctypes.c_float))))
    return out


def as_elements(array, type, what):
    """An array whose bits are elements of a type: as it is where it holds them, else encoded."""
    array = np.asarray(array)
    if _FOREIGN.get(array.dtype.name) == type:
        return array.view(DTYPES[type])
    if array.dtype == DTYPES[type]:
        return array
    if array.dtype.kind in "fiu" and array.dtype.name not in ("uint8", "uint16"):
        return encode(array, type)
    raise invalid("array.dtype", f"{what} has dtype {array.dtype}, the kernel wants {type}",
                  f"numbers (they are rounded), or bits as {np.dtype(DTYPES[type]).name}",
                  f"heddle.encode(values, \"{type}\")")
