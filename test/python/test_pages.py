"""The Python of docs/python.md and bindings/python/README.md runs as it stands, each page from top to bottom."""
import importlib.util
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Pages(unittest.TestCase):
    def run_page(self, page):
        text, names = open(os.path.join(ROOT, page)).read(), {"__name__": "page"}
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertTrue(blocks)
        for block in blocks:
            if "torch" in block and not importlib.util.find_spec("torch"):
                continue
            line = text[:text.index(block)].count("\n")
            exec(compile("\n" * line + block, page, "exec"), names)

    def test_readme(self):
        self.run_page("bindings/python/README.md")

    def test_python_page(self):
        self.run_page("docs/python.md")


if __name__ == "__main__":
    unittest.main()
