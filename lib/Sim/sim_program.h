/* Sim/sim_program.h: PTX text in decoded form (private to the folder). */
#ifndef HD_SIM_PROGRAM_H
#define HD_SIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "Sim/sim.h"
#include "Sim/sim_types.h"
#include "Support/arena.h"
#include "heddle/context.h"

enum { SIM_SHARED_BASE = 1024 }; /* the first kilobyte of shared memory belongs to the system */
enum { SIM_NO_REG = 0xffffffffu, SIM_MAX_MODS = 24, SIM_MAX_OPNDS = 12 };

/* An operand as written. Registers and vectors point into the program's tables. */
typedef enum sim_opnd_kind {
  SIM_NONE,
  SIM_REG,    /* reg; neg: !p or -x */
  SIM_IMM,    /* imm: the bits; fp 1: f32 bits, 2: f64 bits */
  SIM_SHARED, /* address of a shared symbol: imm is the offset, the CTA's base is added */
  SIM_SREG,   /* imm: enum sim_sreg */
  SIM_SINK,   /* _ */
  SIM_VEC,    /* n scalars at vec */
  SIM_ADDR    /* [base + imm, {coordinates}]: base in vec[0], coordinates vec[1..n) */
} sim_opnd_kind;

typedef struct sim_opnd {
  uint8_t kind, fp;
  bool neg;
  uint16_t n;
  uint32_t reg;
  int64_t imm;
  struct sim_opnd *vec;
} sim_opnd;

#define SIM_SREGS(X)                                                                               \
  X(TID_X, "%tid.x") X(TID_Y, "%tid.y") X(TID_Z, "%tid.z")                                         \
  X(NTID_X, "%ntid.x") X(NTID_Y, "%ntid.y") X(NTID_Z, "%ntid.z")                                   \
  X(CTAID_X, "%ctaid.x") X(CTAID_Y, "%ctaid.y") X(CTAID_Z, "%ctaid.z")                             \
  X(NCTAID_X, "%nctaid.x") X(NCTAID_Y, "%nctaid.y") X(NCTAID_Z, "%nctaid.z")                       \
  X(LANEID, "%laneid") X(WARPID, "%warpid") X(NWARPID, "%nwarpid")                                 \
  X(CLUSTERID_X, "%clusterid.x") X(CLUSTERID_Y, "%clusterid.y") X(CLUSTERID_Z, "%clusterid.z")     \
  X(NCLUSTERID_X, "%nclusterid.x") X(NCLUSTERID_Y, "%nclusterid.y")                                \
  X(NCLUSTERID_Z, "%nclusterid.z")                                                                 \
  X(CLUSTER_CTAID_X, "%cluster_ctaid.x") X(CLUSTER_CTAID_Y, "%cluster_ctaid.y")                    \
  X(CLUSTER_CTAID_Z, "%cluster_ctaid.z") X(CLUSTER_NCTAID_X, "%cluster_nctaid.x")                  \
  X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y") X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z")                \
  X(CLUSTER_CTARANK, "%cluster_ctarank") X(CLUSTER_NCTARANK, "%cluster_nctarank")                  \
  X(LANEMASK_EQ, "%lanemask_eq") X(LANEMASK_LT, "%lanemask_lt") X(LANEMASK_LE, "%lanemask_le")     \
  X(LANEMASK_GT, "%lanemask_gt") X(LANEMASK_GE, "%lanemask_ge")                                    \
  X(SMID, "%smid") X(NSMID, "%nsmid") X(CLOCK, "%clock") X(CLOCK64, "%clock64")                    \
  X(GLOBALTIMER, "%globaltimer") X(DYNAMIC_SMEM, "%dynamic_smem_size")                             \
  X(TOTAL_SMEM, "%total_smem_size")

typedef enum sim_sreg {
#define X(name, text) SIM_SREG_##name,
  SIM_SREGS(X)
#undef X
  SIM_N_SREGS
} sim_sreg;

struct sim_warp;
struct sim_insn;

/* What executing an instruction for some lanes did. */
typedef enum sim_step {
  SIM_NEXT, /* continue with the next one */
  SIM_JUMP, /* the group's pc was set */
  SIM_WAIT, /* blocked: execute the same one again when something has changed */
  SIM_STOP  /* a finding after which nothing can be executed */
} sim_step;

typedef sim_step sim_exec(struct sim_warp *warp, const struct sim_insn *insn, uint32_t mask);

typedef struct sim_insn {
  sim_exec *exec;
  const char *text; /* the opcode with its modifiers */
  uint32_t line, site;
  uint32_t order; /* running number among the instructions that access memory */
  uint32_t pred; /* register, or SIM_NO_REG */
  bool pred_neg;
  bool aligned;  /* all lanes of the warp must execute it together */
  bool meets;    /* .sync: each lane waits for all others */
  bool accesses; /* reads or writes memory (not only synchronisation objects) */
  bool pure;     /* lane-local: an undefined source only makes the result undefined */
  bool selects;  /* selp: only the chosen source counts */
  bool owns_registers; /* wgmma: its registers follow R5, not the common path */
  bool sparse;   /* mma.sp: the selector determines the lanes of operand 4 that are read */
  uint8_t op, n_opnds, n_dst;
  uint8_t type[4], n_types;
  uint8_t space, vec, sem, scope, cmp, boolop, round, atom, cta_group;
  uint32_t flags;
  uint32_t target;
  uint32_t *targets; /* brx.idx */
  const struct sim_mma *mma;
  sim_opnd *opnd;
  sim_opnd dst2; /* p of d|p */
} sim_insn;

enum { /* insn.space */
  SIM_GENERIC,
  SIM_GLOBAL,
  SIM_SHARED_CTA,
  SIM_SHARED_CLUSTER,
  SIM_LOCAL,
  SIM_PARAM,
  SIM_CONST
};

enum { SIM_SEM_NONE, SIM_SEM_RELAXED, SIM_SEM_ACQUIRE, SIM_SEM_RELEASE, SIM_SEM_ACQ_REL,
       SIM_SEM_VOLATILE };
enum { SIM_SCOPE_NONE, SIM_SCOPE_CTA, SIM_SCOPE_CLUSTER, SIM_SCOPE_GPU, SIM_SCOPE_SYS };

enum { /* insn.flags */
  SIM_F_FTZ = 1,
  SIM_F_SAT = 2,
  SIM_F_WIDE = 4,
  SIM_F_HI = 8,
  SIM_F_RELU = 16,
  SIM_F_NAN = 32,
  SIM_F_SATFINITE = 64,
  SIM_F_TRANS = 256,
  SIM_F_READ = 512,
  SIM_F_MULTICAST = 1024,
  SIM_F_CACHE_HINT = 2048,
  SIM_F_EXPECT = 4096,
  SIM_F_PARITY = 8192,
  SIM_F_NOINC = 16384,
  SIM_F_NC = 65536,
  SIM_F_REDUCE = 131072
};

typedef struct sim_param {
  const char *name;
  uint32_t offset, n_bytes;
} sim_param;

/* Variables of the module are in windows of their own, past every buffer of the caller. */
#define SIM_VARIABLE_WINDOW 0x7f4000000000ull
enum { SIM_MAX_VARIABLES = 64 };

/* One decoded entry. Owned by the arena that it was made in. */
typedef struct sim_program {
  const char *file;
  sim_insn *insn;
  uint32_t n_insns;
  uint32_t n_regs; /* each 32 lanes of 64 bits */
  sim_param *param;
  uint32_t n_params, param_bytes;
  hd_sim_buffer variable[SIM_MAX_VARIABLES]; /* of the module: .global, .const */
  uint32_t n_variables;
  uint32_t dynamic_shared_at;
  uint32_t local_bytes;
  uint8_t shared_shift, global_shift; /* log2 of the finest access: the grain of the shadow */
  bool has_cp_async, has_bulk_store, has_st_async, has_tensor, has_inval, has_named_barrier;
  uint32_t max_registers; /* .maxnreg; 0: none */
  uint8_t cta_groups; /* that tcgen05 instructions name: 1, 2, or 3 for both */
} sim_program;

/* Parses and decodes the entry that the launch names. */
heddle_status hd_sim_parse(heddle_context *ctx, const hd_sim_launch *launch, hd_arena *arena,
                           sim_program *program);

/* The decoder's input: the opcode split at its dots, and the program so far. */
typedef struct sim_decode {
  heddle_context *ctx;
  const sim_program *program;
  hd_arena *arena;
  const char *mod[SIM_MAX_MODS];
  bool taken[SIM_MAX_MODS];
  uint32_t n_mods;
} sim_decode;

/* Fills in exec and fields from the modifiers; HEDDLE_UNSUPPORTED names an instruction or modifier
 * outside the subset, HEDDLE_INVALID a wrong number of operands. */
heddle_status hd_sim_decode(sim_decode *d, sim_insn *insn);

/* For the families' decoders: takes a modifier if it is present. */
bool hd_sim_take(sim_decode *d, const char *mod);
/* Takes the next modifier that is a type; SIM_T_NONE when there is none. */
uint8_t hd_sim_take_type(sim_decode *d);
void hd_sim_take_types(sim_decode *d, sim_insn *insn);
void hd_sim_take_space(sim_decode *d, sim_insn *insn);
void hd_sim_take_order(sim_decode *d, sim_insn *insn);
/* Takes cache operators and level hints, which change nothing here. */
void hd_sim_take_hints(sim_decode *d, sim_insn *insn);
/* The last step of a decoder. HEDDLE_UNSUPPORTED if a modifier was not taken, since it may bring
 * operands of its own; else whether the operands fit. */
heddle_status hd_sim_check_operands(const sim_decode *d, bool fit);
heddle_status hd_sim_decode_st_async(sim_decode *d, sim_insn *insn);
heddle_status hd_sim_decode_peer_copy(sim_decode *d, sim_insn *insn);

typedef heddle_status sim_decoder(sim_decode *d, sim_insn *insn);
sim_decoder hd_sim_decode_alu, hd_sim_decode_memory, hd_sim_decode_control, hd_sim_decode_sync,
    hd_sim_decode_setmaxnreg,
    hd_sim_decode_mbarrier, hd_sim_decode_copy, hd_sim_decode_matrix, hd_sim_decode_mma,
    hd_sim_decode_wgmma;

#endif
