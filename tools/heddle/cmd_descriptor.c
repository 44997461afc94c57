/* heddle descriptor: shared-memory and instruction descriptors, field by field. */
#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"
#include "cli.h"
#include "commands.h"

static const hd_field *find_field(const hd_descriptor *d, const char *name, size_t n) {
  for (unsigned i = 0; i < d->n_fields; i++)
    if (strlen(d->field[i].name) == n && !strncmp(d->field[i].name, name, n))
      return &d->field[i];
  return NULL;
}

static const char *nearest_field(const hd_descriptor *d, const char *word) {
  const char *names[32];
  for (unsigned i = 0; i < d->n_fields; i++)
    names[i] = d->field[i].name;
  return cli_nearest(word, names, d->n_fields);
}

static int refuse_value(const hd_field *field, int64_t value) {
  unsigned unit = 1u << field->shift;
  uint64_t nearest = hd_field_nearest(field, value), most = hd_field_mask(field) << field->shift;
  if (field->fixed != UINT64_MAX)
    return cli_usage_error("descriptor.fixed",
                           "%s=%" PRId64 ", which the ISA fixes; nearest: %" PRIu64, field->name,
                           value, field->fixed);
  if (value < 0 || (uint64_t)value > most)
    return cli_usage_error("descriptor.range",
                           "%s=%" PRId64 "; legal: 0 to %" PRIu64 "; nearest: %" PRIu64,
                           field->name, value, most, nearest);
  if (value % unit)
    return cli_usage_error("descriptor.align",
                           "%s=%" PRId64 " is not a multiple of %u; nearest: %" PRIu64, field->name,
                           value, unit, nearest);
  return cli_usage_error("descriptor.value",
                         "%s=%" PRId64 " is not defined (%s); nearest: %" PRIu64, field->name,
                         value, field->text, nearest);
}

/* "name=value" into the word; CLI_GO or the exit code. */
static int encode_field(const hd_descriptor *d, const char *text, uint64_t *word) {
  const char *equals = strchr(text, '=');
  int64_t value;
  if (!equals || !cli_parse_int(equals + 1, &value))
    return cli_usage_error("descriptor.field", "got '%s'; legal: FIELD=NUMBER", text);
  const hd_field *field = find_field(d, text, (size_t)(equals - text));
  if (!field)
    return cli_usage_error("descriptor.field", "%s has no field '%.*s'; nearest: %s", d->name,
                           (int)(equals - text), text, nearest_field(d, text));
  uint64_t encoded = (uint64_t)value >> field->shift;
  if (value < 0 || encoded << field->shift != (uint64_t)value || !hd_field_defined(field, encoded))
    return refuse_value(field, value);
  *word = (*word & ~(hd_field_mask(field) << field->lo)) | encoded << field->lo;
  return CLI_GO;
}

static void print_word(const hd_descriptor *d, uint64_t word) {
  printf("%s = 0x%0*" PRIx64 "  (%s)\n", d->name, d->bits / 4, word, d->source);
  for (unsigned i = 0; i < d->n_fields; i++) {
    const hd_field *f = &d->field[i];
    uint64_t encoded = word >> f->lo & hd_field_mask(f);
    char bits[16];
    snprintf(bits, sizeof bits, "%u..%u", f->lo, f->hi);
    printf("  %-7s %-18s %6" PRIu64 "  encoded 0x%-4" PRIx64 " %s\n", bits, f->name,
           encoded << f->shift, encoded, f->text);
  }
}

/* Refuses set bits outside all fields, and values that the ISA does not define. */
static int check_word(const hd_descriptor *d, uint64_t word) {
  uint64_t known = 0;
  int code = 0;
  for (unsigned i = 0; i < d->n_fields; i++) {
    const hd_field *f = &d->field[i];
    uint64_t encoded = word >> f->lo & hd_field_mask(f);
    known |= hd_field_mask(f) << f->lo;
    if (!hd_field_defined(f, encoded))
      code = refuse_value(f, (int64_t)(encoded << f->shift));
  }
  if (word & ~known)
    code = cli_usage_error("descriptor.reserved", "reserved bits 0x%" PRIx64 " are set; legal: 0",
                           word & ~known);
  return code;
}

static int encode(const hd_descriptor *d, const char *const *fields, int n) {
  uint64_t word = 0;
  for (unsigned i = 0; i < d->n_fields; i++) {
    const hd_field *f = &d->field[i];
    /* A field that is not given is 0, or the only value that the ISA defines. */
    if (f->fixed != UINT64_MAX || (f->defined && !(f->defined & (f->defined - 1))))
      word |= hd_field_nearest(f, 0) >> f->shift << f->lo;
  }
  for (int i = 0; i < n; i++) {
    int code = encode_field(d, fields[i], &word);
    if (code != CLI_GO)
      return code;
  }
  int code = check_word(d, word);
  if (code == 0)
    print_word(d, word);
  return code;
}

static int decode(const hd_descriptor *d, const char *text) {
  char *end;
  errno = 0;
  uint64_t word = strtoull(text, &end, 0);
  if (errno || *end || end == text || text[0] == '-')
    return cli_usage_error("descriptor.word", "got '%s'; legal: a number of 64 bits", text);
  if (d->bits < 64 && word >> d->bits)
    return cli_usage_error("descriptor.word", "%s has %u bits", d->name, d->bits);
  print_word(d, word);
  return check_word(d, word);
}

static int list_descriptors(void) {
  for (size_t i = 0; i < hd_descriptor_count(); i++) {
    const hd_descriptor *d = hd_descriptor_get(i);
    printf("%-22s %2u bits  %s\n", d->name, d->bits, d->source);
    for (unsigned f = 0; f < d->n_fields; f++)
      printf("  %2u..%-2u %-18s %s\n", d->field[f].lo, d->field[f].hi, d->field[f].name,
             d->field[f].text);
  }
  return 0;
}

static int unknown_descriptor(const char *name) {
  const char *names[16];
  size_t n = hd_descriptor_count() < 16 ? hd_descriptor_count() : 16;
  for (size_t i = 0; i < n; i++)
    names[i] = hd_descriptor_get(i)->name;
  return cli_usage_error("descriptor.name", "no descriptor '%s'; nearest: %s", name,
                         cli_nearest(name, names, n));
}

int cmd_descriptor(int argc, char **argv) {
  static const cli_command command = {
      .usage = "descriptor [NAME decode WORD | NAME encode FIELD=VALUE …]",
      .about =
          "Without arguments the command lists every descriptor and its fields. With encode, "
          "fields\n"
          "are given in their own units (bytes, rows); others are 0, or the only value that the "
          "ISA\n"
          "defines.",
      .examples =
          "heddle descriptor wgmma_smem encode start_address=0x400 stride_offset=1024 "
          "swizzle=1\n"
          "heddle descriptor wgmma_smem decode 0x4000004000010040\n"
          "heddle descriptor tcgen05_idesc encode sparse=1 d_type=1 a_type=1 b_type=1 n=256 "
          "m=128\n",
      .max_args = CLI_MAX_ARGS};
  const char *args[CLI_MAX_ARGS];
  int n, code = cli_parse(&command, argc, argv, args, &n);
  if (code != CLI_GO)
    return code;
  if (n == 0)
    return list_descriptors();
  const hd_descriptor *d = hd_descriptor_find(args[0]);
  if (!d)
    return unknown_descriptor(args[0]);
  if (n == 3 && !strcmp(args[1], "decode"))
    return decode(d, args[2]);
  if (n >= 2 && !strcmp(args[1], "encode"))
    return encode(d, args + 2, n - 2);
  return cli_usage_error(
      "cli.usage", "got neither form; legal: descriptor NAME decode WORD, or encode FIELD=VALUE …");
}
