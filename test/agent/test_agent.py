#!/usr/bin/env python3
"""test_agent.py BIN: one agent and heddled: locks, busy GPUs, carried-over times, preemption, shutdown, recovery."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "service")]
import daemon  # noqa: E402

BIN = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="heddle-agent-")
CLASS = "scripted:a"


started = []  # the agents, which a test that fails leaves running


def agent(d, *words, state="s", gpu=0, options="--pace 0", heddle=None, wait=True, env=None):
    command = [os.path.join(BIN, "heddle-agent"), "--server", "unix:" + d.socket, "--scripted", "a", "--gpu", str(gpu),
               "--state", os.path.join(FOLDER, state), "--locks", os.path.join(FOLDER, "locks"), "--scripted-options", options, *words]
    if heddle:
        command += ["--heddle", heddle]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    started.append(child)
    if not wait:
        return child
    return [json.loads(line) for line in child.communicate(timeout=120)[1].splitlines() if line.startswith("{")]


def events(log, kind):
    return [e for e in log if e["event"] == kind]


def submit(d, *products, **more):
    return d.client().post("/v1/jobs", {"class": CLASS, "policy": "quick", "products": list(products), **more}).json


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def leased(d):
    return d.client().get("/v1/jobs", state="leased").json["jobs"]


def children(parent):
    """The processes that it started, from /proc."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
            found += [pid] if int(stat.read().rsplit(")", 1)[1].split()[1]) == parent else []
    return found


def figures_are_carried(d):
    """The same code under another build: the times are kept, nothing is measured. Other code: a new race."""
    key = daemon.product(m=128, n=16, k=128)
    submit(d, key)
    assert events(agent(d, "--once"), "finished")[0]["decision"] == "new"
    for n, (build, options, decision, leases) in enumerate((("b2", "--pace 0", "carried", 1), ("b3", "--pace 0 --build x", None, 2))):
        other = os.path.join(FOLDER, "heddle-" + build)
        with open(other, "w") as script:
            script.write(f"""#!/bin/sh
if [ "$1" = --build ]; then echo '{{"version": "0.1.0", "commit": "c", "sources": "{build}"}}'; else exec {BIN}/heddle "$@"; fi
""")
        os.chmod(other, 0o755)
        d.client().post("/v1/builds", {"build": build})
        finished = events(agent(d, "--once", heddle=other, options=options), "finished")
        assert len(finished) == 1, finished
        history = d.client().get("/v1/history", product=key, **{"class": CLASS, "policy": "quick"}).json
        assert len(history["races"]) == leases, history
        if decision:
            assert finished[0]["decision"] == decision, finished
            newest = history["versions"][0]
            assert newest["build"] == build and newest["origin"] == "carried" and newest["us"] == history["versions"][1]["us"]


def one_gpu_has_one_agent(d):
    first = agent(d, state="one", gpu=7, wait=False)
    time.sleep(0.5)
    second = agent(d, state="two", gpu=7, wait=False)
    third = agent(d, state="one", gpu=8, wait=False)  # the spool of another agent
    assert third.wait(20) == 4 and "journal.lock" in third.stderr.read()
    time.sleep(3.5)
    for child in (second, first):
        child.send_signal(signal.SIGTERM)
    assert '"busy"' in second.communicate(timeout=20)[1]
    assert '"busy"' not in first.communicate(timeout=20)[1]


def a_stopped_agent_gives_back(d):
    """One that works. One that is stopped before it has read the answer gives the lease back at its next start."""
    submit(d, daemon.product(m=64, n=128, k=128), policy="default")
    child = agent(d, state="stop", options="--pace 200", wait=False)
    wait_for(lambda: leased(d) and children(child.pid))
    child.send_signal(signal.SIGTERM)
    log = child.communicate(timeout=60)[1]
    assert '"why":"shutdown"' in log, log
    job = d.client().get("/v1/jobs", state="queued").json["jobs"][0]
    assert job["attempt"] == 0, job
    assert events(agent(d, "--once", state="stop"), "finished")


def a_killed_agent_is_recovered(d):
    """After a restart it returns the job at once: nobody waits for the end of the lease. Its child processes are gone."""
    submit(d, daemon.product(m=64, n=256, k=128), policy="default")
    child = agent(d, state="kill", options="--pace 200 --name recovered", wait=False)
    wait_for(lambda: leased(d))
    time.sleep(0.7)
    begin = time.monotonic()
    child.kill()
    child.wait()
    log = agent(d, "--leases", "1", state="kill")
    assert events(log, "released")[0]["why"] == "fault" and events(log, "finished"), log
    assert time.monotonic() - begin < 15
    left = subprocess.run(["pgrep", "-f", "--", "--name recovered"], capture_output=True, text=True).stdout
    assert not left, left


def what_an_agent_hears_too_late_is_dropped(d):
    """The agent is stopped for longer than its lease while the tuner goes on measuring."""
    submit(d, daemon.product(m=64, n=384, k=128), policy="default")
    child = agent(d, "--leases", "1", state="late", options="--pace 50", wait=False)
    wait_for(lambda: leased(d))
    lease = leased(d)[0]["lease"]
    measured = "SELECT end_ms FROM measurement WHERE lease = ?"
    with sqlite3.connect(d.store[len("sqlite:"):]) as db:
        wait_for(lambda: db.execute(measured, [lease]).fetchone())
    time.sleep(0.5)
    child.send_signal(signal.SIGSTOP)
    wait_for(lambda: not leased(d))
    time.sleep(0.5)
    child.send_signal(signal.SIGCONT)
    log = [json.loads(line) for line in child.communicate(timeout=120)[1].splitlines() if line.startswith("{")]
    with sqlite3.connect(d.store[len("sqlite:"):]) as db:
        until, ends = db.execute("SELECT until - granted FROM lease WHERE lease = ?", [lease]).fetchone()[0], [
            end for end, in db.execute(measured, [lease])]
    assert ends and max(ends) <= until, (ends, until)
    assert events(log, "lost")[0]["why"] == "time", log
    assert events(agent(d, "--leases", "1", state="late"), "finished")


def an_urgent_job_comes_first(d):
    submit(d, daemon.product(m=64, n=512, k=128), policy="default", priority=1)
    child = agent(d, "--leases", "3", state="urgent", options="--pace 60", wait=False)
    wait_for(lambda: leased(d))
    submit(d, daemon.product(m=64, n=8, k=64), priority=9)
    log = [json.loads(line) for line in child.communicate(timeout=120)[1].splitlines() if line.startswith("{")]
    assert [e["why"] for e in events(log, "released")] == ["preempted"], log
    done = [e["product"] for e in events(log, "leased")]
    assert [("n=8 " in p) for p in done] == [False, True, False], done


def a_tuner_is_kept(d):
    """Leases of one policy have one tuner, which ends when there is no work: then nothing uses the GPU."""
    heddle, starts = os.path.join(FOLDER, "heddle-kept"), os.path.join(FOLDER, "starts")
    with open(heddle, "w") as script:
        script.write(f"""#!/bin/sh
[ "$2" = lease ] && echo "$@" >> {starts}
exec {os.path.join(BIN, "heddle")} "$@"
""")
    os.chmod(heddle, 0o755)
    for n, policy in enumerate(("quick", "quick", "default", "quick", "quick")):
        submit(d, daemon.product(m=64, n=8 * n + 8, k=448), policy=policy)
    child = agent(d, state="kept", heddle=heddle, wait=False)
    wait_for(lambda: not leased(d) and not d.client().get("/v1/jobs", state="queued").json["jobs"])
    policies = ["--finalists" in line for line in open(starts)]
    assert policies == [True, False, True], policies
    wait_for(lambda: not children(child.pid), seconds=5)
    assert child.poll() is None
    child.terminate()
    log = [json.loads(line) for line in child.communicate(timeout=20)[1].splitlines() if line.startswith("{")]
    assert [e["state"] for e in events(log, "finished")] == 5 * ["done"], log


def a_large_product_comes_first(d):
    """`heddle submit` queues the products of a grid by their work, so that the longest job is not the last one."""
    grid = os.path.join(FOLDER, "grid")
    with open(grid, "w") as out:
        out.writelines(f"bf16 64 {k} {n}\n" for k, n in ((64, 16), (64, 48), (192, 24)))
    subprocess.run([os.path.join(BIN, "heddle"), "submit", "--server", "unix:" + d.socket, "--class", CLASS, "--policy", "quick", "--grid",
                    grid], check=True, stdout=subprocess.DEVNULL)
    log = agent(d, "--leases", "3", state="large")
    assert [e["product"].split("n=")[1].split()[0] for e in events(log, "leased")] == ["24", "48", "16"], log


def scripted_figures_stay_apart(d):
    log = agent(d, "--once", state="class")
    assert events(log, "up")[0]["class"] == CLASS
    gpus = d.client().get("/v1/fleet").json["gpus"]
    assert all(g["scripted"] for g in gpus), gpus


def an_unknown_policy_fails_its_job(d):
    submit(d, daemon.product(m=192, n=8, k=64), policy="never-heard-of")
    assert events(agent(d, "--once", state="policy"), "finished")[0]["state"] == "failed"


def a_hostile_server_is_no_harm(d):
    """An incumbent that is no schedule of this product is left out and reported, and the race continues."""
    key = daemon.product(m=320, n=16, k=128)
    client = d.client()
    submit(d, key)
    lease = client.post("/v1/leases", daemon.claim("r" * 16, device="evil", cls=CLASS, scripted=True)).json
    poison = "tile=99999x7 stages=1 warps=3x3"
    body = daemon.race(default=10, best=5, schedule=poison, first="tile=64x16x64")
    assert client.post(f"/v1/leases/{lease['lease']}/finish", body).status == 200
    assert submit(d, key, again=True)["created"] == 1
    log = agent(d, "--once", state="hostile")
    assert events(log, "finished"), log
    choice = client.get("/v1/choice", product=key, policy="quick", **{"class": CLASS}).json["choice"]
    assert choice["schedule"] != poison, choice


def what_is_missed_most_is_known(d):
    """A compiler with --server reports its lookups; the dashboard lists the misses."""
    def explain(n, cls=("--class", CLASS)):
        command = [os.path.join(BIN, "heddle"), "explain", "-m", "4096", "-n", str(n), "-k", "4096", "--type", "bf16", "--server",
                   "unix:" + d.socket, *cls]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, XDG_CACHE_HOME=FOLDER))

    def missed():
        page = d.client().get("/").body.decode().split("Looked up, without a choice", 1)[1]
        return [re.sub("<[^>]*>", " ", row).split() for row in page.split("<tr>")[2:]]
    assert not missed()
    for n in (48, 48, 80):
        explain(n)
    explain(48, ())  # without a class the GPUs are unknown
    rows = missed()
    assert [(" ".join(r).split("n=")[1].split()[0], r[-2:]) for r in rows] == [("48", ["2", "2"]), ("80", ["1", "1"])], rows
    d.stop(signal.SIGKILL)  # without a server to report to, the local copy is still used
    explain(48)
    d.start()


def main():
    d = daemon.Daemon(program=os.path.join(BIN, "heddled"), lease_ms=3000)
    only = sys.argv[2:]
    tests = [figures_are_carried, one_gpu_has_one_agent, a_stopped_agent_gives_back, a_killed_agent_is_recovered,
             what_an_agent_hears_too_late_is_dropped,
             an_urgent_job_comes_first, a_tuner_is_kept, a_large_product_comes_first, scripted_figures_stay_apart, an_unknown_policy_fails_its_job, a_hostile_server_is_no_harm,
             what_is_missed_most_is_known]
    try:
        for test in (t for t in tests if not only or t.__name__ in only):
            begin = time.monotonic()
            test(d)
            print(f"ok {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    finally:
        for child in started:
            if child.poll() is None:
                child.terminate()  # it ends its tuner
        d.stop()
    subprocess.run(["rm", "-rf", FOLDER], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
