"""Runs the code of the documentation as written, each page from top to bottom: Python in this process, C with the
machine's compiler, shell lines with the build's `heddle` (HEDDLE_BIN, or build/bin; skipped if there is none)."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("HEDDLE_BIN", os.path.join(ROOT, "build", "bin"))


def text_of(page):
    with open(os.path.join(ROOT, page)) as stream:
        return stream.read()


def blocks_of(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


class Pages(unittest.TestCase):
    def run_page(self, page):
        text, names = text_of(page), {"__name__": "page"}
        blocks = blocks_of(text, "python")
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

    def test_the_pictures_are_as_drawn(self):
        pictures = os.path.join(ROOT, "docs/pictures")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.path.join(pictures, "draw_concepts.py"), folder], check=True)
            self.assertEqual(len(os.listdir(folder)), 7)
            for name in os.listdir(folder):
                self.assertEqual(text_of(os.path.join(pictures, name)), text_of(os.path.join(folder, name)), name)

    def test_howto(self):
        self.run_page("docs/howto.md")

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no PyTorch")
    def test_tutorial_pytorch(self):
        self.run_page("docs/tutorials/pytorch.md")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_tutorial_jit(self):
        from heddle import _load
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "jit.c"), os.path.join(folder, "jit")
            with open(source, "w") as stream:
                stream.write("".join(blocks_of(text_of("docs/tutorials/jit.md"), "c")))
            library = os.path.abspath(_load.path)
            subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", source, "-I", os.path.join(ROOT, "include"), library,
                            f"-Wl,-rpath,{os.path.dirname(library)}", "-o", program], check=True)
            self.assertEqual(subprocess.run([program], text=True, capture_output=True).stdout, "0 of 3072 wrong\n")

    @unittest.skipUnless(shutil.which("cc") and os.path.exists(os.path.join(BIN, "heddle")), "no heddle, or no C compiler")
    def test_tutorial_cmake(self):
        text = text_of("docs/tutorials/cmake.md")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "up.heddle"), "w") as stream:
                stream.write(blocks_of(text, "text")[0])
            env = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
            for block in blocks_of(text, "bash"):
                subprocess.run(["bash", "-ec", block], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
            made = os.listdir(os.path.join(folder, "out"))
            self.assertEqual({"up.h", "up.c", "up.c.bin", "up.json", "up.o"} - set(made), set())


if __name__ == "__main__":
    unittest.main()
