/* heddle/commands.h: the subcommands: one line each, name and what `heddle --help` says of it.
 * cmd_NAME gets argv[0] = its own name and returns the exit code of the process. */
#ifndef HD_COMMANDS_H
#define HD_COMMANDS_H

#define HD_COMMANDS(X)                                                                             \
  X(new, "print a problem's text, from what its options say")                                      \
  X(gen, "compile a problem to PTX, cubin, C launcher, header and manifest")                       \
  X(run, "compile a problem, run it and compare with the double-precision reference")              \
  X(explain, "show how a problem will be computed, and why")                                       \
  X(bench, "time a problem and the libraries a user would take instead, on the device")            \
  X(tune, "find the fastest schedule of a problem by measuring, and keep records")                 \
  X(submit, "ask a tuning service for choices: of a model, of a grid")                             \
  X(sync, "bring a tuning service's choices into a local file")                                    \
  X(fleet, "list the GPUs and campaigns of a tuning service")                                      \
  X(report, "tables, goals and pictures of what bench measured")                                   \
  X(cost, "measure what Heddle itself costs: compiling, loading, launching")                       \
  X(prune, "make a dense matrix 2:4 sparse")                                                       \
  X(compress, "turn a 2:4 sparse matrix into the canonical format")                                \
  X(pack, "turn a canonical or dense matrix into the packed format of a chip family")              \
  X(unpack, "turn a packed matrix back into the canonical format")                                 \
  X(decompress, "turn a canonical or packed matrix back into a dense one")                         \
  X(scales, "turn block scales into the order that kernels read")                                  \
  X(check, "say whether a matrix or a file is sound")                                              \
  X(list, "list the sparse tensor-core instructions and their targets")                            \
  X(legal, "check lines of TARGET PTX_VERSION INSTRUCTION from standard input")                    \
  X(layout, "print which thread holds which element of an instruction's operand")                  \
  X(descriptor, "encode and decode matrix and instruction descriptors")

#define HD_COMMAND_DECLARE(name, about) int cmd_##name(int argc, char **argv);
HD_COMMANDS(HD_COMMAND_DECLARE)
#undef HD_COMMAND_DECLARE

#endif
