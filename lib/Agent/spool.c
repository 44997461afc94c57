#include "Agent/spool.h"
#include "Support/memory.h"

#include <stdio.h>
#include <string.h>

/* Entries have the form "M 12 {…}": kind, lease, body. */
static const char kinds[] = "MF"; /* ORDER HD_SPOOL */
static const char *const verbs[] = {"measurements", "finish"};

heddle_status hd_spool_add(heddle_context *ctx, hd_journal *spool, int64_t lease,
                           hd_spool_kind kind, const json_t *body) {
  hd_strbuf entry = {0};
  char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(9));
  hd_strbuf_printf(&entry, "%c %lld %s", kinds[kind], (long long)lease, text ? text : "{}");
  heddle_status status = hd_journal_add(ctx, spool, hd_strbuf_text(&entry), entry.len);
  hd_strbuf_free(&entry);
  hd_free(text);
  return status;
}

/* Returns the body; NULL if this agent did not write the entry. */
static const char *read_entry(const char *entry, hd_spool_kind *kind, int64_t *lease) {
  const char *at = *entry ? strchr(kinds, *entry) : NULL;
  long long id;
  int n = 0;
  if (!at || sscanf(entry + 1, " %lld %n", &id, &n) != 1 || entry[1 + n] != '{')
    return NULL;
  *kind = (hd_spool_kind)(at - kinds);
  *lease = id;
  return entry + 1 + n;
}

/* Builds one body from the first entries that can be sent together; returns their number. */
static size_t make_body(const hd_journal *spool, hd_strbuf *body, hd_spool_kind *kind,
                        int64_t *lease) {
  size_t n = 0, count = hd_journal_count(spool);
  for (; n < count && n < HD_SPOOL_BATCH; n++) {
    hd_spool_kind its_kind;
    int64_t its_lease;
    const char *one = read_entry(hd_journal_get(spool, n, NULL), &its_kind, &its_lease);
    if (n > 0 && (!one || its_kind != *kind || its_lease != *lease))
      break;
    if (!one)
      return 1; /* drops the entry: the body is empty */
    *kind = its_kind;
    *lease = its_lease;
    if (its_kind == HD_SPOOL_FINISH) {
      hd_strbuf_add(body, one);
      return 1;
    }
    hd_strbuf_printf(body, "%s%s", n ? "," : "{\"measurements\":[", one);
  }
  hd_strbuf_add(body, "]}");
  return n;
}

heddle_status hd_spool_send(heddle_context *ctx, hd_journal *spool, hd_http *http, double timeout_s,
                            hd_http_answer *answer, hd_sent *sent, int64_t *lease,
                            hd_spool_kind *kind) {
  hd_strbuf body = {0}, path = {0};
  *sent = HD_SENT_NOTHING;
  *lease = 0;
  *kind = HD_SPOOL_MEASUREMENT;
  if (hd_journal_count(spool) == 0)
    return HEDDLE_OK;
  size_t n = make_body(spool, &body, kind, lease);
  *sent = HD_SENT_REFUSED;
  if (body.len) {
    hd_strbuf_printf(&path, "/v1/leases/%lld/%s", (long long)*lease, verbs[*kind]);
    (void)hd_http_ask(NULL, http, hd_strbuf_text(&path), hd_strbuf_text(&body), NULL, timeout_s,
                      answer);
    *sent = answer->status >= 200 && answer->status < 300 ? HD_SENT_TAKEN
            : hd_http_is_temporary(answer)                ? HD_SENT_LATER
                                                          : HD_SENT_REFUSED;
  }
  hd_strbuf_free(&body);
  hd_strbuf_free(&path);
  return *sent == HD_SENT_LATER ? HEDDLE_OK : hd_journal_drop(ctx, spool, n);
}
