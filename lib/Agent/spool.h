/* Agent/spool.h: stores measurements and ends of jobs on disk, in order, until the server has
 * them. */
#ifndef HD_SPOOL_H
#define HD_SPOOL_H

#include <jansson.h>

#include "Fetch/http.h"
#include "Support/journal.h"

enum { HD_SPOOL_BATCH = 64 };

typedef enum hd_spool_kind { HD_SPOOL_MEASUREMENT, HD_SPOOL_FINISH } hd_spool_kind;

/* The result of sending. */
typedef enum hd_sent {
  HD_SENT_NOTHING, /* the spool is empty */
  HD_SENT_TAKEN,   /* the server has stored the first entries; they were removed */
  HD_SENT_REFUSED, /* the server refused them for good; removed, `answer` has the reason */
  HD_SENT_LATER    /* no answer, or one that asks to retry: they stay */
} hd_sent;

/* Adds an entry durably; body is borrowed. */
heddle_status hd_spool_add(heddle_context *ctx, hd_journal *spool, int64_t lease,
                           hd_spool_kind kind, const json_t *body);
/* Sends the first entry, or the first measurements of one lease together, at most HD_SPOOL_BATCH.
 * *lease, *kind: of the sent entries. ctx only gets errors of the file. */
heddle_status hd_spool_send(heddle_context *ctx, hd_journal *spool, hd_http *http, double timeout_s,
                            hd_http_answer *answer, hd_sent *sent, int64_t *lease,
                            hd_spool_kind *kind);

#endif
