/* Joining the clocks of all lanes one after the other gives the same result as joining each alone,
 * whatever the lanes share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "Sim/sim_machine.h"

enum { LANES = 3, BASES = 4, AGENTS = 3, CTAS = 2 };

static const sim_machine machine = {.n_ctas = CTAS, .agents_per_cta = SIM_CLOCK_STEP};

/* Base 0 is empty. Base 1 has one agent, base 2 the same agent later and another one, base 3 an
 * agent of the other CTA. Copies share the blocks. */
static void make_bases(sim_vc base[BASES]) {
  static const struct {
    int base;
    sim_agent agent;
    uint32_t clock;
  } known[] = {{1, 1, 3}, {2, 1, 5}, {2, 2, 4}, {3, 1u << SIM_AGENT_SHIFT, 7}};
  for (int i = 0; i < BASES; i++)
    hd_sim_vc_init(&machine, &base[i]);
  for (size_t i = 0; i < HD_COUNT(known); i++)
    hd_sim_vc_raise(&machine, &base[known[i].base], known[i].agent, known[i].clock);
}

static sim_vc copy(const sim_vc *of) {
  sim_vc vc;
  hd_sim_vc_init(&machine, &vc);
  hd_sim_vc_join(&machine, &vc, of);
  return vc;
}

static uint32_t latest(const sim_clock *clock, sim_agent agent) {
  uint32_t at = 0;
  while (hd_sim_clock_has(clock, agent, at + 1))
    at++;
  return at;
}

static void assert_same(const sim_vc *a, const sim_vc *b) {
  const sim_clock *parts[][2] = {{&a->full, &b->full}, {&a->reads, &b->reads},
                                 {&a->order, &b->order}};
  for (size_t p = 0; p < HD_COUNT(parts); p++)
    for (sim_agent cta = 0; cta < CTAS; cta++)
      for (sim_agent i = 0; i < AGENTS; i++) {
        sim_agent agent = cta << SIM_AGENT_SHIFT | i;
        assert_int_equal(latest(parts[p][0], agent), latest(parts[p][1], agent));
      }
}

/* Tests one assignment of bases: those that the lanes have, and those that they join. learns:
 * raises an agent instead of a join. */
static void one_way(const sim_vc base[BASES], int way, bool learns) {
  sim_vc lane[LANES], alone[LANES];
  sim_lanes lanes;
  hd_sim_lanes_begin(&machine, &lanes);
  for (int l = 0; l < LANES; l++, way /= BASES)
    lane[l] = copy(&base[way % BASES]), alone[l] = copy(&base[way % BASES]);
  for (int l = 0; l < LANES; l++, way /= BASES) {
    const sim_vc *from = &base[way % BASES];
    if (learns) {
      hd_sim_lanes_raise(&machine, &lanes, &lane[l], 1, 4);
      hd_sim_vc_raise(&machine, &alone[l], 1, 4);
    } else {
      hd_sim_lanes_join(&machine, &lanes, &lane[l], from);
      hd_sim_vc_join(&machine, &alone[l], from);
    }
  }
  hd_sim_lanes_end(&lanes);
  for (int l = 0; l < LANES; l++) {
    assert_same(&lane[l], &alone[l]);
    hd_sim_vc_free(&machine, &lane[l]);
    hd_sim_vc_free(&machine, &alone[l]);
  }
}

static void lanes_like_each_alone(void **state) {
  (void)state;
  sim_vc base[BASES];
  make_bases(base);
  int ways = BASES * BASES * BASES;
  for (int way = 0; way < ways * ways; way++)
    one_way(base, way, false);
  for (int way = 0; way < ways; way++)
    one_way(base, way, true);
  for (int i = 0; i < BASES; i++)
    hd_sim_vc_free(&machine, &base[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_like_each_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
