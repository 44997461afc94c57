"""The rule names of refusals, as given to hd_error and similar functions: each occurs in a test. The text is
"FACT; legal: SET; nearest: VALUE" (docs/embedding.md). Findings of lib/Check are no refusals."""
import os
import re

NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9_]+(?:-[a-z0-9]+)*"
GIVEN = re.compile(r"\b(?:\w*(?:error|note|warning|fail|refuse)\w*|REFUSE\w*)\s*\("
                   rf'[^;"]*"({NAME})"')

LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
OTHERWISE = re.compile(r"[,;:] expected |nearest legal|did you mean|the nearest is|"
                       r"[,;] nearest [^:]|legal (?:for|with) ")


def words_of(path, text):
    for literal in () if path.startswith("lib/Check/") else LITERAL.finditer(text):
        for match in OTHERWISE.finditer(literal.group()):
            line = text.count("\n", 0, literal.start()) + 1
            yield f"{path}:{line}: words: '{match.group().strip()}'; nearest: '; legal: '"


# Files in which each refusal must name a legal value, except those that pass on the message of others.
SAID = re.compile(r"lib/(?:IR/verify|Emit/emit|Passes/|Spec/legal)")
CALL = re.compile(rf'\b\w*(?:error|fail|refuse|unsupported)\w*\s*\([^;"]*"({NAME})"'
                  r'((?:[^;"]|"(?:[^"\\\n]|\\.)*")*)')
OTHERS = {"emit.llvm", "emit.verify", "emit.intrinsic", "emit.value"}


def unsaid(path, text):
    """Refusals that name neither a legal nor a nearest value. A text of %s alone comes from another place."""
    for match in CALL.finditer(text) if SAID.match(path) else ():
        words = " ".join(literal[1:-1] for literal in LITERAL.findall(match.group(2)))
        passed_on = re.fullmatch(r"(?:row )?(?:%s[: ]*)*", words)
        if not passed_on and match.group(1) not in OTHERS and not re.search(
                r"\b(?:legal|nearest):", words):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: words: {match.group(1)} says nothing legal; nearest: '; legal: '"


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
            yield from words_of(path, text)
            yield from unsaid(path, text)
            for match in GIVEN.finditer(text):
                line = text.count("\n", 0, match.end()) + 1
                given.setdefault(match.group(1), f"{path}:{line}")
    tested = set()
    for path, text in texts_under(root, ["test"]):
        if not path.startswith("test/lint/"):
            tested.update(re.findall(rf"(?<![\w.-]){NAME}(?![\w-])", text))
    for name in sorted(given.keys() - tested):
        yield f"{given[name]}: tested: no test names {name}"
