"""explain_dense.py HEDDLE BENCH.csv FOLDER [EVERY]: explain's estimate of a dense library divided by cuBLAS' time.

Prints the number of products with cuBLAS in BENCH.csv (every EVERY-th is evaluated), and the median, minimum and
maximum ratio."""

import csv
import re
import statistics
import subprocess
import sys

TEXT = """module version=1 level=problem sync=none

kernel {{name = "k", target = "sm_90a"}} {{
  %m: i32 = size {{dim = m, value = {m}}}
  %n: i32 = size {{dim = n, value = {n}}}
  %k: i32 = size {{dim = k, value = {k}}}
  %a: matrix<{type}> = sparse %m, %k {{type = {type}}}
  %b: matrix<{type}> = dense %k, %n {{type = {type}, operand = b, order = k_major}}
  %x: matrix<{acc}> = matmul %a, %b {{acc = {acc}}}
  store %x {{type = {d_type}, order = row_major}}
}}
"""


def dense_times(path):
    best = {}
    for row in csv.DictReader(open(path)):
        if row["contender"].startswith("cublas") and row["verdict"] == "ok":
            key = tuple(row[name] for name in ("type", "d_type", "m", "n", "k"))
            best[key] = min(float(row["us"]), best.get(key, float("inf")))
    return best


def main(heddle, bench, folder, every="1"):
    ratios = []
    best = dense_times(bench)
    for key in sorted(best)[:: int(every)]:
        values = dict(zip(("type", "d_type", "m", "n", "k"), key))
        values["acc"] = "s32" if values["type"] == "s8" else "f32"
        problem = folder + "/dense.heddle"
        with open(problem, "w") as file:
            file.write(TEXT.format(**values))
        out = subprocess.run([heddle, "explain", problem, "--ptxas", "none", "--no-tuned"],
                             check=True, capture_output=True, text=True).stdout
        ratios.append(float(re.search(r"^dense +about ([\d.]+) us", out, re.M)[1]) / best[key])
    print("%d products, %d asked: median %.2f, least %.2f, largest %.2f"
          % (len(best), len(ratios), statistics.median(ratios), min(ratios), max(ratios)))


main(*sys.argv[1:])
