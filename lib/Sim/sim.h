/* Sim/sim.h: executes the PTX that ships, under the worst schedule that the sync rules R1-R9 allow.
 *
 * The caller places its buffers at simulated device addresses and describes the launch (the plan of
 * Kernel/manifest.h). Every access is checked: bounds, alignment, initialisation, ordering (vector
 * clocks per thread and asynchronous agent) and proxies. Rules: README.md. */
#ifndef HD_SIM_H
#define HD_SIM_H

#include "Kernel/manifest.h"
#include "Support/arena.h"
#include "heddle/context.h"

/* When asynchronous work completes: at the last moment, at once, or at random (by seed). */
typedef enum hd_sim_mode { HD_SIM_LATE, HD_SIM_EARLY, HD_SIM_RANDOM } hd_sim_mode;

/* Parts of the model that can be switched off, to show that the tests need them. */
enum {
  HD_SIM_NO_PROXIES = 1, /* no fence.proxy.async is ever needed (R2, R4) */
  HD_SIM_NO_RACES = 2,   /* accesses are not compared at all (R1-R3, R6, R7, R9) */
  HD_SIM_NO_POISON = 4, /* registers of an unfinished wgmma or tcgen05.ld may be touched (R5, R9) */
  HD_SIM_NO_UNDEFINED = 8 /* uninitialised shared memory and registers may be used */
};

/* One allocation of the caller. address: multiple of 256; leave a gap between buffers, so that an
 * access past an end is detected. data (borrowed) holds n_bytes and is read and written in
 * place. */
typedef struct hd_sim_buffer {
  const char *name;
  uint64_t address, n_bytes;
  void *data;
  bool writable;
  bool undefined; /* reading a byte that the kernel did not write is an error */
  uint8_t
      *written; /* borrowed, n_bytes, or NULL: set to 1 where the kernel wrote, to 0 elsewhere */
  bool weights; /* A or its block scales: may be read before griddepcontrol.wait (R8) if the variant
                   is weights_ready */
} hd_sim_buffer;

/* An event of a run. Time is the number of warp instructions that all warps have executed before:
 * the simulator has no cycles. */
typedef enum hd_sim_event_kind {
  HD_SIM_EXECUTES,  /* a warp executes an instruction; one that waits is executed repeatedly */
  HD_SIM_ISSUES,    /* an instruction issues asynchronous work */
  HD_SIM_COMPLETES, /* the work completes; it has the same number */
} hd_sim_event_kind;

typedef struct hd_sim_event {
  hd_sim_event_kind kind;
  uint64_t time, number;
  uint32_t cta, warp, lanes, line; /* line of the PTX text, from 1 */
  const char *text;                /* the opcode with its modifiers; borrowed for the call */
} hd_sim_event;

typedef struct hd_sim_options {
  uint64_t seed;
  hd_sim_mode mode;
  uint64_t max_steps;    /* warp instructions; 0 = 20 million */
  uint32_t grid_y, grid_z; /* multiply the plan's grid_x CTAs; 0 = 1 */
  uint32_t max_resident; /* CTAs in flight at once; 0 = 8. Persistent grids are fully resident. */
  bool sequential;       /* one cluster after the other: the last arriver (R7) is always the same */
  uint32_t max_findings; /* stop after this many different findings; 0 = 8 */
  uint32_t off;          /* HD_SIM_NO_... */
  uint32_t hold; /* warp of each CTA, counted from 1, that runs only if nothing else can; 0: none */
  bool strict;   /* without R3's assumption (report.n_assumed): relying on it is a finding */
  bool isa_only; /* without rules of Heddle's own: for kernels from elsewhere */
  void (*trace)(void *user, const hd_sim_event *event); /* or NULL */
  void *user;
} hd_sim_options;

/* The basis of a finding: the PTX ISA; a rule of Heddle's own, stricter than the ISA; an assumption
 * that was measured on hardware and is not guaranteed by the ISA (`strict`). */
typedef enum hd_sim_basis { HD_SIM_ISA, HD_SIM_HEDDLE, HD_SIM_MEASURED } hd_sim_basis;
/* "ISA", "Heddle", "measured" */
const char *hd_sim_basis_name(hd_sim_basis basis);

/* A finding. line counts the PTX text from 1; other_line is the second access of a conflict (0:
 * none). */
typedef struct hd_sim_finding {
  const char *rule; /* "R2", "bounds", "deadlock" ... */
  const char *text;
  uint32_t line, other_line;
  hd_sim_basis basis;
} hd_sim_finding;

/* An executed wait with a time limit, and whether it ever returned false. If it never did, a
 * missing loop around it was not detected. */
typedef struct hd_sim_wait {
  uint32_t line;
  bool answered_no;
} hd_sim_wait;

typedef struct hd_sim_report {
  const hd_sim_wait *wait; /* in the arena; one per line */
  uint32_t n_waits;
  const hd_sim_finding *finding; /* in the arena given to hd_sim_run */
  uint32_t n_findings;
  uint64_t n_instructions; /* warp instructions */
  uint64_t n_async;        /* asynchronous operations completed */
  uint64_t n_mma;          /* tensor-core instructions */
  uint64_t n_checked;      /* memory cells compared with their history */
  uint64_t n_conflicts;    /* conflicting pairs found ordered */
  uint64_t n_assumed;      /* of those, only by R3's remote arrive at default scope */
  uint64_t order_hash; /* of the set of conflicting pairs (agents, accesses, address) and their
                          order: equal for two texts with the same happens-before relation */
} hd_sim_report;

/* One launch of a text. All borrowed for the call; the buffers' data is read and written. */
typedef struct hd_sim_launch {
  const char *file; /* names the text in diagnostics */
  const char *ptx;
  size_t ptx_bytes;
  const hd_launch_plan *plan; /* plan->variant->entry names the entry */
  const hd_values *values;
  const hd_sim_buffer *buffers;
  uint32_t n_buffers;
} hd_sim_launch;

/* Runs a launch. Returns HEDDLE_OK without findings, HEDDLE_MISMATCH with findings in the report
 * (whose texts are in the arena), HEDDLE_INVALID for malformed PTX, HEDDLE_UNSUPPORTED naming an
 * instruction outside the subset. Reentrant. */
heddle_status hd_sim_run(heddle_context *ctx, const hd_sim_launch *launch,
                         const hd_sim_options *options, hd_arena *arena, hd_sim_report *report);

/* Name of a mode and back ("late", "early", "random"). */
const char *hd_sim_mode_name(hd_sim_mode mode);
heddle_status hd_sim_mode_parse(const char *name, hd_sim_mode *mode);

#endif
