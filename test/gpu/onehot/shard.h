/* onehot/shard.h: I/N on a command line: every N-th row, from the I-th on. */
#ifndef SHARD_H
#define SHARD_H

/* NULL: all. CLI_GO, or the exit code. */
int bare_shard_read(const char *text, unsigned *shard, unsigned *n_shards);

#endif
