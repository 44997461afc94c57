"""The names of refusals, as hd_error and its like give them: each stands in a test, or is listed here
with what keeps it out of one. The list only grows shorter."""
import os
import re

UNTESTED = {
    "no memory": "cache.put device.open manifest.write npy.memory reference.memory rotation.create "
                 "sparse.memory kernel.function kernel.load",
    "a device or a library of its": "bench.contender bench.operands "
                                    "cost.launch cost.memory mutate.device mutate.launch nvml.call "
                                    "peer.case peer.launch peer.open peer.product run.verify "
                                    "trial.arguments tune.final",
    "a fault of ours or of LLVM's": "emit.intrinsic emit.llvm emit.value emit.verify manifest.act "
                                    "user.link user.llvm",
    "a check before it": "run.stride run.user-epilogue spec.unjudged trial.plant",
}
NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9_]+(?:-[a-z0-9]+)*"
GIVEN = re.compile(r"\b(?:\w*(?:error|note|warning|fail|refuse)\w*|REFUSE\w*)\s*\("
                   rf'[^;"]*"({NAME})"')


def texts_under(root, tops):
    for top in tops:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, root), open(path, errors="replace").read()


def check_names(root):
    given = {}
    for path, text in texts_under(root, ["lib", "tools"]):
        if path.endswith((".c", ".h")):
            for match in GIVEN.finditer(text):
                line = text.count("\n", 0, match.end()) + 1
                given.setdefault(match.group(1), f"{path}:{line}")
    tested = set()
    for path, text in texts_under(root, ["test"]):
        if not path.startswith("test/house/"):
            tested.update(re.findall(rf"(?<![\w.-]){NAME}(?![\w-])", text))
    listed = set(" ".join(UNTESTED.values()).split())
    for name in sorted(given.keys() - tested - listed):
        yield f"{given[name]}: tested: no test names {name}"
    for name in sorted(listed & tested | listed - given.keys()):
        yield f"test/house/rule_names.py: tested: {name} is listed for nothing"
