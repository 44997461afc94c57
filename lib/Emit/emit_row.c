/* Finds spec rows, and checks that they are legal on the target. */
#include "Emit/emit_state.h"

static const char *family_name(hd_family family) {
  return family == HD_FAMILY_WGMMA_SP     ? "wgmma.sp"
         : family == HD_FAMILY_TCGEN05_SP ? "tcgen05.mma.sp"
         : family == HD_FAMILY_TCGEN05    ? "tcgen05"
                                          : "mma.sp";
}

heddle_status hd_emit_row_named(hd_emitter *e, const hd_op *op, const char *name, hd_family family,
                                int64_t selector, const hd_spec_row **row) {
  const hd_spec_row *found = name ? hd_spec_find(name) : NULL;
  if (!found || found->family != family)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.row",
                    "\"%s\" is not a spec row of %s; legal: the rows of `heddle list`",
                    name ? name : "", family_name(family));
  if (!hd_spec_can_generate(found))
    return hd_error(
        e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.row",
        "the layout of row %s is not verified; legal: verified rows (`heddle list`)", name);
  char reason[256] = "";
  hd_legal_query query = {e->target, (uint16_t)e->ptx_version, (int)selector};
  if (hd_spec_legal(found, &query, reason, sizeof reason) != HD_LEGAL)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.row", "%s: %s", name, reason);
  *row = found;
  return HEDDLE_OK;
}

heddle_status hd_emit_row(hd_emitter *e, const hd_op *op, hd_family family, int64_t selector,
                          const hd_spec_row **row) {
  return hd_emit_row_named(e, op, hd_op_str(op, HD_ATTR_ROW), family, selector, row);
}
