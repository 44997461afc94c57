"""count_statics.py [--list] FOLDER…: counts static functions of C, and those that are used in one place only.

A helper needs two callers, or a name from the field. A helper that is separated from its only caller
because of length makes the code harder to follow. A function that is named in a table, or passed as a pointer, is
counted as such, not as called once. Prints a line per folder and their sum; --list names those called once, shortest
first."""
import collections
import pathlib
import re
import sys

DEFINITION = re.compile(r"^static (?:inline )?(?!const\b[^()]*=|struct \w+ \{)[^=;{}()]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}",
                        re.M | re.S)


def code_of(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def functions(path):
    """(name, lines of the body, "called" count, named without a call)"""
    code = code_of(path.read_text())
    for match in DEFINITION.finditer(code + "\n"):
        name = match[1]
        calls = len(re.findall(rf"(?<![\w.>]){name}\s*\(", code)) - 1
        prototypes = len(re.findall(rf"^static [^={{}};]*\b{name}\([^{{}};]*\);", code, re.M))
        named = len(re.findall(rf"(?<![\w.>]){name}\b(?!\s*\()", code))
        yield name, match[2].count("\n"), calls - prototypes, named


def main():
    listed = "--list" in sys.argv
    folders = [pathlib.Path(name) for name in sys.argv[1:] if name != "--list"]
    all_of, once_of, once = collections.Counter(), collections.Counter(), []
    for folder in folders:
        for path in sorted(folder.rglob("*.c")):
            place = "/".join(path.parts[:2])
            for name, lines, calls, named in functions(path):
                all_of[place] += 1
                if calls == 1 and not named:
                    once_of[place] += 1
                    once.append((lines, str(path), name))
    for lines, path, name in sorted(once) if listed else []:
        print(f"{lines:4} {path}: {name}")
    for place in sorted(all_of):
        print(f"{place:24} statics={all_of[place]} once={once_of[place]} once_of_all={once_of[place] / all_of[place]:.3f}")
    total, single = sum(all_of.values()), sum(once_of.values())
    print(f"{'all':24} statics={total} once={single} once_of_all={single / max(total, 1):.3f}")


main()
