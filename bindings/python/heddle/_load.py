"""The shared library: the one in this package, or, in a source tree, the one that the system finds."""
import ctypes
import os

_SONAME = "libheddle.so.0.1"


def _find():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), _SONAME)
    return beside if os.path.exists(beside) else _SONAME


try:
    path = _find()
    library = ctypes.CDLL(path)
except OSError as error:
    raise ImportError(f"heddle: {_SONAME} cannot be loaded ({error}); a wheel holds it, and a source tree gets it "
                      "from `pip install bindings/python`") from error
