/* heddle/export.h: what the shared library exports. */
#ifndef HEDDLE_EXPORT_H
#define HEDDLE_EXPORT_H
#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif
#endif
