"""plot.py SAID EACH.csv MODEL.svg: compares what `heddle tune evaluate --plot` prints and draws with --schedules."""
import csv
import math
import re
import sys

rows = list(csv.DictReader(open(sys.argv[2])))
points = [(re.search(r" a=(\w+) ", row["product"])[1], float(row["us"]), float(row["predicted_us"])) for row in rows]
said = dict(re.findall(r"(?m)^(\w+) .* mean error ([\d.]+) %$", open(sys.argv[1]).read()))
for name in {elem for elem, _, _ in points} | {"all"}:
    errors = [abs(predicted / us - 1) for elem, us, predicted in points if name in (elem, "all")]
    mean = 100 * sum(errors) / len(errors)
    assert abs(float(said[name]) - mean) < 0.2, (name, said[name], mean)  # times are rounded to a nanosecond

text = open(sys.argv[3]).read()
frame = [float(x) for x in re.search(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="frame"', text).groups()]
lo, hi = min(min(p[1:]) for p in points), max(max(p[1:]) for p in points)
low, high = 2 ** math.floor(math.log2(lo)), 2 ** math.ceil(math.log2(hi))
xs = sorted(frame[0] + frame[2] * math.log(p[2] / low) / math.log(high / low) for p in points)
ys = sorted(frame[1] + frame[3] * (1 - math.log(p[1] / low) / math.log(high / low)) for p in points)
drawn = [(float(x), float(y)) for x, y in re.findall(r'd="M([\d.]+),([\d.]+)m', text) if float(y) > frame[1] - 1]
assert len(drawn) == len(points), (len(drawn), len(points))
off = max(abs(a - b) for wanted, k in ((xs, 0), (ys, 1)) for a, b in zip(wanted, sorted(d[k] for d in drawn)))
assert off <= 0.2, off
print(f"points={len(points)} off={off:.2f}")
