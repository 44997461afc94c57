/* Rules of ops that access buffers and barriers: rings have one length, accesses stay in their
 * slot, and storage has the layout that the op expects. */
#include "IR/shared_layout.h"
#include "IR/verify.h"
#include "Layout/packed_format.h"
#include "Spec/spec.h"
#include "Support/activations.h"

int64_t hd_verify_stages(const hd_verifier *v, const hd_value *cursor) {
  return hd_facts_get(&v->stages, cursor);
}

static void set_stages(hd_verifier *v, const hd_value *value, int64_t stages) {
  if (value->type.kind == HD_TYPE_CURSOR && stages != HD_NO_FACT)
    hd_facts_set(&v->stages, value, stages);
}

/* Sets the stages of a cursor result. All paths into the result must agree. */
static void join_cursors(hd_verifier *v, const hd_op *op, int32_t i, const hd_op *last) {
  int64_t old = hd_verify_stages(v, op->results[i]);
  int64_t stages = hd_verify_stages(v, last->operands[i]);
  if (old != HD_NO_FACT && stages != HD_NO_FACT && stages != old)
    hd_verify_fail(v, last, "ir.stages",
                   "value %d is a cursor of %lld stages; legal: %lld, as before", (int)i,
                   (long long)stages, (long long)old);
  set_stages(v, op->results[i], stages);
}

void hd_verify_result_cursors(hd_verifier *v, const hd_op *op) {
  if (op->kind == HD_OP_CURSOR || op->kind == HD_OP_CURSOR_NEXT)
    set_stages(v, op->results[0], hd_op_int(op, HD_ATTR_STAGES, HD_NO_FACT));
  for (int32_t i = 0; op->kind == HD_OP_FOR && i < op->n_results; i++)
    set_stages(v, op->results[i], hd_verify_stages(v, hd_for_carried(op)[i]));
  if (op->kind != HD_OP_FOR && op->kind != HD_OP_IF)
    return;
  for (int32_t r = 0; r < op->n_regions; r++)
    for (int32_t i = 0; i < op->n_results; i++)
      if (op->results[i]->type.kind == HD_TYPE_CURSOR)
        join_cursors(v, op, i, op->regions[r]->last);
}

/* The cursor into a ring that is an operand: the next cursor after it, else the last one. */
static const hd_value *cursor_of(const hd_op *op, int32_t ring) {
  const hd_value *cursor = NULL;
  for (int32_t i = 0; i < op->n_operands; i++) {
    if (op->operands[i]->type.kind != HD_TYPE_CURSOR)
      continue;
    cursor = op->operands[i];
    if (i > ring)
      break;
  }
  return cursor;
}

static void check_rings(hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++) {
    hd_type_kind kind = op->operands[i]->type.kind;
    const hd_op *holder = op->operands[i]->op;
    const hd_value *cursor = cursor_of(op, i);
    if (!cursor || (kind != HD_TYPE_BUFFER && kind != HD_TYPE_BARRIER))
      continue;
    int64_t stages = hd_verify_stages(v, cursor);
    int64_t held = hd_op_int(holder, HD_ATTR_STAGES, 0);
    if (stages != HD_NO_FACT && stages != held)
      hd_verify_fail(v, op, "ir.stages", "got a cursor of %lld stages in \"%s\"; legal: %lld",
                     (long long)stages, hd_op_str(holder, HD_ATTR_NAME), (long long)held);
  }
}

/* The space and layout that an op requires of a buffer operand; layout NULL: any. */
static const struct storage_rule {
  hd_op_kind op;
  int8_t operand;
  bool tmem;
  const char *layout;
} storage_rules[] = {
    {HD_OP_COPY_BULK, HD_AT_copy_bulk_buffer, false, NULL},
    {HD_OP_COPY_TMA, HD_AT_copy_tma_buffer, false, NULL},
    {HD_OP_COPY_CP_ASYNC, HD_AT_copy_rows_buffer, false, NULL},
    {HD_OP_COPY_LD_ST, HD_AT_copy_rows_buffer, false, NULL},
    {HD_OP_LOAD_META, HD_AT_load_meta_buffer, false, "packed_a"},
    {HD_OP_LOAD_A, HD_AT_load_buffer, false, "packed_a"},
    {HD_OP_LOAD_B, HD_AT_load_buffer, false, "rows"},
    {HD_OP_WGMMA_SS, HD_AT_wgmma_ss_a, false, "packed_a"},
    {HD_OP_WGMMA_SS, HD_AT_wgmma_ss_b, false, "rows"},
    {HD_OP_WGMMA_RS, HD_AT_wgmma_rs_b, false, "rows"},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_sums, true, NULL},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_a, false, "packed_a"},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_b, false, "rows"},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_metadata, true, NULL},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_scale_a, true, NULL},
    {HD_OP_TCGEN05_MMA_SP, HD_AT_tcgen05_mma_scale_b, true, NULL},
    {HD_OP_TCGEN05_CP, HD_AT_tcgen05_cp_to, true, NULL},
    {HD_OP_TCGEN05_CP, HD_AT_tcgen05_cp_from, false, "linear"},
    {HD_OP_TCGEN05_ST, HD_AT_tcgen05_st_buffer, true, NULL},
    {HD_OP_TCGEN05_LD, HD_AT_load_buffer, true, NULL},
    {HD_OP_STAGE_TILE, HD_AT_stage_tile_buffer, false, "box"},
    {HD_OP_COPY_OUT, HD_AT_copy_out_buffer, false, "box"},
    {HD_OP_PARTIAL_SEND, HD_AT_partial_send_buffer, false, "linear"},
    {HD_OP_PARTIAL_ADD, HD_AT_partial_add_buffer, false, "linear"},
    {HD_OP_LOAD_SCALE, HD_AT_load_buffer, false, "linear"},
    {HD_OP_PROMOTE, HD_AT_promote_scale_a, false, "linear"},
    {HD_OP_PROMOTE, HD_AT_promote_scale_b, false, "linear"},
    {HD_OP_GROUP_TABLE, HD_AT_group_table_buffer, false, "linear"},
    {HD_OP_GROUP_COUNT, HD_AT_group_count_buffer, false, "linear"},
    {HD_OP_GROUP_FIND, HD_AT_group_find_buffer, false, "linear"},
    {HD_OP_REDUCE_TILE, HD_AT_reduce_tile_buffer, false, "linear"},
    {HD_OP_SCALE_TILE, HD_AT_scale_tile_buffer, false, "linear"},
    {HD_OP_SCALE_COLUMNS, HD_AT_scale_columns_buffer, false, "linear"},
    {HD_OP_PRUNE_PACK, HD_AT_prune_pack_codes, false, "linear"},
    {HD_OP_MASK_PACK, HD_AT_mask_pack_codes, false, "linear"},
    {HD_OP_TWIN_CODES, HD_AT_twin_codes_codes, false, "linear"},
};

static void check_storage(hd_verifier *v, const hd_op *op) {
  for (size_t i = 0; i < HD_COUNT(storage_rules); i++) {
    const struct storage_rule *rule = &storage_rules[i];
    if (rule->op != op->kind || rule->operand >= op->n_operands)
      continue;
    const hd_op *buffer = op->operands[rule->operand]->op;
    if (rule->tmem != hd_op_is(buffer, HD_ATTR_SPACE, "tmem"))
      hd_verify_fail(v, op, "ir.space", "operand %d, buffer \"%s\", is in %s; legal: %s",
                     (int)rule->operand, hd_op_str(buffer, HD_ATTR_NAME),
                     hd_op_str(buffer, HD_ATTR_SPACE), rule->tmem ? "tmem" : "shared memory");
    else if (rule->layout && !hd_op_is(buffer, HD_ATTR_LAYOUT, rule->layout))
      hd_verify_fail(v, op, "ir.layout", "operand %d, buffer \"%s\", has layout %s; legal: %s",
                     (int)rule->operand, hd_op_str(buffer, HD_ATTR_NAME),
                     hd_op_str(buffer, HD_ATTR_LAYOUT), rule->layout);
  }
}

static void check_extent(hd_verifier *v, const hd_op *op, const hd_op *buffer, int64_t lo,
                         int64_t hi) {
  if (lo < 0 || hi > hd_op_int(buffer, HD_ATTR_BYTES, 0))
    hd_verify_fail(v, op, "ir.slot", "bytes [%lld, %lld) of a slot of \"%s\"; legal: [0, %lld)",
                   (long long)lo, (long long)hi, hd_op_str(buffer, HD_ATTR_NAME),
                   (long long)hd_op_int(buffer, HD_ATTR_BYTES, 0));
}

static void check_rows_layout(hd_verifier *v, const hd_op *op) {
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 0), panel = hd_op_int(op, HD_ATTR_PANEL, 0);
  int64_t swizzle = hd_op_int(op, HD_ATTR_SWIZZLE, 0);
  int64_t bytes = hd_op_int(op, HD_ATTR_BYTES, 0), align = hd_op_int(op, HD_ATTR_ALIGN, 0);
  int64_t run = hd_op_int(op, HD_ATTR_RUN, 4);
  if (!rows || !panel || !hd_op_has(op, HD_ATTR_SWIZZLE))
    hd_verify_fail(v, op, "ir.layout",
                   "layout = rows lacks an attribute; legal: rows, panel, swizzle");
  else if (bytes % (rows * panel))
    hd_verify_fail(v, op, "ir.layout", "bytes = %lld; legal: whole panels of %lld x %lld",
                   (long long)bytes, (long long)rows, (long long)panel);
  else if (swizzle && panel % swizzle)
    hd_verify_fail(v, op, "ir.layout", "panel = %lld; legal: multiples of swizzle = %lld",
                   (long long)panel, (long long)swizzle);
  else if (align < 8 * swizzle)
    hd_verify_fail(v, op, "ir.align", "align = %lld with swizzle = %lld; nearest: %lld",
                   (long long)align, (long long)swizzle, (long long)(8 * swizzle));
  else if (run & (run - 1))
    hd_verify_fail(v, op, "ir.run", "run = %lld; legal: 4, 8, 16", (long long)run);
  else if (hd_op_has(op, HD_ATTR_RUN) && rows % (4 * run))
    hd_verify_fail(v, op, "ir.run", "rows = %lld with run = %lld; legal: multiples of %lld",
                   (long long)rows, (long long)run, (long long)(4 * run));
}

static void check_packed_layout(hd_verifier *v, const hd_op *op) {
  int64_t slab = hd_op_int(op, HD_ATTR_SLAB_BYTES, 0), bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  int64_t meta = hd_op_int(op, HD_ATTR_META_OFFSET, -1);
  if (!slab || meta < 0 || !hd_op_has(op, HD_ATTR_TYPE))
    hd_verify_fail(v, op, "ir.layout",
                   "layout = packed_a lacks an attribute; legal: slab_bytes, meta_offset, type");
  else if (bytes % slab)
    hd_verify_fail(v, op, "ir.layout", "bytes = %lld; legal: whole slabs of %lld", (long long)bytes,
                   (long long)slab);
  else if (meta + HD_META_PLANE_BYTES > slab || meta < HD_STEP_VALUE_BYTES)
    hd_verify_fail(v, op, "ir.layout", "meta_offset = %lld; legal: %d to %lld", (long long)meta,
                   (int)HD_STEP_VALUE_BYTES, (long long)(slab - HD_META_PLANE_BYTES));
}

static void check_box_layout(hd_verifier *v, const hd_op *op) {
  int64_t panel = hd_op_int(op, HD_ATTR_PANEL, 0), swizzle = hd_op_int(op, HD_ATTR_SWIZZLE, 0);
  int64_t bytes = hd_op_int(op, HD_ATTR_BYTES, 0), align = hd_op_int(op, HD_ATTR_ALIGN, 0);
  int64_t atom = swizzle > 16 ? 8 * swizzle : 128;
  if (!panel || !hd_op_has(op, HD_ATTR_SWIZZLE) || !hd_op_has(op, HD_ATTR_TYPE))
    hd_verify_fail(v, op, "ir.layout",
                   "layout = box lacks an attribute; legal: panel, swizzle, type");
  else if (bytes % panel)
    hd_verify_fail(v, op, "ir.layout", "bytes = %lld; legal: whole lines of %lld", (long long)bytes,
                   (long long)panel);
  else if ((swizzle && panel != swizzle) || (panel & (panel - 1)))
    hd_verify_fail(v, op, "ir.layout",
                   "panel = %lld, swizzle = %lld; legal: a power of two, and the swizzle's own",
                   (long long)panel, (long long)swizzle);
  else if (align < atom)
    hd_verify_fail(v, op, "ir.align", "align = %lld of a box with swizzle = %lld; nearest: %lld",
                   (long long)align, (long long)swizzle, (long long)atom);
}

static void check_buffer(hd_verifier *v, const hd_op *op) {
  int64_t align = hd_op_int(op, HD_ATTR_ALIGN, 0), bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  if (align & (align - 1))
    hd_verify_fail(v, op, "ir.align", "align = %lld; legal: powers of two", (long long)align);
  else if (bytes % align)
    hd_verify_fail(v, op, "ir.align", "bytes = %lld would misalign the next slot; nearest: %lld",
                   (long long)bytes, (long long)((bytes + align - 1) / align * align));
  const hd_op *under = op->n_operands ? hd_buffer_under(op)->op : NULL;
  if (under && (hd_op_is(op, HD_ATTR_SPACE, "tmem") || hd_op_is(under, HD_ATTR_SPACE, "tmem") ||
                under->n_operands || align > hd_op_int(under, HD_ATTR_ALIGN, 0)))
    hd_verify_fail(v, op, "ir.over",
                   "overlaps \"%s\"; legal: both in shared memory, where \"over\" is not itself an "
                   "overlay and is aligned to at least %lld",
                   hd_op_str(under, HD_ATTR_NAME), (long long)align);
  if (hd_op_is(op, HD_ATTR_SPACE, "tmem") && !hd_op_is(op, HD_ATTR_LAYOUT, "linear"))
    hd_verify_fail(v, op, "ir.layout", "got another layout in tensor memory; legal: linear");
  else if (hd_op_is(op, HD_ATTR_SPACE, "tmem") && bytes % HD_TENSOR_COLUMN_BYTES)
    hd_verify_fail(v, op, "ir.tmem", "bytes = %lld; legal: whole columns of %d bytes",
                   (long long)bytes, HD_TENSOR_COLUMN_BYTES);
  else if (hd_op_is(op, HD_ATTR_LAYOUT, "rows"))
    check_rows_layout(v, op);
  else if (hd_op_is(op, HD_ATTR_LAYOUT, "packed_a"))
    check_packed_layout(v, op);
  else if (hd_op_is(op, HD_ATTR_LAYOUT, "box"))
    check_box_layout(v, op);
}

/* A mask of CTAs has only CTAs of the cluster. */
static void check_mask(hd_verifier *v, const hd_op *op, hd_attr_key key) {
  int64_t cluster = hd_op_int(v->kernel, HD_ATTR_CLUSTER, 1), mask = hd_op_int(op, key, 1);
  if (mask >> cluster)
    hd_verify_fail(v, op, "ir.cluster", "%s = %lld in a cluster of %lld; legal: up to %lld",
                   hd_attr_name(key), (long long)mask, (long long)cluster, (1LL << cluster) - 1);
}

/* The table has an entry per group, if their number is constant, and the total after them. */
static void check_group_table(hd_verifier *v, const hd_op *op) {
  const hd_op *g = hd_group_table_g(op)->op;
  int64_t least = g && g->kind == HD_OP_CONST ? hd_op_int(g, HD_ATTR_VALUE, 0) : 0;
  check_extent(v, op, hd_group_table_buffer(op)->op, 0, (least + 1) * HD_GROUP_BYTES);
}

static void check_barrier_operand(hd_verifier *v, const hd_op *op, int32_t index) {
  if (v->module->sync_placed && op->n_operands <= index)
    hd_verify_fail(v, op, "ir.sync",
                   "sync=placed, but no barrier signals the end of the copy; legal: one barrier");
}

static void check_copy_bulk(hd_verifier *v, const hd_op *op) {
  int64_t offset = hd_op_int(op, HD_ATTR_OFFSET, 0), bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  if (offset % 16 || bytes % 16)
    hd_verify_fail(v, op, "ir.align", "offset = %lld, bytes = %lld; legal: multiples of 16",
                   (long long)offset, (long long)bytes);
  check_extent(v, op, hd_copy_bulk_buffer(op)->op, offset, offset + bytes);
  check_mask(v, op, HD_ATTR_MULTICAST);
  check_barrier_operand(v, op, HD_AT_copy_bulk_barrier);
}

enum { RUN_RANK = 5 }; /* k, three digits of a row's position in its group, and the group */

static void check_copy_tma(hd_verifier *v, const hd_op *op) {
  const hd_op *map = hd_copy_tma_map(op)->op, *buffer = hd_copy_tma_buffer(op)->op;
  const hd_attr *box = hd_op_attr(map, HD_ATTR_BOX);
  int64_t offset = hd_op_int(op, HD_ATTR_OFFSET, 0), bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  int64_t bits = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits;
  int64_t box_bytes = bits / 8;
  int rank = (hd_op_has(buffer, HD_ATTR_RUN) ? RUN_RANK : 2) +
             (hd_op_batch(op, HD_AT_copy_tma_g) != NULL);
  for (int32_t i = 0; i < box->n; i++)
    box_bytes *= box->ints[i];
  if (box->n != rank)
    hd_verify_fail(v, op, "ir.tmap", "the tensor map has rank %d for buffer \"%s\"; legal: %d",
                   (int)box->n, hd_op_str(buffer, HD_ATTR_NAME), rank);
  else if (bytes != box_bytes)
    hd_verify_fail(v, op, "ir.tmap", "bytes = %lld of a box; nearest: %lld", (long long)bytes,
                   (long long)box_bytes);
  if (offset % 128)
    hd_verify_fail(v, op, "ir.align", "offset = %lld; legal: multiples of 128", (long long)offset);
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows") &&
      hd_op_int(buffer, HD_ATTR_SWIZZLE, 0) != hd_op_int(map, HD_ATTR_SWIZZLE, 0))
    hd_verify_fail(v, op, "ir.tmap", "the tensor map swizzles %lld bytes; legal: %lld, as \"%s\"",
                   (long long)hd_op_int(map, HD_ATTR_SWIZZLE, 0),
                   (long long)hd_op_int(buffer, HD_ATTR_SWIZZLE, 0),
                   hd_op_str(buffer, HD_ATTR_NAME));
  check_extent(v, op, buffer, offset, offset + bytes);
  check_mask(v, op, HD_ATTR_MULTICAST);
  check_barrier_operand(v, op, hd_copy_tma_barrier_at(op));
}

/* A slot of D: strips of 16 rows (8 for pairs), stored by row or by column. */
static void check_stage_tile(hd_verifier *v, const hd_op *op) {
  enum { BLOCK = 8 };
  int64_t strip_rows = hd_act_is_pair(hd_op_str(op, HD_ATTR_ACT)) ? HD_PAIR_ROWS : 2 * HD_PAIR_ROWS;
  const hd_op *slot = hd_stage_tile_buffer(op)->op;
  int64_t elem = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits / 8, columns = 0;
  if (!elem) {
    hd_verify_fail(v, op, "ir.type", "type = %s; legal: whole bytes",
                   heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->name);
    return;
  }
  int64_t cols = hd_op_int(slot, HD_ATTR_BYTES, 0) / (strip_rows * elem);
  int64_t offset = hd_op_int(op, HD_ATTR_OFFSET, 0);
  int64_t line = (hd_op_is(op, HD_ATTR_ORDER, "col_major") ? strip_rows : cols) * elem;
  for (int32_t i = hd_first_acc(op); i < op->n_operands; i++)
    columns += op->operands[i]->type.n / 4 * BLOCK;
  if (hd_op_elem(slot, HD_ATTR_TYPE) != hd_op_elem(op, HD_ATTR_TYPE))
    hd_verify_fail(v, op, "ir.type", "type = %s; legal: %s, as \"%s\"",
                   heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->name,
                   heddle_elem_get(hd_op_elem(slot, HD_ATTR_TYPE))->name,
                   hd_op_str(slot, HD_ATTR_NAME));
  if (cols % (2 * BLOCK) && elem < 4)
    hd_verify_fail(v, op, "ir.slot", "got %lld columns per slot; legal: multiples of %d",
                   (long long)cols,
                   2 * BLOCK);
  if (line != hd_op_int(slot, HD_ATTR_PANEL, 0))
    hd_verify_fail(v, op, "ir.slot", "\"%s\" has lines of %lld bytes; legal: %lld",
                   hd_op_str(slot, HD_ATTR_NAME), (long long)hd_op_int(slot, HD_ATTR_PANEL, 0),
                   (long long)line);
  if (offset % BLOCK || offset + cols > columns)
    hd_verify_fail(v, op, "ir.slot",
                   "columns [%lld, %lld) of fragments of %lld; legal: blocks of %d",
                   (long long)offset, (long long)(offset + cols), (long long)columns, BLOCK);
}

static void check_copy_out(hd_verifier *v, const hd_op *op) {
  const hd_op *map = hd_copy_out_map(op)->op, *slot = hd_copy_out_buffer(op)->op;
  const hd_attr *box = hd_op_attr(map, HD_ATTR_BOX);
  heddle_elem elem = hd_op_elem(map, HD_ATTR_TYPE);
  int64_t bytes = heddle_elem_get(elem)->container_bits / 8;
  int rank = 2 + (hd_copy_out_g(op) != NULL);
  bool ragged = rank == 3 && box->n == 4 && box->ints[3] == 1;
  if (box->n != rank && !ragged)
    hd_verify_fail(v, op, "ir.tmap", "a tensor map of rank %d; legal: %d%s", (int)box->n, rank,
                   rank == 3 ? ", or 4 with a box of 1 there" : "");
  else if (elem != hd_op_elem(slot, HD_ATTR_TYPE) ||
           box->ints[0] * bytes != hd_op_int(slot, HD_ATTR_PANEL, 0) ||
           box->ints[0] * box->ints[1] * bytes != hd_op_int(slot, HD_ATTR_BYTES, 0) ||
           hd_op_int(map, HD_ATTR_SWIZZLE, 0) != hd_op_int(slot, HD_ATTR_SWIZZLE, 0))
    hd_verify_fail(
        v, op, "ir.tmap",
        "a box of %lld x %lld %s, swizzle = %lld; legal: a slot of \"%s\", %lld bytes in lines of "
        "%lld, swizzle = %lld",
        (long long)box->ints[0], (long long)box->ints[1], heddle_elem_get(elem)->name,
        (long long)hd_op_int(map, HD_ATTR_SWIZZLE, 0), hd_op_str(slot, HD_ATTR_NAME),
        (long long)hd_op_int(slot, HD_ATTR_BYTES, 0), (long long)hd_op_int(slot, HD_ATTR_PANEL, 0),
        (long long)hd_op_int(slot, HD_ATTR_SWIZZLE, 0));
}

/* The end of the bytes that the rows of a copy cover in a slot, relative to its offset. */
static int64_t rows_end(const hd_op *buffer, int64_t rows, int64_t row_bytes) {
  int64_t panel = hd_op_int(buffer, HD_ATTR_PANEL, 0);
  int64_t whole = hd_op_int(buffer, HD_ATTR_ROWS, 0) * panel;
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows"))
    return (row_bytes - 1) / panel * whole + rows * panel;
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a"))
    return (rows - 1) * hd_op_int(buffer, HD_ATTR_SLAB_BYTES, 0) + row_bytes;
  return rows * row_bytes;
}

static void check_copy_rows(hd_verifier *v, const hd_op *op) {
  const hd_op *buffer = hd_copy_rows_buffer(op)->op;
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 0), offset = hd_op_int(op, HD_ATTR_OFFSET, 0);
  int64_t row_bytes = hd_op_int(op, HD_ATTR_ROW_BYTES, 0), vec = hd_op_int(op, HD_ATTR_VEC, 0);
  if (op->kind == HD_OP_COPY_CP_ASYNC && vec < 4)
    hd_verify_fail(v, op, "ir.vec", "vec = %lld; legal: 4, 8, 16", (long long)vec);
  const hd_op *source = hd_copy_rows_source(op)->op;
  bool of_scales = source && source->kind == HD_OP_ARG && hd_op_arg(source) == HD_ARG_BLOCK_SCALE_B;
  if (hd_op_has(op, HD_ATTR_GATHER_B) && !of_scales && !hd_op_is(buffer, HD_ATTR_LAYOUT, "rows"))
    hd_verify_fail(v, op, "ir.slot", "gather_b into \"%s\"; legal: rows of B, and its scales",
                   hd_op_str(buffer, HD_ATTR_NAME));
  if (row_bytes % vec || offset % vec)
    hd_verify_fail(v, op, "ir.align",
                   "row_bytes = %lld, offset = %lld; legal: multiples of vec = %lld",
                   (long long)row_bytes, (long long)offset, (long long)vec);
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows") && rows > hd_op_int(buffer, HD_ATTR_ROWS, 0))
    hd_verify_fail(v, op, "ir.slot", "rows = %lld into \"%s\"; legal: up to %lld", (long long)rows,
                   hd_op_str(buffer, HD_ATTR_NAME), (long long)hd_op_int(buffer, HD_ATTR_ROWS, 0));
  else if (hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a") &&
           row_bytes > hd_op_int(buffer, HD_ATTR_SLAB_BYTES, 0))
    hd_verify_fail(v, op, "ir.slot", "row_bytes = %lld; legal: up to slab_bytes = %lld",
                   (long long)row_bytes, (long long)hd_op_int(buffer, HD_ATTR_SLAB_BYTES, 0));
  else
    check_extent(v, op, buffer, offset, offset + rows_end(buffer, rows, row_bytes));
}

static void check_a_step(hd_verifier *v, const hd_op *op, const hd_op *buffer) {
  int64_t step = hd_op_int(op, HD_ATTR_STEP, 0), meta = hd_op_int(buffer, HD_ATTR_META_OFFSET, 0);
  if ((step + 1) * HD_STEP_VALUE_BYTES > meta)
    hd_verify_fail(v, op, "ir.step", "step = %lld of A; legal: 0 to %lld", (long long)step,
                   (long long)(meta / HD_STEP_VALUE_BYTES - 1));
}

/* A step is 64 bytes of a row of B stored n x k. For B stored k x n a step is whole rows, which are
 * checked elsewhere. */
static void check_b_step(hd_verifier *v, const hd_op *op, const hd_op *buffer) {
  int64_t step = hd_op_int(op, HD_ATTR_STEP, 0);
  int64_t row = hd_op_int(buffer, HD_ATTR_BYTES, 0) / hd_op_int(buffer, HD_ATTR_ROWS, 1);
  if (!hd_op_has(op, HD_ATTR_TRANS) && (step + 1) * 64 > row)
    hd_verify_fail(v, op, "ir.step", "step = %lld of B; legal: 0 to %lld", (long long)step,
                   (long long)(row / 64 - 1));
}

static void check_load_meta(hd_verifier *v, const hd_op *op) {
  const hd_op *buffer = hd_load_buffer(op)->op;
  const hd_type word_type = hd_type_frag(HEDDLE_S32, 1);
  int64_t word = hd_op_int(op, HD_ATTR_WORD, 0);
  int64_t room =
      hd_op_int(buffer, HD_ATTR_SLAB_BYTES, 0) - hd_op_int(buffer, HD_ATTR_META_OFFSET, 0);
  if ((word + 1) * HD_META_PLANE_BYTES > room)
    hd_verify_fail(v, op, "ir.step", "word = %lld of the metadata; legal: 0 to %lld",
                   (long long)word, (long long)(room / HD_META_PLANE_BYTES - 1));
  if (!hd_type_equal(op->results[0]->type, word_type))
    hd_verify_fail(v, op, "ir.type", "the result has another type; legal: frag<s32 x 1>");
  if (op->n_operands > 3 && !hd_type_equal(hd_load_meta_older(op)->type, word_type))
    hd_verify_fail(v, op, "ir.type", "operand 3 has another type; legal: frag<s32 x 1>");
}

/* A lane holds the scales of one row; rows come in groups of eight. */
static void check_load_scale(hd_verifier *v, const hd_op *op) {
  const char *name = hd_op_str(op, HD_ATTR_ROW);
  const hd_spec_row *row = name ? hd_spec_find(name) : NULL;
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 0), word = hd_op_int(op, HD_ATTR_WORD, 0);
  if (rows % 8 || rows > 32)
    hd_verify_fail(v, op, "ir.scale-rows", "rows = %lld; legal: 8, 16, 24, 32", (long long)rows);
  else if (row && row->scale_vec && word * 4 >= hd_spec_scales_a_row(row))
    hd_verify_fail(v, op, "ir.step", "word = %lld of a row's %d scales; legal: 0 to %d",
                   (long long)word, hd_spec_scales_a_row(row), (hd_spec_scales_a_row(row) - 1) / 4);
  else if (row && row->scale_vec)
    check_extent(v, op, hd_load_buffer(op)->op, 0, rows * hd_spec_scales_a_row(row));
}

static void check_cp(hd_verifier *v, const hd_op *op) {
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 0);
  int64_t from = hd_op_int(hd_tcgen05_cp_from(op)->op, HD_ATTR_BYTES, 0);
  int64_t to = hd_op_int(hd_tcgen05_cp_to(op)->op, HD_ATTR_BYTES, 0);
  if (rows < HD_SCALE_TILE_ROWS || rows % HD_SCALE_TILE_ROWS)
    hd_verify_fail(v, op, "ir.scale-rows", "rows = %lld; legal: multiples of %d; nearest: %lld",
                   (long long)rows, HD_SCALE_TILE_ROWS,
                   (long long)(rows / HD_SCALE_TILE_ROWS + 1) * HD_SCALE_TILE_ROWS);
  else if (from % (rows / HD_SCALE_TILE_ROWS * HD_SCALE_TILE_BYTES) ||
           to != from * HD_SCALE_TILE_COPIES)
    hd_verify_fail(v, op, "ir.slot",
                   "%lld bytes of scales of %lld rows into %lld of tensor memory; legal: whole "
                   "tiles of %d bytes, four times as many there",
                   (long long)from, (long long)rows, (long long)to, HD_SCALE_TILE_BYTES);
}

/* Columns of a k-block's block scales: of 128 rows (A), of D's columns rounded up to 128 (B). */
static void check_mma_scales(hd_verifier *v, const hd_op *op) {
  enum { PLAIN = HD_AT_tcgen05_mma_scale_a, ALL = HD_N_AT_tcgen05_mma };
  const char *name = hd_op_str(op, HD_ATTR_ROW);
  const hd_spec_row *row = name ? hd_spec_find(name) : NULL;
  if (!row || (!row->scale_vec && op->n_operands == PLAIN))
    return;
  if (!row->scale_vec || op->n_operands != ALL)
    return hd_verify_fail(v, op, "ir.operands", "got %d operands; legal: %d for row %s",
                          (int)op->n_operands, row->scale_vec ? ALL : PLAIN, row->name);
  int64_t words = (hd_spec_scales_a_row(row) + HD_SCALES_A_WORD - 1) / HD_SCALES_A_WORD;
  int64_t tiles = words * HD_SCALE_TILE_COLUMNS;
  int64_t n = hd_tensor_slot_columns(hd_tcgen05_mma_sums(op)->op);
  int64_t wanted[] = {tiles, (n + HD_SCALE_TILE_ROWS - 1) / HD_SCALE_TILE_ROWS * tiles};
  for (int i = 0; i < 2; i++) {
    const hd_value *scales = i ? hd_tcgen05_mma_scale_b(op) : hd_tcgen05_mma_scale_a(op);
    int64_t got = hd_tensor_slot_columns(scales->op);
    if (got != wanted[i])
      hd_verify_fail(v, op, "ir.slot",
                     "%lld columns of block scales of %s; legal: %lld, as row %s takes",
                     (long long)got, i ? "B" : "A", (long long)wanted[i], row->name);
  }
}

/* wgmma acts on whole warpgroups: warps 4i to 4i + 3 of the CTA. */
static void check_warpgroups(hd_verifier *v, const hd_op *op) {
  if (hd_op_get_info(op->kind)->issuer != HD_BY_WARPGROUP || !v->role)
    return;
  if (hd_op_int(v->role, HD_ATTR_N_WARPS, 0) % 4 || hd_op_int(v->role, HD_ATTR_WARP_LO, 0) % 4)
    hd_verify_fail(
        v, op, "ir.warpgroup", "role \"%s\" has warps %lld to %lld; legal: whole groups of 4",
        hd_op_str(v->role, HD_ATTR_NAME), (long long)hd_op_int(v->role, HD_ATTR_WARP_LO, 0),
        (long long)(hd_op_int(v->role, HD_ATTR_WARP_LO, 0) +
                    hd_op_int(v->role, HD_ATTR_N_WARPS, 0) - 1));
}

static void check_next(hd_verifier *v, const hd_op *op) {
  int64_t from = hd_verify_stages(v, hd_cursor_next_cursor(op)),
          stages = hd_op_int(op, HD_ATTR_STAGES, 0);
  if (from != HD_NO_FACT && from != stages)
    hd_verify_fail(v, op, "ir.stages", "stages = %lld; legal: %lld, like the cursor",
                   (long long)stages, (long long)from);
}

/* Each slot of the buffer completes on its own slot of the barrier. */
static void check_send(hd_verifier *v, const hd_op *op) {
  const hd_value *barrier = hd_partial_send_barrier(op);
  int64_t slots = hd_op_int(hd_partial_send_buffer(op)->op, HD_ATTR_STAGES, 0);
  int64_t owner = hd_op_int(op, HD_ATTR_OWNER, 0),
          cluster = hd_op_int(v->kernel, HD_ATTR_CLUSTER, 1);
  if (owner >= cluster)
    hd_verify_fail(v, op, "ir.cluster", "owner = %lld; legal: 0 to %lld", (long long)owner,
                   (long long)(cluster - 1));
  check_barrier_operand(v, op, HD_AT_partial_send_barrier);
  if (barrier && hd_op_int(barrier->op, HD_ATTR_STAGES, 0) != slots)
    hd_verify_fail(v, op, "ir.stages",
                   "barrier \"%s\" has another number of stages; legal: %lld, like the buffer",
                   hd_op_str(barrier->op, HD_ATTR_NAME), (long long)slots);
}

static void check_expect(hd_verifier *v, const hd_op *op) {
  if (hd_op_int(op, HD_ATTR_BYTES, 0) > HD_MAX_TX)
    hd_verify_fail(v, op, "ir.tx", "bytes = %lld; legal: up to %d, the limit of an mbarrier",
                   (long long)hd_op_int(op, HD_ATTR_BYTES, 0), (int)HD_MAX_TX);
}

/* Each operand that is a buffer, barrier or tensor map is the result of a declaration without
 * errors. */
static bool is_declared(const hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++) {
    const hd_value *value = op->operands[i];
    hd_type_kind kind = value->type.kind;
    if (kind != HD_TYPE_BUFFER && kind != HD_TYPE_BARRIER && kind != HD_TYPE_TMAP)
      continue;
    hd_op_kind want = kind == HD_TYPE_BUFFER    ? HD_OP_BUFFER
                      : kind == HD_TYPE_BARRIER ? HD_OP_BARRIER
                                                : HD_OP_TMAP;
    if (!value->op || value->op->kind != want || hd_facts_get(&v->defined, value) != HD_DEFINED)
      return false;
  }
  return true;
}

void hd_verify_slots(hd_verifier *v, const hd_op *op) {
  int32_t before = v->n_errors;
  if (!is_declared(v, op))
    return;
  check_rings(v, op);
  check_storage(v, op);
  check_warpgroups(v, op);
  if (v->n_errors != before)
    return;
  switch (op->kind) {
  case HD_OP_BUFFER:
    check_buffer(v, op);
    break;
  case HD_OP_COPY_BULK:
    check_copy_bulk(v, op);
    break;
  case HD_OP_COPY_TMA:
    check_copy_tma(v, op);
    break;
  case HD_OP_COPY_CP_ASYNC:
  case HD_OP_COPY_LD_ST:
    check_copy_rows(v, op);
    break;
  case HD_OP_GROUP_TABLE:
    check_group_table(v, op);
    break;
  case HD_OP_STAGE_TILE:
    check_stage_tile(v, op);
    break;
  case HD_OP_COPY_OUT:
    check_copy_out(v, op);
    break;
  case HD_OP_PARTIAL_SEND:
    check_send(v, op);
    break;
  case HD_OP_LOAD_META:
    check_load_meta(v, op);
    break;
  case HD_OP_LOAD_SCALE:
    check_load_scale(v, op);
    break;
  case HD_OP_LOAD_A:
    check_a_step(v, op, hd_load_buffer(op)->op);
    break;
  case HD_OP_LOAD_B:
    check_b_step(v, op, hd_load_buffer(op)->op);
    break;
  case HD_OP_TCGEN05_CP:
    check_cp(v, op);
    break;
  case HD_OP_TCGEN05_MMA_SP:
    check_mma_scales(v, op);
    break;
  case HD_OP_WGMMA_SS:
    check_a_step(v, op, hd_wgmma_ss_a(op)->op);
    check_b_step(v, op, hd_wgmma_ss_b(op)->op);
    break;
  case HD_OP_WGMMA_RS:
    check_b_step(v, op, hd_wgmma_rs_b(op)->op);
    break;
  case HD_OP_CURSOR_NEXT:
    check_next(v, op);
    break;
  case HD_OP_BARRIER_EXPECT:
    check_expect(v, op);
    break;
  case HD_OP_BARRIER_ARRIVE:
  case HD_OP_TCGEN05_COMMIT:
    check_mask(v, op, HD_ATTR_RANK);
    break;
  default:
    break;
  }
}
