/* heddle layout: which thread, register and bits hold which element. */
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"
#include "Support/arena.h"
#include "Support/strbuf.h"
#include "cli.h"
#include "commands.h"
#include "layout_picture.h"
#include "layout_shared.h"

enum { MAX_SELECTORS = 32 /* of any operand's fragment */ };

typedef struct layout_options {
  const char *operand, *format;
  int64_t selector;
  layout_form form; /* for operands in shared memory */
} layout_options;

static int compare_entries(const void *a, const void *b) {
  const layout_entry *x = a, *y = b;
  if (x->lane != y->lane)
    return x->lane < y->lane ? -1 : 1;
  if (x->reg != y->reg)
    return x->reg < y->reg ? -1 : 1;
  return (x->bit_lo > y->bit_lo) - (x->bit_lo < y->bit_lo);
}

/* ---- registers and tensor memory ---- */

static void fragment_entries(const hd_fragment *f, layout_picture *p) {
  unsigned n_fields = 1u << f->map.in[2].bits;
  for (unsigned lane = 0; lane < f->n_lanes; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned field = 0; field < n_fields; field++) {
        layout_entry e = {.lane = lane, .reg = f->reg_base + reg};
        if (!hd_fragment_at(f, lane, reg, field, &e.row, &e.col))
          continue;
        e.bit_lo = (f->field_base + field) * f->field_bits;
        e.bit_hi = e.bit_lo + f->field_bits - 1;
        HD_PUSH(p->entry, p->n, p->cap, e);
      }
  p->rows = f->rows;
  p->cols = f->cols;
  p->col_step = f->col_step;
  p->map = f->map;
  p->space = f->space == HD_SPACE_TENSOR ? "tensor" : "register";
}

/* ---- the command ---- */

static int find_row(const char *text, const hd_spec_row **row) {
  *row = hd_spec_find(text);
  if (*row)
    return CLI_GO;
  const char *best = NULL;
  if (!strchr(text, '.')) {
    const char **names = hd_xmalloc(hd_spec_count() * sizeof *names);
    for (size_t i = 0; i < hd_spec_count(); i++)
      names[i] = hd_spec_get(i)->name;
    best = cli_nearest(text, names, hd_spec_count());
    hd_free(names);
    return cli_usage_error("spec.row", "no row '%s'; nearest: %s", text, best);
  }
  char reason[512] = "";
  hd_legal_query query = {.target = hd_target_get(0), .selector = -1};
  hd_spec_legal_text(text, &query, reason, sizeof reason);
  return cli_usage_error("spec.row", "'%s': %s", text, reason);
}

/* A wgmma instruction text stands for two rows. If A is requested by text, returns the row with A
 * in registers, because only that row has a layout. */
static const hd_spec_row *with_fragment(const char *text, const hd_spec_row *row,
                                        hd_operand_id id) {
  for (size_t i = 0; strchr(text, '.') && !row->fragment[id] && i < hd_spec_count(); i++) {
    const hd_spec_row *twin = hd_spec_get(i);
    if (twin->family == row->family && twin->fragment[id] && !strcmp(twin->ptx, row->ptx))
      return twin;
  }
  return row;
}

static int find_operand(const char *text, hd_operand_id *id) {
  const char *names[HD_N_OPERANDS];
  for (int i = 0; i < HD_N_OPERANDS; i++) {
    names[i] = hd_operand_name((hd_operand_id)i);
    if (!strcmp(text, names[i])) {
      *id = (hd_operand_id)i;
      return CLI_GO;
    }
  }
  return cli_usage_error("layout.operand", "unknown operand '%s'; nearest: %s", text,
                         cli_nearest(text, names, HD_N_OPERANDS));
}

/* Lists the legal selectors of the operand: "0" if there is only one, "0..1", or "0, 2, 4, 6"
 * (byte-id + 4 * thread-id). */
static int refuse_selector(const hd_spec_row *row, hd_operand_id id, int64_t selector) {
  hd_fragment f;
  hd_strbuf list = {0};
  unsigned n = 0, last = 0;
  for (unsigned s = 0; s < MAX_SELECTORS; s++)
    if (hd_spec_fragment(row, id, s, &f) == HEDDLE_OK) {
      hd_strbuf_printf(&list, "%s%u", n ? ", " : "", s);
      last = s;
      n++;
    }
  if (last == 0 || last + 1 == n) {
    hd_strbuf_free(&list);
    hd_strbuf_printf(&list, last ? "0..%u" : "%u", last);
  }
  int code = cli_usage_error("spec.selector", "selector %lld of operand %s; legal: %s",
                             (long long)selector, hd_operand_name(id), hd_strbuf_text(&list));
  hd_strbuf_free(&list);
  return code;
}

static int collect(const hd_spec_row *row, hd_operand_id id, const layout_options *o,
                   layout_picture *p) {
  hd_fragment fragment;
  if (row->operand[id].space == HD_SPACE_SHARED &&
      (row->family == HD_FAMILY_WGMMA_SP || row->family == HD_FAMILY_TCGEN05_SP))
    return o->selector ? refuse_selector(row, id, o->selector)
                       : layout_shared_entries(row, id, &o->form, p);
  if (!row->fragment[id]) {
    cli_usage_error("layout.operand", "%s has no known layout for operand %s", row->name,
                    hd_operand_name(id));
    return 3;
  }
  bool named = o->selector >= 0 && o->selector < MAX_SELECTORS;
  if (!named || hd_spec_fragment(row, id, (unsigned)o->selector, &fragment) != HEDDLE_OK)
    return refuse_selector(row, id, o->selector);
  fragment_entries(&fragment, p);
  return CLI_GO;
}

static int print_picture(const layout_picture *p, const char *format) {
  static const char *const formats[] = {"json", "table", "svg"};
  if (!strcmp(format, "json"))
    layout_print_json(p);
  else if (!strcmp(format, "table"))
    layout_print_table(p);
  else if (!strcmp(format, "svg"))
    layout_print_svg(p);
  else
    return cli_usage_error("cli.format", "unknown format '%s'; nearest: %s", format,
                           cli_nearest(format, formats, 3));
  return 0;
}

static int print_layout(const char *text, const layout_options *o) {
  const hd_spec_row *row = NULL;
  hd_operand_id id = HD_OPERAND_D;
  int code = find_row(text, &row);
  if (code == CLI_GO)
    code = find_operand(o->operand, &id);
  if (code != CLI_GO)
    return code;
  row = with_fragment(text, row, id);
  layout_picture p = {
      .row = row, .operand = hd_operand_name(id), .selector = (unsigned)o->selector};
  if (id == HD_OPERAND_C && row->operand[id].space == HD_SPACE_NONE)
    id = HD_OPERAND_D; /* the accumulators are read in place */
  code = collect(row, id, o, &p);
  if (code == CLI_GO) {
    qsort(p.entry, p.n, sizeof *p.entry, compare_entries);
    code = print_picture(&p, o->format);
  }
  hd_free(p.entry);
  return code;
}

int cmd_layout(int argc, char **argv) {
  layout_options o = {.operand = "d", .format = "table", .form = {.swizzle = "none", .major = "k"}};
  const cli_option options[] = {
      {"operand", CLI_TEXT, &o.operand, "a|b|c|d|meta|scale_a|scale_b", "default: d"},
      {"selector", CLI_INT, &o.selector, "N",
       "sparsity selector; for scales byte-id + 4 * thread-id (default 0)"},
      {"format", CLI_TEXT, &o.format, "json|table|svg", "default: table"},
      {"swizzle", CLI_TEXT, &o.form.swizzle, "none|32|64|128",
       "operands in shared memory: swizzle bytes"},
      {"major", CLI_TEXT, &o.form.major, "k|mn",
       "operands in shared memory: which index is contiguous"},
      {"lbo", CLI_INT, &o.form.lbo, "BYTES", "leading dimension byte offset (default: no gaps)"},
      {"sbo", CLI_INT, &o.form.sbo, "BYTES", "stride dimension byte offset (default: no gaps)"},
      {0}};
  const cli_command command = {
      .usage = "layout ROW [--operand X] [--selector N] [--format json|table|svg]",
      .about =
          "ROW is the name of a row of heddle list, or its PTX instruction. For operand a, col is "
          "the\n"
          "compressed column. For b, row is k and col is n. For meta, (row, col) is the first "
          "element of\n"
          "the group that the four bits describe. For operands in shared memory, reg is the 32-bit "
          "word;\n"
          "bits past 31 continue in the next word. For tcgen05.ld and st, row and col are the lane "
          "and\n"
          "the column of tensor memory.",
      .examples =
          "heddle layout mma_sp_ordered_m16n8k32_f32_f16_f16 --operand meta --selector 1\n"
          "heddle layout wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16 --operand d "
          "--format json\n"
          "heddle layout wgmma_sp_ss_m64n64k32_f32_f16_f16 --operand b --swizzle 64\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  const char *args[1];
  int n, code = cli_parse(&command, argc, argv, args, &n);
  return code == CLI_GO ? print_layout(args[0], &o) : code;
}
