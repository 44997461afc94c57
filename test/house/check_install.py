"""check_install.py --build DIR --consumer DIR --examples DIR --cmake CMAKE --cc CC

Installs the build into a fresh tree, then builds and runs a stranger's program against it: through
find_package(heddle) and through pkg-config; and the examples' programs, which use it in earnest:
right on a device, and without one refused for that reason alone.
"""
import argparse
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
for name in ("--build", "--consumer", "--examples", "--cmake", "--cc"):
    parser.add_argument(name, required=True)
args = parser.parse_args()


def run(*command, env=None):
    done = subprocess.run(command, text=True, capture_output=True, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(text, what):
    if what not in text:
        raise SystemExit(f"expected '{what}' in:\n{text}")


def by_cmake(prefix, work):
    build = os.path.join(work, "cmake")
    run(args.cmake, "-S", args.consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={args.cc}")
    run(args.cmake, "--build", build)
    expect(run(os.path.join(build, "consumer")), "consumer=ok")
    expect(run(os.path.join(build, "consumer-runtime")), "consumer=ok")


def compile_with(package, source, prefix, work):
    """Compiles one source against an installed package; the program's path."""
    folder = next(d for d, _, files in os.walk(prefix) if "heddle.pc" in files)
    flags = run("pkg-config", "--cflags", "--libs", package,
                env=dict(os.environ, PKG_CONFIG_PATH=folder)).split()
    program = os.path.join(work, f"{package}-{os.path.basename(source)[:-2]}")
    run(args.cc, "-std=c11", "-Wall", "-Wextra", "-Werror", source, *flags,
        f"-Wl,-rpath,{os.path.dirname(folder)}", "-o", program)
    return program


def by_pkg_config(prefix, work):
    for package in ("heddle", "heddle-runtime"):
        source = os.path.join(args.consumer, "consumer.c")
        expect(run(compile_with(package, source, prefix, work)), "consumer=ok")


def run_example(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    wanted = {0: " 0 of ", 4: "driver"}.get(done.returncode)
    if not wanted or wanted not in f" {done.stdout}":
        raise SystemExit(f"{command[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def examples(prefix, work):
    jit, typed = (compile_with(package, os.path.join(args.examples, name), prefix, work)
                  for package, name in (("heddle", "jit.c"), ("heddle-runtime", "typed_function.c")))
    heddle = os.path.join(prefix, "bin", "heddle")
    run(heddle, "gen", "--ptxas", "none", "-o", work,
        os.path.join(args.examples, "dynamic_tokens.heddle"))
    w, w24, packed = (os.path.join(work, name) for name in ("w.npy", "w24.npy", "w.hdl"))
    run(sys.executable, os.path.join(args.examples, "../test/sparse/make_npy.py"), w, "<u2",
        "1024x1024", "0x3f80", "0x4000", "0xbf80")
    run(heddle, "prune", w, "--type", "bf16", "-o", w24)
    run(heddle, "pack", w24, "--type", "bf16", "-o", packed)
    aot = os.path.join(work, "aot")
    run(args.cc, "-Wall", "-Wextra", "-Werror", "-I", work, os.path.join(args.examples, "aot.c"),
        os.path.join(work, "dynamic_tokens.c"), "-o", aot)
    run_example(aot, packed)
    run(heddle, "pack", w24, "--type", "bf16", "--family", "mma", "-o", packed)
    if subprocess.run([aot, packed], stdout=subprocess.DEVNULL).returncode != 2:
        raise SystemExit("aot: takes weights in the order of another family")
    run_example(jit)
    run_example(typed, *(os.path.join(work, "dynamic_tokens." + end) for end in ("json", "ptx")))


with tempfile.TemporaryDirectory() as work:
    tree = os.path.join(work, "tree")
    run(args.cmake, "--install", args.build, "--prefix", tree)
    expect(run(os.path.join(tree, "bin", "heddle"), "--version"), "heddle ")
    texts = os.listdir(os.path.join(tree, "share", "doc", "heddle"))
    if sorted(texts) != ["LICENSE", "README.md", "docs"]:
        raise SystemExit(f"share/doc/heddle has {texts}")
    by_cmake(tree, work)
    by_pkg_config(tree, work)
    examples(tree, work)
print("install=ok")
