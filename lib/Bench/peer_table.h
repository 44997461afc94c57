/* Bench/peer_table.h: what each peer implements. */
#ifndef HD_PEER_TABLE_H
#define HD_PEER_TABLE_H

#include "Bench/peers.h"

typedef struct hd_peer_ops {
  const char *name;
  const char *const *sonames; /* NULL-terminated, newest first; NULL: it needs no library */
  heddle_status (*open)(heddle_context *ctx, hd_peer *peer);
  heddle_status (*prepare)(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench);
  /* hd_peer_product; NULL: no way. */
  heddle_status (*product)(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                           uint64_t d, bool *row_major);
  void (*reset)(hd_peer *peer); /* frees what prepare made */
  void (*close)(hd_peer *peer);
} hd_peer_ops;

struct hd_peer {
  const hd_peer_ops *ops;
  void *library; /* dlopen; NULL: none */
  const hd_device *device;
  void *state; /* owned by the implementation */
  hd_contender *list; /* owned */
  int32_t n, cap, picked;
  char preparing[64]; /* hd_peer_preparing; its name, unless prepare says more */
};

extern const hd_peer_ops hd_peer_cublas, hd_peer_cusparselt, hd_peer_stream;

/* CUDA's cudaDataType of an element type; -1 when it has none. */
int hd_cuda_type(heddle_elem elem);
/* Fills a table of function pointers from names; HEDDLE_ENVIRONMENT names the missing one. */
heddle_status hd_peer_symbols(heddle_context *ctx, hd_peer *peer, const char *const *names,
                              void **table, int32_t n);
void hd_peer_add(hd_peer *peer, const char *name, hd_launch_fn launch, void *user,
                 hd_stored stored);

#endif
