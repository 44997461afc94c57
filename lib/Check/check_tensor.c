/* tcgen05: tensor memory, and the order of its asynchronous operations (R9). A slot is modelled as
 * 128 consecutive lanes. The tag of a cell of metadata gives its block and strip. The content of
 * accumulators is kept beside their slot, by slab of 64 rows. */
#include "Check/check_machine.h"
#include "Layout/packed_format.h"
#include "Spec/spec.h"

enum { LANES = 128, STRIP = 16, WORD_BYTES = 8 /* per lane: two columns */ };

static int64_t lane_bytes(const hd_ck_region *region) {
  return region->buffer->bytes / LANES;
}

static hd_ck_content *sums_of(hd_ck_machine *m, const hd_ck_region *region) {
  int32_t slot = region->cta * m->program->n_buffer_slots + region->buffer->first + region->slot;
  return m->sums[slot];
}

/* --- order ---------------------------------------------------------------------------------- */

void hd_ck_tensor_fence(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  if (step->op->kind == HD_OP_TCGEN05_FENCE_AFTER) {
    hd_ck_join(m, w->clock, w->view);
    return;
  }
  for (int i = 0; i < 2; i++)
    w->told[i] = w->waited[i];
}

/* Later operations of the warp need no fence after its wait. */
void hd_ck_tensor_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int which = step->op->kind == HD_OP_TCGEN05_WAIT_ST;
  w->waited[which] = w->moved[which];
  w->view[hd_ck_component(m, w->id, which ? HD_CK_STORES : HD_CK_LOADS)] = w->waited[which];
  for (int32_t i = 0; i < step->n_args; i++) {
    hd_ck_frag f = w->env[step->args[i]].frag;
    if (f.state == HD_CK_FRAG_LOADING) {
      f.state = HD_CK_FRAG_READY;
      f.touched = w->now;
      f.made = step->op;
    }
    w->env[step->results[i]].frag = f;
  }
}

static uint32_t enter_move(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int which,
                           const hd_ck_region *region) {
  hd_ck_access x = {.op = step->op, .kind = HD_CK_TENSOR_MOVE, .slot = region->slot};
  x.component = hd_ck_component(m, w->id, which ? HD_CK_STORES : HD_CK_LOADS);
  x.value = ++w->moved[which];
  return hd_ck_access_add(m, w, x);
}

/* --- moves ---------------------------------------------------------------------------------- */

/* The lanes of a strip (operand 2) of a slot (0, 1). The warp must be able to access them. */
static bool strip_region(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                         hd_ck_region *region) {
  int64_t strip = w->env[step->args[HD_AT_load_place]].i;
  if (!hd_ck_tensor_region(m, w, step, w->cta, HD_AT_load_buffer, HD_AT_load_cursor, region))
    return false;
  int64_t bytes = lane_bytes(region) * STRIP;
  region->range = (hd_ck_range){.lo = strip * bytes, .hi = (strip + 1) * bytes, .n = 1};
  if (strip >= 0 && strip / 2 == w->index % 4)
    return true;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region->slot),
             "strips 2i and 2i + 1 by warps 4j + i of the CTA",
             "strip %lld lies in other lanes than warp %d reaches", (long long)strip, w->index);
  return false;
}

/* Number of cells of a strip of metadata. */
static int64_t strip_cells(const hd_ck_region *region) {
  return lane_bytes(region) * STRIP / HD_CK_CELL;
}

void hd_ck_tensor_st(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  if (!strip_region(m, w, step, &region))
    return;
  int32_t n = step->n_args - HD_AT_tcgen05_st_words;
  if (n * WORD_BYTES != lane_bytes(&region) || n < 1)
    return hd_ck_undecided(m, step->op, "a strip of metadata stored in parts");
  const hd_ck_content *c = &w->env[step->args[HD_AT_tcgen05_st_words]].frag.content;
  for (int32_t i = 0; i < n; i++) {
    const hd_ck_frag *f = &w->env[step->args[HD_AT_tcgen05_st_words + i]].frag;
    hd_ck_frag_use(m, w, step, HD_AT_tcgen05_st_words + i);
    if (m->stop || !f->made || f->made->kind != HD_OP_LOAD_META)
      return hd_ck_undecided(m, step->op, "something else than metadata in tensor memory");
    if (f->content.block != c->block || f->content.strip != c->strip ||
        f->content.strip != w->env[step->args[HD_AT_tcgen05_st_strip]].i % HD_SLAB_STRIPS ||
        hd_op_int(f->made, HD_ATTR_WORD, 0) != i)
      hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
                 "all words of the strip, in their order",
                 "the words are not those of one strip of metadata");
  }
  uint64_t tag = (uint64_t)((c->block * HD_SLAB_STRIPS + c->strip) * strip_cells(&region));
  hd_ck_access_write(m, w, enter_move(m, w, step, 1, &region), region, tag);
}

void hd_ck_tensor_ld(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  if (!strip_region(m, w, step, &region))
    return;
  int64_t strip = w->env[step->args[HD_AT_load_place]].i,
          first = hd_op_int(step->op, HD_ATTR_OFFSET, 0);
  int64_t columns = step->op->results[0]->type.n * 2, all = lane_bytes(&region) / 4;
  if (first + columns > all)
    hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
               "columns of the slot", "columns [%lld, %lld) of a slot of %lld", (long long)first,
               (long long)(first + columns), (long long)all);
  hd_ck_access_read(m, w, enter_move(m, w, step, 0, &region), region);
  hd_ck_frag f = {.state = HD_CK_FRAG_LOADING, .root = -1};
  f.content = sums_of(m, &region)[strip / HD_SLAB_STRIPS];
  f.content.strip = strip % HD_SLAB_STRIPS;
  f.content.col += first;
  hd_ck_frag_define(m, w, step, f);
}

/* --- multiplication ------------------------------------------------------------------------- */

static void wrong_operand(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                          const char *what) {
  if (!m->stop)
    hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "operands of one k-block, step and tile", "%s", what);
}

/* A slab of one of the CTAs that an instruction works for. */
typedef struct slab {
  int32_t cta, index; /* of the CTA's slabs */
} slab;

/* Reads one k-step of a slab; strip 0 represents all of its strips. */
static bool read_a(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, slab at,
                   hd_ck_content *a) {
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_tcgen05_mma_a, HD_AT_tcgen05_mma_cursor, &region))
    return false;
  region.cta = at.cta;
  int64_t k = hd_op_int(step->op, HD_ATTR_STEP, 0), slabs = region.buffer->n_slabs;
  if (!region.buffer->by_step || slabs != HD_CK_MAX_SLABS || k >= HD_K_STEPS) {
    hd_ck_undecided(m, step->op, "A that is not two slabs in the order of two k-steps");
    return false;
  }
  int64_t lo = (k * slabs + at.index) * HD_STEP_VALUE_BYTES;
  region.range = (hd_ck_range){.lo = lo, .hi = lo + HD_STEP_VALUE_BYTES, .n = 1};
  a->block = hd_ck_block_of(m, w, step, &region, hd_ck_read_matrix(m, w, step, &region, NULL));
  a->step = (int32_t)k;
  a->strip = 0;
  return true;
}

/* Reads all four strips of a slab's metadata. */
static bool read_metadata(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, slab at,
                          hd_ck_content *meta) {
  hd_ck_region region;
  if (!hd_ck_tensor_region(m, w, step, at.cta, HD_AT_tcgen05_mma_metadata, HD_AT_tcgen05_mma_cursor,
                           &region))
    return false;
  int64_t bytes = lane_bytes(&region) * LANES / HD_CK_MAX_SLABS, cells = strip_cells(&region);
  if (cells < 1) {
    hd_ck_undecided(m, step->op, "less than two columns of metadata");
    return false;
  }
  region.range = (hd_ck_range){.lo = at.index * bytes, .hi = (at.index + 1) * bytes, .n = 1};
  int64_t tag = (int64_t)hd_ck_read_matrix(m, w, step, &region, NULL);
  meta->block = tag / (HD_SLAB_STRIPS * cells);
  meta->strip = (int32_t)(tag / cells % HD_SLAB_STRIPS);
  return true;
}

/* Reads B's columns: those of a pair's first CTA, then those of its second. */
static bool read_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t first,
                         int32_t n_ctas, int64_t columns, hd_ck_content *b) {
  hd_ck_region region;
  if (!hd_ck_region_of(m, w, step, HD_AT_tcgen05_mma_b, HD_AT_tcgen05_mma_cursor, &region))
    return false;
  int64_t each = region.buffer->bytes / HD_CK_CELL;
  if (each * n_ctas != columns)
    wrong_operand(m, w, step, "B has other columns than the accumulators");
  for (int32_t i = 0; i < n_ctas && !m->stop; i++) {
    hd_ck_content part = hd_ck_no_frag.content;
    region.cta = first + i;
    if (!hd_ck_read_b(m, w, step, region, &part))
      return false;
    if (i == 0)
      *b = part;
    else if (part.k_block != b->k_block || part.col != b->col + i * each)
      part.end = b->col + i * each;
    b->end = part.end < b->end ? part.end : b->end;
  }
  return !m->stop;
}

/* Multiplies the rows of one CTA, that of `region`. */
static void multiply_rows(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                          const hd_ck_region *region, hd_ck_content *sums, const hd_ck_content *b) {
  bool adds = w->env[step->args[HD_AT_tcgen05_mma_scale_d]].i != 0,
       scaled = step->n_args > HD_AT_tcgen05_mma_scale_a;
  hd_ck_tiles tiles = {0};
  if (scaled && !hd_ck_scale_tiles(m, w, step, region->cta, lane_bytes(region) / 4, b, &tiles))
    return;
  for (int32_t i = 0; i < HD_CK_MAX_SLABS && !m->stop; i++) {
    slab at = {region->cta, i};
    hd_ck_content a = hd_ck_no_frag.content, meta = a, *sum = &sums[i];
    if (!read_a(m, w, step, at, &a) || !read_metadata(m, w, step, at, &meta))
      return;
    if (adds && !sum->n_steps)
      wrong_operand(m, w, step, "the accumulators are added to before they have a value");
    hd_ck_content before = adds ? *sum : hd_ck_no_frag.content;
    *sum = hd_ck_accumulate(m, w, step, &before, &a, &meta, b);
    hd_ck_scale_sums(m, w, step, &tiles, &before, sum);
  }
}

/* Operands: accumulators, cursor, A, cursor of the stage, B, metadata, scale-d, block scales. */
void hd_ck_tensor_mma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int32_t first, n_ctas = hd_ck_tensor_group(m, w, step, &first);
  hd_ck_region region;
  hd_ck_content b = hd_ck_no_frag.content;
  w->multiplied++;
  if (!n_ctas || !hd_ck_tensor_region(m, w, step, first, HD_AT_tcgen05_mma_sums,
                                      HD_AT_tcgen05_mma_sums_cursor, &region))
    return;
  int64_t columns = lane_bytes(&region) / 4;
  if (!read_columns(m, w, step, first, n_ctas, columns, &b))
    return;
  int64_t k_step = step->row->n_selectors > 1 ? hd_op_int(step->op, HD_ATTR_STEP, 0) : 0;
  if (hd_op_int(step->op, HD_ATTR_SELECTOR, 0) != k_step)
    wrong_operand(m, w, step, "the selector names the metadata of another k-step");
  for (int32_t i = 0; i < n_ctas && !m->stop; i++) {
    if (!hd_ck_tensor_region(m, w, step, first + i, HD_AT_tcgen05_mma_sums,
                             HD_AT_tcgen05_mma_sums_cursor, &region))
      return;
    hd_ck_access x = {.op = step->op, .kind = HD_CK_TENSOR_MMA, .slot = region.slot};
    x.component = hd_ck_component(m, w->id, HD_CK_MMA);
    x.value = w->multiplied;
    hd_ck_region all = region; /* of the accumulators */
    all.range = (hd_ck_range){.hi = region.buffer->bytes, .n = 1};
    hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), all, 0);
    w->sums[i] = sums_of(m, &region);
    multiply_rows(m, w, step, &region, w->sums[i], &b);
  }
}
