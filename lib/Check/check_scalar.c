#include "Check/check_machine.h"

enum { PITCH_STEP_LOG2 = 20, STRIDE_LOG2 = 38 };

static bool compare(int64_t predicate, int64_t x, int64_t y) {
  switch (predicate) {
  case HD_CK_EQ:
    return x == y;
  case HD_CK_NE:
    return x != y;
  case HD_CK_LT:
    return x < y;
  case HD_CK_LE:
    return x <= y;
  case HD_CK_GT:
    return x > y;
  case HD_CK_GE:
    return x >= y;
  default:
    return false;
  }
}

/* False on overflow, or a division that the contract forbids. */
static bool arithmetic(hd_op_kind kind, int64_t x, int64_t y, int64_t *r) {
  bool divides = x >= 0 && y > 0;
  switch (kind) {
  case HD_OP_ADD:
    return !__builtin_add_overflow(x, y, r);
  case HD_OP_SUB:
    return !__builtin_sub_overflow(x, y, r);
  case HD_OP_MUL:
    return !__builtin_mul_overflow(x, y, r);
  case HD_OP_DIV:
    *r = divides ? x / y : 0;
    return divides;
  case HD_OP_REM:
    *r = divides ? x % y : 0;
    return divides;
  case HD_OP_MIN:
    *r = x < y ? x : y;
    return true;
  default: /* HD_OP_MAX */
    *r = x > y ? x : y;
    return true;
  }
}

static void calculate(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t x = w->env[step->args[HD_AT_binary_x]].i, y = w->env[step->args[HD_AT_binary_y]].i, r = 0;
  bool fits = arithmetic(step->op->kind, x, y, &r);
  if (step->op->results[0]->type.kind == HD_TYPE_I32)
    fits = fits && r >= INT32_MIN && r <= INT32_MAX;
  if (!fits)
    hd_ck_find(m, "overflow", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "compute it as i64, or keep its operands in range",
               "the result does not fit: operands %lld and %lld", (long long)x, (long long)y);
  w->env[step->results[0]].i = r;
}

/* Bands of `group` tile rows, column by column inside a band. */
static void tile_coord(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t index = w->env[step->args[HD_AT_tile_coord_index]].i,
          rows = w->env[step->args[HD_AT_tile_coord_tiles_m]].i;
  int64_t cols = w->env[step->args[HD_AT_tile_coord_tiles_n]].i,
          group = hd_op_int(step->op, HD_ATTR_GROUP, 1);
  if (!hd_op_is(step->op, HD_ATTR_ORDER, "grouped") || group < 1 || rows < 1 || cols < 1 ||
      index < 0)
    return hd_ck_undecided(m, step->op, "a tile order or index that the checker does not know");
  if (step->n_args > 3) {
    int64_t matrices = w->env[step->args[HD_AT_tile_coord_matrices]].i;
    if (matrices < 1 || step->n_results < 3)
      return hd_ck_undecided(m, step->op, "tiles of a batch that the checker does not know");
    m->extents->g = matrices;
    w->env[step->results[2]].i = index / (rows * cols);
    if (index / (rows * cols) >= matrices)
      return hd_ck_undecided(m, step->op, "a tile index past the last matrix");
    index %= rows * cols;
  }
  if (index >= rows * cols)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "a loop that ends with the last tile", "tile %lld of %lld", (long long)index,
                      (long long)(rows * cols));
  if (m->program->streams && !m->extents->groups) /* else group.count */
    hd_ck_note_units(m, rows * cols * (m->extents->g > 0 ? m->extents->g : 1));
  int64_t band = index / (group * cols), in_band = index % (group * cols);
  int64_t height = rows - band * group < group ? rows - band * group : group;
  if (height < 1)
    return hd_ck_undecided(m, step->op, "a tile index past the last tile");
  w->env[step->results[0]].i = band * group + in_band % height;
  w->env[step->results[1]].i = in_band / height;
}

static int64_t cursor_next(int64_t cursor) {
  int64_t slot = hd_ck_slot(cursor) + 1, phase = hd_ck_phase(cursor);
  bool wraps = slot >= hd_ck_stages(cursor);
  return (wraps ? 0 : slot) | (wraps ? !phase : phase) << 16 | (int64_t)hd_ck_stages(cursor) << 32;
}

/* Each pitch has a value of its own, so that a wrong pitch is found. */
static int64_t pitch(const hd_ck_machine *m, hd_arg_kind arg) {
  int64_t ld = m->at.ld + ((int64_t)(arg - HD_ARG_LDB + 1) << PITCH_STEP_LOG2);
  if (arg == HD_ARG_LDB)
    m->extents->ldb = ld;
  if (arg == HD_ARG_LDD)
    m->extents->ldd = ld;
  if (arg == HD_ARG_LDSB)
    m->extents->ldsb = ld;
  if (arg == HD_ARG_LDSD)
    m->extents->ldsd = ld;
  if (arg == HD_ARG_LDAUX)
    m->extents->ldaux = ld;
  return ld;
}

/* The stride from one matrix of a batch to the next. A's separates the blocks of different
 * matrices. The others have values of their own, so that a wrong stride is found. */
static int64_t stride(hd_ck_machine *m, hd_arg_kind arg) {
  int64_t blocks = 1;
  int64_t apart =
      (INT64_C(1) << STRIDE_LOG2) + ((int64_t)(arg - HD_ARG_STRIDE_A) << PITCH_STEP_LOG2);
  for (int32_t b = 0; b < m->program->n_buffers; b++)
    if (m->program->buffers[b].slab_bytes > 0)
      blocks = m->program->buffers[b].slab_bytes;
  m->extents->apart_a |= arg == HD_ARG_STRIDE_A;
  m->extents->apart_b |= arg == HD_ARG_STRIDE_B;
  if (arg == HD_ARG_STRIDE_B)
    m->extents->stride_b = apart;
  if (m->at.shared && arg != HD_ARG_STRIDE_D && arg != HD_ARG_STRIDE_AUX)
    return 0;
  return arg == HD_ARG_STRIDE_A ? blocks << HD_CK_MATRIX_BLOCKS : apart;
}

static int64_t argument(hd_ck_machine *m, const hd_op *op) {
  hd_arg_kind arg = hd_op_arg(op);
  switch (arg) {
  case HD_ARG_M:
    return m->at.m;
  case HD_ARG_N:
    return m->at.n;
  case HD_ARG_K:
    return m->at.k;
  case HD_ARG_G:
    return m->at.g;
  case HD_ARG_T:
    return m->at.t;
  default:
    if (hd_arg_is_batch_stride(arg))
      return stride(m, arg);
    return hd_arg_class_of(arg) == HEDDLE_CLASS_I64 ? pitch(m, arg) : 0;
  }
}

static int64_t special(const hd_ck_machine *m, const hd_ck_warp *w, hd_op_kind kind) {
  int32_t lo = w->role < 0 ? 0 : m->program->roles[w->role].warp_lo;
  switch (kind) {
  case HD_OP_WARP_INDEX:
    return w->index - lo;
  case HD_OP_BLOCK_INDEX:
    return m->at.block + w->cta;
  case HD_OP_GRID_SIZE:
    return m->at.grid;
  default: /* HD_OP_CTA_RANK */
    return w->cta;
  }
}

bool hd_ck_scalar(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  hd_ck_value *env = w->env, *result = step->n_results ? &env[step->results[0]] : NULL;
  switch (op->kind) {
  case HD_OP_CONST:
    result->i = step->number;
    return true;
  case HD_OP_ADD:
  case HD_OP_SUB:
  case HD_OP_MUL:
  case HD_OP_DIV:
  case HD_OP_REM:
  case HD_OP_MIN:
  case HD_OP_MAX:
    calculate(m, w, step);
    return true;
  case HD_OP_CMP:
    result->i =
        compare(step->number, env[step->args[HD_AT_binary_x]].i, env[step->args[HD_AT_binary_y]].i);
    return true;
  case HD_OP_AND:
    result->i = env[step->args[HD_AT_and_x]].i & env[step->args[HD_AT_and_y]].i;
    return true;
  case HD_OP_SELECT:
    *result = env[step->args[env[step->args[HD_AT_select_condition]].i ? HD_AT_select_yes
                                                                       : HD_AT_select_no]];
    return true;
  case HD_OP_EXTEND:
    result->i = env[step->args[HD_AT_extend_x]].i;
    return true;
  case HD_OP_WARP_INDEX:
  case HD_OP_BLOCK_INDEX:
  case HD_OP_GRID_SIZE:
  case HD_OP_CTA_RANK:
    result->i = special(m, w, op->kind);
    return true;
  case HD_OP_TILE_COORD:
    tile_coord(m, w, step);
    return true;
  case HD_OP_CURSOR:
    result->i = step->number << 32;
    return true;
  case HD_OP_CURSOR_NEXT:
    if (hd_ck_stages(env[step->args[HD_AT_cursor_next_cursor]].i) != step->number)
      hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, op, -1),
                 "give the cursor and its next the ring's own number of stages",
                 "a cursor of %d stages steps through a ring of %lld",
                 hd_ck_stages(env[step->args[HD_AT_cursor_next_cursor]].i),
                 (long long)step->number);
    result->i = cursor_next(env[step->args[HD_AT_cursor_next_cursor]].i);
    return true;
  case HD_OP_ARG:
    result->i = argument(m, op);
    return true;
  case HD_OP_TMAP:
  case HD_OP_BUFFER:
  case HD_OP_BARRIER:
    return true;
  default:
    return false;
  }
}
