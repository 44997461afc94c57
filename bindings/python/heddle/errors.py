"""What Heddle refuses, as exceptions: the rule that was broken, what was got, what is legal, what is nearest."""
import ctypes
import os
import re
import sys

from . import _c

_HERE = os.path.dirname(os.path.abspath(__file__))


class Diagnostic:
    """One sentence of the library. `fact` is what was found; `legal` and `nearest` are None where it says none."""

    def __init__(self, severity, rule, text, file, line, col):
        self.severity, self.rule, self.text = severity, rule, text
        self.file, self.line, self.col = file, line, col
        parts = re.split(r"; (?=legal: |nearest: )", text)
        self.fact = parts[0]
        named = dict(part.split(": ", 1) for part in parts[1:])
        self.legal, self.nearest = named.get("legal"), named.get("nearest")

    def __str__(self):
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.severity}[{self.rule}]: {self.text}"


class HeddleError(Exception):
    """A refusal. `rule`, `value` (the fact found, with its value), `legal` and `nearest` are those of the first
    error in `diagnostics`; `nearest` is one value that can be pasted in its place. `file` and `line` are the
    caller's own."""

    def __init__(self, status, diagnostics):
        self.status, self.diagnostics = status, diagnostics
        first = next((d for d in diagnostics if d.severity == "error"), None)
        self.rule, self.value = (first.rule, first.fact) if first else (None, None)
        self.legal, self.nearest = (first.legal, first.nearest) if first else (None, None)
        self.file, self.line = (first.file, first.line) if first else (None, None)
        super().__init__("\n".join(map(str, diagnostics)) or _c.heddle_status_text(status).decode())


class Mismatch(HeddleError, ArithmeticError):
    """A result is wrong, or the simulator found a fault in the kernel."""


class Invalid(HeddleError, ValueError):
    """The input is malformed or breaks a rule."""


class Unsupported(HeddleError, NotImplementedError):
    """Well-formed, but not supported."""


class EnvironmentProblem(HeddleError, OSError):
    """No device, no tool, a file that cannot be read or written, a time-out."""


class InternalError(HeddleError, RuntimeError):
    """A bug in Heddle."""


class OutOfMemory(HeddleError, MemoryError):
    """No memory."""


class NotFound(HeddleError, LookupError):
    """No such file or entry."""


_CLASSES = {
    _c.HEDDLE_MISMATCH: Mismatch, _c.HEDDLE_INVALID: Invalid, _c.HEDDLE_UNSUPPORTED: Unsupported,
    _c.HEDDLE_ENVIRONMENT: EnvironmentProblem, _c.HEDDLE_INTERNAL: InternalError, _c.HEDDLE_NO_MEMORY: OutOfMemory,
    _c.HEDDLE_NOT_FOUND: NotFound,
}
_SEVERITIES = {_c.HEDDLE_NOTE: "note", _c.HEDDLE_WARNING: "warning", _c.HEDDLE_ERROR: "error"}


def _text(raw):
    return raw.decode(errors="replace") if raw else None


def _read(ctx):
    """The diagnostics of a context."""
    found = []
    for i in range(_c.heddle_context_count(ctx)):
        d = _c.heddle_context_get(ctx, i).contents
        found.append(Diagnostic(_SEVERITIES[d.severity], _text(d.rule), _text(d.text), _text(d.file), d.line, d.col))
    return found


def caller():
    """(file, line) of the nearest frame outside of this package and of PyTorch: what an error should point at."""
    torch = sys.modules.get("torch")
    inside = (_HERE + os.sep,) + ((os.path.dirname(torch.__file__) + os.sep,) if torch else ())
    frame = first = sys._getframe(1)
    while frame and os.path.abspath(frame.f_code.co_filename).startswith(inside):
        frame = frame.f_back
    frame = frame or first
    return frame.f_code.co_filename, frame.f_lineno


def refusal(status, rule, fact, legal=None, nearest=None):
    """An exception of the package's own checks, in the library's form."""
    text = fact + (f"; legal: {legal}" if legal else "") + (f"; nearest: {nearest}" if nearest else "")
    return _CLASSES[status](status, [Diagnostic("error", rule, text, *caller(), 1)])


def invalid(rule, fact, legal=None, nearest=None):
    return refusal(_c.HEDDLE_INVALID, rule, fact, legal, nearest)


def check(status, ctx=None):
    """Raises what a status other than OK means, with the sentences of ctx; what names no place of its own points
    at the caller's line."""
    if status == _c.HEDDLE_OK:
        return
    diagnostics = _read(ctx) if ctx else []
    for d in diagnostics:
        if not d.file:
            d.file, d.line = caller()
    raise _CLASSES[status](_c.heddle_status(status), diagnostics)


def call(function, *arguments):
    """A function whose first parameter is a context, with one of its own."""
    ctx = _c.heddle_context_create()
    if not ctx:
        raise MemoryError("heddle: no memory for a context")
    try:
        check(function(ctx, *arguments), ctx)
    finally:
        _c.heddle_context_free(ctx)


def make(function, *arguments):
    """The same for a function whose last parameter takes a new object; its address."""
    out = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(out))
    return out.value
