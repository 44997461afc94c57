/* The steps after PTX emission: cubin, the report of ptxas, and the manifest. */
#include "Compile/compiled.h"

#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/memory.h"

_Static_assert((int)HD_PTXAS_ENTRIES >= (int)HD_MAX_VARIANTS, "ptxas tells of every variant");

static void read_report(const hd_ptxas_report *report, hd_manifest *manifest, hd_gated *gated) {
  for (int32_t v = 0; v < manifest->n_variants; v++)
    for (int32_t e = 0; e < report->n_entries; e++)
      if (strcmp(report->entry[e].name, manifest->variant[v].entry) == 0) {
        manifest->variant[v].n_registers = report->entry[e].registers;
        gated->variant[v] = report->entry[e].refused;
      }
  gated->any = report->rule != NULL;
  snprintf(gated->why, sizeof gated->why, "%s", report->refusal);
}

static heddle_status assemble(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                              heddle_compiled *c, hd_gated *gated) {
  hd_gated unasked;
  if (!ptxas)
    return HEDDLE_OK;
  hd_ptxas_report report = {0};
  heddle_status status = hd_ptxas_run(ctx, ptxas, c->ptx, manifest->target, &c->cubin,
                                      &c->entry.cubin_bytes, &report);
  if (status == HEDDLE_OK)
    read_report(&report, manifest, gated ? gated : &unasked);
  if (status == HEDDLE_OK && report.rule)
    status = gated ? HEDDLE_UNSUPPORTED : hd_ptxas_gate(ctx, &report);
  hd_ptxas_report_free(&report);
  c->entry.cubin = c->cubin;
  return status;
}

heddle_status hd_compiled_finish(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                                 char *ptx, size_t n_bytes, heddle_compiled *c, hd_gated *gated) {
  c->entry.ptx = c->ptx = ptx;
  c->entry.ptx_bytes = n_bytes;
  HD_TRY(assemble(ctx, ptxas, manifest, c, gated));
  hd_manifest_name_code(manifest, &(heddle_image){c->entry.cubin, c->entry.cubin_bytes,
                                                  c->entry.ptx, c->entry.ptx_bytes});
  HD_TRY(hd_manifest_write(ctx, manifest, &c->json));
  c->entry.manifest_json = c->json;
  c->entry.manifest_bytes = strlen(c->json);
  return HEDDLE_OK;
}

void heddle_compiled_free(heddle_compiled *c) {
  if (!c)
    return;
  hd_cache_entry_free(&c->entry);
  hd_free(c->ptx);
  hd_free(c->json);
  hd_free(c->cubin);
  hd_arena_free(&c->arena);
  hd_free(c);
}

const char *heddle_compiled_name(const heddle_compiled *c) { return c->name; }

const char *heddle_compiled_schedule(const heddle_compiled *c) { return c->schedule; }

const char *heddle_compiled_ptx(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.ptx_bytes;
  return c->entry.ptx;
}

const void *heddle_compiled_cubin(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.cubin_bytes;
  return c->entry.cubin;
}

const char *heddle_compiled_manifest(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.manifest_bytes;
  return c->entry.manifest_json;
}
