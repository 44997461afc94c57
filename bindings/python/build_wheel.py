"""The wheel: this package with libheddle, LLVM inside it. A build backend as PEP 517 has them, of the standard
library alone.

    pip install bindings/python                       # builds libheddle (the static-llvm preset) first
    pip wheel bindings/python -C library=PATH         # with a libheddle.so that is there
    python3 build_wheel.py --stage DIR --library PATH # the package as a folder, for tests

The tag says the oldest glibc that the library's symbols need, read from the library."""
import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import make_declarations  # noqa: E402

SONAME = "libheddle.so.0.1"
# What is linked into the library, by the Debian packages whose copyright files say the terms.
INSIDE = ("llvm-22-dev", "libjansson-dev", "libxxhash-dev", "libffi-dev", "zlib1g-dev", "libzstd-dev",
          "libstdc++-12-dev", "libgcc-12-dev")


def run(*command):
    subprocess.run(command, check=True, stdout=sys.stderr)


def version():
    text = open(os.path.join(ROOT, "include/heddle/version.h")).read()
    return re.search(r'define HEDDLE_VERSION "(.*)"', text).group(1)


def build_library():
    """libheddle with LLVM inside, built as the preset says."""
    folder = os.path.join(ROOT, "build-static")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        run("cmake", "-S", ROOT, "--preset", "static-llvm", "-DHEDDLE_TESTS=OFF")
    run("cmake", "--build", folder, "--target", "libheddle")
    return os.path.join(folder, "lib", "libheddle.so")


def platform_tag(library):
    """manylinux_2_35_x86_64: the newest glibc symbol decides."""
    names = subprocess.run(["objdump", "-T", library], check=True, text=True, capture_output=True).stdout
    newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", names))
    return f"manylinux_2_{newest}_{os.uname().machine}"


def stage(out, library):
    """The package as a folder: sources, declarations made of the headers, the library."""
    package = os.path.join(out, "heddle")
    shutil.copytree(os.path.join(HERE, "heddle"), package, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__", "*.so*", "_c.py*"))
    make_declarations.main(os.path.join(ROOT, "include"), package)
    target = os.path.join(package, SONAME)
    shutil.copy(os.path.realpath(library), target + ".new")
    os.chmod(target + ".new", 0o755)
    os.replace(target + ".new", target)
    return package


def notices():
    """The terms of what the library holds, as Debian's packages state them."""
    out = ["libheddle.so holds code of these packages of Debian 12; their terms:\n"]
    for name in INSIDE:
        path = f"/usr/share/doc/{name}/copyright"
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else "(not installed as a package here)\n"
        out.append(f"\n{'=' * 78}\n{name}\n{'=' * 78}\n\n{text}")
    return "".join(out)


def metadata():
    readme = open(os.path.join(HERE, "README.md"), encoding="utf-8").read()
    return (f"Metadata-Version: 2.3\nName: heddle\nVersion: {version()}\n"
            "Summary: Kernels for 2:4-sparse matrix multiplication on NVIDIA tensor cores\n"
            "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICES\n"
            "Requires-Python: >=3.10\nRequires-Dist: numpy>=1.24\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def write_info(folder, tag):
    info = os.path.join(folder, f"heddle-{version()}.dist-info")
    os.makedirs(os.path.join(info, "licenses"))
    shutil.copy(os.path.join(ROOT, "LICENSE"), os.path.join(info, "licenses", "LICENSE"))
    texts = {"METADATA": metadata(), "licenses/NOTICES": notices(),
             "WHEEL": f"Wheel-Version: 1.0\nGenerator: heddle\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n",
             "entry_points.txt": "[console_scripts]\nheddle-weights = heddle.weights:main\n"}
    for name, text in texts.items():
        with open(os.path.join(info, name), "w", encoding="utf-8") as stream:
            stream.write(text)
    return info


def zip_folder(folder, info, path):
    """Every file with its hash in RECORD; fixed times, so that the same input gives the same bytes."""
    files = sorted(os.path.join(d, name) for d, _, names in os.walk(folder) for name in names)
    record = os.path.join(info, "RECORD")
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def put(name, data, mode):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=9)
        for file in files:
            name, data = os.path.relpath(file, folder), open(file, "rb").read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            put(name, data, os.stat(file).st_mode & 0o777 | 0o100000)
        name = os.path.relpath(record, folder)
        put(name, "".join(lines) + f"{name},,\n", 0o100644)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = (config_settings or {}).get("library") or build_library()
    if not os.path.isfile(library):
        raise SystemExit(f"got library={library}, which is not a file; legal: the whole path of {SONAME}")
    tag = platform_tag(library)
    name = f"heddle-{version()}-py3-none-{tag}.whl"
    with tempfile.TemporaryDirectory() as folder:
        package = stage(folder, library)
        run("strip", os.path.join(package, SONAME))
        zip_folder(folder, write_info(folder, tag), os.path.join(wheel_directory, name))
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("heddle: there is no source distribution; build the wheel from a clone")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", required=True)
    parser.add_argument("--library", required=True)
    arguments = parser.parse_args()
    stage(arguments.stage, arguments.library)
