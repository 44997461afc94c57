/* Agent/spool.h: what is to be sent, on the disk until the server has it: measurements, and the
 * ends of jobs, in order. */
#ifndef HD_SPOOL_H
#define HD_SPOOL_H

#include <jansson.h>

#include "Fetch/http.h"
#include "Support/journal.h"

enum { HD_SPOOL_BATCH = 64 };

typedef enum hd_spool_kind { HD_SPOOL_MEASUREMENT, HD_SPOOL_FINISH } hd_spool_kind;

/* What became of a sending. */
typedef enum hd_sent {
  HD_SENT_NOTHING, /* the spool is empty */
  HD_SENT_TAKEN,   /* the server has the first entries; they are gone */
  HD_SENT_REFUSED, /* it will never take them; they are gone, and `answer` says why */
  HD_SENT_LATER    /* no answer, or one that tells to come again: they stay */
} hd_sent;

/* Adds one, durably; body is borrowed. */
heddle_status hd_spool_add(heddle_context *ctx, hd_journal *spool, int64_t lease,
                           hd_spool_kind kind, const json_t *body);
/* Sends the first entry, or the first measurements of one lease together, at most HD_SPOOL_BATCH.
 * *lease, *kind: of what was sent. ctx takes nothing but errors of the file. */
heddle_status hd_spool_send(heddle_context *ctx, hd_journal *spool, hd_http *http, double timeout_s,
                            hd_http_answer *answer, hd_sent *sent, int64_t *lease,
                            hd_spool_kind *kind);

#endif
