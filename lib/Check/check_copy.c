/* Copies into shared memory. The tag of a cell identifies its content. A: the source offset in
 * cells. B: (byte within the row) << 32 | row. */
#include "Check/check_machine.h"

static uint64_t b_tag(int64_t byte, int64_t row) {
  return (uint64_t)byte << 32 | (uint64_t)(row & UINT32_MAX);
}

/* Adds matrix g to a tag of B, in the bits above the byte. */
static uint64_t b_tag_of(hd_ck_machine *m, const hd_op *op, int64_t g, uint64_t tag) {
  uint64_t matrix = hd_ck_matrix_tag(m, op, g);
  if (matrix && tag >> HD_CK_MATRIX_BIT)
    hd_ck_undecided(m, op, "rows of B of 16 MiB and more in a batch");
  return matrix << HD_CK_MATRIX_BIT | tag;
}

/* The matrix that begins at byte `base`. */
static int64_t matrix_at(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                         const hd_ck_ring *buffer, int64_t base) {
  int64_t stride = m->extents->stride_b * buffer->elem_bits / 8;
  if (base == 0)
    return 0;
  if (m->at.shared || stride == 0 || base % stride || base / stride < 0 ||
      base / stride >= m->extents->g)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "the bytes to a matrix of the batch", "byte %lld of B begins no matrix of the batch",
               (long long)base);
  return stride ? base / stride : 0;
}

/* The byte within its matrix: subtracts the preceding matrices of a batch. */
static int64_t in_matrix(const hd_ck_machine *m, const hd_ck_ring *buffer, int64_t byte) {
  int64_t stride = buffer->slab_bytes << HD_CK_MATRIX_BLOCKS;
  return m->extents->apart_a && stride > 0 ? byte % stride : byte;
}

bool hd_ck_same_ring(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t operand,
                     const hd_ck_region *region) {
  if (step->n_args <= operand) {
    hd_ck_find(m, "R1", (hd_check_access){0}, hd_ck_here(m, w, step->op, region->slot),
               "a barrier operand", "the copy completes on no barrier");
    return false;
  }
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[operand]);
  if (!ring) {
    hd_ck_undecided(m, step->op, "a barrier that is not named by its declaration");
    return false;
  }
  if (ring->stages == region->buffer->stages)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region->slot),
             "one mbarrier a slot", "a barrier of %d stages for a buffer of %d", ring->stages,
             region->buffer->stages);
  return false;
}

/* Records the copy in every CTA that receives it: bytes on its barrier, a write to its slot. */
static void land(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t operand,
                 hd_ck_region region, uint64_t tag) {
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[operand]);
  int64_t mask = hd_op_int(step->op, HD_ATTR_MULTICAST, (int64_t)1 << w->cta);
  int64_t bytes = region.range.hi - region.range.lo;
  if (mask <= 0 || mask >> m->program->cluster)
    return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "name CTAs of the cluster", "multicast to %lld in a cluster of %d CTAs",
                      (long long)mask, m->program->cluster);
  for (int32_t cta = 0; cta < m->program->cluster && !m->stop; cta++) {
    if (!(mask >> cta & 1))
      continue;
    uint32_t phase = hd_ck_barrier_land(m, w, step, operand, cta, region.slot, bytes);
    hd_ck_access x = {.op = step->op, .kind = HD_CK_BULK, .slot = region.slot, .value = phase + 1};
    x.component = hd_ck_barrier_component(m, cta, ring->first + region.slot);
    region.cta = cta;
    hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), region, tag);
  }
}

bool hd_ck_is_aligned(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const char *what, int64_t value, int64_t unit) {
  if (value >= 0 && value % unit == 0)
    return true;
  hd_ck_find(m, "alignment", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
             "a multiple of the unit", "%s %lld is not a multiple of %lld", what,
             (long long)value, (long long)unit);
  return false;
}

static void note_a(hd_ck_machine *m, const hd_op *op, const hd_ck_ring *buffer, int64_t end) {
  hd_ck_extents *x = m->extents;
  x->block_bytes = buffer->slab_bytes;
  if (end > x->a_end) {
    x->a_end = end;
    x->a_op = op;
  }
}

static bool is_scale_map(const hd_op *map) {
  return hd_op_arg(map) == HD_ARG_BLOCK_SCALE_A || hd_op_arg(map) == HD_ARG_BLOCK_SCALE_B;
}

static bool is_scales(const hd_op *arg) {
  return arg && arg->kind == HD_OP_ARG &&
         (hd_op_arg(arg) == HD_ARG_BLOCK_SCALE_A || hd_op_arg(arg) == HD_ARG_BLOCK_SCALE_B);
}

void hd_ck_copy_bulk(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t from = w->env[step->args[HD_AT_copy_bulk_offset]].i,
          bytes = hd_op_int(step->op, HD_ATTR_BYTES, 0);
  int64_t offset = hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_copy_bulk_buffer, HD_AT_copy_bulk_cursor, &region) ||
      !hd_ck_same_ring(m, w, step, HD_AT_copy_bulk_barrier, &region) ||
      !hd_ck_is_aligned(m, w, step, "the source offset", from, 16) ||
      !hd_ck_is_aligned(m, w, step, "the size in bytes", bytes, 16) ||
      !hd_ck_is_aligned(m, w, step, "the destination", offset, 16))
    return;
  bool scales = is_scales(hd_copy_bulk_source(step->op)->op);
  if (region.buffer->layout != (scales ? HD_CK_LINEAR : HD_CK_PACKED_A) ||
      (from | offset | bytes) % HD_CK_CELL)
    return hd_ck_undecided(m, step->op,
                           "a bulk copy of something other than packed A or block scales, or of a "
                           "part of their 128 bytes");
  region.range = (hd_ck_range){.lo = offset, .hi = offset + bytes, .n = 1};
  if (scales)
    return land(m, w, step, HD_AT_copy_bulk_barrier, region,
                hd_ck_copy_scale_tiles(m, step, from, bytes));
  note_a(m, step->op, region.buffer, in_matrix(m, region.buffer, from) + bytes);
  land(m, w, step, HD_AT_copy_bulk_barrier, region, (uint64_t)(from / HD_CK_CELL));
}

/* --- tensor maps ---------------------------------------------------------------------------- */

/* A box of f32 scales is part of one line; a box of B has lines of one cell. */
static bool box_fits(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                     const hd_op *map, int64_t bytes) {
  const hd_attr *box = hd_op_attr(map, HD_ATTR_BOX);
  int64_t elem = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  int64_t lands = elem;
  for (int32_t i = 0; i < box->n; i++)
    lands *= box->ints[i];
  bool is_line = is_scale_map(map) ? lands == box->ints[0] * elem
                                         : box->ints[0] * elem == HD_CK_CELL;
  if (lands == bytes && is_line)
    return true;
  hd_ck_find(m, "tx-bytes", hd_ck_here(m, w, map, -1), hd_ck_here(m, w, step->op, -1),
             "the bytes of the box, of rows of 128 bytes",
             "a box copies %lld bytes, the copy says %lld", (long long)lands, (long long)bytes);
  return false;
}

/* In each 4 * run rows, row 8j + 2q + e of the slot is row run * q + 2j + e of the matrix. The
 * dimensions must be k, e, q, j and the rest, with these strides. */
static bool permutes(const hd_op *map, int64_t run) {
  const hd_expr *dims = hd_op_attr(map, HD_ATTR_DIMS)->exprs;
  const hd_expr *strides = hd_op_attr(map, HD_ATTR_STRIDES)->exprs;
  const int64_t *box = hd_op_attr(map, HD_ATTR_BOX)->ints;
  int64_t bytes = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  const int64_t sizes[] = {0, 2, 4, run / 2}, rows[] = {0, 1, run, 2, 4 * run};
  if (hd_op_attr(map, HD_ATTR_BOX)->n != HD_COUNT(rows) || !hd_expr_is(&dims[0], HD_ARG_K, 1, 1) ||
      !hd_expr_is(&dims[4], HD_ARG_N, 1, 4 * run))
    return false;
  for (size_t i = 1; i < HD_COUNT(rows); i++)
    if (!hd_expr_is(&strides[i], HD_ARG_LDB, rows[i] * bytes, 1))
      return false;
  for (size_t i = 1; i < HD_COUNT(sizes); i++)
    if (box[i] != sizes[i] || !hd_expr_is(&dims[i], HD_ARG_NONE, sizes[i], 1))
      return false;
  return true;
}

static bool same_order(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const hd_op *map, int64_t run) {
  int32_t rank = 2 + (hd_op_batch(step->op, HD_AT_copy_tma_g) != NULL);
  if (run ? permutes(map, run) : hd_op_attr(map, HD_ATTR_BOX)->n == rank)
    return true;
  hd_ck_find(m, "data", hd_ck_here(m, w, map, -1), hd_ck_here(m, w, step->op, -1),
             "dimensions in the order of the buffer's rows",
             "the tensor map does not bring rows in the order of run = %lld", (long long)run);
  return false;
}

/* The batch coordinate: a matrix of B's tensor map, which has only one if the batch shares B. */
static int64_t matrix_coordinate(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  if (!hd_op_batch(step->op, HD_AT_copy_tma_g))
    return 0;
  int64_t g = w->env[step->args[HD_AT_copy_tma_g]].i, n = m->at.shared ? 1 : m->extents->g;
  if (g < 0 || g >= n)
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "a matrix of the batch", "matrix %lld of B's tensor map of %lld", (long long)g,
               (long long)n);
  return g;
}

void hd_ck_copy_tma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *map = hd_copy_tma_map(step->op)->op;
  int64_t bytes = hd_op_int(step->op, HD_ATTR_BYTES, 0);
  int64_t offset = hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  int64_t x = w->env[step->args[HD_AT_copy_tma_first]].i,
          y = w->env[step->args[HD_AT_copy_tma_last]].i;
  hd_ck_region region;
  if (!map || map->kind != HD_OP_TMAP)
    return hd_ck_undecided(m, step->op, "a tensor map that is not named by its declaration");
  int64_t swizzle = hd_op_int(map, HD_ATTR_SWIZZLE, 0), atom = swizzle ? 8 * swizzle : 128;
  int32_t barrier = hd_copy_tma_barrier_at(step->op);
  if (!hd_ck_region_of(m, w, step, HD_AT_copy_tma_buffer, HD_AT_copy_tma_cursor, &region) ||
      !hd_ck_same_ring(m, w, step, barrier, &region) || !box_fits(m, w, step, map, bytes) ||
      !same_order(m, w, step, map, region.buffer->run) ||
      !hd_ck_is_aligned(m, w, step, "the destination", offset, atom) ||
      !hd_ck_is_aligned(m, w, step, "the slot's alignment",
                  hd_op_int(region.buffer->op, HD_ATTR_ALIGN, 1), atom))
    return;
  if (swizzle != hd_op_int(region.buffer->op, HD_ATTR_SWIZZLE, 0))
    return hd_ck_find(m, "data", hd_ck_here(m, w, map, -1), hd_ck_here(m, w, step->op, -1),
                      "the buffer's swizzle", "the tensor map's swizzle is not the buffer's");
  int64_t elem = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits / 8;
  region.range = (hd_ck_range){.lo = offset, .hi = offset + bytes, .n = 1};
  if (!hd_ck_is_aligned(m, w, step, "the first byte of a box in its row", x * elem, HD_CK_BOX_UNIT))
    return;
  if (is_scale_map(map))
    return land(m, w, step, barrier, region, hd_ck_copy_scale_box(m, w, step, &region, x, y));
  int64_t run = region.buffer->run;
  uint64_t tag = b_tag(x * elem, run ? y * 4 * run : y);
  land(m, w, step, barrier, region,
       b_tag_of(m, step->op, matrix_coordinate(m, w, step), tag));
}

/* --- copies by all threads of a role -------------------------------------------------------- */

typedef struct row_copy {
  int64_t pitch, first_row, first_byte, row_bytes_exist, rows_exist;
  int64_t rows, row_bytes, offset, vec;
  int64_t base; /* byte offset of the matrix of a batch */
} row_copy;

static void note_b(hd_ck_machine *m, const hd_op *op, const row_copy *c) {
  hd_ck_extents *x = m->extents;
  bool same = x->b_rows < 0 || (x->b_rows == c->rows_exist && x->b_row_bytes == c->row_bytes_exist);
  x->b_rows = c->rows_exist;
  x->b_row_bytes = c->row_bytes_exist;
  x->b_op = op;
  if (!same)
    hd_ck_undecided(m, op, "row copies of B that do not agree on B's size");
}

static bool row_copy_fits(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          const row_copy *c) {
  if (c->first_row < 0 || c->first_byte < 0 || c->row_bytes_exist > c->pitch) {
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "rows inside the matrix, no longer than its pitch",
               "copies from row %lld, byte %lld of rows of %lld bytes at a pitch of %lld",
               (long long)c->first_row, (long long)c->first_byte, (long long)c->row_bytes_exist,
               (long long)c->pitch);
    return false;
  }
  return c->vec > 0 && hd_ck_is_aligned(m, w, step, "the first byte", c->first_byte, c->vec) &&
         hd_ck_is_aligned(m, w, step, "a row in bytes", c->row_bytes, c->vec);
}

static bool is_pitch_of_b(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          const row_copy *c) {
  const hd_op *b = hd_copy_rows_source(step->op)->op;
  int64_t expected = m->extents->ldb;
  if (b && b->kind == HD_OP_ARG && hd_op_has(b, HD_ATTR_TYPE))
    expected = expected * heddle_elem_get(hd_op_elem(b, HD_ATTR_TYPE))->container_bits / 8;
  if (!expected || c->pitch == expected)
    return true;
  hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1), "the argument ldb",
             "rows of B are copied at a pitch of %lld bytes, they have %lld", (long long)c->pitch,
             (long long)expected);
  return false;
}

/* All bytes of a row of packed A exist and must be copied: missing bytes would become zeros. */
static bool is_whole_row(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                         const row_copy *c) {
  if (c->row_bytes_exist == c->pitch && c->first_byte + c->row_bytes > c->pitch) {
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "the bytes of a row of blocks",
               "bytes %lld to %lld of a row of A that has %lld are copied",
               (long long)c->first_byte, (long long)(c->first_byte + c->row_bytes),
               (long long)c->pitch);
    return false;
  }
  if (c->row_bytes_exist == c->pitch)
    return true;
  hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
             "the bytes of a row of blocks, which are its pitch",
             "%lld bytes of a row of A are copied, it has %lld", (long long)c->row_bytes_exist,
             (long long)c->pitch);
  return false;
}

static bool is_by_index(const hd_ck_step *step) { return hd_op_has(step->op, HD_ATTR_GATHER_B); }

/* Those that are copied; where a tensor map brings them, those of the product. */
static int64_t columns_of_b(const hd_ck_machine *m) {
  if (m->extents->b_rows >= 0)
    return m->extents->b_rows;
  return m->at.n >= 0 ? m->at.n : hd_op_int(m->program->product.op, HD_ATTR_N, -1);
}

/* Rows of a packed A slot are slabs; rows of a `rows` slot lie in panels; scales are one row. */
static void write_rows(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, uint32_t id,
                       hd_ck_region region, const row_copy *c) {
  const hd_ck_ring *buffer = region.buffer;
  if (buffer->layout == HD_CK_PACKED_A) {
    for (int64_t r = 0; r < c->rows && !m->stop; r++) {
      int64_t lo = c->offset + r * buffer->slab_bytes;
      int64_t from = c->base + (c->first_row + r) * c->pitch + c->first_byte;
      region.range = (hd_ck_range){.lo = lo, .hi = lo + c->row_bytes, .n = 1};
      hd_ck_access_write(m, w, id, region, (uint64_t)(from / HD_CK_CELL));
    }
    int64_t last = c->first_row + c->rows < c->rows_exist ? c->first_row + c->rows : c->rows_exist;
    note_a(m, m->accesses[id].op, buffer, last * c->pitch);
    return;
  }
  if (is_by_index(step) && buffer->layout == HD_CK_LINEAR) {
    int64_t columns = columns_of_b(m);
    if (c->rows_exist != columns)
      return hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
                        "as many columns as the copies of B",
                        "block scales of %lld columns are copied by index, B has %lld",
                        (long long)c->rows_exist, (long long)columns);
    int64_t bytes = c->rows * c->row_bytes;
    uint64_t tag = hd_ck_copy_scales_by_index(m, step, c->base, c->first_row, bytes);
    region.range = (hd_ck_range){.lo = 0, .hi = bytes, .n = 1};
    hd_ck_access_write(m, w, id, region, tag);
    return;
  }
  if (buffer->layout == HD_CK_LINEAR) {
    uint64_t tag = hd_ck_copy_scales(m, step, c->first_row, c->first_byte, c->rows_exist,
                                     c->row_bytes_exist);
    region.range = (hd_ck_range){.lo = c->offset, .hi = c->offset + c->row_bytes, .n = 1};
    hd_ck_access_write(m, w, id, region, tag);
    return;
  }
  int64_t panel = buffer->panel, g = matrix_at(m, w, step, buffer, c->base);
  for (int64_t at = 0; at * panel < c->row_bytes && !m->stop; at++) {
    int64_t lo = c->offset + at * buffer->rows * panel;
    region.range = (hd_ck_range){.lo = lo, .hi = lo + c->rows * panel, .n = 1};
    hd_ck_access_write(m, w, id, region,
                       b_tag_of(m, step->op, g, b_tag(c->first_byte + at * panel, c->first_row)));
  }
}

/* f32 scales by index: a row for each column, of one scale. */
static bool are_columns(const hd_op *arg, const hd_ck_ring *buffer, const row_copy *c) {
  enum { BYTES = 4 };
  return hd_op_arg(arg) == HD_ARG_BLOCK_SCALE_B && buffer->layout == HD_CK_LINEAR &&
         c->offset == 0 && c->first_byte == 0 && c->row_bytes_exist == BYTES &&
         c->row_bytes == BYTES && c->pitch == BYTES && c->rows * BYTES <= buffer->bytes;
}

static bool known_layout(const hd_ck_step *step, const hd_ck_ring *buffer, const row_copy *c) {
  const hd_op *arg = hd_copy_rows_source(step->op)->op;
  if (c->offset % HD_CK_CELL)
    return false;
  if (is_scales(arg) && is_by_index(step))
    return are_columns(arg, buffer, c);
  if (is_scales(arg) || buffer->layout == HD_CK_LINEAR)
    return is_scales(arg) && c->base == 0 && buffer->layout == HD_CK_LINEAR && c->rows == 1 &&
           c->offset == 0 &&
           c->row_bytes == buffer->bytes;
  if (buffer->layout == HD_CK_PACKED_A)
    return buffer->slab_bytes == c->row_bytes && !(c->pitch % HD_CK_CELL) &&
           !(c->first_byte % HD_CK_CELL) && !(c->base % HD_CK_CELL);
  return buffer->layout == HD_CK_ROWS && !buffer->run && buffer->panel == HD_CK_CELL &&
         !(c->row_bytes % HD_CK_CELL);
}

void hd_ck_copy_rows(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_value *env = w->env;
  row_copy c = {
      .pitch = env[step->args[HD_AT_copy_rows_pitch]].i,
      .first_row = env[step->args[HD_AT_copy_rows_row]].i,
      .first_byte = env[step->args[HD_AT_copy_rows_byte]].i,
      .row_bytes_exist = env[step->args[HD_AT_copy_rows_row_bytes]].i,
      .rows_exist = env[step->args[HD_AT_copy_rows_rows]].i,
      .rows = hd_op_int(step->op, HD_ATTR_ROWS, 0),
      .row_bytes = hd_op_int(step->op, HD_ATTR_ROW_BYTES, 0),
      .offset = hd_op_int(step->op, HD_ATTR_OFFSET, 0),
      .vec = hd_op_int(step->op, HD_ATTR_VEC, 0),
      .base = step->n_args > HD_AT_copy_rows_base ? env[step->args[HD_AT_copy_rows_base]].i : 0};
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_copy_rows_buffer, HD_AT_copy_rows_cursor, &region) ||
      !row_copy_fits(m, w, step, &c))
    return;
  if (!known_layout(step, region.buffer, &c))
    return hd_ck_undecided(m, step->op, "a copy of rows into a layout that is not known");
  if (region.buffer->layout == HD_CK_PACKED_A && !is_whole_row(m, w, step, &c))
    return;
  if (region.buffer->layout == HD_CK_ROWS) {
    if (!is_pitch_of_b(m, w, step, &c))
      return;
    note_b(m, step->op, &c);
  }
  hd_ck_access x = {.op = step->op, .slot = region.slot, .occurrence = ++w->n_shared_work};
  if (step->op->kind == HD_OP_COPY_CP_ASYNC) {
    x.kind = HD_CK_COPY;
    x.component = hd_ck_component(m, w->id, HD_CK_COPIED);
    x.value = w->copies_committed + 1;
    w->copied = step->op;
    w->copied_group = x.value;
  } else {
    x.kind = HD_CK_WRITE;
    x.component = hd_ck_component(m, w->id, HD_CK_LANES);
    x.value = w->now;
  }
  write_rows(m, w, step, hd_ck_access_add(m, w, x), region, &c);
}

/* R1: a CTA's shared memory is gone when it ends. */
void hd_ck_copies_finish(hd_ck_machine *m) {
  for (int32_t i = 0; i < m->n_warps && !m->stop; i++) {
    const hd_ck_warp *w = &m->warps[i];
    if (w->copied && w->copies_done < w->copied_group)
      hd_ck_find(m, "R1", (hd_check_access){0}, hd_ck_here(m, w, w->copied, -1),
                 "cp_async.commit after the last copy, cp_async.wait {pending = 0} before the end",
                 "the kernel may end before a copy is complete");
  }
}
