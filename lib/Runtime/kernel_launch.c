/* The launch path: nothing here allocates, loads or waits when a launch succeeds. */
#include <string.h>

#include "Runtime/loaded_kernel.h"
#include "Runtime/overlap.h"
#include "Support/diag.h"
#include "Support/nearest.h"

static heddle_status gather(heddle_context *ctx, const heddle_kernel *kernel,
                            const heddle_arg *args, size_t n_args, hd_values *values) {
  if (n_args != (size_t)kernel->n_passed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.args",
                    "got %zu arguments for kernel %s; legal: %d, %s", n_args, kernel->manifest.name,
                    kernel->n_passed, kernel->prototype);
  memset(values, 0, sizeof *values);
  for (size_t i = 0; i < n_args; i++)
    values->v[kernel->passed[i]] = hd_arg_bits(hd_arg_class_of(kernel->passed[i]), args[i]);
  return HEDDLE_OK;
}

static heddle_status find_loaded(heddle_context *ctx, const heddle_kernel *kernel,
                                 const hd_loaded **loaded) {
  void *context = NULL;
  HD_CU_TRY(ctx, kernel->runtime, context_get, &context);
  for (int i = 0; i < kernel->n_loaded; i++) {
    if (kernel->loaded[i].context == context) {
      *loaded = &kernel->loaded[i];
      return HEDDLE_OK;
    }
  }
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.context",
                  "kernel %s is not loaded in the current CUDA context; call heddle_kernel_attach",
                  kernel->manifest.name);
}

static unsigned fill_attributes(const heddle_kernel *kernel, const hd_variant *variant,
                                hd_cu_attribute attributes[2]) {
  unsigned n = 0;
  if (variant->cluster > 1)
    attributes[n++] = (hd_cu_attribute){.id = HD_CU_CLUSTER_DIMENSION,
                                        .value.cluster = {(unsigned)variant->cluster, 1, 1}};
  if (variant->dependent_launch && !kernel->ordinary)
    attributes[n++] =
        (hd_cu_attribute){.id = HD_CU_PROGRAMMATIC_SERIALIZATION, .value.number = 1};
  return n;
}

static hd_cu_config configure(const hd_variant *variant, uint32_t grid, void *stream) {
  return (hd_cu_config){.grid_x = grid, .grid_y = 1, .grid_z = 1,
                        .block_x = (unsigned)variant->n_threads, .block_y = 1, .block_z = 1,
                        .shared_bytes = (unsigned)variant->shared_bytes, .stream = stream};
}

/* Fills in the launch of a copy or combine kernel, which takes no tensor maps. */
static void fill_serving(const heddle_kernel *kernel, const hd_loaded *loaded,
                         const hd_variant *variant, uint32_t grid, hd_values *values, void *stream,
                         hd_serving *s) {
  for (int i = 0; i < variant->n_params; i++)
    s->params[i] = &values->v[variant->param[i].arg];
  s->config = configure(variant, grid, stream);
  s->config.attributes = s->attributes;
  s->config.n_attributes = fill_attributes(kernel, variant, s->attributes);
  s->function = loaded->function[variant - kernel->manifest.variant];
}

static heddle_status fill(heddle_context *ctx, const heddle_kernel *kernel,
                          const hd_loaded *loaded, const hd_launch_plan *plan, hd_values *values,
                          void *stream, hd_prepared *p) {
  static const uint32_t ones[5] = {1, 1, 1, 1, 1}; /* all element strides of the box */
  const hd_variant *variant = plan->variant;
  for (int i = 0; i < variant->n_tmaps; i++) {
    const hd_tmap *tmap = &plan->tmap[i];
    HD_CU_TRY(ctx, kernel->runtime, tmap_encode, &p->maps[i], hd_tmap_data_type(tmap->elem),
              (uint32_t)tmap->rank, (void *)(uintptr_t)tmap->base, tmap->dim, &tmap->stride[1],
              tmap->box, ones, HD_CU_TMAP_INTERLEAVE, (int)tmap->swizzle, HD_CU_TMAP_PROMOTION,
              HD_CU_TMAP_FILL);
  }
  for (int i = 0; i < variant->n_params; i++) {
    const hd_param *param = &variant->param[i]; /* little-endian: a 4-byte value is at the start */
    p->params[i] =
        param->arg == HD_ARG_NONE ? (void *)&p->maps[param->tmap] : &values->v[param->arg];
  }
  p->config = configure(variant, plan->grid_x, stream);
  p->config.attributes = p->attributes;
  p->config.n_attributes = fill_attributes(kernel, variant, p->attributes);
  if (plan->ahead)
    fill_serving(kernel, loaded, plan->ahead, plan->ahead_grid, values, stream, &p->ahead);
  if (plan->behind)
    fill_serving(kernel, loaded, plan->behind, plan->behind_grid, values, stream, &p->behind);
  p->function = loaded->function[variant - kernel->manifest.variant];
  return HEDDLE_OK;
}

heddle_status hd_kernel_prepare(heddle_context *ctx, const heddle_kernel *kernel,
                                hd_values *values, void *stream, hd_prepared *prepared) {
  const hd_loaded *loaded = NULL;
  hd_launch_plan plan;
  HD_TRY(find_loaded(ctx, kernel, &loaded));
  HD_TRY(hd_manifest_plan(ctx, &kernel->manifest, values, loaded->resident, &plan));
  prepared->function = prepared->ahead.function = prepared->behind.function = NULL;
  return plan.grid_x ? fill(ctx, kernel, loaded, &plan, values, stream, prepared) : HEDDLE_OK;
}

static heddle_status submit_serving(heddle_context *ctx, const heddle_kernel *kernel,
                                    hd_serving *s) {
  HD_CU_TRY(ctx, kernel->runtime, launch, &s->config, s->function, s->params, NULL);
  return HEDDLE_OK;
}

heddle_status hd_kernel_submit(heddle_context *ctx, const heddle_kernel *kernel, hd_prepared *p) {
  if (p->ahead.function)
    HD_TRY(submit_serving(ctx, kernel, &p->ahead));
  HD_CU_TRY(ctx, kernel->runtime, launch, &p->config, p->function, p->params, NULL);
  return p->behind.function ? submit_serving(ctx, kernel, &p->behind) : HEDDLE_OK;
}

heddle_status hd_kernel_launch_values(heddle_context *ctx, const heddle_kernel *kernel,
                                      hd_values *values, void *stream) {
  hd_prepared p;
  bool overlaps = kernel->overlapping && hd_follows_early(kernel->runtime, stream) &&
                  hd_kernel_prepare(NULL, kernel->overlapping, values, stream, &p) == HEDDLE_OK;
  if (!overlaps) /* or it takes fewer sizes, or pitches */
    HD_TRY(hd_kernel_prepare(ctx, kernel, values, stream, &p));
  return p.function ? hd_kernel_submit(ctx, kernel, &p) : HEDDLE_OK;
}

heddle_status heddle_kernel_launch(heddle_context *ctx, const heddle_kernel *kernel,
                                   const heddle_arg *args, size_t n_args, void *stream) {
  hd_values values;
  HD_TRY(gather(ctx, kernel, args, n_args, &values));
  return hd_kernel_launch_values(ctx, kernel, &values, stream);
}

/* ---- arguments by name ---- */

typedef struct name_cursor {
  const heddle_kernel *kernel;
  size_t i;
} name_cursor;

static const char *next_name(void *user) {
  name_cursor *c = user;
  return heddle_kernel_arg_name(c->kernel, c->i++);
}

heddle_status heddle_kernel_args_by_name(heddle_context *ctx, const heddle_kernel *kernel,
                                         const heddle_named_arg *named, size_t n_named,
                                         heddle_arg *args) {
  heddle_arg arranged[HD_MAX_ARGS];
  bool given[HD_MAX_ARGS] = {false};
  for (size_t i = 0; i < n_named; i++) {
    const char *name = named[i].name ? named[i].name : "";
    int32_t at = 0;
    while (at < kernel->n_passed && strcmp(hd_arg_name(kernel->passed[at]), name) != 0)
      at++;
    if (at == kernel->n_passed) {
      name_cursor c = {kernel, 0};
      const char *near = hd_nearest_name(name, next_name, &c);
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.name",
                      "got an argument \"%.40s\" for kernel %s; legal: those of %s%s%s", name,
                      kernel->manifest.name, kernel->prototype, near ? "; nearest: " : "",
                      near ? near : "");
    }
    if (given[at])
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.name",
                      "argument %s is given twice; legal: once", name);
    given[at] = true;
    arranged[at] = named[i].value;
  }
  for (int32_t i = 0; i < kernel->n_passed; i++)
    if (!given[i])
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.name",
                      "argument %s of kernel %s is missing; legal: all of %s",
                      hd_arg_name(kernel->passed[i]), kernel->manifest.name, kernel->prototype);
  memcpy(args, arranged, sizeof *args * (size_t)kernel->n_passed);
  return HEDDLE_OK;
}

heddle_status heddle_kernel_launch_named(heddle_context *ctx, const heddle_kernel *kernel,
                                         const heddle_named_arg *named, size_t n_named,
                                         void *stream) {
  heddle_arg args[HD_MAX_ARGS];
  HD_TRY(heddle_kernel_args_by_name(ctx, kernel, named, n_named, args));
  return heddle_kernel_launch(ctx, kernel, args, (size_t)kernel->n_passed, stream);
}

heddle_status hd_kernel_workspace_values(heddle_context *ctx, const heddle_kernel *kernel,
                                         hd_values *values, uint64_t *n_bytes) {
  uint64_t most = 0;
  for (int i = 0; i < kernel->n_loaded; i++) {
    uint64_t here;
    HD_TRY(
        hd_manifest_workspace(ctx, &kernel->manifest, values, kernel->loaded[i].resident, &here));
    most = here > most ? here : most;
  }
  *n_bytes = most;
  return HEDDLE_OK;
}

heddle_status heddle_kernel_workspace(heddle_context *ctx, const heddle_kernel *kernel,
                                      const heddle_arg *args, size_t n_args, uint64_t *n_bytes) {
  hd_values values;
  HD_TRY(gather(ctx, kernel, args, n_args, &values));
  return hd_kernel_workspace_values(ctx, kernel, &values, n_bytes);
}
