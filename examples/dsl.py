"""A DSL in another language: builds a problem by calls, compiles it, and runs it without a GPU.

    python3 examples/dsl.py [LIBHEDDLE]

LIBHEDDLE: path of libheddle.so.0.1, if the loader does not find it. Needs only the standard library: the
declarations below are all that a binding needs (include/heddle/*.h); structs start with zeros."""
import ctypes as c
import random
import struct
import sys

M, N, K = 96, 24, 160
DIM_M, DIM_N, DIM_K = range(3)  # heddle_dim
BF16, F32 = 1, 13               # heddle_elem: the numbers of docs/format.md
K_MAJOR, _, ROW_MAJOR, _ = range(4)

heddle = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libheddle.so.0.1")


class Diagnostic(c.Structure):
    _fields_ = [("severity", c.c_int), ("rule", c.c_char_p), ("text", c.c_char_p), ("file", c.c_char_p),
                ("line", c.c_uint32), ("col", c.c_uint32)]


class Arg(c.Union):
    _fields_ = [("ptr", c.c_void_p), ("i32", c.c_int32), ("i64", c.c_int64), ("f32", c.c_float)]


class ManifestArg(c.Structure):
    _fields_ = [("name", c.c_char_p), ("arg_class", c.c_int), ("elem", c.c_int), ("align", c.c_int32),
                ("divisible_by", c.c_int64), ("max", c.c_int64)]


class Simulation(c.Structure):
    _fields_ = [("manifest", c.c_char_p), ("ptx", c.c_char_p), ("manifest_bytes", c.c_size_t),
                ("ptx_bytes", c.c_size_t), ("args", c.POINTER(Arg)), ("arg_bytes", c.POINTER(c.c_size_t)),
                ("n_args", c.c_size_t), ("order", c.c_int), ("seed", c.c_uint64)]


def declare(result, name, *arguments):
    function = getattr(heddle, name)
    function.restype, function.argtypes = result, arguments


P, S, INT, SIZE, I64, U32, BOOL = c.c_void_p, c.c_char_p, c.c_int, c.c_size_t, c.c_int64, c.c_uint32, c.c_bool
OUT, U64 = c.POINTER(P), c.c_uint64
for line in [(P, "context_create"), (SIZE, "context_count", P), (c.POINTER(Diagnostic), "context_get", P, SIZE),
             (SIZE, "diagnostic_format", c.POINTER(Diagnostic), P, SIZE), (None, "context_clear", P),
             (P, "problem_create", S, S), (None, "problem_free", P), (None, "problem_set_size", P, INT, I64),
             (None, "problem_set_place", P, S, U32, U32), (None, "problem_set_dynamic", P, INT, I64, I64),
             (None, "problem_set_a", P, INT), (None, "problem_set_b", P, INT, INT, I64, I64),
             (None, "problem_set_c", P, INT, INT, I64, I64), (None, "problem_set_d", P, INT, INT, I64, I64),
             (None, "problem_set_bias", P, INT, INT), (None, "problem_set_scalars", P, BOOL, BOOL),
             (None, "problem_set_act", P, S), (INT, "problem_build", P, P, OUT), (None, "module_free", P),
             (INT, "compile_module", P, P, P, OUT), (None, "compiled_free", P),
             (S, "compiled_ptx", P, P), (S, "compiled_manifest", P, P), (S, "compiled_schedule", P),
             (INT, "manifest_read", P, S, SIZE, OUT), (None, "manifest_free", P), (S, "manifest_prototype", P),
             (S, "manifest_family", P), (SIZE, "manifest_arg_count", P),
             (INT, "manifest_get_arg", P, SIZE, c.POINTER(ManifestArg)), (INT, "family_parse", S, c.POINTER(INT)),
             (INT, "sparse_prune", P, INT, U64, U64, P, SIZE),
             (INT, "sparse_packed_bytes", P, INT, INT, U64, U64, c.POINTER(SIZE)),
             (INT, "sparse_pack_dense", P, INT, INT, U64, U64, P, SIZE, P),
             (INT, "simulate", P, c.POINTER(Simulation))]:
    declare(line[0], "heddle_" + line[1], *line[2:])

ctx = heddle.heddle_context_create()


class Refused(Exception):
    pass


def must(status):
    """Raises Refused with the diagnostics in the context if the status is not 0."""
    if status == 0:
        return
    text, said = c.create_string_buffer(1024), []
    for i in range(heddle.heddle_context_count(ctx)):
        heddle.heddle_diagnostic_format(heddle.heddle_context_get(ctx, i), text, len(text))
        said.append(text.value.decode())
    heddle.heddle_context_clear(ctx)
    raise Refused("\n".join(said))


def make(create, *arguments):
    out = P()
    must(create(*arguments, c.byref(out)))
    return out


def linear(target, k=K):
    """D = relu(alpha * A B + C + bias), n known at launch. Errors refer to the next line."""
    p = heddle.heddle_problem_create(b"linear", target.encode())
    heddle.heddle_problem_set_place(p, __file__.encode(), sys._getframe().f_lineno, 5)
    heddle.heddle_problem_set_size(p, DIM_M, M)
    heddle.heddle_problem_set_dynamic(p, DIM_N, 4096, 0)
    heddle.heddle_problem_set_size(p, DIM_K, k)
    heddle.heddle_problem_set_a(p, BF16)
    heddle.heddle_problem_set_b(p, BF16, K_MAJOR, k, 0)
    heddle.heddle_problem_set_c(p, F32, ROW_MAJOR, 0, 0)
    heddle.heddle_problem_set_d(p, F32, ROW_MAJOR, 0, 0)
    heddle.heddle_problem_set_bias(p, F32, DIM_M)
    heddle.heddle_problem_set_scalars(p, True, False)
    heddle.heddle_problem_set_act(p, b"relu")
    try:
        module = make(heddle.heddle_problem_build, ctx, p)
        try:
            return make(heddle.heddle_compile_module, ctx, module, None)
        finally:
            heddle.heddle_module_free(module)
    finally:
        heddle.heddle_problem_free(p)


def bf16(values):
    """Small integers as bf16: the upper 16 bits of an f32, which are exact."""
    return (c.c_uint16 * len(values))(*(struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in values))


def pack(takes, weights):
    """Prunes dense weights to 2:4 in place, and packs them for the kernel."""
    family, n = INT(), SIZE()
    must(heddle.heddle_family_parse(heddle.heddle_manifest_family(takes), c.byref(family)))
    must(heddle.heddle_sparse_prune(ctx, BF16, M, K, weights, 2 * K))
    must(heddle.heddle_sparse_packed_bytes(ctx, BF16, family, M, K, c.byref(n)))
    packed = c.create_string_buffer(n.value)
    must(heddle.heddle_sparse_pack_dense(ctx, BF16, family, M, K, weights, 2 * K, packed))
    return packed


def run(kernel, takes, values):
    """Runs one launch. values by name: memory for pointers, a number otherwise."""
    n = heddle.heddle_manifest_arg_count(takes)
    args, sizes, arg = (Arg * n)(), (SIZE * n)(), ManifestArg()
    for i in range(n):
        must(heddle.heddle_manifest_get_arg(takes, i, c.byref(arg)))
        value = values[arg.name.decode()]
        if arg.arg_class == 0:
            args[i].ptr, sizes[i] = c.addressof(value), c.sizeof(value)
        else:
            setattr(args[i], ("i32", "i64", "f32")[arg.arg_class - 1], value)
    manifest, ptx = heddle.heddle_compiled_manifest(kernel, None), heddle.heddle_compiled_ptx(kernel, None)
    must(heddle.heddle_simulate(ctx, Simulation(manifest, ptx, len(manifest), len(ptx), args, sizes, n, 0, 0)))


def wrong(target):
    """Compiles for a target, runs small integers, and counts differences from plain Python."""
    kernel = linear(target)
    manifest = heddle.heddle_compiled_manifest(kernel, None)
    takes = make(heddle.heddle_manifest_read, ctx, manifest, len(manifest))
    rng = random.Random(1)
    a, b = ([rng.randint(-2, 2) for _ in range(rows * K)] for rows in (M, N))
    c_in, bias = ((c.c_float * n)(*(rng.randint(-9, 9) for _ in range(n))) for n in (M * N, M))
    d, weights = (c.c_float * (M * N))(), bf16(a)
    run(kernel, takes, {"a": pack(takes, weights), "b": bf16(b), "c": c_in, "d": d, "bias": bias, "n": N,
                        "ldc": N, "ldd": N, "alpha": 0.5})
    a = [x if bits else 0 for x, bits in zip(a, weights)]
    bad = sum(d[i * N + j] != max(0, 0.5 * sum(map(int.__mul__, a[i * K:][:K], b[j * K:][:K]))
                                  + c_in[i * N + j] + bias[i]) for i in range(M) for j in range(N))
    print(f"{target}: {heddle.heddle_manifest_prototype(takes).decode()}: {bad} of {M * N} wrong")
    heddle.heddle_manifest_free(takes)
    heddle.heddle_compiled_free(kernel)
    return bad


if __name__ == "__main__":
    try:
        linear("sm_90a", k=158)
    except Refused as refusal:
        print(refusal)
    sys.exit(any([wrong(target) for target in ("sm_80", "sm_90a", "sm_100a")]))
