/* Compile/build.h: which Heddle this is. The version says what was released; the sources' hash says
 * what code comes out. */
#ifndef HD_BUILD_H
#define HD_BUILD_H

/* The hash of all sources that make code: those of the generator, specs/, and LLVM's version. */
void hd_build_sources(char out[33]);
/* git's commit, "-dirty" after it when files differ from it; "unknown" outside of git. */
const char *hd_build_commit(void);
const char *hd_build_llvm(void); /* "22.1.2" */

#endif
