/* heddle/status.h: the status that every fallible function returns. */
#ifndef HEDDLE_STATUS_H
#define HEDDLE_STATUS_H

#include "heddle/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pinned numbers: status.def. Results go through the last parameters, untouched on failure. */
typedef enum heddle_status {
#define HEDDLE_STATUS(name, number, exit_code, text) HEDDLE_##name = number,
#include "heddle/status.def"
#undef HEDDLE_STATUS
} heddle_status;

/* The text of a status. Never NULL; an unknown number gives "unknown status". Thread-safe. */
HEDDLE_API const char *heddle_status_text(heddle_status status);

/* The exit code of the command-line tools for a status (0..5). Thread-safe. */
HEDDLE_API int heddle_status_exit_code(heddle_status status);

#ifdef __cplusplus
}
#endif
#endif
