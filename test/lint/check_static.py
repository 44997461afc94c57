"""check_static.py FILE...: a tool or library with LLVM inside. Stripped, each has at most 45 MB and needs only the C
library; a library exports only heddle_*."""
import os
import re
import subprocess
import sys
import tempfile

LIMIT = 45_000_000
ALLOWED = re.compile(r"linux-vdso|libc\.so|libm\.so|libpthread\.so|libdl\.so|ld-linux")


def output(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def breaches(path):
    with tempfile.TemporaryDirectory() as work:
        stripped = os.path.join(work, "stripped")
        subprocess.run(["strip", "-o", stripped, path], check=True)
        size = os.path.getsize(stripped)
    print(f"{os.path.basename(path)}: bytes={size} limit={LIMIT}")
    if size > LIMIT:
        yield f"{size} bytes"
    yield from (f"needs {line.strip()}" for line in output("ldd", path).splitlines() if not ALLOWED.search(line))
    if ".so" in path:
        names = (line.split()[-1] for line in output("nm", "-D", "--defined-only", path).splitlines())
        yield from (f"exports {name}" for name in names if not name.startswith("heddle_"))


found = [f"{path}: {breach}" for path in sys.argv[1:] for breach in breaches(path)]
print("\n".join(found))
sys.exit(1 if found else 0)
