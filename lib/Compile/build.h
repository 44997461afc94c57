/* Compile/build.h: identifies this build of Heddle. The version names the release; the hash of the
 * sources identifies the code that this build generates. */
#ifndef HD_BUILD_H
#define HD_BUILD_H

/* The hash of all inputs to code generation: the generator's sources, specs/, LLVM's version. */
void hd_build_sources(char out[33]);
/* The git commit, followed by "-dirty" if files differ from it; "unknown" outside of git. */
const char *hd_build_commit(void);
const char *hd_build_llvm(void); /* "22.1.2" */

#endif
