; hard_swish(x) = x * min(max(x + 3, 0), 6) / 6
define float @hard_swish(float %acc, i32 %row, i32 %col, ptr %user) {
  %shifted = fadd float %acc, 3.0
  %low = fcmp olt float %shifted, 0.0
  %above = select i1 %low, float 0.0, float %shifted
  %high = fcmp ogt float %above, 6.0
  %clamped = select i1 %high, float 6.0, float %above
  %scaled = fmul float %clamped, 0x3FC5555560000000
  %result = fmul float %acc, %scaled
  ret float %result
}
