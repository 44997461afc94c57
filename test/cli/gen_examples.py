"""gen_examples.py HEDDLE EXAMPLES OUT: `heddle gen` of every example, whole: with all of its buckets, where
`heddle run --small` compiles the bucket of one size."""
import pathlib
import subprocess
import sys

heddle, examples, out = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
n, failed = 0, 0
for path in sorted(examples.glob("*.heddle")):
    functions = path.with_suffix(".ll")
    epilogue = ["--epilogue", functions] if functions.exists() else []
    done = subprocess.run([heddle, "gen", path, *epilogue, "--ptxas", "none", "-o", out], capture_output=True, text=True)
    n += 1
    if done.returncode != 0:
        failed += 1
        print(f"{path.name}: {done.stderr}")
print(f"generated={n} failed={failed}")
sys.exit(failed != 0)
