"""check_rules.py ROOT: the lint rules that can be decided from the files alone.

Prints one line per violation and exits with 1 if there is any:
  include    a folder of lib/ includes only folders below it (the layering in CMakeLists.txt)
  llvm       only lib/Emit includes LLVM's headers
  calls      the library never prints, exits or reads the environment; files, processes and the
             clock are Support's, dlopen is Runtime's and Bench's (peers); hd_free frees
  readme     every folder of lib/, tools/, test/ (one level) has a README.md of at most 40 lines
  length     no file of lib/, tools/, include/ is longer than 600 lines, and lib/Service has at most
             4,000 in all
  width      no line of C has more than 100 characters
  unique     file names are unique in lib/, tools/ and include/
  unread     each field of a struct of lib/ is used in code: .field or ->field
  tested     each rule that a refusal names occurs in a test, or in rule_names.py
  retired    no word of an earlier version (retired_words.py, docs/glossary.md)
"""
import os
import re
import sys

from retired_words import check_retired
from rule_names import check_names

# Exceptions to "all lower folders": the folder may include only these.
ONLY = {
    "Kernel": {"Support"},
    "Runtime": {"Kernel", "Support"},
    "Sim": {"Kernel", "Support"},
    "Layout": {"Support"},
    "Fetch": {"Support"},
    "Agent": {"Fetch", "Runtime", "Kernel", "Support"},
}
FORBIDDEN = [
    (r"\b(?:printf|puts|putchar|perror)\s*\(", "prints", set()),
    (r"\bfprintf\s*\(|\bstd(?:out|err)\b", "prints", {"Support/diag.c", "Support/file.c",
                                                     "Support/memory.c"}),
    (r"\b(?:exit|_exit|quick_exit)\s*\(", "exits", {"Support/process.c"}),
    (r"\babort\s*\(", "aborts", {"Support/diag.c", "Support/memory.c"}),
    (r"(?<![\w.>])free\s*\(", "frees with another than hd_free", {"Support/memory.c"}),
    (r"\b(?:secure_)?getenv\s*\(", "reads the environment", set()),
    (r"(?<![\w.>])(?:fopen|open|fork|execvp|posix_spawnp?|socket|popen|system|clock_gettime)\s*\(",
     "calls the system", "Support/"),
    (r"\bdlopen\s*\(", "loads libraries", ("Runtime/", "Bench/")),
]
MAX_LINES, MAX_README, MAX_WIDTH = 600, 40, 100
MAX_FOLDER_LINES = {"lib/Service": 4000}
SOURCES = (".c", ".h", ".def", ".td", ".py", ".cmake")


def order(root):
    text = open(os.path.join(root, "CMakeLists.txt")).read()
    return " ".join(re.findall(r"set\(HEDDLE_(?:NETWORK_)?LIBRARIES ([^)]*)\)", text)).split()


def files_under(root, tops, suffixes):
    for top in tops:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(suffixes):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, root), open(path, encoding="utf-8").read()


def without_comments(text):
    """Blanks comments and strings, keeps lines."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(pattern, blank, text, flags=re.S)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_includes(root):
    rank = {name: i for i, name in enumerate(order(root))}
    for path, text in files_under(root, ["lib"], (".c", ".h", ".def")):
        folder = path.split("/")[1]
        for match in re.finditer(r'^\s*#\s*include\s*([<"])([^>"]+)', text, re.M):
            where = f"{path}:{line_of(text, match.start())}"
            head = match.group(2).split("/")[0]
            if head in ("llvm", "llvm-c") and folder != "Emit":
                yield f"{where}: llvm: only lib/Emit may include {match.group(2)}"
            if head not in rank or head == folder:
                continue
            allowed = ONLY.get(folder)
            if allowed is not None and head not in allowed:
                yield f"{where}: include: {folder} may use {sorted(allowed)} only, not {head}"
            elif rank[head] > rank[folder]:
                yield f"{where}: include: {head} stands above {folder}"


def permitted(place, where):
    return place in where if isinstance(where, set) else place.startswith(where)


def check_calls(root):
    for path, text in files_under(root, ["lib"], (".c", ".h")):
        code = without_comments(text)
        place = path[len("lib/"):]
        for pattern, what, where in FORBIDDEN:
            if permitted(place, where):
                continue
            for match in re.finditer(pattern, code):
                call = match.group(0).strip("( ")
                yield f"{path}:{line_of(code, match.start())}: calls: the library {what}: {call}"


def tracked_folders(root):
    for top in ("lib", "tools", "test"):
        for name in sorted(os.listdir(os.path.join(root, top))):
            folder = os.path.join(root, top, name)
            if os.path.isdir(folder) and os.listdir(folder) and not name.startswith("__"):
                yield f"{top}/{name}", folder


def check_readmes(root):
    for name, folder in tracked_folders(root):
        path = os.path.join(folder, "README.md")
        if not os.path.exists(path):
            yield f"{name}: readme: there is no README.md"
        elif (n := open(path).read().count("\n")) > MAX_README:
            yield f"{name}/README.md: readme: {n} lines, at most {MAX_README}"


def check_lengths(root):
    total = dict.fromkeys(MAX_FOLDER_LINES, 0)
    for path, text in files_under(root, ["lib", "tools", "include"], SOURCES):
        n = text.count("\n")
        if n > MAX_LINES:
            yield f"{path}: length: {n} lines, at most {MAX_LINES}"
        if os.path.dirname(path) in total:
            total[os.path.dirname(path)] += n
    for folder, n in total.items():
        if n > MAX_FOLDER_LINES[folder]:
            yield f"{folder}: length: {n} lines, at most {MAX_FOLDER_LINES[folder]}"


STRUCT = re.compile(r"\bstruct\s+\w*\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
FIELD = re.compile(r"[\s*]([a-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=,|:|$)")


def check_fields(root):
    declared, named = {}, set()
    for path, text in files_under(root, ["lib", "tools", "include", "test"], (".c", ".h", ".def", ".cpp")):
        code = without_comments(text)
        named.update(re.findall(r"(?:\.|->)\s*([a-z_]\w*)", code))
        for struct in STRUCT.finditer(code) if path.startswith("lib/") else ():
            for declaration in struct.group(1).split(";"):
                for field in () if "(" in declaration else FIELD.findall(declaration):
                    declared.setdefault(field, f"{path}:{line_of(code, struct.start())}")
    for field in sorted(declared.keys() - named):
        yield f"{declared[field]}: unread: nothing names the field {field}"


def check_widths(root):
    tops = ["lib", "tools", "include", "test", "examples"]
    for path, text in files_under(root, tops, (".c", ".h", ".cpp")):
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MAX_WIDTH:
                yield f"{path}:{number}: width: {len(line)} characters, at most {MAX_WIDTH}"


def check_unique(root):
    seen = {}
    for path, _ in files_under(root, ["lib", "tools", "include"], SOURCES):
        name = os.path.basename(path)
        if name in ("main.c", "CMakeLists.txt"):
            continue
        # A public header and the internal header that completes it may share a name.
        key = name if not path.startswith("include/") else "heddle/" + name
        if key in seen:
            yield f"{path}: unique: {seen[key]} has the same name"
        seen.setdefault(key, path)


def breaches(root):
    for check in (check_includes, check_calls, check_readmes, check_lengths, check_widths,
                  check_unique, check_fields, check_names, check_retired):
        yield from check(root)


if __name__ == "__main__":
    found = list(breaches(sys.argv[1]))
    print("\n".join(found) if found else "the lint rules hold")
    sys.exit(1 if found else 0)
