/* Sim/sim_report.c: findings, and names of agents. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Sim/sim_machine.h"
#include "Support/hash.h"
#include "Support/strbuf.h"

const char *hd_sim_mode_name(hd_sim_mode mode) {
  return mode == HD_SIM_LATE ? "late" : mode == HD_SIM_EARLY ? "early" : "random";
}

const char *hd_sim_basis_name(hd_sim_basis basis) {
  return basis == HD_SIM_ISA ? "ISA" : basis == HD_SIM_HEDDLE ? "Heddle" : "measured";
}

heddle_status hd_sim_mode_parse(const char *name, hd_sim_mode *mode) {
  for (int i = HD_SIM_LATE; i <= HD_SIM_RANDOM; i++) {
    if (strcmp(name, hd_sim_mode_name((hd_sim_mode)i)) == 0) {
      *mode = (hd_sim_mode)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

uint64_t hd_sim_random(sim_machine *m) { return hd_hash_next(&m->random); }

const char *hd_sim_agent_name(const sim_machine *m, sim_agent agent, char out[96]) {
  uint32_t cta = agent >> SIM_AGENT_SHIFT, local = hd_sim_local(agent);
  const char *what = NULL;
  uint32_t index = local;
  if (agent == SIM_NO_AGENT)
    return "the launch";
  if (local >= m->agent_grid)
    return "the previous grid";
  if (m->agent_tensor && local >= m->agent_mover) {
    uint32_t warp = (local - m->agent_mover) / 2;
    snprintf(out, 96, "tcgen05.%s of cta %u warp %u", (local - m->agent_mover) % 2 ? "st" : "ld",
             cta, warp);
    return out;
  }
  if (m->agent_tensor && local >= m->agent_tensor) {
    index -= m->agent_tensor;
    snprintf(out, 96, "tcgen05 of cta %u warp %u lane %u", cta, index / 32, index % 32);
    return out;
  }
  if (m->agent_sent && local >= m->agent_sent) {
    index -= m->agent_sent;
    what = "st.async from another CTA, signalling mbarrier";
  } else if (local >= m->agent_mbarrier) {
    index -= m->agent_mbarrier;
    what = "copy signalling mbarrier";
  } else if (local >= m->agent_wgmma) {
    index -= m->agent_wgmma;
    what = "wgmma of warpgroup";
  }
  if (what) {
    snprintf(out, 96, "%s %u of cta %u", what, index, cta);
    return out;
  }
  uint32_t n = m->n_threads;
  const char *kind = "";
  if (m->agent_cp && local >= m->agent_cp && local < m->agent_cp + n) {
    kind = "cp.async of ";
    index -= m->agent_cp;
  } else if (m->agent_bulk_read && local >= m->agent_bulk_read) {
    kind = "bulk store of ";
    index = (local - m->agent_bulk_read) % n;
  }
  snprintf(out, 96, "%scta %u warp %u lane %u", kind, cta, index / 32, index % 32);
  return out;
}

static bool seen(const sim_machine *m, const char *rule, uint32_t line, uint32_t other) {
  for (uint32_t i = 0; i < m->n_findings; i++) {
    const hd_sim_finding *f = &m->finding[i];
    if (f->line == line && f->other_line == other && strcmp(f->rule, rule) == 0)
      return true;
  }
  return false;
}

/* RULE, RULE:heddle or RULE:measured. */
static hd_sim_basis split_basis(hd_arena *arena, const char **rule) {
  const char *colon = strchr(*rule, ':');
  if (!colon)
    return HD_SIM_ISA;
  hd_sim_basis basis = colon[1] == 'h' ? HD_SIM_HEDDLE : HD_SIM_MEASURED;
  *rule = hd_arena_strndup(arena, *rule, (size_t)(colon - *rule));
  return basis;
}

static void record(sim_machine *m, const char *rule, const sim_warp *warp, uint32_t lane,
                   const sim_insn *insn, uint32_t other, const char *format, va_list args) {
  uint32_t line = insn ? insn->line : 0;
  hd_sim_basis basis = split_basis(m->arena, &rule);
  if (seen(m, rule, line, other) || (basis == HD_SIM_HEDDLE && m->options.isa_only))
    return;
  hd_strbuf text = {0};
  char what[2048];
  vsnprintf(what, sizeof what, format, args);
  if (warp)
    hd_strbuf_printf(&text, "cta %u warp %u lane %u: ", warp->cta->index, warp->index, lane);
  if (insn)
    hd_strbuf_printf(&text, "`%s`: ", insn->text);
  hd_strbuf_add(&text, what);
  hd_sim_finding f = {rule, hd_arena_strdup(m->arena, hd_strbuf_text(&text)), line, other, basis};
  hd_strbuf_free(&text);
  HD_PUSH(m->finding, m->n_findings, m->finding_cap, f);
  if (m->n_findings >= m->options.max_findings)
    m->stop = true;
}

sim_step hd_sim_find(sim_machine *m, const char *rule, const sim_warp *warp, uint32_t lane,
                     const sim_insn *insn, const sim_insn *other, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(m, rule, warp, lane, insn, other ? other->line : 0, format, args);
  va_end(args);
  return m->stop ? SIM_STOP : SIM_NEXT;
}

sim_step hd_sim_fault(sim_machine *m, const char *rule, const sim_warp *warp, uint32_t lane,
                      const sim_insn *insn, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(m, rule, warp, lane, insn, 0, format, args);
  va_end(args);
  m->stop = true;
  return SIM_STOP;
}

void hd_sim_trace(const sim_warp *w, hd_sim_event_kind kind, const sim_insn *in, uint32_t lanes,
                  uint64_t number) {
  const sim_machine *m = w->machine;
  if (m->options.trace)
    m->options.trace(m->options.user,
                     &(hd_sim_event){.kind = kind, .time = m->report->n_instructions,
                                     .number = number, .cta = w->cta->index, .warp = w->index,
                                     .lanes = lanes, .line = in->line, .text = in->text});
}
