/* Sim/sim_text.h: reading PTX text: characters, words, names, operands (private to the folder). */
#ifndef HD_SIM_TEXT_H
#define HD_SIM_TEXT_H

#include "Sim/sim_program.h"

typedef struct family {
  const char *name;
  uint32_t count, base; /* count 0: a single register of exactly that name */
} family;

typedef struct label {
  const char *name;
  uint32_t scope, insn, line;
} label;

typedef struct fixup {
  const char *name;
  bool of_table;         /* names a table (brx) */
  uint32_t insn;         /* the branch; SIM_NO_REG: an entry of a table of targets */
  uint32_t table, entry; /* of that entry */
  uint32_t line, scope;
} fixup;

typedef struct table {
  const char *name;
  uint32_t *target;
  uint32_t n, line;
} table;

typedef struct symbol {
  const char *name;
  uint32_t offset;
} symbol;

enum { MAX_SCOPES = 65536, MAX_SHARED = 1 << 18, MAX_REGS = 1 << 16, MAX_PARAMS = 256,
       MAX_PARAM_BYTES = 4096, MAX_ALIGN = 65536 };

typedef struct parser {
  heddle_context *ctx;
  const char *file, *at, *end;
  uint32_t line;
  uint32_t open_comment; /* line of a comment that does not end; 0: none */
  hd_arena *arena;
  uint64_t shortages; /* failed allocations before parsing */
  sim_program *program;
  family *family;
  uint32_t n_families, family_cap;
  label *label;
  uint32_t n_labels, label_cap;
  fixup *fixup;
  uint32_t n_fixups, fixup_cap;
  table *table;
  uint32_t n_tables, table_cap;
  symbol *shared, *local;
  uint32_t n_shared, shared_cap, n_local, local_cap;
  uint32_t *scope_parent, *scope_family; /* parent scope, families when it was opened */
  uint32_t n_scopes, parent_cap, scope;
  uint32_t insn_cap, param_cap, shared_end, dynamic_align, n_accesses;
  bool placed; /* shared symbols have their offsets: the second pass ignores them */
} parser;

/* A declaration; open: without a number of elements. */
typedef struct sim_variable {
  const char *name;
  uint32_t align, element, n_bytes; /* bytes; element: of one */
  bool open;
} sim_variable;
/* sim_variable.c */
heddle_status hd_sim_variable(parser *p, sim_variable *v);
/* A variable of the module with its initial values. */
heddle_status hd_sim_variable_global(parser *p, bool writable);

/* Reports `what, got ...` at the current line; HEDDLE_INVALID. */
heddle_status hd_sim_text_fail(parser *p, const char *rule, const char *what, const char *got);
/* The next character after white space and comments; 0 at the end. */
char hd_sim_text_peek(parser *p);
bool hd_sim_text_accept(parser *p, char c);
heddle_status hd_sim_text_expect(parser *p, char c);
/* Identifier, opcode with its modifiers (dots and ::), or number. NULL when there is none. */
const char *hd_sim_text_word(parser *p);
void hd_sim_text_skip_line(parser *p);
/* Skips past the next `;` or the next braces; HEDDLE_INVALID if the text ends before. */
heddle_status hd_sim_text_skip_statement(parser *p);
/* The register of that name in the open scopes; SIM_NO_REG if there is none. */
uint32_t hd_sim_text_register(const parser *p, const char *name);
heddle_status hd_sim_text_operand(parser *p, sim_opnd *o);
/* A whole number, 0 to most; else fails by that rule and sentence. */
heddle_status hd_sim_text_count(parser *p, const char *rule, const char *what, uint32_t most,
                                uint32_t *count);

#endif
