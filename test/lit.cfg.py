# Command-line tests: *.test files with RUN: and CHECK: lines.
import os
import shutil
import sys

import lit.formats

config.name = "heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.test_source_root = os.path.dirname(__file__)
config.excludes = ["unit"]

tools = ["heddle-opt", "heddle-sim", "heddle-mutate", "heddle-tblgen", "heddle-gpu-suite", "heddle-agent", "heddle"]
for tool in tools:  # the longer names first, because %heddle is a prefix of them
    path = os.path.join(config.heddle_bin, tool)
    config.substitutions.append(("%" + tool + r"(?![\w-])", path))
    if os.path.exists(path):
        config.available_features.add(tool)

have_ptxas = not config.ptxas.endswith("NOTFOUND")
config.substitutions += [
    ("%FileCheck", config.filecheck),
    ("%ptxas", config.ptxas),
    ("%python", sys.executable),
    ("%cc", config.cc),
    ("%source", config.heddle_source),
    ("%build", config.heddle_build),
    ("%llvm", config.llvm_bin),
    ("%not", os.path.join(config.llvm_bin, "not")),
    # The exit code must be exactly the given one: %exits 2 COMMAND …
    ("%exits", sys.executable + " " + os.path.join(config.test_source_root, "exits.py")),
]
if have_ptxas:
    config.available_features.add("ptxas")
else:
    lit_config.note("ptxas is absent: the tests that need it are UNSUPPORTED")
clang = shutil.which("clang")
if clang:
    config.available_features.add("clang")
    config.substitutions.append(("%clang", clang))
else:
    lit_config.note("clang is absent: the epilogue in C is UNSUPPORTED")
if shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"):
    config.available_features.add("chromium")
else:
    lit_config.note("Chromium is absent: the tests of pages are UNSUPPORTED")
if config.asan == "ON":
    config.available_features.add("asan")
config.available_features.add("llvm")
for name in ["TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]
# LLVM and the driver keep memory until the process ends, by design.
config.environment.setdefault("ASAN_OPTIONS", "detect_leaks=1")
