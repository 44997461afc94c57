"""The names of refusals, as hd_error and its like give them: each stands in a test."""
import os
import re

NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9_]+(?:-[a-z0-9]+)*"
GIVEN = re.compile(r"\b(?:\w*(?:error|note|warning|fail|refuse)\w*|REFUSE\w*)\s*\("
                   rf'[^;"]*"({NAME})"')


def texts_under(root, tops):
    for top in tops:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, root), open(path, errors="replace").read()


def check_names(root):
    given = {}
    for path, text in texts_under(root, ["lib", "tools"]):
        if path.endswith((".c", ".h")):
            for match in GIVEN.finditer(text):
                line = text.count("\n", 0, match.end()) + 1
                given.setdefault(match.group(1), f"{path}:{line}")
    tested = set()
    for path, text in texts_under(root, ["test"]):
        if not path.startswith("test/house/"):
            tested.update(re.findall(rf"(?<![\w.-]){NAME}(?![\w-])", text))
    for name in sorted(given.keys() - tested):
        yield f"{given[name]}: tested: no test names {name}"
