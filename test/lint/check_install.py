"""check_install.py --build DIR --consumer DIR --examples DIR --cmake CMAKE --cc CC

Installs the build into a fresh tree, then builds and runs an external program against it: through
find_package(heddle) and through pkg-config, with the shared libraries and with the archives. Also builds
and runs the programs of examples/: they must be right on a device, and without one fail for that
reason alone. The targets of all links in the installed texts must exist, too.
"""
import argparse
import os
import re
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
    run(args.cmake, "-G", "Ninja", "-S", args.consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={args.cc}", f"-DEXAMPLES={args.examples}")
    run(args.cmake, "--build", build)
    for name in ("", "-runtime", "-static", "-runtime-static", "-both-static"):
        program = os.path.join(build, "consumer" + name)
        expect(run(program), "consumer=ok")
        check_linked(program, "static" in name, "runtime" in name)
    for form in ("kernels", "kernels-compressed"):
        for name in ("c", "cc"):
            program = os.path.join(build, f"{form}-{name}")
            expect(run(program), "a pointer is null")
            needed = run("ldd", program)
            if "heddle" in needed or ("zstd" in needed) != ("compressed" in form):
                raise SystemExit(f"{program} needs\n{needed}")


def check_linked(program, static, runtime):
    """With an archive, no library of Heddle is needed at run time; the runtime needs no LLVM."""
    needed = run("ldd", program)
    if static == ("libheddle" in needed) or runtime and "LLVM" in needed:
        raise SystemExit(f"{program} needs\n{needed}")
    if not static:  # until 1.0 each minor version is a new interface
        expect(needed, f".so.{minor_version} ")


def pkg_config(prefix, *words):
    """The flags that pkg-config prints for an installed package, and the folder of the libraries."""
    folder = next(d for d, _, files in os.walk(prefix) if "heddle.pc" in files)
    said = run("pkg-config", *words, env=dict(os.environ, PKG_CONFIG_PATH=folder))
    return said.split(), os.path.dirname(folder)


def compile_with(package, source, prefix, work, *more):
    """Compiles one source against an installed package; returns the program's path."""
    flags, libraries = pkg_config(prefix, "--cflags", "--libs", package)
    program = os.path.join(work, f"{package}-{os.path.basename(source)[:-2]}")
    run(args.cc, "-std=c11", "-Wall", "-Wextra", "-Werror", source, *flags, *more,
        f"-Wl,-rpath,{libraries}", "-o", program)
    return program


def by_pkg_config(prefix, work):
    for package in ("heddle", "heddle-runtime", "heddle-static", "heddle-runtime-static"):
        program = compile_with(package, os.path.join(args.consumer, "consumer.c"), prefix, work)
        expect(run(program), "consumer=ok")
        check_linked(program, "static" in package, "runtime" in package)
    for package in ("heddle", "heddle-static"):
        tuned = pkg_config(prefix, "--variable=tuned", package)[0][0]
        if not os.path.isfile(tuned):
            raise SystemExit(f"{package}.pc: no choices in {tuned}")


def run_example(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    wanted = {0: r"\b0 of ", 4: "driver"}.get(done.returncode)
    if not wanted or not re.search(wanted, done.stdout):
        raise SystemExit(f"{command[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def examples(prefix, work):
    jit, typed = ([compile_with(package + form, os.path.join(args.examples, name), prefix, work)
                   for form in ("", "-static")]
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
    for program in jit:
        run_example(program)
    library = os.path.join(pkg_config(prefix, "--libs", "heddle")[1], f"libheddle.so.{minor_version}")
    expect(run(sys.executable, os.path.join(args.examples, "dsl.py"), library), " 0 of ")
    experts = compile_with("heddle", os.path.join(args.examples, "experts.c"), prefix, work,
                           os.path.join(args.examples, "product.c"), "-lm")
    run_example(experts, *(os.path.join(args.examples, f"experts_{of}.heddle") for of in ("up", "down")))
    for program in typed:
        run_example(program, *(os.path.join(work, "dynamic_tokens." + end) for end in ("json", "ptx")))


def texts(folder):
    if sorted(os.listdir(folder)) != ["LICENSE", "README.md", "docs", "examples"]:
        raise SystemExit(f"{folder} has {os.listdir(folder)}")
    pages = [os.path.join(d, name) for d, _, files in os.walk(folder) for name in files if name.endswith(".md")]
    for page in pages:
        for link in re.findall(r"\]\(([^):#]+)[^):]*\)", open(page).read()):
            if not os.path.exists(os.path.join(os.path.dirname(page), link)):
                raise SystemExit(f"{page}: no {link}")


def manual(prefix):
    """The manual page has a section for each command, each tool has a page, bash completes commands and options."""
    for tool in ("heddle-opt", "heddle-sim", "heddle-mutate"):
        expect(open(os.path.join(prefix, "share", "man", "man1", tool + ".1")).read(), f".SH NAME\n{tool} \\- ")
    page = open(os.path.join(prefix, "share", "man", "man1", "heddle.1")).read()
    for word in ("gen", "descriptor"):
        expect(page, f".SH {word}\n.nf\nusage: heddle {word}")
    completion = os.path.join(prefix, "share", "bash-completion", "completions", "heddle")
    script = f'. {completion}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heddle "$1" "${{@: -1}}"; echo "${{COMPREPLY[@]}}"'
    for word, words in (("dec", ["decompress"]), ("--siz", ["--size"])):
        first = ["run"] if word.startswith("-") else []
        said = run("bash", "-c", script, "-", os.path.join(prefix, "bin", "heddle"), *first, word)
        if said.split() != words:
            raise SystemExit(f"bash completes {word} to {said}")
    for path in (("zsh", "site-functions", "_heddle"), ("fish", "vendor_completions.d", "heddle.fish")):
        expect(open(os.path.join(prefix, "share", *path)).read(), "--complete")


with tempfile.TemporaryDirectory() as work:
    tree = os.path.join(work, "tree")
    run(args.cmake, "--install", args.build, "--prefix", tree)
    name, version = run(os.path.join(tree, "bin", "heddle"), "--version").split()[:2]
    minor_version = version.rpartition(".")[0]
    texts(os.path.join(tree, "share", "doc", "heddle"))
    manual(tree)
    by_cmake(tree, work)
    by_pkg_config(tree, work)
    examples(tree, work)
print("install=ok")
