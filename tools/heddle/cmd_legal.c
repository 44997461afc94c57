/* heddle legal: one verdict a line of standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"
#include "cli.h"
#include "commands.h"
#include "ptx_version.h"
#include "Support/memory.h"

/* The words of a line, cut in place. */
typedef struct request {
  const char *target, *version, *instruction, *selector;
} request;

/* False when it is not TARGET PTX_VERSION INSTRUCTION [sel=N]. */
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
  printf("illegal: %s: got '%s'; legal: %s\n", what, got ? got : "", expected);
  return false;
}

/* False when the line could not be understood (it is answered all the same). */
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
    printf("illegal: %s\n", reason);
  return true;
}

/* A zero byte ends no line. */
static bool blank(const char *line, size_t n_bytes) {
  return strspn(line, " \t\r\n") == n_bytes;
}

int cmd_legal(int argc, char **argv) {
  static const cli_command command = {
      .usage = "legal < LINES",
      .about =
          "Reads lines TARGET PTX_VERSION INSTRUCTION [sel=N] from standard input and answers\n"
          "one line each: legal, or illegal: REASON (the rule, the value, what would be legal).\n"
          "What ptxas takes but the ISA leaves undefined: illegal: undefined (ptxas accepts).\n"
          "Exit code 2 when a line could not be understood.",
      .examples =
          "echo sm_90a 8.5 mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16."
          "f16.f32 sel=1 | heddle legal\n"};
  const char *args[1];
  int n_args, code = cli_parse(&command, argc, argv, args, &n_args);
  if (code != CLI_GO)
    return code;
  char *line = NULL;
  size_t cap = 0;
  bool understood = true;
  for (ssize_t n; (n = getline(&line, &cap, stdin)) >= 0;) {
    request r;
    if (blank(line, (size_t)n))
      continue;
    if (strlen(line) == (size_t)n && split(line, &r))
      understood &= answer(&r);
    else
      understood = answer_malformed("spec.line", line, "TARGET PTX_VERSION INSTRUCTION [sel=N]");
  }
  hd_free(line);
  return understood ? 0 : 2;
}
