/* Sim/sim_text.c: characters, words, names and operands of PTX text. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_text.h"
#include "Support/convert.h"
#include "Support/diag.h"

heddle_status hd_sim_text_fail(parser *p, const char *rule, const char *what, const char *got) {
  return hd_error(p->ctx, HEDDLE_INVALID, (hd_loc){p->file, p->line, 1}, rule,
                  "got `%s`; legal: %s", got, what);
}

/* ---- characters ---- */

void hd_sim_text_skip_line(parser *p) {
  while (p->at < p->end && *p->at != '\n')
    p->at++;
}

static void skip_block_comment(parser *p) {
  uint32_t line = p->line;
  p->at += 2;
  while (p->at < p->end && !(p->at[0] == '*' && p->at + 1 < p->end && p->at[1] == '/'))
    p->line += *p->at++ == '\n';
  bool ends = p->at + 2 <= p->end;
  p->open_comment = ends ? 0 : line;
  p->at = ends ? p->at + 2 : p->end;
}

static void skip_space(parser *p) {
  while (p->at < p->end) {
    char c = *p->at;
    if (c == '\n')
      p->line++;
    if (isspace((unsigned char)c))
      p->at++;
    else if (c == '/' && p->at + 1 < p->end && p->at[1] == '/')
      hd_sim_text_skip_line(p);
    else if (c == '/' && p->at + 1 < p->end && p->at[1] == '*')
      skip_block_comment(p);
    else
      return;
  }
}

char hd_sim_text_peek(parser *p) {
  skip_space(p);
  return p->at < p->end ? *p->at : 0;
}

bool hd_sim_text_accept(parser *p, char c) {
  if (hd_sim_text_peek(p) != c)
    return false;
  p->at++;
  return true;
}

heddle_status hd_sim_text_expect(parser *p, char c) {
  if (hd_sim_text_accept(p, c))
    return HEDDLE_OK;
  char want[] = "`?`", got[2] = {hd_sim_text_peek(p), 0};
  want[1] = c;
  return hd_sim_text_fail(p, "ptx.syntax", want, got);
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* A word: identifier, opcode with its modifiers (dots and ::), or number. NULL at none. */
const char *hd_sim_text_word(parser *p) {
  skip_space(p);
  const char *start = p->at;
  while (p->at < p->end &&
         (is_word(*p->at) || (p->at[0] == ':' && p->at + 1 < p->end && p->at[1] == ':'))) {
    p->at += *p->at == ':' ? 2 : 1;
  }
  return p->at == start ? NULL : hd_arena_strndup(p->arena, start, (size_t)(p->at - start));
}

heddle_status hd_sim_text_skip_statement(parser *p) {
  while (p->at < p->end && hd_sim_text_peek(p) != ';' && hd_sim_text_peek(p) != '{')
    p->at++;
  if (hd_sim_text_accept(p, ';'))
    return HEDDLE_OK;
  int depth = 0;
  do {
    char c = hd_sim_text_peek(p);
    if (c == 0)
      return hd_sim_text_fail(p, "ptx.syntax", "} before the end of the text", "the end");
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    p->at++;
  } while (depth > 0);
  return HEDDLE_OK;
}

/* ---- numbers ---- */

/* Reads a word of digits of a base; `suffix`: with an optional U at its end. */
static bool read_bits(const char *digits, int base, bool suffix, uint64_t *bits) {
  char *end;
  errno = 0;
  *bits = strtoull(digits, &end, base);
  return isxdigit((unsigned char)*digits) && !errno &&
         end[suffix && (*end == 'U' || *end == 'u')] == '\0';
}

static heddle_status number(parser *p, const char *text, sim_opnd *o) {
  char kind = text[0] == '0' ? (char)tolower((unsigned char)text[1]) : 0;
  uint64_t bits = 0;
  bool whole;
  *o = (sim_opnd){.kind = SIM_IMM};
  o->fp = kind == 'f' ? 1 : kind == 'd' || strchr(text, '.') ? 2 : 0;
  if (kind == 'f' || kind == 'd') { /* the bits of an f32 in 8 digits, of an f64 in 16 */
    whole = strlen(text) == (kind == 'f' ? 10 : 18) && read_bits(text + 2, 16, false, &bits);
  } else if (o->fp) {
    char *end;
    bits = hd_sim_f64_bits(hd_strtod(text, &end));
    whole = *end == '\0';
  } else if (kind == 'b') {
    whole = read_bits(text + 2, 2, true, &bits);
  } else {
    whole = read_bits(text, 0, true, &bits);
  }
  o->imm = (int64_t)bits;
  if (whole)
    return HEDDLE_OK;
  return hd_sim_text_fail(p, "ptx.number", "a number of at most 64 bits", text);
}

heddle_status hd_sim_text_count(parser *p, const char *rule, const char *what, uint32_t most,
                                uint32_t *count) {
  const char *text = hd_sim_text_word(p);
  uint64_t value = 0;
  if (!text || !read_bits(text, 0, true, &value) || value > most)
    return hd_sim_text_fail(p, rule, what, text ? text : "nothing");
  *count = (uint32_t)value;
  return HEDDLE_OK;
}

/* ---- names ---- */

uint32_t hd_sim_text_register(const parser *p, const char *name) {
  size_t digits = strlen(name);
  while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
    digits--;
  for (uint32_t i = p->n_families; i-- > 0;) {
    const family *f = &p->family[i];
    if (f->count == 0) {
      if (strcmp(f->name, name) == 0)
        return f->base;
    } else if (strlen(f->name) == digits && strncmp(f->name, name, digits) == 0 && name[digits]) {
      unsigned long index = strtoul(name + digits, NULL, 10);
      if (index < f->count)
        return f->base + (uint32_t)index;
    }
  }
  return SIM_NO_REG;
}

static int find_sreg(const char *name) {
  static const char *const names[] = {
#define X(id, text) text,
      SIM_SREGS(X)
#undef X
  };
  for (int i = 0; i < SIM_N_SREGS; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  return -1;
}

static const symbol *find_symbol(const symbol *list, uint32_t n, const char *name) {
  for (uint32_t i = n; i-- > 0;)
    if (strcmp(list[i].name, name) == 0)
      return &list[i];
  return NULL;
}

static heddle_status name_operand(parser *p, const char *name, sim_opnd *o) {
  uint32_t reg = hd_sim_text_register(p, name);
  if (reg != SIM_NO_REG) {
    *o = (sim_opnd){.kind = SIM_REG, .reg = reg};
    return HEDDLE_OK;
  }
  if (strcmp(name, "_") == 0) {
    o->kind = SIM_SINK;
    return HEDDLE_OK;
  }
  if (strcmp(name, "WARP_SZ") == 0) {
    *o = (sim_opnd){.kind = SIM_IMM, .imm = 32};
    return HEDDLE_OK;
  }
  int sreg = find_sreg(name);
  if (sreg >= 0) {
    *o = (sim_opnd){.kind = SIM_SREG, .imm = sreg};
    return HEDDLE_OK;
  }
  const symbol *s = find_symbol(p->shared, p->n_shared, name);
  if (s) {
    *o = (sim_opnd){.kind = SIM_SHARED, .imm = s->offset};
    return HEDDLE_OK;
  }
  s = find_symbol(p->local, p->n_local, name);
  if (s) {
    *o = (sim_opnd){.kind = SIM_IMM, .imm = s->offset};
    return HEDDLE_OK;
  }
  for (uint32_t i = 0; i < p->program->n_variables; i++) {
    const hd_sim_buffer *v = &p->program->variable[i];
    if (strcmp(v->name, name) == 0) {
      *o = (sim_opnd){.kind = SIM_IMM, .imm = (int64_t)v->address};
      return HEDDLE_OK;
    }
  }
  for (uint32_t i = 0; i < p->program->n_params; i++) {
    if (strcmp(p->program->param[i].name, name) == 0) {
      *o = (sim_opnd){.kind = SIM_IMM, .imm = p->program->param[i].offset};
      return HEDDLE_OK;
    }
  }
  return hd_sim_text_fail(p, "ptx.name", "a declared register, symbol or parameter", name);
}

/* A register, a name or a number. */
static heddle_status scalar_operand(parser *p, sim_opnd *o) {
  *o = (sim_opnd){0};
  bool invert = hd_sim_text_accept(p, '!'), minus = !invert && hd_sim_text_accept(p, '-');
  const char *text = hd_sim_text_word(p);
  if (!text) {
    char got[2] = {hd_sim_text_peek(p), 0};
    return hd_sim_text_fail(p, "ptx.syntax", "an operand", got);
  }
  if (!isdigit((unsigned char)text[0])) {
    HD_TRY(name_operand(p, text, o));
    o->neg = invert || minus;
    return HEDDLE_OK;
  }
  HD_TRY(number(p, text, o));
  uint64_t bits = (uint64_t)o->imm;
  if (minus)
    o->imm = (int64_t)(o->fp == 2 ? bits ^ 1ull << 63 : o->fp == 1 ? bits ^ 0x80000000u : 0 - bits);
  return HEDDLE_OK;
}

static heddle_status vector_operand(parser *p, sim_opnd *o) {
  sim_opnd items[256];
  uint32_t n = 0;
  while (!hd_sim_text_accept(p, '}')) {
    if (n == HD_COUNT(items))
      return hd_sim_text_fail(p, "ptx.vector", "at most 256 elements", "more");
    HD_TRY(scalar_operand(p, &items[n++]));
    if (hd_sim_text_peek(p) != '}')
      HD_TRY(hd_sim_text_expect(p, ','));
  }
  *o = (sim_opnd){.kind = SIM_VEC, .n = (uint16_t)n,
                  .vec = hd_arena_copy(p->arena, items, sizeof *items * (n + 1))};
  return HEDDLE_OK;
}

static heddle_status address_operand(parser *p, sim_opnd *o) {
  sim_opnd base = {0}, extra = {0};
  uint64_t offset = 0; /* wraps, as addresses do */
  HD_TRY(scalar_operand(p, &base));
  while (hd_sim_text_peek(p) == '+' || hd_sim_text_peek(p) == '-') {
    bool minus = *p->at++ == '-';
    minus ^= hd_sim_text_accept(p, '-');
    const char *text = hd_sim_text_word(p);
    if (!text || !isdigit((unsigned char)text[0]))
      return hd_sim_text_fail(p, "ptx.address", "a number after + or -", text ? text : "nothing");
    sim_opnd value;
    HD_TRY(number(p, text, &value));
    offset += minus ? 0 - (uint64_t)value.imm : (uint64_t)value.imm;
  }
  if (hd_sim_text_accept(p, ',')) {
    if (!hd_sim_text_accept(p, '{'))
      return hd_sim_text_fail(p, "ptx.address", "{coordinates} in an address", "something else");
    HD_TRY(vector_operand(p, &extra));
  }
  HD_TRY(hd_sim_text_expect(p, ']'));
  sim_opnd *vec = HD_NEW_ARRAY(p->arena, sim_opnd, 1 + extra.n);
  vec[0] = base;
  for (uint32_t i = 0; i < extra.n; i++)
    vec[1 + i] = extra.vec[i];
  *o = (sim_opnd){
      .kind = SIM_ADDR, .imm = (int64_t)offset, .n = (uint16_t)(1 + extra.n), .vec = vec};
  return HEDDLE_OK;
}

heddle_status hd_sim_text_operand(parser *p, sim_opnd *o) {
  if (hd_sim_text_accept(p, '{'))
    return vector_operand(p, o);
  if (hd_sim_text_accept(p, '['))
    return address_operand(p, o);
  return scalar_operand(p, o);
}
