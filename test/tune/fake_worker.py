"""fake_worker.py [WORD=VALUE...]: a measuring process of `heddle tune` without a device.

The times are a fixed function of the text of the schedule: best at 128 x 128 with 4 stages, plus a small
amount that depends on every key. Words inject faults, each with a part of the text of the affected schedules:
  crash=TEXT hang=TEXT failed=TEXT wrong=TEXT refused=TEXT
  dead=1        every worker exits while it starts
  broken=TEXT   answers nonsense
  alone=TEXT    faster by a tenth when it runs alone (it saves energy); all others are slower by a tenth
  tired=TEXT    crashes when it runs alone
  zero=TEXT     has no time when it runs alone
  lost=1        the final gets a nonsense answer
  second=FACTOR the second run alone takes FACTOR times the first
  log=FILE      what runs alone is appended to FILE
"""
import re
import sys
import time
import zlib

plan = dict(word.split("=", 1) for word in sys.argv[1:])
ran_alone = []


def befalls(fault, schedule):
    return fault in plan and plan[fault].replace(":", "=") in schedule.split()


def seconds(schedule):
    m, n = map(int, re.search(r"tile=(\d+)x(\d+)", schedule).groups())
    stages = int(re.search(r"stages=(\d+)", schedule).group(1))
    off = abs(m - 128) / 128 + abs(n - 128) / 128 + abs(stages - 4) / 16
    return 1e-5 * (1 + off + zlib.crc32(schedule.encode()) % 1000 * 1e-5)


def measure(schedule):
    if befalls("crash", schedule):
        sys.exit(7)
    if befalls("hang", schedule):
        time.sleep(600)
    for fault in ("failed", "wrong", "refused"):
        if befalls(fault, schedule):
            return f"{fault} injected"
    if befalls("broken", schedule):
        return "ok fast"
    s = seconds(schedule)
    return f"ok {s:.9g} {s * .99:.9g} {s * 1.01:.9g} 0.001 300 1700"


def alone(schedule):
    if befalls("tired", schedule):
        sys.exit(8)
    factor = 0.9 if befalls("alone", schedule) else 1.1
    if schedule in ran_alone:
        factor *= float(plan.get("second", 1))
    if befalls("zero", schedule):
        factor = 0
    ran_alone.append(schedule)
    if "log" in plan:
        print(schedule, file=open(plan["log"], "a"))
    return f"{measure(schedule)} {seconds(schedule) * factor:.9g}"


for line in sys.stdin:
    verb, _, text = line.rstrip("\n").partition(" ")
    if verb == "product":
        answer = "product"
    elif verb == "open":
        if "dead" in plan:
            sys.exit(9)
        answer = "ready 700 12.8 Fake H200"
    elif verb == "compile":
        answer = "compiled"
    elif verb == "measure":
        answer = measure(text)
    elif verb == "alone":
        answer = alone(text)
    elif verb == "final":
        times = [seconds(s) for s in text.split("\t")[1:]]
        answer = "lost" if "lost" in plan else "final" + "".join(f" {t:.9g} {t * .99:.9g} {t * 1.01:.9g}" for t in times)
    print(answer, flush=True)
