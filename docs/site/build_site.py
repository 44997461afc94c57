"""build_site.py [--package DIR] OUT: the documentation as HTML in OUT/html.

Gathers the pages of docs/ (links to files outside of docs/ become links to the repository's files), runs Doxygen over
include/heddle, writes a page for each header, and runs Sphinx with warnings as errors; then looks whether each link
within the site leads somewhere. --package: the folder with the Python package (build/python), for its reference."""
import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGES = {  # caption: pages of docs/, in their order
    "Tutorials": ["tutorials/pytorch", "tutorials/jit", "tutorials/cmake"],
    "Guides": ["howto", "python", "embedding", "tuning", "pages"],
    "Concepts": ["concepts", "glossary", "schedule", "verification"],
    "Reference": ["support", "format", "ir", "instructions", "refusals", "service", "operations", "service-verification",
                  "trust-verification"],
    "Figures": ["bench/README"],
}
sys.path.insert(0, HERE)
import error_rules  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--package")
parser.add_argument("out")
args = parser.parse_args()
source, html_out = os.path.join(args.out, "source"), os.path.join(args.out, "html")


def run(*command, **more):
    done = subprocess.run(command, text=True, capture_output=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def copy_pages():
    """docs/ as it is, but for links that leave it."""
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        if os.path.basename(folder) == "site":
            continue
        for name in names:
            path = os.path.join(folder, name)
            target = os.path.join(source, os.path.relpath(path, os.path.join(ROOT, "docs")))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if name.endswith(".md"):
                open(target, "w").write(page_text(path))
            elif not name.endswith(".py"):
                shutil.copy(path, target)


def page_text(path):
    """A page whose links to files outside of docs/ name the file, and link nothing: the site does not hold it."""
    def mend(match):
        label, link = match.groups()
        file = link.split("#")[0]
        at = os.path.normpath(os.path.join(os.path.dirname(path), file))
        if not file or "://" in link or at.startswith(os.path.join(ROOT, "docs") + os.sep):
            if file.endswith("/"):
                return f"[{label}]({link}README.md)"
            return match.group(0)
        if not os.path.exists(at):
            raise SystemExit(f"{path}: no {link}")
        return f"{label} (`{os.path.relpath(at, ROOT)}`)"
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", mend, open(path).read())


def refusals_reference():
    text, n_rules = error_rules.page(ROOT)
    if n_rules < 400:
        raise SystemExit(f"only {n_rules} rules were found in the sources: error_rules.py does not read them any more")
    with open(os.path.join(source, "refusals.md"), "w") as page:
        page.write(text)


def c_reference():
    """Doxygen's XML, and a page for each header."""
    xml = os.path.join(args.out, "doxygen")
    settings = (f"INPUT={ROOT}/include/heddle\nOUTPUT_DIRECTORY={xml}\nGENERATE_HTML=NO\nGENERATE_LATEX=NO\n"
                "GENERATE_XML=YES\nOPTIMIZE_OUTPUT_FOR_C=YES\nEXTRACT_ALL=YES\nQUIET=YES\nWARNINGS=NO\n"
                "PREDEFINED=HEDDLE_API=\nMACRO_EXPANSION=YES\nEXPAND_ONLY_PREDEF=YES\n"
                "JAVADOC_BLOCK=YES\nINPUT_FILTER=\"sed -e 's#^\\(\\s*\\)/\\* #\\1/** #'\"\nFILE_PATTERNS=*.h\n")
    os.makedirs(xml, exist_ok=True)
    run("doxygen", "-", input=settings)
    headers = sorted(h for h in os.listdir(os.path.join(ROOT, "include/heddle")) if h.endswith(".h"))
    os.makedirs(os.path.join(source, "c"))
    for header in headers:
        text = open(os.path.join(ROOT, "include/heddle", header)).read()
        about = re.match(r"/\* (.*?)\*/", text, re.S).group(1)
        about = re.sub(r"\n \* ?", "\n", about).strip()
        title = f"heddle/{header}"
        with open(os.path.join(source, "c", header[:-2] + ".rst"), "w") as page:
            page.write(f"{title}\n{'=' * len(title)}\n\n.. code-block:: text\n\n   "
                       + about.replace("\n", "\n   ") + f"\n\n.. doxygenfile:: {header}\n   :sections: func enum typedef "
                       "innerclass public-attrib\n")
    return [f"c/{h[:-2]}" for h in headers]


def python_reference():
    modules = {"heddle": "NumPy: problems, kernels, matrices", "heddle.errors": "What is refused",
               "heddle.weights": "Checkpoints"}
    if args.package and has_torch():
        modules["heddle.torch"] = "PyTorch"
    with open(os.path.join(source, "python-api.rst"), "w") as page:
        page.write("Python reference\n================\n")
        for module, about in modules.items():
            if args.package:
                page.write(f"\n{module}\n{'-' * len(module)}\n\n{about}.\n\n.. automodule:: {module}\n   :members:\n"
                           "   :imported-members:\n   :no-index:\n")
    return ["python-api"] if args.package else []


def has_torch():
    import importlib.util
    return importlib.util.find_spec("torch") is not None


def readme_parts(*headings):
    """Sections of README.md, whose links to docs/ lead to the site's pages."""
    path = os.path.join(ROOT, "README.md")
    sections = {s.split("\n")[0].lstrip("# "): s for s in re.split(r"(?m)^(?=##? )", page_text(path))}
    return "".join(sections[heading] for heading in headings).replace("](docs/", "](")


def write_index(c_pages, python_pages):
    lines = [readme_parts("Heddle", "The first kernel", "Four ways to use it"), ""]
    groups = dict(PAGES)
    groups["Python"] = python_pages
    groups["C"] = c_pages
    for caption, pages in groups.items():
        if pages:
            lines += ["```{toctree}", f":caption: {caption}", ":maxdepth: 1", "", *pages, "```", ""]
    open(os.path.join(source, "index.md"), "w").write("\n".join(lines))
    open(os.path.join(source, "conf.py"), "w").write(
        "import os\nproject = 'Heddle'\nextensions = ['myst_parser', 'breathe', 'sphinx.ext.autodoc']\n"
        f"breathe_projects = {{'heddle': {os.path.abspath(os.path.join(args.out, 'doxygen/xml'))!r}}}\n"
        "breathe_default_project = 'heddle'\nhtml_theme = 'furo'\nmyst_heading_anchors = 4\n"
        "c_id_attributes = ['HEDDLE_API']\ncpp_id_attributes = ['HEDDLE_API']\nprimary_domain = 'c'\n"
        "breathe_domain_by_extension = {'h': 'c'}\nexclude_patterns = []\n"
        "suppress_warnings = ['toc.not_included', 'myst.xref_missing', 'misc.highlighting_failure', 'duplicate_declaration.c',"
        " 'docutils', 'ref.python', 'autodoc']\n\n\n"
        "def plain(app, what, name, obj, options, lines):  # documentation strings are plain text\n"
        "    lines[:] = [line.replace('*', chr(92) + '*').replace('|', chr(92) + '|').replace('_ ', chr(92) + '_ ').replace('_,', chr(92) + '_,') for line in lines]\n\n\n"
        "def setup(app):\n    app.connect('autodoc-process-docstring', plain)\n")


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(x for x in (attributes.get("id"), attributes.get("name")) if x)
        if tag in ("a", "img", "link", "script"):
            link = attributes.get("href") or attributes.get("src")
            if link:
                self.links.append(link)


def check_links():
    """Each link within the site: the file is there, and the place in it."""
    pages = {}
    for folder, _, names in os.walk(html_out):
        for name in names:
            if name.endswith(".html"):
                path = os.path.normpath(os.path.join(folder, name))
                pages[path] = Links()
                pages[path].feed(open(path, encoding="utf-8").read())
    broken, n_links = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlparse(link)
            if parts.scheme or parts.netloc or link.startswith(("#__", "data:")):
                continue
            n_links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) \
                if parts.path else path
            there = os.path.exists(target)
            if there and parts.fragment and target in pages:
                there = urllib.parse.unquote(parts.fragment) in pages[target].ids
            if not there:
                broken.append(f"{os.path.relpath(path, html_out)}: {link}")
    return sorted(set(broken)), len(pages), n_links


shutil.rmtree(args.out, ignore_errors=True)
os.makedirs(source)
copy_pages()
refusals_reference()
write_index(c_reference(), python_reference())
env = dict(os.environ, PYTHONPATH=os.path.abspath(args.package) if args.package else "")
run(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", source, html_out, env=env)
broken, n_pages, n_links = check_links()
print("\n".join(broken[:40]))
print(f"pages={n_pages} links={n_links} broken={len(broken)}")
sys.exit(bool(broken))
