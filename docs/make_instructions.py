"""Writes docs/instructions.md and docs/layouts/*.svg from the specs, through the heddle command.

usage: make_instructions.py HEDDLE DOCS_FOLDER [--check]
--check compares with the existing page and fails when they differ."""
import collections
import json
import os
import re
import subprocess
import sys

ALL_TARGETS = []


def heddle(tool, *args):
    return subprocess.run([tool, *args], capture_output=True, text=True, check=True).stdout


def where(row):
    targets = row["targets"]
    if not targets or targets == [""]:
        return "undefined everywhere"
    first = ALL_TARGETS.index(targets[0])
    if targets == ALL_TARGETS[first:]:
        return targets[0] + " and later"
    return ", ".join(targets)


def svg_name(row, operand, selector):
    """One picture a layout, not a row: rows of the same shape and width share theirs."""
    if row["family"] in ("ldmatrix", "stmatrix"):
        move = re.sub(r"_(b6x16_p32|b4x16_p64|b8)$", "_8bit", row["row"])
        return f"{move}.svg"
    if row["family"] == "wgmma.sp":
        width = {"f16": 16, "bf16": 16, "tf32": 32}.get(row["a"], 8)
        if operand == "d":
            return f"wgmma_m64n8_d_{'16' if row['d'] == 'f16' else '32'}.svg"
        sel = f"_sel{selector}" if operand == "meta" and row["selectors"] > 1 else ""
        return f"wgmma_m64k{row['k']}_{width}bit_{operand}{sel}.svg"
    if row["family"] == "tcgen05":
        return re.sub(r"tcgen05_(ld|st)_(\w+)_x2(_(un)?pack)?", lambda m: f"tcgen05_ld_st_{m[2]}"
                      + ("_packed" if m[3] else ""), row["row"]) + ".svg"
    if row["family"] == "tcgen05.mma.sp":
        kept = "" if operand == "scale_a" else f"k{row['k']}_"
        return (f"tcgen05_m{row['m'] // row['cta_group']}_{kept}{operand}"
                + (f"_{row['scale_vec']}x" if operand == "scale_a" else "")
                + (f"_sel{selector}" if operand == "meta" and row["selectors"] > 1 else "") + ".svg")
    if operand in ("scale_a", "scale_b"):
        return f"mma_m16n8_{operand}_{row['scale_vec']}x.svg"
    width = {"f16": "16", "bf16": "16", "tf32": "32", "s4": "4", "u4": "4", "e2m1p": "4"}
    key = width.get(row["a"], "8")
    if operand == "d":
        return f"mma_m16n8_d_{'16' if row['d'] == 'f16' else '32'}.svg"
    sel = f"_sel{selector}" if operand == "meta" and row["selectors"] > 1 else ""
    return f"mma_m16n8k{row['k']}_{key}bit_{operand}{sel}.svg"


def draw(tool, row, operand, selector, pictures):
    name = svg_name(row, operand, selector)
    if name not in pictures:
        pictures[name] = heddle(tool, "layout", row["row"], "--operand", operand, "--selector",
                                str(selector), "--format", "svg")
    return name


def links(tool, row, operands, pictures):
    """Metadata has a picture a selector."""
    out = []
    for operand in operands:
        selectors = range(row["selectors"]) if operand == "meta" else [0]
        for selector in selectors:
            label = f"meta {selector}" if operand == "meta" else operand
            out.append(f"[{label}](layouts/{draw(tool, row, operand, selector, pictures)})")
    return " ".join(out)


def scale_operands(row, operands):
    return operands if row["scale_vec"] else ()


def table(out, head, rows):
    out.append("| " + " | ".join(head) + " |")
    out.append("|" + " --- |" * len(head))
    out.extend("| " + " | ".join(r) + " |" for r in rows)
    out.append("")


def mma_section(tool, out, rows, pictures):
    out.append("## mma.sp and mma.sp::ordered_metadata\n")
    out.append("One warp, registers only. Emit the ordered form: the plain one is emulated from "
               "sm_100 on. Selectors 0 to n-1.\n")
    lines = []
    for row in rows:
        lines.append([f"`{row['ptx']}`", str(row["selectors"]), where(row), row["min_ptx"],
                      row["layout_verified_by"], links(tool, row, ("a", "b", "d", "meta", *scale_operands(row, ("scale_a", "scale_b"))),
                            pictures)])
    table(out, ["instruction", "selectors", "targets", "PTX", "layout verified by", "layouts"], lines)


def grouped(rows, pattern, replacement):
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault(re.sub(pattern, replacement, row["ptx"]), []).append(row)
    return groups


def of_registers(members):
    """The row of N = 8 with A in registers."""
    return [r for r in members if r["n"] == 8 and "_rs_" in r["row"]][0]


def wgmma_section(tool, out, rows, pictures):
    out.append("## wgmma.mma_async.sp\n")
    out.append("One warpgroup: A from shared memory or registers, B from shared memory, D in registers. "
               "Each warp holds 16 rows: its part of A, D and of the metadata is the picture of mma.sp of "
               "the same width. D repeats every 8 columns, four registers (16-bit: two) a step. A and B in "
               "shared memory: `heddle layout ROW --operand b --swizzle 64`.\n")
    lines = []
    for text, members in grouped(rows, r"m64n\d+k", "m64nNk").items():
        ns = sorted({r["n"] for r in members})
        steps = {b - a for a, b in zip(ns, ns[1:])}
        shown = f"{ns[0]} to {ns[-1]}, step {steps.pop()}" if len(steps) == 1 else ", ".join(map(str, ns))
        row = members[0]
        lines.append([f"`{text}`", shown, str(row["selectors"]), where(row), row["min_ptx"],
                      row["layout_verified_by"], links(tool, of_registers(members), ("a", "d", "meta"), pictures)])
    table(out, ["instruction", "N", "selectors", "targets", "PTX", "layout verified by", "layouts"], lines)


def tcgen05_section(tool, out, rows, pictures):
    out.append("## tcgen05.mma.sp\n")
    out.append("One thread issues it, for one CTA or a pair. M, N and the element types stand in the "
               "instruction descriptor (`heddle descriptor tcgen05_idesc`). D and A in tensor memory: lane "
               "= row of the CTA's 128, or (64 rows) 16 rows in each 32 lanes; pictures of the CTA's "
               "first rows are of M = 128. Verified by two transcriptions. Kernels are made of rows of 128 rows "
               "a CTA with A by descriptor (`heddle list --format json` says `generated`).\n")
    lines = []
    for text, members in grouped(rows, "", "").items():
        types = sorted({f"{r['a']}×{r['b']}→{r['d']}" for r in members})
        shown = ", ".join(types) if len(types) <= 4 else f"{len(types)} type triples"
        ms = sorted({r["m"] for r in members})
        row = [r for r in members if r["m"] == 128][0]
        lines.append([f"`{text}`", shown, ", ".join(map(str, ms)), str(members[0]["k"]),
                      where(members[0]), members[0]["min_ptx"],
                      links(tool, row, ("meta", *scale_operands(row, ("scale_a",))), pictures)])
    table(out, ["instruction", "types", "M", "K", "targets", "PTX", "layouts"], lines)


def move_section(tool, out, title, rows, pictures):
    out.append(f"## {title}\n")
    out.append("Row i of the picture is the 16 bytes at the address that lane i gives. 6- and 4-bit "
               "formats fill bytes, so their pictures are those of 8 bits.\n")
    lines = [[f"`{r['ptx']}`", where(r), r["min_ptx"], r["layout_verified_by"],
              f"[d](layouts/{draw(tool, r, 'd', 0, pictures)})"] for r in rows]
    table(out, ["instruction", "targets", "PTX", "layout verified by", "layout"], lines)


def plain_section(out, title, rows, links={}):
    out.append(f"## {title}\n")
    lines, head = [], ["instruction", "effects", "targets", "PTX", "source"]
    for row in rows:
        effects = "; ".join(f"{e['access']} {e['space']} ({e['proxy']}; done: {e['done']}): {e['what']}"
                            for e in row["effects"])
        lines.append([f"`{row['ptx']}`", effects, where(row), row["min_ptx"], row["source"]])
        if links:
            lines[-1].append(links.get(row["ptx"], ""))
    table(out, head + ["layout"] if links else head, lines)


def tensor_memory_section(tool, out, rows, pictures):
    """Pictures of .x2: a larger count goes on to the right."""
    drawn = {r["row"]: r for r in rows}
    links = {}
    for row in rows:
        name = re.sub(r"_x\d+", "_x2", row["row"])
        if row["m"]:
            links[row["ptx"]] = f"[x2](layouts/{draw(tool, drawn[name], 'd', 0, pictures)})"
    plain_section(out, "Tensor memory", rows, links)


def make(tool):
    rows, pictures = json.loads(heddle(tool, "list", "--format", "json")), {}
    seen = {t for r in rows for t in r["targets"] if t}
    order = re.compile(r"sm_(\d+)(.?)")
    ALL_TARGETS.extend(sorted(seen, key=lambda t: (int(order.match(t)[1]), order.match(t)[2])))
    families = collections.OrderedDict()
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    out = ["# Instructions\n",
           "Made from specs/ by `docs/make_instructions.py`; do not edit. "
           f"{len(rows)} rows. `heddle layout ROW` prints every layout as JSON, table or picture, "
           "`heddle legal` checks an instruction on a target.\n"]
    mma_section(tool, out, families["mma.sp"], pictures)
    wgmma_section(tool, out, families["wgmma.sp"], pictures)
    tcgen05_section(tool, out, families["tcgen05.mma.sp"], pictures)
    for family in ("ldmatrix", "stmatrix"):
        move_section(tool, out, family, families[family], pictures)
    plain_section(out, "Copies", families["copy"])
    plain_section(out, "Barriers, fences, groups", families["sync"])
    tensor_memory_section(tool, out, families["tcgen05"], pictures)
    out.append("## Descriptors\n\n```\n" + heddle(tool, "descriptor") + "```")
    files = {"instructions.md": "\n".join(out) + "\n"}
    files.update({"layouts/" + name: text for name, text in pictures.items()})
    return files


def main():
    tool, folder = sys.argv[1:3]
    files, stale = make(tool), []
    for name, text in files.items():
        path = os.path.join(folder, name)
        if "--check" in sys.argv:
            if not os.path.exists(path) or open(path).read() != text:
                stale.append(name)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(text)
    for name in stale:
        print(f"stale: {name}")
    print(f"files={len(files)} stale={len(stale)}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
