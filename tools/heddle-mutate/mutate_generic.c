/* Generic operators: change an arbitrary attribute, constant, operand, operation, qualifier,
 * predicate or line, at random sites that a run of the kernel executes. They do not use the rules
 * of Check and Sim, so they can show faults that both miss. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "Support/memory.h"

/* ---- lines of PTX -------------------------------------------------------------------------- */

/* A statement that is alone on its line: [at, at + n) up to its semicolon. */
typedef struct statement {
  const char *at, *opcode, *operands; /* opcode: after the guard; operands: after the opcode */
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

/* Draws one of the operands' words that are registers, or numbers. */
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

/* Replaces a register by another one of the same kind with a near number. */
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

/* Words that can replace each other; a word in no family is removed. */
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

/* Swaps the statement with the next line, if that is a statement. */
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

/* ---- ops of the role level (mutate_generic_role.c) ------------------------------------------ */

/* Describes a site as "%x = ... in place of %x = ...". */
static void describe_role(const mutate_form *form, mutate_mutant *m) {
  hd_strbuf text = {0};
  mutate_describe(m->module, m->site, &text);
  hd_strbuf_add(&text, " in place of ");
  mutate_describe(form->module, m->site, &text);
  snprintf(m->where, sizeof m->where, "%s", hd_strbuf_text(&text));
  hd_strbuf_free(&text);
}

/* ---- one mutant ---------------------------------------------------------------------------- */

/* ORDER OUTCOMES: the columns of the table. */
typedef enum outcome {
  REFUSED,
  EQUIVALENT,
  FOUND,
  NUMBERS,
  CHECK_ALONE,
  MISSED,
  N_OUTCOMES
} outcome;
_Static_assert((int)N_OUTCOMES == (int)MUTATE_GENERIC_OUTCOMES, "ORDER OUTCOMES");

typedef struct generic {
  mutate_mutant mutant;
  bool sync; /* the line synchronises */
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

/* Whether the op, or the op that it is swapped with, synchronises. */
static bool orders(const hd_op *op, const char *change) {
  bool swapped = !strcmp(change, "op swapped");
  return (hd_op_effects(op->kind) & HD_EFFECT_SYNC) ||
         (swapped && op->prev && (hd_op_effects(op->prev->kind) & HD_EFFECT_SYNC));
}

static const char *line_at(const char *text, int32_t i) {
  while (i-- > 0)
    text = strchr(text, '\n') + 1;
  return text;
}

/* Changes an op at role level (one draw in four) or an executed line of PTX. */
static bool draw_mutant(uint64_t *seed, const mutate_form *form, const bool *executed,
                        int32_t n_lines, generic *g) {
  mutate_mutant *m = &g->mutant;
  if (mutate_below(seed, 4) == 0) {
    m->site = (int32_t)mutate_below(seed, (uint32_t)mutate_count_ops(form->module));
    m->module = mutate_generic_role(seed, form->module, m->site, &m->op);
    if (m->module)
      describe_role(form, m);
    g->sync = m->module && orders(mutate_op_at(form->module, m->site), m->op);
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

/* The outcome. A mutant that nothing finds is equivalent in this launch if the order of all
 * conflicting accesses is unchanged; or if it does not change synchronisation and more schedules do
 * not find it either (an unused load, two loads swapped). */
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
  return g->sync ? MISSED : EQUIVALENT;
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

/* The operator's row; added at its first mutant. */
static mutate_generic_row *row_of(mutate_generic *sum, const char *op) {
  int i = 0;
  while (i < sum->n_rows && strcmp(sum->row[i].op, op))
    i++;
  if (i == MUTATE_GENERIC_ROWS)
    return &sum->row[i - 1];
  sum->n_rows += i == sum->n_rows;
  sum->row[i].op = op;
  return &sum->row[i];
}

static void count(const mutate_form *form, const generic *g, bool verbose, mutate_generic *sum) {
  const mutate_mutant *m = &g->mutant;
  mutate_generic_row *row = row_of(sum, m->op);
  bool live = g->outcome != REFUSED && g->outcome != EQUIVALENT;
  bool check_missed = live && m->module && m->check == MUTATE_MISSED;
  row->of[g->outcome]++;
  row->check_missed += check_missed;
  row->sync += live && g->sync;
  row->sync_found += live && g->sync && g->outcome == FOUND;
  row->role += live && m->module;
  if (g->outcome == MISSED || check_missed || verbose)
    printf("%s: %s:%d %s\n  check: %s\n  sim: %s\n", form->name, m->op, m->site, m->where,
           m->module ? m->check_why : "-", m->runs.why);
  fflush(stdout);
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

static void add_row(mutate_generic_row *to, const mutate_generic_row *row) {
  for (int i = 0; i < MUTATE_GENERIC_OUTCOMES; i++)
    to->of[i] += row->of[i];
  to->check_missed += row->check_missed;
  to->sync += row->sync;
  to->sync_found += row->sync_found;
  to->role += row->role;
}

static int sum_of(const mutate_generic_row *row) {
  int n = 0;
  for (int i = 0; i < MUTATE_GENERIC_OUTCOMES; i++)
    n += row->of[i];
  return n;
}

static void print_row(const mutate_generic_row *row) {
  printf("%-14s %8d", row->op, sum_of(row));
  for (int i = 0; i < MUTATE_GENERIC_OUTCOMES; i++)
    printf(" %10d", row->of[i]);
  printf(" %12d\n", row->check_missed);
}

int mutate_generic_print(const mutate_generic *s, uint64_t seed) {
  mutate_generic_row all = {.op = "all"};
  printf("%-14s %8s %10s %10s %10s %10s %10s %10s %12s\n", "operator", "mutants", "refused",
         "equivalent", "found", "numbers", "check only", "missed", "check missed");
  for (int i = 0; i < s->n_rows; i++) {
    print_row(&s->row[i]);
    add_row(&all, &s->row[i]);
  }
  print_row(&all);
  int n = sum_of(&all);
  printf("generic=%d seed=%llu refused=%d equivalent=%d live=%d found=%d numbers_only=%d "
         "check_only=%d missed=%d sync=%d sync_found=%.1f%% role=%d check_missed=%d\n",
         n, (unsigned long long)seed, all.of[REFUSED], all.of[EQUIVALENT],
         n - all.of[REFUSED] - all.of[EQUIVALENT], all.of[FOUND], all.of[NUMBERS],
         all.of[CHECK_ALONE], all.of[MISSED], all.sync,
         all.sync ? 100.0 * all.sync_found / all.sync : 100.0, all.role, all.check_missed);
  return all.of[MISSED] != 0;
}
