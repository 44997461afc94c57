/* heddle/find_program.h: finds other programs. */
#ifndef HD_FIND_PROGRAM_H
#define HD_FIND_PROGRAM_H

/* Path of the program in PATH (owned); NULL: not found. */
char *find_program(const char *name);
/* The same, but looks in the folder of this program first. */
char *find_beside(const char *name);
/* Path of ptxas from PATH or the CUDA toolkit (owned); NULL: not found. */
char *compile_find_ptxas(void);

#endif
