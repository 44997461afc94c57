"""Prints a Markdown table of a `heddle bench --format csv` file: each case, Heddle against the best of each
peer. usage: summary.py FILE.csv"""
import csv
import sys


def read(path):
    cases = {}
    for row in csv.reader(open(path)):
        key = (row[0], int(row[1]), int(row[2]), int(row[3]))
        name = row[14].split()[0]
        best = cases.setdefault(key, {})
        if name not in best or float(row[4]) < float(best[name][4]):
            best[name] = row
    return cases


def cell(row):
    return f"{float(row[4]):.1f}" if row else "–"


def main(path):
    print("| type | M | K | N | Heddle, µs | cuBLAS dense | cuSPARSELt best | over the best peer |"
          " sustained, TFLOP/s | tile |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (kind, m, k, n), best in read(path).items():
        ours = best["heddle"]
        peers = [float(best[p][4]) for p in ("cublas", "cusparselt") if p in best]
        gain = f"{min(peers) / float(ours[4]):.2f}×" if peers else "–"
        words = dict(w.split("=") for w in ours[14].split()[2:])
        tile = words["tile"] + (", cluster 2" if words["cluster"] == "2" else "")
        print(f"| {kind} | {m} | {k} | {n} | {cell(ours)} | {cell(best.get('cublas'))} | "
              f"{cell(best.get('cusparselt'))} | {gain} | {float(ours[9]):.0f} | {tile} |")


main(sys.argv[1])
