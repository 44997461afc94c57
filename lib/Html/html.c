#include "Html/html.h"

#include <ctype.h>
#include <string.h>

#include "Support/arena.h"

void hd_html_text(hd_strbuf *out, const char *text) {
  for (; *text; text++) {
    const char *as = *text == '<'   ? "&lt;"
                     : *text == '>' ? "&gt;"
                     : *text == '&' ? "&amp;"
                     : *text == '"' ? "&quot;"
                                    : NULL;
    if (as)
      hd_strbuf_add(out, as);
    else
      hd_strbuf_addn(out, text, 1);
  }
}

void hd_html_query(hd_strbuf *out, const char *text) {
  for (; *text; text++)
    if (isalnum((unsigned char)*text) || strchr("-_.", *text))
      hd_strbuf_addn(out, text, 1);
    else
      hd_strbuf_printf(out, "%%%02X", (unsigned char)*text);
}

const char *hd_html_style(void) {
  static const char style[] =
#define HD_SCHEMA(name, text) text
#include "style.inc"
#undef HD_SCHEMA
      ;
  return style;
}

static void begin_head(hd_strbuf *out, const char *title) {
  hd_strbuf_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\"><title>Heddle: ");
  hd_html_text(out, title);
  hd_strbuf_add(out, "</title>");
}

void hd_html_begin_alone(hd_strbuf *out, const char *title) {
  begin_head(out, title);
  hd_strbuf_printf(out, "<style>\n%s</style></head><body><main><h1>", hd_html_style());
  hd_html_text(out, title);
  hd_strbuf_add(out, "</h1>\n");
}

void hd_html_begin(hd_strbuf *out, const char *title, const hd_html_entry *entries, int n,
                   const char *here) {
  begin_head(out, title);
  hd_strbuf_add(out, "<link rel=\"stylesheet\" href=\"/style.css\"></head><body><header>"
                     "<strong>Heddle</strong><nav>");
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(out, "<a href=\"%s\"%s>%s</a>", entries[i].path,
                     strcmp(entries[i].path, here) == 0 ? " aria-current=\"page\"" : "",
                     entries[i].title);
  hd_strbuf_add(out, "</nav></header><main><h1>");
  hd_html_text(out, title);
  hd_strbuf_add(out, "</h1>\n");
}

void hd_html_end(hd_strbuf *out) {
  hd_strbuf_add(out, "</main></body></html>\n");
}

/* ---- tables ---- */

/* Numbers and their titles are right-aligned. */
static const char *class_of(const hd_html_column *column) {
  return column->number ? " class=\"r\"" : "";
}

void hd_html_table(hd_strbuf *out, const char *heading, const void *rows, int n_rows,
                   const hd_html_column *columns, int n, const char *none) {
  if (heading)
    hd_strbuf_printf(out, "<h2>%s</h2>\n", heading);
  if (!n_rows) {
    hd_strbuf_printf(out, "<p class=\"none\">%s</p>\n", none);
    return;
  }
  hd_strbuf_add(out, "<table><thead><tr>");
  for (int k = 0; k < n; k++)
    hd_strbuf_printf(out, "<th%s>%s</th>", class_of(&columns[k]), columns[k].title);
  hd_strbuf_add(out, "</tr></thead><tbody>\n");
  for (int i = 0; i < n_rows; i++) {
    hd_strbuf_add(out, "<tr>");
    for (int k = 0; k < n; k++) {
      hd_strbuf_printf(out, "<td%s>", class_of(&columns[k]));
      columns[k].cell(out, rows, i, columns[k].col);
      hd_strbuf_add(out, "</td>");
    }
    hd_strbuf_add(out, "</tr>\n");
  }
  hd_strbuf_add(out, "</tbody></table>\n");
}

void hd_html_number(hd_strbuf *out, double value, int decimals) {
  hd_strbuf_printf(out, "<span class=\"n\">%.*f</span>", decimals, value);
}

void hd_html_bar(hd_strbuf *out, double part, const char *class) {
  part = part < 0 ? 0 : part > 1 ? 1 : part;
  hd_strbuf_printf(out,
                   "<svg class=\"bar %s\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
                   "aria-hidden=\"true\"><rect width=\"%.2f\" height=\"10\"/></svg>",
                   class, part * 100);
}

void hd_html_time(hd_strbuf *out, const char *time) {
  hd_strbuf_printf(out, "<time datetime=\"%s\">%.10s %.8s</time>", time, time, time + 11);
}

void hd_html_code(hd_strbuf *out, const char *text) {
  hd_strbuf_add(out, "<code>");
  hd_html_text(out, text);
  hd_strbuf_add(out, "</code>");
}

void hd_html_hash(hd_strbuf *out, const char *text) {
  hd_strbuf_add(out, "<code title=\"");
  hd_html_text(out, text);
  hd_strbuf_add(out, "\">");
  for (int i = 0; i < 8 && text[i]; i++)
    hd_html_text(out, (char[]){text[i], '\0'});
  hd_strbuf_add(out, "</code>");
}

void hd_html_duration(hd_strbuf *out, double seconds) {
  static const struct {
    double seconds;
    const char *unit;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  size_t i = 0;
  while (i < HD_COUNT(units) - 1 && seconds < 2 * units[i].seconds)
    i++;
  hd_strbuf_printf(out, "<span class=\"n\">%.0f %s</span>", seconds / units[i].seconds,
                   units[i].unit);
}
