"""diff.py PAGE.html PASS MODULE: the right side of a pass' section of `heddle-opt --diff` is the module, line by line;
the left side, that of the section before it."""
import html
import re
import sys

page, name, module = sys.argv[1:]
sections = dict(re.findall(r'<h2 id="(\w+)">.*?</h2>(.*?)(?=<h2 id|</main>)', open(page).read(), re.S))


def side(section, which):
    """Its lines; a cell of class `none` has none."""
    cells = re.findall(r'<tr><td class="(\w*)">(.*?)</td><td class="(\w*)">(.*?)</td></tr>', section)
    pairs = [(row[0], row[1]) if which == 0 else (row[2], row[3]) for row in cells]
    return [html.unescape(re.sub("<[^>]*>", "", text)) for kind, text in pairs if kind != "none"]


names = list(sections)
before = names[names.index(name) - 1]
wanted = open(module).read().splitlines()
assert side(sections[name], 1) == wanted, "the right side is not the module"
assert side(sections[before], 1) == side(sections[name], 0), "the left side is not what was before"
changed = sum(kind != "" for kind in re.findall(r'<tr><td class="(\w*)">', sections[name]))
print(f"{name}: {len(wanted)} lines, {changed} rows changed")
assert 0 < changed < len(wanted)
