/* Fragments in registers: their content, and which accesses are allowed (R5). */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"
#include "Spec/spec.h"

const hd_ck_frag hd_ck_no_frag = {
    .root = -1, .content = {.block = -1, .k_block = -1, .strip = -1, .col = -1, .end = INT64_MAX}};

/* --- R5 ------------------------------------------------------------------------------------- */

void hd_ck_frag_use(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t operand) {
  hd_ck_frag *f = &w->env[step->args[operand]].frag;
  f->touched = w->now;
  if (f->state == HD_CK_FRAG_READY && !f->consumed)
    return;
  hd_check_access here = hd_ck_here(m, w, step->op, -1);
  hd_check_access made = f->made ? hd_ck_here(m, w, f->made, -1) : (hd_check_access){0};
  if (f->consumed)
    hd_ck_find(m, "R5", made, here, "use the result of the wgmma that owns the registers",
               "%s uses a fragment whose registers belong to a wgmma", here.text);
  else if (f->state == HD_CK_FRAG_IN_FLIGHT)
    hd_ck_find(m, "R5", made, here, "wgmma.wait {pending = 0} through which the fragment passes",
               "%s uses a fragment that a wgmma may not have finished", here.text);
  else if (f->state == HD_CK_FRAG_LOADING)
    hd_ck_find(m, "R9", made, here, "tcgen05.wait_ld through which the fragment passes",
               "%s uses a fragment that tcgen05.ld may not have delivered", here.text);
  else if (f->state == HD_CK_FRAG_UNDEFINED || f->state == HD_CK_FRAG_NONE)
    hd_ck_find(m, "R5", made, here, "an mma that starts from zero",
               "%s uses a fragment without a value", here.text);
}

void hd_ck_frag_define(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_frag frag) {
  hd_ck_frag *f = &w->env[step->results[0]].frag;
  uint32_t done = w->clock[hd_ck_component(m, w->id, HD_CK_WGMMA)];
  if (f->read_by > done) {
    hd_check_access here = hd_ck_here(m, w, step->op, -1);
    hd_ck_find(m, "R5", (hd_check_access){0}, here, "wgmma.wait that covers the reading group",
               "%s overwrites registers that a wgmma may still read", here.text);
  }
  frag.made = step->op;
  frag.touched = w->now;
  *f = frag;
}

void hd_ck_frag_constant(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  bool zero = step->op->kind == HD_OP_FRAG_ZERO;
  hd_ck_frag frag = hd_ck_no_frag;
  frag.state = zero ? HD_CK_FRAG_READY : HD_CK_FRAG_UNDEFINED;
  w->env[step->results[0]].frag.read_by = 0; /* a new value: its registers never held A */
  hd_ck_frag_define(m, w, step, frag);
}

void hd_ck_frag_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_frag_use(m, w, step, 0);
  hd_ck_frag part = hd_ck_no_frag;
  part.state = HD_CK_FRAG_READY;
  part.content = w->env[step->args[HD_AT_frag_columns_whole]].frag.content;
  if (part.content.col >= 0)
    part.content.col += hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  w->env[step->results[0]].frag.read_by = 0;
  hd_ck_frag_define(m, w, step, part);
}

/* --- loads ---------------------------------------------------------------------------------- */

/* Offset within its block of the byte that a packed_a slot holds at `at`. */
static int64_t byte_of_block(const hd_ck_ring *buffer, int64_t at) {
  int64_t slab = buffer->slab_bytes, values = buffer->meta_offset, slabs = buffer->n_slabs;
  if (!buffer->by_step)
    return at % slab;
  if (at >= slabs * values)
    return values + (at - slabs * values) % (slab - values);
  return at / (slabs * HD_STEP_VALUE_BYTES) * HD_STEP_VALUE_BYTES + at % HD_STEP_VALUE_BYTES;
}

/* The first byte of the metadata of a slab. */
static int64_t meta_of_slab(const hd_ck_ring *buffer, int64_t slab) {
  int64_t bytes = buffer->slab_bytes, values = buffer->meta_offset;
  return buffer->by_step ? buffer->n_slabs * values + slab * (bytes - values)
                         : slab * bytes + values;
}

/* Slabs have 64 rows; strip 4 * slab + i has 16 of them. */
static bool strip_region(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                         hd_ck_region *region, int64_t *lo) {
  int64_t strip = w->env[step->args[HD_AT_load_place]].i;
  if (!hd_ck_region_of(m, w, step, HD_AT_load_buffer, HD_AT_load_cursor, region))
    return false;
  if (region->buffer->layout != HD_CK_PACKED_A) {
    hd_ck_undecided(m, step->op, "A in a buffer that is not packed_a");
    return false;
  }
  int64_t slab = region->buffer->slab_bytes;
  bool meta = step->op->kind == HD_OP_LOAD_META;
  if (!meta && region->buffer->by_step) {
    hd_ck_undecided(m, step->op, "A's fragments of a slot in order of k-steps");
    return false;
  }
  if (meta)
    *lo = meta_of_slab(region->buffer, strip / 4) +
          (hd_op_int(step->op, HD_ATTR_WORD, 0) * 4 + strip % 4) * HD_META_STRIP_BYTES;
  else
    *lo = strip / 4 * slab + hd_op_int(step->op, HD_ATTR_STEP, 0) * HD_STEP_VALUE_BYTES +
          strip % 4 * HD_STRIP_VALUE_BYTES;
  int64_t bytes = meta ? HD_META_STRIP_BYTES : HD_STRIP_VALUE_BYTES;
  region->range = (hd_ck_range){.lo = lo[0], .hi = lo[0] + bytes, .n = 1};
  if (strip >= 0 && byte_of_block(region->buffer, lo[0]) + bytes <= slab)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region->slot),
             "a strip, word and step of the slab", "strip %lld lies outside of a slab",
             (long long)strip);
  return false;
}

/* Columns [col, col + 8) of one k-step. */
static bool column_region(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          hd_ck_region *region) {
  int64_t col = w->env[step->args[HD_AT_load_place]].i, k = hd_op_int(step->op, HD_ATTR_STEP, 0);
  if (!hd_ck_region_of(m, w, step, HD_AT_load_buffer, HD_AT_load_cursor, region))
    return false;
  const hd_ck_ring *buffer = region->buffer;
  int64_t rows = buffer->rows, panel = buffer->panel;
  if (buffer->layout != HD_CK_ROWS || panel != HD_CK_CELL || k >= HD_K_STEPS || col < 0 ||
      col % 8 || buffer->run) {
    hd_ck_undecided(m, step->op, "B in a buffer without ordered rows of 128 bytes");
    return false;
  }
  if (!hd_op_has(step->op, HD_ATTR_TRANS)) {
    region->range = (hd_ck_range){.lo = col * panel, .hi = (col + 8) * panel, .n = 1};
    return true;
  }
  int64_t column_of_panels = col * buffer->elem_bits / 8 / panel;
  int64_t lo = (column_of_panels * rows + k * rows / HD_K_STEPS) * panel;
  region->range = (hd_ck_range){.lo = lo, .hi = lo + rows / HD_K_STEPS * panel, .n = 1};
  return true;
}

static uint32_t enter_read(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                           const hd_ck_region *region) {
  hd_ck_access x = {.op = step->op, .kind = HD_CK_READ, .slot = region->slot, .value = w->now};
  x.component = hd_ck_component(m, w->id, HD_CK_READS);
  return hd_ck_access_add(m, w, x);
}

/* The block that a tag of A names; a finding, and -1, if its position in the block is wrong. */
int64_t hd_ck_block_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_region *region, uint64_t tag) {
  int64_t slab = region->buffer->slab_bytes, byte = (int64_t)tag * HD_CK_CELL;
  if (slab > 0 && byte % slab == byte_of_block(region->buffer, region->range.lo))
    return byte / slab;
  if (!m->stop)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region->slot),
               "copy whole blocks to whole slabs", "byte %lld of A lies at byte %lld of the slot",
               (long long)byte, (long long)region->range.lo);
  return -1;
}

/* K-block and first column that a tag of B names. k_block is -1 if the data begins inside one. */
void hd_ck_columns_of(const hd_ck_machine *m, const hd_ck_region *region, uint64_t tag, bool trans,
                      int64_t k_step, hd_ck_content *content) {
  const hd_ck_ring *buffer = region->buffer;
  int64_t g = m->extents->n_matrices ? m->extents->matrix[tag >> HD_CK_MATRIX_BIT] : 0;
  tag = m->extents->n_matrices ? tag & ((UINT64_C(1) << HD_CK_MATRIX_BIT) - 1) : tag;
  int64_t bits = buffer->elem_bits, byte = (int64_t)(tag >> 32);
  int64_t row = (int64_t)(tag & UINT32_MAX);
  content->step = (int32_t)k_step;
  content->run = buffer->run ? (int32_t)buffer->run : 2;
  int64_t at = trans ? row - k_step * buffer->rows / HD_K_STEPS : byte;
  int64_t k_block = trans ? HD_CK_CELL * 8 / bits : HD_CK_CELL;
  content->k_block = at % k_block ? -1 : at / k_block;
  content->col = (trans ? byte * 8 / bits : row) + g * (INT64_C(1) << HD_CK_MATRIX_COLUMNS);
}

static hd_ck_frag loaded(const hd_ck_step *step) {
  hd_ck_frag f = hd_ck_no_frag;
  f.state = HD_CK_FRAG_READY;
  f.root = f.home = step->results[0];
  return f;
}

static void load_a(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  int64_t lo;
  if (!strip_region(m, w, step, &region, &lo))
    return;
  hd_ck_frag f = loaded(step);
  uint64_t tag = hd_ck_access_read(m, w, enter_read(m, w, step, &region), region);
  f.content.block = hd_ck_block_of(m, w, step, &region, tag);
  f.content.strip = w->env[step->args[HD_AT_load_place]].i % 4;
  if (step->n_args > HD_AT_load_meta_older)
    f.home = w->env[step->args[HD_AT_load_meta_older]].frag.home;
  bool is_a = step->op->kind == HD_OP_LOAD_A; /* for metadata: the word, see selects_step */
  f.content.step = (int32_t)hd_op_int(step->op, is_a ? HD_ATTR_STEP : HD_ATTR_WORD, 0);
  hd_ck_frag_define(m, w, step, f);
}

void hd_ck_load(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  if (step->op->kind != HD_OP_LOAD_B)
    return load_a(m, w, step);
  if (!column_region(m, w, step, &region))
    return;
  bool trans = hd_op_has(step->op, HD_ATTR_TRANS);
  hd_ck_frag f = loaded(step);
  uint64_t tag = hd_ck_access_read(m, w, enter_read(m, w, step, &region), region);
  hd_ck_columns_of(m, &region, tag, trans, hd_op_int(step->op, HD_ATTR_STEP, 0), &f.content);
  if (trans)
    f.content.col +=
        w->env[step->args[HD_AT_load_place]].i % (HD_CK_CELL * 8 / region.buffer->elem_bits);
  hd_ck_frag_define(m, w, step, f);
}

/* --- multiply ------------------------------------------------------------------------------- */

static uint64_t hash_step(int64_t k_block, int32_t k_step) {
  uint64_t x = (uint64_t)(k_block * HD_K_STEPS + k_step + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
  return x ^ x >> 27;
}

/* A word of metadata holds as many k-steps as the row has selectors. The selector is the index of
 * the k-step within its word. */
static bool selects_step(const hd_ck_step *step, const hd_ck_content *meta, int32_t k_step) {
  int32_t in_word = step->row && step->row->n_selectors > 1 ? step->row->n_selectors : 1;
  in_word = in_word > HD_K_STEPS ? HD_K_STEPS : in_word;
  int64_t selector = hd_op_int(step->op, HD_ATTR_SELECTOR, 0);
  return meta->step == k_step / in_word && selector == k_step % in_word;
}

static const char *mismatch(const hd_ck_step *step, const hd_ck_content *acc,
                            const hd_ck_content *a, const hd_ck_content *meta,
                            const hd_ck_content *b) {
  if (a->block != meta->block || a->strip != meta->strip)
    return "A and metadata come from different blocks or strips";
  if (a->step != b->step)
    return "A and B belong to different k-steps";
  if (step->op->kind != HD_OP_TCGEN05_MMA_SP && !selects_step(step, meta, a->step))
    return "the metadata word or the selector belongs to another k-step";
  if (acc->block >= 0 && acc->block != a->block - b->k_block)
    return "A and B belong to different k-blocks, or to another slab than before";
  if (acc->strip >= 0 && (acc->strip != a->strip || acc->col != b->col || acc->run != b->run))
    return "the accumulators belong to another strip or column";
  return NULL;
}

/* Adds one k-step to the accumulators. */
hd_ck_content hd_ck_accumulate(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                               const hd_ck_content *acc, const hd_ck_content *a,
                               const hd_ck_content *meta, const hd_ck_content *b) {
  const char *why = mismatch(step, acc, a, meta, b);
  if (why && !m->stop)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "operands of one k-block, step, strip and column", "%s", why);
  hd_ck_content sum = *acc;
  sum.block = a->block - b->k_block;
  sum.strip = a->strip;
  sum.col = b->col;
  sum.run = b->run;
  sum.end = b->end < acc->end ? b->end : acc->end;
  sum.n_steps++;
  sum.sum += hash_step(b->k_block, b->step);
  if (sum.n_steps == 1 || b->k_block != sum.last) {
    sum.stride = b->k_block - sum.last;
    sum.last = b->k_block;
  }
  return sum;
}

uint64_t hd_ck_sum_of(int64_t first, int64_t stride, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++)
    for (int32_t k = 0; k < HD_K_STEPS; k++)
      sum += hash_step(first + i * stride, k);
  return sum;
}
