"""heddle legal compared with ptxas, cell by cell: candidate x selector x target x PTX version.

usage: ptxas_product.py HEDDLE PTXAS [--full[=TARGET,...] | --smoke] [--inject]
ptxas only parses (virtual architectures), a thousand instructions per run. A cell where the two differ
must be in DISAGREEMENTS with its reason. --inject negates one verdict: the run must then fail."""
import collections
import os
import re
import subprocess
import sys
import tempfile

import candidates

TARGETS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100",
           "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f",
           "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"]
VERSIONS = ["6.4", "6.5", "7.0", "7.1", "7.3", "7.4", "7.5", "7.7", "7.8", "8.0", "8.1", "8.2", "8.3",
            "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"]
# In CI: both sides of each boundary of the instructions that Heddle emits.
QUICK = {"sm_80": ["7.0", "7.1"], "sm_89": ["8.3", "8.4"], "sm_90a": ["8.1", "8.2", "8.5"],
         "sm_100a": ["8.7", "8.8"], "sm_120a": ["8.7", "8.8"], "sm_121f": ["9.0"]}

# Where the text of the ISA and ptxas differ: which of the two heddle follows, and why: (instruction,
# selectors, targets, reason). A cell that heddle calls undefined must be listed here.
DISAGREEMENTS = [
    (r"mma\.sp(::ordered_metadata)?\.sync\.aligned\.m16n8k32\.row\.col\.f32\.f16\.f16\.f32", (2, 3),
     r".*", "the ISA defines selectors 0 and 1, ptxas takes 2 and 3: undefined"),
    (r"mma\.sp::ordered_metadata\.sync\.aligned\.m16n8k64\.row\.col\.kind::f8f6f4\.f32\.e[45]m[23]"
     r"\.e[45]m[23]\.f32", None, r"sm_1[01].[af]",
     "the ISA asks sm_120a for .kind, ptxas takes fp8 with f32 on sm_10x and sm_110: undefined"),
    (r"mma\.sp::ordered_metadata\.sync\.aligned\.m16n8k64\.row\.col\.f16\.e[45]m[23]\.e[45]m[23]\.f16",
     None, r"sm_12.[af]",
     "the ISA's target notes name fp8 with f16 accumulators, its syntax has no such form: undefined"),
    (r"tcgen05\.mma\.sp.*kind::mxf(4|8f6f4)\.block_scale(\.ashift|\.collector.*)?", None, r"sm_100a",
     "the ISA says PTX 8.6 for a default block size, ptxas asks 8.8: legal from 8.8"),
    (r"mma\.sp::ordered_metadata\..*\.kind::(mxf8f6f4|mxf4|mxf4nvf4|f16|tf32|i8)\.f(16|32)\..*", None,
     r"sm_1.*", "a .kind of scaled or tcgen05 instructions on plain fp8 mma.sp: undefined"),
    (r"fence\.(acquire|release)\.(cta|cluster|gpu|sys)", None, r".*",
     "the ISA has .acquire and .release from PTX 8.6 and sm_90, ptxas always: undefined before"),
    (r"cp\.async\.c[ag]\.shared::cta\.global.*", None, r".*",
     "the ISA has .shared::cta from PTX 7.8, ptxas as long as cp.async: undefined before 7.8"),
    (r".*", None, r"sm_88", "the ISA has sm_88 from PTX 9.0, ptxas from 7.3: undefined before 9.0"),
    (r"tcgen05\.mma\.sp.*\.scale_vec::[124]X.*", None, r"sm_1(03|10)a",
     "the ISA says sm_100a for .scale_vec, ptxas takes sm_103a and sm_110a: legal"),
]

REGISTERS = (".reg .b32 r<272>; .reg .f32 f<160>; .reg .b64 l<4>; .reg .b16 h<2>; "
             ".reg .pred p<2>;")


def run_ptxas(ptxas, folder, target, version, cells, first):
    """Runs cells[first:]: (refused indices, index of a syntax error that ended the run, or None;
    whether the target itself is unknown)."""
    path = os.path.join(folder, "cells.ptx")
    with open(path, "w") as out:
        out.write(f".version {version}\n.target {target}\n.address_size 64\n")
        for i, (text, _, operands) in enumerate(cells[first:]):
            out.write(f".entry k{i}() {{ {REGISTERS} {text} {operands}; ret; }}\n")
    arch = target.replace("sm_", "compute_")
    run = subprocess.run([ptxas, "-arch", arch, path, "-o", "/dev/null"], capture_output=True,
                         text=True)
    refused, stopped, log = set(), None, run.stdout + run.stderr
    for line in log.splitlines():
        match = re.match(r".*cells\.ptx, line (\d+); (error|fatal)", line)
        if match and int(match.group(1)) <= 3:
            return refused, None, True
        if match:
            refused.add(first + int(match.group(1)) - 4)
        if match and match.group(2) == "fatal":
            stopped = first + int(match.group(1)) - 4
    if run.returncode and not refused:
        sys.exit(f"ptxas failed on {target} {version}: {log[:400]}")
    return refused, stopped, False


def ptxas_accepts(ptxas, folder, target, version, cells):
    """The set of indices of cells that ptxas accepts. A syntax error ends a run before the target is
    checked: the next run continues after it."""
    if run_ptxas(ptxas, folder, target, version, [("exit", None, "")], 0)[2]:
        return set()
    refused, first = set(), 0
    while first is not None:
        here, stopped, _ = run_ptxas(ptxas, folder, target, version, cells, first)
        refused |= here
        first = None if stopped is None or stopped + 1 == len(cells) else stopped + 1
    return set(range(len(cells))) - refused


def heddle_verdicts(heddle, target, version, cells):
    lines = "".join(f"{target} {version} {text}" + (f" sel={sel}\n" if sel is not None else "\n")
                    for text, sel, _ in cells)
    run = subprocess.run([heddle, "legal"], input=lines, capture_output=True, text=True)
    answers = run.stdout.splitlines()
    if len(answers) != len(cells):
        sys.exit(f"heddle legal answered {len(answers)} of {len(cells)} lines: {run.stderr[:400]}")
    return answers


def reason_for(text, selector, target):
    for pattern, selectors, targets, reason in DISAGREEMENTS:
        if (re.fullmatch(pattern, text) and re.fullmatch(targets, target)
                and (selectors is None or selector in selectors)):
            return reason
    return None


ANOTHER_ORDER = "qualifiers in another order, or wgmma without .aligned: undefined"


def compare(answer, accepted, reason):
    """'' if heddle's answer agrees with ptxas; otherwise the difference."""
    if answer == "legal":
        return "" if accepted else "heddle legal, ptxas refuses"
    if "undefined (ptxas accepts)" in answer:
        if not accepted:
            return "heddle says ptxas accepts, it refuses"
        return "" if reason else "undefined, but in no listed disagreement"
    return "heddle illegal, ptxas accepts" if accepted else ""


class Tally:
    def __init__(self):
        self.cells = self.legal = self.undefined = 0
        self.listed, self.wrong = collections.Counter(), []

    def add(self, family, target, version, cell, answer, accepted):
        text, selector, _ = cell
        reason = reason_for(text, selector, target)
        if family == "spellings" and not reason:
            reason = ANOTHER_ORDER
        problem = compare(answer, accepted, reason)
        self.cells += 1
        self.legal += answer == "legal"
        self.undefined += "undefined" in answer
        if problem:
            self.wrong.append(f"{target} {version} {text} sel={selector}: {problem} [{answer[:80]}]")
        elif reason and ("undefined" in answer or not reason.endswith("undefined")
                         and "undefined before" not in reason):
            self.listed[reason] += 1


def plan_of(options):
    """Target to PTX versions."""
    for option in options:
        if option.startswith("--full"):
            return {t: VERSIONS for t in option[7:].split(",") if t} or {t: VERSIONS for t in TARGETS}
    return {"sm_90a": ["8.5"]} if "--smoke" in options else QUICK


def main():
    heddle, ptxas, *options = sys.argv[1:]
    plan, inject, tally = plan_of(options), "--inject" in options, Tally()
    with tempfile.TemporaryDirectory() as folder:
        for family, generate in candidates.FAMILIES.items():
            cells = list(generate())
            for target, version in [(t, v) for t in plan for v in plan[t]]:
                accepted = ptxas_accepts(ptxas, folder, target, version, cells)
                answers = heddle_verdicts(heddle, target, version, cells)
                if inject:
                    answers[0] = "illegal: injected" if 0 in accepted else "legal"
                    inject = False
                for i, cell in enumerate(cells):
                    tally.add(family, target, version, cell, answers[i], i in accepted)
            print(f"{family}: {len(cells)} instructions")
    for reason, n in tally.listed.items():
        print(f"disagreement of ISA and ptxas, {n} cells: {reason}")
    if os.environ.get("ALL_MISMATCHES"):
        open(os.environ["ALL_MISMATCHES"], "w").write("\n".join(tally.wrong))
    for line in tally.wrong[:40]:
        print(line)
    print(f"cells={tally.cells} legal={tally.legal} undefined={tally.undefined} "
          f"listed={sum(tally.listed.values())} mismatches={len(tally.wrong)}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
