/* Which instances decide a kernel. Its behaviour depends on: the k-blocks of a tile (trip count of
 * its main loop), the tiles of a CTA, the CTA's rank in its cluster, and masks at the edges. The
 * synchronisation is a ring of S slots with a phase bit, so the state of the pipeline repeats after
 * 2S stages, but for a shift in time. A main loop of 1 to 2S + 2 trips covers prologue, every
 * (slot, phase) and drain, in every sequence. Two and three tiles per CTA let the next tile start
 * at every slot and phase.
 * If k is fixed and short, a CTA gets as many tiles as take that many iterations.
 * Behaviour that does not repeat would have to compare a loop index with something other than its
 * bounds. Such conditions are refused (check_far.c). That an instance had the intended trip count
 * is checked, never assumed. Each split of a tile has such a loop, so k is that many times longer.
 * Sizes that the kernel fixes are run as they are: the first clusters, the last, and one without a
 * tile. In a long main loop the middle periods are skipped once two consecutive ones took the same
 * path (check_loop.c). Sizes that the kernel leaves open are also run at their maximum.
 *
 * Which CTA sums a shared tile is decided at run time. Each CTA is run as the last arriver wherever
 * it may be, and the first CTA of a small grid also as the last only where it must be (`late`).
 * Mixing the two adds no new case: a last arriver's region waits only for accesses of its own.
 *
 * Stream-K: the grid decides into which parts tiles are divided. Grids of every kind are run: more
 * than two waves of tiles, fewer, less than one wave, fewer k-blocks than CTAs, and whole waves. In
 * a large grid, the first and the last two neighbours show where one part ends. */
#include "Check/check_instances.h"
#include "IR/shared_layout.h"
#include "Layout/packed_format.h"
#include "Support/activations.h"
#include "Support/memory.h"

enum {
  TILES = 3, /* per CTA: covers each transition from one tile to the next */
  ROUTINGS = 5, /* of groups: each size comes first once */
  MAX_WHOLE_K_BLOCKS = 1 << 11, /* k-blocks of a launch that is run whole */
  MANY = 1 << 20, /* clusters: enough that the last one gets no tile */
  FAR = 1 << 30 /* rows or columns; more are refused: tiles past the end must fit in 32 bits */
};

/* The tile shape according to the buffers; only used to choose sizes that cross its edges. */
typedef struct shape {
  int64_t tile_m, tile_n, k_block;
  int64_t unit_m; /* m is a multiple of it: 16 for pairs */
  int64_t unit_n; /* n is a multiple of it: 4 runs if B's rows are permuted */
  int64_t lines, line; /* of a box of B's tensor map; 0: none */
  int32_t stages;
  int64_t tiles; /* maximum per persistent CTA, enough for its rings to wrap */
  bool any_m, any_n, any_k, any_g; /* set by the launch, */
  int64_t most_m, most_n;          /* up to these; 0: no limit */
  bool is_batch;
  const hd_op *groups; /* the table of groups; NULL: none */
} shape;

static heddle_status note_arg(void *user, hd_op *op) {
  shape *s = user;
  bool of_b = hd_op_arg(op) == HD_ARG_B || hd_op_arg(op) == HD_ARG_WORKSPACE; /* B's copy */
  if (op->kind == HD_OP_TMAP && of_b) { /* of two maps the one with the smaller boxes */
    const hd_attr *box = hd_op_attr(op, HD_ATTR_BOX);
    int64_t lines = 1;
    for (int32_t i = 1; i < box->n; i++)
      lines *= box->ints[i];
    s->line = box->ints[0];
    s->lines = s->lines && s->lines < lines ? s->lines : lines;
  }
  if (hd_act_is_pair(hd_op_str(op, HD_ATTR_ACT)))
    s->unit_m = HD_CK_STRIP;
  if (op->kind == HD_OP_GROUP_TABLE)
    s->groups = op;
  if (op->kind != HD_OP_ARG)
    return HEDDLE_OK;
  hd_arg_kind arg = hd_op_arg(op);
  if (arg == HD_ARG_M)
    s->most_m = hd_op_int(op, HD_ATTR_MAX, 0);
  if (arg == HD_ARG_N)
    s->most_n = hd_op_int(op, HD_ATTR_MAX, 0);
  s->any_m |= arg == HD_ARG_M;
  s->any_n |= arg == HD_ARG_N;
  s->any_k |= arg == HD_ARG_K;
  s->any_g |= arg == HD_ARG_G;
  s->is_batch |= s->any_g || arg == HD_ARG_STRIDE_A || arg == HD_ARG_STRIDE_B;
  return HEDDLE_OK;
}

static shape shape_of(const hd_ck_program *p) {
  shape s = {.tile_m = 64, .tile_n = 64, .k_block = 64, .unit_m = 1, .unit_n = 1, .stages = 1};
  s.tiles = TILES;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const hd_ck_ring *b = &p->buffers[i];
    if (b->layout == HD_CK_BOX || hd_ck_is_statistics(p->kernel, b->op))
      continue;
    s.stages = b->stages > s.stages ? b->stages : s.stages;
    if (b->n_slabs > 0)
      s.tile_m = b->n_slabs * 64;
    else if (b->rows > 0) {
      s.k_block = HD_CK_CELL * 8 / b->elem_bits;
      s.unit_n = b->run ? 4 * b->run : 1;
      s.tile_n = p->transposed ? b->bytes / b->rows * 8 / b->elem_bits : b->rows;
    }
  }
  s.tile_n *= p->together;
  hd_walk(p->kernel->regions[0], note_arg, &s);
  return s;
}

/* --- one launch ----------------------------------------------------------------------------- */

static void run_cluster(hd_ck_kernel *k, const hd_ck_instance *at, bool counting,
                        hd_ck_extents *extents) {
  hd_ck_machine m = {.program = &k->program, .options = k->options, .report = k->report,
                     .at = *at, .steps_left = k->steps_left, .shortages = k->shortages,
                     .extents = extents,
                     .counting = counting, .accesses = k->accesses,
                     .cap_accesses = k->cap_accesses};
  m.dependent = hd_op_has(k->program.kernel, HD_ATTR_DEPENDENT);
  m.weights_ready = hd_op_has(k->program.kernel, HD_ATTR_WEIGHTS_READY);
  k->report->n_instances++;
  hd_ck_run(&m);
  k->steps_left = m.steps_left;
  k->accesses = m.accesses;
  k->cap_accesses = m.cap_accesses;
  hd_ck_machine_free(&m);
}

static bool is_clean(const hd_ck_kernel *k) {
  return k->report->n_findings == 0 && hd_memory_shortages() == k->shortages;
}

static void wrong_extent(hd_ck_kernel *k, const hd_op *op, const char *what, int64_t got,
                         int64_t expected) {
  hd_ck_static_find(k, "bounds", op, "the extents of the problem",
                    "%s: the kernel has %lld, the problem has %lld", what, (long long)got,
                    (long long)expected);
}

/* A must end with its last block; B's rows must have k or n elements. */
static void check_extents(hd_ck_kernel *k, const shape *s, const hd_ck_instance *at,
                          const hd_ck_extents *x) {
  if (x->m < 0 || x->n_k_blocks < 0)
    return; /* nothing was stored: a cluster without a tile */
  int64_t a_bytes = (x->m + 63) / 64 * x->n_k_blocks * x->block_bytes;
  int64_t of_k = at->k >= 0 ? at->k : k->program.product.k ? k->program.product.k : -1;
  int64_t k_blocks = of_k >= 0 ? (of_k + s->k_block - 1) / s->k_block : x->n_k_blocks;
  if (x->n_k_blocks != k_blocks)
    return wrong_extent(k, x->store_op, "k-blocks of k summed up", x->n_k_blocks, k_blocks);
  if (x->a_end > a_bytes)
    return wrong_extent(k, x->a_op, "bytes of A", x->a_end, a_bytes);
  for (int i = 0; i < 2; i++) {
    int64_t got, expected;
    if (!hd_ck_scales_extent(x, i, &expected, &got))
      return wrong_extent(k, x->scales[i].op, i ? "block scales of B" : "block scales of A", got,
                          expected);
  }
  if (x->b_rows < 0)
    return;
  bool trans = k->program.transposed;
  int64_t row_elems = x->b_row_bytes * s->k_block / HD_CK_CELL;
  int64_t k_elems = trans ? x->b_rows : row_elems, n_elems = trans ? row_elems : x->b_rows;
  if (n_elems != x->n)
    return wrong_extent(k, x->b_op, "columns of B", n_elems, x->n);
  if (of_k >= 0 ? k_elems != of_k : (k_elems + s->k_block - 1) / s->k_block != k_blocks)
    wrong_extent(k, x->b_op, "rows (k) of B", k_elems, of_k >= 0 ? of_k : k_blocks * s->k_block);
}

static heddle_status find_workspace(void *user, hd_op *op) {
  const hd_op **found = user;
  if (op->kind == HD_OP_ARG && hd_op_arg(op) == HD_ARG_WORKSPACE)
    *found = op;
  return HEDDLE_OK;
}

/* Stream-K: one slot per worker and per tile that workers share. */
static int64_t count_slots(int64_t units, int64_t workers) {
  int64_t waves = units / workers;
  return units % workers == 0 ? 0 : workers + units - (waves > 0 ? waves - 1 : 0) * workers;
}

/* Partials and counters must lie within the workspace of the launch. */
static void check_workspace(hd_ck_kernel *k, const hd_ck_instance *at, const hd_ck_extents *x) {
  const hd_op *arg = NULL;
  int64_t bytes = 0;
  if (!x->workspace_end)
    return;
  hd_walk(k->program.kernel->regions[0], find_workspace, &arg);
  if (arg && hd_op_has(arg, HD_ATTR_TILE)) {
    const int64_t *tile = hd_op_attr(arg, HD_ATTR_TILE)->ints;
    int64_t n_slots = hd_op_has(arg, HD_ATTR_STREAM_K)
                          ? count_slots(x->units, at->grid / k->program.cluster)
                          : (x->m + tile[0] - 1) / tile[0] * ((x->n + tile[1] - 1) / tile[1]) *
                                (x->g > 0 ? x->g : 1);
    bytes = n_slots * hd_op_int(arg, HD_ATTR_BYTES, 0);
  }
  if (x->workspace_end > bytes)
    wrong_extent(k, x->workspace_op, "bytes of the workspace", x->workspace_end, bytes);
}

/* All elements of D or aux must have been written. */
static void check_output(hd_ck_kernel *k, const hd_ck_extents *x, hd_ck_output output,
                         const hd_op *store, const char *name) {
  int64_t g, row, col;
  if (!is_clean(k) || !hd_ck_store_missing(x, output, &g, &row, &col))
    return;
  if (x->g > 0)
    hd_ck_static_find(k, "coverage", store, "a tile for every strip and column",
                      "row %lld, column %lld of matrix %lld of %s are never written",
                      (long long)row, (long long)col, (long long)g, name);
  else
    hd_ck_static_find(k, "coverage", store, "a tile for every strip and column",
                      "row %lld, column %lld of %s are never written", (long long)row,
                      (long long)col, name);
}

static void check_coverage(hd_ck_kernel *k, const hd_ck_extents *x) {
  const hd_ck_claim *missing = hd_ck_partials_missing(x);
  if (missing)
    hd_ck_static_find(k, "R7", missing->op, "one arrival for each part",
                      "a counter ends at %lld of %lld arrivals, not at zero",
                      (long long)missing->times, (long long)missing->n);
  check_output(k, x, HD_CK_D, x->store_op, "D");
  const hd_op *product = k->program.product.op;
  if (x->aux_op || (product && hd_op_has(product, HD_ATTR_AUX)))
    check_output(k, x, HD_CK_AUX, x->aux_op ? x->aux_op : product, "aux");
  if (is_clean(k))
    hd_ck_statistics_finish(k, x);
  if (is_clean(k))
    hd_ck_twin_finish(k, x);
}

static void free_extents(hd_ck_extents *x) {
  hd_arena_free(&x->arena);
  hd_free(x->claims);
}

/* Pitches that the problem fixes are set here; those of arguments when the argument is read. */
static hd_ck_extents no_extents(const hd_ck_kernel *k) {
  return (hd_ck_extents){.m = -1, .n = -1, .rows_of_d = 1, .n_k_blocks = -1, .b_rows = -1,
                         .units = -1, .ldb = k->program.product.ldb,
                         .ldd = k->program.product.ldd};
}

/* Runs clusters [first, last] of a grid of n. If these are all, D must be complete. Returns the
 * number of tiles (per cluster) that the kernel iterates over. */
static int64_t run_grid(hd_ck_kernel *k, const shape *s, hd_ck_instance at, int32_t n,
                        int32_t first, int32_t last) {
  hd_ck_extents x = no_extents(k);
  at.grid = n * k->program.cluster;
  for (int32_t i = first; i <= last && is_clean(k); i++) {
    at.block = i * k->program.cluster;
    run_cluster(k, &at, false, &x);
  }
  k->n_k_blocks = x.n_k_blocks > 0 ? x.n_k_blocks : k->n_k_blocks;
  bool whole = !at.far && !at.late; /* the run covers all that is stored to D */
  if (is_clean(k) && whole)
    check_extents(k, s, &at, &x);
  if (is_clean(k) && whole)
    check_workspace(k, &at, &x);
  bool empty = x.groups && x.groups->before[x.groups->g] == 0; /* no group has a column */
  bool shares = k->program.splits > 1 || k->program.streams || k->program.counts; /* over k */
  if (is_clean(k) && whole && (x.m < 1 || x.n < 1) && !empty && first == 0 &&
      (last == n - 1 || !shares))
    hd_ck_static_find(k, "coverage", k->program.kernel, "a tile and a store for the first CTA",
                      "D is never written");
  if (is_clean(k) && whole && first == 0 && last == n - 1)
    check_coverage(k, &x);
  free_extents(&x);
  return x.units;
}

/* --- launches of a problem ------------------------------------------------------------------ */

/* Runs the first and last cluster of a grid, or all clusters of a small grid. `second`: in a large
 * grid also the second one, whose tiles of D must differ from those of the first. */
static void run_ends(hd_ck_kernel *k, const shape *s, hd_ck_instance at, int64_t n, bool second) {
  if (n >= INT32_MAX / k->program.cluster)
    return hd_ck_static_find(k, "bounds", k->program.kernel, "larger tiles, or a smaller problem",
                             "%lld clusters of %d CTAs are too many for a grid", (long long)n,
                             (int)k->program.cluster);
  if (n <= (k->program.splits > 1 ? 16 : 8)) { /* at least all splits of a tile */
    run_grid(k, s, at, (int32_t)n, 0, (int32_t)n - 1);
    return;
  }
  run_grid(k, s, at, (int32_t)n, 0, second);
  if (is_clean(k))
    run_grid(k, s, at, (int32_t)n, (int32_t)n - 1, (int32_t)n - 1);
}

/* The tiles (per cluster) of the loop over tiles, as the first cluster of a large grid reaches it;
 * -1: none. The run stops there: an instance with one tile per CTA must follow. */
static int64_t read_units(hd_ck_kernel *k, hd_ck_instance at) {
  hd_ck_extents x = no_extents(k);
  at.grid = MANY * k->program.cluster;
  at.block = 0;
  run_cluster(k, &at, true, &x);
  free_extents(&x);
  return x.units;
}

/* Tiles (per cluster) of the problem, from the loop over tiles, else from the buffers. */
static int64_t count_units(hd_ck_kernel *k, const shape *s, hd_ck_instance at, bool all) {
  int64_t tall = s->tile_m * k->program.cluster;
  int64_t units = all ? read_units(k, at) : run_grid(k, s, at, MANY, 0, 0);
  if (units > 0)
    return units;
  int64_t rows = at.m < 0 ? 1 : (at.m + tall - 1) / tall;
  rows *= at.g > 0 ? at.g : 1;
  return rows * (at.n < 0 ? 1 : (at.n + s->tile_n - 1) / s->tile_n);
}

/* The smallest grid that the kernel allows: several tiles per CTA, or one. */
static int64_t fewest(const hd_ck_kernel *k, const shape *s, int64_t units) {
  bool persistent = hd_op_has(k->program.kernel, HD_ATTR_PERSISTENT);
  return persistent ? (units + s->tiles - 1) / s->tiles : units;
}

/* Runs the first cluster of the smallest grid as if other CTAs finished its tiles after it. */
static void run_late(hd_ck_kernel *k, const shape *s, hd_ck_instance at, int64_t units) {
  int64_t n = fewest(k, s, units);
  at.late = true;
  if (k->program.counts && is_clean(k) && n < units && n < INT32_MAX / k->program.cluster)
    run_grid(k, s, at, (int32_t)n, 0, 0);
}

/* all: also with one tile per CTA, and with a CTA without a tile. */
static void run_problem(hd_ck_kernel *k, const shape *s, hd_ck_instance at, bool all) {
  int64_t units = count_units(k, s, at, all);
  if (is_clean(k))
    run_ends(k, s, at, fewest(k, s, units), fewest(k, s, units) == units);
  if (!all || !is_clean(k))
    return;
  run_late(k, s, at, units);
  if (is_clean(k) && fewest(k, s, units) < units)
    run_ends(k, s, at, units, true);
  if (is_clean(k))
    run_grid(k, s, at, (int32_t)units + 1, (int32_t)units, (int32_t)units);
}

/* Runs every CTA of the smallest grid, unless that is too much work: all of D is checked. */
static void run_all(hd_ck_kernel *k, const shape *s, hd_ck_instance at, bool wanted) {
  int64_t units = wanted && is_clean(k) ? count_units(k, s, at, true) : 0, n = fewest(k, s, units);
  if (n > 0 && units * k->n_k_blocks <= MAX_WHOLE_K_BLOCKS)
    run_grid(k, s, at, (int32_t)n, 0, (int32_t)n - 1);
}

/* Runs a grid of n clusters: all if they are few, else the first two and the last two. */
static void run_neighbours(hd_ck_kernel *k, const shape *s, hd_ck_instance at, int64_t n) {
  enum { MAX_WHOLE_GRID = 8 };
  if (n < 1 || n >= INT32_MAX / k->program.cluster || !is_clean(k))
    return;
  run_grid(k, s, at, (int32_t)n, 0, n > MAX_WHOLE_GRID ? 1 : (int32_t)n - 1);
  if (n > MAX_WHOLE_GRID && is_clean(k))
    run_grid(k, s, at, (int32_t)n, (int32_t)n - 2, (int32_t)n - 1);
}

/* Stream-K. all: grids of every kind; else one with slightly more than one wave of tiles. */
static void run_streams(hd_ck_kernel *k, const shape *s, hd_ck_instance at, bool all) {
  int64_t units = read_units(k, at);
  run_neighbours(k, s, at, units > 1 ? units - 1 : 2);
  if (!all || !is_clean(k))
    return;
  int64_t two_waves = (units - 1) / 2; /* and one or two tiles more */
  while (two_waves > 1 && units % two_waves == 0)
    two_waves--;
  const int64_t grids[] = {two_waves, units + 1, 2 * units + 1, units, MANY};
  run_late(k, s, at, units);
  if (s->tiles > TILES)
    run_neighbours(k, s, at, fewest(k, s, units));
  for (size_t i = 0; i < HD_COUNT(grids); i++)
    run_neighbours(k, s, at, grids[i]);
}

/* size, rounded up to a multiple of `unit`, but at most what a launch may have. */
static int64_t limit(int64_t size, int64_t unit, int64_t most) {
  int64_t up = (size + unit - 1) / unit * unit;
  return most >= unit && up > most ? most / unit * unit : up;
}

static hd_ck_instance sizes(const shape *s, int64_t m, int64_t n, int64_t k) {
  m = limit(m, s->unit_m, s->most_m);
  n = limit(n, s->unit_n, s->most_n);
  hd_ck_instance at = {.m = s->any_m ? m : -1, .n = s->any_n ? n : -1, .k = s->any_k ? k : -1};
  at.g = s->any_g ? 1 : -1;
  at.ld = INT64_C(16) * FAR; /* no shorter than any row that the kernel may fix */
  return at;
}

/* Split-K: splits of 1 to `trips` k-blocks, two lengths in each launch. The splits of one tile are
 * enough for a CTA to run several, unless there are fewer than 4. */
static void run_shares(hd_ck_kernel *k, const shape *s, int64_t trips, int64_t tall) {
  int64_t splits = k->program.splits;
  bool few = splits < 4;
  for (int64_t g = trips; g > 0 && is_clean(k); g -= 2)
    run_problem(k, s, sizes(s, few ? tall + 1 : tall, few ? s->tile_n + 8 : s->tile_n,
                            (g * splits - 1) * s->k_block), false);
  if (is_clean(k))
    run_problem(k, s, sizes(s, tall + 1, s->tile_n + 8, splits * s->k_block), true);
}

/* Stream-K: parts of 1 to `trips` k-blocks. */
static void run_parts(hd_ck_kernel *k, const shape *s, int64_t trips, int64_t tall) {
  for (int64_t g = s->any_k ? trips : 1; g > 0 && is_clean(k); g--)
    run_streams(k, s, sizes(s, tall + 1, s->tile_n + 8, g * s->k_block - s->k_block / 2),
                g % s->stages == 1);
  if (is_clean(k) && (s->any_m || s->any_n || s->any_k))
    run_streams(k, s, sizes(s, 4 * tall + 17, s->tile_n, 5 * s->k_block), true);
  if (is_clean(k) && (s->any_m || s->any_n || s->any_k))
    run_streams(k, s, sizes(s, 1, 1, 4), true);
}

/* Runs the last of `units` tiles, in a grid with one tile per CTA (or cluster). */
static void run_last(hd_ck_kernel *k, const shape *s, hd_ck_instance at, int64_t units) {
  if (is_clean(k) && units > 0)
    run_grid(k, s, at, (int32_t)units, (int32_t)units - 1, (int32_t)units - 1);
}

/* Runs the last tile of a product as tall, or as wide, as a launch may be and a grid can hold.
 * Values that are computed from its position in 32 bits must fit. Smaller products cover all
 * other rules. */
static void run_far(hd_ck_kernel *k, const shape *s, bool tall) {
  int64_t most = INT32_MAX / k->program.cluster, units = most;
  hd_ck_instance at = {0};
  for (int64_t far = FAR; units >= most; far /= 2) {
    at = sizes(s, tall ? far : s->tile_m * k->program.cluster, tall ? s->tile_n : far,
               s->k_block * k->program.splits);
    at.far = true;
    units = count_units(k, s, at, true);
  }
  run_last(k, s, at, units);
}

/* Odd numbers of tiles, partial edge tiles. Clusters get a tile that does not exist. */
static void run_tiles(hd_ck_kernel *k, const shape *s, int64_t trips, int64_t tall) {
  int64_t splits = k->program.splits;
  if (splits > 1 && s->any_k)
    run_shares(k, s, trips, tall);
  else
    for (int64_t g = s->any_k ? trips : 1; g > 0 && is_clean(k); g--)
      run_problem(k, s, sizes(s, tall + 1, s->tile_n + 8, g * s->k_block), g == 1);
  for (int64_t g = 1; g <= trips && s->any_k && is_clean(k); g += s->stages)
    run_problem(k, s, sizes(s, tall, s->tile_n, g * splits * s->k_block - s->k_block / 2), false);
  if (is_clean(k) && (s->any_m || s->any_n || s->any_k))
    run_problem(k, s, sizes(s, 1, 1, 4), true);
  if (is_clean(k) && (s->any_m || s->any_n))
    run_problem(k, s, sizes(s, 2 * tall + 17, 2 * s->tile_n + 1, 3 * s->k_block), true);
}

/* A box of B that would begin past N may load anything. Checks each box of a tile (the second one
 * if n may be so large) as the last one that holds columns of B, with the minimum of one column. */
static void run_boxes(hd_ck_kernel *k, const shape *s) {
  int64_t box = k->program.transposed ? s->line : s->lines;
  int64_t first = 1 + (s->most_n && s->most_n < 2 * s->tile_n ? 0 : s->tile_n);
  for (int64_t n = box; n && n < s->tile_n && s->any_n && is_clean(k); n += box) {
    hd_ck_instance at = sizes(s, 1, first + n, s->k_block * k->program.splits);
    run_last(k, s, at, count_units(k, s, at, true));
  }
}

/* If the kernel fixes k, a tile may have fewer k-blocks than the ring has stages. A CTA then gets
 * as many tiles as make up for it, of a product large enough. */
static void run_short(hd_ck_kernel *k, const shape *s, int64_t trips, int64_t tall) {
  int64_t own = k->n_k_blocks / k->program.splits;
  shape many = *s;
  many.tiles = own > 0 ? (trips + own - 1) / own : trips;
  if (s->any_k || many.tiles <= s->tiles || !is_clean(k) ||
      !hd_op_has(k->program.kernel, HD_ATTR_PERSISTENT))
    return;
  int64_t n = many.tiles * s->tile_n;
  bool wide = s->any_n && (!s->most_n || s->most_n >= n);
  hd_ck_instance at = sizes(s, wide ? tall : many.tiles * tall, n, s->k_block);
  (k->program.streams ? run_streams : run_problem)(k, &many, at, true);
}

/* A batch of two products, one of more products than grids that are run whole, and one with shared
 * operands. If the launch sets the number, all other instances have one product. */
static void run_batch(hd_ck_kernel *k, const shape *s, int64_t tall) {
  static const int64_t batches[] = {2, 33, 2};
  bool is_batch = s->is_batch && !s->groups;
  for (size_t i = s->any_g ? 0 : 2; is_batch && i < HD_COUNT(batches) && is_clean(k); i++) {
    bool few = batches[i] == 2;
    hd_ck_instance at = sizes(s, few ? tall + 1 : 1, few ? s->tile_n + 8 : 1,
                              k->program.splits * s->k_block);
    at.g = s->any_g ? batches[i] : -1;
    at.shared = i == 2;
    (k->program.streams ? run_streams : run_problem)(k, s, at, true);
  }
}

/* Groups of 0, 1 and about a tile's columns, in each order, and invalid offsets. One, two, and more
 * groups than a CTA has tiles; one order is run on all CTAs. Others have all in the first group. */
static void run_groups(hd_ck_kernel *k, const shape *s, int64_t tall) {
  static const int64_t counts[] = {1, 2, 33};
  int64_t unit = s->groups ? hd_op_int(s->groups, HD_ATTR_TILE_COLUMNS, 1) : 1;
  const hd_op *table = s->groups ? hd_group_table_buffer(s->groups)->op : NULL;
  for (size_t i = s->any_g ? 0 : 2; table && i < HD_COUNT(counts); i++) {
    int64_t most = hd_op_int(table, HD_ATTR_BYTES, 0) / HD_GROUP_BYTES - 1;
    int64_t n = hd_op_int(hd_group_table_g(s->groups)->op, HD_ATTR_VALUE, 1);
    n = !s->any_g ? n : counts[i] < most ? counts[i] : most;
    for (int64_t routing = HD_CK_WILD; routing <= ROUTINGS && is_clean(k); routing++) {
      int64_t columns = routing > 0 ? hd_ck_group_columns(routing, n, unit) + 3 : unit + 9;
      hd_ck_instance at = sizes(s, n > 2 ? 1 : tall + 1, columns, s->k_block);
      at.g = s->any_g ? n : -1;
      at.routing = routing;
      (k->program.streams ? run_streams : run_problem)(k, s, at, n < 3);
      run_all(k, s, at, n > 2 && routing == 1);
    }
  }
}

/* A pack has no sums and no rings. Runs matrices with and without partial edge tiles, on fewer, as
 * many, and more CTAs than tiles; then the tallest and the widest matrix that a launch may have. */
static void run_packs(hd_ck_kernel *k, const shape *s, const hd_op *pack) {
  heddle_elem elem = hd_op_elem(pack, HD_ATTR_TYPE);
  int64_t block = hd_k_block_size(elem), group = heddle_elem_get(elem)->group;
  const int64_t edges[][2] = {{1, group}, {64, 4 * block}, {65, block + group}, {200, 5 * block}};
  static const int32_t grids[] = {1, 5, 64};
  for (size_t i = 0; i < HD_COUNT(edges); i++)
    for (size_t j = 0; j < HD_COUNT(grids) && is_clean(k); j++)
      run_grid(k, s, sizes(s, edges[i][0], 0, edges[i][1]), grids[j], 0, grids[j] - 1);
  for (int tall = 0; tall < 2 && is_clean(k); tall++) {
    hd_ck_instance at = sizes(s, tall ? FAR : 1, 0, tall ? group : FAR);
    at.far = true;
    run_grid(k, s, at, MANY, MANY - 1, MANY - 1);
  }
}

/* As for a pack: few rows and many, on fewer, as many, and more CTAs than parts; then the maximum
 * number of rows of a launch, whose workspace may have up to 2^40 bytes. */
static void run_copies(hd_ck_kernel *k, const shape *s, const hd_op *copy) {
  const int64_t most = (INT64_C(1) << 40) / hd_op_int(copy, HD_ATTR_BYTES, 1);
  static const int64_t rows[] = {1, 7, 65, 200};
  static const int32_t grids[] = {1, 5, 64};
  for (size_t i = 0; i < HD_COUNT(rows); i++)
    for (size_t j = 0; j < HD_COUNT(grids) && is_clean(k); j++)
      run_grid(k, s, sizes(s, 0, rows[i], 0), grids[j], 0, grids[j] - 1);
  hd_ck_instance at = sizes(s, 0, most < FAR ? most : FAR, 0);
  at.far = true;
  if (is_clean(k))
    run_grid(k, s, at, MANY, MANY - 1, MANY - 1);
}

/* The same for columns of D, with more and with fewer columns of the products. */
static void run_combines(hd_ck_kernel *k, const shape *s) {
  static const int64_t columns[] = {1, 7, 65, 200};
  static const int32_t grids[] = {1, 5, 64};
  for (size_t i = 0; i < HD_COUNT(columns); i++)
    for (size_t j = 0; j < HD_COUNT(grids) && is_clean(k); j++) {
      hd_ck_instance at = sizes(s, 0, i % 2 ? 2 * columns[i] : 1, 0);
      at.t = columns[i];
      run_grid(k, s, at, grids[j], 0, grids[j] - 1);
    }
  hd_ck_instance at = sizes(s, 0, FAR, 0);
  at.t = FAR;
  at.far = true;
  if (is_clean(k))
    run_grid(k, s, at, MANY, MANY - 1, MANY - 1);
}

static const hd_op *find_pack(hd_region *region) {
  static const hd_op_kind kinds[] = {HD_OP_PRUNE_PACK, HD_OP_MASK_PACK, HD_OP_QUANTIZE_PACK};
  const hd_op *pack = NULL;
  for (size_t i = 0; i < HD_COUNT(kinds) && !pack; i++)
    pack = hd_find_op(region, kinds[i]);
  return pack;
}

void hd_ck_run_instances(hd_ck_kernel *k) {
  shape s = shape_of(&k->program);
  const hd_op *pack = find_pack(k->program.kernel->regions[0]);
  const hd_op *copy = hd_find_op(k->program.kernel->regions[0], HD_OP_COPY_GLOBAL);
  int64_t trips = 2 * s.stages + 2, tall = s.tile_m * k->program.cluster;
  hd_ck_far_conditions(k, trips);
  if (pack)
    return run_packs(k, &s, pack);
  if (copy)
    return run_copies(k, &s, copy);
  if (hd_find_op(k->program.kernel->regions[0], HD_OP_COMBINE_GLOBAL))
    return run_combines(k, &s);
  (k->program.streams ? run_parts : run_tiles)(k, &s, trips, tall);
  run_short(k, &s, trips, tall);
  run_batch(k, &s, tall);
  run_groups(k, &s, tall);
  run_boxes(k, &s);
  for (int of_m = 1; of_m >= 0; of_m--)
    if ((of_m ? s.any_m : s.any_n) && is_clean(k))
      run_far(k, &s, of_m);
}
