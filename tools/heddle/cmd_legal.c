/* heddle legal: prints one verdict for each line of standard input. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "Spec/spec.h"
#include "cli.h"
#include "commands.h"
#include "ptx_version.h"
#include "Support/file.h"

/* The words of a line, split in place. */
typedef struct request {
  const char *target, *version, *instruction, *selector;
} request;

/* False if the line is not TARGET PTX_VERSION INSTRUCTION [sel=N]. */
static bool split(char *line, request *r) {
  static const char blanks[] = " \t\r\n";
  char *save = NULL;
  *r = (request){.target = strtok_r(line, blanks, &save)};
  r->version = strtok_r(NULL, blanks, &save);
  r->instruction = strtok_r(NULL, blanks, &save);
  r->selector = strtok_r(NULL, blanks, &save);
  return r->instruction && (!r->selector || !strncmp(r->selector, "sel=", 4)) &&
         !strtok_r(NULL, blanks, &save);
}

static bool answer_malformed(const char *what, const char *got, const char *expected) {
  cli_print("illegal: %s: got '%s'; legal: %s\n", what, got ? got : "", expected);
  return false;
}

/* Prints the answer. False if the line is malformed (it also gets an answer). */
static bool answer(const request *r) {
  hd_legal_query query = {.selector = -1};
  char reason[512] = "", expected[64];
  int64_t selector;
  if (hd_target_parse(r->target, &query.target) != HEDDLE_OK) {
    const char *nearest = hd_target_nearest(r->target);
    const hd_target *now = NULL;
    bool renamed = hd_target_parse(nearest, &now) == HEDDLE_OK && !strcmp(now->formerly, r->target);
    snprintf(expected, sizeof expected,
             renamed ? "%s, its name from PTX 9.0 on" : "a target such as %s", nearest);
    return answer_malformed("spec.target", r->target, expected);
  }
  query.ptx = (uint16_t)ptx_version_parse(r->version);
  if (!query.ptx) {
    snprintf(expected, sizeof expected, "a PTX version such as %s",
             ptx_version_nearest(r->version));
    return answer_malformed("spec.ptx-version", r->version, expected);
  }
  if (r->selector) {
    if (!cli_parse_int(r->selector + 4, &selector) || selector < 0 || selector > 1 << 20)
      return answer_malformed("spec.selector", r->selector, "sel=N with N from 0 up");
    query.selector = (int)selector;
  }
  if (hd_spec_legal_text(r->instruction, &query, reason, sizeof reason) == HD_LEGAL)
    puts("legal");
  else
    cli_print("illegal: %s\n", reason);
  return true;
}

enum { MAX_LINE_BYTES = 4096 }; /* longer lines are refused */

/* Reads the first MAX_LINE_BYTES bytes of a line. Returns the line's full length, or -1 at the
 * end. */
static ssize_t read_line(char line[MAX_LINE_BYTES + 1]) {
  ssize_t n = 0;
  int c;
  while ((c = getc(stdin)) != EOF && c != '\n' && n <= HD_MAX_TEXT_BYTES) {
    if (n < MAX_LINE_BYTES)
      line[n] = (char)c;
    n++;
  }
  line[n < MAX_LINE_BYTES ? n : MAX_LINE_BYTES] = 0;
  return n == 0 && c == EOF ? -1 : n;
}

/* False if the line is malformed. */
static bool answer_line(char *line, size_t n_bytes) {
  static const char form[] = "TARGET PTX_VERSION INSTRUCTION [sel=N]";
  request r;
  if (n_bytes > MAX_LINE_BYTES) {
    cli_print("illegal: spec.line: got %zu bytes; legal: up to %d, %s\n", n_bytes, MAX_LINE_BYTES,
              form);
    return false;
  }
  /* A NUL byte does not end a line. */
  if (strspn(line, " \t\r\n") == n_bytes)
    return true;
  return strlen(line) == n_bytes && split(line, &r) ? answer(&r)
                                                    : answer_malformed("spec.line", line, form);
}

int cmd_legal(int argc, char **argv) {
  static const cli_command command = {
      .usage = "legal < LINES",
      .about =
          "Reads lines of TARGET PTX_VERSION INSTRUCTION [sel=N] from standard input. For each "
          "line\n"
          "it prints `legal`, or `illegal: REASON` (the rule, the value, what would be legal), or\n"
          "`illegal: undefined (ptxas accepts)` if ptxas accepts it but the ISA leaves it "
          "undefined.\n"
          "The exit code is 2 if a line is malformed.",
      .examples =
          "echo sm_90a 8.5 mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16."
          "f16.f32 sel=1 | heddle legal\n"};
  const char *args[1];
  int n_args, code = cli_parse(&command, argc, argv, args, &n_args);
  if (code != CLI_GO)
    return code;
  char line[MAX_LINE_BYTES + 1];
  bool understood = true;
  for (ssize_t n; (n = read_line(line)) >= 0;) {
    understood &= answer_line(line, (size_t)n);
    if (n > HD_MAX_TEXT_BYTES)
      return 2; /* a line that does not end */
  }
  if (ferror(stdin)) {
    cli_usage_error("file.io", "cannot read standard input: %s", strerror(errno));
    return 4;
  }
  return understood ? 0 : 2;
}
