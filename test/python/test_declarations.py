"""make_declarations.py: a declaration that it does not understand is an error, and never left out."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAKER = os.path.join(ROOT, "bindings/python/make_declarations.py")
CASES = [  # text of a header; expected text in _c.py, or None: refused
    ('HEDDLE_API int heddle_x(const char *s, int64_t v[3]);', '_heddle_x = _bind("heddle_x", c_int, c_char_p, POINTER(c_int64))'),
    ("typedef bool (*heddle_tell)(void *user, size_t n);\ntypedef struct heddle_o {\n  heddle_tell tell;\n} heddle_o;",
     "heddle_tell = CFUNCTYPE(c_bool, c_void_p, c_size_t)"),
    ("typedef struct heddle_o {\n  bool (*tell)(void *user, size_t n);\n} heddle_o;",
     "('tell', CFUNCTYPE(c_bool, c_void_p, c_size_t))"),
    ("typedef enum heddle_e { HEDDLE_A, HEDDLE_B = 7, HEDDLE_C } heddle_e;", "HEDDLE_C = 8"),
    ("typedef struct heddle_s {\n  float x, *y;\n  char name[16];\n} heddle_s;", "('name', c_char * 16)"),
    ("HEDDLE_API wchar_t heddle_x(void);", None),
    ("HEDDLE_API int heddle_x(struct unheard_of *p);", None),
    ("int heddle_global;", None),
]
failed = 0
for text, want in CASES:
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "heddle"))
        open(os.path.join(work, "heddle", "x.h"), "w").write(f'#define HEDDLE_N 3\n{text}\n')
        done = subprocess.run([sys.executable, MAKER, work, work], text=True, capture_output=True)
        got = open(os.path.join(work, "_c.py")).read() if done.returncode == 0 else None
    if (got is None) != (want is None) or (want and want not in got):
        failed += 1
        print(f"{text}\nwanted {want}, got exit {done.returncode} {done.stderr}")
print(f"cases={len(CASES)} failed={failed}")
sys.exit(failed > 0)
