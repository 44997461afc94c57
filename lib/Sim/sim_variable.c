/* Sim/sim_variable.c: declarations of variables, and the data of those outside of functions. */
#include <string.h>

#include "Sim/sim_text.h"
#include "Sim/sim_types.h"
#include "Support/diag.h"

/* `.align A .type NAME[ELEMENTS]` */
heddle_status hd_sim_variable(parser *p, sim_variable *v) {
  const char *text = hd_sim_text_word(p);
  *v = (sim_variable){.element = 1};
  for (; text && text[0] == '.'; text = hd_sim_text_word(p)) {
    if (strcmp(text, ".align") == 0) {
      HD_TRY(hd_sim_text_count(p, "ptx.variable", "an alignment", MAX_ALIGN, &v->align));
    } else if (hd_sim_type_find(text + 1)) {
      v->element = hd_sim_type(hd_sim_type_find(text + 1))->bits / 8;
    }
  }
  v->element = v->element ? v->element : 1;
  v->align = v->align ? v->align : v->element;
  if (!text || (v->align & (v->align - 1)) || v->align > MAX_ALIGN)
    return hd_sim_text_fail(p, "ptx.variable", "a name and a power-of-two alignment",
                            text ? text : "nothing");
  v->name = text;
  v->n_bytes = v->element;
  if (!hd_sim_text_accept(p, '['))
    return HEDDLE_OK;
  uint32_t n = 0;
  v->open = hd_sim_text_peek(p) == ']';
  if (!v->open)
    HD_TRY(hd_sim_text_count(p, "ptx.variable", "at most 262144 elements", MAX_SHARED, &n));
  v->n_bytes = n * v->element;
  return hd_sim_text_expect(p, ']');
}

/* --- initial values ------------------------------------------------------------------------- */

typedef struct filler {
  const sim_variable *variable;
  uint8_t *data;
  uint32_t at;
} filler;

/* Reads the values in order, however they are braced. */
static heddle_status fill(parser *p, filler *f) {
  uint32_t each = f->variable->element;
  int depth = 0;
  do {
    bool opens = hd_sim_text_accept(p, '{'), closes = !opens && hd_sim_text_accept(p, '}');
    depth += opens - closes;
    if (opens || closes || hd_sim_text_accept(p, ','))
      continue;
    sim_opnd o;
    HD_TRY(hd_sim_text_operand(p, &o));
    if (o.kind != SIM_IMM || (o.fp == 1 && each != 4) || (o.fp == 2 && each != 8))
      return hd_sim_text_fail(p, "ptx.initialiser",
                              "a number of the variable's type, an f32 as 0f…", f->variable->name);
    if (f->at + each > f->variable->n_bytes)
      return hd_sim_text_fail(p, "ptx.initialiser", "no more values than elements",
                              f->variable->name);
    memcpy(f->data + f->at, &o.imm, each < sizeof o.imm ? each : sizeof o.imm);
    f->at += each;
  } while (depth > 0);
  return HEDDLE_OK;
}

heddle_status hd_sim_variable_global(parser *p, bool writable) {
  sim_program *g = p->program;
  sim_variable v;
  HD_TRY(hd_sim_variable(p, &v));
  if (v.open || g->n_variables == SIM_MAX_VARIABLES)
    return hd_sim_text_fail(p, "ptx.variable", "a size, and at most 64 variables", v.name);
  filler f = {.variable = &v, .data = hd_arena_alloc(p->arena, v.n_bytes + 1)};
  if (hd_sim_text_accept(p, '='))
    HD_TRY(fill(p, &f));
  g->variable[g->n_variables] =
      (hd_sim_buffer){.name = v.name,
                      .address = SIM_VARIABLE_WINDOW + ((uint64_t)g->n_variables << 24),
                      .n_bytes = v.n_bytes,
                      .data = f.data,
                      .writable = writable};
  g->n_variables++;
  return hd_sim_text_expect(p, ';');
}
