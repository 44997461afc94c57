"""page.py FILE.html|FILE.svg [--width W] [--dark] [--png OUT.png] [--count SELECTOR]... [--says TEXT]...: checks a page
in headless Chromium.

The page needs no other file and no script. As rendered, no text overlaps another or is cut off, the page is no wider
than the window, no part of a picture lies outside of it, no text leaves the box in which it begins, and text contrasts
with its background. Prints the result: texts=N overlaps=0 cut=0 outside=0 faint=0, then a count for each --count.
Exits with 1 if a check fails or a TEXT is not shown."""
import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LOOK = r"""
const texts = [], found = {overlaps: [], cut: [], outside: [], faint: []};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const light = c => { const v = c.match(/[\d.]+/g).map(Number); return v.length > 3 && v[3] == 0 ? -1 : (2 * v[0] + 5 * v[1] + v[2]) / 8; };
const canvas = light(getComputedStyle(document.documentElement).backgroundColor);
const behind = canvas >= 0 ? canvas : matchMedia("(prefers-color-scheme: dark)").matches ? 18 : 255;
for (let node; node = walk.nextNode();) {
  const parent = node.parentElement, name = node.textContent.trim();
  if (!name || parent.closest("style, title, script") || !parent.checkVisibility()) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const r of range.getClientRects()) {
    if (r.width < 1 || r.height < 1) continue;
    const slack = Math.min(3, r.height / 4);  // a line's box is higher than its letters
    texts.push({name: name.slice(0, 40), l: r.left, r: r.right, t: r.top + slack, b: r.bottom - slack, node});
    const scroll = parent.closest(".scroll");
    if (!scroll && (r.right > innerWidth + 1 || r.left < -1)) found.cut.push(name.slice(0, 40));
    const svg = parent.closest("svg");
    if (svg) {
      const box = svg.getBoundingClientRect();
      const over = [...svg.querySelectorAll("rect")].map(x => x.getBoundingClientRect())
        .some(x => x.left <= r.left && r.left < x.right && x.top <= r.top + r.height / 2 && r.top + r.height / 2 <= x.bottom && r.right > x.right + 1);
      if (over || r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 2 || r.bottom > box.bottom + 2) found.outside.push(name.slice(0, 40));
    }
  }
  const style = getComputedStyle(parent), ink = light(parent.closest("svg") ? style.fill : style.color);
  if (Math.abs(ink - behind) < 90) found.faint.push(name.slice(0, 40));
}
texts.sort((a, b) => a.t - b.t);
texts.forEach((a, i) => {
  for (let k = i + 1; k < texts.length && texts[k].t < a.b; k++) {
    const b = texts[k];
    if (b.node !== a.node && Math.min(a.r, b.r) - Math.max(a.l, b.l) > 1 && b.t < a.b) found.overlaps.push(a.name + " | " + b.name);
  }
});
for (const shape of document.querySelectorAll("svg rect, svg circle")) {
  const r = shape.getBoundingClientRect(), box = shape.closest("svg").getBoundingClientRect();
  if (shape.checkVisibility() && (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1))
    found.outside.push(shape.tagName);
}
if (document.documentElement.scrollWidth > innerWidth + 1) found.cut.push("the page: " + document.documentElement.scrollWidth + " of " + innerWidth);
const counts = {};
for (const selector of SELECTORS) counts[selector] = document.querySelectorAll(selector).length;
const shown = document.body.innerText;
const at = document.createElement("pre");
at.id = "looked";
at.textContent = JSON.stringify({n: texts.length, found, counts, shown, high: document.documentElement.scrollHeight});
document.body.append(at);
"""


def chromium(*options):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               "--enable-logging=stderr", f"--user-data-dir={profile}", *options],
                              capture_output=True, text=True, timeout=120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--png")
    parser.add_argument("--count", action="append", default=[])
    parser.add_argument("--says", action="append", default=[])
    a = parser.parse_args()
    text = open(a.page, encoding="utf-8").read()
    if a.page.endswith(".svg"):
        text = f"<!DOCTYPE html><html><meta name=color-scheme content='light dark'><body>{text}</body></html>"
    wrong = [f"asks for another file: {x}" for x in re.findall(r'<(?:script|link|img|iframe)\b[^>]*>|@import[^;]*|url\([^#)][^)]*\)', text)]
    scheme = ["--blink-settings=preferredColorScheme=0"] if a.dark else []
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "page.html")
        script = LOOK.replace("SELECTORS", json.dumps(a.count))
        with open(copy, "w", encoding="utf-8") as out:
            out.write(text.replace("</body>", f"<script>{script}</script></body>"))
        done = chromium(f"--window-size={a.width},1000", *scheme, "--dump-dom", f"file://{copy}")
    looked = re.search(r'<pre id="looked">(.*?)</pre>', done.stdout, re.S)
    wrong += [line for line in done.stderr.splitlines() if "CONSOLE" in line or "Refused" in line]
    if not looked:
        print("\n".join(wrong), done.stderr[-2000:], "the page was not drawn")
        return 1
    seen = json.loads(html.unescape(looked.group(1)))
    print(" ".join([f"texts={seen['n']}"] + [f"{name}={len(list_)}" for name, list_ in seen["found"].items()] +
                   [f"{selector}={n}" for selector, n in seen["counts"].items()]))
    wrong += [f"{name}: {x}" for name, list_ in seen["found"].items() for x in list_[:5]]
    wrong += [f"does not say: {x}" for x in a.says if x not in seen["shown"]]
    if a.png:
        chromium(f"--window-size={a.width},{min(int(seen['high']), 8000)}", *scheme, f"--screenshot={a.png}", f"file://{os.path.abspath(a.page)}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
