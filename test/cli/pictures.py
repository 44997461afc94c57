"""pictures.py FILE.svg...: no text overlaps another text, a mark or the edge of the page, and every mark
except those of the legend lies within a frame. Prints the number of texts and marks, or what is wrong."""
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
WIDE = 0.52  # width of a character / font size, for digits and small letters


def box_of_text(e):
    size = float(e.get("font-size"))
    width = WIDE * size * len(e.text)
    x = float(e.get("x")) - {"start": 0, "middle": width / 2, "end": width}[e.get("text-anchor")]
    y = float(e.get("y"))
    return x, y - 0.75 * size, x + width, y


def box_of_mark(e):
    x, y = map(float, re.match(r"M([-\d.]+),([-\d.]+)", e.get("d")).groups())
    return x - 2, y - 2, x + 2, y + 2


def box_of_rect(e):
    x, y, width, height = (float(e.get(k, 0)) for k in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def within(a, b, slack):
    return (b[0] - slack <= a[0] and a[2] <= b[2] + slack and
            b[1] - slack <= a[1] and a[3] <= b[3] + slack)


def faults(path):
    root = tree.parse(path).getroot()
    texts = [(e.text, box_of_text(e)) for e in root.iter(SVG + "text")]
    marks = [box_of_mark(e) for e in root.iter(SVG + "path")]
    frames = [box_of_rect(e) for e in root.iter(SVG + "rect") if e.get("class") == "frame"]
    page = (0, 0, float(root.get("width")), float(root.get("height")))
    top = min((f[1] for f in frames), default=0)
    for i, (text, box) in enumerate(texts):
        if not within(box, page, 0):
            yield f'"{text}" is not on the page'
        yield from (f'"{text}" lies on "{other}"' for other, b in texts[:i] if overlap(box, b))
        yield from (f'"{text}" lies on the mark at {m}' for m in marks if overlap(box, m))
    yield from (f"the mark at {m} is in no frame" for m in marks
                if m[1] > top and not any(within(m, f, 2.1) for f in frames))
    print(f"{path.split('/')[-1]}: {len(texts)} texts, {len(marks)} marks")


found = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(path)]
print("\n".join(found))
sys.exit(1 if found else 0)
