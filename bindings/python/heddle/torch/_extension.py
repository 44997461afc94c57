"""The C++ form of the ops: compiled once for the torch that is here, kept in the user's cache folder.

Without a C++ compiler the ops exist in Python, as right and about 20 µs a call slower; heddle.torch.extension() says
which it is."""
import ctypes
import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile

import torch

_HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(_HERE, "extension.cpp")
SOURCES = SOURCE, os.path.join(_HERE, "extension_launch.h")
_state = {"library": None, "call": None, "why": "not asked for yet"}


def _folder():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "heddle")


def _key(compiler):
    """What the compiled file depends on: another source, torch, ABI or compiler is another file."""
    said = subprocess.run([compiler, "-dumpfullversion", "-dumpmachine"], text=True, capture_output=True).stdout
    facts = (*(open(path, "rb").read() for path in SOURCES), torch.__version__.encode(),
             str(torch.compiled_with_cxx11_abi()).encode(), said.encode())
    return hashlib.sha256(b"\0".join(facts)).hexdigest()[:20]


def _compile(compiler, path):
    root = os.path.dirname(torch.__file__)
    include, lib = os.path.join(root, "include"), os.path.join(root, "lib")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, made = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".so")
    os.close(handle)
    errors = []
    for standard in ("c++20", "c++17"):  # newer headers of torch need the first, older compilers have only the second
        command = [compiler, f"-std={standard}", "-O2", "-fPIC", "-shared", "-o", made, SOURCE, f"-I{include}",
                   f"-I{include}/torch/csrc/api/include", f"-I{sysconfig.get_path('include')}",
                   f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
                   f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", "-lc10", "-ltorch_cpu",
                   "-ltorch_python"]
        command += ["-ltorch_cuda"] * os.path.exists(os.path.join(lib, "libtorch_cuda.so"))
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode == 0:
            break
        errors.append(f"{compiler} -std={standard} failed:\n{done.stderr[:1000]}")
    else:
        os.unlink(made)
        raise RuntimeError("\n".join(errors))
    os.replace(made, path)  # another process may do the same: the last one stays, whole


def load():
    """The compiled library, or None, with the reason in extension()."""
    if not torch.version.cuda:
        _state["why"] = "this torch is built without CUDA"
        return None
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        _state["why"] = "no C++ compiler (c++, g++, clang++) on PATH"
        return None
    try:
        path = os.path.join(_folder(), f"torch-{_key(compiler)}.so")
        if not os.path.exists(path):
            _compile(compiler, path)
        _state["library"], _state["why"] = ctypes.CDLL(path), path
        _state["call"] = _python_call(path)
    except (OSError, RuntimeError) as error:
        _state["why"] = str(error)
    return _state["library"]


def _python_call(path):
    """`linear` as a function of Python's; None where the compiler found no headers of Python, and for a torch before 2.6.

    torch.compile traces it as NotImplemented, so that no call has to ask whether it is traced."""
    library = ctypes.PyDLL(path)
    if not hasattr(library, "heddle_torch_linear") or not hasattr(torch.compiler, "substitute_in_graph"):
        return None
    library.heddle_torch_linear.restype = ctypes.py_object
    function = library.heddle_torch_linear()
    torch.compiler.substitute_in_graph(function, skip_signature_check=True)(_traced)
    return function


def _traced(*args):
    return NotImplemented


def call():
    """The op past torch.ops, about 2 µs quicker (extension.cpp, call_linear); None: there is none."""
    return _state["call"]


def extension():
    """("c++", its path) or ("python", why not C++)."""
    return ("c++" if _state["library"] else "python"), _state["why"]
