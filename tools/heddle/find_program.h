/* heddle/find_program.h: where other programs are. */
#ifndef HD_FIND_PROGRAM_H
#define HD_FIND_PROGRAM_H

/* The program where PATH has it (owned); NULL: nowhere. */
char *find_program(const char *name);
/* The same, where this program lies, first. */
char *find_beside(const char *name);
/* ptxas where PATH or the CUDA toolkit has it (owned); NULL: nowhere. */
char *compile_find_ptxas(void);

#endif
