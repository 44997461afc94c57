/* heddle/version.h: the version of Heddle at compile time and at run time. */
#ifndef HEDDLE_VERSION_H
#define HEDDLE_VERSION_H

#include "heddle/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The build reads the version here. While MAJOR is 0, a new MINOR may change anything, and the
 * names of the shared libraries contain both (libheddle.so.0.1); a new PATCH only adds
 * functions. */
#define HEDDLE_VERSION "0.1.0"
#define HEDDLE_VERSION_NUMBER 100 /* MAJOR * 10000 + MINOR * 100 + PATCH */

/* HEDDLE_VERSION_NUMBER of the library that the program runs with. Thread-safe. */
HEDDLE_API int heddle_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
