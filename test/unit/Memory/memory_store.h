/* An operation of test_memory_short.c, in a file of its own: Store and Schedule both name hd_store.
 */
#ifndef MEMORY_STORE_H
#define MEMORY_STORE_H

#include "Support/hash.h"
#include "heddle/context.h"

/* A new database of the service, in memory: what is read from it is added to `out`. */
heddle_status memory_store(heddle_context *ctx, hd_hash *out);

#endif
