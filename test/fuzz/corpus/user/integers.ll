define float @f(i32 %acc, i32 %row, i32 %col, ptr %user) {
  %a = add nsw i32 %acc, -7
  %b = shl i32 %a, 2
  %c = lshr exact i32 %b, 1
  %d = xor i32 %c, %col
  %e = trunc i32 %d to i8
  %f = sext i8 %e to i64
  %g = sitofp i64 %f to float
  %h = freeze float %g
  %i = select i1 true, float %h, float 0.0
  ret float %i
}
