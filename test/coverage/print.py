"""print.py [BUILD] [--lines FILE]: line coverage of lib/ by the tests that ran in a build of preset coverage.

    cmake --preset coverage && cmake --build --preset coverage && ctest --preset coverage
    python3 test/coverage/print.py                       # a line per folder, the least covered files, the sum
    python3 test/coverage/print.py --lines lib/Sim/sim_run.c    # the lines of a file that never ran

Exit code 1 if less than 90 % of the lines ran. Runs accumulate until `print.py --reset`.
"""
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST = 90.0


def read(counts):
    """{file: {line: execution count}} of one object."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", counts], capture_output=True, text=True,
                          cwd=os.path.dirname(counts))
    found = {}
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else []:
            name = os.path.normpath(os.path.join(ROOT, file["file"]))
            if name.startswith(os.path.join(ROOT, "lib") + os.sep):
                found[os.path.relpath(name, ROOT)] = {line["line_number"]: line["count"] for line in file["lines"]}
    return found


def read_all(build):
    lines = collections.defaultdict(collections.Counter)
    counts = glob.glob(os.path.join(build, "lib", "**", "*.gcno"), recursive=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(read, counts):
            for name, ran in found.items():
                lines[name].update(ran)
    return lines


def row(name, files, lines):
    n = sum(len(lines[file]) for file in files)
    ran = sum(1 for file in files for count in lines[file].values() if count)
    print(f"{name:34} {n:7} {ran:7} {100.0 * ran / n if n else 100.0:6.1f} %")
    return 100.0 * ran / n if n else 0.0


def main(args):
    build = os.path.join(ROOT, "build-coverage")
    if args and args[0] == "--reset":
        for name in glob.glob(os.path.join(build, "**", "*.gcda"), recursive=True):
            os.remove(name)
        return 0
    if args and not args[0].startswith("--"):
        build = os.path.abspath(args.pop(0))
    lines = read_all(build)
    if args and args[0] == "--lines":
        for line, count in sorted(lines[args[1]].items()):
            if not count:
                with open(os.path.join(ROOT, args[1])) as text:
                    print(f"{args[1]}:{line}: {text.readlines()[line - 1].rstrip()}")
        return 0
    folders = collections.defaultdict(list)
    for name in lines:
        folders[os.path.dirname(name)].append(name)
    print(f"{'folder':34} {'lines':>7} {'ran':>7}")
    for folder in sorted(folders):
        row(folder, folders[folder], lines)
    print("\nleast covered files")
    worst = sorted(lines, key=lambda name: sum(1 for c in lines[name].values() if not c), reverse=True)
    for name in worst[:15]:
        row(name, [name], lines)
    print()
    return 0 if row("lib/", list(lines), lines) >= LEAST else 1


sys.exit(main(sys.argv[1:]))
