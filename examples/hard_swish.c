/* An epilogue in C: hard_swish(x) = x * min(max(x + 3, 0), 6) / 6 for user_epilogue.heddle;
 * user_epilogue.ll is a hand-written version. row, col: of the element; user: the launch's pointer.
 *
 *   clang -O1 -c -emit-llvm examples/hard_swish.c -o hard_swish.bc
 *   heddle run examples/user_epilogue.heddle --epilogue hard_swish.bc                          */
float hard_swish(float acc, int row, int col, const void *user) {
  float gate = acc + 3;
  (void)row, (void)col, (void)user;
  gate = gate < 0 ? 0 : gate;
  gate = gate > 6 ? 6 : gate;
  return acc * (gate * (1 / 6.0f));
}
