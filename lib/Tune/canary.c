#include "Tune/canary.h"


#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "Support/statistics.h"
#include "Support/strbuf.h"

enum {
  THREADS = 256,
  LOADS = 8,
  READ_BYTES = 256 << 20,
  READ_CTAS = READ_BYTES / (THREADS * LOADS * 16),
  CHAINS = 8,
  FMA_CTAS = 1024,
  SAMPLES = 9,
  LAUNCHES = 4 /* per sample */
};
/* 2^33 multiply-adds: 4096 iterations of the loop in begin_fma. */
_Static_assert((1ull << 33) == (uint64_t)FMA_CTAS * THREADS * CHAINS * 4096, "ORDER CANARY");

/* The stores prevent dead-code elimination. Only one value in 2^32 reaches them. */
static const char begin_read[] =
    ".version 7.4\n.target sm_80\n.address_size 64\n"
    ".visible .entry hd_canary_read(.param .u64 at, .param .u64 sink)\n.maxntid 256, 1, 1\n{\n"
    "  .reg .pred %hit;\n  .reg .u64 %at, %sink;\n  .reg .u32 %i, %cta, %all, %r<32>;\n"
    "  ld.param.u64 %at, [at];\n  ld.param.u64 %sink, [sink];\n"
    "  mov.u32 %i, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n"
    "  mad.lo.u32 %i, %cta, 2048, %i;\n  mad.wide.u32 %at, %i, 16, %at;\n  mov.u32 %all, 0;\n";
static const char begin_fma[] =
    ".visible .entry hd_canary_fma(.param .u64 at, .param .u64 sink)\n.maxntid 256, 1, 1\n{\n"
    "  .reg .pred %more, %hit;\n  .reg .u64 %sink;\n  .reg .u32 %n, %all, %i;\n"
    "  .reg .f32 %a, %b, %f<8>;\n"
    "  ld.param.u64 %sink, [sink];\n  mov.u32 %i, %tid.x;\n  cvt.rn.f32.u32 %a, %i;\n"
    "  mov.f32 %b, 0f3F7FFFFF;\n  mov.u32 %n, 4096;\n";
static const char end[] = "  setp.eq.u32 %hit, %all, 0x5eed1e55;\n"
                          "  @%hit st.global.u32 [%sink], %all;\n  ret;\n}\n";

static char *kernel_text(void) {
  hd_strbuf s = {0};
  hd_strbuf_add(&s, begin_read);
  for (int i = 0; i < LOADS; i++)
    hd_strbuf_printf(&s,
                     "  ld.global.nc.L1::no_allocate.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, "
                     "[%%at + %d];\n",
                     4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, i * THREADS * 16);
  for (int i = 0; i < LOADS * 4; i++)
    hd_strbuf_printf(&s, "  xor.b32 %%all, %%all, %%r%d;\n", i);
  hd_strbuf_add(&s, end);
  hd_strbuf_add(&s, begin_fma);
  for (int i = 0; i < CHAINS; i++)
    hd_strbuf_printf(&s, "  mov.f32 %%f%d, 0f%08X;\n", i, 0x3F800000u + (unsigned)i);
  hd_strbuf_add(&s, "again:\n");
  for (int i = 0; i < CHAINS; i++)
    hd_strbuf_printf(&s, "  fma.rn.f32 %%f%d, %%f%d, %%b, %%a;\n", i, i);
  hd_strbuf_add(&s, "  sub.u32 %n, %n, 1;\n  setp.ne.u32 %more, %n, 0;\n  @%more bra again;\n");
  for (int i = 1; i < CHAINS; i++)
    hd_strbuf_printf(&s, "  add.rn.f32 %%f0, %%f0, %%f%d;\n", i);
  hd_strbuf_add(&s, "  mov.b32 %all, %f0;\n");
  hd_strbuf_add(&s, end);
  return hd_strbuf_take(&s);
}

typedef struct load {
  const hd_device *device;
  void *kernel;
  uint32_t n_ctas;
  uint64_t at, sink;
} load;

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  load *l = user;
  (void)index;
  void *params[] = {&l->at, &l->sink};
  return hd_device_launch(ctx, l->device, l->kernel, l->n_ctas, THREADS, params, stream);
}

/* Runs the load untimed for 0.1 s first, so that the clock ramps up. */
static heddle_status time_load(heddle_context *ctx, load *l, double *median) {
  static const double WARM_S = 0.1;
  double sample[SAMPLES];
  for (double until = hd_clock_seconds() + WARM_S; hd_clock_seconds() < until;)
    HD_TRY(hd_time_stream(ctx, l->device, launch, l, LAUNCHES, &sample[0]));
  for (int i = 0; i < SAMPLES; i++)
    HD_TRY(hd_time_stream(ctx, l->device, launch, l, LAUNCHES, &sample[i]));
  *median = hd_median(sample, SAMPLES);
  return HEDDLE_OK;
}

static heddle_status run_loaded(heddle_context *ctx, const hd_device *device, void *module,
                                uint64_t at, hd_canary *canary) {
  const hd_driver *cu = &device->runtime->cu;
  load read = {device, NULL, READ_CTAS, at, at}, fma = {device, NULL, FMA_CTAS, at, at};
  HD_TRY(hd_driver_check(ctx, cu, cu->module_function(&read.kernel, module, "hd_canary_read"),
                         "module_function"));
  HD_TRY(hd_driver_check(ctx, cu, cu->module_function(&fma.kernel, module, "hd_canary_fma"),
                         "module_function"));
  hd_canary result;
  HD_TRY(time_load(ctx, &read, &result.read_s));
  HD_TRY(time_load(ctx, &fma, &result.kernel_s));
  *canary = result;
  return HEDDLE_OK;
}

heddle_status hd_canary_run(heddle_context *ctx, const hd_device *device, hd_canary *canary) {
  const hd_driver *cu = &device->runtime->cu;
  hd_buffer buffer;
  void *module;
  char *ptx = kernel_text();
  heddle_status status =
      hd_driver_check(ctx, cu, cu->module_load(&module, ptx, 0, NULL, NULL), "module_load");
  hd_free(ptx);
  HD_TRY(status);
  status = hd_buffer_create(ctx, device, READ_BYTES, 0, &buffer);
  if (status == HEDDLE_OK) {
    status = run_loaded(ctx, device, module, buffer.address, canary);
    hd_buffer_free(device, &buffer);
  }
  cu->module_unload(module);
  return status;
}
