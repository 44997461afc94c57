"""said.py BIN SOURCE WORK: the commands of the help texts ("Examples:") and of documents, run as they are
written, in WORK. Each ends with 0, or stands in LEFT_OUT with what keeps it out."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys

DOCUMENTS = ["README.md", "docs/tuning.md", "docs/bench/README.md", "examples/README.md"]
LEFT_OUT = {
    "a device": r"heddle (bench(?!.*--list)|tune (examples|linear|--grid))|--gpu|--backend gpu|--case",
    "what such a command measured": r"heddle tune (list|merge|export|calibrate|evaluate)|--db mine\.db|"
                                    r"heddle report bf16",
    "files of the reader's": r"--a weights\.npy|out/k\.ptx",
    "minutes": r"heddle-mutate --|--scale|heddle cost|quickstart|ctest",
    "an installed Heddle (house.install)": r"cmake --install|pkg-config|\./typed_function|aot\.c|export PATH|dsl\.py",
    "numpy": r"python3 -c",
}


def npy(name, rows, cols, code, item):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        out.write(b"".join(item() for _ in range(rows * cols)))


def lines_of(text):
    """Indented commands, whole: a line that ends in a backslash goes on."""
    text = re.sub(r"\\\n\s*", "", text)
    for line in re.findall(r"^ +((?:heddle|echo|bash|ctest|cmake|cc|python3|export|\./)\S* .*)$", text, re.M):
        yield re.sub(r"\s+#( .*)?$", "", line).replace("| less", "> less")


def commands(source):
    def help_of(*tool):
        return subprocess.run([*tool, "--help"], check=True, capture_output=True, text=True).stdout

    words = [["heddle", w] for w in re.findall(r"^  ([a-z]+)  ", help_of("heddle"), re.M)]
    words += [["heddle", "tune", w] for w in ("list", "merge", "export", "calibrate", "evaluate")]
    for tool in words + [["heddle-opt"], ["heddle-sim"], ["heddle-mutate"], ["heddle-gpu-suite"]]:
        said = help_of(*tool).partition("Examples:")[2]
        if not said:
            yield f"{' '.join(tool)} --help: no examples", "false"
        for line in lines_of(said):
            yield " ".join(tool) + " --help", line
    for name in DOCUMENTS:
        for line in lines_of(open(os.path.join(source, name)).read()):
            yield name, line


binaries, source, work = map(os.path.abspath, sys.argv[1:])
os.environ["PATH"] = binaries + ":" + os.environ["PATH"]
os.environ["LD_LIBRARY_PATH"] = os.path.join(binaries, "..", "lib")
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
os.chdir(work)
for folder in ("docs", "examples"):
    shutil.copytree(os.path.join(source, folder), folder)
readme = open(os.path.join(source, "README.md")).read()
kernel = re.search(r"^    module version=1.*?^    }$", readme, re.M | re.S).group()
open("linear.heddle", "w").write(re.sub(r"^    ", "", kernel, flags=re.M) + "\n")
draw = random.Random(1)
npy("sa.npy", 64, 65, "|u1", lambda: bytes([100 + draw.randrange(30)]))
npy("sb.npy", 64, 130, "|u1", lambda: bytes([100 + draw.randrange(30)]))

failures = n_run = 0
used = set()
for where, line in commands(source):
    why = next((why for why, words in LEFT_OUT.items() if re.search(words, line)), None)
    if why:
        used.add(why)
        continue
    if "prune w.npy --type e4m3" in line:
        npy("w.npy", 64, 256, "|u1", lambda: bytes([draw.randrange(120)]))
    elif "prune w.npy" in line:
        npy("w.npy", 64, 256, "<u2", lambda: struct.pack("<H", 0x3F00 + draw.randrange(256)))
    run = subprocess.run(["bash", "-c", "set -o pipefail; " + line], capture_output=True, text=True)
    n_run += 1
    if run.returncode:
        print(f"{where}: {line}\n  ends with {run.returncode}: {run.stderr.strip()[:400]}")
        failures += 1
for why in sorted(LEFT_OUT.keys() - used):
    print(f"said.py: nothing is left out for {why}")
print(f"commands={n_run} failed={failures}")
sys.exit(failures != 0 or used != LEFT_OUT.keys())
