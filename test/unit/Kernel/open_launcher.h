/* Generated launchers of sample_manifest, compiled and opened. */
#ifndef OPEN_LAUNCHER_H
#define OPEN_LAUNCHER_H

#include "Kernel/launcher_c.h"
#include "fake_launch.h"

/* A cubin and PTX. */
extern const heddle_image both;

/* What is written into NAME.c.bin. */
typedef enum contents { PLAIN, COMPRESSED, DAMAGED } contents;

/* Writes NAME.ending into a folder. */
void write_file(const char *dir, const char *name, const char *ending, const void *data,
                size_t n_bytes);
/* Writes NAME.h, NAME.c and NAME.c.bin of one kernel into a folder. */
void write_launcher(const hd_manifest *of, const heddle_image *code, const char *dir);
/* Fails with the compiler's words. argv: NULL at the end. */
void compiles(const char *const *argv);
/* Compiles the files into a shared object with the strictest flags and opens it (dlclose). */
void *open_parts(const hd_launcher_part *parts, int32_t n, contents as);
void *open_launcher(const hd_manifest *of, const heddle_image *code);

typedef int (*load_fn)(const driver_table *, void *kernel);
typedef const char *(*error_fn)(int code);

extern char kernel[1024]; /* larger than any sample_kernel */
void *find(void *library, const char *name);
/* Loads it; so many CTAs are resident. */
void load(void *library, int resident);

#endif
