/* Emits all kernels of a module into one PTX text. */
#include "Emit/emit.h"

#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

#include "Emit/emit_llvm.h"
#include "Support/memory.h"
#include "Support/parallel.h"

/* Finds the target, which must be the same for all kernels. */
static heddle_status find_target(hd_emitter *e, const hd_module *module) {
  const char *name = NULL;
  HD_FOR_OPS(op, module->body) {
    const char *mine = hd_op_str(op, HD_ATTR_TARGET);
    if (op->kind != HD_OP_KERNEL || !mine)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.module",
                      "got an op that is not a kernel with a target; legal: kernels with a target");
    if (name && strcmp(name, mine) != 0)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.target",
                      "kernels for %s and %s in one module; legal: one target", name, mine);
    name = mine;
    const char *entry = hd_op_str(op, HD_ATTR_NAME);
    for (const hd_op *earlier = module->body->first; earlier != op; earlier = earlier->next)
      if (entry && hd_op_is(earlier, HD_ATTR_NAME, entry))
        return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "kernel.name",
                        "two kernels have the name %s; legal: different names", entry);
  }
  if (!name)
    return hd_error(e->ctx, HEDDLE_INVALID, HD_NOWHERE, "emit.module",
                    "got a module without kernel; legal: 1 or more");
  if (hd_target_parse(name, &e->target) != HEDDLE_OK)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, module->body->first->loc, "emit.target",
                    "unknown target %s; nearest: %s", name, hd_target_nearest(name));
  return HEDDLE_OK;
}

/* ---- kernels ---- */

/* Each kernel has its own LLVM module and context, so that kernels can be emitted in parallel, and
 * no kernel's text depends on another kernel. */
typedef struct emission {
  const hd_op *kernel;
  heddle_context *said;
  heddle_status status;
  char *ptx;
  size_t n_bytes;
} emission;

typedef struct emissions {
  const hd_emitter *common;
  emission *of;
  atomic_bool failed; /* kernels that have not begun are then skipped */
} emissions;

static heddle_status emit_kernel(hd_emitter *e, emission *x) {
  HD_TRY(hd_emit_open(e));
  heddle_status status = hd_emit_one_kernel(e, x->kernel);
  if (status == HEDDLE_OK)
    status = e->failed ? HEDDLE_INTERNAL : hd_emit_codegen(e, &x->ptx, &x->n_bytes);
  hd_emit_close(e);
  hd_facts_free(&e->values);
  hd_arena_free(&e->arena);
  return status;
}

static void emit_one(void *user, int32_t i) {
  emissions *all = user;
  emission *x = &all->of[i];
  const hd_emitter *common = all->common;
  hd_emitter e = {.options = common->options, .users = common->users, .target = common->target,
                  .ptx_version = common->ptx_version};
  uint64_t before = hd_memory_shortages();
  if (all->failed)
    return;
  e.ctx = x->said = heddle_context_create();
  x->status = hd_memory_status(e.ctx, before, emit_kernel(&e, x));
  if (x->status != HEDDLE_OK)
    all->failed = true;
}

/* Reports the first failure in module order, which is also the order in which kernels begin. */
static heddle_status emit_kernels(const hd_emitter *e, emission *of, int32_t n) {
  emissions all = {.common = e, .of = of};
  heddle_status status = HEDDLE_OK;
  hd_parallel(e->options->n_threads, n, emit_one, &all);
  for (int32_t i = 0; i < n; i++) {
    if (status == HEDDLE_OK) {
      hd_say_again(e->ctx, of[i].said);
      status = of[i].status;
    }
    heddle_context_free(of[i].said);
  }
  return status;
}

/* ---- the text ---- */

/* The caller's text as comment lines. */
static void add_header(hd_strbuf *text, const char *header) {
  while (header && *header) {
    size_t line = strcspn(header, "\n");
    hd_strbuf_add(text, line ? "// " : "//");
    hd_strbuf_addn(text, header, line);
    hd_strbuf_add(text, "\n");
    header += line + (header[line] != 0);
  }
}

/* Appends a kernel after others of the same target: its entry, and those of its declarations that
 * the text does not contain yet. */
static void add_kernel(hd_arena *arena, hd_strbuf *text, const char *ptx) {
  const char *entry = strstr(ptx, ".visible .entry");
  for (size_t n = 0; ptx < entry; ptx += n) {
    n = strcspn(ptx, "\n") + 1;
    const char *line = hd_arena_strndup(arena, ptx, n);
    if (*line == '.' && !strstr(hd_strbuf_text(text), line))
      hd_strbuf_add(text, line);
  }
  hd_strbuf_add(text, "\n");
  hd_strbuf_add(text, entry);
}

/* ---- kernels of the same code ---- */

static bool is_of_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* A kernel's text with "." instead of its name, which also begins the names of its parameters.
 * Owned. */
static char *nameless(const char *ptx, const char *name) {
  size_t n = strlen(name);
  hd_strbuf text = {0};
  const char *first = ptx;
  for (const char *at; (at = strstr(ptx, name)); ptx = at + n) {
    bool begins = at == first || !is_of_name(at[-1]);
    bool ends = !is_of_name(at[n]) || strncmp(at + n, "_param_", strlen("_param_")) == 0;
    hd_strbuf_addn(&text, ptx, (size_t)(at - ptx));
    hd_strbuf_add(&text, begins && ends ? "." : name);
  }
  hd_strbuf_add(&text, ptx);
  return hd_strbuf_take(&text);
}

static bool is_same(const hd_emit_kernel *a, const char *text_a, const hd_emit_kernel *b,
                    const char *text_b) {
  return a->n_threads == b->n_threads && a->cluster == b->cluster &&
         a->shared_bytes == b->shared_bytes && strcmp(text_a, text_b) == 0;
}

/* Buckets of different sizes may get the same code. Of such kernels only the last remains, and all
 * have its entry. */
static void share_code(hd_emit_result *r, emission *of) {
  if (r->n_kernels == 1)
    return;
  char **text = HD_NEW_ARRAY(&r->arena, char *, r->n_kernels);
  for (int32_t i = 0; i < r->n_kernels; i++)
    text[i] = nameless(of[i].ptx, r->kernel[i].entry);
  for (int32_t i = 0; i < r->n_kernels; i++)
    for (int32_t j = r->n_kernels - 1; j > i; j--)
      if (is_same(&r->kernel[i], text[i], &r->kernel[j], text[j])) {
        r->kernel[i].entry = r->kernel[j].entry;
        hd_free(of[i].ptx);
        of[i].ptx = NULL;
        break;
      }
  for (int32_t i = 0; i < r->n_kernels; i++)
    hd_free(text[i]);
}

static heddle_status emit_module(hd_emitter *e, const hd_module *module, hd_emit_result *result) {
  int32_t n = 0;
  HD_FOR_OPS(op, module->body)
    n++;
  emission *of = HD_NEW_ARRAY(&e->arena, emission, n);
  result->kernel = HD_NEW_ARRAY(&result->arena, hd_emit_kernel, n);
  HD_FOR_OPS(op, module->body) {
    of[result->n_kernels].kernel = op;
    hd_emit_kernel *k = &result->kernel[result->n_kernels++];
    hd_shared_layout layout = {0};
    k->entry = hd_arena_strdup(&result->arena, hd_op_str(op, HD_ATTR_NAME));
    k->n_threads = (int32_t)hd_op_int(op, HD_ATTR_THREADS, 0);
    k->cluster = (int32_t)hd_op_int(op, HD_ATTR_CLUSTER, 1);
    k->param = hd_emit_params(op, &result->arena, &k->n_params);
    if (hd_shared_layout_make(e->ctx, op, &e->arena, &layout) == HEDDLE_OK)
      k->shared_bytes = (int32_t)layout.n_bytes;
  }
  heddle_status status = emit_kernels(e, of, n);
  if (status == HEDDLE_OK)
    share_code(result, of);
  hd_strbuf text = {0};
  add_header(&text, e->options->header);
  bool is_first = true;
  for (int32_t i = 0; i < n; i++) {
    if (status == HEDDLE_OK && of[i].ptx && !is_first)
      add_kernel(&e->arena, &text, of[i].ptx);
    else if (status == HEDDLE_OK && of[i].ptx)
      hd_strbuf_add(&text, of[i].ptx);
    is_first &= !of[i].ptx;
    hd_free(of[i].ptx);
  }
  result->n_bytes = text.len;
  result->ptx = hd_strbuf_take(&text);
  return status;
}

heddle_status hd_emit_ptx(heddle_context *ctx, const hd_module *module,
                          const hd_emit_options *options, hd_emit_result *result) {
  static const hd_emit_options defaults;
  hd_user_functions users = {.lock = PTHREAD_MUTEX_INITIALIZER};
  hd_emitter e = {.ctx = ctx, .options = options ? options : &defaults, .users = &users};
  hd_emit_result made = {0};
  if (module->level != HD_LEVEL_ROLE || !module->sync_placed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "emit.level",
                    "got level=%s sync=%s; legal: level=role sync=placed",
                    hd_level_name(module->level), module->sync_placed ? "placed" : "none");
  HD_TRY(find_target(&e, module));
  HD_TRY(hd_emit_pick_ptx(&e));
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_memory_status(ctx, before, emit_module(&e, module, &made));
  hd_emit_free_users(&users);
  hd_arena_free(&e.arena);
  if (status == HEDDLE_OK)
    *result = made;
  else
    hd_emit_result_free(&made);
  return status;
}

void hd_emit_result_free(hd_emit_result *result) {
  if (!result)
    return;
  hd_free(result->ptx);
  hd_arena_free(&result->arena);
  *result = (hd_emit_result){0};
}
