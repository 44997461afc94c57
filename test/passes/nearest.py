"""nearest.py SEED N HEDDLE_OPT FILE...: tries random schedules. Each refused one must come with a note that names
the nearest legal one, and that one must be accepted. Prints how many were refused."""
import random
import re
import subprocess
import sys

WORDS = {
    "family": ["mma", "wgmma", "tcgen05"],
    "tile": [f"{m}x{n}" for m in (32, 64, 100, 128, 192, 256, 600) for n in (4, 8, 40, 96, 100, 192, 256, 300)],
    "warps": ["4x1", "8x1", "2x4", "2x2", "3x1", "32x1"],
    "stages": ["1", "2", "5", "12", "20", "24"],
    "cluster": ["1", "2", "3", "4"],
    "multicast": ["a", "b"],
    "ctas_per_sm": ["0", "1", "2", "8", "9"],
    "a": ["desc", "reg"],
    "b": ["auto", "tma", "gather", "cp_async", "ld_st"],
    "raster_group": ["0", "7", "2000"],
    "persistent": ["0", "1", "2"],
    "split_k": ["0", "1", "2", "3", "16", "20"],
    "reduce": ["workspace", "cluster", "ring"],
    "stream_k": ["0", "1", "2"],
    "wgmma_in_flight": ["0", "1", "2"],
    "k_order": ["forward", "zigzag"],
    "store": ["direct", "quad", "permuted", "staged"],
}
NOTE = re.compile(r"note\[schedule\.nearest\]: nearest: (.*)")
seed, n, tool, *files = sys.argv[1:]


def compiled(file, words):
    command = [tool, file, "--stop-after", "tile", "--schedule", words]
    return subprocess.run(command, capture_output=True, text=True)


random.seed(int(seed))
refused = 0
for i in range(int(n)):
    file = files[i % len(files)]
    keys = random.sample(sorted(WORDS), random.choice([1, 1, 2, 3]))
    words = " ".join(f"{key}={random.choice(WORDS[key])}" for key in keys)
    first = compiled(file, words)
    if first.returncode == 0:
        continue
    refused += 1
    note = NOTE.search(first.stderr)
    if not note:
        sys.exit(f"{file} --schedule '{words}': nothing is near\n{first.stderr}")
    second = compiled(file, note.group(1))
    if second.returncode:
        sys.exit(f"{file} --schedule '{note.group(1)}', said to be legal for '{words}'\n{second.stderr}")
print("refused", refused)
