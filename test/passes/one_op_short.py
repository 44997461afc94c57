"""one_op_short.py HEDDLE_OPT AFTER PASSES FILE...: takes the first kernel of each file after the pass AFTER, removes
one op (and the ops that read its results), and runs PASSES: each is accepted, found faulty or refused, by exit codes
0 to 3. Prints how many there were."""
import re
import subprocess
import sys

tool, after, passes, *files = sys.argv[1:]


def end_of(lines, first):
    """The line with the brace that closes the regions of the op."""
    depth = 0
    for at in range(first, len(lines)):
        depth += lines[at].count("{") - lines[at].count("}")
        if depth == 0:
            return at
    raise ValueError(lines[first])


def defined(line):
    """The results of an op: the names before its `=` that have a type."""
    head, equals, _ = line.partition(" = ")
    return set(re.findall(r"%(\w+): ", head)) if equals and head.strip().startswith("%") else set()


def without(lines, first):
    """The lines of the kernel without the op and, transitively, without the ops that read its results."""
    gone = defined(lines[first])
    kept = lines[:first] + lines[end_of(lines, first) + 1:]
    at = 2
    while at < len(kept):
        read = set(re.findall(r"%(\w+)(?!\w*:)", kept[at]))
        if not read & gone or kept[at].strip().startswith("}"):
            at += 1
            continue
        last = end_of(kept, at)
        gone |= defined(kept[at])
        del kept[at:last + 1]
        at = 2
    return kept


def run(text):
    return subprocess.run([tool, "-", "--passes", passes], input=text, capture_output=True, text=True)


n = 0
for file in files:
    whole = subprocess.run([tool, file, "--stop-after", after], capture_output=True, text=True, check=True).stdout
    lines = whole.splitlines()
    kernel = next(i for i, line in enumerate(lines) if line.startswith("kernel"))
    lines = [lines[0], *lines[kernel:end_of(lines, kernel) + 1]]
    for first in range(2, len(lines) - 1):
        if lines[first].strip() in ("", "}"):
            continue
        text = "\n".join(without(lines, first)) + "\n"
        done = run(text)
        n += 1
        if done.returncode not in range(4):
            sys.exit(f"{file}, short of {lines[first].strip()}: exit {done.returncode}\n{done.stderr}\n{text}")
print(n, "texts")
