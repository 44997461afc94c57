/* heddle layout: which thread, register and bits hold which element. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"
#include "Support/arena.h"
#include "Support/strbuf.h"
#include "cli.h"
#include "commands.h"
#include "layout_picture.h"

enum { MAX_SELECTORS = 32 /* of any operand */ };

typedef struct layout_options {
  const char *operand, *format, *swizzle, *major;
  int64_t selector, lbo, sbo;
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
  p->space = f->space == HD_SPACE_TENSOR ? "tensor" : "register";
}

/* ---- shared memory ---- */

/* What the 14 bits of a descriptor can say: multiples of 16 below 2^18. 0: the default. */
static int check_offset(const char *name, int64_t bytes) {
  enum { MAX_OFFSET = 0x3fff << 4 };
  if (bytes >= 0 && bytes <= MAX_OFFSET && bytes % 16 == 0)
    return CLI_GO;
  int64_t nearest = bytes < 0 ? 0 : bytes > MAX_OFFSET ? MAX_OFFSET : bytes / 16 * 16;
  return cli_usage_error("layout.offset", "--%s %lld is not a multiple of 16 up to %d; nearest: %lld",
                         name, (long long)bytes, MAX_OFFSET, (long long)nearest);
}

static int read_form(const layout_options *o, hd_canonical *form) {
  static const char *const swizzles[] = {"none", "32", "64", "128"};
  static const char *const majors[] = {"k", "mn"};
  int swizzle = -1;
  for (int i = 0; i < 4; i++)
    if (!strcmp(o->swizzle, swizzles[i]))
      swizzle = i;
  if (swizzle < 0)
    return cli_usage_error("layout.swizzle", "unknown swizzle '%s'; nearest: %s", o->swizzle,
                           cli_nearest(o->swizzle, swizzles, 4));
  if (strcmp(o->major, "k") && strcmp(o->major, "mn"))
    return cli_usage_error("layout.major", "unknown major '%s'; nearest: %s", o->major,
                           cli_nearest(o->major, majors, 2));
  int code = check_offset("lbo", o->lbo);
  if (code == CLI_GO)
    code = check_offset("sbo", o->sbo);
  if (code != CLI_GO)
    return code;
  *form = (hd_canonical){!strcmp(o->major, "mn"), (hd_smem_swizzle)swizzle, (uint32_t)o->lbo,
                         (uint32_t)o->sbo};
  return CLI_GO;
}

/* Offsets that lay the tile out without gaps, where the user gave none. */
static void default_offsets(hd_canonical *form, unsigned e, uint32_t mn, uint32_t k) {
  uint32_t s = 16u << form->swizzle;
  (void)k;
  if (form->lbo_bytes == 0)
    form->lbo_bytes = form->mn_major ? (form->swizzle ? 8 * s * (k / 8) : 128 * (mn * e / 16))
                                     : 128;
  if (form->sbo_bytes == 0)
    form->sbo_bytes = form->swizzle ? 8 * s : form->mn_major ? 128 : 128 * (k * e / 16);
}

static int shared_entries(const hd_spec_row *row, hd_operand_id id, const layout_options *o,
                          layout_picture *p) {
  const heddle_elem_info *info = heddle_elem_get(row->operand[id].elem);
  uint32_t mn = id == HD_OPERAND_A ? row->m : row->n, k = id == HD_OPERAND_A ? row->k / 2 : row->k;
  hd_canonical form;
  hd_layout map;
  int code = read_form(o, &form);
  if (code != CLI_GO)
    return code;
  default_offsets(&form, info->container_bits / 8u, mn, k);
  if (!hd_canonical_layout(&form, info->container_bits, mn, k, &map)) {
    cli_usage_error("layout.shared", "a %u x %u tile of %s has no %s-major layout with swizzle %s and "
                    "these offsets", mn, k, info->name, o->major, o->swizzle);
    return 3;
  }
  for (uint32_t i = 0; i < mn; i++)
    for (uint32_t j = 0; j < k; j++) {
      uint32_t in[HD_LAYOUT_DIMS] = {i, j};
      int64_t byte[HD_LAYOUT_DIMS];
      hd_layout_apply(&map, in, byte);
      unsigned bit = (unsigned)(byte[0] % 4 * 8);
      layout_entry e = {0, (uint32_t)(byte[0] / 4), bit, bit + info->container_bits - 1u,
                        id == HD_OPERAND_A ? i : j, id == HD_OPERAND_A ? j : i};
      HD_PUSH(p->entry, p->n, p->cap, e);
    }
  p->rows = id == HD_OPERAND_A ? mn : k;
  p->cols = id == HD_OPERAND_A ? k : mn;
  p->col_step = 1;
  p->space = "shared";
  return CLI_GO;
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
    free(names);
    return cli_usage_error("spec.row", "no row '%s'; nearest: %s", text, best);
  }
  char reason[512] = "";
  hd_legal_query query = {.target = hd_target_get(0), .selector = -1};
  hd_spec_legal_text(text, &query, reason, sizeof reason);
  return cli_usage_error("spec.row", "'%s': %s", text, reason);
}

/* A wgmma text stands for two rows; asked for A by text, the one with A in registers has a layout. */
static const hd_spec_row *with_fragment(const char *text, const hd_spec_row *row, hd_operand_id id) {
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

/* Names the selectors that the operand has: "0..1", or "0, 2, 4, 6" (byte-id + 4 * thread-id). */
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
  if (last + 1 == n) {
    hd_strbuf_free(&list);
    hd_strbuf_printf(&list, "0..%u", last);
  }
  int code = cli_usage_error("spec.selector", "selector %lld of operand %s; legal: %s",
                             (long long)selector, hd_operand_name(id), hd_strbuf_text(&list));
  hd_strbuf_free(&list);
  return code;
}

static int collect(const hd_spec_row *row, hd_operand_id id, const layout_options *o,
                   layout_picture *p) {
  hd_fragment fragment;
  if (row->operand[id].space == HD_SPACE_SHARED && row->family == HD_FAMILY_WGMMA_SP)
    return shared_entries(row, id, o, p);
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
  layout_picture p = {.row = row, .operand = hd_operand_name(id), .selector = (unsigned)o->selector};
  code = collect(row, id, o, &p);
  if (code == CLI_GO) {
    qsort(p.entry, p.n, sizeof *p.entry, compare_entries);
    code = print_picture(&p, o->format);
  }
  free(p.entry);
  return code;
}

int cmd_layout(int argc, char **argv) {
  layout_options o = {.operand = "d", .format = "table", .swizzle = "none", .major = "k"};
  const cli_option options[] = {
      {"operand", CLI_TEXT, &o.operand, "a|b|c|d|meta|scale_a|scale_b", "default: d"},
      {"selector", CLI_INT, &o.selector, "N",
       "sparsity selector; for scales byte-id + 4 * thread-id (default 0)"},
      {"format", CLI_TEXT, &o.format, "json|table|svg", "default: table"},
      {"swizzle", CLI_TEXT, &o.swizzle, "none|32|64|128", "operands in shared memory: swizzle bytes"},
      {"major", CLI_TEXT, &o.major, "k|mn", "operands in shared memory: which index is contiguous"},
      {"lbo", CLI_INT, &o.lbo, "BYTES", "leading dimension byte offset (default: no gaps)"},
      {"sbo", CLI_INT, &o.sbo, "BYTES", "stride dimension byte offset (default: no gaps)"},
      {0}};
  const cli_command command = {
      .usage = "layout ROW [--operand X] [--selector N] [--format json|table|svg]",
      .about = "ROW is a row's name (heddle list) or its PTX instruction. For a, col is the compressed\n"
               "column; for b, row is k and col is n; for meta, (row, col) is the first element of the\n"
               "group that the four bits describe. Operands in shared memory: reg is the 32-bit word.",
      .examples = "  heddle layout mma_sp_ordered_m16n8k32_f32_f16_f16 --operand meta --selector 1\n"
                  "  heddle layout wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16 --operand d "
                  "--format json\n"
                  "  heddle layout wgmma_sp_ss_m64n64k32_f32_f16_f16 --operand b --swizzle 64\n",
      .options = options,
      .min_args = 1,
      .max_args = 1};
  const char *args[1];
  int n, code = cli_parse(&command, argc, argv, args, &n);
  return code == CLI_GO ? print_layout(args[0], &o) : code;
}
