/* Loads one scale per row from `user`, and uses a constant table of its own. */
float hard_swish(float x, int row, int column, const float *user) {
  static const float table[4] = {1, 2, 3, 4};
  return x * user[row] + table[column & 3];
}
