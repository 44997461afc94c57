"""feed.py HEAD COMMAND...: feeds a file, then 64 MiB of zeros, to a command that must not read them all."""
import subprocess
import sys

child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
try:
    with child.stdin as pipe, open(sys.argv[1], "rb") as head:
        pipe.write(head.read())
        for _ in range(64):
            pipe.write(bytes(1 << 20))
    print("all was taken", file=sys.stderr)
except BrokenPipeError:
    pass
sys.exit(child.wait())
