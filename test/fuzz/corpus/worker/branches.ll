define float @f(float %acc, i32 %row, i32 %col, ptr %user) {
entry:
  %c = icmp slt i32 %row, 4
  br i1 %c, label %a, label %b
a:
  %x = call float @llvm.exp2.f32(float %acc)
  br label %end
b:
  switch i32 %col, label %end [
    i32 0, label %a2
    i32 7, label %end
  ]
a2:
  br label %end
end:
  %p = phi float [ %x, %a ], [ 1.0, %b ], [ 1.0, %b ], [ %acc, %a2 ]
  ret float %p
}
declare float @llvm.exp2.f32(float)
