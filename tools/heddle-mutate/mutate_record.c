/* Results for each form and mutant, and their file, with which a killed run can be resumed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "Support/lines.h"
#include "Support/memory.h"
#include "mutate.h"

static const char header[] =
    "kernel,hash,operator,site,kind,check,sim,ptxas,device,memcheck,synccheck,racecheck,initcheck";
enum { N_FIELDS = 13 }; /* in the order of the header */

static const char *const kinds[MUTATE_N_KINDS] = {"kernel", "mutant", "equivalent", "unemitted"};
static const char *const verdicts[MUTATE_N_VERDICTS] = {"missed", "caught", "undecided",
                                                        "not-asked"};
static const char *const outcomes[MUTATE_N_GPU] = {"not-asked", "same",  "wrong",
                                                   "hang",      "error", "refused"};
/* In the order of the header. */
static const char *const tools[MUTATE_N_TOOLS] = {"memcheck", "synccheck", "racecheck",
                                                  "initcheck"};
static const char itself[] = "-";

const char *mutate_gpu_name(mutate_gpu outcome) { return outcomes[outcome]; }
const char *mutate_tool_name(int tool) { return tools[tool]; }

mutate_gpu mutate_gpu_named(const char *word, size_t len) {
  for (int i = 0; i < MUTATE_N_GPU; i++)
    if (strlen(outcomes[i]) == len && !memcmp(outcomes[i], word, len))
      return (mutate_gpu)i;
  return MUTATE_GPU_NOT_ASKED;
}

/* --- in memory ------------------------------------------------------------------------------ */

static void name_hash(const mutate_options *o, const mutate_form *form, char out[17]) {
  char asked[96], digits[33];
  int n = snprintf(asked, sizeof asked, "%s|%s|%d|%d", o->operator_name ? o->operator_name : "",
                   o->blind ? o->blind : "", o->no_sim, o->no_ptx);
  hd_hash_format(hd_hash_combine(hd_hash_bytes(form->ptx, strlen(form->ptx)),
                                 hd_hash_bytes(asked, (size_t)n)),
                 digits);
  snprintf(out, 17, "%.16s", digits);
}

static mutate_kernel *find(mutate_records *records, const char *name) {
  for (size_t i = 0; i < records->n; i++)
    if (!strcmp(records->kernel[i].name, name))
      return &records->kernel[i];
  return NULL;
}

static mutate_record unknown(const char *op, int32_t site, mutate_kind kind) {
  return (mutate_record){op, site, kind, {MUTATE_UNASKED, MUTATE_UNASKED, MUTATE_UNASKED},
                         MUTATE_GPU_NOT_ASKED, {MUTATE_GPU_NOT_ASKED}};
}

/* Whether results of ptxas are missing. If ptxas is not available, other results are kept. */
static bool lacks_ptxas(const mutate_options *o, const mutate_kernel *kernel) {
  return o->ptxas && kernel->n && kernel->mutant[0].verdict[MUTATE_PTXAS] == MUTATE_UNASKED;
}

mutate_kernel *mutate_records_visit(const mutate_options *o, const mutate_form *form,
                                    mutate_records *records) {
  mutate_kernel fresh = {.visited = true, .self = unknown(itself, 0, MUTATE_KERNEL)};
  name_hash(o, form, fresh.hash);
  snprintf(fresh.name, sizeof fresh.name, "%s", form->name);
  mutate_kernel *kernel = find(records, fresh.name);
  if (!kernel) {
    HD_PUSH(records->kernel, records->n, records->cap, fresh);
    kernel = &records->kernel[records->n - 1];
  } else if (strcmp(kernel->hash, fresh.hash) || lacks_ptxas(o, kernel)) { /* the form has
                                                                              changed */
    hd_free(kernel->mutant);
    *kernel = fresh;
  }
  kernel->visited = true;
  snprintf(kernel->path, sizeof kernel->path, "%s", form->path);
  return kernel;
}

void mutate_kernel_add(const mutate_options *o, const mutate_mutant *m, mutate_kernel *kernel) {
  mutate_kind kind = m->equivalent ? MUTATE_EQUIVALENT : m->ptx ? MUTATE_LIVE : MUTATE_UNEMITTED;
  mutate_record record = unknown(m->op, m->site, kind);
  if (m->module)
    record.verdict[MUTATE_CHECK] = m->check;
  if (!o->no_sim)
    record.verdict[MUTATE_SIM] = m->runs.verdict;
  if (o->ptxas)
    record.verdict[MUTATE_PTXAS] = m->ptxas;
  HD_PUSH(kernel->mutant, kernel->n, kernel->cap, record);
}

void mutate_records_free(mutate_records *records) {
  for (size_t i = 0; i < records->n; i++)
    hd_free(records->kernel[i].mutant);
  hd_free(records->kernel);
  *records = (mutate_records){0};
}

/* --- writing -------------------------------------------------------------------------------- */

static void write_record(const mutate_kernel *kernel, const mutate_record *r, hd_strbuf *out) {
  hd_strbuf_printf(out, "%s,%s,%s,%d,%s", kernel->name, kernel->hash, r->op, r->site,
                   kinds[r->kind]);
  for (int i = 0; i < MUTATE_N_DETECTORS; i++)
    hd_strbuf_printf(out, ",%s", verdicts[r->verdict[i]]);
  hd_strbuf_printf(out, ",%s", outcomes[r->gpu]);
  for (int i = 0; i < MUTATE_N_TOOLS; i++)
    hd_strbuf_printf(out, ",%s", outcomes[r->tool[i]]);
  hd_strbuf_add(out, "\n");
}

heddle_status mutate_records_write(heddle_context *ctx, const char *path,
                                   const mutate_records *records) {
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, "%s\n", header);
  for (size_t i = 0; i < records->n; i++) {
    const mutate_kernel *kernel = &records->kernel[i];
    write_record(kernel, &kernel->self, &text);
    for (size_t j = 0; j < kernel->n; j++)
      write_record(kernel, &kernel->mutant[j], &text);
  }
  heddle_status status = hd_file_write(ctx, path, text.text, text.len);
  hd_strbuf_free(&text);
  return status;
}

void mutate_records_save(const mutate_options *o, const mutate_records *records) {
  if (!o->out)
    return;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = mutate_records_write(ctx, o->out, records);
  if (status != HEDDLE_OK)
    fprintf(stderr, "%s\n", hd_first_error_text(ctx, heddle_status_text(status)));
  heddle_context_free(ctx);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool read_word(const char *const *words, int n, const char *field, int *value) {
  for (*value = 0; *value < n; ++*value)
    if (!strcmp(words[*value], field))
      return true;
  return false;
}

static const char *operator_named(const char *name) {
  size_t n_roles, n_lines;
  const mutate_operator *roles = mutate_role_operators(&n_roles);
  const mutate_line_operator *lines = mutate_line_operators(&n_lines);
  for (size_t i = 0; i < n_roles; i++)
    if (!strcmp(roles[i].name, name))
      return roles[i].name;
  for (size_t i = 0; i < n_lines; i++)
    if (!strcmp(lines[i].name, name))
      return lines[i].name;
  return NULL;
}

/* Fields from the fourth on: site, kind, detectors, device, tools. */
static bool read_record(char *const *field, mutate_record *r) {
  int word, kind;
  char *end;
  if (!read_word(kinds, MUTATE_N_KINDS, field[1], &kind))
    return false;
  r->kind = (mutate_kind)kind;
  r->op = r->kind == MUTATE_KERNEL ? itself : r->op;
  r->site = (int32_t)strtol(field[0], &end, 10);
  bool good = r->op && end != field[0] && !*end && r->site >= 0;
  for (int i = 0; i < MUTATE_N_DETECTORS && good; i++) {
    good = read_word(verdicts, MUTATE_N_VERDICTS, field[2 + i], &word);
    r->verdict[i] = (mutate_verdict)word;
  }
  for (int i = 0; i <= MUTATE_N_TOOLS && good; i++) {
    good = read_word(outcomes, MUTATE_N_GPU, field[2 + MUTATE_N_DETECTORS + i], &word);
    *(i ? &r->tool[i - 1] : &r->gpu) = (mutate_gpu)word;
  }
  return good;
}

static int split(char *line, char **field) {
  int n = 0;
  for (char *at = line; at && n < N_FIELDS; n++) {
    field[n] = at;
    at = strchr(at, ',');
    if (at)
      *at++ = 0;
  }
  return n;
}

/* The line of a form precedes the lines of its mutants. */
static bool read_line(char *line, mutate_records *records) {
  char *field[N_FIELDS];
  mutate_kernel kernel = {0}, *last = records->n ? &records->kernel[records->n - 1] : NULL;
  if (split(line, field) != N_FIELDS || strlen(field[0]) >= sizeof kernel.name ||
      strlen(field[1]) >= sizeof kernel.hash)
    return false;
  mutate_record record = {.op = operator_named(field[2])};
  if (!read_record(field + 3, &record))
    return false;
  if (record.kind == MUTATE_KERNEL) {
    strcpy(kernel.name, field[0]);
    strcpy(kernel.hash, field[1]);
    kernel.self = record;
    bool fresh = !find(records, kernel.name);
    if (fresh)
      HD_PUSH(records->kernel, records->n, records->cap, kernel);
    return fresh;
  }
  if (!last || strcmp(last->name, field[0]) || strcmp(last->hash, field[1]))
    return false;
  HD_PUSH(last->mutant, last->n, last->cap, record);
  return true;
}

heddle_status mutate_records_read(heddle_context *ctx, const char *path, mutate_records *records) {
  char *text = NULL;
  size_t n_bytes = 0;
  heddle_context *quiet = heddle_context_create();
  heddle_status status = hd_file_read_text(quiet, path, &text, &n_bytes);
  heddle_context_free(quiet);
  if (status == HEDDLE_NOT_FOUND)
    return HEDDLE_OK;
  if (status != HEDDLE_OK)
    return hd_error(ctx, status, (hd_loc){.file = path}, "mutate.resume", "cannot be read");
  hd_lines lines = hd_lines_of(path, text);
  bool good = true;
  for (char *line; good && (line = hd_lines_next(&lines));)
    good = lines.loc.line > 1 ? read_line(line, records) : !strcmp(line, header);
  hd_free(text);
  if (good)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, lines.loc, "mutate.resume",
                  "it is not what this version writes; legal: a file of --out, or none");
}
