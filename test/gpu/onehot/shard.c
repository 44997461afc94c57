#include "shard.h"

#include <stdio.h>

#include "cli.h"

int bare_shard_read(const char *text, unsigned *shard, unsigned *n_shards) {
  char end;
  *shard = 0, *n_shards = 1;
  if (!text || (sscanf(text, "%u/%u%c", shard, n_shards, &end) == 2 && *shard < *n_shards))
    return CLI_GO;
  return cli_usage_error("row.shard", "got --shard %s; legal: I/N with I from 0 to N - 1", text);
}
