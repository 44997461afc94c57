"""check_circles.py [--injected] FOLDER: finds files of lib/ that depend on each other in a cycle.

FOLDER has the archives of lib/. An object with an undefined symbol uses the object that defines it; a cycle is a
strongly connected component of that graph. Two files that need each other can only be read and tested together: what
both need belongs in a third. Only recursion that cannot be avoided remains, and is listed in ALLOWED with its reason.
--injected adds a use to a graph without cycles, and one to an allowed cycle, and expects both to be found."""
import collections
import glob
import os
import re
import subprocess
import sys

# An op with a region emits the region through the table of lowerings, which contains that op.
ALLOWED = [{"emit_kernel", "emit_partial", "emit_region"}]


def uses(folder):
    """{object: {object that defines what it uses: the symbol}}"""
    archives = sorted(glob.glob(os.path.join(folder, "libhd*.a")))
    text = subprocess.run(["nm", "-A", "-g", *archives], check=True, text=True, capture_output=True).stdout
    rows = re.findall(r"^[^:]*:(\w+)\.\w+\.o:.* (\w) (\w+)$", text, re.M)
    home = {symbol: name for name, kind, symbol in rows if kind != "U"}
    graph = {name: {} for name in home.values()}
    for name, kind, symbol in rows:
        if kind == "U" and home.get(symbol, name) != name:
            graph.setdefault(name, {}).setdefault(home[symbol], symbol)
    return graph


def circles(graph):
    """Strongly connected components with more than one node: nodes that reach each other."""
    def reach(edges, start, inside):
        seen, todo = {start}, [start]
        while todo:
            new = set(edges.get(todo.pop(), ())) & inside - seen
            seen |= new
            todo += new
        return seen
    back = collections.defaultdict(set)
    for name, used in graph.items():
        for other in used:
            back[other].add(name)
    left = set(graph)
    while left:
        start = min(left)
        component = reach(graph, start, left) & reach(back, start, left)
        left -= component
        if len(component) > 1:
            yield component


def breaches(graph):
    for component in circles(graph):
        if component not in ALLOWED:
            yield f"a circle of {len(component)} files: " + ", ".join(sorted(component))
            for name in sorted(component):
                yield from (f"  {name} uses {symbol} of {other}" for other, symbol in sorted(graph[name].items())
                            if other in component)


def injected(graph):
    """The messages for an upward use and for a larger cycle."""
    for use, by in (("verify_attrs", "verify"), ("emit_scalar", "emit_region")):
        graph[use][by] = "injected"
        found = list(breaches(graph))
        del graph[use][by]
        if not any(f"{use} uses injected of {by}" in line for line in found):
            yield f"not seen: {use} uses {by}"


graph = uses(sys.argv[-1])
found = list(injected(graph) if sys.argv[1] == "--injected" else breaches(graph))
print("\n".join(found))
print(f"files={len(graph)} breaches={len(found)}")
sys.exit(1 if found or not graph else 0)
