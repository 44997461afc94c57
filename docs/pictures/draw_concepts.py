"""draw_concepts.py [DIR]: the pictures of docs/concepts.md, as SVG, into DIR (default: beside this file)."""
import os
import sys

STYLE = """.box{fill:#f4f6fb;stroke:#3b5b92;stroke-width:1.3}.use{fill:#fdf5e8;stroke:#a8691b;stroke-width:1.3}
.good{fill:#eef7ee;stroke:#3a7a3a;stroke-width:1.3}.zero{fill:#fff;stroke:#b8bfcc;stroke-width:1}
.kept{fill:#cfdcf5;stroke:#3b5b92;stroke-width:1}.code{fill:#fbe3bd;stroke:#a8691b;stroke-width:1}
.line{stroke:#555;stroke-width:1.3;fill:none;marker-end:url(#tip)}.rule{stroke:#b8bfcc;stroke-width:1;fill:none}
.head{font-weight:600;fill:#1c2434}.text{font-size:11.5px;fill:#1c2434}.small{font-size:10.5px;fill:#4a5468}"""


class Picture:
    """An SVG in the making; positions in pixels."""

    def __init__(self, title, width, height):
        self.parts, self.title, self.size = [], title, (width, height)

    def box(self, x, y, w, h, kind="box", text="", size="text", lines=()):
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{w}" height="{h}" rx="2"/>')
        rows = [text, *lines] if text else list(lines)
        for i, row in enumerate(rows):
            self.text(x + w / 2, y + h / 2 + 4 + 14 * (i - (len(rows) - 1) / 2), row, size if i or not lines else "head")

    def text(self, x, y, text, kind="text", anchor="middle"):
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>')

    def arrow(self, *points):
        path = " L".join(f"{x},{y}" for x, y in points)
        self.parts.append(f'<path class="line" d="M{path}"/>')

    def rule(self, x0, y0, x1, y1):
        self.parts.append(f'<path class="rule" d="M{x0},{y0} L{x1},{y1}"/>')

    def save(self, path):
        width, height = self.size
        with open(path, "w") as out:
            out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'font-family="system-ui, sans-serif" font-size="12">\n<title>{self.title}</title>\n<style>{STYLE}</style>\n'
                      '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                      'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>\n'
                      f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def sparse():
    """One row of a matrix, its groups of four, and what is stored of them."""
    p = Picture("2:4 sparsity: values and metadata", 760, 250)
    row = [(3, 0, -7, 0), (0, 5, 2, 0), (0, 0, 4, -1), (6, 0, 0, 0)]
    p.text(20, 24, "a row of A: of each group of four elements at most two are not zero", "head", "start")
    for g, group in enumerate(row):
        for i, value in enumerate(group):
            p.box(20 + 180 * g + 38 * i, 38, 36, 28, "kept" if value else "zero", str(value))
        p.text(20 + 180 * g + 75, 82, f"group {g}", "small")
    p.text(20, 118, "values: two of each group, in order", "head", "start")
    p.text(400, 118, "metadata: two indices of 2 bits a group", "head", "start")
    for g, group in enumerate(row):
        kept = [i for i, value in enumerate(group) if value]
        kept = sorted((kept + [i for i in range(4) if i not in kept])[:2])
        for j, i in enumerate(kept):
            p.box(20 + 84 * g + 38 * j, 130, 36, 28, "kept" if group[i] else "zero", str(group[i]))
        p.box(400 + 84 * g, 130, 74, 28, "code", f"{kept[0]}, {kept[1]}")
        p.text(400 + 84 * g + 37, 174, format(kept[1] << 2 | kept[0], "04b"), "small")
    p.text(20, 206, "Four 16-bit elements (8 bytes) become two values (4 bytes) and 4 bits of metadata. The tensor core takes "
           "those elements of B", "small", "start")
    p.text(20, 222, "that the indices name, so that a sparse A needs half of the multiplications of a dense one.", "small",
           "start")
    return p


def block():
    """A packed block, from the matrix to memory."""
    p = Picture("A packed block", 760, 300)
    p.text(20, 24, "A, compressed", "head", "start")
    p.box(20, 36, 210, 220, "zero")
    for i in range(1, 4):
        p.rule(20, 36 + 55 * i, 230, 36 + 55 * i), p.rule(20 + 52.5 * i, 36, 20 + 52.5 * i, 256)
    p.box(72.5, 91, 52.5, 55, "kept", "64 x")
    p.text(98.7, 133, "128 B", "text")
    p.text(125, 276, "slabs of 64 rows, k-blocks of 128 bytes of B", "small")
    p.arrow((128, 118), (290, 90))
    p.text(295, 24, "one block in memory: what one bulk copy brings", "head", "start")
    for i in range(4):
        p.box(295, 40 + 34 * i, 320, 30, "kept", f"k-step {i}: 64 rows x 16 kept 16-bit values, 1024 bytes")
    p.box(295, 40 + 34 * 4, 320, 30, "code", "metadata: a word for each lane, 512 bytes")
    p.text(630, 60, "values", "text", "start")
    p.text(630, 196, "metadata", "text", "start")
    p.text(295, 236, "A k-step holds core matrices of 8 rows x 16 bytes, which wgmma and ldmatrix read", "small", "start")
    p.text(295, 252, "without bank conflicts. A metadata word is the register that mma.sp takes. One", "small", "start")
    p.text(295, 268, "order serves every tile, schedule and N: a weight is packed once (docs/format.md).", "small", "start")
    return p


def orders():
    """What D's order means for y = x W^T."""
    p = Picture("A linear layer is D = A B with A = W", 760, 260)
    p.text(20, 24, "in PyTorch: y = x Wᵀ, rows contiguous", "head", "start")
    p.box(20, 40, 110, 60, "use", "x", lines=["tokens x k"])
    p.text(145, 75, "·", "head")
    p.box(160, 40, 60, 110, "kept", "Wᵀ", lines=["k x m"])
    p.text(235, 75, "=", "head")
    p.box(250, 40, 80, 60, "good", "y", lines=["tokens x m"])
    p.text(400, 24, "in Heddle: D = A B, A sparse", "head", "start")
    p.box(400, 40, 110, 60, "kept", "A = W", lines=["m x k"])
    p.text(525, 75, "·", "head")
    p.box(540, 40, 60, 110, "use", "B = xᵀ", lines=["k x n"])
    p.text(615, 75, "=", "head")
    p.box(630, 40, 60, 60, "good", "D = yᵀ", lines=["m x n"])
    p.text(20, 186, "The bytes are the same. x with contiguous rows is B stored n x k: order k_major. y with contiguous rows is D "
           "stored n x m:", "small", "start")
    p.text(20, 202, "order col_major (the bindings' default). In row_major D the results of one output feature lie together instead.",
           "small", "start")
    p.text(20, 228, "m: output features    n: tokens    k: input features", "text", "start")
    return p


def pipeline():
    """Producer and consumers over time."""
    p = Picture("The ring buffer of a kernel", 760, 240)
    p.text(20, 24, "a ring buffer of three stages; the producer copies k-blocks 0, 1, 2 …; time runs to the right", "head", "start")
    p.text(20, 62, "producer warp", "text", "start"), p.text(20, 112, "MMA warpgroups", "text", "start")
    p.text(20, 162, "epilogue", "text", "start")
    for i in range(6):
        start = 130 + (88 * i if i < 3 else 88 * i + 22)
        p.box(start, 44, 82, 28, "use", f"{i} to stage {i % 3}", "small")
    for i in range(5):
        start = 234 + 96 * i
        p.box(start, 94, 90, 28, "kept", f"MMA k-block {i}", "small")
        p.arrow((130 + (88 * i if i < 3 else 88 * i + 22) + 70, 72), (start + 8, 94))
    for i in range(3):
        p.arrow((234 + 96 * i + 88, 94), (130 + 88 * (i + 3) + 22 + 4, 72))
    p.box(660, 144, 80, 28, "good", "store D", "small")
    p.text(20, 204, "Down: the full barrier of a stage (the bytes have landed). Up: its empty barrier (all readers are done), which the "
           "producer", "small", "start")
    p.text(20, 220, "waits for before it overwrites the stage. `heddle-sim --timeline` draws this of a real kernel.", "small", "start")
    return p


def schedule():
    """What the words of a schedule say."""
    p = Picture("A schedule", 760, 250)
    p.text(20, 24, "tile=128x256x64 warps=8x1 stages=5 cluster=2 multicast=b", "head", "start")
    p.box(20, 44, 200, 150, "zero")
    for i in range(1, 4):
        p.rule(20, 44 + 37.5 * i, 220, 44 + 37.5 * i)
    for i in range(1, 3):
        p.rule(20 + 66.6 * i, 44, 20 + 66.6 * i, 194)
    p.box(86.6, 81.5, 66.6, 37.5, "good", "tile")
    p.text(120, 214, "D: each CTA computes tiles of 128 x 256", "small")
    p.arrow((156, 100), (270, 84))
    p.box(275, 44, 170, 36, "kept", "warpgroup 0: rows 0-63"), p.box(275, 84, 170, 36, "kept", "warpgroup 1: rows 64-127")
    p.text(360, 140, "warps=8x1: two warpgroups along M", "small")
    for i in range(5):
        p.box(480 + 52 * i, 44, 48, 36, "use", f"k {i}", "small")
    p.text(610, 100, "stages=5: k-blocks of 64 in flight", "small")
    p.box(480, 124, 120, 36, "box", "CTA 0"), p.box(612, 124, 120, 36, "box", "CTA 1")
    p.text(610, 180, "cluster=2, multicast=b: one copy of B fills both", "small")
    p.text(20, 238, "Every key has a default from the cost model; `heddle explain` lists the alternatives, docs/schedule.md the keys.",
           "small", "start")
    return p


def dispatch():
    """From a launch's size to a kernel."""
    p = Picture("Dispatch by size", 760, 230)
    p.text(20, 24, "N known at launch: one entry point for each range of sizes, over one packed A", "head", "start")
    ranges = [("n <= 16", "64x16"), ("n <= 64", "128x64"), ("n <= 256", "128x128"), ("n <= 1024", "128x256"), ("any n", "256x192")]
    for i, (size, tile) in enumerate(ranges):
        p.box(20 + 146 * i, 44, 136, 42, "kept", size, "small", [f"tile={tile}"])
    p.box(300, 140, 160, 40, "use", "launch: n = 200")
    p.arrow((380, 140), (380, 88))
    p.text(480, 140, "1. the range of n", "small", "start")
    p.text(480, 156, "2. TMA where B's address and pitch allow it", "small", "start")
    p.text(480, 172, "3. as many CTAs as fit the device", "small", "start")
    p.text(20, 210, "The pick costs 11 to 17 ns (`heddle cost`), and no launch allocates, loads or waits: graph capture works.", "small",
           "start")
    return p


def verification():
    """What a kernel passes before it is used."""
    p = Picture("How a kernel is verified", 760, 250)
    names = [("passes", "make the kernel", "box"), ("check", "every launch size, all", "good"), ("emit", "PTX", "box"),
             ("heddle-sim", "runs the PTX", "good"), ("GPU", "runs the cubin", "use")]
    for i, (name, about, kind) in enumerate(names):
        p.box(20 + 148 * i, 40, 120, 56, kind, name, "small", [about])
        if i:
            p.arrow((20 + 148 * i - 26, 68), (20 + 148 * i - 2, 68))
    p.text(80, 24, "compiler", "head"), p.text(600, 24, "tests", "head")
    for x, first, second in ((168, "races, deadlocks,", "bounds, coverage"), (464, "copies complete late,", "early, at random"),
                             (612, "compared with", "double precision")):
        p.box(x, 128, 120, 44, "zero")
        p.text(x + 60, 146, first, "small"), p.text(x + 60, 161, second, "small")
    p.arrow((228, 98), (228, 126)), p.arrow((524, 98), (524, 126)), p.arrow((672, 98), (672, 126))
    p.text(20, 206, "Passes, check and simulator each state the rules of the machine for themselves, and none looks at another. Faults are",
           "small", "start")
    p.text(20, 222, "injected into kernels (`heddle-mutate`), and each must be found by the check, the simulator or the comparison.",
           "small", "start")
    return p


PICTURES = {"sparse24": sparse, "packed_block": block, "orders": orders, "pipeline": pipeline, "schedule": schedule,
            "dispatch": dispatch, "verification": verification}
if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, draw in PICTURES.items():
        draw().save(os.path.join(folder, f"concept_{name}.svg"))
