#include "sim_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"

void harness_start(harness *h, const char *entry, int n_threads, int shared_bytes, uint32_t grid) {
  *h = (harness){.ctx = heddle_context_create()};
  h->variant = (hd_variant){.entry = entry, .path = "test", .n_threads = n_threads, .cluster = 1,
                            .shared_bytes = shared_bytes};
  h->plan.variant = &h->variant;
  h->plan.grid_x = grid;
}

void harness_stop(harness *h) {
  hd_arena_free(&h->arena);
  heddle_context_free(h->ctx);
}

void harness_param(harness *h, hd_arg_kind kind, uint64_t value) {
  h->variant.param[h->variant.n_params++] = (hd_param){.arg = kind};
  h->values.v[kind] = value;
}

hd_tmap *harness_tmap(harness *h) {
  int32_t i = h->variant.n_tmaps++;
  h->variant.param[h->variant.n_params++] = (hd_param){.arg = HD_ARG_NONE, .tmap = i};
  return &h->plan.tmap[i];
}

uint64_t harness_buffer(harness *h, const char *name, void *data, uint64_t n_bytes, bool writable) {
  uint64_t address = 0x100000ull * (h->n_buffers + 1);
  h->buffer[h->n_buffers++] = (hd_sim_buffer){.name = name, .address = address, .n_bytes = n_bytes,
                                              .data = data, .writable = writable,
                                              .undefined = writable};
  return address;
}

static char *edited(const char *text, const edit *edits, int n_edits) {
  hd_strbuf out = {0};
  int found = 0;
  for (const char *line = text; *line;) {
    size_t n = strcspn(line, "\n");
    const edit *hit = NULL;
    for (int i = 0; i < n_edits; i++) {
      char mark[64];
      int length = snprintf(mark, sizeof mark, "//#%s", edits[i].tag);
      if (n >= (size_t)length && strncmp(line + n - length, mark, (size_t)length) == 0)
        hit = &edits[i];
    }
    if (!hit)
      hd_strbuf_addn(&out, line, n);
    else if (hit->text)
      hd_strbuf_add(&out, hit->text);
    found += hit != NULL;
    hd_strbuf_add(&out, "\n");
    line += n + (line[n] == '\n');
  }
  if (found < n_edits) {
    fprintf(stderr, "a tag of the edits is not in the text\n");
    abort();
  }
  return hd_strbuf_take(&out);
}

heddle_status harness_run_text(harness *h, const char *text, size_t n_bytes) {
  const hd_sim_launch launch = {.file = h->variant.entry,
                                .ptx = text,
                                .ptx_bytes = n_bytes,
                                .plan = &h->plan,
                                .values = &h->values,
                                .buffers = h->buffer,
                                .n_buffers = h->n_buffers};
  return hd_sim_run(h->ctx, &launch, &h->options, &h->arena, &h->report);
}

heddle_status harness_run(harness *h, const char *name, const edit *edits, int n_edits) {
  char path[256], *text = NULL;
  size_t n = 0;
  snprintf(path, sizeof path, "test/unit/Sim/ptx/%s", name);
  heddle_status status = hd_file_read(h->ctx, path, &text, &n);
  if (status != HEDDLE_OK)
    return status;
  char *ptx = edited(text, edits, n_edits);
  status = harness_run_text(h, ptx, strlen(ptx));
  free(ptx);
  free(text);
  return status;
}

void harness_print(const harness *h) {
  for (uint32_t i = 0; i < h->report.n_findings; i++)
    fprintf(stderr, "%u: [%s] %s\n", h->report.finding[i].line, h->report.finding[i].rule,
            h->report.finding[i].text);
  for (size_t i = 0; i < heddle_context_count(h->ctx); i++) {
    char line[512];
    heddle_diagnostic_format(heddle_context_get(h->ctx, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
}

bool harness_found(const harness *h, const char *rules) {
  char copy[128], *save = NULL;
  snprintf(copy, sizeof copy, "%s", rules);
  for (char *rule = strtok_r(copy, "|", &save); rule; rule = strtok_r(NULL, "|", &save))
    for (uint32_t i = 0; i < h->report.n_findings; i++)
      if (strcmp(h->report.finding[i].rule, rule) == 0)
        return true;
  return false;
}

int harness_unsound(harness_setup *set_up, int (*wrong)(void), const char *file) {
  uint64_t hash = 0;
  int unsound = 0;
  for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
      harness h;
      set_up(&h, (hd_sim_mode)mode, seed);
      heddle_status status = harness_run(&h, file, NULL, 0);
      int n_wrong = wrong();
      if (mode == HD_SIM_LATE && seed == 1)
        hash = h.report.order_hash;
      if (status != HEDDLE_OK || n_wrong || h.report.order_hash != hash) {
        fprintf(stderr, "%s, mode %s, seed %d: status %d, %d wrong, order %s\n", file,
                hd_sim_mode_name((hd_sim_mode)mode), (int)seed, status, n_wrong,
                h.report.order_hash == hash ? "same" : "differs");
        harness_print(&h);
        unsound++;
      }
      harness_stop(&h);
    }
  }
  return unsound;
}

static bool finds(harness_setup *set_up, const char *file, const injected *error, hd_sim_mode mode,
                  uint64_t seed) {
  harness h;
  bool by_chance = error->rules[0] == '(';
  set_up(&h, mode, seed);
  heddle_status status = harness_run(&h, file, error->edit, error->edit[1].tag ? 2 : 1);
  bool found = status == HEDDLE_MISMATCH && harness_found(&h, error->rules + by_chance);
  if (!found && !by_chance)
    harness_print(&h);
  harness_stop(&h);
  return found;
}

int harness_missed(harness_setup *set_up, const char *file, const injected *errors, size_t n) {
  int missed = 0;
  for (size_t e = 0; e < n; e++) {
    for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++) {
      int n_found = 0;
      for (uint64_t seed = 1; seed <= 4; seed++)
        n_found += finds(set_up, file, &errors[e], (hd_sim_mode)mode, seed);
      if (n_found >= (errors[e].rules[0] == '(' ? 1 : 4))
        continue;
      fprintf(stderr, "missed: %s, %s (mode %s), found in %d of 4 runs\n", file, errors[e].name,
              hd_sim_mode_name((hd_sim_mode)mode), n_found);
      missed++;
    }
  }
  return missed;
}

uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)(bits >> 16);
}
