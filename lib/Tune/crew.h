/* Tune/crew.h: the tuner's children: one that measures, several that compile ahead. Each does one
 * request at a time; one that dies or passes its deadline is replaced, and its request is lost. */
#ifndef HD_CREW_H
#define HD_CREW_H

#include "Support/child.h"
#include "Tune/tune.h"

typedef struct hd_hand {
  hd_child child;
  int64_t entry;   /* what it works on; -1: idle */
  double deadline; /* of that, on the monotonic clock */
} hd_hand;

typedef struct hd_crew {
  const char *const *argv; /* borrowed */
  char product[HD_PRODUCT_TEXT];
  hd_hand measurer, compiler[HD_TUNE_MOST_JOBS];
  int32_t n_compilers;
  bool ready; /* the measurer holds the product's operands */
  int32_t next; /* whose news is looked at first */
} hd_crew;

typedef enum hd_news_kind { HD_NEWS_NONE, HD_NEWS_LINE, HD_NEWS_CRASH, HD_NEWS_HANG } hd_news_kind;

typedef struct hd_news {
  hd_news_kind kind;
  bool measurer;  /* else a compiler */
  int64_t entry;  /* what it worked on, or one of HD_ENTRY_… */
  hd_strbuf line; /* HD_NEWS_LINE: the answer; HD_NEWS_CRASH: how it ended. Owned by the caller */
} hd_news;

enum { HD_ENTRY_IDLE = -1, HD_ENTRY_OPEN = -2, HD_ENTRY_FINAL = -3, HD_ENTRY_ALONE = -4 };

void hd_crew_begin(hd_crew *crew, const hd_product *product);
/* Has an idle compiler take it; false when all are busy. */
heddle_status hd_crew_compile(heddle_context *ctx, hd_crew *crew, int64_t entry,
                              const char *schedule, double deadline_s, bool *taken);
/* Brings the measurer up when it is not (news of HD_ENTRY_OPEN follows). */
heddle_status hd_crew_open(heddle_context *ctx, hd_crew *crew, double deadline_s);
/* Sends the idle, ready measurer a request. */
void hd_crew_measure(hd_crew *crew, int64_t entry, const char *request, double deadline_s);
/* Waits at most timeout_s for news; deadlines are looked after. */
void hd_crew_wait(hd_crew *crew, double timeout_s, hd_news *news);
/* Ends the measurer, which is not to be trusted any more; the next hd_crew_open starts another. */
void hd_crew_distrust(hd_crew *crew);
/* Ends every child. */
void hd_crew_end(hd_crew *crew);

#endif
