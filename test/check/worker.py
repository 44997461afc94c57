#!/usr/bin/env python3
"""worker.py ... --launch OP:SITE,...: plays the worker of heddle-mutate --gpu. Its device returns wrong
numbers for a removed op, hangs on a shifted parity, dies silently of a shifted count, and finds nothing else.
worker.py --tool TOOL ...: plays compute-sanitizer. Its synccheck reports removed ops; its memcheck reports
the sound kernel itself; the other tools report nothing.

SLOW=WORD, KILLS=WORD in the environment: if WORD is an argument (a tool, a kernel), it never ends, or it
kills the heddle-mutate that started it. LOG=FILE: each worker appends "FORM LIST" to it."""
import os
import signal
import sys
import time

if os.environ.get("KILLS") in sys.argv:
    os.kill(os.getppid(), signal.SIGKILL)
if os.environ.get("SLOW") in sys.argv:
    time.sleep(1000)

if sys.argv[1] == "--tool":
    launched = sys.argv[sys.argv.index("--launch") + 1]
    found = {"synccheck": "remove" in launched, "memcheck": not launched}
    sys.exit(86 if found.get(sys.argv[2]) else 0)

if os.environ.get("LOG"):
    with open(os.environ["LOG"], "a") as log:
        print(*(sys.argv[sys.argv.index(o) + 1] for o in ("--form", "--launch")), file=log)

for mutant in sys.argv[sys.argv.index("--launch") + 1].split(","):
    op = mutant.split(":")[0]
    print("begin", mutant, flush=True)
    if op.startswith("count"):
        os._exit(1)
    outcome = {"remove": "wrong", "ptx-remove": "wrong", "parity": "hang"}.get(op, "same")
    print("end", mutant, outcome, flush=True)
    if outcome == "hang":
        os._exit(3)
