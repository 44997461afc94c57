/* heddle/find_ptxas.h: where the assembler is. */
#ifndef HD_FIND_PTXAS_H
#define HD_FIND_PTXAS_H

/* ptxas where PATH or the CUDA toolkit has it (owned); NULL: nowhere. */
char *compile_find_ptxas(void);

#endif
