#!/usr/bin/env python3
"""turns.py LOG: prints in what order worker.py received forms and mutants."""
import sys

lines = [line.split() for line in open(sys.argv[1])]
starving = ("bytes+", "bytes-", "count+")
ends = [any(op.split(":")[0] not in starving for op in ops.split(",")) for _, ops in lines]
forms = list(dict.fromkeys(form for form, _ in lines))
last = [form for (form, _), end in zip(lines, ends) if not end]
turns = [last[i:i + len(forms)] for i in range(0, len(last), len(forms))]
print(f"forms={len(forms)}")
print(f"ending first={int(ends == sorted(ends, reverse=True))}")
print(f"starving={len(last)} turns={len(turns)} in_turn={int(all(t == forms for t in turns))}")
