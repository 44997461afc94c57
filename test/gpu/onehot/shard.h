/* onehot/shard.h: the option I/N: every N-th row, starting with the I-th. */
#ifndef SHARD_H
#define SHARD_H

/* NULL means all rows. Returns CLI_GO or the exit code. */
int bare_shard_read(const char *text, unsigned *shard, unsigned *n_shards);

#endif
