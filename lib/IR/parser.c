/* The grammar; []: optional, …: repeated.
 *
 *   text       module version=1 level=LEVEL sync=SYNC  statement …
 *   statement  [%name: type, … =] op [%name, …] [{attribute, …}] [region [else region]]
 *   region     [(%name: type, …)] { statement … }
 *   attribute  key = value, or the key of a flag
 *
 * A statement begins on a new line or at the beginning of a region; operands are on the line of
 * their op. An op that accepts attributes and has regions always has a list of attributes, possibly
 * {}. `else { yield }` may be omitted if the `if` has no results. */
#include "IR/parser.h"

#include <string.h>

#include "IR/grow.h"
#include "IR/op_info.h"
#include "Support/file.h"
#include "Support/nearest.h"

/* Results of a statement, which precede its op. */
struct results {
  hd_type *types;
  const hd_token *names;
  int32_t n;
};

/* Makes a value visible. A number is only a placeholder and not kept as a name. */
static heddle_status define(hd_parser *p, const hd_token *name, hd_value *value) {
  if (hd_scope_find(&p->scope, name->text))
    return hd_error(p->ctx, HEDDLE_INVALID, name->loc, "text.value-twice",
                    "%%%.60s is already defined here; legal: another name", name->text);
  if (name->text[strspn(name->text, "0123456789")])
    value->name = name->text;
  hd_scope_add(&p->scope, name->text, value);
  return HEDDLE_OK;
}

static heddle_status parse_typed_name(hd_parser *p, hd_token *name, hd_type *type) {
  if (p->token.kind != HD_TOKEN_VALUE)
    return hd_parser_unexpected(p, "a value (%name)");
  *name = p->token;
  HD_TRY(hd_parser_advance(p));
  HD_TRY(hd_parser_expect(p, ':', "and a type after the name of a result"));
  return hd_parser_type(p, type);
}

static heddle_status parse_results(hd_parser *p, struct results *r) {
  hd_token *names = NULL;
  for (bool on = true; on;) {
    names = hd_grow(&p->module->arena, names, r->n, sizeof *names);
    r->types = hd_grow(&p->module->arena, r->types, r->n, sizeof *r->types);
    HD_TRY(parse_typed_name(p, &names[r->n], &r->types[r->n]));
    r->n++;
    on = hd_parser_at_mark(p, ',');
    if (on)
      HD_TRY(hd_parser_advance(p));
  }
  r->names = names;
  return hd_parser_expect(p, '=', "after the results");
}

struct name_cursor {
  const hd_scope *scope;
  int32_t i;
};

static const char *next_visible(void *user) {
  struct name_cursor *c = user;
  return c->i < c->scope->n ? c->scope->entries[c->i++].name : NULL;
}

static heddle_status parse_operands(hd_parser *p, hd_op *op) {
  bool on = p->token.kind == HD_TOKEN_VALUE && !p->token.starts_line;
  while (on) {
    if (p->token.kind != HD_TOKEN_VALUE)
      return hd_parser_unexpected(p, "a value (%name)");
    const hd_scope_entry *entry = hd_scope_find(&p->scope, p->token.text);
    if (!entry) {
      struct name_cursor c = {&p->scope, 0};
      const char *near = hd_nearest_name(p->token.text, next_visible, &c);
      return hd_error(p->ctx, HEDDLE_INVALID, p->token.loc, "text.undefined",
                      "%%%.60s is not defined before this line, or not visible here%s%s",
                      p->token.text, near ? "; nearest: %" : "", near ? near : "");
    }
    hd_op_add_operand(p->module, op, entry->value);
    HD_TRY(hd_parser_advance(p));
    on = hd_parser_at_mark(p, ',');
    if (on)
      HD_TRY(hd_parser_advance(p));
  }
  return HEDDLE_OK;
}

static heddle_status parse_region_args(hd_parser *p, hd_region *region) {
  HD_TRY(hd_parser_advance(p));
  for (bool on = true; on;) {
    hd_token name = {0};
    hd_type type;
    HD_TRY(parse_typed_name(p, &name, &type));
    HD_TRY(define(p, &name, hd_region_add_arg(p->module, region, type, NULL)));
    on = hd_parser_at_mark(p, ',');
    if (on)
      HD_TRY(hd_parser_advance(p));
  }
  return hd_parser_expect(p, ')', "after the arguments of a region");
}

static heddle_status parse_statements(hd_parser *p, hd_region *region);

static heddle_status parse_region(hd_parser *p, hd_region *region) {
  if (p->depth == HD_MAX_DEPTH)
    return hd_error(p->ctx, HEDDLE_INVALID, p->token.loc, "text.nesting",
                    "regions nest too deep; legal: up to %d", HD_MAX_DEPTH);
  p->depth++;
  int32_t mark = hd_scope_enter(&p->scope);
  if (hd_parser_at_mark(p, '('))
    HD_TRY(parse_region_args(p, region));
  HD_TRY(hd_parser_expect(p, '{', "of a region"));
  HD_TRY(parse_statements(p, region));
  hd_scope_leave(&p->scope, mark);
  p->depth--;
  return hd_parser_expect(p, '}', "at the end of a region");
}

static heddle_status parse_else(hd_parser *p, hd_op *op) {
  bool written = p->token.kind == HD_TOKEN_WORD && strcmp(p->token.text, "else") == 0;
  if (written) {
    HD_TRY(hd_parser_advance(p));
    return parse_region(p, op->regions[1]);
  }
  hd_builder b = hd_builder_at_end(p->module, op->regions[1]);
  b.loc = op->loc;
  hd_build_yield(&b, NULL, 0);
  return HEDDLE_OK;
}

/* Suggests the nearest op of the module's level, or lists the ops of a level that has few. */
static heddle_status unknown_op(hd_parser *p, hd_token name) {
  hd_level level = p->module->level;
  const char *near = hd_op_nearest(name.text, level);
  hd_strbuf help = {0};
  if (near)
    hd_strbuf_printf(&help, "; nearest: %s", near);
  else if (level != HD_LEVEL_ROLE) {
    hd_strbuf_printf(&help, "; legal: ");
    hd_op_list(level, &help);
  }
  heddle_status status = hd_error(p->ctx, HEDDLE_INVALID, name.loc, "text.op",
                                  "unknown op '%.60s'%s", name.text, hd_strbuf_text(&help));
  hd_strbuf_free(&help);
  return status;
}

static heddle_status parse_statement(hd_parser *p, hd_region *region) {
  struct results results = {0};
  hd_loc loc = p->token.loc;
  if (p->token.kind == HD_TOKEN_VALUE)
    HD_TRY(parse_results(p, &results));
  const hd_token name = p->token;
  if (name.kind != HD_TOKEN_WORD)
    return hd_parser_unexpected(p, "an op, or '}'");
  hd_op_kind kind = hd_op_find_kind(name.text);
  if (kind == HD_N_OPS)
    return unknown_op(p, name);
  HD_TRY(hd_parser_advance(p));
  hd_builder b = hd_builder_at_end(p->module, region);
  b.loc = loc;
  hd_op *op = hd_build(&b, kind, NULL, 0, results.types, results.n);
  HD_TRY(parse_operands(p, op));
  /* If the op has regions, a brace begins attributes only if the op accepts attributes. */
  const hd_op_info *info = hd_op_get_info(kind);
  bool attrs = info->n_regions == 0 || *info->attributes;
  if (attrs && hd_parser_at_mark(p, '{'))
    HD_TRY(hd_parser_attrs(p, op));
  if (info->n_regions > 0)
    HD_TRY(parse_region(p, op->regions[0]));
  if (info->n_regions > 1)
    HD_TRY(parse_else(p, op));
  for (int32_t i = 0; i < results.n; i++)
    HD_TRY(define(p, &results.names[i], op->results[i]));
  return HEDDLE_OK;
}

static heddle_status parse_statements(hd_parser *p, hd_region *region) {
  while (p->token.kind != HD_TOKEN_END && !hd_parser_at_mark(p, '}')) {
    if (region->last && !p->token.starts_line)
      return hd_parser_unexpected(p, "the end of the line after an op");
    HD_TRY(parse_statement(p, region));
  }
  return HEDDLE_OK;
}

static heddle_status parse_level(hd_parser *p, hd_level *level) {
  HD_TRY(hd_parser_expect_word(p, "level"));
  HD_TRY(hd_parser_expect(p, '=', "after level"));
  for (hd_level l = 0; p->token.kind == HD_TOKEN_WORD && l <= HD_LEVEL_ROLE; l++) {
    if (strcmp(p->token.text, hd_level_name(l)) == 0) {
      *level = l;
      return hd_parser_advance(p);
    }
  }
  return hd_parser_unexpected(p, "a level: problem, tile or role");
}

static heddle_status parse_header(hd_parser *p) {
  int64_t version;
  HD_TRY(hd_parser_expect_word(p, "module"));
  HD_TRY(hd_parser_expect_word(p, "version"));
  HD_TRY(hd_parser_expect(p, '=', "after version"));
  hd_loc loc = p->token.loc;
  HD_TRY(hd_parser_int(p, "a version", &version));
  if (version != 1)
    return hd_error(p->ctx, HEDDLE_UNSUPPORTED, loc, "text.version",
                    "got version %lld of the text; legal: 1", (long long)version);
  HD_TRY(parse_level(p, &p->module->level));
  HD_TRY(hd_parser_expect_word(p, "sync"));
  HD_TRY(hd_parser_expect(p, '=', "after sync"));
  bool placed = p->token.kind == HD_TOKEN_WORD && strcmp(p->token.text, "placed") == 0;
  p->module->sync_placed = placed;
  return placed ? hd_parser_advance(p) : hd_parser_expect_word(p, "none");
}

static heddle_status parse_text(hd_parser *p) {
  HD_TRY(hd_parser_advance(p));
  HD_TRY(parse_header(p));
  if (p->token.kind != HD_TOKEN_END && !p->token.starts_line)
    return hd_parser_unexpected(p, "the end of the line");
  HD_TRY(parse_statements(p, p->module->body));
  return p->token.kind == HD_TOKEN_END ? HEDDLE_OK : hd_parser_unexpected(p, "an op");
}

heddle_status hd_parse(heddle_context *ctx, const char *file, const char *text, size_t n_bytes,
                       hd_module **module) {
  hd_loc start = {file, 1, 1};
  if (n_bytes > HD_MAX_TEXT_BYTES)
    return hd_error(ctx, HEDDLE_INVALID, start, "text.size",
                    "a text of %zu bytes; legal: at most %d", n_bytes, HD_MAX_TEXT_BYTES);
  uint64_t before = hd_memory_shortages();
  hd_module *parsed = hd_module_create(HD_LEVEL_PROBLEM);
  if (file)
    parsed->file = start.file = hd_arena_strdup(&parsed->arena, file);
  hd_parser p = {.ctx = ctx, .module = parsed, .shortages = before};
  p.lexer = (hd_lexer){.ctx = ctx,
                       .arena = &parsed->arena,
                       .at = text,
                       .end = n_bytes ? text + n_bytes : text,
                       .loc = start,
                       .fresh_line = true};
  heddle_status status = hd_memory_status(ctx, before, parse_text(&p));
  hd_scope_free(&p.scope);
  if (status == HEDDLE_OK)
    *module = parsed;
  else
    hd_module_free(parsed);
  return status;
}

static heddle_status set_place(void *user, hd_op *op) {
  op->loc = *(const hd_loc *)user;
  return HEDDLE_OK;
}

heddle_status hd_parse_made(heddle_context *ctx, hd_loc place, const char *text,
                            hd_module **module) {
  hd_module *made = NULL;
  HD_TRY(hd_parse(ctx, NULL, text, strlen(text), &made));
  if (place.file)
    made->file = place.file = hd_arena_strdup(&made->arena, place.file);
  HD_TRY(hd_walk(made->body, set_place, &place));
  *module = made;
  return HEDDLE_OK;
}
