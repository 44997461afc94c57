"""A timeline of heddle-sim: slices of a track do not overlap, asynchronous work completes, and counts equal the run's.
timeline.py TRACE.json REPORT KINDS..."""
import collections
import re
import sys

import perfetto

events = perfetto.read(sys.argv[1])
said = {name: int(n) for name, n in re.findall(r"(instructions|async)=(\d+)", open(sys.argv[2]).read())}
tracks, flights, named = collections.defaultdict(list), {}, set()
landed = 0
for e in events:
    track = e["pid"], e["tid"]
    if e["ph"] == "M":
        named.add((e["name"], *track))
    elif e["ph"] == "X":
        tracks[track].append(e)
    elif e["ph"] == "b":
        assert e["id"] not in flights, e
        flights[e["id"]] = e
    else:
        begun = flights.pop(e["id"])
        assert begun["ts"] <= e["ts"] and begun["name"] == e["name"] and begun["pid"] == e["pid"], (begun, e)
        landed += 1
for track, slices in tracks.items():
    assert ("thread_name", *track) in named, track
    for one, two in zip(slices, slices[1:]):
        assert one["dur"] > 0 and one["ts"] + one["dur"] <= two["ts"] and one["name"] != two["name"], (one, two)
        assert one["name"] != "wait" or one["ts"] + one["dur"] == two["ts"], (one, two)  # a wait is contiguous
    assert sum(s["args"]["instructions"] for s in slices) > 0
every = [s for slices in tracks.values() for s in slices]
assert sum(s["args"]["instructions"] for s in every) == said["instructions"], said
assert landed == said["async"], (landed, said)
kinds = {s["name"] for s in every} | {e["name"] for e in events if e["ph"] == "b"}
assert kinds == set(sys.argv[3:]), kinds
waits = [s for s in every if s["name"] == "wait"]
print("tracks", len(tracks), "in flight", len(flights), "waits that last:", sum(s["dur"] > s["args"]["instructions"] for s in waits) > 0)
