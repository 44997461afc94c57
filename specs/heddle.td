// Everything: what heddle-tblgen reads.
include "schema.td"
include "targets.td"
include "fragments.td"
include "mma_sp.td"
include "wgmma_sp.td"
