/* Operators on lines of PTX: the same mutations after emission. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

static bool holds(const char *line, size_t n, const char *word) {
  return memmem(line, n, word, strlen(word)) != NULL;
}

/* Removes sync instructions that are alone on a line. The loop of a wait has several lines. */
static bool remove_line(const char *line, size_t n, hd_strbuf *out) {
  static const char *const words[] = {"wgmma.fence",
                                      "wgmma.commit_group",
                                      "wgmma.wait_group",
                                      "fence.proxy.async",
                                      "fence.mbarrier_init",
                                      "mbarrier.init",
                                      "mbarrier.arrive",
                                      "barrier.cluster.arrive",
                                      "bar.sync",
                                      "barrier.sync",
                                      "barrier.cta.sync",
                                      "cp.async.commit_group",
                                      "cp.async.wait_group",
                                      "griddepcontrol.wait",
                                      "bar.warp.sync",
                                      "cp.async.bulk.commit_group",
                                      "cp.async.bulk.wait_group",
                                      "tcgen05.fence",
                                      "tcgen05.wait",
                                      "tcgen05.commit",
                                      "tcgen05.dealloc"};
  if (holds(line, n, "{") || holds(line, n, "//"))
    return false;
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (holds(line, n, words[i])) {
      hd_strbuf_add(out, holds(line, n, "}") ? "}" : "");
      return true;
    }
  return false;
}

/* Adds `by` to a register that is the last operand, for this line only. */
static void shift_register(const char *line, size_t n, const char *at, size_t width, int64_t by,
                           hd_strbuf *out) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)width, at);
  hd_strbuf_printf(out, "add.s32 %s, %s, %lld;\n", name, name, (long long)by);
  hd_strbuf_addn(out, line, n);
  hd_strbuf_printf(out, "\nadd.s32 %s, %s, %lld;", name, name, (long long)-by);
}

/* Adds `by` to the last operand of the line. */
static bool shift_last(const char *line, size_t n, int64_t by, hd_strbuf *out) {
  const char *end = memchr(line, ';', n);
  if (!end)
    return false;
  const char *at = end;
  while (at > line && !strchr(" \t,", at[-1]))
    at--;
  if (at < end && *at == '%' && end - at < 30 && memchr(line, '@', n) == NULL) {
    shift_register(line, n, at, (size_t)(end - at), by, out);
    return true;
  }
  if (at == end || strspn(at, "0123456789") != (size_t)(end - at))
    return false;
  hd_strbuf_addn(out, line, (size_t)(at - line));
  hd_strbuf_printf(out, "%lld", strtoll(at, NULL, 10) + by);
  hd_strbuf_addn(out, end, (size_t)(line + n - end));
  return true;
}

static bool more_pending(const char *line, size_t n, hd_strbuf *out) {
  bool waits = holds(line, n, "wgmma.wait_group") || holds(line, n, "cp.async.wait_group") ||
               holds(line, n, "bulk.wait_group");
  return waits && shift_last(line, n, 1, out);
}

static bool more_arrivals(const char *line, size_t n, hd_strbuf *out) {
  return holds(line, n, "mbarrier.init") && shift_last(line, n, 1, out);
}

static bool fewer_arrivals(const char *line, size_t n, hd_strbuf *out) {
  return holds(line, n, "mbarrier.init") && shift_last(line, n, -1, out);
}

static bool more_bytes(const char *line, size_t n, hd_strbuf *out) {
  return holds(line, n, "expect_tx") && shift_last(line, n, 16, out);
}

static bool fewer_bytes(const char *line, size_t n, hd_strbuf *out) {
  return holds(line, n, "expect_tx") && shift_last(line, n, -16, out);
}

/* Replaces one word of an atomic instruction. */
static bool change_atom(const char *line, size_t n, const char *from, const char *to,
                        hd_strbuf *out) {
  const char *at = memmem(line, n, from, strlen(from));
  if (!holds(line, n, "atom.") || !at)
    return false;
  hd_strbuf_addn(out, line, (size_t)(at - line));
  hd_strbuf_add(out, to);
  at += strlen(from);
  hd_strbuf_addn(out, at, (size_t)(line + n - at));
  return true;
}

static bool no_order(const char *line, size_t n, hd_strbuf *out) {
  return change_atom(line, n, ".acq_rel", ".relaxed", out);
}

static bool no_acquire(const char *line, size_t n, hd_strbuf *out) {
  return change_atom(line, n, ".acq_rel", ".release", out);
}

static bool no_release(const char *line, size_t n, hd_strbuf *out) {
  return change_atom(line, n, ".acq_rel", ".acquire", out);
}

static bool narrow(const char *line, size_t n, hd_strbuf *out) {
  return change_atom(line, n, ".gpu", ".cta", out);
}

static bool no_wrap(const char *line, size_t n, hd_strbuf *out) {
  return change_atom(line, n, ".inc.u32", ".add.u32", out);
}

static const mutate_line_operator operators[] = {
    {"ptx-remove", "take a sync instruction away", remove_line},
    {"ptx-pending+", "one more group may be unfinished", more_pending},
    {"ptx-count+", "one more arrival a phase", more_arrivals},
    {"ptx-count-", "one arrival fewer a phase", fewer_arrivals},
    {"ptx-bytes+", "expect 16 bytes more", more_bytes},
    {"ptx-bytes-", "expect 16 bytes fewer", fewer_bytes},
    {"ptx-relaxed", "count without order", no_order},
    {"ptx-release", "count without acquiring", no_acquire},
    {"ptx-acquire", "count without releasing", no_release},
    {"ptx-cta", "count at the CTA's scope", narrow},
    {"ptx-add", "a counter that does not wrap", no_wrap},
};

const mutate_line_operator *mutate_line_operators(size_t *n) {
  *n = HD_COUNT(operators);
  return operators;
}

int32_t mutate_count_lines(const char *ptx) {
  int32_t n = 0;
  for (const char *at = ptx; *at; at++)
    n += *at == '\n';
  return n;
}

char *mutate_line(const char *ptx, const mutate_line_operator *op, int32_t i) {
  const char *line = ptx;
  for (int32_t at = 0; at < i; at++)
    line = strchr(line, '\n') + 1;
  size_t n = strcspn(line, "\n");
  hd_strbuf other = {0}, out = {0};
  if (!op->apply(line, n, &other)) {
    hd_strbuf_free(&other);
    return NULL;
  }
  hd_strbuf_addn(&out, ptx, (size_t)(line - ptx));
  hd_strbuf_add(&out, hd_strbuf_text(&other));
  hd_strbuf_add(&out, line + n);
  hd_strbuf_free(&other);
  return hd_strbuf_take(&out);
}
