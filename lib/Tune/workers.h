/* Tune/workers.h: the tuner's child processes: one measures, several compile ahead. Each does one
 * request at a time; one that dies or passes its deadline is replaced, and its request is lost. */
#ifndef HD_WORKERS_H
#define HD_WORKERS_H

#include "Support/child.h"
#include "Tune/tune.h"

typedef struct hd_worker {
  hd_child child;
  int64_t entry;   /* what it works on; -1: idle */
  double deadline; /* of that, on the monotonic clock */
} hd_worker;

/* All zero: none was started. */
typedef struct hd_workers {
  const char *const *argv; /* borrowed */
  char product[HD_PRODUCT_TEXT];
  hd_worker measurer, compiler[HD_TUNE_MOST_JOBS];
  int32_t n_compilers;
  uint64_t memory_bytes; /* a child that takes more is ended; 0: no limit */
  bool ready; /* the measurer holds the product's operands */
  int32_t next; /* whose event is looked at first */
} hd_workers;

typedef enum hd_worker_event_kind {
  HD_WORKER_NONE,
  HD_WORKER_LINE,
  HD_WORKER_CRASH,
  HD_WORKER_HANG
} hd_worker_event_kind;

typedef struct hd_worker_event {
  hd_worker_event_kind kind;
  bool measurer;  /* else a compiler */
  int64_t entry;  /* what it worked on, or one of HD_ENTRY_… */
  hd_strbuf
      line; /* HD_WORKER_LINE: the answer; HD_WORKER_CRASH: how it ended. Owned by the caller */
} hd_worker_event;

enum {
  HD_ENTRY_IDLE = -1,
  HD_ENTRY_OPEN = -2,
  HD_ENTRY_FINAL = -3,
  HD_ENTRY_ALONE = -4,
  HD_ENTRY_CANARY = -5
};

void hd_workers_begin(hd_workers *workers, const hd_product *product);
/* Has an idle compiler take it; false when all are busy. */
heddle_status hd_workers_compile(heddle_context *ctx, hd_workers *workers, int64_t entry,
                              const char *schedule, double deadline_s, bool *taken);
/* Brings the measurer up when it is not, and has it make the operands (event of HD_ENTRY_OPEN
 * follows). */
heddle_status hd_workers_open(heddle_context *ctx, hd_workers *workers, uint64_t seed,
                              double deadline_s);
/* Sends the idle, ready measurer a request. */
void hd_workers_measure(hd_workers *workers, int64_t entry, const char *request, double deadline_s);
/* Waits at most timeout_s for an event, and enforces the deadlines. measurer_alone: the events of
 * compilers stay where they are until a later call. */
void hd_workers_wait(hd_workers *workers, bool measurer_alone, double timeout_s,
                     hd_worker_event *event);
/* Ends a measurer that is not to be trusted any more; the next hd_workers_open starts another. */
void hd_workers_distrust(hd_workers *workers);
/* Ends every child. */
void hd_workers_end(hd_workers *workers);

#endif
