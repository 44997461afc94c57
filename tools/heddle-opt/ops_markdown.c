#include <string.h>

#include "opt.h"

/* Writes the names of the levels, one per letter. */
static void add_levels(hd_strbuf *out, const char *levels) {
  static const char *const names[] = {"P", "problem", "T", "tile", "R", "role", "S", "sync"};
  for (const char *c = levels; *c; c++)
    for (size_t i = 0; i < HD_COUNT(names); i += 2)
      if (*names[i] == *c)
        hd_strbuf_printf(out, "%s%s", c == levels ? "" : ", ", names[i + 1]);
}

static const char *letter_text(char letter) {
  static const char *const texts[] = {"i:i32",     "l:i64",    "b:i1",     "f:f32",
                                      "p:ptr",     "t:tmap",   "m:matrix", "s:buffer",
                                      "r:barrier", "c:cursor", "g:frag",   ".:any"};
  for (size_t i = 0; i < HD_COUNT(texts); i++)
    if (*texts[i] == letter)
      return texts[i] + 2;
  return "?";
}

/* Formats letters "iii.*" and names "lo hi step carried " as `lo: i32, hi: i32, step: i32, carried:
 * any…`. */
static void add_values(hd_strbuf *out, const char *letters, const char *names) {
  for (const char *c = letters; *c; c++) {
    int length = (int)strcspn(names, " ");
    hd_strbuf_printf(out, "%s%.*s%s%s", c == letters ? "" : ", ", length, names, length ? ": " : "",
                     letter_text(*c));
    if (c[1] == '?' || c[1] == '*')
      hd_strbuf_add(out, *++c == '?' ? " or none" : "…");
    names += length + (length > 0);
  }
  if (!*letters)
    hd_strbuf_add(out, "none");
}

static void add_attributes(hd_strbuf *out, const char *list) {
  for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ') {
    size_t n = strcspn(p, " ");
    bool required = p[n - 1] == '!';
    const char *bold = required ? "**" : "";
    hd_strbuf_printf(out, "%s%s`%.*s`%s", p == list ? "" : ", ", bold, (int)(n - required), p,
                     bold);
  }
  if (!*list)
    hd_strbuf_add(out, "none");
}

static void add_op(hd_strbuf *out, const hd_op_info *info) {
  hd_strbuf_printf(out, "\n### %s\n\n%s\n\n", info->text, info->doc);
  hd_strbuf_add(out, "- levels: ");
  add_levels(out, info->levels);
  hd_strbuf_add(out, "\n- operands: ");
  add_values(out, info->operands, info->operand_names);
  hd_strbuf_add(out, "\n- results: ");
  add_values(out, info->results, "");
  hd_strbuf_add(out, "\n- attributes: ");
  add_attributes(out, info->attributes);
  if (info->n_regions)
    hd_strbuf_printf(out, "\n- regions: %d", info->n_regions);
  if (info->issuer != HD_BY_NONE)
    hd_strbuf_printf(out, "\n- issued by: %s", info->issuer_text);
  if (*info->effects_text)
    hd_strbuf_printf(out, "\n- effects: %s", info->effects_text);
  hd_strbuf_add(out, "\n");
}

void opt_ops_markdown(hd_strbuf *out) {
  static const char *const kinds[] = {
      [HD_ATTR_KIND_INT] = "`N`",       [HD_ATTR_KIND_STRING] = "`\"text\"`",
      [HD_ATTR_KIND_SYMBOL] = "`word`", [HD_ATTR_KIND_ARG] = "`ldb`",
      [HD_ATTR_KIND_ELEM] = "`bf16`",
      [HD_ATTR_KIND_INTS] = "`[1, 2]`", [HD_ATTR_KIND_EXPRS] = "`[\"k\", \"ldb*2\"]`",
      [HD_ATTR_KIND_FLAG] = "nothing"};
  hd_strbuf_printf(out, "\n## Ops\n\nThere are %d; attributes in bold must be given.\n",
                   (int)HD_N_OPS);
  for (int kind = 0; kind < HD_N_OPS; kind++)
    add_op(out, hd_op_get_info((hd_op_kind)kind));
  hd_strbuf_add(out, "\n## Attributes\n\n| attribute | value |\n| --- | --- |\n");
  for (int key = 0; key < HD_N_ATTRS; key++)
    hd_strbuf_printf(out, "| `%s` | %s |\n", hd_attr_name((hd_attr_key)key),
                     kinds[hd_attr_get_kind((hd_attr_key)key)]);
}
