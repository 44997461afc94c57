/* The inline asm of a spec row. Its operand list is a template: "d, a-desc, b-desc, sp-meta,
 * sp-sel, scale-d" becomes "{$0, $1}, $4, $5, $6, 0, $7". */
#include "Emit/emit_instruction.h"

#include <ctype.h>
#include <string.h>

#include "Emit/emit_pinned.h"

enum { OUTPUT, INPUT, NUMBER };

/* The words of operand lists. `reg`: one register of this kind; 0: those of the row's operand. */
static const struct word {
  const char *text;
  int8_t form;
  char reg;
  int8_t operand; /* hd_operand_id */
  bool vector;    /* in braces */
  int8_t number;  /* default of an immediate */
} words[] = {
    {.text = "d", .form = OUTPUT, .operand = HD_OPERAND_D, .vector = true},
    {.text = "a", .form = INPUT, .operand = HD_OPERAND_A, .vector = true},
    {.text = "a-desc", .form = INPUT, .operand = HD_OPERAND_A},
    {.text = "b", .form = INPUT, .operand = HD_OPERAND_B, .vector = true},
    {.text = "b-desc", .form = INPUT, .operand = HD_OPERAND_B},
    {.text = "c", .form = INPUT, .operand = HD_OPERAND_C, .vector = true},
    {.text = "e", .form = INPUT, .operand = HD_OPERAND_META},
    {.text = "sp-meta", .form = INPUT, .operand = HD_OPERAND_META},
    {.text = "f", .form = NUMBER},
    {.text = "sp-sel", .form = NUMBER},
    {.text = "scale-a-data", .form = INPUT, .operand = HD_OPERAND_SCALE_A},
    {.text = "scale-b-data", .form = INPUT, .operand = HD_OPERAND_SCALE_B},
    {.text = "byte-id-a", .form = NUMBER},
    {.text = "thread-id-a", .form = NUMBER},
    {.text = "byte-id-b", .form = NUMBER},
    {.text = "thread-id-b", .form = NUMBER},
    {.text = "imm-scale-a", .form = NUMBER, .number = 1},
    {.text = "imm-scale-b", .form = NUMBER, .number = 1},
    {.text = "imm-trans-a", .form = NUMBER},
    {.text = "imm-trans-b", .form = NUMBER},
    {.text = "scale-d", .form = INPUT, .reg = 'b'},
    {.text = "enable-input-d", .form = INPUT, .reg = 'b'},
    {.text = "d-tmem", .form = INPUT, .reg = 'r'},
    {.text = "a-tmem", .form = INPUT, .reg = 'r'},
    {.text = "sp-meta-tmem", .form = INPUT, .reg = 'r'},
    {.text = "idesc", .form = INPUT, .reg = 'r'},
    {.text = "scale-A-tmem", .form = INPUT, .reg = 'r'},
    {.text = "scale-B-tmem", .form = INPUT, .reg = 'r'},
    {.text = "dst", .form = INPUT, .reg = 'r'},
    {.text = "map", .form = INPUT, .reg = 'l'},
    {.text = "mask", .form = INPUT, .reg = 'h'},
    {.text = "c0", .form = INPUT, .reg = 'r'},
    {.text = "c1", .form = INPUT, .reg = 'r'},
    {.text = "c2", .form = INPUT, .reg = 'r'},
    {.text = "c3", .form = INPUT, .reg = 'r'},
    {.text = "c4", .form = INPUT, .reg = 'r'},
    {.text = "o0", .form = INPUT, .reg = 'h'},
    {.text = "o1", .form = INPUT, .reg = 'h'},
    {.text = "o2", .form = INPUT, .reg = 'h'},
    {.text = "mbar", .form = INPUT, .reg = 'r'},
    {.text = "bytes", .form = INPUT, .reg = 'r'},
    {.text = "parity", .form = INPUT, .reg = 'r'},
    {.text = "token", .form = INPUT, .reg = 'l'},
    {.text = "id", .form = INPUT, .reg = 'r'},
    {.text = "threads", .form = INPUT, .reg = 'r'},
    {.text = "state", .form = OUTPUT, .reg = 'l'},
    {.text = "done", .form = OUTPUT, .reg = 'b'},
    {.text = "taddr", .form = INPUT, .reg = 'r'},
    {.text = "s-desc", .form = INPUT, .reg = 'l'},
    {.text = "r", .form = INPUT, .operand = HD_OPERAND_D, .vector = true},
    {.text = "columns", .form = NUMBER},
};

/* ---- reading an operand list ---- */

static const struct word unknown = {.text = "", .form = NUMBER};

/* The next word, NULL at the end. The characters before it (brackets, commas, plain numbers) are
 * appended to text. */
static const struct word *next_word(const char **at, hd_strbuf *text) {
  size_t before = 0, n = 0;
  while ((*at)[before] && !isalpha((unsigned char)(*at)[before]))
    before++;
  if (text)
    hd_strbuf_addn(text, *at, before);
  *at += before;
  while (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '-')
    n++;
  const char *word = *at;
  *at += n;
  for (size_t i = 0; n && i < HD_COUNT(words); i++)
    if (strlen(words[i].text) == n && !memcmp(words[i].text, word, n))
      return &words[i];
  return n ? &unknown : NULL;
}

static char register_kind(const hd_spec_row *row, const struct word *w) {
  return w->reg ? w->reg : row->operand[w->operand].reg;
}

static int32_t count(const hd_spec_row *row, const struct word *w) {
  return w->form == NUMBER ? 0 : w->reg ? 1 : row->operand[w->operand].n_regs;
}

/* Accumulators of wgmma are read and written in place: tied operands keep them in one register. */
static bool is_tied(const hd_spec_row *row, const struct word *w) {
  return w->form == OUTPUT && row->family == HD_FAMILY_WGMMA_SP;
}

static LLVMTypeRef type_of(hd_emitter *e, char reg) {
  return reg == 'f'   ? e->f32
         : reg == 'l' ? e->i64
         : reg == 'h' ? e->i16
         : reg == 'b' ? e->i1
                      : e->i32;
}

static int32_t types_of(hd_emitter *e, const hd_spec_row *row, bool results, LLVMTypeRef *types) {
  const char *at = row->operands;
  const struct word *w;
  int32_t n = 0;
  while ((w = next_word(&at, NULL))) {
    bool wanted = results ? w->form == OUTPUT : w->form == INPUT || is_tied(row, w);
    for (int32_t i = 0; wanted && i < count(row, w); i++)
      types[n++] = type_of(e, register_kind(row, w));
  }
  return n;
}

int32_t hd_emit_row_inputs(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types) {
  return types_of(e, row, false, types);
}

int32_t hd_emit_row_results(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types) {
  return types_of(e, row, true, types);
}

/* ---- writing the asm ---- */

typedef struct asm_writer {
  const hd_spec_row *row;
  hd_strbuf text, constraints;
  int32_t next; /* operand number: results come first, tied inputs take numbers too */
  int32_t pinned; /* first register of the results; HD_NOT_PINNED: they are operands */
} asm_writer;

static void add_registers(asm_writer *w, const struct word *word) {
  int32_t n = count(w->row, word);
  hd_strbuf_add(&w->text, word->vector ? "{" : "");
  const char constraint[] = {'=', register_kind(w->row, word)};
  bool output = word->form == OUTPUT, is_pinned = output && w->pinned != HD_NOT_PINNED;
  for (int32_t i = 0; is_pinned && i < n; i++)
    hd_strbuf_printf(&w->text, "%s" HD_PINNED_REGISTER, i ? ", " : "", (int)(w->pinned + i));
  for (int32_t i = 0; !is_pinned && i < n; i++) {
    hd_strbuf_printf(&w->text, "%s$%d", i ? ", " : "", (int)w->next++);
    hd_strbuf_add(&w->constraints, w->constraints.len ? "," : "");
    hd_strbuf_addn(&w->constraints, output ? constraint : constraint + 1, output ? 2 : 1);
  }
  hd_strbuf_add(&w->text, word->vector ? "}" : "");
  for (int32_t i = 0; !is_pinned && is_tied(w->row, word) && i < n; i++, w->next++)
    hd_strbuf_printf(&w->constraints, ",%d", (int)i);
}

static int64_t number_of(const struct word *word, const hd_emit_number *numbers, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (!strcmp(numbers[i].word, word->text))
      return numbers[i].value;
  return word->number;
}

static heddle_status write_asm(hd_emitter *e, asm_writer *w, const hd_emit_number *numbers,
                               int32_t n_numbers) {
  const char *at = w->row->operands;
  const struct word *word;
  hd_strbuf_printf(&w->text, "%s ", w->row->ptx);
  while ((word = next_word(&at, &w->text))) {
    if (word == &unknown) {
      e->failed = true;
      return HD_BUG(e->ctx, "an operand word of a spec row without a line in words[]");
    }
    if (word->form == NUMBER)
      hd_strbuf_printf(&w->text, "%lld", (long long)number_of(word, numbers, n_numbers));
    else
      add_registers(w, word);
  }
  hd_strbuf_add(&w->text, ";");
  return HEDDLE_OK;
}

/* An instruction that accesses only registers and completes at once may be moved and merged. */
static hd_asm_kind asm_kind(const hd_spec_row *row) {
  for (unsigned i = 0; i < row->n_effects; i++)
    if (row->effect[i].space != HD_SPACE_REGISTER || row->effect[i].done != HD_COMPLETION_REGISTER)
      return HD_ASM_MEMORY;
  return HD_ASM_PURE;
}

/* Results, and the inputs tied to them, are either operands or pinned registers. */
static void row_asm(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                    const hd_emit_number *numbers, int32_t n_numbers, int32_t pinned,
                    LLVMValueRef *results) {
  asm_writer w = {.row = row, .pinned = pinned};
  LLVMTypeRef in[HD_MAX_EMIT_ARGS], out[HD_MAX_EMIT_ARGS];
  int32_t n_in = hd_emit_row_inputs(e, row, in), n_out = hd_emit_row_results(e, row, out);
  if (pinned != HD_NOT_PINNED) {
    n_in -= n_out;
    n_out = 0;
  }
  if (write_asm(e, &w, numbers, n_numbers) == HEDDLE_OK)
    hd_emit_asm_registers(e, hd_strbuf_text(&w.text), hd_strbuf_text(&w.constraints), inputs, n_in,
                          asm_kind(row), out, n_out, results);
  else
    for (int32_t i = 0; i < n_out; i++)
      results[i] = LLVMGetUndef(out[i]);
  hd_strbuf_free(&w.text);
  hd_strbuf_free(&w.constraints);
}

void hd_emit_row_asm(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                     const hd_emit_number *numbers, int32_t n_numbers, LLVMValueRef *results) {
  row_asm(e, row, inputs, numbers, n_numbers, HD_NOT_PINNED, results);
}

void hd_emit_row_asm_pinned(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                            const hd_emit_number *numbers, int32_t n_numbers, int32_t pinned) {
  row_asm(e, row, inputs, numbers, n_numbers, pinned, NULL);
}
