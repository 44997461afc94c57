"""Words of earlier versions that no file of the project may use (docs/glossary.md), each with the term that replaces
it. A word is added once the tree is free of it."""
import os
import re

# Checked texts: names, comments, messages, help and documentation.
TOPS = ["lib", "tools", "include", "test", "docs", "examples", "specs", "bindings", "cmake"]
SUFFIXES = (".c", ".h", ".def", ".td", ".md", ".py", ".cpp", ".cu", ".sh", ".cmake", ".test", ".heddle", ".in", ".txt")
SKIPPED = re.compile(r"docs/bench/|docs/glossary\.md|CHANGELOG\.md|test/lint/(?:retired_words|check_injected)\.py|build")

RETIRED = {
    r"granules?": "k-block",
    r"judges?|judged|judging": "verified by, validated, checked",
    r"planted": "injected",
    r"kernels? ahead(?! of time)": "predecessor kernel",
    r"kernel behind": "dependent kernel",
    r"crews?": "worker",
    r"loaders?": "metadata warps (the role), or what is meant",
    r'name = "(?:issuer|loader)"': '"mma", "metadata" (roles)',
    r"place_barriers|place_fences": "insert_barriers, insert_fences",
    r"banks? of accumulators|(?:in|the|a) banks?": "pinned accumulators",
    r"in turns": "interleaved",
    r"CTAs? an SM": "CTAs per SM",
    r"(?:accumulators?|ctx) a thread|one a kernel": "per thread, per kernel",
    r"(?:one|launch) ahead(?! of)": "predecessor",
    r"the one behind": "the next one, the dependent kernel",
    r"who copies": "producer",
    r"this binds|what binds": "bottleneck",
    r"none of 0 to": "outside 0 to",
    r"go(?:es)? on with --resume": "continue with --resume",
    r"got no --\w+": "--OPTION is missing",
    r"is no family": "unknown family",
    r"promises? of the caller": "attributes that the caller guarantees",
    r"whatever was tuned": "ignore tuned choices",
    r"what is there": "existing, available, current",
    r"no kernel can do": "no kernel supports",
    r"(?:share|spread|ctas|pending)=": "multicast, cluster_launch, ctas_per_sm, wgmma_in_flight (keys of a schedule)",
}

# The word in its ordinary sense: file pattern and the allowed text.
EXEMPT = [
    (r"SECURITY\.md", "given to the loader"),
    (r"test/cli/bench-grid\.test", "where the loader looks"),
    (r"test/check/turns\.py", "in_turn"),
    (r"examples/dsl\.py|tools/heddle/(?:bench_peers\.[ch]|cmd_bench\.c)|lib/Runtime/kernel_load\.c",
     r"the loader (?:does not find|finds|looks)|driver's loader"),
    (r"lib/(?:Layout|Passes|Sim)/|test/unit/Layout/", r"banks?"),
    # Names of the previous version, in texts and databases of users: they are accepted, with a note.
    (r"test/(?:passes|tune|cli|unit|compare_builds|service|agent)", r"(?:share|spread|ctas|pending)="),
    (r"lib/Tune/records_open\.c", r"(?:share|spread|ctas|pending)="),
]


def texts(root):
    for name in sorted(os.listdir(root)):
        if name.endswith(".md") and not SKIPPED.search(name):
            yield name, open(os.path.join(root, name), errors="replace").read()
    for top in TOPS:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                path = os.path.join(folder, name)
                short = os.path.relpath(path, root)
                if name.endswith(SUFFIXES) and not SKIPPED.search(short):
                    yield short, open(path, errors="replace").read()


def is_exempt(path, line):
    return any(re.search(where, path) and re.search(words, line, re.I) for where, words in EXEMPT)


def check_retired(root):
    patterns = [(re.compile(rf"(?<![\w-])(?:{word})(?![\w-])" if word[-1] != "=" else rf"\b{word}"), now)
                for word, now in RETIRED.items()]
    for path, text in texts(root):
        for number, line in enumerate(text.split("\n"), 1):
            for pattern, now in patterns:
                match = pattern.search(line)
                if match and not is_exempt(path, line):
                    yield f"{path}:{number}: retired: '{match.group()}'; nearest: {now}"
