; A gated activation of one's own: gate * min(max(gate + 3, 0), 6) / 6 * (up + 1)
define float @f(float %gate, float %up, i32 %row, i32 %col, ptr %user) {
  %shifted = fadd float %gate, 3.0
  %low = fcmp olt float %shifted, 0.0
  %above = select i1 %low, float 0.0, float %shifted
  %high = fcmp ogt float %above, 6.0
  %clamped = select i1 %high, float 6.0, float %above
  %scaled = fmul float %clamped, 0x3FC5555560000000
  %hard = fmul float %gate, %scaled
  %more = fadd float %up, 1.0
  %result = fmul float %hard, %more
  ret float %result
}
