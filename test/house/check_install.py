"""check_install.py --build DIR --consumer DIR --cmake CMAKE --cc CC

Installs the build into a fresh tree, then builds and runs a stranger's program against it: through
find_package(heddle) and through pkg-config.
"""
import argparse
import os
import subprocess
import tempfile

parser = argparse.ArgumentParser()
for name in ("--build", "--consumer", "--cmake", "--cc"):
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


def by_pkg_config(prefix, work):
    folders = [os.path.dirname(os.path.join(d, f)) for d, _, fs in os.walk(prefix) for f in fs
               if f == "heddle.pc"]
    env = dict(os.environ, PKG_CONFIG_PATH=folders[0])
    library = os.path.dirname(folders[0])
    for name in ("heddle", "heddle-runtime"):
        flags = run("pkg-config", "--cflags", "--libs", name, env=env).split()
        program = os.path.join(work, name)
        run(args.cc, "-std=c11", "-Wall", "-Wextra", "-Werror",
            os.path.join(args.consumer, "consumer.c"), *flags, f"-Wl,-rpath,{library}", "-o",
            program)
        expect(run(program), "consumer=ok")


with tempfile.TemporaryDirectory() as work:
    tree = os.path.join(work, "tree")
    run(args.cmake, "--install", args.build, "--prefix", tree)
    for tool in ("heddle",):
        expect(run(os.path.join(tree, "bin", tool), "--version"), "heddle ")
    by_cmake(tree, work)
    by_pkg_config(tree, work)
print("install=ok")
