#include "timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "Support/file.h"
#include "Support/memory.h"

static const char WAIT[] = "wait", OTHER[] = "other";
static const char LOOP[] = "loop"; /* jumps back to a try_wait: part of the preceding wait, else
                                      other */

/* The kind of an opcode: the first row that is a prefix of it; "" matches any. */
static const struct family {
  const char *opcode, *kind;
} families[] = {{"mma.", "MMA"},
                {"wgmma.mma_async", "MMA"},
                {"tcgen05.mma", "MMA"},
                {"cp.async.bulk.wait", WAIT},
                {"cp.async.wait", WAIT},
                {"wgmma.wait", WAIT},
                {"tcgen05.wait", WAIT},
                {"griddepcontrol.wait", WAIT},
                {"mbarrier.try_wait", WAIT},
                {"mbarrier.test_wait", WAIT},
                {"bar.arrive", OTHER},
                {"barrier.cluster.arrive", OTHER},
                {"bar.", WAIT},
                {"barrier.", WAIT},
                {"cp.async", "copy"},
                {"ld.global", "copy"},
                {"st.global", "copy"},
                {"red.", "copy"},
                {"tcgen05.cp", "copy"},
                {"not.pred", LOOP},
                {"bra", LOOP},
                {"", OTHER}};

static const char *kind_of(const char *opcode) {
  size_t i = 0;
  while (strncmp(families[i].opcode, opcode, strlen(families[i].opcode)) != 0)
    i++;
  return families[i].kind;
}

void timeline_begin(timeline *t, uint32_t n_warps) { t->n_warps = n_warps; }

void timeline_free(timeline *t) {
  hd_strbuf_free(&t->json);
  hd_free(t->open);
  *t = (timeline){0};
}

/* ---- events of the file format ---- */

/* Numbers start at 1, because Perfetto treats process 0 specially (its issue 394), and some of its
 * versions take thread 0 for thread 1 (its pull request 2278). Thread numbers are unique over all
 * processes, as in an operating system. */
static void begin_event(timeline *t, const char *phase, uint32_t cta, uint32_t warp) {
  hd_strbuf_printf(&t->json, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u",
                   t->json.len ? "," : "{\"traceEvents\":[", phase, cta + 1,
                   cta * t->n_warps + warp + 1);
}

static void name_track(timeline *t, const char *what, uint32_t cta, uint32_t warp) {
  bool is_cta = strcmp(what, "CTA") == 0;
  begin_event(t, "M", cta, warp);
  hd_strbuf_printf(&t->json, ",\"name\":\"%s\",\"args\":{\"name\":\"%s %u\"}}",
                   is_cta ? "process_name" : "thread_name", what, is_cta ? cta : warp);
}

/* A wait lasts until the warp does something else; other slices last as long as they execute. */
static void end_slice(timeline *t, timeline_slice *s, uint32_t cta, uint32_t warp, uint64_t time) {
  if (!s->kind)
    return;
  uint64_t end = s->kind == WAIT ? time : s->last + 1;
  begin_event(t, "X", cta, warp);
  hd_strbuf_printf(&t->json,
                   ",\"name\":\"%s\",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
                   ",\"args\":{\"first\":\"%s\",\"line\":%u,\"instructions\":%" PRIu64 "}}",
                   s->kind, s->begin, end - s->begin, s->text, s->line, s->n);
  s->kind = NULL;
}

/* ---- a run ---- */

static timeline_slice *slice_of(timeline *t, const hd_sim_event *e) {
  if (e->cta >= t->n_ctas) {
    size_t old = (size_t)t->n_ctas * t->n_warps, all = (size_t)(e->cta + 1) * t->n_warps;
    t->open = hd_xrealloc(t->open, old * sizeof *t->open, all * sizeof *t->open);
    memset(t->open + old, 0, (all - old) * sizeof *t->open);
    for (uint32_t cta = t->n_ctas; cta <= e->cta; cta++) {
      name_track(t, "CTA", cta, 0);
      for (uint32_t warp = 0; warp < t->n_warps; warp++)
        name_track(t, "warp", cta, warp);
    }
    t->n_ctas = e->cta + 1;
  }
  return &t->open[(size_t)e->cta * t->n_warps + e->warp];
}

void timeline_add(timeline *t, const hd_sim_event *e) {
  timeline_slice *s = slice_of(t, e);
  t->end = e->time + 1;
  if (e->kind != HD_SIM_EXECUTES) {
    begin_event(t, e->kind == HD_SIM_ISSUES ? "b" : "e", e->cta, e->warp);
    hd_strbuf_printf(&t->json,
                     ",\"cat\":\"in flight\",\"name\":\"%s in flight\",\"id\":%" PRIu64
                     ",\"ts\":%" PRIu64 ",\"args\":{\"opcode\":\"%s\",\"line\":%u}}",
                     kind_of(e->text), e->number, e->time, e->text, e->line);
    return;
  }
  const char *kind = kind_of(e->text);
  if (kind == LOOP)
    kind = s->kind == WAIT ? WAIT : OTHER;
  if (s->kind != kind) {
    end_slice(t, s, e->cta, e->warp, e->time);
    *s = (timeline_slice){.kind = kind, .begin = e->time, .line = e->line};
    snprintf(s->text, sizeof s->text, "%s", e->text);
  }
  s->last = e->time;
  s->n++;
}

heddle_status timeline_write(heddle_context *ctx, timeline *t, const char *path) {
  for (uint32_t cta = 0; cta < t->n_ctas; cta++)
    for (uint32_t warp = 0; warp < t->n_warps; warp++)
      end_slice(t, &t->open[(size_t)cta * t->n_warps + warp], cta, warp, t->end);
  hd_strbuf_add(&t->json, t->json.len ? "\n]}\n" : "{\"traceEvents\":[]}\n");
  return hd_file_write(ctx, path, t->json.text, t->json.len);
}
