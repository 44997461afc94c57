/* Sim/sim_parse.c: declarations, statements and labels of PTX text. The families' decoders
 * (sim_decode.c) then determine what each instruction does. */
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_text.h"
#include "Support/diag.h"
#include "Support/memory.h"

/* ---- declarations ---- */

static heddle_status reg_directive(parser *p) {
  hd_sim_text_word(p); /* the type: every register holds 64 bits */
  do {
    const char *name = hd_sim_text_word(p);
    if (!name)
      return hd_sim_text_fail(p, "ptx.reg", "a register name", "nothing");
    family f = {.name = name, .base = p->program->n_regs};
    if (hd_sim_text_accept(p, '<')) {
      static const char what[] = "a count of registers, 1 to 65536";
      HD_TRY(hd_sim_text_count(p, "ptx.reg", what, MAX_REGS, &f.count));
      if (f.count == 0)
        return hd_sim_text_fail(p, "ptx.reg", what, "0");
      HD_TRY(hd_sim_text_expect(p, '>'));
    }
    p->program->n_regs += f.count ? f.count : 1;
    if (p->program->n_regs > MAX_REGS)
      return hd_sim_text_fail(p, "ptx.reg", "at most 65536 registers", name);
    HD_PUSH(p->family, p->n_families, p->family_cap, f);
  } while (hd_sim_text_accept(p, ','));
  return hd_sim_text_expect(p, ';');
}

static uint32_t align_up(uint32_t x, uint32_t to) { return (x + to - 1) & ~(to - 1); }

static heddle_status shared_directive(parser *p, bool is_extern) {
  sim_variable v;
  if (p->placed)
    return hd_sim_text_skip_statement(p);
  HD_TRY(hd_sim_variable(p, &v));
  symbol s = {v.name, align_up(p->shared_end, v.align)};
  if (v.open || is_extern) {
    s.offset = SIM_NO_REG; /* placed after the static ones */
    p->dynamic_align = p->dynamic_align > v.align ? p->dynamic_align : v.align;
  } else {
    p->shared_end = s.offset + v.n_bytes;
    if (p->shared_end > MAX_SHARED)
      return hd_sim_text_fail(p, "ptx.shared", "at most 262144 bytes of shared memory", v.name);
  }
  HD_PUSH(p->shared, p->n_shared, p->shared_cap, s);
  return hd_sim_text_expect(p, ';');
}

static heddle_status local_directive(parser *p) {
  sim_variable v;
  HD_TRY(hd_sim_variable(p, &v));
  symbol s = {v.name, align_up(p->program->local_bytes, v.align)};
  p->program->local_bytes = s.offset + v.n_bytes;
  if (p->program->local_bytes > 65536)
    return hd_sim_text_fail(p, "ptx.local", "at most 65536 bytes of local memory", v.name);
  HD_PUSH(p->local, p->n_local, p->local_cap, s);
  return hd_sim_text_expect(p, ';');
}

static heddle_status params(parser *p) {
  sim_program *g = p->program;
  HD_TRY(hd_sim_text_expect(p, '('));
  if (hd_sim_text_accept(p, ')'))
    return HEDDLE_OK;
  do {
    const char *first = hd_sim_text_word(p);
    if (!first || strcmp(first, ".param") != 0)
      return hd_sim_text_fail(p, "ptx.param", ".param", first ? first : "nothing");
    uint32_t align = 0, size = 0;
    const char *text;
    for (text = hd_sim_text_word(p); text && text[0] == '.'; text = hd_sim_text_word(p)) {
      if (strcmp(text, ".align") == 0) {
        uint32_t a;
        HD_TRY(hd_sim_text_count(p, "ptx.param", "an alignment", MAX_PARAM_BYTES, &a));
        align = align ? align : a; /* the second one applies to the pointee */
      } else if (hd_sim_type_find(text + 1)) {
        size = hd_sim_type(hd_sim_type_find(text + 1))->bits / 8;
      } else if (strcmp(text, ".ptr") == 0) {
        align = align ? align : size;
      }
    }
    if (!text || !size)
      return hd_sim_text_fail(p, "ptx.param", "a type and a name", text ? text : "nothing");
    align = align ? align : size;
    if (hd_sim_text_accept(p, '[')) {
      uint32_t n;
      HD_TRY(hd_sim_text_count(p, "ptx.param", "a number of elements", MAX_PARAM_BYTES, &n));
      size *= n;
      HD_TRY(hd_sim_text_expect(p, ']'));
    }
    if (size > MAX_PARAM_BYTES || align > MAX_PARAM_BYTES || (align & (align - 1)) ||
        g->n_params == MAX_PARAMS)
      return hd_sim_text_fail(p, "ptx.param", "at most 256 parameters of at most 4096 bytes", text);
    sim_param param = {text, align_up(g->param_bytes, align), size};
    g->param_bytes = param.offset + size;
    HD_PUSH(g->param, g->n_params, p->param_cap, param);
  } while (hd_sim_text_accept(p, ','));
  return hd_sim_text_expect(p, ')');
}

/* ---- statements ---- */

static void open_scope(parser *p) {
  uint32_t parent = p->scope;
  p->scope = p->n_scopes;
  HD_PUSH(p->scope_parent, p->n_scopes, p->parent_cap, parent);
  p->scope_family = hd_xrealloc(p->scope_family, sizeof *p->scope_family * p->n_scopes,
                                sizeof *p->scope_family * (p->n_scopes + 1));
  p->scope_family[p->scope] = p->n_families;
}

static void close_scope(parser *p) {
  p->n_families = p->scope_family[p->scope];
  p->scope = p->scope_parent[p->scope];
}

static heddle_status split_opcode(parser *p, const char *opcode, sim_decode *d) {
  for (char *at = hd_arena_strdup(p->arena, opcode); at;) {
    if (d->n_mods == SIM_MAX_MODS)
      return hd_sim_text_fail(p, "ptx.modifier", "at most 23 modifiers", opcode);
    char *dot = strchr(at, '.');
    if (dot)
      *dot++ = 0;
    d->mod[d->n_mods++] = at;
    at = dot;
  }
  return HEDDLE_OK;
}

static heddle_status operands(parser *p, sim_insn *in) {
  sim_opnd list[SIM_MAX_OPNDS];
  bool branch = strncmp(in->text, "bra", 3) == 0, indexed = strncmp(in->text, "brx", 3) == 0;
  for (;;) {
    bool wants_label = branch || (indexed && in->n_opnds == 1);
    if (!wants_label && hd_sim_text_accept(p, ';'))
      break;
    if (in->n_opnds == SIM_MAX_OPNDS)
      return hd_sim_text_fail(p, "ptx.syntax", "at most 12 operands", in->text);
    if (wants_label) {
      const char *name = hd_sim_text_word(p);
      if (!name)
        return hd_sim_text_fail(p, "ptx.branch", "a label", in->text);
      fixup f = {.name = name, .of_table = indexed, .insn = p->program->n_insns, .line = p->line,
                 .scope = p->scope};
      HD_PUSH(p->fixup, p->n_fixups, p->fixup_cap, f);
      HD_TRY(hd_sim_text_expect(p, ';'));
      break;
    }
    HD_TRY(hd_sim_text_operand(p, &list[in->n_opnds]));
    in->n_opnds++;
    if (hd_sim_text_accept(p, '|')) {
      if (in->n_opnds != 1)
        return hd_sim_text_fail(p, "ptx.syntax", "d|p first", in->text);
      HD_TRY(hd_sim_text_operand(p, &in->dst2));
    }
    if (hd_sim_text_peek(p) != ';')
      HD_TRY(hd_sim_text_expect(p, ','));
  }
  in->opnd = hd_arena_copy(p->arena, list, sizeof *list * (in->n_opnds + 1u));
  return HEDDLE_OK;
}

/* The shadow's granularity is the smallest access, so that no access covers a cell in part. */
static void refine_grain(sim_program *g, const sim_insn *in) {
  uint32_t n = in->vec && in->n_types == 1 ? in->vec * hd_sim_type(in->type[0])->bits / 8 : 16;
  uint8_t shift = n >= 4 ? 2 : n == 2 ? 1 : 0;
  bool shared = in->space != SIM_GLOBAL, global = in->space <= SIM_GLOBAL;
  if (shared && shift < g->shared_shift)
    g->shared_shift = shift;
  if (global && shift < g->global_shift)
    g->global_shift = shift;
}

static heddle_status instruction(parser *p, const char *opcode, sim_insn *in) {
  in->text = opcode;
  in->line = p->line;
  in->site = p->program->n_insns;
  HD_TRY(operands(p, in));
  sim_decode d = {.ctx = p->ctx, .program = p->program, .arena = p->arena};
  HD_TRY(split_opcode(p, opcode, &d));
  HD_TRY(hd_sim_decode(&d, in));
  in->order = in->accesses ? ++p->n_accesses : 0;
  if (in->accesses)
    refine_grain(p->program, in);
  HD_PUSH(p->program->insn, p->program->n_insns, p->insn_cap, *in);
  return HEDDLE_OK;
}

static heddle_status predicated(parser *p) {
  sim_insn in = {.pred_neg = hd_sim_text_accept(p, '!')};
  const char *name = hd_sim_text_word(p);
  in.pred = name ? hd_sim_text_register(p, name) : SIM_NO_REG;
  if (in.pred == SIM_NO_REG)
    return hd_sim_text_fail(p, "ptx.name", "a declared predicate after @", name ? name : "nothing");
  const char *opcode = hd_sim_text_word(p);
  if (!opcode)
    return hd_sim_text_fail(p, "ptx.syntax", "an instruction after its predicate", "nothing");
  return instruction(p, opcode, &in);
}

static heddle_status branch_targets(parser *p, const char *name) {
  uint32_t cap = 0, index = p->n_tables;
  HD_PUSH(p->table, p->n_tables, p->table_cap, ((table){.name = name, .line = p->line}));
  table *t = &p->table[index];
  do {
    const char *target = hd_sim_text_word(p);
    if (!target || t->n == 4096)
      return hd_sim_text_fail(p, "ptx.branchtargets", "labels", target ? target : "nothing");
    fixup f = {.name = target, .insn = SIM_NO_REG, .table = index, .entry = t->n, .line = p->line,
               .scope = p->scope};
    HD_PUSH(p->fixup, p->n_fixups, p->fixup_cap, f);
    HD_PUSH(t->target, t->n, cap, 0u);
  } while (hd_sim_text_accept(p, ','));
  return hd_sim_text_expect(p, ';');
}

static heddle_status body_directive(parser *p, const char *name) {
  if (strcmp(name, ".reg") == 0)
    return reg_directive(p);
  if (strcmp(name, ".shared") == 0)
    return shared_directive(p, false);
  if (strcmp(name, ".local") == 0)
    return local_directive(p);
  if (strcmp(name, ".loc") == 0 || strcmp(name, ".file") == 0) {
    hd_sim_text_skip_line(p);
    return HEDDLE_OK;
  }
  if (strcmp(name, ".pragma") == 0)
    return hd_sim_text_skip_statement(p);
  return hd_error(p->ctx, HEDDLE_UNSUPPORTED, (hd_loc){p->file, p->line, 1}, "ptx.directive",
                  "directive %s in a body is not simulated; legal: .reg .shared .local .loc "
                  ".pragma", name);
}

static heddle_status labelled(parser *p, const char *name) {
  const char *mark = p->at;
  uint32_t line = p->line;
  const char *next = hd_sim_text_peek(p) == '.' ? hd_sim_text_word(p) : NULL;
  if (next && strcmp(next, ".branchtargets") == 0)
    return branch_targets(p, name);
  p->at = mark;
  p->line = line;
  label l = {name, p->scope, p->program->n_insns, line};
  HD_PUSH(p->label, p->n_labels, p->label_cap, l);
  return HEDDLE_OK;
}

static heddle_status statement(parser *p) {
  HD_TRY(hd_memory_status(p->ctx, p->shortages, HEDDLE_OK));
  if (hd_sim_text_accept(p, '{')) {
    if (p->n_scopes == MAX_SCOPES)
      return hd_sim_text_fail(p, "ptx.scope", "at most 65536 scopes", "more");
    open_scope(p);
    return HEDDLE_OK;
  }
  if (hd_sim_text_accept(p, '@'))
    return predicated(p);
  const char *text = hd_sim_text_word(p);
  if (!text) {
    char got[2] = {hd_sim_text_peek(p), 0};
    return hd_sim_text_fail(p, "ptx.syntax", "a statement", got);
  }
  if (text[0] == '.')
    return body_directive(p, text);
  if (hd_sim_text_accept(p, ':'))
    return labelled(p, text);
  sim_insn in = {.pred = SIM_NO_REG};
  return instruction(p, text, &in);
}

static int compare_label(const label *l, const char *name, uint32_t scope) {
  int order = strcmp(l->name, name);
  return order ? order : (l->scope > scope) - (l->scope < scope);
}

static int by_name(const void *x, const void *y) {
  const label *a = x, *b = y;
  int order = compare_label(a, b->name, b->scope);
  return order ? order : (a->insn > b->insn) - (a->insn < b->insn);
}

/* A label as seen from a scope: that of the innermost scope that declares it. */
static const label *find_label(const parser *p, const char *name, uint32_t scope) {
  for (;; scope = p->scope_parent[scope]) {
    uint32_t lo = 0, hi = p->n_labels;
    while (lo < hi) { /* the first that is not less */
      uint32_t at = lo + (hi - lo) / 2;
      if (compare_label(&p->label[at], name, scope) < 0)
        lo = at + 1;
      else
        hi = at;
    }
    if (lo < p->n_labels && compare_label(&p->label[lo], name, scope) == 0)
      return &p->label[lo];
    if (scope == 0)
      return NULL;
  }
}

static int by_table_name(const void *x, const void *y) {
  return strcmp(((const table *)x)->name, ((const table *)y)->name);
}

/* Each name once: a label in its scope, a table of targets in the body. */
static heddle_status check_names(parser *p) {
  for (uint32_t i = 1; i < p->n_labels; i++)
    if (compare_label(&p->label[i], p->label[i - 1].name, p->label[i - 1].scope) == 0) {
      p->line = p->label[i].line;
      return hd_sim_text_fail(p, "ptx.label", "a label once in its scope", p->label[i].name);
    }
  for (uint32_t i = 1; i < p->n_tables; i++)
    if (by_table_name(&p->table[i - 1], &p->table[i]) == 0) {
      p->line = p->table[i].line;
      return hd_sim_text_fail(p, "ptx.branchtargets", "a table once", p->table[i].name);
    }
  return HEDDLE_OK;
}

/* The tables are sorted, and their entries are resolved. */
static heddle_status resolve_indexed(parser *p, const fixup *f) {
  const table key = {.name = f->name};
  const table *t =
      p->n_tables ? bsearch(&key, p->table, p->n_tables, sizeof key, by_table_name) : NULL;
  p->line = f->line;
  if (!t)
    return hd_sim_text_fail(p, "ptx.branchtargets", "a table of branch targets", f->name);
  sim_insn *in = &p->program->insn[f->insn];
  in->targets = hd_arena_copy(p->arena, t->target, sizeof *t->target * t->n);
  in->target = t->n;
  return HEDDLE_OK;
}

static heddle_status resolve_label(parser *p, const fixup *f) {
  const label *l = find_label(p, f->name, f->scope);
  p->line = f->line;
  if (!l)
    return hd_sim_text_fail(p, "ptx.label", "a label in scope", f->name);
  if (f->insn == SIM_NO_REG)
    p->table[f->table].target[f->entry] = l->insn;
  else
    p->program->insn[f->insn].target = l->insn;
  return HEDDLE_OK;
}

/* Labels first: a brx copies its table. */
static heddle_status resolve(parser *p) {
  if (p->n_labels)
    qsort(p->label, p->n_labels, sizeof *p->label, by_name);
  for (uint32_t i = 0; i < p->n_fixups; i++)
    if (!p->fixup[i].of_table)
      HD_TRY(resolve_label(p, &p->fixup[i]));
  if (p->n_tables)
    qsort(p->table, p->n_tables, sizeof *p->table, by_table_name);
  HD_TRY(check_names(p));
  for (uint32_t i = 0; i < p->n_fixups; i++)
    if (p->fixup[i].of_table)
      HD_TRY(resolve_indexed(p, &p->fixup[i]));
  return HEDDLE_OK;
}

static heddle_status body(parser *p) {
  HD_TRY(hd_sim_text_expect(p, '{'));
  p->scope = 0;
  p->n_scopes = 0;
  open_scope(p);
  p->scope_parent[0] = 0;
  uint32_t depth = 1;
  while (depth > 0) {
    char c = hd_sim_text_peek(p);
    if (c == 0)
      return hd_sim_text_fail(p, "ptx.syntax", "} before the end of the text", "the end");
    if (c == '}') {
      p->at++;
      depth--;
      if (depth > 0)
        close_scope(p);
      continue;
    }
    depth += c == '{';
    HD_TRY(statement(p));
  }
  return resolve(p);
}

static heddle_status entry_directive(parser *p, const char *entry, bool *found) {
  const char *name = hd_sim_text_word(p);
  if (!name)
    return hd_sim_text_fail(p, "ptx.entry", "the entry's name", "nothing");
  if (strcmp(name, entry) != 0)
    return hd_sim_text_skip_statement(p);
  *found = true;
  HD_TRY(params(p));
  /* .maxntid and the like: except for the registers, the plan determines the launch. */
  while (p->at < p->end && hd_sim_text_peek(p) != '{') {
    const char *word = *p->at == '.' ? hd_sim_text_word(p) : NULL;
    if (word && strcmp(word, ".maxnreg") == 0)
      HD_TRY(hd_sim_text_count(p, "ptx.directive", "expected a number of registers", 256,
                               &p->program->max_registers));
    else if (!word)
      p->at++;
  }
  return body(p);
}

static heddle_status module(parser *p, const char *entry, bool *found) {
  bool is_extern = false;
  while (hd_sim_text_peek(p)) {
    const char *text = hd_sim_text_word(p);
    if (!text)
      return hd_sim_text_fail(p, "ptx.syntax", "a directive", (char[]){*p->at, 0});
    if (strcmp(text, ".extern") == 0) {
      is_extern = true;
      continue;
    }
    if (strcmp(text, ".visible") == 0 || strcmp(text, ".weak") == 0)
      continue;
    if (strcmp(text, ".entry") == 0) {
      HD_TRY(entry_directive(p, entry, found));
    } else if (strcmp(text, ".shared") == 0) {
      HD_TRY(shared_directive(p, is_extern));
    } else if (!is_extern && (strcmp(text, ".global") == 0 || strcmp(text, ".const") == 0)) {
      HD_TRY(hd_sim_variable_global(p, strcmp(text, ".global") == 0));
    } else if (strcmp(text, ".version") == 0 || strcmp(text, ".target") == 0 ||
               strcmp(text, ".address_size") == 0 || strcmp(text, ".file") == 0) {
      hd_sim_text_skip_line(p);
    } else {
      HD_TRY(hd_sim_text_skip_statement(p));
    }
    is_extern = false;
  }
  if (!p->open_comment)
    return HEDDLE_OK;
  p->line = p->open_comment;
  return hd_sim_text_fail(p, "ptx.syntax", "a comment that ends", "/*");
}

/* Shared symbols of the whole text are placed before operands are read: a first pass that only
 * reads `.shared` declarations. */
static heddle_status place_shared(parser *p) {
  bool is_extern = false, of_pointer = false; /* .ptr .shared: what a parameter points to */
  while (hd_sim_text_peek(p)) {
    const char *text = hd_sim_text_word(p);
    if (!text) {
      p->at++;
      is_extern = false;
      continue;
    }
    if (strcmp(text, ".shared") == 0 && !of_pointer)
      HD_TRY(shared_directive(p, is_extern));
    of_pointer = strcmp(text, ".ptr") == 0;
    is_extern = strcmp(text, ".extern") == 0 || (is_extern && strcmp(text, ".visible") == 0);
  }
  /* Dynamic shared memory starts right after the static part, at the declared alignment. */
  uint32_t at = align_up(p->shared_end, p->dynamic_align ? p->dynamic_align : 16);
  p->program->dynamic_shared_at = at;
  for (uint32_t i = 0; i < p->n_shared; i++)
    if (p->shared[i].offset == SIM_NO_REG)
      p->shared[i].offset = at;
  return HEDDLE_OK;
}

static void free_parser(parser *p) {
  for (uint32_t i = 0; i < p->n_tables; i++)
    hd_free(p->table[i].target);
  hd_free(p->family);
  hd_free(p->label);
  hd_free(p->fixup);
  hd_free(p->table);
  hd_free(p->shared);
  hd_free(p->local);
  hd_free(p->scope_parent);
  hd_free(p->scope_family);
}

/* The readers below treat a zero as the end of the text. */
static heddle_status refuse_zero(parser *p) {
  const char *zero = memchr(p->at, '\0', (size_t)(p->end - p->at));
  if (!zero)
    return HEDDLE_OK;
  for (const char *at = p->at; at < zero; at++)
    p->line += *at == '\n';
  return hd_sim_text_fail(p, "ptx.byte", "text without zero bytes", "\\0");
}

heddle_status hd_sim_parse(heddle_context *ctx, const hd_sim_launch *launch, hd_arena *arena,
                           sim_program *program) {
  const char *file = launch->file, *text = launch->ptx, *entry = launch->plan->variant->entry;
  *program = (sim_program){.file = file, .shared_shift = 2, .global_shift = 2};
  parser p = {.ctx = ctx, .file = file, .at = text, .end = text + launch->ptx_bytes, .line = 1,
              .arena = arena, .program = program, .shared_end = SIM_SHARED_BASE,
              .shortages = hd_memory_shortages()};
  heddle_status status = refuse_zero(&p);
  if (status == HEDDLE_OK)
    status = place_shared(&p);
  if (status == HEDDLE_OK) {
    bool found = false;
    p.at = text;
    p.line = 1;
    p.placed = true;
    status = module(&p, entry, &found);
    if (status == HEDDLE_OK && !found)
      status = hd_sim_text_fail(&p, "ptx.entry", "an entry of the manifest's name", entry);
  }
  HD_PUSH(program->insn, program->n_insns, p.insn_cap, (sim_insn){0});
  program->n_insns--;
  HD_PUSH(program->param, program->n_params, p.param_cap, (sim_param){0});
  program->n_params--;
  sim_insn *insn = program->insn; /* what grew by HD_PUSH moves into the arena */
  sim_param *param = program->param;
  program->insn = hd_arena_copy(arena, insn, sizeof *insn * (program->n_insns + 1u));
  program->param = hd_arena_copy(arena, param, sizeof *param * (program->n_params + 1u));
  hd_free(insn);
  hd_free(param);
  free_parser(&p);
  return status;
}
