/* ptx_version.h: PTX versions on the command line. */
#ifndef HEDDLE_PTX_VERSION_H
#define HEDDLE_PTX_VERSION_H

/* "8.5" as 85; 0 if there is no such version from 6.3 (the first with sm_75) to 9.1. */
unsigned ptx_version_parse(const char *text);
/* The version nearest to a text, such as "8.8". */
const char *ptx_version_nearest(const char *text);

#endif
