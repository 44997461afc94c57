"""plan.py [--all] HEDDLE_OPT HEDDLE DIR FILE...: every attribute of the tile level has a meaning.

For each file, the tile level is written, read again and compiled: the role level equals that of a single run. Then each
attribute of work, matmul and store of the first kernel gets another value, one at a time (--all: several values). The
text must be refused, with a legal or nearest value, or give another kernel. Prints how many of each; exit status 1 if a
changed attribute has no effect."""
import os
import re
import subprocess
import sys

OTHER = {
    "tile": ["[64, 64, 64]", "[256, 128, 64]", "[128, 32, 128]"], "group": ["1", "3"], "k_order": ["forward", "zigzag"],
    "split_k": ["1", "2", "4"], "reduce": ["workspace", "cluster", "ring"], "cluster": ["1", "2"],
    "multicast_operand": ["a", "b"], "cluster_launch": ["1", "4"], "ctas_per_sm": ["1", "2"], "order": ["none", "col_major", "row_major"],
    "warps": ["[4, 1]", "[8, 1]", "[2, 2]"], "fragments": ["[0, 0, 1, 8]", "[4, 2, 1, 4]"], "stages": ["2", "3"],
    "in_flight": ["0", "1"], "a_path": ["desc", "reg"], "b_path": ["tma", "gather", "cp_async", "ld_st", "auto"],
    "b_align": ["1", "2", "4", "8", "16", "32"], "b_box": ["8", "16", "24"], "swizzle": ["0", "32", "64"],
    "path": ["direct", "quad", "permuted", "staged"], "acc": ["f32", "f16", "s32"], "type": ["f32", "bf16", "s32"],
    "act": ["none", "relu", "silu"], "kind": ["i8", "f16", "mxf4"],
    "row": ['"wgmma_sp_rs_m64n64k32_f32_bf16_bf16"', '"mma_sp_m16n8k32_f32_f16_f16"'], "ld": ["8"], "user": ['"other"'],
    "divisible_by": ["1", "4"],
}
FLAGS = ["persistent", "stream_k"]
PATHS = "build_mainloop,split_roles,unroll,insert_barriers,insert_fences"


def opt(tool, text, passes):
    return subprocess.run([tool, "-", "--passes", passes], input=text, capture_output=True, text=True)


def kernel_code(heddle, text, folder, extra):
    """PTX and manifest of a tile-level text, without comments and hashes; None and the message if it is refused."""
    path = f"{folder}/changed.heddle"
    with open(path, "w") as file:
        file.write(text)
    run = subprocess.run([heddle, "gen", path, *extra, "--ptxas", "none", "-o", folder], capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    name = re.search(r'name = "(\w+)"', text).group(1)
    with open(f"{folder}/{name}.ptx") as ptx, open(f"{folder}/{name}.json") as manifest:
        return re.sub(r"//.*", "", ptx.read()) + re.sub(r'"\w*hash": "\w*"', "", manifest.read()), run.stderr


def first_kernel(text):
    """The module reduced to its first kernel."""
    return re.match(r"(?s).*?\n}\n", text).group(0)


def changes(line, every):
    """(attribute, value, changed line): one other value per attribute, or every value in OTHER"""
    attributes = re.search(r"\{(.*?)\}", line).group(1)
    for flag in FLAGS if line.strip().startswith("work") else []:
        with_flag = re.sub(rf", {flag}\b", "", line) if re.search(rf"\b{flag}\b", attributes) else line.replace("{", "{" + flag + ", ", 1)
        yield flag, "changed", with_flag
    for name, old in re.findall(r"(\w+) = (\[[^]]*\]|\"[^\"]*\"|\w+)", attributes):
        if name not in OTHER:
            raise SystemExit(f"no other value is known of {name}")
        for new in [new for new in OTHER[name] if new != old][:None if every else 1]:
            yield name, new, line.replace(f"{name} = {old}", f"{name} = {new}", 1)


def main():
    every = sys.argv[1] == "--all"
    tool, heddle, folder, *files = sys.argv[1 + every:]
    os.makedirs(folder, exist_ok=True)
    refused = other = silent = 0
    for file in files:
        whole = subprocess.run([tool, file, "--stop-after", "select_operand_path"], capture_output=True, text=True, check=True).stdout
        straight = subprocess.run([tool, file, "--stop-after", "insert_fences"], capture_output=True, text=True, check=True).stdout
        again = opt(tool, whole, PATHS).stdout
        names = re.compile(r"%\w+")
        if names.sub("%", again) != names.sub("%", straight):
            print(f"{file}: the tile level, read again, gives another role level")
            silent += 1
        text = first_kernel(whole)
        epilogue = re.sub(r"heddle$", "ll", file)
        extra = ["--epilogue", epilogue] if os.path.exists(epilogue) else []
        code, said = kernel_code(heddle, text, folder, extra)
        if code is None:
            raise SystemExit(f"{file}: {said}")
        lines = text.splitlines()
        for at, line in enumerate(lines):
            if not re.match(r"\s*(work|%\w+: \S+ = matmul|store) ", line):
                continue
            for name, value, new in changes(line, every):
                changed, said = kernel_code(heddle, "\n".join([*lines[:at], new, *lines[at + 1:]]) + "\n", folder, extra)
                if changed is None and re.search(r"legal:|nearest:|error\[ir\.", said):
                    refused += 1
                elif changed is not None and changed != code:
                    other += 1
                else:
                    silent += 1
                    print(f"{file}: {line.strip().split()[0]}: {name} = {value}: the same kernel {said}")
    print(f"files={len(files)} refused={refused} other={other} silent={silent}")
    return 1 if silent else 0


sys.exit(main())
