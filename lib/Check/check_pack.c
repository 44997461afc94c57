/* prune.pack, mask.pack and quantize.pack: every strip of every block is written once, in its own
 * matrix, masked with the matrix's sizes. It accesses no shared memory and waits for nothing.
 *
 * A strip of 16 rows by a k-block of 64 elements is also 64 rows by 16 elements of the twin, the
 * transposed matrix: the twin is written once if the matrix is. */
#include <string.h>

#include "Check/check_machine.h"
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

void hd_ck_prune_pack(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t row = w->env[step->args[HD_AT_prune_pack_row]].i,
          block = w->env[step->args[HD_AT_prune_pack_k_block]].i,
          rows = w->env[step->args[HD_AT_prune_pack_m]].i,
          columns = w->env[step->args[HD_AT_prune_pack_k]].i,
          pitch = w->env[step->args[HD_AT_prune_pack_pitch]].i;
  int64_t k_block = hd_k_block_size(hd_op_elem(step->op, HD_ATTR_TYPE));
  bool twin = step->op->kind != HD_OP_QUANTIZE_PACK && hd_prune_pack_twin(step->op);
  if (twin && k_block != HD_SLAB_ROWS)
    return hd_ck_undecided(m, step->op, "a twin whose blocks are not those of the matrix");
  if (m->at.m < 0 || m->at.k < 0)
    return hd_ck_undecided(m, step->op, "a pack with sizes that are not arguments");
  if (strcmp(name_source(step->op), "b") != 0)
    return hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
                      "the argument that the op is for", "what is packed is argument %s, not b",
                      name_source(step->op));
  note_sizes(m, step, k_block);
  if (rows != m->at.m)
    return wrong(m, w, step, "mask with m of the matrix", "rows", rows, m->at.m);
  if (columns != m->at.k)
    return wrong(m, w, step, "mask with k of the matrix", "columns", columns, m->at.k);
  int64_t line = hd_op_has(step->op, HD_ATTR_TRANS) ? rows : columns;
  if (pitch < line)
    return wrong(m, w, step, "a pitch no shorter than a row", "elements of the pitch", pitch,
                 line);
  if (row < 0 || block < 0 || row % HD_STRIP_ROWS)
    return hd_ck_undecided(m, step->op, "a strip that is not 16 rows of a k-block");
  if (row >= m->extents->m)
    return wrong(m, w, step, "strips of the padded matrix", "first row", row,
                 m->extents->m - HD_STRIP_ROWS);
  for (int64_t c = block * k_block; c < (block + 1) * k_block && !m->stop; c += COLUMNS)
    hd_ck_store_mark(m, w, step, 0, row, c);
}
