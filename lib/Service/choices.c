/* Versions of a choice, manual decisions (each with an event), and the history of a product. */
#include <math.h>
#include <string.h>

#include "Service/decide.h"
#include "Service/service_state.h"
#include "Support/statistics.h"

/* ---- versions and heads ---- */

bool hd_serial_take(hd_request *r, int64_t *serial) {
  hd_rows rows;
  if (!HD_RUN(r, serial_next, &rows, ""))
    return false;
  *serial = hd_cell_int(&rows, 0, 0);
  return true;
}

bool hd_version_next(hd_request *r, const hd_subject *s, int64_t *version) {
  hd_rows rows;
  if (!HD_RUN(r, version_last, &rows, "ttt", s->product, s->class, s->policy))
    return false;
  *version = hd_cell_int(&rows, 0, 0) + 1;
  return true;
}

bool hd_version_copy(hd_request *r, const hd_subject *s, int64_t of, int64_t version,
                     const char *origin, const char *build) {
  hd_rows rows;
  return HD_RUN(r, choice_copy, &rows, "tttiitt", s->product, s->class, s->policy, of, version,
                origin, build);
}

bool hd_head_get(hd_request *r, const hd_subject *s, hd_rows *rows) {
  return HD_RUN(r, head_get, rows, "ttt", s->product, s->class, s->policy);
}

bool hd_head_set(hd_request *r, const hd_subject *s, int64_t version, int64_t serial, bool pinned) {
  hd_rows rows;
  r->wakes_choices = true;
  return HD_RUN(r, head_set, &rows, "tttiii", s->product, s->class, s->policy, version, serial,
                (int64_t)pinned);
}

/* ---- manual decisions ---- */

/* The subject of an administrator's request. */
typedef struct decision {
  hd_subject of;
  int64_t version, serial;
} decision;

static hd_subject subject_of(const json_t *object) {
  return (hd_subject){hd_text_of(object, "product", ""), hd_text_of(object, "class", ""),
                      hd_text_of(object, "policy", "default")};
}

/* Reads the request and begins the transaction. */
static bool begin(hd_request *r, decision *d) {
  *d = (decision){subject_of(r->body), hd_int_of(r->body, "version", 0), 0};
  return hd_begin(r) && hd_serial_take(r, &d->serial);
}

static bool refuse_version(hd_request *r, const decision *d) {
  return hd_refuse(r, HD_RULE_VERSION_NONE, "version",
                   hd_arena_printf(&r->arena, "%lld", (long long)d->version),
                   "a version of GET /v1/history", NULL);
}

/* Gets a version; columns of version_get. */
static bool get_version(hd_request *r, const decision *d, hd_rows *rows) {
  return HD_RUN(r, version_get, rows, "ttti", d->of.product, d->of.class, d->of.policy,
                d->version) &&
         (rows->n || refuse_version(r, d));
}

static bool set_head(hd_request *r, const decision *d, int64_t version, bool pinned) {
  return hd_head_set(r, &d->of, version, d->serial, pinned);
}

/* Copies an older version to a new one; *version is its number. */
static bool copy_version(hd_request *r, const decision *d, int64_t of, const char *origin,
                         int64_t *version) {
  return hd_version_next(r, &d->of, version) &&
         hd_version_copy(r, &d->of, of, *version, origin, "");
}

static void answer_chosen(hd_request *r, const decision *d, const char *kind, const char *what) {
  const hd_subject *s = &d->of;
  hd_rows rows;
  if (!hd_event(r, kind, 0, 0, "%s on %s (%s): %s", s->product, s->class, s->policy, what) ||
      !hd_head_get(r, s, &rows))
    return;
  json_t *out = json_object();
  if (rows.n)
    json_object_set_new(out, "choice", hd_row_json(&rows, 0));
  hd_answer_json(r, 200, out);
}

void hd_route_pin(hd_request *r) {
  decision d;
  hd_rows rows;
  if (begin(r, &d) && get_version(r, &d, &rows) && set_head(r, &d, d.version, true))
    answer_chosen(r, &d, "pinned",
                  hd_arena_printf(&r->arena, "version %lld", (long long)d.version));
}

void hd_route_unpin(hd_request *r) {
  decision d;
  hd_rows rows;
  if (!begin(r, &d) || !hd_head_get(r, &d.of, &rows) || (!rows.n && !refuse_version(r, &d)))
    return;
  if (set_head(r, &d, hd_cell_int(&rows, 0, HD_CHOICE_VERSION), false))
    answer_chosen(r, &d, "unpinned", "races decide again");
}

void hd_route_rollback(hd_request *r) {
  decision d;
  int64_t version;
  hd_rows rows;
  if (begin(r, &d) && get_version(r, &d, &rows) &&
      copy_version(r, &d, d.version, "rollback", &version) && set_head(r, &d, version, false))
    answer_chosen(r, &d, "rolled-back",
                  hd_arena_printf(&r->arena, "version %lld is version %lld again",
                                  (long long)version, (long long)d.version));
}

/* Chooses the newest version whose schedule was not rejected, else the default's schedule. */
static bool choose_another(hd_request *r, const decision *d, int64_t *version) {
  const hd_subject *s = &d->of;
  hd_rows rows;
  if (!HD_RUN(r, choice_last_good, &rows, "ttt", s->product, s->class, s->policy))
    return false;
  if (rows.n)
    return copy_version(r, d, hd_cell_int(&rows, 0, 0), "reject", version);
  return hd_version_next(r, s, version) && HD_RUN(r, choice_default, &rows, "tttii", s->product,
                                                  s->class, s->policy, d->version, *version);
}

void hd_route_reject(hd_request *r) {
  decision d;
  hd_rows rows, head;
  if (!begin(r, &d) || !get_version(r, &d, &rows))
    return;
  const char *schedule = hd_cell_text(&rows, 0, 0);
  if (strcmp(schedule, hd_cell_text(&rows, 0, 1)) == 0) {
    hd_refuse(r, HD_RULE_FIELD_VALUE, "version", schedule,
              "a version whose schedule is not the default's", NULL);
    return;
  }
  int64_t version = 0;
  if (!HD_RUN(r, rejection_add, &rows, "tttiti", d.of.product, d.of.class, d.of.policy, d.version,
              schedule, d.serial) ||
      !hd_head_get(r, &d.of, &head))
    return;
  bool is_current = strcmp(hd_cell_text(&head, 0, HD_CHOICE_SCHEDULE), schedule) == 0;
  if (is_current && (!choose_another(r, &d, &version) || !set_head(r, &d, version, false)))
    return;
  answer_chosen(r, &d, "rejected",
                hd_arena_printf(&r->arena, "version %lld; current: %lld", (long long)d.version,
                                is_current ? (long long)version
                                           : (long long)hd_cell_int(&head, 0, HD_CHOICE_VERSION)));
}

/* ---- history and drift ---- */

void hd_route_history(hd_request *r) {
  hd_subject s = subject_of(r->query);
  hd_rows versions, races;
  if (HD_RUN(r, versions, &versions, "ttt", s.product, s.class, s.policy) &&
      HD_RUN(r, races, &races, "ttt", s.product, s.class, s.policy))
    hd_answer_json(
        r, 200,
        json_pack("{so, so}", "versions", hd_rows_json(&versions), "races", hd_rows_json(&races)));
}

/* The median of the last ten leases over that of all leases; columns col and col + 2 of
 * canaries_all. */
static double drift_of(const hd_rows *rows, int begin, int n, int col) {
  double recent[20], all[1000];
  int n_recent = 0, n_all = 0;
  for (int i = 0; i < n && n_all < 999; i++)
    for (int k = col; k <= col + 2; k += 2) {
      double us = hd_cell_num(rows, begin + i, k);
      if (!(us > 0))
        continue;
      all[n_all++] = us;
      if (i < 10)
        recent[n_recent++] = us;
    }
  return hd_median(recent, n_recent) / hd_median(all, n_all);
}

json_t *hd_drift_json(const hd_rows *rows) {
  static const double DRIFT = 0.03;
  enum { MIN_LEASES = 20 };
  json_t *list = json_array();
  for (int begin = 0, end; begin < rows->n; begin = end) {
    const char *uuid = hd_cell_text(rows, begin, 0);
    for (end = begin; end < rows->n && strcmp(hd_cell_text(rows, end, 0), uuid) == 0;)
      end++;
    double read = drift_of(rows, begin, end - begin, 3),
           kernel = drift_of(rows, begin, end - begin, 4);
    bool drifted =
        end - begin >= MIN_LEASES && (fabs(read - 1) >= DRIFT || fabs(kernel - 1) >= DRIFT);
    json_t *one = json_pack("{ss, ss, si, sb}", "uuid", uuid, "class", hd_cell_text(rows, begin, 1),
                            "leases", end - begin, "drifted", (int)drifted);
    if (!isnan(read))
      json_object_set_new(one, "read", json_real(read));
    if (!isnan(kernel))
      json_object_set_new(one, "kernel", json_real(kernel));
    json_array_append_new(list, one);
  }
  return list;
}

void hd_route_drift(hd_request *r) {
  hd_rows rows;
  if (HD_RUN(r, canaries_all, &rows, ""))
    hd_answer_json(r, 200, json_pack("{so}", "gpus", hd_drift_json(&rows)));
}

/* ---- lookups reported by clients ---- */

void hd_route_uses(hd_request *r) {
  hd_rows rows;
  if (HD_RUN(r, lookup_add, &rows, "j", json_object_get(r->body, "uses")))
    hd_answer_nothing(r);
}
