/* Service/store_driver.h: what the two databases implement, for store.c. */
#ifndef HD_STORE_DRIVER_H
#define HD_STORE_DRIVER_H

#include "Service/store.h"

typedef struct hd_param {
  char type; /* t i d; of what is NULL: t with no text */
  const char *text;
  int64_t i;
  double d;
} hd_param;

enum { HD_MAX_PARAMS = 16 };

/* A connection is what the driver makes of it. Every call leaves its error in `error`. */
typedef struct hd_driver {
  const char *const *words; /* {word}, replacement, …, NULL */
  hd_sql (*connect)(void *connection, char *error, size_t n);
  hd_sql (*run)(void *connection, hd_query query, const char *sql, const hd_param *params,
                int n_params, hd_arena *arena, hd_rows *rows, char *error, size_t n);
  hd_sql (*script)(void *connection, const char *sql, char *error, size_t n);
  const char *begin;
  bool (*is_lost)(void *connection);
  int (*listen)(void *connection);
  bool (*heard)(void *connection);
  void (*close)(void *connection); /* frees it, too */
} hd_driver;

/* A connection that is not connected yet; owned. */
void *hd_sqlite_create(const char *path);
void *hd_postgresql_create(const char *uri);
extern const hd_driver hd_sqlite_driver, hd_postgresql_driver;

#endif
