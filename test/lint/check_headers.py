"""check_headers.py INCLUDE_DIR CC CXX: each public header compiles alone, included twice, as C11 and C++17."""
import os
import subprocess
import sys

include, cc, cxx = sys.argv[1:4]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", include]
LANGUAGES = [("C11", [cc, "-std=c11", "-Wstrict-prototypes", "-x", "c"]),
             ("C++17", [cxx, "-std=c++17", "-x", "c++"])]
failed = 0
headers = sorted(h for h in os.listdir(os.path.join(include, "heddle")) if h.endswith(".h"))
for header in headers:
    text = f"#include <heddle/{header}>\n#include <heddle/{header}>\ntypedef int not_empty;\n"
    for language, command in LANGUAGES:
        run = subprocess.run(command + STRICT + ["-"], input=text, text=True, capture_output=True)
        if run.returncode:
            failed += 1
            print(f"{header} does not compile alone as {language}:\n{run.stderr}")
print(f"headers={len(headers)} failed={failed}")
sys.exit(1 if failed or not headers else 0)
