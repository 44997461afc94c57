"""killed.py LINES COMMAND...: runs it, kills it with SIGKILL after so many lines of its output."""
import signal
import subprocess
import sys

child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
for _ in range(int(sys.argv[1])):
    child.stdout.readline()
child.send_signal(signal.SIGKILL)
print(f"killed={-child.wait()}")
