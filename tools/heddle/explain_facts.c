/* Sentences that explain prints about the problem, the schedule and the kernel. */
#include <inttypes.h>
#include <string.h>

#include "Schedule/resources.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "explained.h"
#include "heddle/sparse.h"

hd_strbuf *explain_add(explained *e, explain_part part, const char *label) {
  HD_PUSH(e->fact, e->n_facts, e->cap_facts, ((explain_fact){part, label, {0}}));
  return &e->fact[e->n_facts - 1].text;
}

/* Names the CTA that adds up the partial sums of a tile. */
static const char *summing(const hd_problem *p, const hd_schedule *s) {
  if (hd_schedule_along_k(s) == 1)
    return "last CTA to arrive";
  return hd_schedule_owners(p, s) > 1 ? "CTAs of their cluster" : "first of their cluster";
}

static void add_size(hd_strbuf *t, const char *name, const hd_size *size) {
  if (size->value)
    hd_strbuf_printf(t, " %s=%" PRId64, name, size->value);
  else if (size->max)
    hd_strbuf_printf(t, " %s<=%" PRId64, name, size->max);
  else
    hd_strbuf_printf(t, " %s", name);
}

static const char *elem_name(heddle_elem elem) {
  return heddle_elem_get(elem)->name;
}

static const char *scale_text(const hd_dense *scale, const char *one, const char *many) {
  return !scale->op ? "" : scale->one ? one : many;
}

void explain_problem_facts(explained *e) {
  const hd_problem *p = e->problem;
  hd_strbuf *t = explain_add(e, EXPLAIN_PROBLEM, "problem");
  hd_strbuf_printf(t, "%s: D = epilogue(A x B),", hd_op_str(p->kernel, HD_ATTR_NAME));
  add_size(t, "M", &p->m);
  add_size(t, "N", &p->n);
  add_size(t, "K", &p->k);
  if (hd_is_batch(p))
    add_size(t, "G", &p->g);
  const heddle_elem_info *a = heddle_elem_get(p->a_elem);
  hd_strbuf_printf(t, "\nA %s %d:%d sparse, B %s %s, accumulate %s, D %s %s", a->name, a->kept,
                   a->group, elem_name(p->b.elem), p->b.transposed ? "mn_major" : "k_major",
                   elem_name(p->acc_elem), elem_name(p->d.elem),
                   p->d.transposed ? "col_major" : "row_major");
  if (p->block)
    hd_strbuf_printf(explain_add(e, EXPLAIN_PROBLEM, "scales"),
                     "%s for each %d of k, of %sA's rows and B's columns, in %s order%s",
                     elem_name(p->block_a.elem), p->block, p->block_rows > 1 ? "128 of " : "",
                     hd_scales_in_tiles(p) ? "tile" : "k-block",
                     hd_scales_promoted(p)
                         ? "; a k-block's sums are scaled and added to others in f32"
                         : "");
  hd_strbuf_printf(explain_add(e, EXPLAIN_PROBLEM, "epilogue"), "%s%s%s%s%s%s%s%s", p->act,
                   p->alpha ? ", alpha" : "", p->beta ? ", beta" : "", p->c.op ? ", C" : "",
                   p->bias.op ? ", bias along " : "",
                   !p->bias.op       ? ""
                   : p->bias_along_n ? "n"
                                     : "m",
                   scale_text(&p->scale_a, ", a scale of A", ", scales of A's rows"),
                   scale_text(&p->scale_b, ", a scale of B", ", scales of B's columns"));
  if (p->statistic)
    hd_strbuf_printf(explain_add(e, EXPLAIN_PROBLEM, "scale_b"),
                     "1 / sqrt(%s / k + eps) of a column of B, from a sum for each %d of k, once "
                     "per tile",
                     p->statistic, HD_REDUCE_ROWS);
  if (p->reduce)
    hd_strbuf_printf(explain_add(e, EXPLAIN_PROBLEM, "reduce"),
                     "%s of each %d rows of a column of D, which one CTA has%s", p->reduce,
                     HD_REDUCE_ROWS, p->scale_d ? "; D is divided by scales made of it" : "");
  if (p->aux_of)
    hd_strbuf_printf(explain_add(e, EXPLAIN_PROBLEM, "aux"),
                     "the %s of each element of D, as %s, stored from registers before D",
                     hd_aux_is_input(p) ? "activation's input" : "result before its conversion",
                     elem_name(p->aux.elem));
  if (p->pair)
    hd_strbuf_add(explain_add(e, EXPLAIN_PROBLEM, "pairs"),
                  "rows of gate and up are interleaved in A (heddle pack --pair); D has M / 2 "
                  "rows");
}

/* ---- the schedule ---- */

static const char *sharing(const hd_schedule *s) {
  return s->cluster < 2                   ? ""
         : hd_schedule_is_pair(s)         ? ", pairs of CTAs multiply together, each with half of B"
         : s->multicast == HD_MULTICAST_A ? ", A multicast to 2 CTAs"
                                          : ", B multicast to 2 CTAs";
}

static void add_work(explained *e) {
  const hd_problem *p = e->problem;
  const hd_schedule *s = e->schedule;
  hd_strbuf *t = explain_add(e, EXPLAIN_SCHEDULE, "work");
  int64_t tiles = ((p->m.value + s->tile_m - 1) / s->tile_m) *
                  ((p->n.value + s->tile_n - 1) / s->tile_n) * (p->g.value ? p->g.value : 1);
  if (hd_is_grouped(p))
    hd_strbuf_add(t, "tiles of each group from its first column on, as many as its columns fill");
  else
    hd_strbuf_printf(t, "%" PRId64 " tiles%s", tiles,
                     hd_is_batch(p) && !p->g.value ? " in each product" : "");
  if (s->split_k > 1)
    hd_strbuf_printf(t, " by %d splits of k, added up by the %s", s->split_k, summing(p, s));
  if (s->stream_k)
    hd_strbuf_add(t, ", the last waves divided over k (stream-K)");
  hd_strbuf_printf(t, ", %d CTA%s per SM%s%s", s->ctas_per_sm, s->ctas_per_sm == 1 ? "" : "s",
                   s->persistent ? ", persistent" : "", sharing(s));
  int32_t half = hd_schedule_half_columns(p, s);
  if (half)
    hd_strbuf_printf(t,
                     "; where a group fills at most %d columns of a tile, only %d are multiplied",
                     half, half);
}

void explain_schedule_facts(explained *e) {
  const hd_problem *p = e->problem;
  const hd_schedule *s = e->schedule;
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(s, text);
  hd_strbuf_add(explain_add(e, EXPLAIN_SCHEDULE, "target"), p->target->name);
  hd_strbuf_add(explain_add(e, EXPLAIN_SCHEDULE, "schedule"), text);
  const hd_spec_row *row = hd_spec_find(hd_op_str(p->matmul, HD_ATTR_ROW));
  if (row)
    hd_strbuf_printf(explain_add(e, EXPLAIN_SCHEDULE, "row"),
                     "%s\n%s\nverified: syntax by %s, layout by %s; source %s", row->name, row->ptx,
                     hd_verified_by_name(row->syntax_verified_by),
                     hd_verified_by_name(row->layout_verified_by), row->source);
  hd_strbuf_printf(explain_add(e, EXPLAIN_SCHEDULE, "tile"),
                   "%d x %d, %d of k in a stage, %d stages of %d bytes; limit of a CTA: %d bytes "
                   "of shared memory",
                   s->tile_m, s->tile_n, s->tile_k, s->stages, hd_schedule_stage_bytes(p, s),
                   hd_schedule_shared_limit(p, s));
  hd_strbuf_printf(explain_add(e, EXPLAIN_SCHEDULE, "registers"),
                   "%d accumulators per thread in %d warps", hd_schedule_accumulators(p, s),
                   s->warps_m * s->warps_n);
  if (hd_schedule_is_tensor(s))
    hd_strbuf_printf(explain_add(e, EXPLAIN_SCHEDULE, "tensor"),
                     "%d tiles of accumulators, metadata%s for %d stages: %d columns of %u",
                     hd_schedule_sum_slots(p, s), p->block ? " and scales" : "", s->stages,
                     hd_schedule_columns(p, s), p->target->tensor_columns);
  if (p->m.value && p->n.value)
    add_work(e);
}

/* ---- the kernel ---- */

static const char *path_cost(const char *path) {
  if (!strncmp(path, "tma", 3))
    return "one thread issues TMA copies; no address arithmetic";
  if (!strncmp(path, "copied", 6))
    return "another kernel first copies B into the workspace; then one thread issues TMA copies";
  if (!strcmp(path, "copy_b"))
    return "reads and writes B once, before the kernels that read the copy";
  if (!strcmp(path, "combine"))
    return "reads each column that an index names once, and writes each column of D once";
  if (!strcmp(path, "gather16"))
    return "producer warps copy rows by index with cp.async, 16 bytes a thread, then a proxy "
           "fence: no multicast";
  if (!strcmp(path, "gather8"))
    return "producer warps copy with cp.async, 8 bytes a thread, some stages in advance, then a "
           "proxy fence: no multicast";
  if (!strcmp(path, "gather4"))
    return "producer warps copy with cp.async, 4 bytes a thread, some stages in advance, then a "
           "proxy fence: twice as many copy instructions as gather8, no multicast";
  if (!strncmp(path, "gather", 6))
    return "producer warps load and store every element, then a proxy fence: many instructions per "
           "byte, no multicast; much slower than TMA";
  if (!strcmp(path, "cp_async16"))
    return "cp.async of 16 bytes: full speed";
  if (!strcmp(path, "cp_async4"))
    return "cp.async of 4 bytes: four times as many copy instructions";
  return "element loads and shared stores: through registers, two instructions per element";
}

static void add_expr(hd_strbuf *t, const hd_expr *x) {
  hd_strbuf_add(t, hd_arg_name(x->arg));
  if (x->mul != 1)
    hd_strbuf_printf(t, " * %" PRId64, x->mul);
  if (x->add)
    hd_strbuf_printf(t, " + %" PRId64, x->add);
  if (x->div > 1)
    hd_strbuf_printf(t, " / %" PRId64, x->div);
}

static void add_launch(explained *e, const hd_variant *v) {
  if (v->dependent_launch)
    hd_strbuf_printf(explain_add(e, EXPLAIN_LAUNCH, "launch"),
                     "dependent: may start before its predecessor in the stream has ended; %s",
                     v->weights_ready ? "A is read before it has ended" :
                     "nothing is read before it has ended");
  if (v->tile_cluster < v->cluster)
    hd_strbuf_printf(explain_add(e, EXPLAIN_LAUNCH, v->dependent_launch ? "" : "launch"),
                     "in clusters of %d that share nothing, to distribute the CTAs evenly",
                     v->cluster);
}

static void add_variant(hd_strbuf *t, const hd_variant *v) {
  hd_strbuf_printf(t, "%s: %s%s, %d threads, ", v->entry, v->runs_behind ? "" : "B by ", v->path,
                   v->n_threads);
  if (v->n_registers) /* known from ptxas */
    hd_strbuf_printf(t, "%d registers, ", v->n_registers);
  hd_strbuf_printf(t, "%d bytes of shared memory\n"
                      "used when", v->shared_bytes);
  for (int r = 0; r < v->n_requirements; r++) {
    hd_strbuf_add(t, r ? " and " : " ");
    add_expr(t, &v->requirement[r].value);
    if (v->requirement[r].at_most)
      hd_strbuf_printf(t, " is at most %" PRId64, v->requirement[r].at_most);
    else
      hd_strbuf_printf(t, " is a multiple of %" PRId64, v->requirement[r].modulo);
  }
  const char *otherwise = v->runs_ahead    ? " b=copied is used"
                          : v->runs_behind ? " the products are used; runs after them"
                                           : " no entry before it can be used";
  hd_strbuf_printf(t, "%s\ncost: %s", v->n_requirements ? "" : otherwise, path_cost(v->path));
}

static void add_argument(hd_strbuf *t, const hd_arg *arg) {
  hd_strbuf_add(t, hd_arg_name(arg->kind));
  if (arg->fixed > 0)
    hd_strbuf_printf(t, " = %" PRId64 " (fixed)", arg->fixed);
  else if (hd_arg_class_of(arg->kind) == HEDDLE_CLASS_PTR)
    hd_strbuf_printf(t, ": %s, aligned to %d bytes", elem_name(arg->elem), arg->align);
  if (arg->divisible_by > 1)
    hd_strbuf_printf(t, ", a multiple of %" PRId64, arg->divisible_by);
  if (arg->max)
    hd_strbuf_printf(t, ", at most %" PRId64, arg->max);
  if (hd_arg_is_batch_stride(arg->kind) && !arg->fixed)
    hd_strbuf_add(t, arg->kind == HD_ARG_STRIDE_A ? ", in bytes" : ", in elements");
  if (hd_arg_is_batch_stride(arg->kind) && !arg->fixed && !arg->at_least.mul)
    hd_strbuf_printf(t, "; 0: all products share %s", hd_arg_name(arg->kind) + strlen("stride_"));
  else if (arg->at_least.div && !arg->fixed) {
    hd_strbuf_add(t, ", at least ");
    add_expr(t, &arg->at_least);
  }
}

static void add_prototype(hd_strbuf *t, const hd_manifest *m) {
  static const char *const types[] = {"const void *", "int32_t ", "int64_t ", "float "};
  hd_strbuf_printf(t, "int %s(", m->name);
  for (int i = 0; i < m->n_args; i++) {
    const hd_arg *arg = &m->arg[i];
    if (!hd_arg_is_passed(arg))
      continue;
    bool written = hd_arg_is_written(arg->kind);
    hd_strbuf_printf(t, "%s%s, ", written ? "void *" : types[hd_arg_class_of(arg->kind)],
                     hd_arg_name(arg->kind));
  }
  hd_strbuf_add(t, "void *stream)");
}

void explain_kernel_facts(explained *e) {
  const hd_manifest *m = &e->kernel.manifest;
  const hd_problem *p = e->problem;
  size_t row_bytes;
  add_launch(e, &m->variant[0]);
  for (int i = 0; i < m->n_variants; i++)
    add_variant(explain_add(e, EXPLAIN_LAUNCH, "variant"), &m->variant[i]);
  for (int i = 0; i < m->n_args; i++)
    add_argument(explain_add(e, EXPLAIN_ARGUMENT, "argument"), &m->arg[i]);
  add_prototype(explain_add(e, EXPLAIN_ARGUMENT, "prototype"), m);
  if (e->packed_bytes &&
      heddle_sparse_dense_row_bytes(NULL, p->a_elem, (uint64_t)p->k.value, &row_bytes) == HEDDLE_OK)
    hd_strbuf_printf(explain_add(e, EXPLAIN_ARGUMENT, "packed A"),
                     "%zu bytes (dense %zu): heddle pack --type %s --family %s", e->packed_bytes,
                     (size_t)p->m.value * row_bytes, elem_name(p->a_elem), m->family);
}
