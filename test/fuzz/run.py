"""run.py SECONDS [NAME ...]: each fuzz target for so many seconds, from its corpus in the repository.
run.py --sum: executions, coverage and findings of all runs so far.

Build first: cmake --preset fuzz && cmake --build --preset fuzz. Prints executions, coverage and
findings of each; exit 1 when there is a finding, which stays in build-fuzz/findings. What is new
goes to build-fuzz/corpus, and is used by the next run.
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build-fuzz")
NAMES = ["module", "manifest", "bundle", "schedule", "tuned", "npy", "sparse", "ptx", "user", "worker",
         "records"]
SEEDS = {"module": ["examples"], "ptx": ["test/unit/Sim/ptx"]}  # beside corpus/NAME
# A long input costs more than it finds; a worker is a process for each.
LONGEST = {"module": 16384, "ptx": 4096, "user": 4096, "worker": 8192}
WORDS = [("lib/IR/ops.def", r'^HD_OP\(\w+, "([^"]+)"'), ("lib/IR/attrs.def", r'^HD_ATTR\(\w+, "([^"]+)"'),
         ("lib/Schedule/schedule_keys.def", r'"([a-z_]+)"'),
         ("lib/Kernel/manifest_fields.c", r'"([a-z_]+)"')]


def write_dictionary(path):
    words = set()
    for name, pattern in WORDS:
        with open(os.path.join(ROOT, name)) as text:
            words |= set(re.findall(pattern, text.read(), re.M))
    with open(path, "w") as out:
        out.writelines(f'"{word}"\n' for word in sorted(words))
    return path


def run(name, seconds, dictionary):
    corpus, findings = (os.path.join(BUILD, kind, name) for kind in ("corpus", "findings"))
    for folder in (corpus, findings):
        os.makedirs(folder, exist_ok=True)
    seeds = [os.path.join(ROOT, folder) for folder in ["test/fuzz/corpus/" + name] + SEEDS.get(name, [])]
    done = subprocess.run(
        [os.path.join(BUILD, "bin", "fuzz-" + name), f"-max_total_time={seconds}",
         f"-max_len={LONGEST.get(name, 65536)}",
         f"-dict={dictionary}", f"-artifact_prefix={findings}/", "-print_final_stats=1", "-timeout=10",
         corpus] + [s for s in seeds if os.path.isdir(s)], capture_output=True, text=True, errors="replace")
    n = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    n = int(n.group(1)) if n else 0
    covered = re.findall(r"cov: (\d+)", done.stderr)
    found = len(glob.glob(os.path.join(findings, "*")))
    print(f"{name:10} executions={n} coverage={covered[-1] if covered else 0} findings={found}",
          flush=True)
    if done.returncode:
        print(done.stderr[-3000:])
    keep(name, n, covered[-1] if covered else 0)
    return bool(found or done.returncode)


def keep(name, n, covered):
    """A line for each run, of which --sum makes the table."""
    with open(os.path.join(BUILD, "executions.csv"), "a") as lines:
        lines.write(f"{name},{n},{covered}\n")


def print_sums():
    with open(os.path.join(BUILD, "executions.csv")) as lines:
        rows = [line.split(",") for line in lines]
    total = 0
    for name in NAMES:
        own = [(int(n), int(covered)) for target, n, covered in rows if target == name]
        found = len(glob.glob(os.path.join(BUILD, "findings", name, "*")))
        total += sum(n for n, _ in own)
        print(f"{name:10} executions={sum(n for n, _ in own)} coverage={max([c for _, c in own] + [0])} "
              f"findings={found}")
    print(f"total executions={total}")


if sys.argv[1] == "--sum":
    print_sums()
    sys.exit(0)
names = sys.argv[2:] or NAMES
dictionary = write_dictionary(os.path.join(BUILD, "dictionary.txt"))
sys.exit(any([run(name, int(sys.argv[1]), dictionary) for name in names]))
