"""check_injected.py ROOT: each rule of check_rules.py finds the violation injected for it."""
import os
import sys
import tempfile

import check_rules

INJECTED = {  # file: (content, the finding)
    "lib/Sim/up.c": ('#include "Spec/spec.h"\n', "include: Sim may use"),
    "lib/Layout/up2.c": ('#include "Support/arena.h"\n#include "Compile/compile.h"\n',
                         "up2.c:2: include"),
    "lib/IR/up3.c": ('#include "Emit/emit.h"\n', "include: Emit stands above IR"),
    "lib/Passes/llvm.c": ("#include <llvm-c/Core.h>\n", "llvm: only lib/Emit"),
    "lib/IR/says.c": ('/* printf( */\nvoid f(void) { printf("x"); }\n', "says.c:2: calls"),
    "lib/Check/env.c": ("char *f(void) { return getenv(NAME); }\n", "reads the environment"),
    "lib/Spec/reads.c": ("void f(void) { fopen(a, b); }\n", "calls the system: fopen"),
    "lib/Spec/frees.c": ("void f(void) { free(a); }\n", "frees with another"),
    "lib/Bare/x.c": ("\n", "lib/Bare: readme"),
    "lib/Wordy/README.md": ("line\n" * 41, "41 lines"),
    "lib/Wordy/long.c": ("\n" * 601, "length: 601"),
    "lib/Service/much.c": ("\n" * 4001, "lib/Service: length: 4001 lines, at most 4000"),
    "test/unit/wide.c": ("/* " + "é" * 95 + " */\n", "wide.c:1: width: 101"),
    "lib/IR/unread.h": ("typedef struct s {\n  int kept, *lost[2];\n} s;\nint f(s x) { return x.kept; }\n",
                        "unread.h:1: unread: nothing names the field lost"),
    "tools/other/says.c": ("\n", "unique: lib/IR/says.c"),
    "lib/Sim/refuses.c": ('\nvoid f(void) { hd_error(c, s, l, "no.test", ""); }\n',
                          "refuses.c:2: tested: no test names no.test"),
    "lib/Sim/words.c": ('f(c, "got 3, expected 4");\ng("got 3; legal: 1, 2, nearest 2");\n',
                        "words.c:2: words: ', nearest 2'"),
    "lib/IR/verify_words.c": ('f(v, "ir.no-test", "no; legal: 1");\n'
                              'hd_verify_fail(v, op, "ir.no-test", "%d is no"\n  "number");\n',
                              "verify_words.c:2: words: ir.no-test says nothing legal"),
    "tools/other/words2.c": ('f(c, "got 3; did you mean 4?");\n', "words: 'did you mean'"),
    "lib/Sim/old.c": ("/* a loader */\n", "old.c:1: retired: 'loader'"),
    "docs/old.md": ("schedules:\nshare=a\n", "old.md:2: retired: 'share='"),
    "docs/phrase.md": ("Two CTAs an SM.\n", "phrase.md:1: retired: 'CTAs an SM'"),
    "lib/Sim/phrase.c": ("/* This reads what is there. */\n", "phrase.c:1: retired: 'what is there'"),
    "test/unit/names.c": ("/* other.no.test, no.test-case */\n", "no test names no.test"),
}


def inject(root, source):
    with open(os.path.join(root, "CMakeLists.txt"), "w") as out:
        out.write(open(os.path.join(source, "CMakeLists.txt")).read())
    os.makedirs(os.path.join(root, "test"))
    for path, (content, _) in INJECTED.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w") as out:
            out.write(content)


with tempfile.TemporaryDirectory() as root:
    inject(root, sys.argv[1])
    found = "\n".join(check_rules.breaches(root))
    missed = [what for _, what in INJECTED.values() if what not in found]
    if "says.c:1: calls" in found:
        missed.append("(a comment was taken for code)")
for what in missed:
    print("not found:", what)
print(f"injected={len(INJECTED)} missed={len(missed)}")
sys.exit(1 if missed else 0)
