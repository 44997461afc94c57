"""check_wheel.py [--library LIBHEDDLE] [--wheels DIR]: the steps of a user, from the wheel to the first product.

Builds the wheel (with LIBHEDDLE, or with the library of the static-llvm preset, which is built), installs it into a
new virtual environment, and runs the Python code of bindings/python/README.md there. The wheel has at most 20 MB."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 20_000_000
parser = argparse.ArgumentParser()
parser.add_argument("--library")
parser.add_argument("--wheels", help="keep the wheel here")
args = parser.parse_args()


def run(*command, **more):
    done = subprocess.run(command, text=True, capture_output=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as work:
    env = os.path.join(work, "venv")
    venv.create(env, with_pip=True)
    python, wheels = os.path.join(env, "bin", "python"), args.wheels or work
    library = ["-C", f"library={os.path.abspath(args.library)}"] if args.library else []
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, *library, os.path.join(ROOT, "bindings/python"))
    wheel = max(glob.glob(os.path.join(wheels, "heddle-*.whl")), key=os.path.getmtime)
    size = os.path.getsize(wheel)
    if size > LIMIT:
        raise SystemExit(f"{wheel}: {size} bytes, at most {LIMIT}")
    run(python, "-m", "pip", "install", "-q", wheel)
    readme = open(os.path.join(ROOT, "bindings/python/README.md")).read()
    lines = re.search(r"```python\n(.*?)```", readme, re.S).group(1)
    said = run(python, "-c", lines, cwd=work)
    if not re.match(r"0 of 24576 wrong; largest error [\d.e-]+ of sum", said):
        raise SystemExit(f"the lines of the README print:\n{said}")
    print(f"{os.path.basename(wheel)}: {size} bytes\n{said}wheel=ok")
