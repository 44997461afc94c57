/* An operation of test_memory_short.c. It has a file of its own because Store and Schedule both
 * define the name hd_store. */
#ifndef MEMORY_STORE_H
#define MEMORY_STORE_H

#include "Support/hash.h"
#include "heddle/context.h"

/* Creates a database of the service in memory. Adds the data read from it to `out`. */
heddle_status memory_store(heddle_context *ctx, hd_hash *out);

#endif
