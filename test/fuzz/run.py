"""Runs the fuzz targets from their corpora in the repository.

  run.py SECONDS [NAME ...]             each target for SECONDS seconds, one after the other
  run.py SECONDS --jobs N [NAME ...]    N processes at once, all for SECONDS seconds; with more processes than
                                        targets, several run the same target and share its corpus
  run.py --sum                          executions, coverage and findings of all runs so far

  --build DIR    the build of the targets (default: build-fuzz)

Build first: cmake --preset fuzz && cmake --build --preset fuzz. Prints executions, coverage and findings of each
process. Exits with 1 when there is a finding; its input stays in DIR/findings. New inputs go to DIR/corpus, and the
next run starts from them.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = ["module", "manifest", "bundle", "schedule", "tuned", "npy", "sparse", "ptx", "user", "worker",
         "records"]
SEEDS = {"module": ["examples"], "ptx": ["test/unit/Sim/ptx"]}  # in addition to corpus/NAME
# Longer inputs cost more than they find; for the worker, each input is a process.
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


def run(build, name, seconds, dictionary):
    corpus, findings = (os.path.join(build, kind, name) for kind in ("corpus", "findings"))
    for folder in (corpus, findings):
        os.makedirs(folder, exist_ok=True)
    seeds = [os.path.join(ROOT, folder) for folder in ["test/fuzz/corpus/" + name] + SEEDS.get(name, [])]
    done = subprocess.run(
        [os.path.join(build, "bin", "fuzz-" + name), f"-max_total_time={seconds}",
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
    keep(build, name, n, covered[-1] if covered else 0)
    return bool(found or done.returncode)


def keep(build, name, n, covered):
    """Appends one line per process; print_sums adds them up."""
    with open(os.path.join(build, "executions.csv"), "a") as lines:
        lines.write(f"{name},{n},{covered}\n")


def print_sums(build):
    with open(os.path.join(build, "executions.csv")) as lines:
        rows = [line.split(",") for line in lines]
    total = 0
    for name in NAMES:
        own = [(int(n), int(covered)) for target, n, covered in rows if target == name]
        found = len(glob.glob(os.path.join(build, "findings", name, "*")))
        total += sum(n for n, _ in own)
        print(f"{name:10} executions={sum(n for n, _ in own)} coverage={max([c for _, c in own] + [0])} "
              f"findings={found}")
    print(f"total executions={total}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets (default: all)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-fuzz"))
    parser.add_argument("--sum", action="store_true")
    args = parser.parse_intermixed_args()
    if args.sum:
        print_sums(args.build)
        return 0
    names = args.names or NAMES
    if args.seconds is None or args.jobs < 1 or set(names) - set(NAMES):
        parser.error(f"expected SECONDS, a positive number of jobs, and names among {' '.join(NAMES)}")
    dictionary = write_dictionary(os.path.join(args.build, "dictionary.txt"))
    work = [names[i % len(names)] for i in range(max(args.jobs, len(names)))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        failed = list(pool.map(lambda name: run(args.build, name, args.seconds, dictionary), work))
    if args.jobs > 1:
        print_sums(args.build)
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main())
