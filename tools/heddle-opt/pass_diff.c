#include "pass_diff.h"

#include <ctype.h>
#include <string.h>

#include "Html/html.h"
#include "IR/op_info.h"
#include "Support/arena.h"
#include "Support/file.h"
#include "Support/hash.h"

/* ---- lines ---- */

/* Lines are compared by `key`, a hash of the text without indentation and without the numbers of
 * unnamed values, which every pass changes. `match`: index of the matching line; -1: none. */
typedef struct line {
  const char *text;
  int32_t length, match;
  uint64_t key;
} line;

typedef struct lines {
  line *list; /* owned */
  int32_t n, cap;
} lines;

static uint64_t key_of(const char *text, int32_t length) {
  uint64_t key = 0;
  bool number = false, begun = false;
  for (int32_t i = 0; i < length; i++) {
    number = isdigit((unsigned char)text[i]) && (number || (i && text[i - 1] == '%'));
    begun = begun || text[i] != ' ';
    if (begun && !number)
      key = hd_hash_mix(key + (unsigned char)text[i] + 1);
  }
  return key;
}

static lines lines_of(const char *text) {
  lines l = {0};
  for (const char *end; *text; text = *end ? end + 1 : end) {
    end = text + strcspn(text, "\n");
    int32_t length = (int32_t)(end - text);
    HD_PUSH(l.list, l.n, l.cap, ((line){text, length, -1, key_of(text, length)}));
  }
  return l;
}

/* ---- which lines stay ---- */

/* Lengths of the longest common subsequences of x[0 … nx) with each y[0 … k). With step -1, counts
 * from the ends. row has ny + 1 elements. */
static void common_lengths(const line *x, int32_t nx, const line *y, int32_t ny, int step,
                           int32_t *row) {
  memset(row, 0, sizeof *row * (size_t)(ny + 1));
  for (int32_t i = 0; i < nx; i++)
    for (int32_t k = 0, corner = 0; k < ny; k++) {
      int32_t above = row[k + 1];
      bool same = x[step * i].key == y[step * k].key;
      row[k + 1] = same ? corner + 1 : above > row[k] ? above : row[k];
      corner = above;
    }
}

/* Matches the lines of a longest common subsequence (Hirschberg: splits x in half, and y where the
 * two parts have the most in common). */
static void match_lines(line *x, int32_t nx, line *y, int32_t ny, const line *y_all) {
  for (; nx && ny && x->key == y->key; x++, y++, nx--, ny--)
    x->match = (int32_t)(y - y_all);
  for (; nx && ny && x[nx - 1].key == y[ny - 1].key; nx--, ny--)
    x[nx - 1].match = (int32_t)(y + ny - 1 - y_all);
  for (int32_t k = 0; nx == 1 && k < ny && x->match < 0; k++)
    if (x->key == y[k].key)
      x->match = (int32_t)(y + k - y_all);
  if (nx < 2 || !ny)
    return;
  int32_t half = nx / 2, best = 0;
  int32_t *front = hd_xmalloc(2 * sizeof *front * (size_t)(ny + 1)), *back = front + ny + 1;
  common_lengths(x, half, y, ny, 1, front);
  common_lengths(x + nx - 1, nx - half, y + ny - 1, ny, -1, back);
  for (int32_t k = 1; k <= ny; k++)
    if (front[k] + back[ny - k] > front[best] + back[ny - best])
      best = k;
  hd_free(front);
  match_lines(x, half, y, best, y_all);
  match_lines(x + half, nx - half, y + best, ny - best, y_all);
}

/* ---- a line ---- */

/* Classes of ops by effect, from ops.def. A class has a colour. */
static const struct op_class {
  const char *class, *about;
} classes[] = {{"op-sync", "synchronisation"},
               {"op-mma", "multiplication"},
               {"op-memory", "memory"},
               {"op-region", "regions"},
               {"op-value", "values and declarations"}};
enum { OP_SYNC, OP_MMA, OP_MEMORY, OP_REGION, OP_VALUE };

static const char *class_of(hd_op_kind kind) {
  const uint32_t memory = HD_EFFECT_RD_GLOBAL | HD_EFFECT_WR_GLOBAL | HD_EFFECT_RD_SHARED |
                          HD_EFFECT_WR_SHARED | HD_EFFECT_RD_TMEM | HD_EFFECT_WR_TMEM;
  const hd_op_info *info = hd_op_get_info(kind);
  uint32_t effects = hd_op_effects(kind);
  int class = hd_find_word(info->effects_text, "sync") ? OP_SYNC
              : hd_attr_get_use(kind, HD_ATTR_SELECTOR) != HD_ATTR_REFUSED || kind == HD_OP_MATMUL
                  ? OP_MMA
              : effects & memory ? OP_MEMORY
              : info->n_regions  ? OP_REGION
                                 : OP_VALUE;
  return classes[class].class;
}

/* The position of the op's name, after the results if it has any. */
static const char *op_of(const line *l, size_t *length) {
  const char *end = l->text + l->length, *at = l->text;
  while (at < end && *at == ' ')
    at++;
  for (const char *k = at; *at == '%' && k + 3 < end; k++)
    if (!strncmp(k, " = ", 3)) {
      at = k + 3;
      break;
    }
  *length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789._");
  return *length && at + *length <= end ? at : NULL;
}

static void add_text(hd_strbuf *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++)
    hd_html_text(out, (char[]){text[i], '\0'});
}

static void add_line(hd_strbuf *out, const line *l, const char *class) {
  char name[64] = "";
  size_t n = 0;
  const char *op = l ? op_of(l, &n) : NULL;
  hd_op_kind kind = HD_N_OPS;
  if (op && n < sizeof name) {
    memcpy(name, op, n);
    kind = hd_op_find_kind(name);
  }
  hd_strbuf_printf(out, "<td class=\"%s\">", class);
  if (l && kind == HD_N_OPS)
    add_text(out, l->text, (size_t)l->length);
  else if (l) {
    add_text(out, l->text, (size_t)(op - l->text));
    hd_strbuf_printf(out, "<b class=\"%s\">%s</b>", class_of(kind), name);
    add_text(out, op + n, (size_t)(l->text + l->length - op) - n);
  }
  hd_strbuf_add(out, "</td>");
}

/* ---- a section ---- */

static void add_row(hd_strbuf *out, const line *old, const line *new, bool same) {
  hd_strbuf_add(out, "<tr>");
  add_line(out, old, same ? "" : old ? "old" : "none");
  add_line(out, new, same ? "" : new ? "new" : "none");
  hd_strbuf_add(out, "</tr>\n");
}

/* Prints n unchanged lines. Of more than a few, the inner ones are folded. */
static void add_same(hd_strbuf *out, const line *old, const line *new, int32_t n) {
  enum { AROUND = 2, FEW = 8 };
  for (int32_t i = 0; i < n; i++) {
    bool folds = n > FEW;
    if (folds && i == AROUND)
      hd_strbuf_printf(
          out, "</table>\n"
               "<details><summary>%d unchanged lines</summary><table class=\"diff\">\n",
          n - 2 * AROUND);
    if (folds && i == n - AROUND)
      hd_strbuf_add(out, "</table></details>\n<table class=\"diff\">\n");
    add_row(out, &old[i], &new[i], true);
  }
}

/* Prints unchanged lines up to the next change, then removed lines beside added ones. */
static void add_changes(hd_strbuf *out, const lines *old, const lines *new) {
  hd_strbuf_add(out, "<table class=\"diff\">\n");
  for (int32_t i = 0, k = 0; i < old->n || k < new->n;) {
    int32_t same = 0, went = 0, came = 0;
    while (i + same < old->n && old->list[i + same].match == k + same)
      same++;
    if (same)
      add_same(out, &old->list[i], &new->list[k], same);
    i += same;
    k += same;
    while (i + went < old->n && old->list[i + went].match < 0)
      went++;
    int32_t next = i + went < old->n ? old->list[i + went].match : new->n;
    came = next - k;
    for (int32_t row = 0; row < went || row < came; row++)
      add_row(out, row < went ? &old->list[i + row] : NULL, row < came ? &new->list[k + row] : NULL,
              false);
    i += went;
    k += came;
  }
  hd_strbuf_add(out, "</table>\n");
}

static char *text_of(const hd_module *module) {
  hd_strbuf text = {0};
  hd_print(module, &text);
  return hd_strbuf_take(&text);
}

void pass_diff_begin(pass_diff *d, const hd_module *module) {
  d->before = text_of(module);
}

void pass_diff_add(pass_diff *d, const hd_pass *pass, const hd_module *module) {
  char *after = text_of(module);
  lines old = lines_of(d->before), new = lines_of(after);
  int32_t stay = 0;
  match_lines(old.list, old.n, new.list, new.n, new.list);
  for (int32_t i = 0; i < old.n; i++)
    stay += old.list[i].match >= 0;
  hd_strbuf_printf(&d->contents,
                   "<tr><td><a href=\"#%s\">%s</a></td><td class=\"r n\">%d</td><td class=\"r n\">"
                   "%d</td><td class=\"r n\">%d</td><td>%s</td></tr>\n",
                   pass->name, pass->name, old.n - stay, new.n - stay, stay, pass->doc);
  hd_strbuf_printf(&d->sections, "<h2 id=\"%s\">%s</h2>\n<p>%s</p>\n", pass->name, pass->name,
                   pass->doc);
  if (stay == old.n && stay == new.n)
    hd_strbuf_add(&d->sections, "<p class=\"none\">It changes nothing.</p>\n");
  else
    add_changes(&d->sections, &old, &new);
  hd_free(old.list);
  hd_free(new.list);
  hd_free(d->before);
  d->before = after;
}

/* ---- the page ---- */

heddle_status pass_diff_write(heddle_context *ctx, const pass_diff *d, const char *path) {
  hd_strbuf out = {0};
  hd_html_begin_alone(&out, "What each pass changes");
  hd_strbuf_add(&out, "<table><thead><tr><th>pass</th><th class=\"r\">lines removed</th><th "
                      "class=\"r\">added</th><th "
                      "class=\"r\">unchanged</th><th>result</th></tr></thead><tbody>\n");
  hd_strbuf_add(&out, hd_strbuf_text(&d->contents));
  hd_strbuf_add(&out, "</tbody></table>\n"
                      "<p>Left: before the pass. Right: after it. Indentation and numbers of "
                      "values (<code>%12</code>) are not compared. Ops:");
  for (size_t i = 0; i < HD_COUNT(classes); i++)
    hd_strbuf_printf(&out, " <b class=\"%s\">%s</b>%s", classes[i].class, classes[i].about,
                     i + 1 < HD_COUNT(classes) ? "," : "; docs/ir.md describes each.</p>\n");
  hd_strbuf_add(&out, hd_strbuf_text(&d->sections));
  hd_html_end(&out);
  heddle_status status = hd_file_write(ctx, path, hd_strbuf_text(&out), out.len);
  hd_strbuf_free(&out);
  return status;
}

void pass_diff_free(pass_diff *d) {
  hd_strbuf_free(&d->contents);
  hd_strbuf_free(&d->sections);
  hd_free(d->before);
  *d = (pass_diff){0};
}
