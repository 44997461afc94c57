"""together.py ROUNDS N FROM TO COMMAND...: in each round, TO becomes a copy of FROM and N copies of the command start
at once. Fails if one of them does."""
import shutil
import subprocess
import sys

for _ in range(int(sys.argv[1])):
    shutil.copy(sys.argv[3], sys.argv[4])
    children = [subprocess.Popen(sys.argv[5:]) for _ in range(int(sys.argv[2]))]
    if max(child.wait() for child in children):
        sys.exit(1)
