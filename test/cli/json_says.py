"""json_says.py EXPLAINED TEXT RUN RUN EXPLAINED: compares the JSON of explain and run with the text of explain."""
import json
import re
import sys

explained, text, *others = (open(name).read() for name in sys.argv[1:])
one = json.loads(explained)
buckets = re.findall(r"^bucket +n +(\d+) \.\. (\d*) .*: (.*)$", text, re.M)
assert [(str(b["from"]), "" if b["to"] is None else str(b["to"]), b["why"]) for b in one["buckets"]] == buckets
assert re.search(r"^schedule  (.*)$", text, re.M).group(1) == one["schedule"]
us = float(re.search(r"^predicted ([\d.]+) us", text, re.M).group(1))
assert abs(one["predicted"]["us"] - us) < 0.006, (one["predicted"], us)
binds = re.search(r"us  (.*): the bottleneck", text).group(1)
assert one["predicted"]["binds"] == binds and binds in one["predicted"]["alone_us"]
assert [v["entry"] for v in one["variants"]] == re.findall(r"^variant   (\w+):", text, re.M)
assert one["packed_a_bytes"] == int(re.search(r"^packed A  (\d+)", text, re.M).group(1))
assert one["problem"]["n"] == {"max": 65536} and one["problem"]["m"] == {"value": 1024}
for run in map(json.loads, others[:2]):
    assert run["ok"] and run["max_err"] <= run["bound"] and run["backend"] == "sim" and "tile=" in run["schedule"], run
assert json.loads(others[2])["predicted"] is None
print("ok")
