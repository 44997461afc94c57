/* heddle list: the rows of specs/. */
#include <stdio.h>
#include <string.h>

#include "Spec/spec.h"
#include "cli.h"
#include "commands.h"
#include "ptx_version.h"

typedef struct list_options {
  const char *target_name, *ptx_text, *format, *family;
  const hd_target *target;
  unsigned ptx;
} list_options;

static const char *const family_names[HD_N_FAMILIES] = {
    "mma.sp", "wgmma.sp", "tcgen05.mma.sp", "ldmatrix", "stmatrix", "copy", "sync", "tcgen05"};
static const char *const issuer_names[] = {"thread", "warp", "warpgroup", "cta-pair"};

static const char *elem_name(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  return elem < HEDDLE_N_ELEMS && info ? info->name : "-";
}

/* The minimum PTX version, on the given target or on any target. */
static unsigned least_ptx(const list_options *o, const hd_spec_row *row) {
  unsigned least = 0;
  if (o->target)
    return hd_spec_min_ptx(row, o->target);
  for (size_t i = 0; i < hd_target_count(); i++) {
    unsigned here = hd_spec_min_ptx(row, hd_target_get(i));
    if (here && (!least || here < least))
      least = here;
  }
  return least;
}

static bool shown(const list_options *o, const hd_spec_row *row) {
  bool defined = false; /* other rows are only used by `heddle legal` */
  for (unsigned i = 0; i < row->n_avail; i++)
    defined |= !row->avail[i].undefined;
  if (!defined || (o->family && strcmp(o->family, family_names[row->family])))
    return false;
  unsigned least = least_ptx(o, row);
  return least && (!o->ptx || o->ptx >= least);
}

static void print_targets(const hd_spec_row *row, const char *separator) {
  const char *between = "";
  for (size_t i = 0; i < hd_target_count(); i++)
    if (hd_spec_min_ptx(row, hd_target_get(i))) {
      printf("%s%s", between, hd_target_get(i)->name);
      between = separator;
    }
}

static const char table_format[] = "%-58s %-12s %-5s %-5s %-5s %-3s %-9s %-12s %s\n";

static void print_table_row(const list_options *o, const hd_spec_row *row) {
  char shape[32] = "-", version[16];
  unsigned ptx = least_ptx(o, row);
  if (row->k)
    snprintf(shape, sizeof shape, "%ux%ux%u", row->m, row->n, row->k);
  else if (row->m)
    snprintf(shape, sizeof shape, "%ux%u", row->m, row->n);
  snprintf(version, sizeof version, "%u.%u", ptx / 10, ptx % 10);
  printf(table_format, row->name, shape, elem_name(row->operand[HD_OPERAND_D].elem),
         elem_name(row->operand[HD_OPERAND_A].elem), elem_name(row->operand[HD_OPERAND_B].elem),
         version, issuer_names[row->issuer], hd_verified_by_name(row->layout_verified_by),
         row->ptx);
}

static void print_csv_row(const list_options *o, const hd_spec_row *row) {
  unsigned ptx = least_ptx(o, row);
  printf("%s,%s,%s,%u,%u,%u,%s,%s,%s,%u,%u.%u,%s,%s,%s,", row->name, family_names[row->family],
         row->ptx, row->m, row->n, row->k, elem_name(row->operand[HD_OPERAND_D].elem),
         elem_name(row->operand[HD_OPERAND_A].elem), elem_name(row->operand[HD_OPERAND_B].elem),
         row->n_selectors, ptx / 10, ptx % 10, issuer_names[row->issuer],
         hd_verified_by_name(row->syntax_verified_by),
         hd_verified_by_name(row->layout_verified_by));
  print_targets(row, " ");
  printf(",%s\n", row->llvm_intrinsic ? row->llvm_intrinsic : "inline asm");
}

static void print_json_effects(const hd_spec_row *row) {
  static const char *const spaces[] = {"none",   "register", "shared",
                                       "tensor", "global",   "cluster"};
  static const char *const proxies[] = {"generic", "async", "tensor"};
  static const char *const done[] = {"none",        "register",   "wgmma_group",  "mbarrier",
                                     "async_group", "bulk_group", "tcgen05_wait"};
  printf("\"effects\":[");
  for (unsigned i = 0; i < row->n_effects; i++) {
    const hd_effect *e = &row->effect[i];
    printf(
        "%s{\"space\":\"%s\",\"access\":\"%s\",\"proxy\":\"%s\",\"done\":\"%s\",\"what\":\"%s\"}",
        i ? "," : "", spaces[e->space],
        e->access == HD_ACCESS_READ    ? "read"
        : e->access == HD_ACCESS_WRITE ? "write"
                                       : "order",
        proxies[e->proxy], done[e->done], e->what);
  }
  printf("]");
}

static void print_json_row(const list_options *o, const hd_spec_row *row, bool first) {
  unsigned ptx = least_ptx(o, row);
  printf("%s\n{\"row\":\"%s\",\"family\":\"%s\",\"ptx\":\"%s\",\"operands\":\"%s\",",
         first ? "" : ",", row->name, family_names[row->family], row->ptx, row->operands);
  printf("\"m\":%u,\"n\":%u,\"k\":%u,\"d\":\"%s\",\"a\":\"%s\",\"b\":\"%s\",\"kind\":\"%s\",",
         row->m, row->n, row->k, elem_name(row->operand[HD_OPERAND_D].elem),
         elem_name(row->operand[HD_OPERAND_A].elem), elem_name(row->operand[HD_OPERAND_B].elem),
         row->kind);
  printf(
      "\"scale_vec\":%u,\"cta_group\":%u,\"selectors\":%u,\"issuer\":\"%s\",\"min_ptx\":\"%u.%u\",",
      row->scale_vec, row->cta_group, row->n_selectors, issuer_names[row->issuer], ptx / 10,
      ptx % 10);
  printf("\"syntax_verified_by\":\"%s\",\"layout_verified_by\":\"%s\",\"generated\":%s,\"source\":"
         "\"%s\",",
         hd_verified_by_name(row->syntax_verified_by), hd_verified_by_name(row->layout_verified_by),
         hd_spec_can_generate(row) ? "true" : "false", row->source);
  if (*row->note)
    printf("\"note\":\"%s\",", row->note);
  if (row->llvm_intrinsic)
    printf("\"llvm\":\"%s\",", row->llvm_intrinsic);
  printf("\"targets\":[\"");
  print_targets(row, "\",\"");
  printf("\"],");
  print_json_effects(row);
  printf("}");
}

static int print_rows(const list_options *o) {
  bool csv = !strcmp(o->format, "csv"), json = !strcmp(o->format, "json");
  size_t n = 0;
  if (json)
    printf("[");
  else if (csv)
    printf("row,family,ptx,m,n,k,d,a,b,selectors,min_ptx,issuer,syntax_verified_by,layout_verified_"
           "by,targets,"
           "llvm\n");
  else
    printf(table_format, "row", "shape", "d", "a", "b", "PTX", "issuer", "layout", "instruction");
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (!shown(o, row))
      continue;
    if (json)
      print_json_row(o, row, n == 0);
    else if (csv)
      print_csv_row(o, row);
    else
      print_table_row(o, row);
    n++;
  }
  if (json)
    printf("\n]\n");
  else if (!csv)
    printf("%zu rows\n", n);
  return 0;
}

static int read_target(list_options *o) {
  if (o->target_name && hd_target_parse(o->target_name, &o->target) != HEDDLE_OK)
    return cli_usage_error("spec.target", "unknown target '%s'; nearest: %s", o->target_name,
                           hd_target_nearest(o->target_name));
  o->ptx = ptx_version_parse(o->ptx_text);
  if (o->ptx_text && !o->ptx)
    return cli_usage_error("spec.ptx-version", "no PTX version '%s'; nearest: %s", o->ptx_text,
                           ptx_version_nearest(o->ptx_text));
  return CLI_GO;
}

static int check_words(const list_options *o) {
  static const char *const formats[] = {"table", "csv", "json"};
  bool known = false;
  for (int i = 0; i < 3; i++)
    known |= !strcmp(o->format, formats[i]);
  if (!known)
    return cli_usage_error("cli.format", "unknown format '%s'; nearest: %s", o->format,
                           cli_nearest(o->format, formats, 3));
  for (int i = 0; i < HD_N_FAMILIES && o->family; i++)
    if (!strcmp(o->family, family_names[i]))
      return CLI_GO;
  if (o->family)
    return cli_usage_error("cli.family", "unknown family '%s'; nearest: %s", o->family,
                           cli_nearest(o->family, family_names, HD_N_FAMILIES));
  return CLI_GO;
}

int cmd_list(int argc, char **argv) {
  list_options o = {.format = "table"};
  bool json = false;
  const cli_option options[] = {
      {"target", CLI_TEXT, &o.target_name, "T", "only instructions that are legal on this target"},
      {"ptx", CLI_TEXT, &o.ptx_text, "V", "only instructions of this PTX version"},
      {"family", CLI_TEXT, &o.family, "F", "mma.sp, wgmma.sp, tcgen05.mma.sp, ldmatrix, …"},
      {"format", CLI_TEXT, &o.format, "table|csv|json", "default: table"},
      {"json", CLI_FLAG, &json, NULL, "the same as --format json"},
      {0}};
  const cli_command command = {
      .usage = "list [--target T] [--ptx V] [--family F] [--format table|csv|json]",
      .about =
          "Lists the instructions that Heddle knows: shape, types (d a b), minimum PTX version,\n"
          "issuing threads, how the layout was verified, text. Instructions with an unverified\n"
          "layout are never generated.",
      .examples = "heddle list --target sm_90a --family wgmma.sp\n"
                  "heddle list --format json\n",
      .options = options};
  const char *args[1];
  int n_args, code = cli_parse(&command, argc, argv, args, &n_args);
  if (code == CLI_GO && json)
    o.format = "json";
  if (code == CLI_GO)
    code = read_target(&o);
  if (code == CLI_GO)
    code = check_words(&o);
  return code == CLI_GO ? print_rows(&o) : code;
}
