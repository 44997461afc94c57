"""make_declarations.py INCLUDE_DIR OUT_DIR: the public headers as Python.

Reads include/heddle/*.h and writes into OUT_DIR
  _c.py   ctypes declarations: enumerations, structs, and a function with its documentation for each HEDDLE_API
  _c.pyi  the same for type checkers
What a header gains appears here by itself; what this reader does not understand is an error, never left out.
"""
import keyword
import os
import re
import sys

SCALARS = {
    "bool": "c_bool", "char": "c_char", "int": "c_int", "float": "c_float", "double": "c_double",
    "size_t": "c_size_t", "int8_t": "c_int8", "uint8_t": "c_uint8", "int16_t": "c_int16",
    "uint16_t": "c_uint16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
    "uint64_t": "c_uint64",
}
PYTHON_TYPES = {"bool": "bool", "float": "float", "double": "float", "char": "bytes"}
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|\w+|\.\.\.|##|[^\s\w]", re.S)


class Api:
    """What the headers declare, in their order."""

    def __init__(self):
        self.enums, self.constants, self.structs, self.functions = {}, {}, {}, {}
        self.opaque, self.callbacks = set(), {}

    def ctype(self, text):
        """The ctypes expression of a C type without its name: 'const char *', 'heddle_arg'."""
        words = [w for w in re.findall(r"\w+|\*", text) if w not in ("const", "struct", "enum")]
        stars = words.count("*")
        base = " ".join(w for w in words if w != "*")
        if base in self.callbacks:
            return base if stars == 0 else f"POINTER({base})"
        if base == "void" and stars == 0:
            return "None"
        if base == "void" or base in self.opaque:
            return "c_void_p" if stars == 1 else f"POINTER({self.ctype('void' + '*' * (stars - 1))})"
        if base == "char" and stars == 1 and "const" in text:
            return "c_char_p"
        if base == "unsigned":
            one = "c_uint"
        elif base in SCALARS:
            one = SCALARS[base]
        elif base in self.enums:
            one = "c_int"
        elif base in self.structs:
            one = base
        else:
            raise SystemExit(f"make_declarations: the type '{text}' is unknown")
        for _ in range(stars):
            one = f"POINTER({one})"
        return one

    def python_type(self, text):
        words = [w for w in re.findall(r"\w+|\*", text) if w not in ("const", "struct", "enum")]
        if "*" in words:
            return "bytes | None" if self.ctype(text) == "c_char_p" else "Any"
        base = words[-1]
        if base == "void":
            return "None"
        return PYTHON_TYPES.get(base, "int" if base in SCALARS or base in self.enums else "Any")


def plain(comment):
    """A C comment as text."""
    lines = comment.strip()[2:-2].split("\n")
    return "\n".join(re.sub(r"^\s*\*? ?", "", line).rstrip() for line in lines).strip()


def expand_defs(folder, text):
    """#define NAME(…) BODY, #include "heddle/x.def", #undef NAME: the lines that the table makes."""
    pattern = re.compile(r"#define (\w+)\(([^)]*)\) (.*)\n#include \"heddle/(\w+\.def)\"\n#undef \1\n")

    def made(match):
        name, parameters, body, file = match.groups()
        rows = open(os.path.join(folder, file)).read()
        out = []
        for row in re.findall(rf"^{name}\((.*)\)$", rows, re.M):
            values = [v.strip() for v in re.findall(r'"[^"]*"|[^,]+', row)]
            line = body
            for parameter, value in zip(parameters.split(", "), values):
                line = re.sub(rf"##{parameter}\b|\b{parameter}\b", value, line)
            out.append(line)
        return "\n".join(out) + "\n"
    return pattern.sub(made, text)


def statements(text):
    """(documentation, statement) for each declaration: a statement ends at ; outside of braces."""
    text = re.sub(r"^\s*#.*(?:\\\n.*)*\n", "\n", text, flags=re.M)
    text = re.sub(r'extern "C" \{|^\}\s*$', "", text, flags=re.M) if 'extern "C"' in text else text
    doc, depth, now = "", 0, []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("/*", "//")):
            if not now:
                doc = plain(token) if token.startswith("/*") else doc
            continue
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(token, 0)
        if token == ";" and depth == 0:
            if now:
                yield doc, now
            now = []
        else:
            now.append(token)


def join(tokens):
    return " ".join(tokens)


def split(tokens, mark):
    """The runs between marks, outside of brackets."""
    runs, depth = [[]], 0
    for token in tokens:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token, 0)
        if token == mark and depth == 0:
            runs.append([])
        else:
            runs[-1].append(token)
    return [run for run in runs if run]


def between(tokens, left, right):
    start = tokens.index(left)
    end = len(tokens) - 1 - tokens[::-1].index(right)
    return tokens[:start], tokens[start + 1:end], tokens[end + 1:]


def read_enum(api, name, body):
    members, value = {}, -1
    for run in split(body, ","):
        value = eval(join(run[2:]), {}, {**api.constants, **members}) if "=" in run else value + 1
        members[run[0]] = value
    api.constants.update(members)
    if name:
        api.enums[name] = members


def declarator(tokens):
    """(name, type text, length of an array or None) of a parameter or field."""
    length = None
    if "[" in tokens:
        at = tokens.index("[")
        tokens, length = tokens[:at], join(tokens[at + 1:tokens.index("]")])
    name = tokens[-1] + "_" * keyword.iskeyword(tokens[-1])
    return name, join(tokens[:-1]), length


def read_struct(api, name, body, doc, union):
    fields = []
    for field in split(body, ";"):
        if "(" in field:
            fields.append(callback(api, field))
            continue
        runs = split(field, ",")
        first, kind, length = declarator(runs[0])
        base = re.sub(r"[* ]+$", "", kind)
        for i, run in enumerate(runs):
            one = declarator(run) if i else (first, kind, length)
            ctype = api.ctype(kind if not i else base + "*" * run.count("*"))
            if one[2]:
                ctype += f" * {eval(one[2], {}, api.constants)}"
            fields.append((one[0], ctype))
    api.structs[name] = (fields, doc, union)


def callback(api, tokens):
    """(name, ctypes expression) of a pointer to a function: `bool (*name)(void *user)`."""
    head, rest = tokens[:tokens.index("(")], tokens[tokens.index("("):]
    close = rest.index(")")
    name, parameters = rest[close - 1], rest[close + 2:-1]
    kinds = [] if parameters == ["void"] else [api.ctype(type_of(run)) for run in split(parameters, ",")]
    return name, f"CFUNCTYPE({', '.join([api.ctype(join(head)), *kinds])})"


def type_of(run):
    """The type of a parameter that may have no name."""
    if "[" in run:
        return declarator(run)[1] + " *"
    known = run[-1] not in ("*", "const") and len(run) > 1 and not (len(run) == 2 and run[0] in ("const", "struct"))
    return join(run[:-1] if known else run)


def read_function(api, doc, tokens):
    head, parameters, _ = between(tokens[1:], "(", ")")
    name, result = head[-1], join(head[:-1])
    arguments = []
    for run in [] if parameters == ["void"] else split(parameters, ","):
        arguments.append((declarator(run)[0], type_of(run)))
    api.functions[name] = (result, arguments, doc)


def read_statement(api, doc, tokens):
    if tokens[0] == "HEDDLE_API":
        return read_function(api, doc, tokens)
    if tokens[0] == "enum" and "{" in tokens:
        return read_enum(api, None, between(tokens, "{", "}")[1])
    if tokens[0] != "typedef":
        raise SystemExit(f"make_declarations: not understood: {join(tokens)}")
    if "{" in tokens:
        _, body, after = between(tokens, "{", "}")
        if tokens[1] == "enum":
            return read_enum(api, after[-1], body)
        return read_struct(api, after[-1], body, doc, tokens[1] == "union")
    if tokens[1] == "struct":
        return api.opaque.add(tokens[-1])
    name, kind = callback(api, tokens[1:])
    api.callbacks[name] = kind


def read_header(api, folder, file, seen):
    if file in seen:
        return
    seen.add(file)
    text = open(os.path.join(folder, file)).read()
    for used in re.findall(r'#include "heddle/(\w+\.h)"', text):
        read_header(api, folder, used, seen)
    for name, value in re.findall(r'^#define (HEDDLE_\w+) ("[^"]*"|\d+)', text, re.M):
        api.constants[name] = eval(value)
    for doc, tokens in statements(expand_defs(folder, text)):
        read_statement(api, doc, tokens)


HEAD = '''"""heddle's C interface, made by make_declarations.py of the headers: do not edit.

Each function is the C function of that name; what its documentation says of ownership and threads holds
here, too. heddle (the package) is the pleasant form of it."""
from ctypes import (CFUNCTYPE, POINTER, Structure, Union, c_bool, c_char, c_char_p, c_double, c_float, c_int,
                    c_int8, c_int16, c_int32, c_int64, c_size_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64,
                    c_void_p)
from enum import IntEnum

from ._load import library as _library


def _bind(name, result, *arguments):
    """The C function of that name. What another library holds (heddle/fetch.h) refuses when it is called."""
    function = getattr(_library, name, None)
    if function is None:
        def missing(*_):
            raise NotImplementedError(f"{name}: libheddle has it not; its header says which library does")
        return missing
    function.restype, function.argtypes = result, arguments
    return function
'''


def string(text):
    return '"""' + text.replace("\\", "\\\\").replace('"""', "'''") + '"""'


def indent(text):
    return text.replace("\n", "\n    ")


def write_module(api):
    out = [HEAD]
    for name, value in api.constants.items():
        out.append(f"{name} = {value!r}")
    for name, members in api.enums.items():
        out.append(f"\n\nclass {name}(IntEnum):")
        out += [f"    {member} = {value}" for member, value in members.items()]
    for name, kind in api.callbacks.items():
        out.append(f"\n\n{name} = {kind}")
    for name, (fields, doc, union) in api.structs.items():
        base = "Union" if union else "Structure"
        out.append(f"\n\nclass {name}({base}):\n    {indent(string(doc))}\n    _fields_ = [")
        out += [f"        ({field!r}, {ctype})," for field, ctype in fields]
        out.append("    ]")
    for name, (result, arguments, doc) in api.functions.items():
        kinds = ", ".join(api.ctype(kind) for _, kind in arguments)
        names = ", ".join(argument for argument, _ in arguments)
        bound = ", ".join(filter(None, (f'"{name}"', api.ctype(result), kinds)))
        out.append(f"\n\n_{name} = _bind({bound})\n\n\ndef {name}({names}):\n    {indent(string(doc))}"
                   f"\n    return _{name}({names})")
    return "\n".join(out) + "\n"


def write_stub(api):
    out = ["from ctypes import Structure, Union, _FuncPointer", "from enum import IntEnum", "from typing import Any\n"]
    out += [f"{name}: {type(value).__name__}" for name, value in api.constants.items()]
    out += [f"{name}: type[_FuncPointer]" for name in api.callbacks]
    for name, members in api.enums.items():
        out.append(f"\nclass {name}(IntEnum):")
        out += [f"    {member} = {value}" for member, value in members.items()]
    for name, (fields, _, union) in api.structs.items():
        out.append(f"\nclass {name}({'Union' if union else 'Structure'}):")
        out += [f"    {field}: Any" for field, _ in fields]
    for name, (result, arguments, doc) in api.functions.items():
        typed = ", ".join(f"{argument}: {api.python_type(kind)}" for argument, kind in arguments)
        out.append(f"\ndef {name}({typed}) -> {api.python_type(result)}:\n    {indent(string(doc))}")
    return "\n".join(out) + "\n"


def read_api(folder):
    api, seen = Api(), set()
    for file in sorted(os.listdir(folder)):
        if file.endswith(".h"):
            read_header(api, folder, file, seen)
    return api


def main(include, out):
    api = read_api(os.path.join(include, "heddle"))
    for file, text in (("_c.py", write_module(api)), ("_c.pyi", write_stub(api))):
        path = os.path.join(out, file)
        if not os.path.exists(path) or open(path).read() != text:
            with open(path, "w") as stream:
                stream.write(text)
    return api


if __name__ == "__main__":
    main(*sys.argv[1:])
