"""explain_bytes.py HEDDLE DIR FILE...: explain prints the shared memory that the launch of each variant requests.

For each file and variant, the bytes that explain prints must equal those of the manifest that gen writes."""
import json
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    heddle, folder, *files = sys.argv[1:]
    wrong = variants = 0
    for file in map(pathlib.Path, files):
        extra = ["--epilogue", file.with_suffix(".ll")] if file.with_suffix(".ll").exists() else []
        for path in pathlib.Path(folder).glob("*"):
            path.unlink()
        output(heddle, "gen", file, *extra, "--ptxas", "none", "-o", folder)
        manifest = json.loads(next(pathlib.Path(folder).glob("*.json")).read_text())
        taken = [variant["shared_bytes"] for variant in manifest["variant"]]
        said = [int(n) for n in re.findall(r"(?m)^variant .* (\d+) bytes of shared memory$", output(heddle, "explain", file, *extra, "--ptxas", "none"))]
        variants += len(taken)
        if said != taken:
            wrong += 1
            print(f"{file.name}: explain says {said}, the kernel takes {taken}")
    print(f"files={len(files)} variants={variants} wrong={wrong}")
    return 1 if wrong else 0


sys.exit(main())
