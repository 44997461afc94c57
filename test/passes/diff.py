"""diff.py PAGE.html PASS MODULE: in the section of a pass in `heddle-opt --diff`, the right side equals the module,
line by line, and the left side equals the right side of the previous section."""
import html
import re
import sys

page, name, module = sys.argv[1:]
sections = dict(re.findall(r'<h2 id="(\w+)">.*?</h2>(.*?)(?=<h2 id|</main>)', open(page).read(), re.S))


def side(section, which):
    """The lines of a column; a cell of class `none` has no line."""
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
