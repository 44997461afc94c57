"""run_if_there.py MODULE FILE: runs a test file. Exit 77, with the reason, if MODULE is not installed."""
import importlib.util
import os
import sys

module, file = sys.argv[1:3]
if not importlib.util.find_spec(module):
    print(f"skipped: {module} is not installed for {sys.executable}")
    sys.exit(77)
os.execv(sys.executable, [sys.executable, file, "-v"])
