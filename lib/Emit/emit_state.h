/* Emit/emit_state.h: shared by the files of lib/Emit: the emitter, its values, its helpers. */
#ifndef HD_EMIT_STATE_H
#define HD_EMIT_STATE_H

#include <pthread.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "Emit/emit.h"
#include "IR/shared_layout.h"
#include "Spec/spec.h"

/* Address spaces of NVPTX. */
enum {
  HD_AS_GENERIC = 0,
  HD_AS_GLOBAL = 1,
  HD_AS_SHARED = 3,
  HD_AS_CONSTANT = 4,
  HD_AS_CLUSTER = 7
};

enum {
  HD_LANES = 32,
  HD_MAX_EMIT_ARGS = 300 /* operands of one inline asm: 256 accumulators and a few more */
};

/* The threads that execute the emitted code: those of a role, or (op NULL) all of the CTA. */
typedef struct hd_emit_role {
  const hd_op *op;
  int32_t n_warps;
  LLVMValueRef warp;   /* i32, warp-uniform, 0 <= warp < n_warps */
  LLVMValueRef thread; /* i32 in the role */
  LLVMValueRef elected; /* i1: first lane of the role's first warp */
  LLVMValueRef entry_end; /* terminator of the entry block; code that depends only on the
                             thread goes before it, so that loops do not repeat it */
  bool one_thread; /* only the elected thread runs the region */
} hd_emit_role;

/* A user's function, read once by the first kernel that needs it: reading may start a process. A
 * refusal is kept, too: each of many kernels would wait for a process of its own. */
typedef struct hd_user_read_once {
  char *name; /* owned */
  hd_user_function *function; /* owned; NULL: refused */
  heddle_status status;
  heddle_context *said; /* owned: the diagnostics of a refusal */
  struct hd_user_read_once *next;
} hd_user_read_once;

/* The users' functions of all kernels of a module. */
typedef struct hd_user_functions {
  pthread_mutex_t lock;
  hd_user_read_once *first; /* owned */
} hd_user_functions;

typedef struct hd_emitter {
  heddle_context *ctx;
  const hd_emit_options *options;
  hd_user_functions *users; /* shared with the emitters of other kernels */
  const hd_target *target;
  int32_t ptx_version;
  hd_arena arena;

  LLVMTargetMachineRef machine;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef none, i1, i8, i16, i32, i64, f32, f16;
  LLVMTypeRef generic_ptr, global_ptr, shared_ptr, cluster_ptr;
  LLVMValueRef shared; /* the dynamic shared memory */
  bool failed;         /* LLVM reported an error */

  hd_facts values; /* IR value -> LLVM values (emit_value.c) */
  const hd_op *kernel;
  LLVMValueRef function;
  int32_t n_pinned; /* pinned registers so far */
  struct hd_promotion *promotion; /* whose scales were read early (emit_promote.c); NULL: none */
  hd_shared_layout layout;
  LLVMValueRef tensor; /* address of the CTA's tensor memory (i32); NULL before tcgen05.address */
  LLVMValueRef thread, warp, lane; /* of the CTA; i32 */
  hd_emit_role role;
  const struct hd_read_ahead *ahead; /* loaded for a later stage.tile (emit_strip.h); NULL: none */
  LLVMValueRef elected_branch; /* branch around the open run of one-thread ops; NULL: none */
  LLVMBasicBlockRef elected_join;
  int64_t elected_warp; /* of the role; its thread runs the open run */
} hd_emitter;

typedef heddle_status hd_emit_fn(hd_emitter *e, const hd_op *op);

/* ---- values (emit_value.c) ---- */
void hd_emit_set(hd_emitter *e, const hd_value *value, LLVMValueRef const *v, int32_t n);
void hd_emit_set1(hd_emitter *e, const hd_value *value, LLVMValueRef v);
void hd_emit_set_pinned(hd_emitter *e, const hd_value *value, int32_t pinned);
/* The LLVM values; n may be NULL. The IR verifier guarantees that they exist. */
LLVMValueRef *hd_emit_get(hd_emitter *e, const hd_value *value, int32_t *n);
LLVMValueRef hd_emit_get1(hd_emitter *e, const hd_value *value);
/* The number of its first pinned register. HD_NOT_PINNED: it has LLVM values, or no values yet. */
enum { HD_NOT_PINNED = -1 };
int32_t hd_emit_pinned_of(const hd_emitter *e, const hd_value *value);
/* How many LLVM values a type takes, and the type of each of them. */
int32_t hd_emit_type_count(hd_type type);
LLVMTypeRef hd_emit_type_of(hd_emitter *e, hd_type type);

/* ---- helpers (emit_build.c); LLVM's names appear in the PTX only as comments ---- */
LLVMValueRef hd_emit_i32(hd_emitter *e, int64_t value);
LLVMValueRef hd_emit_i64(hd_emitter *e, int64_t value);
LLVMValueRef hd_emit_add(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_sub(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_mul(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_addi(hd_emitter *e, LLVMValueRef a, int64_t b); /* type of a */
LLVMValueRef hd_emit_muli(hd_emitter *e, LLVMValueRef a, int64_t b);
LLVMValueRef hd_emit_divi(hd_emitter *e, LLVMValueRef a, int64_t b); /* a >= 0 */
LLVMValueRef hd_emit_remi(hd_emitter *e, LLVMValueRef a, int64_t b); /* a >= 0 */
LLVMValueRef hd_emit_xor(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_and(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_lt(hd_emitter *e, LLVMValueRef a, LLVMValueRef b); /* signed */
LLVMValueRef hd_emit_eqi(hd_emitter *e, LLVMValueRef a, int64_t b);
/* Whether this is the thread that elect.sync elects of the warp (i1). */
LLVMValueRef hd_emit_elect(hd_emitter *e);
LLVMValueRef hd_emit_select(hd_emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_min(hd_emitter *e, LLVMValueRef a, LLVMValueRef b); /* signed */
LLVMValueRef hd_emit_max(hd_emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef hd_emit_widen(hd_emitter *e, LLVMValueRef a); /* i32 to i64, signed */
LLVMValueRef hd_emit_fma(hd_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* f32 */
/* A shared address (i32) as a pointer of an address space. */
LLVMValueRef hd_emit_shared_ptr(hd_emitter *e, LLVMValueRef address, unsigned space);
/* ptr + i64 bytes, in global memory. */
LLVMValueRef hd_emit_global_at(hd_emitter *e, LLVMValueRef ptr, LLVMValueRef bytes);
/* Address of slot `cursor` of a buffer or barrier whose slots are `bytes` apart; i32. */
LLVMValueRef hd_emit_slot(hd_emitter *e, const hd_value *item, const hd_value *cursor,
                          int64_t bytes);
/* The op that defines a value. */
const hd_op *hd_emit_def(const hd_value *value);

/* Calls an intrinsic without overloaded types. Our tests cover the names, so an unknown name is a
 * bug: the call returns undef and the compile fails. Arguments are bit-cast to the parameter
 * types. */
LLVMValueRef hd_emit_intrinsic(hd_emitter *e, const char *name, LLVMValueRef const *args,
                               int32_t n);
/* The same for an intrinsic that is overloaded on one type. */
LLVMValueRef hd_emit_intrinsic_of(hd_emitter *e, const char *name, LLVMTypeRef type,
                                  LLVMValueRef const *args, int32_t n);
/* Inline asm. HD_ASM_PURE: may be moved and merged, accesses no memory. The other kinds have side
 * effects; HD_ASM_MEMORY also clobbers memory. All are convergent. */
typedef enum hd_asm_kind { HD_ASM_PURE, HD_ASM_VOLATILE, HD_ASM_MEMORY } hd_asm_kind;
LLVMValueRef hd_emit_asm(hd_emitter *e, LLVMTypeRef result, const char *text,
                         const char *constraints, LLVMValueRef const *args, int32_t n,
                         hd_asm_kind kind);
/* The same with n_results results of the given types. */
void hd_emit_asm_registers(hd_emitter *e, const char *text, const char *constraints,
                           LLVMValueRef const *args, int32_t n, hd_asm_kind kind,
                           LLVMTypeRef *types, int32_t n_results, LLVMValueRef *results);
/* Returns `value` (i32, available only after some wait), computed so that it also reads `word`,
 * therefore after that wait. ptxas does not know that a wgmma reads its metadata register until it
 * completes; without this read it would reuse the register too early. */
LLVMValueRef hd_emit_read_late(hd_emitter *e, LLVMValueRef value, LLVMValueRef word);
/* Passes a fragment through asm that clobbers memory, in the same registers, so that all uses of
 * `to` come after the asm. */
void hd_emit_tie(hd_emitter *e, const char *text, const hd_value *from, const hd_value *to);
LLVMValueRef hd_emit_bitcast(hd_emitter *e, LLVMValueRef value, LLVMTypeRef type);
/* Loads the i-th i32 from `at` on in global memory; -1 (no index) if i >= left, the number of
 * indices that exist. */
LLVMValueRef hd_emit_index(hd_emitter *e, LLVMValueRef at, LLVMValueRef left, int64_t i);
/* shfl.sync of an i32 in all lanes: from lane `from` (shfl_from: per lane), or (xor) from
 * lane ^ mask. */
LLVMValueRef hd_emit_shfl_idx(hd_emitter *e, LLVMValueRef value, int32_t from);
LLVMValueRef hd_emit_shfl_from(hd_emitter *e, LLVMValueRef value, LLVMValueRef from);
LLVMValueRef hd_emit_shfl_xor(hd_emitter *e, LLVMValueRef value, int32_t mask);
/* From the lane `by` below; the lowest `by` lanes keep their own value. */
LLVMValueRef hd_emit_shfl_up(hd_emitter *e, LLVMValueRef value, int32_t by);

/* Four of the eight bytes of x and y, each selected by a nibble of `bytes` (prmt). */
enum { HD_LOW_HALVES = 0x5410, HD_HIGH_HALVES = 0x7632 };
LLVMValueRef hd_emit_permute(hd_emitter *e, LLVMValueRef x, LLVMValueRef y, int64_t bytes);
LLVMValueRef hd_emit_permute_by(hd_emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef bytes);

/* ---- blocks (emit_block.c) ---- */
LLVMBasicBlockRef hd_emit_block(hd_emitter *e, const char *name); /* after the current one */
void hd_emit_at(hd_emitter *e, LLVMBasicBlockRef block);
void hd_emit_jump(hd_emitter *e, LLVMBasicBlockRef to);
/* if (condition): returns the join block; the builder is then in the branch. */
LLVMBasicBlockRef hd_emit_if(hd_emitter *e, LLVMValueRef condition, const char *name);
void hd_emit_endif(hd_emitter *e, LLVMBasicBlockRef join);
/* Moves the builder to the end of the role's entry block; returns the block where it was, for
 * hd_emit_return_from_entry. */
LLVMBasicBlockRef hd_emit_go_to_entry(hd_emitter *e);
void hd_emit_return_from_entry(hd_emitter *e, LLVMBasicBlockRef block);

/* ---- the kernel (emit_kernel.c), its roles and loops (emit_region.c) ---- */
heddle_status hd_emit_one_kernel(hd_emitter *e, const hd_op *kernel);
heddle_status hd_emit_region(hd_emitter *e, const hd_region *region);

/* ---- arguments of the kernel (emit_arg.c) ---- */
/* A parameter of the kernel; HEDDLE_INVALID if the kernel does not have it. */
heddle_status hd_emit_arg(hd_emitter *e, const hd_op *user, hd_arg_kind arg, LLVMValueRef *v);
/* A size: the constant `key` of the `product` op if it has one, else the argument. */
heddle_status hd_emit_size(hd_emitter *e, const hd_op *user, hd_arg_kind arg, hd_attr_key key,
                           LLVMValueRef *v);
/* The pointer argument whose elements (of type `elem`) a store.tile or stage.tile reads or writes.
 * For a batch: the start of the op's matrix; the matrices are `stride` elements apart. */
heddle_status hd_emit_matrix(hd_emitter *e, const hd_op *user, hd_arg_kind arg, hd_arg_kind stride,
                             heddle_elem elem, LLVMValueRef *v);

/* ---- spec rows (emit_row.c) ---- */
/* The row of an op's `row` attribute, legal on the target with this selector. */
heddle_status hd_emit_row(hd_emitter *e, const hd_op *op, hd_family family, int64_t selector,
                          const hd_spec_row **row);
/* The same for a row given by name. selector -1: the row has none. */
heddle_status hd_emit_row_named(hd_emitter *e, const hd_op *op, const char *name, hd_family family,
                                int64_t selector, const hd_spec_row **row);

/* ---- lowerings, one per op ---- */
hd_emit_fn hd_emit_op_role, hd_emit_op_for, hd_emit_op_if;
hd_emit_fn hd_emit_op_declared, hd_emit_op_buffer;
hd_emit_fn hd_emit_op_const, hd_emit_op_binary, hd_emit_op_cmp, hd_emit_op_select,
    hd_emit_op_extend, hd_emit_op_register, hd_emit_op_warp_index, hd_emit_op_tile_coord,
    hd_emit_op_cursor, hd_emit_op_cursor_next;
hd_emit_fn hd_emit_op_group_table, hd_emit_op_group_count, hd_emit_op_group_find;
hd_emit_fn hd_emit_op_copy_bulk, hd_emit_op_copy_tma, hd_emit_op_copy_cp_async,
    hd_emit_op_copy_ld_st;
hd_emit_fn hd_emit_op_load_meta, hd_emit_op_load_a, hd_emit_op_load_b, hd_emit_op_load_scale,
    hd_emit_op_frag_zero, hd_emit_op_frag_undef, hd_emit_op_frag_columns;
hd_emit_fn hd_emit_op_promote;
void hd_emit_promote_ahead(hd_emitter *e, const hd_op *fence);
hd_emit_fn hd_emit_op_mma_sp, hd_emit_op_mma_sp_scaled, hd_emit_op_wgmma;
hd_emit_fn hd_emit_op_tcgen05_mma, hd_emit_op_tcgen05_st, hd_emit_op_tcgen05_ld,
    hd_emit_op_tcgen05_cp,
    hd_emit_op_tcgen05_wait_ld, hd_emit_op_tcgen05_wait_st, hd_emit_op_tcgen05_fence,
    hd_emit_op_tcgen05_alloc, hd_emit_op_tcgen05_address, hd_emit_op_tcgen05_dealloc,
    hd_emit_op_tcgen05_commit;
hd_emit_fn hd_emit_op_store_tile, hd_emit_op_stage_tile, hd_emit_op_copy_out;
hd_emit_fn hd_emit_op_finish_tile, hd_emit_op_reduce_tile, hd_emit_op_scale_tile,
    hd_emit_op_scale_columns;
hd_emit_fn hd_emit_op_partial_store, hd_emit_op_partial_sum, hd_emit_op_last_arriver;
hd_emit_fn hd_emit_op_partial_send, hd_emit_op_partial_add;
hd_emit_fn hd_emit_op_prune_pack, hd_emit_op_mask_pack, hd_emit_op_quantize_pack,
    hd_emit_op_twin_codes;
hd_emit_fn hd_emit_op_copy_global, hd_emit_op_combine_global;
/* How many threads of the role execute an op together (`among`; default: all). hd_emit_share: the
 * i32 index of this thread's set of `threads` threads. */
int32_t hd_emit_among(const hd_emitter *e, const hd_op *op);
LLVMValueRef hd_emit_share(hd_emitter *e, int32_t threads);
hd_emit_fn hd_emit_op_barrier_init, hd_emit_op_barrier_expect, hd_emit_op_barrier_arrive,
    hd_emit_op_barrier_wait, hd_emit_op_plain_sync, hd_emit_op_role_sync, hd_emit_op_cluster_sync,
    hd_emit_op_cp_async_wait, hd_emit_op_bulk_wait, hd_emit_op_wgmma_fence, hd_emit_op_wgmma_wait;

#endif
