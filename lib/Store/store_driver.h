/* Store/store_driver.h: the interface that both databases implement for store.c. */
#ifndef HD_STORE_DRIVER_H
#define HD_STORE_DRIVER_H

#include "Store/store.h"

typedef struct hd_param {
  char type; /* t, i or d; NULL is t without a text */
  const char *text;
  int64_t i;
  double d;
} hd_param;

enum { HD_MAX_PARAMS = 16 };

/* The first member of every driver's connection. */
typedef struct hd_connection {
  char *where;     /* owned by store.c: the path, or libpq's URI */
  char error[512]; /* of the last call that was not OK */
} hd_connection;

typedef struct hd_driver {
  const char *const *words; /* {word}, replacement, …, NULL */
  const char *begin;
  const char *mark;                    /* marks the file as heddled's once it has tables; or NULL */
  size_t size;                         /* of its connection */
  hd_sql (*connect)(hd_connection *c); /* also reconnects */
  void (*disconnect)(hd_connection *c);
  hd_sql (*run)(hd_connection *c, hd_query query, const char *sql, const hd_param *params,
                int n_params, hd_arena *arena, hd_rows *rows);
  hd_sql (*script)(hd_connection *c, const char *sql);
  /* NULL: the connection is never lost; there are no notifications. */
  bool (*is_lost)(const hd_connection *c);
  int (*listen)(hd_connection *c);
  bool (*heard)(hd_connection *c);
} hd_driver;

extern const hd_driver hd_sqlite_driver, hd_postgresql_driver;

#endif
