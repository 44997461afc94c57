"""said.py BIN SOURCE WORK [--device]: runs the commands in the help texts ("Examples:") and in documents as they
are written, in WORK. Each exits with 0, or is listed in LEFT_OUT with the reason. Commands of the README that need
a device exit with 4 and say so. With --device, only the commands of the README are run, these included."""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys

SECONDS = 120
DOCUMENTS = ["README.md", "docs/tuning.md", "docs/bench/README.md", "examples/README.md"]
LEFT_OUT = {
    "a device": r"--device \d|heddle (bench(?!.*--list)|tune (examples|linear|--grid))|--gpu|--backend gpu|--case",
    "what such a command measured": r"heddle tune (list|merge|export|calibrate|evaluate)|--db mine\.db|"
                                    r"heddle report bf16",
    "files of the reader's": r"--a weights\.npy|weight_scale_inv\.npy|out/k\.ptx|mixtral/config\.json",
    "minutes": r"heddle-mutate --|--scale|heddle cost|quickstart|run_tests|ctest",
    "a service (agent.readme)": r"heddled|heddle-agent|--server|--db h200\.json",
    "an installed Heddle (lint.install)": r"cmake --install|pkg-config|\./typed_function|\./experts|\./gated_mlp_fp8|\./rms_norm|aot\.c|export PATH|dsl\.py",
    "numpy": r"python3 -c",
}


def npy(name, rows, cols, code, item):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        out.write(b"".join(item() for _ in range(rows * cols)))


def lines_of(text):
    """The indented commands. A line that ends in a backslash continues on the next line."""
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
        yield from of_document(source, name)


def of_document(source, name):
    for line in lines_of(open(os.path.join(source, name)).read()):
        yield name, line


def run(line):
    """Runs LINE; returns its exit code and its errors. A command that does not end, or that leaves a process
    holding its output, is a failure and is killed."""
    child = subprocess.Popen(["bash", "-c", "set -o pipefail; " + line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        error = child.communicate(timeout=SECONDS)[1]
        return child.returncode, error
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"nothing after {SECONDS} s", ""


def refuses_for_lack(line):
    ended, error = run(line)
    return ended == 4 and "no CUDA driver" in error, f"ends with {ended}: {error.strip()[:400]}"


binaries, source, work = map(os.path.abspath, sys.argv[1:4])
on_device = sys.argv[4:] == ["--device"]
has_driver = os.path.exists("/dev/nvidiactl")
os.environ["PATH"] = binaries + ":" + os.environ["PATH"]
os.environ["LD_LIBRARY_PATH"] = os.path.join(binaries, "..", "lib")
os.environ["HEDDLE_CACHE"] = os.path.join(work, "kernels")  # several commands compile the same
shutil.rmtree(work, ignore_errors=True)
readme = open(os.path.join(source, "README.md")).read()
kernel = re.search(r"^    module version=1.*?^    }$", readme, re.M | re.S).group()
draw = random.Random(1)


def enter(where):
    """One folder for each help text and document, with the files that its reader has."""
    folder = os.path.join(work, re.sub(r"\W+", "_", where))
    os.makedirs(folder)
    os.chdir(folder)
    for name in ("docs", "examples"):
        os.symlink(os.path.join(source, name), name)
    with open("linear.heddle", "w") as out:
        out.write(re.sub(r"^    ", "", kernel, flags=re.M) + "\n")
    npy("sa.npy", 64, 65, "|u1", lambda: bytes([100 + draw.randrange(30)]))
    npy("sb.npy", 64, 130, "|u1", lambda: bytes([100 + draw.randrange(30)]))


failures = n_run = 0
used = set()
before = None
for where, line in of_document(source, "README.md") if on_device else commands(source):
    if where.split()[0] != before:
        enter(where.split()[0])
        before = where.split()[0]
    why = next((why for why, words in LEFT_OUT.items() if re.search(words, line)), None)
    needs_device = why == "a device" and where == "README.md" and (on_device or not has_driver)
    if why and not (needs_device and on_device):
        used.add(why)
        refused, said = refuses_for_lack(line) if needs_device else (True, "")
        if not refused:
            print(f"{where}: {line}\n  without a device {said}")
            failures += 1
        continue
    if re.search(r"(prune|pack) w\.npy --type e4m3", line):
        npy("w.npy", 64, 256, "|u1", lambda: bytes([draw.randrange(120)]))
    elif re.search(r"(prune|pack) w\.npy", line):
        npy("w.npy", 64, 256, "<u2", lambda: struct.pack("<H", 0x3F00 + draw.randrange(256)))
    n_run += 1
    ended, error = run(line)
    if ended != 0:
        print(f"{where}: {line}\n  ends with {ended}: {error.strip()[:400]}")
        failures += 1
for why in sorted(LEFT_OUT.keys() - used):
    if not on_device:
        print(f"said.py: nothing is left out for {why}")
        failures += 1
print(f"commands={n_run} failed={failures}")
sys.exit(failures != 0)
