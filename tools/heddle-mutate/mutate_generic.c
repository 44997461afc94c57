/* Operators that know no rule: any attribute, constant, operand, operation, qualifier, predicate or
 * line is changed, at sites drawn by seed among those that a run of the kernel executes. They do
 * not share what Check and Sim know of a kernel; so what these miss is news to both. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "Support/memory.h"

/* ---- lines of PTX -------------------------------------------------------------------------- */

/* A statement that stands alone on its line: [at, at + n) up to its semicolon. */
typedef struct statement {
  const char *at, *opcode, *operands; /* opcode: behind the guard; operands: behind the opcode */
  size_t n, n_opcode;
} statement;

static bool read_statement(const char *line, statement *s) {
  size_t n = strcspn(line, "\n");
  const char *at = line + strspn(line, " \t"), *end = memchr(line, ';', n);
  if (!end || *at == '.' || *at == '/' || *at == '{' || memchr(line, '{', (size_t)(at - line)) ||
      memchr(end + 1, ';', n - (size_t)(end + 1 - line)))
    return false;
  *s = (statement){.at = at, .n = (size_t)(end - at), .opcode = at};
  if (*at == '@') {
    s->opcode = at + strcspn(at, " \t");
    s->opcode += strspn(s->opcode, " \t");
  }
  s->n_opcode = strcspn(s->opcode, " \t;");
  s->operands = s->opcode + s->n_opcode;
  return isalpha((unsigned char)*s->opcode) && s->opcode < end;
}

/* The text with [from, from + n) replaced; owned. */
static char *splice(const char *text, const char *from, size_t n, const char *to) {
  hd_strbuf out = {0};
  hd_strbuf_addn(&out, text, (size_t)(from - text));
  hd_strbuf_add(&out, to);
  hd_strbuf_add(&out, from + n);
  return hd_strbuf_take(&out);
}

typedef struct token {
  const char *at;
  size_t n;
} token;

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '$';
}

/* The drawn one of the operands' words that are registers, or numbers. */
static bool draw_word(uint64_t *seed, const statement *s, bool number, token *out) {
  token words[64];
  uint32_t n = 0;
  for (const char *p = s->operands; p < s->at + s->n && n < 64;) {
    size_t length = 0;
    while (is_word(p[length]))
      length++;
    bool digit = isdigit((unsigned char)*p);
    if (length && (number ? digit : *p == '%'))
      words[n++] = (token){p, length};
    p += length ? length : 1;
  }
  if (n)
    *out = words[mutate_below(seed, n)];
  return n > 0;
}

static char *change_number(uint64_t *seed, const char *ptx, const statement *s) {
  token t;
  char to[40];
  if (!draw_word(seed, s, true, &t) || memchr(t.at, 'f', t.n))
    return NULL;
  uint64_t value = strtoull(t.at, NULL, 0), bit = 1ull << mutate_below(seed, 12);
  const uint64_t others[] = {value + 1, value - 1, value * 2, value / 2, 0, value ^ bit};
  snprintf(to, sizeof to, "%lld", (long long)others[mutate_below(seed, HD_COUNT(others))]);
  return splice(ptx, t.at, t.n, to);
}

/* Another register of the same kind, that some line of the text names. */
static char *change_register(uint64_t *seed, const char *ptx, const statement *s) {
  token t;
  if (!draw_word(seed, s, false, &t))
    return NULL;
  size_t kind = 0;
  while (kind < t.n && !isdigit((unsigned char)t.at[kind]))
    kind++;
  uint32_t near = (uint32_t)strtoul(t.at + kind, NULL, 10);
  char to[40];
  if (kind == t.n)
    return NULL;
  uint32_t by = 1 + mutate_below(seed, 6), up = mutate_below(seed, 2);
  snprintf(to, sizeof to, "%.*s%u", (int)kind, t.at, up || near < by ? near + by : near - by);
  return splice(ptx, t.at, t.n, to);
}

/* Words that stand for one another; a word of none goes away. */
static const char *const families[][8] = {
    {"relaxed", "acquire", "release", "acq_rel"},
    {"cta", "cluster", "gpu", "sys"},
    {"shared::cta", "shared::cluster"},
    {"lt", "le", "gt", "ge", "eq", "ne"},
    {"rn", "rz", "rm", "rp"},
    {"lo", "hi"},
    {"s32", "u32", "b32"},
    {"s64", "u64", "b64"},
    {"f16", "bf16"},
    {"x1", "x2", "x4"},
    {"idx", "up", "down", "bfly"},
    {"add", "sub", "min", "max"},
    {"and", "or", "xor"},
    {"shl", "shr"},
    {"arrive", "wait"},
};

static const char *draw_relative(uint64_t *seed, const char *word, size_t n) {
  for (size_t i = 0; i < HD_COUNT(families); i++) {
    uint32_t of = 0, own = UINT32_MAX;
    for (; of < 8 && families[i][of]; of++)
      if (strlen(families[i][of]) == n && !memcmp(families[i][of], word, n))
        own = of;
    if (own != UINT32_MAX)
      return families[i][(own + 1 + mutate_below(seed, of - 1)) % of];
  }
  return NULL;
}

static char *change_qualifier(uint64_t *seed, const char *ptx, const statement *s) {
  token parts[24];
  uint32_t n = 0;
  for (size_t i = 0; i < s->n_opcode && n < 24;) {
    size_t length = strcspn(s->opcode + i, ". \t;");
    length = length > s->n_opcode - i ? s->n_opcode - i : length;
    parts[n++] = (token){s->opcode + i, length};
    i += length + 1;
  }
  uint32_t pick = mutate_below(seed, n);
  const char *other = draw_relative(seed, parts[pick].at, parts[pick].n);
  if (other)
    return splice(ptx, parts[pick].at, parts[pick].n, other);
  return pick ? splice(ptx, parts[pick].at - 1, parts[pick].n + 1, "") : NULL;
}

static char *change_guard(uint64_t *seed, const char *ptx, const statement *s) {
  if (*s->at != '@')
    return NULL;
  if (mutate_below(seed, 2))
    return splice(ptx, s->at, (size_t)(s->opcode - s->at), "");
  return s->at[1] == '!' ? splice(ptx, s->at + 1, 1, "") : splice(ptx, s->at + 1, 0, "!");
}

static char *remove_statement(uint64_t *seed, const char *ptx, const statement *s) {
  (void)seed;
  return splice(ptx, s->at, s->n + 1, "");
}

/* With the next line, where that is a statement, too. */
static char *swap_statements(uint64_t *seed, const char *ptx, const statement *s) {
  (void)seed;
  statement next;
  const char *line = strchr(s->at, '\n');
  if (!line || !read_statement(line + 1, &next))
    return NULL;
  hd_strbuf to = {0};
  hd_strbuf_addn(&to, next.at, next.n + 1);
  hd_strbuf_add(&to, "\n\t");
  hd_strbuf_addn(&to, s->at, s->n + 1);
  char *made = splice(ptx, s->at, (size_t)(next.at + next.n + 1 - s->at), hd_strbuf_text(&to));
  hd_strbuf_free(&to);
  return made;
}

typedef char *change_line(uint64_t *seed, const char *ptx, const statement *s);
static const struct {
  const char *name;
  change_line *change;
} line_changes[] = {
    {"number", change_number}, {"register", change_register}, {"qualifier", change_qualifier},
    {"guard", change_guard},   {"removed", remove_statement}, {"swapped", swap_statements},
};

/* ---- ops of the role level ----------------------------------------------------------------- */

static bool change_attribute(uint64_t *seed, hd_module *m, hd_op *op) {
  if (!op->n_attrs)
    return false;
  const hd_attr *a = &op->attrs[mutate_below(seed, (uint32_t)op->n_attrs)];
  const int64_t others[] = {a->i + 1, a->i - 1, a->i * 2, a->i / 2, 0};
  hd_attr_kind kind = hd_attr_get_kind(a->key);
  if (kind != HD_ATTR_KIND_INT && kind != HD_ATTR_KIND_FLAG)
    return false;
  if (kind == HD_ATTR_KIND_FLAG)
    hd_op_remove_attr(op, a->key);
  else
    hd_op_set_int(m, op, a->key, others[mutate_below(seed, HD_COUNT(others))]);
  return true;
}

/* A scalar operand becomes another one of the op, or of the op before. */
static bool change_operand(uint64_t *seed, hd_op *op) {
  if (!op->n_operands)
    return false;
  hd_value **at = &op->operands[mutate_below(seed, (uint32_t)op->n_operands)];
  const hd_op *from = mutate_below(seed, 2) && op->prev ? op->prev : op;
  hd_value *other = NULL;
  if (from != op && from->n_results)
    other = from->results[mutate_below(seed, (uint32_t)from->n_results)];
  else
    other = op->operands[mutate_below(seed, (uint32_t)op->n_operands)];
  if (!other || other == *at || !hd_type_equal(other->type, (*at)->type))
    return false;
  *at = other;
  return true;
}

static hd_module *change_role(uint64_t *seed, const mutate_form *form, int32_t i) {
  hd_module *copy = hd_module_clone(form->module);
  hd_op *op = mutate_op_at(copy, i);
  bool changed =
      mutate_below(seed, 2) ? change_attribute(seed, copy, op) : change_operand(seed, op);
  heddle_context *ctx = heddle_context_create();
  changed = changed && hd_verify(ctx, copy, NULL) == HEDDLE_OK;
  heddle_context_free(ctx);
  if (changed)
    return copy;
  hd_module_free(copy);
  return NULL;
}

/* "%x = ... in place of %x = ..." */
static void describe_role(const mutate_form *form, mutate_mutant *m) {
  hd_strbuf text = {0};
  mutate_describe(m->module, m->site, &text);
  hd_strbuf_add(&text, " in place of ");
  mutate_describe(form->module, m->site, &text);
  snprintf(m->where, sizeof m->where, "%s", hd_strbuf_text(&text));
  hd_strbuf_free(&text);
}

/* ---- one mutant ---------------------------------------------------------------------------- */

typedef enum outcome { REFUSED, EQUIVALENT, FOUND, NUMBERS, CHECK_ALONE, MISSED } outcome;

typedef struct generic {
  mutate_mutant mutant;
  bool sync; /* a line that synchronises */
  outcome outcome;
} generic;

static bool is_sync(const statement *s) {
  static const char *const words[] = {
      "mbarrier",     "fence",          "bar.",     "barrier",        "wgmma.fence",
      "wgmma.commit", "wgmma.wait",     "cp.async", "griddepcontrol", "tcgen05.fence",
      "tcgen05.wait", "tcgen05.commit", "atom"};
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (!strncmp(s->opcode, words[i], strlen(words[i])))
      return true;
  return false;
}

static const char *line_at(const char *text, int32_t i) {
  while (i-- > 0)
    text = strchr(text, '\n') + 1;
  return text;
}

/* Half of them lines of PTX that were executed. */
static bool draw_mutant(uint64_t *seed, const mutate_form *form, const bool *executed,
                        int32_t n_lines, generic *g) {
  mutate_mutant *m = &g->mutant;
  if (mutate_below(seed, 4) == 0) {
    m->op = "role";
    m->site = (int32_t)mutate_below(seed, (uint32_t)mutate_count_ops(form->module));
    m->module = change_role(seed, form, m->site);
    if (m->module)
      describe_role(form, m);
    return m->module != NULL;
  }
  statement s;
  m->site = (int32_t)mutate_below(seed, (uint32_t)n_lines);
  const char *line = line_at(form->ptx, m->site);
  if (!executed[m->site] || !read_statement(line, &s))
    return false;
  uint32_t change = mutate_below(seed, HD_COUNT(line_changes));
  m->op = line_changes[change].name;
  m->ptx = line_changes[change].change(seed, form->ptx, &s);
  g->sync = is_sync(&s);
  snprintf(m->where, sizeof m->where, "PTX line %d: %.*s", m->site + 1, (int)s.n, s.at);
  return m->ptx != NULL;
}

enum { MORE_RUNS = 12 };

typedef struct generic_job {
  const mutate_form *form;
  const mutate_runs *sound;
  generic *all;
} generic_job;

/* Of what is seen by nobody: equivalent in this launch is what keeps the order of all conflicting
 * pairs; and, of lines that do not synchronise, what more schedules do not show either (a load that
 * nobody uses). */
static outcome outcome_of(const generic_job *j, generic *g) {
  mutate_mutant *m = &g->mutant;
  if (m->runs.verdict == MUTATE_UNDECIDED)
    return REFUSED;
  if (m->runs.verdict == MUTATE_CAUGHT)
    return strncmp(m->runs.why, "wrong numbers", 13) ? FOUND : NUMBERS;
  if (!strcmp(m->ptx, j->form->ptx) || mutate_same_order(j->form, m->ptx, j->sound, &m->runs))
    return EQUIVALENT;
  if (m->module && m->check != MUTATE_MISSED)
    return CHECK_ALONE;
  mutate_simulate_more(j->form, m->ptx, MUTATE_PATIENCE * j->sound->n_instructions, MORE_RUNS,
                       &m->runs);
  if (m->runs.verdict == MUTATE_CAUGHT)
    return strncmp(m->runs.why, "wrong numbers", 13) ? FOUND : NUMBERS;
  return g->sync || m->module ? MISSED : EQUIVALENT;
}

static void run_mutant(void *user, size_t i) {
  generic_job *j = user;
  generic *g = &j->all[i];
  mutate_mutant *m = &g->mutant;
  hd_strbuf why = {0};
  if (m->module) {
    hd_check_launch launch = {0};
    heddle_context *ctx = heddle_context_create();
    m->check = mutate_check(m->module, &why, &launch);
    if (mutate_emit(ctx, j->form, m->module, &m->ptx) != HEDDLE_OK)
      m->ptx = NULL;
    heddle_context_free(ctx);
  }
  snprintf(m->check_why, sizeof m->check_why, "%s", hd_strbuf_text(&why));
  hd_strbuf_free(&why);
  g->outcome = REFUSED;
  if (!m->ptx)
    return;
  mutate_simulate(j->form, m->ptx, MUTATE_PATIENCE * j->sound->n_instructions, &m->runs);
  g->outcome = outcome_of(j, g);
}

/* ---- counts -------------------------------------------------------------------------------- */

static void count(const mutate_form *form, const generic *g, bool verbose, mutate_generic *sum) {
  const mutate_mutant *m = &g->mutant;
  sum->n++;
  sum->refused += g->outcome == REFUSED;
  sum->equivalent += g->outcome == EQUIVALENT;
  sum->found += g->outcome == FOUND;
  sum->numbers += g->outcome == NUMBERS;
  sum->check_alone += g->outcome == CHECK_ALONE;
  sum->missed += g->outcome == MISSED;
  bool live = g->outcome != REFUSED && g->outcome != EQUIVALENT;
  sum->sync += live && g->sync;
  sum->sync_found += live && g->sync && g->outcome == FOUND;
  bool check_missed = live && m->module && m->check == MUTATE_MISSED;
  sum->role += live && m->module;
  sum->check_missed += check_missed;
  if (g->outcome == MISSED || check_missed || verbose)
    printf("%s: %s:%d %s\n  check: %s\n  sim: %s\n", form->name, m->op, m->site, m->where,
           m->module ? m->check_why : "-", m->runs.why);
}

void mutate_generic_form(const mutate_options *o, const mutate_form *form, mutate_generic *sum) {
  int32_t n_lines = mutate_count_lines(form->ptx);
  mutate_runs sound = {.verdict = MUTATE_MISSED};
  bool *executed = hd_xzalloc((size_t)n_lines + 1);
  mutate_simulate(form, form->ptx, 0, &sound);
  mutate_coverage(form, executed, n_lines);
  generic_job j = {form, &sound, hd_xzalloc(sizeof(generic) * o->generic)};
  uint64_t seed = o->seed ^ (uint64_t)n_lines << 32;
  size_t n = 0;
  for (size_t tries = 0; n < o->generic && tries < 100 * o->generic; tries++)
    n += draw_mutant(&seed, form, executed, n_lines, &j.all[n]);
  mutate_pool(o->n_threads, n, run_mutant, &j);
  for (size_t i = 0; i < n; i++) {
    count(form, &j.all[i], o->verbose, sum);
    mutate_unmake(&j.all[i].mutant);
  }
  hd_free(j.all);
  hd_free(executed);
}

int mutate_generic_print(const mutate_generic *s, uint64_t seed) {
  int live = s->n - s->refused - s->equivalent;
  printf("generic=%d seed=%llu refused=%d equivalent=%d live=%d found=%d numbers_only=%d "
         "check_only=%d missed=%d sync=%d sync_found=%.1f%% role=%d check_missed=%d\n",
         s->n, (unsigned long long)seed, s->refused, s->equivalent, live, s->found, s->numbers,
         s->check_alone, s->missed, s->sync, s->sync ? 100.0 * s->sync_found / s->sync : 100.0,
         s->role, s->check_missed);
  return s->missed != 0;
}
