/* heddled: the tuning service. This file has its command line and configuration file. */
#include <stdio.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/lines.h"
#include "heddle/version.h"
#include "heddled.h"

static void print_help(void) {
  printf(
      "usage: heddled [COMMAND] [--config FILE] [--KEY VALUE]...\n\n"
      "The tuning service. docs/service.md describes its protocol, docs/operations.md its use.\n\n"
      "  serve                    answer requests until SIGTERM (the default command)\n"
      "  check                    read the configuration, open the database, report errors\n"
      "  migrate [--to N]         migrate the schema of the database to this version, or to N\n"
      "  token add NAME [--scopes lookup,submit,work,admin] [--tenant T]    print a new token\n"
      "  token list | revoke NAME\n"
      "  backup FILE              write a complete copy of a SQLite database, which may be in use\n"
      "  replay                   decide every race again, and name the first that differs\n"
      "  openapi                  print the interface as OpenAPI 3.1\n\n"
      "Keys, also as `KEY = VALUE` in FILE:\n");
#define CONFIG_TEXT(name, otherwise, doc)                                                          \
  printf("  %-27s %s%s%s%s\n", #name, doc, *otherwise ? " [" : "", otherwise,                      \
         *otherwise ? "]" : "");
#define CONFIG_INT(name, otherwise, least, most, doc)                                              \
  printf("  %-27s %s [%lld]\n", #name, doc, (long long)(otherwise));
#include "Service/config.def"
}

static char *trimmed(char *text) {
  text += strspn(text, " \t");
  for (size_t n = strlen(text); n && strchr(" \t", text[n - 1]);)
    text[--n] = '\0';
  return text;
}

static heddle_status read_config(heddle_context *ctx, const char *path, setup *s) {
  size_t n;
  HD_TRY(hd_file_read_text(ctx, path, &s->file_text, &n));
  hd_lines lines = hd_lines_of(path, s->file_text);
  for (char *line; (line = hd_lines_next_entry(&lines));) {
    char *equals = strchr(line, '=');
    if (!equals)
      return hd_error(ctx, HEDDLE_INVALID, lines.loc, "config.line",
                      "got \"%.60s\"; legal: KEY = VALUE", line);
    *equals = '\0';
    HD_TRY(
        config_set(ctx, &s->config, path, (int)lines.loc.line, trimmed(line), trimmed(equals + 1)));
  }
  return HEDDLE_OK;
}

/* Removes the configuration's options from the arguments; the rest is for the command. */
static heddle_status read_options(heddle_context *ctx, int *n, char **args, setup *s) {
  int left = 0;
  for (int i = 0; i < *n; i++) /* read the file first, so that options override it */
    if (strcmp(args[i], "--config") == 0 && i + 1 < *n)
      HD_TRY(read_config(ctx, args[i + 1], s));
  for (int i = 0; i < *n; i++) {
    static const char *const own[] = {"--to", "--scopes", "--tenant"};
    bool is_option = strncmp(args[i], "--", 2) == 0;
    for (size_t k = 0; k < HD_COUNT(own); k++)
      is_option = is_option && strcmp(args[i], own[k]) != 0;
    if (!is_option) {
      args[left++] = args[i];
      continue;
    }
    if (i + 1 == *n)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.value", "got %s without a value",
                      args[i]);
    if (strcmp(args[i], "--config") != 0)
      HD_TRY(config_set(ctx, &s->config, NULL, 0, args[i] + 2, args[i + 1]));
    i++;
  }
  *n = left;
  return HEDDLE_OK;
}

static heddle_status run(heddle_context *ctx, int n, char **args) {
  setup s = {0};
  config_init(&s.config);
  heddle_status status = read_options(ctx, &n, args, &s);
  const char *command = n ? args[0] : "serve";
  if (status != HEDDLE_OK)
    ;
  else if (strcmp(command, "serve") == 0)
    status = command_serve(ctx, &s);
  else if (strcmp(command, "check") == 0)
    status = command_check(ctx, &s);
  else if (strcmp(command, "migrate") == 0)
    status = command_migrate(ctx, &s, n - 1, args + 1);
  else if (strcmp(command, "token") == 0)
    status = command_token(ctx, &s, n - 1, args + 1);
  else if (strcmp(command, "backup") == 0)
    status = command_backup(ctx, &s, n - 1, args + 1);
  else if (strcmp(command, "replay") == 0)
    status = command_replay(ctx, &s);
  else
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "command",
                      "got \"%.20s\"; legal: serve, check, migrate, token, backup, replay, openapi",
                      command);
  hd_free(s.file_text);
  hd_free(s.tls_key);
  hd_free(s.tls_cert);
  hd_free(s.key_path);
  return status;
}

int main(int argc, char **argv) {
  const char *first = argc > 1 ? argv[1] : "";
  if (strcmp(first, "--help") == 0 || strcmp(first, "help") == 0) {
    print_help();
    return 0;
  }
  if (strcmp(first, "--version") == 0) {
    printf("heddled %s\n", HEDDLE_VERSION);
    return 0;
  }
  if (strcmp(first, "openapi") == 0) {
    char *text = hd_openapi_text();
    printf("%s\n", text);
    hd_free(text);
    return 0;
  }
  heddle_context *ctx = heddle_context_create();
  heddle_status status = run(ctx, argc - 1, argv + 1);
  if (status != HEDDLE_OK) {
    char text[2048];
    for (size_t i = 0; i < heddle_context_count(ctx); i++) {
      heddle_diagnostic_format(heddle_context_get(ctx, i), text, sizeof text);
      fprintf(stderr, "%s\n", text);
    }
  }
  heddle_context_free(ctx);
  return heddle_status_exit_code(status);
}
