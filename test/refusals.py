"""refusals.py TABLE HEDDLE: runs each row of TABLE, `RULE CODE TOOL ARGUMENTS`, with the tool beside HEDDLE. It must
exit with CODE, and the first error that it names must be RULE."""
import os
import re
import shlex
import subprocess
import sys

table, heddle = sys.argv[1:]
failures = 0
for line in open(table):
    if not line.strip():
        continue
    rule, code, tool, *arguments = shlex.split(line)
    command = [os.path.join(os.path.dirname(heddle), tool), *arguments]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    first = re.search(r"error\[([^]]*)\]", run.stderr)
    got = first.group(1) if first else "no error"
    if (got, run.returncode) != (rule, int(code)):
        print(f"{line.rstrip()}\n  got {got} and {run.returncode}: {run.stderr.strip()[:400]}")
        failures += 1
sys.exit(failures != 0)
