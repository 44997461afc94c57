"""run.py SECONDS [NAME ...]: each fuzz target for so many seconds, from its corpus in the repository.

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
NAMES = ["module", "manifest", "bundle", "schedule", "tuned", "npy", "sparse"]
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
    seeds = [os.path.join(ROOT, "test", "fuzz", "corpus", name)]
    seeds += [os.path.join(ROOT, "examples")] if name == "module" else []
    done = subprocess.run(
        [os.path.join(BUILD, "bin", "fuzz-" + name), f"-max_total_time={seconds}", "-max_len=65536",
         f"-dict={dictionary}", f"-artifact_prefix={findings}/", "-print_final_stats=1", "-timeout=10",
         corpus] + [s for s in seeds if os.path.isdir(s)], capture_output=True, text=True, errors="replace")
    n = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    found = len(glob.glob(os.path.join(findings, "*")))
    print(f"{name:10} executions={n.group(1) if n else 0} coverage={covered[-1] if covered else 0} "
          f"findings={found}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:])
    return found or done.returncode


names = sys.argv[2:] or NAMES
dictionary = write_dictionary(os.path.join(BUILD, "dictionary.txt"))
sys.exit(1 if sum(bool(run(name, int(sys.argv[1]), dictionary)) for name in names) else 0)
