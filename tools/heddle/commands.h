/* heddle/commands.h: one line for each subcommand: its name and its line in `heddle --help`.
 * cmd_NAME gets argv[0] = its own name and returns the exit code of the process. */
#ifndef HD_COMMANDS_H
#define HD_COMMANDS_H

#define HD_COMMANDS(X)                                                                             \
  X(new, "print the text of a problem from options")                                               \
  X(gen, "compile a problem to PTX, cubin, C launcher, header and manifest")                       \
  X(run, "compile a problem, run it and compare with the double-precision reference")              \
  X(explain, "show how a problem is computed, and why")                                            \
  X(bench, "time a problem against cuBLASLt, cuSPARSELt and CUTLASS on the device")                \
  X(tune, "find the fastest schedule of a problem by measuring, and record it")                    \
  X(submit, "ask a tuning service to tune the layers of a model, or a grid")                       \
  X(sync, "copy the choices of a tuning service to a local file")                                  \
  X(fleet, "list the GPUs and campaigns of a tuning service")                                      \
  X(report, "print tables, goals and pictures of the results of bench")                            \
  X(cost, "measure Heddle's own overhead: compiling, loading, launching")                          \
  X(prune, "prune a dense matrix to 2:4 sparsity")                                                 \
  X(compress, "convert a 2:4 sparse matrix to the canonical format")                               \
  X(pack, "convert a canonical or dense matrix to the packed format of a chip family")             \
  X(unpack, "convert a packed matrix to the canonical format")                                     \
  X(decompress, "convert a canonical or packed matrix to a dense one")                             \
  X(scales, "convert block scales to the order that kernels read")                                 \
  X(check, "check a matrix or a file")                                                             \
  X(list, "list the sparse tensor-core instructions and their targets")                            \
  X(legal, "check lines of TARGET PTX_VERSION INSTRUCTION from standard input")                    \
  X(layout, "print the thread and register of each element of an operand")                         \
  X(descriptor, "encode and decode matrix and instruction descriptors")

#define HD_COMMAND_DECLARE(name, about) int cmd_##name(int argc, char **argv);
HD_COMMANDS(HD_COMMAND_DECLARE)
#undef HD_COMMAND_DECLARE

#endif
