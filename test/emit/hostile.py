#!/usr/bin/env python3
"""hostile.py HEDDLE LLVM_BIN PROBLEM DIR: epilogues that try to crash, hang or fool the compiler.

Each module must be refused by name, as input (exit code 2 or 3 and a line error[user.…]), within two
seconds of processor time and without harm to heddle's own process. A second pass without
heddle-epilogue must refuse them, too. Bitcode with flipped bits may still be valid: it must be
accepted or refused. Prints a count by class, and the module that took longest."""
import os
import random
import resource
import shutil
import subprocess
import sys

HEDDLE, LLVM, PROBLEM, DIR = sys.argv[1:5]
LIMIT = 2.0 * float(os.environ.get("HEDDLE_SLOWER", "1"))
SIGNATURE = "float @hard_swish(float %acc, i32 %row, i32 %col, ptr %user)"


def body(text, before="", after="", attributes="", ret="float %acc"):
    """A module whose function is `text`, then a ret."""
    end = f"  ret {ret}\n" if ret else ""
    return f"{before}\ndefine {SIGNATURE} {attributes} {{\n{text}\n{end}}}\n{after}\n"


def call(name, result="float", args="float %acc", types="float", flags=""):
    used = "  ret float %y\n" if result == "float" else "  ret float %acc\n"
    left = "%y = " if result != "void" else ""
    return (f"define {SIGNATURE} {{\n  {left}call {flags} {result} @{name}({args})\n{used}}}\n"
            f"declare {result} @{name}({types})\n")


MODULES = []  # (class, name, text or bytes)


def add(kind, *texts):
    for text in texts:
        MODULES.append((kind, f"{kind}-{sum(1 for k, _, _ in MODULES if k == kind)}", text))


# LLVM's reader drops invalid debug information, and renames intrinsics: both results are allowed, without harm.
EITHER = ("dropped", "respelled")
add("respelled", *[call(n) for n in ("llvm.nvvm.ex2.approx", "llvm.nvvm.ex2.approx.x", "llvm.fabs.f32x",
                                     "llvm.exp2.f32.more", "llvm.sqrt.f32.", "llvm.sqrt")])
add("dropped",
    body("  call void @llvm.dbg.value(metadata i32 %row, metadata !1, metadata !DIExpression())",
         after="declare void @llvm.dbg.value(metadata, metadata, metadata)\n!llvm.dbg.cu = !{!0}\n"
               "!llvm.module.flags = !{!2}\n!0 = !{}\n!1 = !{}\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}"),
    body("", attributes="!dbg !0", after="!0 = !{!\"none\"}"),
    body("  %a = fadd float %acc, 1.0, !dbg !0", after="!0 = !DILocation(line: 1, scope: !0)"),
    body("", attributes="!dbg !0", after="!llvm.module.flags = !{!1}\n!1 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
         "!0 = distinct !DISubprogram(name: \"f\", scope: !0, file: !0, unit: !0)"),
    body("  #dbg_value(float %acc, !0, !DIExpression(), !0)", after="!0 = !{}"),
    body("  #dbg_declare(ptr %user, !0, !DIExpression(DW_OP_LLVM_fragment, 0, 1), !1)", after="!0 = !{}\n!1 = !{}"))
add("debug-info", body("  %a = fadd float %acc, 1.0, !dbg !7"), body("  #dbg_value(float %none, !0, !DIExpression(), !0)", after="!0 = !{}"),
    body("", after="!0 = !DILocation(line: 99999999999999999999, scope: !0)"), body("", after="!0 = !DISubprogram(name: 7)"),
    body("  call void @llvm.dbg.value(metadata i32 %row)", after="declare void @llvm.dbg.value(metadata)\n!0 = !{}") + "  store",
    "!llvm.dbg.cu = !{!0, !0, null}\n" + body("", after="!0 = distinct !DICompileUnit(language: 1, file: !0)"))
add("operand-bundle",
    body("  call void @llvm.assume(i1 true) [ \"align\"(ptr %user, i64 3) ]\n  %a = load volatile float, ptr %user",
         after="declare void @llvm.assume(i1)"),
    body("  %a = call float @llvm.fma.f32(float %acc, float %acc, float %acc) [ \"deopt\"(i32 1) ]",
         after="declare float @llvm.fma.f32(float, float, float)"),
    body("  %a = call float @g(float %acc) [ \"gc-live\"(ptr %user) ]",
         before="define float @g(float %x) {\n  ret float %x\n}"),
    body("  %a = call float @g(float %acc) [ \"clang.arc.attachedcall\"(ptr @g) ]",
         before="define float @g(float %x) {\n  ret float %x\n}"),
    body("  %a = call float @g(float %acc) [ \"ptrauth\"(i32 1, i64 2) ]",
         before="define float @g(float %x) {\n  ret float %x\n}"),
    body("  %a = call float @g(float %acc) [ \"kcfi\"(i32 1) ]",
         before="define float @g(float %x) {\n  ret float %x\n}"))
add("gc-attribute", *[body("", attributes=f'gc "{name}"')
                      for name in ("none-such", "statepoint-example", "coreclr", "shadow-stack", "erlang", "ocaml")])
add("self-reference",
    body("  %a = load ptr, ptr @g\n  %b = load float, ptr %a\n  ret float %b", before="@g = constant ptr @g", ret=None),
    body("  %a = load float, ptr @g\n  ret float %a", before="@g = constant { ptr, ptr } { ptr @g, ptr @h }\n@h = constant ptr @g", ret=None),
    body("", before="@g = alias ptr, ptr @g"),
    body("", before="@g = alias ptr, ptr @h\n@h = alias ptr, ptr @g"),
    body("", before="@g = ifunc void (), ptr @g"),
    body("  %a = load i64, ptr @g\n  %b = uitofp i64 %a to float\n  ret float %b",
         before="@g = constant i64 ptrtoint (ptr @g to i64)", ret=None),
    body("", before="@g = constant ptr getelementptr (ptr, ptr @g, i64 1)\n@k = global ptr @g"))
# Calls: exact names are allowed, not prefixes. An allowed function has one type.
add("prefix", *[call(n) for n in (
    "llvm.nvvm.tanh.approx.f", "llvm.nvvm.rcp.approx",
    "llvm.nvvm.sin.approx.g", "llvm.nvvm.lg2.approx.d", "llvm.nvvm.sqrt.approx", "llvm.nvvm.cos.approx.ftz", "llvm.nvvm.rsqrt.approx.d")],
    call("llvm.nvvm.ex2.approx.d", "double", "double 1.0", "double"),
    call("llvm.fma.f128", "fp128", "fp128 0xL0, fp128 0xL0, fp128 0xL0", "fp128, fp128, fp128"),
    call("llvm.fma.x86_fp80", "x86_fp80", "x86_fp80 0xK0, x86_fp80 0xK0, x86_fp80 0xK0", "x86_fp80, x86_fp80, x86_fp80"),
    call("llvm.abs.i128", "i128", "i128 0, i1 0", "i128, i1"),
    call("llvm.umax.i1024", "i1024", "i1024 0, i1024 0", "i1024, i1024"),
    call("llvm.minnum.f32", args="float %acc, float %acc, float %acc", types="float, float, float"),
    call("llvm.tanh.f64", "double", "double 1.0", "double"), call("llvm.abs.i32", "i32", "i32 %row, i32 1", "i32, i32"))
add("call", *[call(n) for n in ("lgammaf", "exp", "llvm.sinh.f32", "llvm.ldexp.f32", "llvm.pow.f32", "heddle.expf", "malloc")],
    # <math.h> with a wrong type, and functions that are linked for it.
    call("expf", "double", "double 1.0", "double"), call("erff", args="float %acc, float %acc", types="float, float"),
    call("llvm.exp.f64", "double", "double 1.0", "double"),
    body("  %a = call float @tanhf(float %acc)\n  %b = call float @heddle.tanhf(float %a)\n  ret float %b",
         before="define float @heddle.tanhf(float %x) {\n  ret float %x\n}\ndeclare float @tanhf(float)", ret=None),
    body("  %a = call float @expf(float %acc)\n  ret float %a",
         before="define float @heddle.expf(float %x) {\n  %a = call float @expf(float %x)\n  ret float %a\n}\ndeclare float @expf(float)", ret=None),
    *[call(n, "void", "", "") for n in (
        "llvm.nvvm.barrier0", "llvm.trap", "llvm.debugtrap", "llvm.nvvm.exit", "llvm.nvvm.membar.gl", "abort",
        "llvm.nvvm.barrier.cta.sync.aligned.all", "llvm.nvvm.fence.proxy.async", "llvm.ubsantrap")],
    call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", "", ""),
    call("llvm.nvvm.shfl.sync.bfly.i32", "i32", "i32 -1, i32 %row, i32 1, i32 31", "i32, i32, i32, i32"),
    call("llvm.memcpy.p0.p0.i64", "void", "ptr %user, ptr %user, i64 9, i1 false", "ptr, ptr, i64, i1"),
    call("llvm.memset.p0.i64", "void", "ptr %user, i8 0, i64 -1, i1 false", "ptr, i8, i64, i1"),
    call("llvm.stacksave", "ptr", "", ""),
    body("  call void asm sideeffect \"trap;\", \"\"()"),
    body("  %a = call float asm \"ex2.approx.f32 $0, $1;\", \"=f,f\"(float %acc)\n  ret float %a", ret=None),
    body("  %a = call float asm \"\", \"={bad}\"()\n  ret float %a", ret=None),
    body("  %a = call float %user(float %acc)\n  ret float %a", ret=None),
    body("  call void inttoptr (i64 64 to ptr)()"),
    body("  %a = musttail call float @hard_swish(float %acc, i32 %row, i32 %col, ptr %user)\n  ret float %a", ret=None),
    body("  %a = call fastcc float @g(float %acc)\n  ret float %a", before="define float @g(float %x) {\n  ret float %x\n}", ret=None))
# Memory that an epilogue must not access.
add("address",
    body("  %p = inttoptr i64 4096 to ptr addrspace(3)\n  %a = load float, ptr addrspace(3) %p\n  ret float %a", ret=None),
    body("  %w = zext i32 %row to i64\n  %p = inttoptr i64 %w to ptr\n  %a = load float, ptr %p\n  ret float %a", ret=None),
    body("  %w = zext i32 %row to i64\n  %p = inttoptr i64 %w to ptr addrspace(3)\n  %g = addrspacecast ptr addrspace(3) %p to ptr\n"
         "  %a = load float, ptr %g\n  ret float %a", ret=None),
    body("  %p = addrspacecast ptr %user to ptr addrspace(3)\n  %a = load float, ptr addrspace(3) %p\n  ret float %a", ret=None),
    body("  %p = addrspacecast ptr %user to ptr addrspace(5)\n  %a = load float, ptr addrspace(5) %p\n  ret float %a", ret=None),
    body("  %p = addrspacecast ptr %user to ptr addrspace(7)\n  %a = load float, ptr addrspace(7) %p\n  ret float %a", ret=None),
    body("  %a = load float, ptr addrspace(3) null\n  ret float %a", ret=None),
    body("  %a = load float, ptr inttoptr (i64 16 to ptr)\n  ret float %a", ret=None),
    body("  %a = load float, ptr getelementptr (i8, ptr null, i64 64)\n  ret float %a", ret=None),
    body("  %a = load float, ptr poison\n  ret float %a", ret=None),
    body("  %a = load float, ptr @hard_swish\n  ret float %a", ret=None),
    body("  %a = load float, ptr blockaddress(@hard_swish, %b)\n  br label %b\nb:\n  ret float %a", ret=None),
    body("  %a = load float, ptr @g\n  ret float %a", before="@g = external global float", ret=None),
    body("  %a = load float, ptr @g\n  ret float %a", before="@g = addrspace(3) global float undef", ret=None),
    body("  %a = load float, ptr addrspace(3) @g\n  ret float %a", before="@g = addrspace(3) constant float 1.0", ret=None),
    body("  %a = load float, ptr @g\n  ret float %a", before="@g = thread_local constant float 1.0", ret=None),
    body("  %a = load float, ptr @g\n  ret float %a", before="@g = global float 1.0", ret=None),
    body("  %a = load atomic float, ptr %user seq_cst, align 4\n  ret float %a", ret=None),
    body("  %a = load volatile float, ptr %user\n  ret float %a", ret=None),
    body("  store float %acc, ptr %user"), body("  %a = alloca [1000000000 x float]"),
    body("  %a = atomicrmw fadd ptr %user, float %acc seq_cst"), body("  fence seq_cst"),
    body("  %a = cmpxchg ptr %user, i32 0, i32 1 seq_cst seq_cst"),
    body("  %a = va_arg ptr %user, float\n  ret float %a", ret=None),
    body("  %a = ptrtoint ptr %user to i64\n  %b = uitofp i64 %a to float\n  ret float %b", ret=None))
# Attributes and parts of a module that change the meaning of the function.
add("attribute", *[body("", attributes=a) for a in (
    "presplitcoroutine", "naked", "strictfp", 'personality ptr @hard_swish', "prefix i32 1", "prologue i8 1")],
    "define float @hard_swish(float %acc, ...) {\n  ret float %acc\n}\n",
    "define ptx_kernel void @hard_swish(float %acc) {\n  ret void\n}\n",
    "define available_externally float @hard_swish(i64 %x) {\n  ret float 1.0\n}\n",
    f"declare {SIGNATURE}\n", "", "; nothing\n",
    "define float @other(float %acc) {\n  ret float %acc\n}\n",
    'module asm ".global .b8 x;"\n' + body(""),
    body("  %t = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
         after="declare token @llvm.coro.id(i32, ptr, ptr, ptr)", attributes="presplitcoroutine"),
    body("  unreachable", ret=None), body("  br label %a\na:\n  br label %a", ret=None),
    body("  indirectbr ptr %user, []", ret=None),
    body("  invoke void @g() to label %a unwind label %b\na:\n  ret float %acc\nb:\n  %l = landingpad {ptr, i32} cleanup\n  ret float 0.0",
         after="declare void @g()", attributes="personality ptr null", ret=None),
    body("  callbr void asm \"\", \"!i\"() to label %a [label %b]\na:\n  ret float 1.0\nb:\n  ret float 0.0", ret=None))
# Deep nesting, large sizes and exponentially large types.
deep = 20000
add("nesting",
    body("", before="@g = constant " + "{" * deep + "i8" + "}" * deep + " zeroinitializer"),
    body("", before="@g = constant " + "[1 x " * deep + "i8" + "]" * deep + " zeroinitializer"),
    body("  %a = load float, ptr " + "getelementptr (i8, ptr " * deep + "@g" + ", i64 1)" * deep, before="@g = constant i8 0"),
    body("  %a = add i64 0, " + "add (i64 1, " * deep + "ptrtoint (ptr @g to i64)" + ")" * deep, before="@g = constant i8 0"),
    body("", after="!0 = " + "!{" * deep + "}" * deep) + "garbage", body("", after="!0 = !{!0, !0, !0}\n!x = !{!0}") + "garbage",
    "(" * 100000, "define " * 50000, "%" * 100000, "@a = constant i32 " + "(" * 100000,
    body("".join(f"  %a{i} = freeze {{ float }} {'{ float %acc }' if i == 0 else f'%a{i - 1}'}\n" for i in range(10)) + "  store float 1.0, ptr %user"))
doubling = "".join(f"%t{i} = type {{ %t{i + 1}, %t{i + 1} }}\n" for i in range(40)) + "%t40 = type { i8, i8 }\n"
add("exponential-type",
    body("", before=doubling + "@g = constant %t0 zeroinitializer"),
    body("  %p = getelementptr %t0, ptr %user, i32 1\n  %a = load float, ptr %p\n  store float %a, ptr %p", before=doubling),
    body("  %a = load %t0, ptr %user", before=doubling), body("  %a = freeze %t0 poison", before=doubling),
    body("  %a = insertvalue %t20 poison, i8 1" + ", 0" * 21, before=doubling),
    body("  %a = load [1000000 x [1000000 x [1000000 x i64]]], ptr %user"),
    body("  %a = load %s, ptr %user", before="%s = type { %s }"), body("  %a = load %o, ptr %user", before="%o = type opaque"),
    body("  %a = load [4294967295 x i8], ptr %user"), body("", before="@g = constant [268435456 x i64] zeroinitializer\n@h = global i8 0"))
add("wide", *[body(f"  %a = freeze <{n} x {t}> zeroinitializer\n  %b = add <{n} x {t}> %a, %a\n  %c = extractelement <{n} x {t}> %b, i32 %row\n"
                   f"  %d = uitofp {t} %c to float\n  ret float %d", ret=None)
              for n, t in ((65536, "i64"), (4096, "i8"), (1048576, "i64"), (32, "i64"), (17, "i32"), (2, "i128"), (4, "i65"))],
    *[body(f"  %a = sext i32 %row to {t}\n  %b = mul {t} %a, %a\n  %c = sdiv {t} %b, %a\n  %d = sitofp {t} %c to float\n  ret float %d", ret=None)
      for t in ("i65", "i128", "i1024", "i65536", "i8388608")],
    body("  %a = fpext float %acc to fp128\n  %b = fptrunc fp128 %a to float\n  ret float %b", ret=None),
    body("  %a = fpext float %acc to x86_fp80\n  %b = fptrunc x86_fp80 %a to float\n  ret float %b", ret=None),
    body("  %a = fpext float %acc to ppc_fp128\n  %b = fptrunc ppc_fp128 %a to float\n  ret float %b", ret=None),
    body("  %a = freeze <vscale x 4 x float> zeroinitializer\n  %b = extractelement <vscale x 4 x float> %a, i32 0\n  ret float %b", ret=None),
    body("  %a = freeze target(\"spirv.Image\") poison"), body("  %a = load x86_amx, ptr %user"))
bomb = "".join(f"define float @a{i}(float %x) {{\n" + "".join(
    f"  %y{j} = call float @a{i + 1}(float {'%x' if j == 0 else f'%y{j - 1}'})\n" for j in range(4)) + "  ret float %y3\n}\n" for i in range(20))
bomb += "define float @a20(float %x) {\n  %y = fmul float %x, 2.0\n  ret float %y\n}\n"


def line_of(n, op="fmul float {}, 1.5"):
    text, last = [], "%acc"
    for i in range(n):
        text.append(f"  %v{i} = " + op.format(last))
        last = f"%v{i}"
    return "\n".join(text) + f"\n  ret float {last}"


add("bomb", body("  %y = call float @a0(float %acc)\n  ret float %y", before=bomb, ret=None),
    body("  %y = call float @a0(float %acc)\n  ret float %y", before=bomb.replace("@a20(float %x) {\n", "@a20(float %x) {\n  br label %b\nb:\n"), ret=None),
    body(line_of(300000), ret=None), body(line_of(30000), ret=None), body(line_of(1000), ret=None),
    body(line_of(300000, "call float @llvm.exp2.f32(float {})"), after="declare float @llvm.exp2.f32(float)", ret=None),
    body("\n".join(f"  %a{i} = call float @hard_swish(float %acc, i32 {i}, i32 0, ptr %user)" for i in range(5000))),
    body("  switch i32 %row, label %d [" + " ".join(f"i32 {i}, label %d" for i in range(100000)) + "]\nd:\n  ret float %acc", ret=None),
    body("  switch i32 %row, label %b0 [" + " ".join(f"i32 {i}, label %b{i}" for i in range(2000)) + "]\n"
         + "\n".join(f"b{i}:\n  ret float {i}.0" for i in range(2000)), ret=None),
    body("  br label %b0\n" + "\n".join(f"b{i}:\n  %c{i} = icmp eq i32 %row, {i}\n  br i1 %c{i}, label %e, label %b{i + 1}" for i in range(5000))
         + "\nb5000:\n  br label %e\ne:\n  ret float %acc", ret=None),
    body("  br label %l\nl:\n  %i = phi i32 [ 0, %0 ], [ %j, %l ]\n  %s = phi float [ %acc, %0 ], [ %t, %l ]\n  %t = fmul float %s, 1.5\n"
         "  %j = add i32 %i, 1\n  %c = icmp ult i32 %j, 1000000000\n  br i1 %c, label %l, label %e\ne:\n  ret float %t", ret=None),
    body("  br label %l\nl:\n  %s = phi float [ %acc, %0 ], [ %t, %l ]\n  %t = fmul float %s, 0.5\n  %c = fcmp ogt float %t, 1.0\n"
         "  br i1 %c, label %l, label %e\ne:\n  ret float %t", ret=None),
    body("  br label %l\nl:\n  %s = phi float [ %acc, %0 ], [ %t, %l ]\n  %j = phi i32 [ 0, %0 ], [ %k, %l ]\n  %t = fmul float %s, 0.5\n"
         "  %k = add i32 %j, 1\n  %c = icmp slt i32 %k, %row\n  br i1 %c, label %l, label %e\ne:\n  ret float %t", ret=None),
    "".join(f"define float @x{i}(float %x) {{\n  ret float %x\n}}\n" for i in range(3000)) + body(""),
    "\n".join(f"@g{i} = constant [4096 x i8] c\"" + "x" * 4096 + "\"" for i in range(200)) + body(
        "\n".join(f"  %p{i} = getelementptr i8, ptr @g{i}, i32 %row\n  %a{i} = load i8, ptr %p{i}\n  %b{i} = uitofp i8 %a{i} to float\n"
                  f"  %c{i} = fadd float {'%acc' if i == 0 else f'%c{i - 1}'}, %b{i}" for i in range(200)) + "\n  ret float %c199", ret=None),
    "; " + "x" * (5 << 20), b"\0" * 1000, b"\x01\x02noise" * 1000, b"BC\xc0\xde" + b"\xff" * 5000, b"\xde\xc0\x17\x0b" + b"\xff" * 64)
# Nearly correct text for heddle's own reader.
add("almost", *[body(t, ret=None) for t in (
    "  %a = fadd float %acc, 0.1\n  ret float %a", "  %a = fadd float %acc, %a\n  ret float %a",
    "  %a = fadd float %b, %acc\n  %b = fadd float %acc, 1.0\n  ret float %a", "  ret float %a", "  ret double 1.0", "  ret void",
    "  br i1 true, label %x, label %y\nx:\n  %a = fadd float %acc, 1.0\n  br label %z\ny:\n  br label %z\nz:\n  ret float %a",
    "  br label %x", "  %a = fadd nuw float %acc, 1.0\n  ret float %a",
    "  %a = icmp olt i32 %row, 3\n  ret float %acc", "  %a = fadd float %acc, 1.0\n  %a = fadd float %acc, 1.0\n  ret float %a",
    "  %a = trunc i32 %row to i64\n  ret float %acc", "  %a = bitcast i32 %row to double\n  ret float %acc",
    "  %a = phi float [ %acc, %0 ]\n  ret float %a", "  br label %x\nx:\n  %a = phi float [ 1.0, %0 ], [ 2.0, %x ]\n  ret float %a",
    "  br label %x\nx:\n  %a = phi float [ 1.0, %0 ], [ 2.0, %0 ]\n  ret float %a")])


def flipped():
    """Bitcode of the example with one byte changed."""
    good = subprocess.run([os.path.join(LLVM, "llvm-as"), "-o", "-", os.path.join(os.path.dirname(PROBLEM), "user_epilogue.ll")],
                          check=True, capture_output=True).stdout
    chance = random.Random(22)
    for i in range(60):
        at, bit = chance.randrange(len(good)), 1 << chance.randrange(8)
        yield f"flipped-{i}", good[:at] + bytes([good[at] ^ bit]) + good[at + 1:]
    for i in range(12):
        yield f"cut-{i}", good[: len(good) * i // 12]


def compile_with(heddle, path):
    """(exit code, errors, processor seconds of it and its children)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([heddle, "gen", PROBLEM, "--no-tuned", "--epilogue", path, "--ptxas", "none", "-o", "-"],
                              capture_output=True, timeout=60, env={"PATH": "/nowhere"})
    except subprocess.TimeoutExpired:
        return "hangs", "", 60.0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (done.returncode, done.stderr.decode(errors="replace"),
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def starts_of_worker(module):
    """How often heddle-epilogue starts for a module that it cannot read, in a compilation of several kernels by
    several threads. The stand-in takes long enough that all threads have begun before the first refusal."""
    beside = os.path.join(DIR, "counted")
    os.makedirs(beside, exist_ok=True)
    heddle, starts = shutil.copy(HEDDLE, beside), os.path.join(beside, "starts")
    with open(os.path.join(beside, "heddle-epilogue"), "w") as f:
        f.write(f"#!/bin/sh\necho start >> {starts}\n/bin/sleep 0.5\nexit 1\n")
    os.chmod(f.name, 0o755)
    if os.path.exists(starts):
        os.unlink(starts)
    code, errors, _ = compile_with(heddle, module)
    if code != 3 or "error[user.worker]" not in errors:
        return f"code {code}: {errors[:300]}"
    return len(open(starts).readlines())


def main():
    os.makedirs(DIR, exist_ok=True)
    alone = os.path.join(DIR, "heddle")  # without heddle-epilogue beside it
    shutil.copy(HEDDLE, alone)
    wrong, slowest, counts = 0, (0.0, ""), {}
    cases = [(k, n, t, k in EITHER) for k, n, t in MODULES] + [("flipped-bits", n, t, True) for n, t in flipped()]
    for kind, name, text, may_pass in cases:
        path = os.path.join(DIR, name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        for program in (HEDDLE, alone):
            code, errors, seconds = compile_with(program, path)
            slowest = max(slowest, (seconds, name))
            refused = code in (2, 3) and "error[user." in errors
            counts.setdefault(kind, [0, 0, 0])[0 if refused else 1] += 1
            if not refused and not (may_pass and code == 0) or seconds > LIMIT:
                wrong += 1
                print(f"WRONG {name} ({'alone' if program == alone else 'whole'}): code {code}, {seconds:.2f} s: {errors[:300]}")
        if os.environ.get("HEDDLE_KEEP") is None:
            os.unlink(path)
    module = os.path.join(DIR, "unreadable")
    with open(module, "w") as f:
        f.write("no LLVM IR")
    print(f"starts of heddle-epilogue for one refusal: {starts_of_worker(module)}")
    for kind, (refused, taken, _) in counts.items():
        print(f"{kind}: {refused} refused, {taken} taken")
    hostile = sum(1 for kind, _, _ in MODULES if kind not in EITHER)
    print(f"hostile={hostile} wrong={wrong} slowest={slowest[0]:.2f} s: {slowest[1]}")
    return 1 if wrong else 0


sys.exit(main())
