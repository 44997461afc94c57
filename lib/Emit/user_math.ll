; The functions of <math.h> that a user's epilogue may call, built from the approximations of the
; GPU. The relative errors are a few units in the last place over the whole range (bounds:
; test_user_math.c). There are no tables, loops or accesses to the bits of a float, so that the
; host can evaluate them in double precision.
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.minimum.f32(float, float)
declare float @llvm.maximum.f32(float, float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.floor.f32(float)
declare float @llvm.ceil.f32(float)
declare float @llvm.trunc.f32(float)
declare float @llvm.rint.f32(float)
declare float @llvm.copysign.f32(float, float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.nvvm.ex2.approx.f32(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare float @llvm.nvvm.sin.approx.f(float)

define float @heddle.fabsf(float %x) {
  %y = call float @llvm.fabs.f32(float %x)
  ret float %y
}
define float @heddle.fminf(float %x, float %y) {
  %z = call float @llvm.minnum.f32(float %x, float %y)
  ret float %z
}
define float @heddle.fmaxf(float %x, float %y) {
  %z = call float @llvm.maxnum.f32(float %x, float %y)
  ret float %z
}
define float @heddle.fmaf(float %x, float %y, float %z) {
  %w = call float @llvm.fma.f32(float %x, float %y, float %z)
  ret float %w
}
define float @heddle.floorf(float %x) {
  %y = call float @llvm.floor.f32(float %x)
  ret float %y
}
define float @heddle.ceilf(float %x) {
  %y = call float @llvm.ceil.f32(float %x)
  ret float %y
}
define float @heddle.truncf(float %x) {
  %y = call float @llvm.trunc.f32(float %x)
  ret float %y
}
define float @heddle.rintf(float %x) {
  %y = call float @llvm.rint.f32(float %x)
  ret float %y
}
define float @heddle.copysignf(float %x, float %y) {
  %z = call float @llvm.copysign.f32(float %x, float %y)
  ret float %z
}
define float @heddle.sqrtf(float %x) {
  %y = call float @llvm.sqrt.f32(float %x)
  ret float %y
}
define float @heddle.exp2f(float %x) {
  %y = call float @llvm.nvvm.ex2.approx.f32(float %x)
  ret float %y
}

; exp x = 2^j 2^f with an integer j. For |x| above 1000, 2^j is infinite or 0, so x is clamped.
define float @heddle.expf(float %x) {
  %least = call float @llvm.maximum.f32(float %x, float -1000.0)
  %in = call float @llvm.minimum.f32(float %least, float 1000.0)
  %t = fmul float %in, 0x3FF7154760000000
  %j = call float @llvm.floor.f32(float %t)
  %m = fneg float %j
  %high = call float @llvm.fma.f32(float %m, float 0x3FE62E0000000000, float %in)
  %f = call float @llvm.fma.f32(float %m, float 0x3F00BFBE80000000, float %high)
  %g = fmul float %f, 0x3FF7154760000000
  %a = call float @llvm.nvvm.ex2.approx.f32(float %g)
  %b = call float @llvm.nvvm.ex2.approx.f32(float %j)
  %y = fmul float %a, %b
  ret float %y
}
define float @heddle.expm1f(float %x) {
  %e = call float @heddle.expf(float %x)
  %far = fadd float %e, -1.0
  %p7 = call float @llvm.fma.f32(float %x, float 0x3F2A01A020000000, float 0x3F56C16C20000000)
  %p6 = call float @llvm.fma.f32(float %x, float %p7, float 0x3F81111120000000)
  %p5 = call float @llvm.fma.f32(float %x, float %p6, float 0x3FA5555560000000)
  %p4 = call float @llvm.fma.f32(float %x, float %p5, float 0x3FC5555560000000)
  %p3 = call float @llvm.fma.f32(float %x, float %p4, float 5.000000e-01)
  %square = fmul float %x, %x
  %near = call float @llvm.fma.f32(float %square, float %p3, float %x)
  %a = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %a, 2.500000e-01
  %y = select i1 %small, float %near, float %far
  ret float %y
}

; 2 artanh s = log((1 + s) / (1 - s)), |s| up to 0.18
define float @heddle.twice_artanh(float %s) {
  %q = fmul float %s, %s
  %p4 = call float @llvm.fma.f32(float %q, float 0x3FCC71C720000000, float 0x3FD24924A0000000)
  %p3 = call float @llvm.fma.f32(float %q, float %p4, float 0x3FD99999A0000000)
  %p2 = call float @llvm.fma.f32(float %q, float %p3, float 0x3FE5555560000000)
  %sq = fmul float %s, %q
  %t = fmul float %s, 2.0
  %y = call float @llvm.fma.f32(float %sq, float %p2, float %t)
  ret float %y
}
define float @heddle.logf(float %x) {
  %l = call float @llvm.nvvm.lg2.approx.f(float %x)
  %far = fmul float %l, 0x3FE62E4300000000
  %less = fadd float %x, -1.0
  %more = fadd float %x, 1.0
  %r = call float @llvm.nvvm.rcp.approx.ftz.f(float %more)
  %s = fmul float %less, %r
  %near = call float @heddle.twice_artanh(float %s)
  %a = call float @llvm.fabs.f32(float %less)
  %small = fcmp olt float %a, 0x3FD0000000000000
  %y = select i1 %small, float %near, float %far
  ret float %y
}
define float @heddle.log1pf(float %x) {
  %u = fadd float %x, 1.0
  %l = call float @llvm.nvvm.lg2.approx.f(float %u)
  %far = fmul float %l, 0x3FE62E4300000000
  %more = fadd float %x, 2.0
  %r = call float @llvm.nvvm.rcp.approx.ftz.f(float %more)
  %s = fmul float %x, %r
  %near = call float @heddle.twice_artanh(float %s)
  %a = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %a, 0x3FD0000000000000
  %y = select i1 %small, float %near, float %far
  ret float %y
}
define float @heddle.log2f(float %x) {
  %l = call float @heddle.logf(float %x)
  %y = fmul float %l, 0x3FF7154760000000
  ret float %y
}
define float @heddle.log10f(float %x) {
  %l = call float @heddle.logf(float %x)
  %y = fmul float %l, 0x3FDBCB7B20000000
  ret float %y
}

; 1 - 2 / (1 + exp 2a), a = |x|. Below 0.3, the power series.
define float @heddle.tanhf(float %x) {
  %a = call float @llvm.fabs.f32(float %x)
  %b = fmul float %a, 2.0
  %e = call float @heddle.expf(float %b)
  %d = fadd float %e, 1.0
  %r = call float @llvm.nvvm.rcp.approx.ftz.f(float %d)
  %one = call float @llvm.fma.f32(float %r, float -2.0, float 1.0)
  %far = call float @llvm.copysign.f32(float %one, float %x)
  %q = fmul float %x, %x
  %p5 = call float @llvm.fma.f32(float %q, float 0xBF8226E360000000, float 0x3F9664F480000000)
  %p4 = call float @llvm.fma.f32(float %q, float %p5, float 0xBFABA1BA20000000)
  %p3 = call float @llvm.fma.f32(float %q, float %p4, float 0x3FC1111120000000)
  %p2 = call float @llvm.fma.f32(float %q, float %p3, float 0xBFD5555560000000)
  %cube = fmul float %x, %q
  %near = call float @llvm.fma.f32(float %cube, float %p2, float %x)
  %small = fcmp olt float %a, 0x3FD3333340000000
  %y = select i1 %small, float %near, float %far
  ret float %y
}

; 1 - 2 Phi(-a sqrt 2), with the tail as in the gelu activation. Below 0.5, the power series.
define float @heddle.erff(float %x) {
  %whole = call float @llvm.fabs.f32(float %x)
  %a = call float @llvm.minimum.f32(float %whole, float 6.0)
  %m = call float @llvm.fma.f32(float %a, float 0x3FDB272480000000, float 1.0)
  %t = call float @llvm.nvvm.rcp.approx.ftz.f(float %m)
  %p7 = call float @llvm.fma.f32(float %t, float 0x3FA3A64E40000000, float 0xBFC5A73820000000)
  %p6 = call float @llvm.fma.f32(float %t, float %p7, float 0x3FCD44B3C0000000)
  %p5 = call float @llvm.fma.f32(float %t, float %p6, float 0xBFB395DC40000000)
  %p4 = call float @llvm.fma.f32(float %t, float %p5, float 0x3FC23E94E0000000)
  %p3 = call float @llvm.fma.f32(float %t, float %p4, float 0x3FB83D3280000000)
  %p2 = call float @llvm.fma.f32(float %t, float %p3, float 0x3FBF362AE0000000)
  %p1 = call float @llvm.fma.f32(float %t, float %p2, float 0x3FBE96BEE0000000)
  %p0 = call float @llvm.fma.f32(float %t, float %p1, float 0x3EDE111140000000)
  %square = fmul float %a, %a
  %minus = fneg float %square
  %power = call float @heddle.expf(float %minus)
  %tail = fmul float %p0, %power
  %one = call float @llvm.fma.f32(float %tail, float -2.0, float 1.0)
  %far = call float @llvm.copysign.f32(float %one, float %x)
  %q = fmul float %x, %x
  %s6 = call float @llvm.fma.f32(float %q, float 0x3F1F9A3260000000, float 0xBF4C02DB40000000)
  %s5 = call float @llvm.fma.f32(float %q, float %s6, float 0x3F7565BCE0000000)
  %s4 = call float @llvm.fma.f32(float %q, float %s5, float 0xBF9B82CE40000000)
  %s3 = call float @llvm.fma.f32(float %q, float %s4, float 0x3FBCE2F220000000)
  %s2 = call float @llvm.fma.f32(float %q, float %s3, float 0xBFD8127460000000)
  %s1 = call float @llvm.fma.f32(float %q, float %s2, float 0x3FF20DD760000000)
  %near = fmul float %x, %s1
  %small = fcmp olt float %whole, 5.000000e-01
  %y = select i1 %small, float %near, float %far
  ret float %y
}

; Subtracts multiples of 2 pi, which is represented as the sum of two floats.
define float @heddle.sinf(float %x) {
  %t = fmul float %x, 0x3FC45F3060000000
  %j = call float @llvm.rint.f32(float %t)
  %m = fneg float %j
  %high = call float @llvm.fma.f32(float %m, float 0x401921FB60000000, float %x)
  %f = call float @llvm.fma.f32(float %m, float 0xBE8777A5C0000000, float %high)
  %y = call float @llvm.nvvm.sin.approx.f(float %f)
  ret float %y
}
define float @heddle.cosf(float %x) {
  %t = fmul float %x, 0x3FC45F3060000000
  %j = call float @llvm.rint.f32(float %t)
  %m = fneg float %j
  %high = call float @llvm.fma.f32(float %m, float 0x401921FB60000000, float %x)
  %f = call float @llvm.fma.f32(float %m, float 0xBE8777A5C0000000, float %high)
  %g = fadd float %f, 0x3FF921FB60000000
  %y = call float @llvm.nvvm.sin.approx.f(float %g)
  ret float %y
}
