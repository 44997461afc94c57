"""run_torch.py --out DIR [PART...] [--seconds S] [--OPTION...]: runs the parts in sequence, each in its own process;
prints a table at the end. S: seconds of each part, instead of its own. Other options are those of the parts (common.py)."""
import argparse
import json
import os
import subprocess
import sys
import time

SECONDS = {"llama": 150, "gated": 200, "overhead": 10, "checks": 110, "cases": 75, "hostile": 45, "device": 25,
           "training": 40,
           "experts": 30, "overlap": 60}
parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.add_argument("--seconds", type=int)
parser.add_argument("parts", nargs="*", default=[])
args, options = parser.parse_known_args()
here, failed = os.path.dirname(os.path.abspath(__file__)), 0
lines = []
for part in args.parts or SECONDS:
    seconds = args.seconds or SECONDS[part]
    start, log = time.time(), os.path.join(args.out, part + ".txt")
    command = [sys.executable, os.path.join(here, f"part_{part}.py"), "--seconds", str(seconds), "--json",
               os.path.join(args.out, part + ".json"), *options]
    try:  # a part limits its own time; this timeout is for one that hangs
        with open(log, "w") as stream:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, timeout=2 * seconds + 60).returncode
    except subprocess.TimeoutExpired:
        code = "timeout"
    text = open(log).read()
    failed += code != 0
    print(f"== {part} (exit {code}, {time.time() - start:.0f} s)\n{text[-3500:]}", flush=True)
    last = text.strip().splitlines()[-1:] or ["(no output)"]
    lines.append(f"{part:9} exit {code}, {time.time() - start:3.0f} s: {last[0]}")
print("\n== summary\n" + "\n".join(lines))
json.dump(lines, open(os.path.join(args.out, "summary.json"), "w"))
sys.exit(failed > 0)
