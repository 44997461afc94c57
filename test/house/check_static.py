"""check_static.py TOOL: with LLVM inside, stripped, it is at most 45 MB and needs the C library only."""
import os
import re
import subprocess
import sys
import tempfile

LIMIT = 45_000_000
ALLOWED = re.compile(r"linux-vdso|libc\.so|libm\.so|libpthread\.so|libdl\.so|ld-linux")
with tempfile.TemporaryDirectory() as work:
    stripped = os.path.join(work, "tool")
    subprocess.run(["strip", "-o", stripped, sys.argv[1]], check=True)
    size = os.path.getsize(stripped)
needed = subprocess.run(["ldd", sys.argv[1]], check=True, text=True, capture_output=True).stdout
extra = [line.strip() for line in needed.splitlines() if not ALLOWED.search(line)]
print(f"bytes={size} limit={LIMIT}", *[f"needs {line}" for line in extra], sep="\n")
sys.exit(1 if size > LIMIT or extra else 0)
