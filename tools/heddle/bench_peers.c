#include "bench_peers.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/strbuf.h"
#include "cli.h"
#include "find_program.h"

/* ORDER bench_peers_open: those with a path first. */
static const char *const names[HD_BENCH_PEERS] = {"cublas", "cusparselt", "stream"};

static bool is_word(const char *name, const char *word, size_t n) {
  return strlen(name) == n && strncmp(word, name, n) == 0;
}

/* Whether the list contains the name, or "all". */
static bool wants(const char *list, const char *name) {
  size_t n;
  for (const char *word = list; *word; word += n + (word[n] == ',')) {
    n = strcspn(word, ",");
    if (is_word(name, word, n) || is_word("all", word, n))
      return true;
  }
  return false;
}

int bench_peers_check(const char *list) {
  static const char *const legal[] = {"all", "none", "cublas", "cusparselt", "stream"};
  size_t n;
  for (const char *word = list; *word; word += n + (word[n] == ',')) {
    n = strcspn(word, ",");
    bool known = false;
    for (size_t i = 0; i < HD_COUNT(legal); i++)
      known |= is_word(legal[i], word, n);
    if (!known)
      return cli_usage_error("bench.peers",
                             "got \"%.*s\"; legal: all, none, cublas, cusparselt, stream", (int)n,
                             word);
  }
  return CLI_GO;
}

/* ---- where a library may be ---- */

#define WHEELS "/lib/python3*/*-packages/nvidia/*/lib"

/* Glob patterns of folders, in search order; freed with the arena. */
typedef struct places {
  char *list[8];
  int n;
} places;

static void add_place(hd_arena *arena, const char *root, const char *below, places *out) {
  if (!root || !*root)
    return;
  char *place = hd_arena_printf(arena, "%s%s", root, below);
  for (int i = 0; i < out->n; i++)
    if (strcmp(out->list[i], place) == 0)
      return;
  out->list[out->n++] = place;
}

static void list_places(hd_arena *arena, places *out) {
  add_place(arena, getenv("CUDA_HOME"), "/lib64", out);
  add_place(arena, getenv("CUDA_PATH"), "/lib64", out);
  add_place(arena, "/usr/local/cuda", "/lib64", out);
  add_place(arena, getenv("VIRTUAL_ENV"), WHEELS, out);
  char *python = find_program("python3"), *bin = python ? strstr(python, "/bin/python3") : NULL;
  if (bin) {
    *bin = '\0';
    add_place(arena, python, WHEELS, out);
  }
  hd_free(python);
  add_place(arena, "/usr/local", WHEELS, out);
  add_place(arena, getenv("HOME"), "/.local" WHEELS, out);
}

/* ---- opening ---- */

typedef struct opener {
  const char *name; /* of the peer */
  const hd_device *device;
  hd_peer *peer;
  hd_strbuf said; /* errors of existing files that cannot be used */
} opener;

/* path NULL: what the loader finds. Returns true if the library was opened. */
static bool open_one(heddle_context *ctx, const char *path, opener *o) {
  heddle_context *quiet = heddle_context_create();
  bool open = hd_peer_open(quiet, o->name, path, o->device, &o->peer) == HEDDLE_OK;
  if (open && path)
    hd_note(ctx, HD_NOWHERE, "bench.peer", "%s is %s", o->name, path);
  else if (!open)
    hd_strbuf_printf(&o->said, "%s%s%s; ", path ? path : "", path ? ": " : "",
                     hd_first_error_text(quiet, "no reason"));
  heddle_context_free(quiet);
  return open;
}

static bool open_in(heddle_context *ctx, const char *pattern, opener *o) {
  glob_t found = {0};
  bool open = false;
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc && !open; i++)
      open = open_one(ctx, found.gl_pathv[i], o);
  globfree(&found);
  return open;
}

static void tell_missing(heddle_context *ctx, const char *const *soname, const places *at,
                         const opener *o) {
  hd_strbuf s = {0};
  for (int i = 0; soname[i]; i++)
    hd_strbuf_printf(&s, "%s%s", i ? ", " : "", soname[i]);
  hd_strbuf_add(&s, " on the dynamic linker's path (LD_LIBRARY_PATH)");
  for (int i = 0; i < at->n; i++)
    hd_strbuf_printf(&s, ", in %s", at->list[i]);
  hd_note(ctx, HD_NOWHERE, "bench.peer",
          "without %s: %slooked for %s; give its path with --%s PATH",
          o->name, hd_strbuf_text(&o->said), hd_strbuf_text(&s), o->name);
  hd_strbuf_free(&s);
}

/* Newest name first; for each name, all folders in order. */
static bool search_for(heddle_context *ctx, const char *const *soname, opener *o) {
  hd_arena arena = {0};
  places at = {0};
  bool open = open_one(ctx, NULL, o);
  list_places(&arena, &at);
  for (int i = 0; soname[i] && !open; i++)
    for (int j = 0; j < at.n && !open; j++)
      open = open_in(ctx, hd_arena_printf(&arena, "%s/%s", at.list[j], soname[i]), o);
  if (!open)
    tell_missing(ctx, soname, &at, o);
  hd_arena_free(&arena);
  return open;
}

static bool open_peer(heddle_context *ctx, const char *path, opener *o) {
  const char *const *soname = hd_peer_sonames(o->name);
  if (!path && soname)
    return search_for(ctx, soname, o);
  bool open = open_one(ctx, path, o);
  if (!open)
    hd_note(ctx, HD_NOWHERE, "bench.peer", "without %s: %s", o->name, hd_strbuf_text(&o->said));
  return open;
}

void bench_peers_open(heddle_context *ctx, const hd_device *device, const char *list,
                      const char *const path[2], hd_bench_options *options) {
  for (int i = 0; i < HD_BENCH_PEERS; i++) {
    opener o = {.name = names[i], .device = device};
    if (wants(list, names[i]) && open_peer(ctx, i < 2 ? path[i] : NULL, &o))
      options->peer[options->n_peers++] = o.peer;
    hd_strbuf_free(&o.said);
  }
}
