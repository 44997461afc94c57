#include "Emit/ptxas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

static const double timeout_s = 300;

/* ---- parsing the output of ptxas ---- */

static hd_ptxas_entry *current(hd_ptxas_report *report) {
  return report->n_entries ? &report->entry[report->n_entries - 1] : NULL;
}

/* "ptxas info    : Compiling entry function 'NAME' for 'sm_90a'" */
static void read_entry(const char *line, hd_ptxas_report *report) {
  const char *at = strstr(line, "Compiling entry function '");
  if (!at || report->n_entries == HD_PTXAS_ENTRIES)
    return;
  hd_ptxas_entry *entry = &report->entry[report->n_entries++];
  sscanf(at, "Compiling entry function '%255[^']'", entry->name);
}

/* "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" */
static void read_stack(const char *line, hd_ptxas_report *report) {
  hd_ptxas_entry *entry = current(report);
  int stack, stores, loads;
  if (entry && sscanf(line, " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads",
                      &stack, &stores, &loads) == 3) {
    entry->stack_bytes = stack;
    entry->spill_store_bytes = stores;
    entry->spill_load_bytes = loads;
  }
}

/* "ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem" */
static void read_used(const char *line, hd_ptxas_report *report) {
  hd_ptxas_entry *entry = current(report);
  const char *used = strstr(line, "Used "), *barriers = strstr(line, ", used ");
  const char *smem = strstr(line, " bytes smem");
  if (!entry || !used)
    return;
  entry->registers = atoi(used + 5);
  entry->barriers = barriers ? atoi(barriers + 7) : 0;
  while (smem && smem > line && smem[-1] >= '0' && smem[-1] <= '9')
    smem--;
  entry->shared_bytes = smem ? atoi(smem) : 0;
}

/* ptxas prints its numbered remarks in parentheses. The gate refuses all of (C75xx). */
static bool is_serialised(const char *line) { return strstr(line, "(C75") != NULL; }

/* Marks the entry as refused. The report keeps only the first refusal. */
static void refuse(hd_ptxas_report *report, hd_ptxas_entry *entry, const char *rule,
                   const char *before, const char *line) {
  if (entry)
    entry->refused = true;
  if (report->rule)
    return;
  report->rule = rule;
  snprintf(report->refusal, sizeof report->refusal, "%s%s%.200s", entry ? entry->name : "ptxas",
           before, line + strspn(line, " "));
}

/* Finds the entry that a remark names, since remarks may appear anywhere in the log. */
static hd_ptxas_entry *find_named(hd_ptxas_report *report, const char *line) {
  for (int32_t i = 0; i < report->n_entries; i++) {
    char quoted[260];
    snprintf(quoted, sizeof quoted, "'%s'", report->entry[i].name);
    if (strstr(line, quoted))
      return &report->entry[i];
  }
  return current(report);
}

static void read_line(const char *line, hd_ptxas_report *report) {
  read_entry(line, report);
  read_stack(line, report);
  read_used(line, report);
}

static void read_remark(const char *line, hd_ptxas_report *report) {
  if (is_serialised(line))
    refuse(report, find_named(report, line), "ptxas.remark", ": ptxas says: ", line);
}

static void for_lines(const char *log, void (*read)(const char *line, hd_ptxas_report *report),
                      hd_ptxas_report *report) {
  while (*log) {
    size_t n = strcspn(log, "\n");
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), log);
    read(line, report);
    log += n + (log[n] != 0);
  }
}

static void refuse_spills(hd_ptxas_report *report) {
  for (int32_t i = 0; i < report->n_entries; i++) {
    hd_ptxas_entry *e = &report->entry[i];
    char line[128];
    snprintf(line, sizeof line, "%d bytes stack frame, %d bytes spill stores, %d bytes spill loads",
             e->stack_bytes, e->spill_store_bytes, e->spill_load_bytes);
    if (e->stack_bytes || e->spill_store_bytes || e->spill_load_bytes)
      refuse(report, e, "ptxas.spill", " does not fit into registers: ", line);
  }
}

heddle_status hd_ptxas_gate(heddle_context *ctx, const hd_ptxas_report *report) {
  return report->rule ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, report->rule, "%s",
                                 report->refusal)
                      : HEDDLE_OK;
}

/* ---- running it ---- */

/* Reports a nonzero exit code. ptxas names itself in its messages; other programs do not. */
static heddle_status refused(heddle_context *ctx, const char *log, int code) {
  if (!strstr(log, "ptxas"))
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "ptxas.run",
                    "the program ended with %d and does not seem to be ptxas", code);
  const char *at = strstr(log, "error");
  while (at && at > log && at[-1] != '\n')
    at--;
  at = at ? at : log;
  return hd_error(ctx, HEDDLE_INTERNAL, HD_NOWHERE, "ptxas.error", "ptxas ended with %d: %.*s",
                  code, (int)strcspn(at, "\n"), at);
}

/* True if ptxas could not be run (126, 127) or was ended by a signal. ptxas itself returns 255. */
static bool was_stopped(int code) { return code >= 126 && code < 128 + 65; }

enum { INPUT, OUTPUT, N_FILES };

static bool has_several_entries(const char *ptx) {
  const char *first = strstr(ptx, ".entry ");
  return first && strstr(first + 1, ".entry ");
}

/* Several kernels are assembled by threads of ptxas. Their number is part of the cubin (in a note,
 * not in the code), so it is constant. An older ptxas refuses the option, and then runs without. */
static heddle_status run_process(heddle_context *ctx, const char *ptxas, const char *target,
                                 bool split, const hd_memory_file file[N_FILES], hd_strbuf *log,
                                 int *code) {
  const char *argv[] = {ptxas, "-split-compile=8", "-v", "-arch", target,
                        "-o", file[OUTPUT].path, file[INPUT].path, NULL};
  if (!split)
    argv[1] = ptxas;
  HD_TRY(hd_process_run_with(ctx, argv + !split, file, N_FILES, timeout_s, log, code));
  if (!split || *code == 0 || !strstr(hd_strbuf_text(log), "-split-compile"))
    return HEDDLE_OK;
  hd_strbuf_free(log);
  *log = (hd_strbuf){0};
  return run_process(ctx, ptxas, target, false, file, log, code);
}

static heddle_status run(heddle_context *ctx, const char *ptxas, const char *ptx,
                         const char *target, const hd_memory_file file[N_FILES],
                         hd_ptxas_report *report) {
  hd_strbuf log = {0};
  int code = 0;
  heddle_status status =
      run_process(ctx, ptxas, target, has_several_entries(ptx), file, &log, &code);
  if (status == HEDDLE_OK && code != 0)
    status = was_stopped(code) ? hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "ptxas.run",
                                          "%s ended with %d", ptxas, code)
                               : refused(ctx, hd_strbuf_text(&log), code);
  if (status == HEDDLE_OK) { /* twice: a remark may precede the line that introduces its entry */
    for_lines(hd_strbuf_text(&log), read_line, report);
    for_lines(hd_strbuf_text(&log), read_remark, report);
    refuse_spills(report);
  }
  report->log = hd_strbuf_take(&log);
  return status;
}

static heddle_status assemble(heddle_context *ctx, const char *ptxas, const char *ptx,
                              const char *target,
                              const hd_memory_file file[N_FILES], void **cubin,
                              size_t *cubin_bytes, hd_ptxas_report *report) {
  char *data = NULL;
  size_t n_bytes;
  HD_TRY(run(ctx, ptxas, ptx, target, file, report));
  if (!cubin)
    return HEDDLE_OK;
  HD_TRY(hd_file_read(ctx, file[OUTPUT].path, &data, &n_bytes));
  if (!n_bytes) {
    hd_free(data);
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "ptxas.run",
                    "%s succeeded but wrote no cubin, and does not seem to be ptxas", ptxas);
  }
  *cubin = data;
  *cubin_bytes = n_bytes;
  return HEDDLE_OK;
}

heddle_status hd_ptxas_run(heddle_context *ctx, const char *ptxas, const char *ptx,
                           const char *target, void **cubin, size_t *cubin_bytes,
                           hd_ptxas_report *report) {
  hd_memory_file file[N_FILES] = {{.fd = -1}, {.fd = -1}};
  heddle_status status =
      hd_memory_file_create(ctx, "kernel.ptx", ptx, strlen(ptx), &file[INPUT]);
  if (status == HEDDLE_OK)
    status = hd_memory_file_create(ctx, "kernel.cubin", NULL, 0, &file[OUTPUT]);
  if (status == HEDDLE_OK)
    status = assemble(ctx, ptxas, ptx, target, file, cubin, cubin_bytes, report);
  hd_memory_file_close(&file[INPUT]);
  hd_memory_file_close(&file[OUTPUT]);
  return status;
}

heddle_status hd_ptxas_assemble(heddle_context *ctx, const char *ptxas, const char *ptx,
                                const char *target, void **cubin, size_t *cubin_bytes,
                                hd_ptxas_report *report) {
  hd_ptxas_report made = {0};
  void *code = NULL;
  heddle_status status =
      hd_ptxas_run(ctx, ptxas, ptx, target, cubin ? &code : NULL, cubin_bytes, &made);
  if (status == HEDDLE_OK)
    status = hd_ptxas_gate(ctx, &made);
  if (cubin && status == HEDDLE_OK)
    *cubin = code;
  else
    hd_free(code);
  if (report)
    *report = made;
  else
    hd_ptxas_report_free(&made);
  return status;
}

void hd_ptxas_report_free(hd_ptxas_report *report) {
  if (report)
    hd_free(report->log);
}
