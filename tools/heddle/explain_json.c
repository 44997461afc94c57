#include <jansson.h>
#include <stdio.h>

#include "Schedule/cost.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "explained.h"

static const char *elem_name(heddle_elem elem) {
  return heddle_elem_get(elem)->name;
}

/* {"value": 512}, {"max": 65536}, or {} if known only at launch and without a bound. */
static json_t *size_object(const hd_size *size) {
  json_t *object = json_object();
  if (size->value)
    json_object_set_new(object, "value", json_integer(size->value));
  else if (size->max)
    json_object_set_new(object, "max", json_integer(size->max));
  return object;
}

static json_t *problem_object(const hd_problem *p) {
  const heddle_elem_info *a = heddle_elem_get(p->a_elem);
  json_t *object = json_pack(
      "{s:s, s:s, s:o, s:o, s:o, s:s, s:[i,i], s:s, s:s, s:s, s:s, s:s, s:s}", "name",
      hd_op_str(p->kernel, HD_ATTR_NAME), "target", p->target->name, "m", size_object(&p->m), "n",
      size_object(&p->n), "k", size_object(&p->k), "a", a->name, "kept_of", a->kept, a->group, "b",
      elem_name(p->b.elem), "b_order", p->b.transposed ? "mn_major" : "k_major", "accumulator",
      elem_name(p->acc_elem), "d", elem_name(p->d.elem), "d_order",
      p->d.transposed ? "col_major" : "row_major", "act", p->act);
  const struct {
    const char *name;
    bool is;
  } flags[] = {{"alpha", p->alpha},       {"beta", p->beta},          {"c", p->c.op},
               {"bias", p->bias.op},      {"scale_a", p->scale_a.op}, {"scale_b", p->scale_b.op},
               {"block_scales", p->block}};
  for (size_t i = 0; i < HD_COUNT(flags); i++)
    json_object_set_new(object, flags[i].name, json_boolean(flags[i].is));
  return object;
}

static json_t *cost_object(const explained *e) {
  json_t *alone = json_object();
  for (int r = 0; r < HD_N_RESOURCES; r++)
    json_object_set_new(alone, hd_resource_name(r), json_real(e->cost.alone[r] * 1e6));
  return json_pack("{s:f, s:s, s:[I,I,I], s:I, s:f, s:s, s:o, s:f}", "us", e->cost.seconds * 1e6,
                   "device", e->ceilings->device, "mnk", (json_int_t)e->mnk[0],
                   (json_int_t)e->mnk[1], (json_int_t)e->mnk[2], "units", (json_int_t)e->cost.units,
                   "waves", e->cost.waves, "binds", hd_resource_name(e->cost.binds), "alone_us",
                   alone, "dense_us", e->dense_seconds * 1e6);
}

static json_t *buckets_array(const explained *e) {
  json_t *array = json_array();
  for (int32_t i = 0; i < e->n_buckets; i++) {
    const explain_bucket *b = &e->bucket[i];
    char text[HD_SCHEDULE_TEXT];
    hd_schedule_print(&b->bucket->words.value, text);
    json_t *object = json_pack("{s:s, s:I, s:o, s:s, s:s}", "dim", e->input->plan.dim, "from",
                               (json_int_t)b->from, "to", b->to ? json_integer(b->to) : json_null(),
                               "schedule", text, "why", b->bucket->why);
    if (b->seconds > 0)
      json_object_set_new(object, "us_at_end", json_real(b->seconds * 1e6));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *alternatives_array(const explained *e) {
  json_t *array = json_array();
  for (int32_t i = 0; i < e->n_alternatives; i++) {
    const explain_alternative *x = &e->alternative[i];
    json_t *object = json_pack("{s:s, s:b}", "schedule", x->words, "legal", x->legal);
    if (!x->legal)
      json_object_set_new(object, "why", json_string(hd_strbuf_text(&x->refusal)));
    else if (e->is_estimate)
      json_object_set_new(object, "us", json_real(x->cost.seconds * 1e6));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *shared_array(const explained *e) {
  json_t *array = json_array();
  for (int32_t i = 0; i < e->shared.n_items; i++) {
    const hd_shared_item *x = &e->shared.item[i];
    json_array_append_new(array,
                          json_pack("{s:s, s:I, s:I, s:I}", "name", explain_item_name(x), "offset",
                                    (json_int_t)x->offset, "slot_bytes", (json_int_t)x->slot_bytes,
                                    "slots", (json_int_t)x->stages));
  }
  return array;
}

static json_t *variants_array(const hd_manifest *m) {
  json_t *array = json_array();
  for (int i = 0; i < m->n_variants; i++) {
    const hd_variant *v = &m->variant[i];
    json_array_append_new(array,
                          json_pack("{s:s, s:s, s:i, s:i, s:i}", "entry", v->entry, "b", v->path,
                                    "threads", (int)v->n_threads, "registers", (int)v->n_registers,
                                    "shared_bytes", (int)v->shared_bytes));
  }
  return array;
}

static json_t *tuned_object(const hd_tuned_entry *e) {
  char product[HD_PRODUCT_TEXT];
  if (!e)
    return json_null();
  hd_product_print(&e->product, product);
  return json_pack("{s:s, s:s, s:f, s:f}", "product", product, "device", e->device, "us",
                   e->seconds * 1e6, "default_us", e->default_seconds * 1e6);
}

heddle_status explain_print_json(const explained *e) {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(e->schedule, text);
  json_t *object = json_pack(
      "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "problem", problem_object(e->problem),
      "schedule", text, "predicted", e->is_estimate ? cost_object(e) : json_null(), "tuned",
      tuned_object(e->input->entry), "buckets", buckets_array(e), "shared", shared_array(e),
      "variants", variants_array(&e->kernel.manifest), "alternatives", alternatives_array(e),
      "packed_a_bytes", (json_int_t)e->packed_bytes);
  char *line = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(object);
  if (!line)
    return HEDDLE_NO_MEMORY;
  puts(line);
  hd_free(line);
  return HEDDLE_OK;
}
