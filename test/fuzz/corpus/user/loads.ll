@t = private unnamed_addr constant [4 x float] [float 1.0, float 2.0, float 0x3FC5555560000000, float 0.0], align 16
define float @f(float %acc, i32 %row, i32 %col, ptr %user) {
  %i = and i32 %row, 3
  %w = zext i32 %i to i64
  %q = getelementptr inbounds float, ptr @t, i64 %w
  %v = load float, ptr %q, align 4
  %u = getelementptr inbounds float, ptr %user, i64 %w
  %y = load float, ptr %u, align 4
  %s = fadd float %v, %y
  %z = fmul fast float %s, %acc
  ret float %z
}
