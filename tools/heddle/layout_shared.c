#include "layout_shared.h"

#include <string.h>

#include "Support/arena.h"
#include "Support/strbuf.h"
#include "cli.h"

/* Range of a descriptor's 14-bit offsets: multiples of 16 below 2^18. 0: the default. */
static int check_offset(const char *name, int64_t bytes) {
  enum { MAX_OFFSET = 0x3fff << 4 };
  if (bytes >= 0 && bytes <= MAX_OFFSET && bytes % 16 == 0)
    return CLI_GO;
  int64_t nearest = bytes < 0 ? 0 : bytes > MAX_OFFSET ? MAX_OFFSET : bytes / 16 * 16;
  return cli_usage_error("layout.offset",
                         "--%s %lld is not a multiple of 16 up to %d; nearest: %lld", name,
                         (long long)bytes, MAX_OFFSET, (long long)nearest);
}

static const char *const swizzles[] = {"none", "32", "64", "128"}; /* ORDER hd_smem_swizzle */

static int read_form(const layout_form *o, hd_canonical *form) {
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

/* A tile in shared memory, extents in elements. 16 bytes hold `run` elements of `bits` bits. Types
 * narrower than their byte (kinds f8f6f4, mxf8f6f4) are packed at the start of the 16 bytes; e2m1p
 * fills them. The canonical layout counts units of `unit` bits. */
typedef struct shared_tile {
  uint32_t mn, k;
  unsigned bits, unit, run;
} shared_tile;

static shared_tile tile_of(const hd_spec_row *row, hd_operand_id id) {
  const heddle_elem_info *info = heddle_elem_get(row->operand[id].elem);
  bool is_a = id == HD_OPERAND_A;
  uint32_t ctas =
      row->cta_group > 1 ? row->cta_group : 1; /* each CTA of a pair holds half of M and N */
  unsigned bits = info->value_bits < 8 ? info->value_bits : info->container_bits;
  return (shared_tile){.mn = (is_a ? row->m : row->n) / ctas,
                       .k = is_a ? row->k / 2u : row->k,
                       .bits = bits,
                       .unit = info->container_bits < 8 ? 8 : info->container_bits,
                       .run = 128u / info->container_bits};
}

static bool shared_map(hd_canonical form, const shared_tile *t, hd_layout *map) {
  uint32_t units = 128 / t->unit, s = 16u << form.swizzle;
  /* Offsets that the user did not give leave no gaps in the tile. */
  if (form.lbo_bytes == 0)
    form.lbo_bytes =
        form.mn_major ? (form.swizzle ? 8 * s * (t->k / 8) : 128 * (t->mn / t->run)) : 128;
  if (form.sbo_bytes == 0)
    form.sbo_bytes = form.swizzle ? 8 * s : form.mn_major ? 128 : 128 * (t->k / t->run);
  return form.mn_major ? hd_canonical_layout(&form, t->unit, t->mn / t->run * units, t->k, map)
                       : hd_canonical_layout(&form, t->unit, t->mn, t->k / t->run * units, map);
}

static layout_entry shared_entry(const hd_layout *map, bool mn_major, const shared_tile *t,
                                 uint32_t mn, uint32_t k) {
  uint32_t along = mn_major ? mn : k, first = along / t->run * (128 / t->unit);
  uint32_t in[HD_LAYOUT_DIMS] = {mn_major ? first : mn, mn_major ? k : first};
  int64_t byte[HD_LAYOUT_DIMS];
  hd_layout_apply(map, in, byte);
  uint32_t bit = (uint32_t)byte[0] * 8 + along % t->run * t->bits;
  return (layout_entry){0, bit / 32, bit % 32, bit % 32 + t->bits - 1, 0, 0};
}

/* Whether the instruction can read the operand transposed. */
static bool may_transpose(const hd_spec_row *row, hd_operand_id id, const shared_tile *t) {
  if (row->family == HD_FAMILY_WGMMA_SP)
    return row->modifiers & (id == HD_OPERAND_A ? HD_MOD_TRANS_A : HD_MOD_TRANS_B);
  return t->bits >= 8 && t->bits < 32; /* 32-bit types need atoms of 32 bytes */
}

static int refuse_form(const hd_spec_row *row, hd_operand_id id, const layout_form *o,
                       hd_canonical form, const shared_tile *t) {
  hd_strbuf legal = {0};
  hd_layout map;
  for (unsigned s = HD_SMEM_NONE; s <= HD_SMEM_128B; s++) {
    form.swizzle = (hd_smem_swizzle)s;
    form.lbo_bytes = form.sbo_bytes = 0;
    if (shared_map(form, t, &map))
      hd_strbuf_printf(&legal, "%s%s", legal.len ? ", " : "", swizzles[s]);
  }
  cli_usage_error("layout.shared",
                  "a %u x %u tile of %s has no %s-major layout with swizzle %s and these offsets; "
                  "legal: without --lbo and --sbo %s",
                  t->mn, t->k, heddle_elem_get(row->operand[id].elem)->name, o->major, o->swizzle,
                  hd_strbuf_text(&legal));
  hd_strbuf_free(&legal);
  return 3;
}

int layout_shared_entries(const hd_spec_row *row, hd_operand_id id, const layout_form *o,
                          layout_picture *p) {
  shared_tile t = tile_of(row, id);
  bool is_a = id == HD_OPERAND_A;
  hd_canonical form;
  hd_layout map;
  int code = read_form(o, &form);
  if (code != CLI_GO)
    return code;
  if (form.mn_major && !may_transpose(row, id, &t)) {
    cli_usage_error("layout.major", "%s reads operand %s K-major only; nearest: --major k",
                    row->name, hd_operand_name(id));
    return 3;
  }
  if (!shared_map(form, &t, &map))
    return refuse_form(row, id, o, form, &t);
  for (uint32_t mn = 0; mn < t.mn; mn++)
    for (uint32_t k = 0; k < t.k; k++) {
      layout_entry e = shared_entry(&map, form.mn_major, &t, mn, k);
      e.row = is_a ? mn : k;
      e.col = is_a ? k : mn;
      HD_PUSH(p->entry, p->n, p->cap, e);
    }
  p->rows = is_a ? t.mn : t.k;
  p->cols = is_a ? t.k : t.mn;
  p->col_step = 1;
  p->map = map;
  p->space = "shared";
  return CLI_GO;
}
