#include "Bench/predecessor.h"

#include "Runtime/overlap.h"
#include "Support/diag.h"
#include "Support/strbuf.h"

enum { THREADS = 256, PIECE = 16, PIECES = 4 /* of a thread, about */ };

static const char *const names[HD_N_TRIGGERS] = {/* ORDER PREDECESSORS */
                                                 "none", "early", "late", "never"};

const char *hd_trigger_name(hd_trigger trigger) { return names[trigger]; }

/* Pieces of 16 bytes by all threads of the grid; the first thread of each CTA copies the words
 * behind the last whole piece. */
static const char head[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n";
static const char entry[] =
    ".visible .entry hd_write_b_%s(.param .u64 to, .param .u64 from, .param .u32 pieces,\n"
    "                            .param .u32 words)\n"
    ".maxntid 256, 1, 1\n{\n"
    "  .reg .pred %%in;\n"
    "  .reg .u64 %%to, %%from, %%x, %%y;\n"
    "  .reg .u32 %%i, %%n, %%step, %%cta, %%lane, %%w, %%v<4>;\n";
static const char body[] = "  ld.param.u64 %to, [to];\n  ld.param.u64 %from, [from];\n"
                           "  ld.param.u32 %n, [pieces];\n  ld.param.u32 %w, [words];\n"
                           "  mov.u32 %cta, %ctaid.x;\n  mov.u32 %lane, %tid.x;\n"
                           "  mad.lo.u32 %i, %cta, 256, %lane;\n"
                           "  mov.u32 %step, %nctaid.x;\n  mul.lo.u32 %step, %step, 256;\n"
                           "pieces_:\n"
                           "  setp.ge.u32 %in, %i, %n;\n  @%in bra words_;\n"
                           "  mad.wide.u32 %x, %i, 16, %from;\n"
                           "  mad.wide.u32 %y, %i, 16, %to;\n"
                           "  ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%x];\n"
                           "  st.global.v4.u32 [%y], {%v0, %v1, %v2, %v3};\n"
                           "  add.u32 %i, %i, %step;\n  bra pieces_;\n"
                           "words_:\n"
                           "  setp.ge.u32 %in, %lane, %w;\n  @%in bra done_;\n"
                           "  mad.lo.u32 %i, %n, 4, %lane;\n"
                           "  mad.wide.u32 %x, %i, 4, %from;\n"
                           "  mad.wide.u32 %y, %i, 4, %to;\n"
                           "  ld.global.u32 %v0, [%x];\n  st.global.u32 [%y], %v0;\n"
                           "done_:\n";
static const char launch_dependents[] = "  griddepcontrol.launch_dependents;\n";

static char *module_text(void) {
  hd_strbuf s = {0};
  hd_strbuf_add(&s, head);
  for (hd_trigger t = HD_TRIGGER_EARLY; t < HD_N_TRIGGERS; t++) {
    hd_strbuf_printf(&s, entry, names[t]);
    hd_strbuf_add(&s, t == HD_TRIGGER_EARLY ? launch_dependents : "");
    hd_strbuf_add(&s, body);
    hd_strbuf_add(&s, t == HD_TRIGGER_LATE ? launch_dependents : "");
    hd_strbuf_add(&s, "  ret;\n}\n");
  }
  return hd_strbuf_take(&s);
}

static heddle_status load(heddle_context *ctx, hd_predecessor *p) {
  const hd_driver *cu = &p->device->runtime->cu;
  char *ptx = module_text();
  heddle_status status =
      hd_driver_check(ctx, cu, cu->module_load(&p->module, ptx, 0, NULL, NULL), "module_load");
  hd_free(ptx);
  for (hd_trigger t = HD_TRIGGER_EARLY; t < HD_N_TRIGGERS && status == HEDDLE_OK; t++) {
    hd_strbuf name = {0};
    hd_strbuf_printf(&name, "hd_write_b_%s", names[t]);
    status = hd_driver_check(
        ctx, cu, cu->module_function(&p->function[t], p->module, hd_strbuf_text(&name)),
        "module_function");
    hd_strbuf_free(&name);
  }
  return status == HEDDLE_OK
             ? hd_early_add(ctx, p->device->runtime->early, p->function[HD_TRIGGER_EARLY])
             : status;
}

heddle_status hd_predecessor_open(heddle_context *ctx, const hd_device *device, const void *b,
                                  size_t b_bytes, hd_predecessor *predecessor) {
  hd_predecessor made = {.device = device};
  heddle_status status = load(ctx, &made);
  if (status == HEDDLE_OK)
    status = hd_rotation_create(ctx, device, b, b_bytes, 1, &made.values);
  if (status != HEDDLE_OK) {
    hd_predecessor_close(&made);
    return status;
  }
  *predecessor = made;
  return HEDDLE_OK;
}

void hd_predecessor_close(hd_predecessor *p) {
  if (!p->device)
    return;
  hd_rotation_free(p->device, &p->values);
  hd_early_remove(p->device->runtime->early, p->function[HD_TRIGGER_EARLY]);
  if (p->module)
    p->device->runtime->cu.module_unload(p->module);
  *p = (hd_predecessor){0};
}

heddle_status hd_behind_launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const hd_behind *x = user;
  const hd_predecessor *p = x->predecessor;
  uint64_t to = x->b->set[index % x->b->n_sets].address, from = p->values.set[0].address;
  size_t n_bytes = p->values.set[0].n_bytes;
  uint32_t pieces = (uint32_t)(n_bytes / PIECE), words = (uint32_t)(n_bytes % PIECE / 4);
  /* No more CTAs than SMs: it is one wave of a small kernel. */
  uint32_t ctas = pieces / (THREADS * PIECES) + 1, most = (uint32_t)p->device->info.n_sms;
  void *params[] = {&to, &from, &pieces, &words};
  HD_TRY(hd_device_launch(ctx, p->device, p->function[x->trigger], ctas < most ? ctas : most,
                          THREADS, params, stream));
  return hd_rotated_launch(ctx, (void *)x->kernel, index, stream);
}
