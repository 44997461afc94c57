/* Bundles: the current choices, frozen and signed; the signed bytes are the body of GET
 * /v1/choices. */
#include <sodium.h>
#include <string.h>

#include "Service/service_state.h"
#include "Support/memory.h"

static const char *hex(hd_arena *arena, const unsigned char *bytes, size_t n) {
  char *text = hd_arena_alloc(arena, 2 * n + 1);
  return sodium_bin2hex(text, 2 * n + 1, bytes, n);
}

void hd_route_public_key(hd_request *r) {
  hd_answer_json(r, 200,
                 json_pack("{ss, ss}", "algorithm", "ed25519", "key",
                           hex(&r->arena, r->service->config->key + 32, 32)));
}

void hd_route_make_bundle(hd_request *r) {
  unsigned char hash[32], signature[crypto_sign_BYTES];
  hd_rows rows;
  int64_t serial;
  if (!hd_begin(r) || !hd_serial_take(r, &serial) || /* blocks changes until the end */
      !HD_RUN(r, heads_of_class, &rows, "t", hd_text_of(r->body, "class", "")))
    return;
  char *body = hd_choices_text(&rows, serial);
  const unsigned char *bytes = (const unsigned char *)body;
  crypto_generichash(hash, sizeof hash, bytes, strlen(body), NULL, 0);
  crypto_sign_detached(signature, NULL, bytes, strlen(body), r->service->config->key);
  bool ok = HD_RUN(r, bundle_add, &rows, "iitttt", serial, (int64_t)rows.n,
                   hex(&r->arena, hash, sizeof hash), hex(&r->arena, signature, sizeof signature),
                   hd_text_of(r->body, "note", NULL), body);
  hd_free(body);
  if (!ok)
    return;
  int64_t bundle = hd_cell_int(&rows, 0, 0);
  if (hd_event(r, "bundle", 0, 0, "bundle %lld", (long long)bundle) &&
      HD_RUN(r, bundles, &rows, "i", bundle))
    hd_answer_json(r, 200, hd_row_json(&rows, 0));
}

/* Gets the body and signature of a bundle; refuses an unknown one. */
static bool get_bundle(hd_request *r, int64_t bundle, hd_rows *rows) {
  return HD_RUN(r, bundle_get, rows, "i", bundle) &&
         (rows->n || hd_refuse_id(r, HD_RULE_BUNDLE_NONE, bundle));
}

void hd_route_bundle(hd_request *r) {
  hd_rows rows;
  if (!get_bundle(r, r->path[0], &rows))
    return;
  hd_answer_text(r, 200, "application/json", hd_xstrdup(hd_cell_text(&rows, 0, 0)));
  hd_answer_header(r, "Heddle-Signature", "%s", hd_cell_text(&rows, 0, 1));
}

/* ---- diff ---- */

static json_t *by_name(hd_request *r, const char *body) {
  json_t *root = json_loads(body, 0, NULL), *map = json_object(), *choice;
  size_t i;
  json_array_foreach(json_object_get(root, "choices"), i, choice) {
    const char *name =
        hd_arena_printf(&r->arena, "%s\n%s\n%s", hd_text_of(choice, "product", ""),
                        hd_text_of(choice, "class", ""), hd_text_of(choice, "policy", ""));
    json_object_set(map, name, choice);
  }
  json_decref(root);
  return map;
}

static void add_change(json_t *changes, json_t *from, json_t *to) {
  const json_t *any = from ? from : to;
  json_t *change = json_pack("{ss, ss, ss}", "product", hd_text_of(any, "product", ""), "class",
                             hd_text_of(any, "class", ""), "policy", hd_text_of(any, "policy", ""));
  if (from)
    json_object_set(change, "from", from);
  if (to)
    json_object_set(change, "to", to);
  json_array_append_new(changes, change);
}

void hd_route_bundle_diff(hd_request *r) {
  hd_rows from, to;
  const char *name;
  json_t *choice;
  if (!get_bundle(r, r->path[0], &from) || !get_bundle(r, r->path[1], &to))
    return;
  json_t *changes = json_array();
  json_t *x = by_name(r, hd_cell_text(&from, 0, 0)), *y = by_name(r, hd_cell_text(&to, 0, 0));
  json_object_foreach(x, name, choice) {
    json_t *other = json_object_get(y, name);
    if (hd_int_of(other, "version", 0) != hd_int_of(choice, "version", 0))
      add_change(changes, choice, other);
  }
  json_object_foreach(y, name, choice) {
    if (!json_object_get(x, name))
      add_change(changes, NULL, choice);
  }
  json_decref(x);
  json_decref(y);
  hd_answer_json(r, 200, json_pack("{so}", "changes", changes));
}
