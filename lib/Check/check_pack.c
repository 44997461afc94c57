/* prune.pack, mask.pack and quantize.pack: every strip of every block is written once, in its own
 * matrix, masked with the matrix's sizes.
 *
 * A strip of 16 rows by a k-block of 64 elements is also 64 rows by 16 elements of the twin, the
 * transposed matrix: the twin's values are written once if the matrix is. Its codes pass through a
 * slot with a line for each strip of a slab; what twin.codes stores must be of these strips. */
#include <string.h>

#include "Check/check_instances.h"
#include "Layout/packed_format.h"

enum { COLUMNS = 8 /* of an entry of the record */ };

static int64_t round_up(int64_t x, int64_t by) { return (x + by - 1) / by * by; }

/* Creates the record of the packed matrix, including padding, in place of D's. */
static void note_sizes(hd_ck_machine *m, const hd_ck_step *step, int64_t k_block) {
  hd_ck_extents *x = m->extents;
  if (x->m >= 0)
    return;
  x->m = round_up(m->at.m, HD_SLAB_ROWS);
  x->n = round_up(m->at.k, k_block);
  x->store_op = step->op;
  hd_ck_store_begin(x);
}

static void wrong(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *legal,
                  const char *what, int64_t got, int64_t expected) {
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1), legal,
             "%s: got %lld, expected %lld", what, (long long)got, (long long)expected);
}

/* The name of the argument that is packed. */
static const char *name_source(const hd_op *pack) {
  const hd_op *source = hd_prune_pack_source(pack)->op;
  return source && source->kind == HD_OP_ARG ? hd_op_str(source, HD_ATTR_ARG) : "none";
}

/* The strip and the k-block of an op, which must be those of the matrix. */
typedef struct place {
  int64_t row, block, rows, columns, k_block; /* block: index; k_block: elements of one */
} place;

/* Whether they are valid; reports if not. */
static bool check_place(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                        const place *at) {
  bool valid = false;
  if (at->rows != m->at.m)
    wrong(m, w, step, "mask with m of the matrix", "rows", at->rows, m->at.m);
  else if (at->columns != m->at.k)
    wrong(m, w, step, "mask with k of the matrix", "columns", at->columns, m->at.k);
  else if (at->row < 0 || at->block < 0 || at->row % HD_STRIP_ROWS)
    hd_ck_undecided(m, step->op, "a strip that is not 16 rows of a k-block");
  else if (at->row >= m->extents->m)
    wrong(m, w, step, "strips of the padded matrix", "first row", at->row,
          m->extents->m - HD_STRIP_ROWS);
  else
    valid = true;
  return valid;
}

/* ---- the twin's codes ---- */

/* Of the line of the strip that begins at `row`. */
static uint64_t tag_of(int64_t row, int64_t block) {
  return hd_ck_statistic_tag(block, row, 0, false);
}

static hd_ck_range line_of(int64_t row) {
  int64_t lo = row / HD_STRIP_ROWS % HD_SLAB_STRIPS * HD_META_STRIP_BYTES;
  return (hd_ck_range){.lo = lo, .hi = lo + HD_META_STRIP_BYTES, .n = 1};
}

static void write_codes(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, const place *at) {
  hd_ck_region region;
  if (at->block * at->k_block >= at->columns ||
      !hd_ck_region_at(m, w, step, HD_AT_prune_pack_codes, HD_AT_prune_pack_slot, &region))
    return;
  region.range = line_of(at->row);
  hd_ck_write_statistic(m, w, step, region, 0, tag_of(at->row, at->block));
}

static int64_t blocks_of(const hd_ck_extents *x, int64_t k_block) { return x->n / k_block; }

/* Records the share, which is stored once. */
static void mark_codes(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const place *at) {
  hd_ck_extents *x = m->extents;
  int64_t blocks = blocks_of(x, at->k_block);
  if (!x->stored[HD_CK_D])
    return;
  if (!x->coded)
    x->coded = HD_NEW_ARRAY(&x->arena, uint8_t, x->m / HD_STRIP_ROWS * blocks);
  uint8_t *by = &x->coded[at->row / HD_STRIP_ROWS * blocks + at->block];
  if (*by)
    hd_ck_find(m, "coverage", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
               "one twin.codes for every strip and k-block",
               "the codes of the strip at row %lld, k-block %lld are stored twice",
               (long long)at->row, (long long)at->block);
  *by = 1;
}

void hd_ck_twin_codes(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_region region;
  place at = {.row = w->env[step->args[HD_AT_twin_codes_row]].i,
              .block = w->env[step->args[HD_AT_twin_codes_k_block]].i,
              .rows = w->env[step->args[HD_AT_twin_codes_m]].i,
              .columns = w->env[step->args[HD_AT_twin_codes_k]].i,
              .k_block = hd_k_block_size(hd_op_elem(step->op, HD_ATTR_TYPE))};
  if (m->at.m < 0 || m->at.k < 0)
    return hd_ck_undecided(m, step->op, "a pack with sizes that are not arguments");
  note_sizes(m, step, at.k_block);
  if (!check_place(m, w, step, &at) || at.block * at.k_block >= at.columns ||
      !hd_ck_region_at(m, w, step, HD_AT_twin_codes_codes, HD_AT_twin_codes_slot, &region))
    return;
  for (int64_t s = 0; s < HD_SLAB_STRIPS && !m->stop; s++) {
    int64_t row = at.row / HD_SLAB_ROWS * HD_SLAB_ROWS + s * HD_STRIP_ROWS;
    region.range = line_of(row);
    if (hd_ck_read_statistic(m, w, step, region) != tag_of(row, at.block) && !m->stop)
      hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, region.slot),
                 "the codes of the slab's four strips in this k-block",
                 "codes of the strip at row %lld, k-block %lld are those of another",
                 (long long)row, (long long)at.block);
  }
  if (!m->stop)
    mark_codes(m, w, step, &at);
}

static bool packs_twin(const hd_op *kernel) {
  const hd_op *pack = hd_find_op(kernel->regions[0], HD_OP_PRUNE_PACK);
  pack = pack ? pack : hd_find_op(kernel->regions[0], HD_OP_MASK_PACK);
  return pack && hd_prune_pack_twin(pack);
}

void hd_ck_twin_finish(hd_ck_kernel *k, const hd_ck_extents *x) {
  if (!x->stored[HD_CK_D] || !packs_twin(k->program.kernel))
    return;
  int64_t blocks = blocks_of(x, hd_k_block_size(hd_op_elem(x->store_op, HD_ATTR_TYPE)));
  for (int64_t i = 0; i < x->m / HD_STRIP_ROWS * blocks; i++)
    if (!x->coded || !x->coded[i]) {
      hd_ck_static_find(k, "coverage", x->store_op, "a twin.codes for every strip and k-block",
                        "codes of the twin, of the strip at row %lld, k-block %lld, are never "
                        "stored",
                        (long long)(i / blocks * HD_STRIP_ROWS), (long long)(i % blocks));
      return;
    }
}

/* ---- the strips ---- */

void hd_ck_prune_pack(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  place at = {.row = w->env[step->args[HD_AT_prune_pack_row]].i,
              .block = w->env[step->args[HD_AT_prune_pack_k_block]].i,
              .rows = w->env[step->args[HD_AT_prune_pack_m]].i,
              .columns = w->env[step->args[HD_AT_prune_pack_k]].i,
              .k_block = hd_k_block_size(hd_op_elem(step->op, HD_ATTR_TYPE))};
  int64_t pitch = w->env[step->args[HD_AT_prune_pack_pitch]].i;
  bool twin = step->op->kind != HD_OP_QUANTIZE_PACK && hd_prune_pack_twin(step->op);
  if (twin && at.k_block != HD_SLAB_ROWS)
    return hd_ck_undecided(m, step->op, "a twin whose blocks are not those of the matrix");
  if (m->at.m < 0 || m->at.k < 0)
    return hd_ck_undecided(m, step->op, "a pack with sizes that are not arguments");
  if (strcmp(name_source(step->op), "b") != 0)
    return hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "the argument that the op is for", "what is packed is argument %s, not b",
                      name_source(step->op));
  note_sizes(m, step, at.k_block);
  if (!check_place(m, w, step, &at))
    return;
  int64_t line = hd_op_has(step->op, HD_ATTR_TRANS) ? at.rows : at.columns;
  if (pitch < line)
    return wrong(m, w, step, "a pitch no shorter than a row", "elements of the pitch", pitch,
                 line);
  for (int64_t c = at.block * at.k_block; c < (at.block + 1) * at.k_block && !m->stop; c += COLUMNS)
    hd_ck_store_mark(m, w, step, 0, at.row, c);
  if (twin && !m->stop)
    write_codes(m, w, step, &at);
}
