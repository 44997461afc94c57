"""lease.py HEDDLE: heddle tune lease: races, incumbents, carried code, all faults at once, several leases of one process."""
import json
import os
import subprocess
import sys
import tempfile

if sys.argv[1] == "worker":  # logs its starts and requests, and is the scripted one
    _, _, log, heddle = sys.argv
    with open(log, "a") as out:
        print("start", file=out, flush=True)
        child = subprocess.Popen([heddle, "tune", "scripted"], stdin=subprocess.PIPE)
        for line in sys.stdin:
            if line.startswith("open"):
                print(line.strip(), file=out, flush=True)
            child.stdin.write(line.encode())
            child.stdin.flush()
    os._exit(0)

HEDDLE = sys.argv[1]
PRODUCT = "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=512 n=%d k=512 k_major row_major"
SCRIPTED = HEDDLE + " tune scripted"


def lease(*options, n=16, worker=SCRIPTED):
    child = subprocess.Popen([HEDDLE, "tune", "lease", "--product", PRODUCT % n, "--worker", worker, *options],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    events = [json.loads(line) for line in child.stdout]
    assert child.wait() == 0, events
    assert events[-1] == {"event": "done"}, events[-1]
    return events


def leases(*requests):
    """Several leases of one process: their events, and the seeds of the operands that its one measuring process made."""
    with tempfile.NamedTemporaryFile() as log:
        worker = f"{sys.executable} {__file__} worker {log.name} {HEDDLE}"
        child = subprocess.Popen([HEDDLE, "tune", "lease", "--top", "8", "--worker", worker],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        found = []
        for request in requests:
            child.stdin.write(json.dumps(request) + "\n")
            found.append([])
            while found[-1][-1:] != [{"event": "done"}]:
                found[-1].append(json.loads(child.stdout.readline()))
        child.stdin.close()
        assert child.stdout.read() == "" and child.wait() == 0
        return found, open(log.name).read().split("\n")[:-1]


def only(events, kind):
    found = [e for e in events if e["event"] == kind]
    assert len(found) == 1, (kind, found)
    return found[0]


def contenders(events, role):
    return [c for c in only(events, "race")["race"]["contenders"] if c["role"] == role]


# A race has one default, equal rounds, and canaries around it. Large products run alone.
for n, mode, rounds in ((16, "interleaved", 9), (1024, "alone", 8)):
    events = lease("--top", "8", n=n)
    race = only(events, "race")["race"]
    assert race["mode"] == mode and all(len(c["rounds_us"]) == rounds for c in race["contenders"]), race
    assert len(contenders(events, "default")) == 1
    assert all(len(c["cubin"]) == 32 for c in race["contenders"])
    kinds = [e["event"] for e in events]
    assert kinds[0] == "canary" and kinds[-2] == "canary" and kinds[-3] == "race", kinds
    assert all(e["verdict"] == "ok" and e["us"] > 0 for e in events if e["event"] == "measurement")

# The incumbent is in the race. If it is the default, it counts once. An illegal one is left out and reported.
slow = contenders(lease("--top", "8"), "candidate")[-1]
events = lease("--top", "8", "--incumbent", slow["schedule"])
assert [c["schedule"] for c in contenders(events, "incumbent")] == [slow["schedule"]]
default = contenders(events, "default")[0]["schedule"]
assert not contenders(lease("--top", "8", "--incumbent", default), "incumbent")
for poison in ("tile=64x17", "family=wgmma tile=99999x16x64", "rm -rf /", "tile=64x16x64 stages=9999", ""):
    events = lease("--top", "8", "--incumbent", poison)
    assert not contenders(events, "incumbent")
    assert poison == "" or "is left out" in only(events, "note")["text"], poison  # tune.incumbent

# The same code under another build is not measured. Other code is.
events = lease("--incumbent", slow["schedule"], "--incumbent-cubin", slow["cubin"])
assert [e["event"] for e in events] == ["carried", "done"] and events[0]["cubin"] == slow["cubin"]
events = lease("--top", "8", "--incumbent", slow["schedule"], "--incumbent-cubin", slow["cubin"],
               worker=SCRIPTED + " --build other")
assert contenders(events, "incumbent")

# A fault costs only its candidate: there is still a race, or a message with the reason why not.
FAULTS = ("exit crash kill hang spin stop babble flood repeat memory scribble mute orphan nan negative wrong failed refused").split()
counts = {}
for fault in FAULTS:
    events = lease("--top", "16", "--deadline", "5" if fault == "memory" else "1", "--memory", "512", worker=f"{SCRIPTED} --faults {fault}=25")
    verdicts = [e["verdict"] for e in events if e["event"] == "measurement"]
    bad = [v for v in verdicts if v != "ok"]
    assert bad and "ok" in verdicts, (fault, verdicts)
    counts[fault] = sorted(set(bad))
    assert any(e["event"] in ("race", "failed") for e in events), fault
print(counts)
assert counts["hang"] == counts["spin"] == counts["stop"] == ["hang"], counts
assert counts["crash"] == counts["kill"] == counts["exit"] == counts["memory"] == counts["scribble"] == ["crash"], counts
assert counts["nan"] == counts["negative"] == counts["babble"] == ["failed"], counts

# Several leases have one measuring process. A product that no kernel supports does not end it.
(first, bad, second), log = leases({"product": PRODUCT % 16, "seed": 3}, {"product": "x"}, {"product": PRODUCT % 24, "seed": 4})
assert log == ["start", "open 3", "open 4"], log
assert only(bad, "failed") and len(bad) == 2, bad
for events in (first, second):
    assert contenders(events, "default") and len([e for e in events if e["event"] == "canary"]) == 2, events
