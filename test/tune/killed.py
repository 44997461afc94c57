"""killed.py [SIGNAL:]LINES COMMAND...: runs the command and sends it the signal (default SIGKILL) after LINES lines of
its output. With SIGPIPE it stops reading."""
import signal
import subprocess
import sys

name, lines = ("SIGKILL:" + sys.argv[1]).split(":")[-2:]
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
for _ in range(int(lines)):
    child.stdout.readline()
if name == "SIGPIPE":
    child.stdout.close()
    rest = 0
else:
    child.send_signal(signal.Signals[name])
    rest = len(child.communicate()[0].splitlines())
print(f"killed={-child.wait()} rest={rest}")
