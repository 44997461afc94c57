#include <stdlib.h>

#include "IR/public_module.h"
#include "Support/memory.h"

typedef struct size {
  bool given, dynamic;
  int64_t value, max, divisible_by;
} size;

typedef struct dense {
  bool given;
  heddle_elem type;
  heddle_order order;
  int64_t ld, divisible_by;
} dense;

struct heddle_problem {
  hd_arena arena; /* strings */
  bool lost; /* memory ran out when a string was copied */
  const char *name, *target, *schedule, *act, *user, *kind;
  hd_loc place;
  size size[HEDDLE_DIM_T + 1]; /* by heddle_dim */
  struct {
    bool given;
    int64_t stride;
  } apart[HEDDLE_OPERAND_SCALE_B + 1]; /* of a batch, by heddle_operand */
  bool no_operand; /* a stride was given for an unknown operand */
  size no_size; /* the size of an unknown dimension */
  dense a, b, c, d;
  bool has_acc, has_bias, alpha, beta, dependent, weights_ready, groups, gather, scatter;
  int32_t slots; /* of combine_d; 0: no combine_d */
  const char *reduce; /* NULL: no statistic of D */
  bool scale_d;
  const char *aux; /* NULL: no second matrix */
  heddle_elem aux_type;
  heddle_elem acc, bias;
  heddle_dim bias_along;
  heddle_scale scale_a, scale_b;
  int32_t block;     /* elements of k that share a scale; 0: no block scales */
  int32_t block_rows; /* rows of A that share a scale; 0: none */
  heddle_elem scale; /* type of a scale */
  int64_t lds[2];    /* pitches of the scales of A, of B */
};

static const char *keep(heddle_problem *problem, const char *text) {
  uint64_t before = hd_memory_shortages();
  const char *kept = text ? hd_arena_strdup(&problem->arena, text) : NULL;
  problem->lost = problem->lost || hd_memory_shortages() != before;
  return kept;
}

heddle_problem *heddle_problem_create(const char *name, const char *target) {
  heddle_problem *problem = hd_memory_reserve() ? calloc(1, sizeof *problem) : NULL;
  if (!problem)
    return NULL;
  problem->name = keep(problem, name);
  problem->target = keep(problem, target);
  if (!problem->lost)
    return problem;
  heddle_problem_free(problem);
  return NULL;
}

void heddle_problem_free(heddle_problem *problem) {
  if (!problem)
    return;
  hd_arena_free(&problem->arena);
  hd_free(problem);
}

void heddle_problem_set_place(heddle_problem *problem, const char *file, uint32_t line,
                              uint32_t col) {
  problem->place = (hd_loc){keep(problem, file), line, col};
}

void heddle_problem_set_schedule(heddle_problem *problem, const char *schedule) {
  problem->schedule = keep(problem, schedule);
}

/* An unknown dimension has a size too, which heddle_problem_build refuses. */
static size *size_at(heddle_problem *problem, heddle_dim dim) {
  return (unsigned)dim <= HEDDLE_DIM_T ? &problem->size[dim] : &problem->no_size;
}

void heddle_problem_set_size(heddle_problem *problem, heddle_dim dim, int64_t value) {
  *size_at(problem, dim) = (size){.given = true, .value = value};
}

void heddle_problem_set_dynamic(heddle_problem *problem, heddle_dim dim, int64_t max,
                                int64_t divisible_by) {
  *size_at(problem, dim) =
      (size){.given = true, .dynamic = true, .max = max, .divisible_by = divisible_by};
}

void heddle_problem_set_a(heddle_problem *problem, heddle_elem type) {
  problem->a = (dense){.given = true, .type = type};
}

void heddle_problem_set_b(heddle_problem *problem, heddle_elem type, heddle_order order, int64_t ld,
                          int64_t divisible_by) {
  problem->b = (dense){true, type, order, ld, divisible_by};
}

void heddle_problem_set_c(heddle_problem *problem, heddle_elem type, heddle_order order, int64_t ld,
                          int64_t divisible_by) {
  problem->c = (dense){true, type, order, ld, divisible_by};
}

void heddle_problem_set_d(heddle_problem *problem, heddle_elem type, heddle_order order, int64_t ld,
                          int64_t divisible_by) {
  problem->d = (dense){true, type, order, ld, divisible_by};
}

void heddle_problem_set_accumulator(heddle_problem *problem, heddle_elem type) {
  problem->has_acc = true;
  problem->acc = type;
}

void heddle_problem_set_bias(heddle_problem *problem, heddle_elem type, heddle_dim along) {
  problem->has_bias = true;
  problem->bias = type;
  problem->bias_along = along;
}

void heddle_problem_set_scales(heddle_problem *problem, heddle_scale a, heddle_scale b) {
  problem->scale_a = a;
  problem->scale_b = b;
}

void heddle_problem_set_block_scales(heddle_problem *problem, heddle_elem type, int32_t block,
                                     int64_t ld_a, int64_t ld_b) {
  problem->scale = type;
  problem->block = block;
  problem->lds[0] = ld_a;
  problem->lds[1] = ld_b;
}

void heddle_problem_set_block_rows(heddle_problem *problem, int32_t rows) {
  problem->block_rows = rows;
}

void heddle_problem_set_kind(heddle_problem *problem, const char *kind) {
  problem->kind = keep(problem, kind);
}

void heddle_problem_set_scalars(heddle_problem *problem, bool alpha, bool beta) {
  problem->alpha = alpha;
  problem->beta = beta;
}

void heddle_problem_set_act(heddle_problem *problem, const char *act) {
  problem->act = keep(problem, act);
  problem->user = NULL;
}

void heddle_problem_set_user(heddle_problem *problem, const char *function) {
  problem->act = "user";
  problem->user = keep(problem, function);
}

void heddle_problem_set_user_pair(heddle_problem *problem, const char *function) {
  problem->act = "user_pair";
  problem->user = keep(problem, function);
}

void heddle_problem_set_dependent(heddle_problem *problem, bool dependent, bool weights_ready) {
  problem->dependent = dependent;
  problem->weights_ready = weights_ready;
}

void heddle_problem_set_groups(heddle_problem *problem, bool groups) { problem->groups = groups; }

void heddle_problem_set_indices(heddle_problem *problem, bool gather_b, bool scatter_d) {
  problem->gather = gather_b;
  problem->scatter = scatter_d;
}

void heddle_problem_set_reduce(heddle_problem *problem, const char *statistic, bool scale_d) {
  problem->reduce = keep(problem, statistic);
  problem->scale_d = scale_d;
}

void heddle_problem_set_aux(heddle_problem *problem, const char *value, heddle_elem type) {
  problem->aux = keep(problem, value);
  problem->aux_type = type;
}

void heddle_problem_set_combine(heddle_problem *problem, int32_t slots) { problem->slots = slots; }

void heddle_problem_set_stride(heddle_problem *problem, heddle_operand operand, int64_t stride) {
  problem->no_operand |= (unsigned)operand > HEDDLE_OPERAND_SCALE_B;
  if ((unsigned)operand > HEDDLE_OPERAND_SCALE_B)
    return;
  problem->apart[operand].given = true;
  problem->apart[operand].stride = stride;
}

/* ---- building ---- */

/* The state while one module is built. */
typedef struct building {
  const heddle_problem *p;
  hd_module *m;
  hd_builder b;
  hd_value *size[HEDDLE_DIM_T + 1];
} building;

#define REFUSE(rule, ...) return hd_error(ctx, HEDDLE_INVALID, p->place, rule, __VA_ARGS__)

static heddle_status check_complete(heddle_context *ctx, const heddle_problem *p) {
  const struct {
    bool given;
    const char *what;
  } needed[] = {{p->name, "name"},
                {p->target, "target"},
                {p->size[HEDDLE_DIM_M].given, "size m"},
                {p->size[HEDDLE_DIM_N].given, "size n"},
                {p->size[HEDDLE_DIM_K].given, "size k"},
                {p->size[HEDDLE_DIM_T].given || !p->gather, "size t of gather_b"},
                {p->size[HEDDLE_DIM_T].given || !p->slots, "size t of combine_d"},
                {p->a.given, "type of A"},
                {p->b.given, "type of B"},
                {p->d.given, "type of D"}};
  for (size_t i = 0; i < HD_COUNT(needed); i++)
    if (!needed[i].given)
      REFUSE("problem.complete",
             "the %s is missing; legal: a name, a target, sizes m, n and k, "
             "types of A, B and D",
             needed[i].what);
  return HEDDLE_OK;
}

static heddle_status check_types(heddle_context *ctx, const heddle_problem *p) {
  const struct {
    bool given;
    heddle_elem type;
    const char *of;
  } types[] = {{p->a.given, p->a.type, "A"},
               {p->b.given, p->b.type, "B"},
               {p->c.given, p->c.type, "C"},
               {p->d.given, p->d.type, "D"},
               {p->has_acc, p->acc, "the accumulators"},
               {p->has_bias, p->bias, "the bias"},
               {p->block != 0, p->scale, "the block scales"},
               {p->aux != NULL, p->aux_type, "aux"}};
  for (size_t i = 0; i < HD_COUNT(types); i++)
    if (types[i].given && !heddle_elem_get(types[i].type))
      REFUSE("problem.type", "got type %d of %s; legal: 0 to %d, the enumerators of heddle_elem",
             (int)types[i].type, types[i].of, HEDDLE_N_ELEMS - 1);
  return HEDDLE_OK;
}

static heddle_status check_enumerators(heddle_context *ctx, const heddle_problem *p) {
  const struct {
    int value, most;
    const char *rule, *what, *type;
  } words[] = {
      {(int)p->b.order, HEDDLE_COL_MAJOR, "problem.order", "order of B", "heddle_order"},
      {(int)p->c.order, HEDDLE_COL_MAJOR, "problem.order", "order of C", "heddle_order"},
      {(int)p->d.order, HEDDLE_COL_MAJOR, "problem.order", "order of D", "heddle_order"},
      {(int)p->bias_along, HEDDLE_DIM_N, "problem.bias", "dim of the bias", "heddle_dim"},
      {(int)p->scale_a, HEDDLE_SCALE_VECTOR, "problem.scale", "scale of A", "heddle_scale"},
      {(int)p->scale_b, HEDDLE_SCALE_SUMSQ, "problem.scale", "scale of B", "heddle_scale"}};
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (words[i].value < 0 || words[i].value > words[i].most)
      REFUSE(words[i].rule, "got %s %d; legal: 0 to %d of %s", words[i].what, words[i].value,
             words[i].most, words[i].type);
  return HEDDLE_OK;
}

/* Checks what the IR cannot represent; the verifier checks the rest. */
static heddle_status check_given(heddle_context *ctx, const heddle_problem *p) {
  if (p->no_size.given)
    REFUSE("problem.dim", "got a size for an unknown dimension; legal: 0 to %d of heddle_dim",
           HEDDLE_DIM_T);
  if (p->no_operand)
    REFUSE("problem.operand",
           "got a stride for an unknown operand; legal: 0 to %d of heddle_operand",
           HEDDLE_OPERAND_SCALE_B);
  HD_TRY(check_complete(ctx, p));
  HD_TRY(check_types(ctx, p));
  return check_enumerators(ctx, p);
}

/* Sets an attribute unless the value is 0 (not given). */
static void set_given(building *g, hd_op *op, hd_attr_key key, int64_t value) {
  if (value)
    hd_op_set_int(g->m, op, key, value);
}

static void build_kernel(building *g) {
  hd_op *kernel = hd_build_op(&g->b, HD_OP_KERNEL, (hd_type){0}, 0);
  hd_op_set_str(g->m, kernel, HD_ATTR_NAME, g->p->name);
  hd_op_set_str(g->m, kernel, HD_ATTR_TARGET, g->p->target);
  if (g->p->schedule && *g->p->schedule)
    hd_op_set_str(g->m, kernel, HD_ATTR_SCHEDULE, g->p->schedule);
  if (g->p->dependent)
    hd_op_set_flag(g->m, kernel, HD_ATTR_DEPENDENT);
  if (g->p->weights_ready)
    hd_op_set_flag(g->m, kernel, HD_ATTR_WEIGHTS_READY);
  g->b.region = kernel->regions[0];
}

static void build_sizes(building *g) {
  static const char *const names[] = {"m", "n", "k", "g", "t"};
  for (size_t i = 0; i < HD_COUNT(names); i++) {
    const size *s = &g->p->size[i];
    if (!s->given) /* g: not a batch; t: no index vector */
      continue;
    hd_op *op = hd_build_op(&g->b, HD_OP_SIZE, HD_I32, 0);
    hd_op_set_str(g->m, op, HD_ATTR_DIM, names[i]);
    if (!s->dynamic)
      hd_op_set_int(g->m, op, HD_ATTR_VALUE, s->value);
    set_given(g, op, HD_ATTR_MAX, s->max);
    set_given(g, op, HD_ATTR_DIVISIBLE_BY, s->divisible_by);
    op->results[0]->name = names[i];
    g->size[i] = op->results[0];
  }
}

static void set_stride(building *g, hd_op *op, heddle_operand operand) {
  if (g->p->apart[operand].given)
    hd_op_set_int(g->m, op, HD_ATTR_G_STRIDE, g->p->apart[operand].stride);
}

static hd_value *named(hd_op *op, const char *name) {
  op->results[0]->name = name;
  return op->results[0];
}

static const char *order_word(heddle_order order) {
  static const char *const words[] = {"k_major", "mn_major", "row_major", "col_major"};
  return words[order];
}

static hd_value *build_sparse(building *g) {
  hd_op *op = hd_build_op(&g->b, HD_OP_SPARSE, hd_type_matrix(g->p->a.type), 2,
                          g->size[HEDDLE_DIM_M], g->size[HEDDLE_DIM_K]);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, g->p->a.type);
  set_stride(g, op, HEDDLE_OPERAND_A);
  return named(op, "a");
}

static hd_value *build_dense(building *g, const dense *d, const char *operand, heddle_dim rows,
                             heddle_dim columns) {
  hd_op *op = hd_build_op(&g->b, HD_OP_DENSE, hd_type_matrix(d->type), 2, g->size[rows],
                          g->size[columns]);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, d->type);
  hd_op_set_str(g->m, op, HD_ATTR_OPERAND, operand);
  hd_op_set_str(g->m, op, HD_ATTR_ORDER, order_word(d->order));
  set_given(g, op, HD_ATTR_LD, d->ld);
  set_given(g, op, HD_ATTR_DIVISIBLE_BY, d->divisible_by);
  set_stride(g, op, d == &g->p->b ? HEDDLE_OPERAND_B : HEDDLE_OPERAND_C);
  return named(op, operand);
}

/* length NULL: a vector of one element. */
static hd_value *build_vector(building *g, heddle_operand which, const char *operand,
                              heddle_elem type, hd_value *length) {
  hd_op *op = hd_build_op(&g->b, HD_OP_VECTOR, hd_type_matrix(type), 1, length);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, type);
  hd_op_set_str(g->m, op, HD_ATTR_OPERAND, operand);
  set_stride(g, op, which);
  return named(op, operand);
}

static hd_value *build_scale(building *g, heddle_operand which, const char *operand,
                             heddle_scale scale, heddle_dim along) {
  if (scale == HEDDLE_SCALE_NONE)
    return NULL;
  hd_value *made = build_vector(g, which, operand, HEDDLE_F32,
                                scale != HEDDLE_SCALE_ONE ? g->size[along] : NULL);
  if (scale == HEDDLE_SCALE_SUMSQ)
    hd_op_set_str(g->m, made->op, HD_ATTR_STATISTIC, "sumsq");
  return made;
}

/* The block scales of A (which 0) or B; NULL: none. */
static hd_value *build_block_scale(building *g, int which) {
  const heddle_problem *p = g->p;
  if (!p->block)
    return NULL;
  hd_op *op = hd_build_op(&g->b, HD_OP_BLOCK_SCALE, hd_type_matrix(p->scale), 2,
                          g->size[!which ? HEDDLE_DIM_M : p->gather ? HEDDLE_DIM_T : HEDDLE_DIM_N],
                          g->size[HEDDLE_DIM_K]);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, p->scale);
  hd_op_set_str(g->m, op, HD_ATTR_OPERAND, which ? "b" : "a");
  hd_op_set_int(g->m, op, HD_ATTR_BLOCK, p->block);
  if (which == 0 && p->block_rows)
    hd_op_set_int(g->m, op, HD_ATTR_ROWS, p->block_rows);
  set_given(g, op, HD_ATTR_LD, p->lds[which]);
  return named(op, which ? "block_scale_b" : "block_scale_a");
}

/* in: C, bias and the two scales, each NULL if absent. */
static hd_value *build_epilogue(building *g, hd_value *x, hd_value *const in[4]) {
  const heddle_problem *p = g->p;
  hd_op *op = hd_build_op(&g->b, HD_OP_EPILOGUE, x->type, 5, x, in[0], in[1], in[2], in[3]);
  hd_op_set_str(g->m, op, HD_ATTR_ACT, p->act ? p->act : "none");
  const struct {
    bool there;
    hd_attr_key key;
  } flags[] = {{p->alpha, HD_ATTR_ALPHA},
               {p->beta, HD_ATTR_BETA},
               {in[0] != NULL, HD_ATTR_C},
               {in[1] != NULL, HD_ATTR_BIAS},
               {in[2] != NULL, HD_ATTR_SCALE_A},
               {in[3] != NULL, HD_ATTR_SCALE_B}};
  for (size_t i = 0; i < HD_COUNT(flags); i++)
    if (flags[i].there)
      hd_op_set_flag(g->m, op, flags[i].key);
  if (p->user)
    hd_op_set_str(g->m, op, HD_ATTR_USER, p->user);
  return named(op, "y");
}

static void build_store(building *g, hd_value *y) {
  const dense *d = &g->p->d;
  hd_op *op = hd_build_op(&g->b, HD_OP_STORE, (hd_type){0}, 1, y);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, d->type);
  hd_op_set_str(g->m, op, HD_ATTR_ORDER, order_word(d->order));
  set_given(g, op, HD_ATTR_LD, d->ld);
  set_given(g, op, HD_ATTR_DIVISIBLE_BY, d->divisible_by);
  set_stride(g, op, HEDDLE_OPERAND_D);
  if (g->p->reduce)
    hd_op_set_str(g->m, op, HD_ATTR_REDUCE, g->p->reduce);
  if (g->p->scale_d)
    hd_op_set_flag(g->m, op, HD_ATTR_SCALE_D);
  if (!g->p->aux)
    return;
  hd_op_set_str(g->m, op, HD_ATTR_AUX, g->p->aux);
  hd_op_set_elem(g->m, op, HD_ATTR_AUX_TYPE, g->p->aux_type);
}

/* length NULL: the offsets. */
static hd_op *build_index(building *g, const char *operand, hd_value *length) {
  hd_op *op = hd_build_op(&g->b, HD_OP_VECTOR, hd_type_matrix(HEDDLE_S32), length != NULL, length);
  hd_op_set_elem(g->m, op, HD_ATTR_TYPE, HEDDLE_S32);
  hd_op_set_str(g->m, op, HD_ATTR_OPERAND, operand);
  named(op, operand);
  return op;
}

static void build_all(building *g) {
  const heddle_problem *p = g->p;
  heddle_elem acc = p->has_acc ? p->acc : heddle_elem_get(p->a.type)->acc;
  build_kernel(g);
  build_sizes(g);
  hd_value *a = build_sparse(g);
  hd_value *b = build_dense(g, &p->b, "b", HEDDLE_DIM_K,
                            p->gather ? HEDDLE_DIM_T : HEDDLE_DIM_N);
  hd_value *in[4];
  in[0] = p->c.given ? build_dense(g, &p->c, "c", HEDDLE_DIM_M, HEDDLE_DIM_N) : NULL;
  in[1] = p->has_bias ? build_vector(g, HEDDLE_OPERAND_BIAS, "bias", p->bias,
                                     g->size[p->bias_along])
                      : NULL;
  in[2] = build_scale(g, HEDDLE_OPERAND_SCALE_A, "scale_a", p->scale_a, HEDDLE_DIM_M);
  in[3] = build_scale(g, HEDDLE_OPERAND_SCALE_B, "scale_b", p->scale_b, HEDDLE_DIM_N);
  if (p->groups)
    build_index(g, "offsets", NULL);
  if (p->gather)
    build_index(g, "gather_b", g->size[HEDDLE_DIM_N]);
  if (p->scatter)
    build_index(g, "scatter_d", g->size[HEDDLE_DIM_N]);
  if (p->slots)
    hd_op_set_int(g->m, build_index(g, "combine_d", g->size[HEDDLE_DIM_T]), HD_ATTR_SLOTS,
                  p->slots);
  hd_value *scale_a = build_block_scale(g, 0), *scale_b = build_block_scale(g, 1);
  hd_op *matmul = hd_build_op(&g->b, HD_OP_MATMUL, hd_type_matrix(acc), 4, a, b, scale_a, scale_b);
  hd_op_set_elem(g->m, matmul, HD_ATTR_ACC, acc);
  if (p->kind)
    hd_op_set_str(g->m, matmul, HD_ATTR_KIND, p->kind);
  build_store(g, build_epilogue(g, named(matmul, "x"), in));
}

heddle_status heddle_problem_build(heddle_context *ctx, const heddle_problem *problem,
                                   heddle_module **module) {
  uint64_t before = hd_memory_shortages() - problem->lost;
  HD_TRY(hd_memory_status(ctx, before, check_given(ctx, problem)));
  building g = {.p = problem, .m = hd_module_create(HD_LEVEL_PROBLEM)};
  g.b = hd_builder_at_end(g.m, g.m->body);
  g.b.loc = problem->place;
  if (problem->place.file)
    g.m->file = g.b.loc.file = hd_arena_strdup(&g.m->arena, problem->place.file);
  build_all(&g);
  heddle_status status = hd_memory_status(ctx, before, HEDDLE_OK);
  if (status == HEDDLE_OK)
    return hd_public_module(ctx, g.m, module);
  hd_module_free(g.m);
  return status;
}
