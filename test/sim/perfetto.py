"""perfetto.py TRACE.json: reads a trace in JSON format as strictly as Perfetto's importer requires.

Each event has the keys of its phase, with their types, and no other. Process and thread 0 are reserved
(google/perfetto, issue 394 and pull request 2278); numbers of more than 32 bits collapse (issue 522). A thread belongs
to one process; both have a name, and the name precedes the events of the track. Complete events (X) of a thread are
nested or consecutive, since a slice that overlaps another is dropped. Nestable asynchronous events (b, e) of a
category, process and id begin once and end once, under one name, in this order."""
import collections
import json
import sys

COMMON = {"ph": str, "pid": int, "tid": int, "name": str}
PHASES = {"M": {"args": dict}, "X": {"ts": int, "dur": int, "args": dict},
          "b": {"ts": int, "id": int, "cat": str, "args": dict}, "e": {"ts": int, "id": int, "cat": str, "args": dict}}
MOST_TS = 2 ** 53  # the largest integer that a JSON number holds exactly


def check_event(e):
    keys = {**COMMON, **PHASES[e["ph"]]}
    assert set(e) == set(keys), f"keys of {e}"
    for key, kind in keys.items():
        assert type(e[key]) is kind, f"{key} of {e}"
        assert kind is not int or 0 <= e[key] < MOST_TS, f"{key} of {e}"
    assert 0 < e["pid"] < 2 ** 31 and 0 < e["tid"] < 2 ** 31, f"the idle thread, or no thread's number: {e}"
    assert e["name"] and (e["ph"] != "X" or e["dur"] > 0), f"nothing to see: {e}"
    if e["ph"] == "M":
        assert e["name"] in ("process_name", "thread_name") and type(e["args"]["name"]) is str, e


def check_names(events):
    processes, threads = {}, {}
    for e in events:
        if e["ph"] != "M":
            assert e["pid"] in processes and threads.get(e["tid"], (0,))[0] == e["pid"], f"a track without a name: {e}"
        elif e["name"] == "process_name":
            assert e["pid"] not in processes, f"two names of a process: {e}"
            processes[e["pid"]] = e["args"]["name"]
        else:
            assert e["tid"] not in threads, f"a thread of two processes, or names: {e}"
            threads[e["tid"]] = e["pid"], e["args"]["name"]
    assert len(set(processes.values())) == len(processes) and len(set(threads.values())) == len(threads), "names twice"


def check_nesting(events):
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["tid"]].append((e["ts"], -e["dur"]))
    for tid, slices in tracks.items():
        ends = []
        for ts, less in sorted(slices):
            while ends and ends[-1] <= ts:
                ends.pop()
            assert not ends or ts - less <= ends[-1], f"slices overlap in thread {tid} at {ts}"
            ends.append(ts - less)


def check_flights(events):
    begun, done = {}, set()
    for e in sorted((e for e in events if e["ph"] in "be"), key=lambda e: e["ts"]):  # stable, like the importer's
        key = e["cat"], e["pid"], e["id"]
        if e["ph"] == "b":
            assert key not in begun and key not in done, f"begins twice: {e}"
            begun[key] = e["name"]
        else:
            assert begun.pop(key, None) == e["name"], f"ends what did not begin: {e}"
            done.add(key)


def read(path):
    """The events, or an AssertionError that names what the importer would drop."""
    def no_nan(text):
        raise AssertionError(f"{text} is no JSON")
    trace = json.load(open(path), parse_constant=no_nan)
    assert list(trace) == ["traceEvents"], list(trace)
    for e in trace["traceEvents"]:
        check_event(e)
    for check in (check_names, check_nesting, check_flights):
        check(trace["traceEvents"])
    return trace["traceEvents"]


if __name__ == "__main__":
    try:
        counts = collections.Counter(e["ph"] for e in read(sys.argv[1]))
    except AssertionError as e:
        sys.exit(str(e))
    print(" ".join(f"{phase}={counts[phase]}" for phase in PHASES))
