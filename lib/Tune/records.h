/* Tune/records.h: what was measured, kept in SQLite: every measurement with its provenance, and the
 * choices made of them. One write is one transaction: a killed tuner loses the one in flight. */
#ifndef HD_PARTIAL_RECORDS_H
#define HD_PARTIAL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "Choice/tuned.h"
#include "Support/strbuf.h"
#include "heddle/context.h"

typedef struct hd_records hd_records;

/* To write, it is brought up to this version, and where there is none, made by the first run or
 * merge; to read, a file of any version is left as it is. HEDDLE_NOT_FOUND when there is none to
 * read; HEDDLE_INVALID when it is no database of ours; HEDDLE_ENVIRONMENT when it may not be
 * written, or with SQLite's sentence; these of making it, too. */
heddle_status hd_records_open(heddle_context *ctx, const char *path, bool write,
                              hd_records **records);
void hd_records_close(hd_records *records); /* accepts NULL */

/* Where figures come from. */
typedef struct hd_provenance {
  char device[128]; /* "NVIDIA H200" */
  char driver[32];  /* "580.159.04", or the API's version */
  double power_limit_w;
  uint64_t seed;
} hd_provenance;

/* Begins a run: what is added from now on belongs to it. resumes: existing records count as this
 * device's; HEDDLE_INVALID, naming the other, when some of it is not. */
heddle_status hd_records_begin(heddle_context *ctx, hd_records *records,
                               const hd_provenance *provenance, bool resumes);

/* ORDER VERDICTS. */
typedef enum hd_verdict {
  HD_VERDICT_OK,
  HD_VERDICT_WRONG,   /* its result; it was not timed */
  HD_VERDICT_REFUSED, /* by the compiler or ptxas' gate */
  HD_VERDICT_FAILED,  /* the driver reported an error */
  HD_VERDICT_CRASH,   /* the measuring process ended */
  HD_VERDICT_HANG,    /* it passed its deadline */
  HD_N_VERDICTS
} hd_verdict;
const char *hd_verdict_name(hd_verdict verdict);
bool hd_verdict_parse(const char *name, hd_verdict *verdict);
bool hd_verdict_is_loss(hd_verdict verdict); /* failed, crash, hang: there is no result */

/* Strings are borrowed. Times in seconds. */
typedef struct hd_record {
  const char *product, *schedule; /* as hd_product_print and hd_schedule_print have them */
  bool final;                     /* in the last race; else a quick look */
  hd_verdict verdict;
  const char *why; /* of what is not ok; may be NULL */
  const char *device; /* read only: of its run; "": unknown */
  double median, min, max, error;
  double predicted; /* 0: the model has no estimate for the target */
  double sustained; /* alone; 0: not measured */
  double power_w;
  int32_t sm_mhz;
  /* Told to whoever listens to the tuner; the database has no columns for them. */
  char cubin[33];      /* the hash of the code that ran; "": unknown */
  int32_t temperature_c;
  uint64_t throttle;   /* NVML's clock throttle reasons */
} hd_record;

heddle_status hd_records_add(heddle_context *ctx, hd_records *records, const hd_record *record);

heddle_status hd_records_choose(heddle_context *ctx, hd_records *records, const hd_choice *choice);

/* Every measurement (of one product, or of all: NULL) in the order written; stops at false. */
typedef bool (*hd_record_fn)(void *user, const hd_record *record);
heddle_status hd_records_each(heddle_context *ctx, hd_records *records, const char *product,
                              hd_record_fn each, void *user);
/* The latest choice of every product on every device, by their names. */
heddle_status hd_records_each_choice(heddle_context *ctx, hd_records *records, hd_choice_fn each,
                                     void *user);

/* Tuned choices of a database, or of what heddle_tuned_read takes (heddle/tuned.h); *tuned is
 * owned. The same errors, and those of hd_records_open. */
heddle_status hd_records_read_tuned(heddle_context *ctx, const char *path, heddle_tuned **tuned);

/* The most measurements that a choice of a product was made of, if sustained by sustained figures
 * alone; 0: there is none. */
heddle_status hd_records_chosen(heddle_context *ctx, hd_records *records, const char *product,
                                bool sustained, int64_t *n_measured);

/* Takes over what another database has and this one has not: of itself, nothing. n_new: its runs,
 * measurements and choices that came over. */
heddle_status hd_records_merge(heddle_context *ctx, hd_records *into, const char *path,
                               int64_t *n_new);

/* All of it as JSON, or the choices alone (the form of a shipped database); of one device, or of
 * all: NULL. One record a line. */
heddle_status hd_records_export(heddle_context *ctx, hd_records *records, bool choices_only,
                                const char *device, hd_strbuf *json);

#endif
