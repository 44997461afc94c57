"""check_symbols.py [--update] --exports LIST --archives DIR LIBHEDDLE LIBRUNTIME

--update writes LIST from the library instead of comparing.

- libheddle.so exports exactly the symbols of LIST
- no exported symbol is LLVM's; neither library needs libcuda; the runtime does not need LLVM
- no archive of lib/ holds mutable data (no global state): nothing in .data, .bss or thread-local
- libheddle.a defines no name that a program may use: only heddle_… and hd_…
"""
import argparse
import glob
import os
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def exported(library):
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}


def check_exports(path, names):
    want = {line.strip() for line in open(path) if line.strip() and not line.startswith("#")}
    for name in sorted(names - want):
        yield f"{name} is exported but not in {path}"
    for name in sorted(want - names):
        yield f"{name} is in {path} but not exported"
    for name in sorted(n for n in names if "LLVM" in n or "llvm" in n):
        yield f"{name} of LLVM is exported"


def check_needed(library, forbidden):
    for line in output("ldd", library).splitlines():
        if re.search(forbidden, line):
            yield f"{os.path.basename(library)} needs {line.strip()}"


MUTABLE = re.compile(r"\s(\.data|\.bss|\.tdata|\.tbss|\*COM\*)(\.[\w.]+)?\s+([0-9a-f]+)\s+(\S+)$")


# LLVM's registry of targets is itself global: it is filled once per process.
# Memory, and jansson's allocator, belong to the process.
ALLOWED = {("libhdEmit.a", "registered"), ("libhdSupport.a", "reserve"),
           ("libhdSupport.a", "shortages"), ("libhdSupport.a", "json_lock"),
           ("libhdSupport.a", "given_malloc"), ("libhdSupport.a", "given_free")}


def check_state(folder):
    for archive in sorted(glob.glob(os.path.join(folder, "libhd*.a"))):
        for line in output("objdump", "-t", archive).splitlines():
            match = MUTABLE.search(line)
            constant = match and (match.group(2) or "").startswith(".rel.ro")
            place = (os.path.basename(archive), match.group(4) if match else "")
            if match and not constant and int(match.group(3), 16) and place not in ALLOWED:
                yield f"{os.path.basename(archive)} has mutable state: {match.group(4)}"


def check_names(archive):
    for line in output("nm", "-g", "--defined-only", archive).splitlines():
        name = line.split()[2:]
        if name and not re.match("heddle_|hd_", name[0]):
            yield f"{os.path.basename(archive)} defines {name[0]}"


parser = argparse.ArgumentParser()
parser.add_argument("--exports", required=True)
parser.add_argument("--archives", required=True)
parser.add_argument("--update", action="store_true")
parser.add_argument("libheddle")
parser.add_argument("runtime")
args = parser.parse_args()
names = exported(args.libheddle)
if args.update:
    with open(args.exports, "w") as out:
        out.write("".join(name + "\n" for name in sorted(names)))
found = [*check_exports(args.exports, names), *check_needed(args.libheddle, "libcuda"),
         *check_needed(args.runtime, "libcuda|LLVM"), *check_state(args.archives),
         *check_names(os.path.join(args.archives, "libheddle.a"))]
extra = exported(args.runtime) - names
found += [f"the runtime exports {name}, which libheddle does not" for name in sorted(extra)]
print("\n".join(found))
print(f"exports={len(names)} runtime={len(exported(args.runtime))} breaches={len(found)}")
sys.exit(1 if found else 0)
