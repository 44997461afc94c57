/* Rules of the ops that pack a matrix with its twin: the codes of a block of the twin fit into a
 * slot (Layout/packed_format.h). */
#include "IR/verify.h"
#include "Layout/packed_format.h"

static const hd_op *codes_of(const hd_op *op) {
  const hd_value *codes =
      op->kind == HD_OP_TWIN_CODES ? hd_twin_codes_codes(op) : hd_prune_pack_codes(op);
  return codes ? codes->op : NULL;
}

void hd_verify_pack(hd_verifier *v, const hd_op *op) {
  bool packs = op->kind == HD_OP_PRUNE_PACK || op->kind == HD_OP_MASK_PACK;
  if (!packs && op->kind != HD_OP_TWIN_CODES)
    return;
  const hd_op *codes = codes_of(op);
  if (packs && hd_prune_pack_twin(op) && !hd_prune_pack_slot(op))
    hd_verify_fail(v, op, "ir.count", "a twin without a slot for its codes; legal: both");
  else if (codes && hd_op_int(codes, HD_ATTR_BYTES, 0) < HD_META_PLANE_BYTES)
    hd_verify_fail(v, op, "ir.slot", "%d bytes of codes in a slot of %lld of \"%s\"; legal: up to "
                                     "%lld",
                   (int)HD_META_PLANE_BYTES, (long long)hd_op_int(codes, HD_ATTR_BYTES, 0),
                   hd_op_str(codes, HD_ATTR_NAME), (long long)hd_op_int(codes, HD_ATTR_BYTES, 0));
}
