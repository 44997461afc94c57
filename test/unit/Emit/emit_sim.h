/* The simulator's verdict on bare rows: one test of unit.emit-bare. */
#ifndef EMIT_SIM_H
#define EMIT_SIM_H

void test_the_simulator_takes_or_names_each_row(void **state);

#endif
