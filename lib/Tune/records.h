/* Tune/records.h: the SQLite database of all measurements, with their provenance, and of the
 * choices made from them. Each write is a transaction: a killed tuner loses only the last write. */
#ifndef HD_PARTIAL_RECORDS_H
#define HD_PARTIAL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "Choice/tuned.h"
#include "Support/strbuf.h"
#include "heddle/context.h"

typedef struct hd_records hd_records;

/* write: upgrades the file to the current version; a missing file is created by the first run or
 * merge. Otherwise the file is never modified, whatever its version. HEDDLE_NOT_FOUND: no file to
 * read. HEDDLE_INVALID: not a database of this tuner. HEDDLE_ENVIRONMENT: not writable, or another
 * error of SQLite, with its message. The call that creates the file returns the same errors. */
heddle_status hd_records_open(heddle_context *ctx, const char *path, bool write,
                              hd_records **records);
void hd_records_close(hd_records *records); /* accepts NULL */

/* The origin of measurements. */
typedef struct hd_provenance {
  char device[128]; /* "NVIDIA H200" */
  char driver[32];  /* "580.159.04", or the API's version */
  double power_limit_w;
  uint64_t seed;
} hd_provenance;

/* Begins a run, to which all later records belong. resumes: existing records are used as
 * measurements of this device; HEDDLE_INVALID, naming the other device, if some are not. */
heddle_status hd_records_begin(heddle_context *ctx, hd_records *records,
                               const hd_provenance *provenance, bool resumes);

/* ORDER VERDICTS. */
typedef enum hd_verdict {
  HD_VERDICT_OK,
  HD_VERDICT_WRONG,   /* wrong result; not timed */
  HD_VERDICT_REFUSED, /* by the compiler, or by the check of ptxas' output */
  HD_VERDICT_FAILED,  /* the driver reported an error */
  HD_VERDICT_CRASH,   /* the measuring process ended */
  HD_VERDICT_HANG,    /* the measuring process exceeded its deadline */
  HD_N_VERDICTS
} hd_verdict;
const char *hd_verdict_name(hd_verdict verdict);
bool hd_verdict_parse(const char *name, hd_verdict *verdict);
bool hd_verdict_is_loss(hd_verdict verdict); /* failed, crash, hang: no result */

/* Strings are borrowed. Times in seconds. */
typedef struct hd_record {
  const char *product, *schedule; /* as printed by hd_product_print and hd_schedule_print */
  bool final;                     /* in the last race; else a quick measurement */
  hd_verdict verdict;
  const char *why; /* the reason if not ok; may be NULL */
  const char *device; /* set by reads only: the device of the run; "": unknown */
  double median, min, max, error;
  double predicted; /* 0: the model has no estimate for the target */
  double sustained; /* alone; 0: not measured */
  double power_w;
  int32_t sm_mhz;
  /* Only for the tuner's callback; the database has no columns for these. */
  char cubin[33];      /* the hash of the code that ran; "": unknown */
  int32_t temperature_c;
  uint64_t throttle;   /* NVML's clock throttle reasons */
} hd_record;

heddle_status hd_records_add(heddle_context *ctx, hd_records *records, const hd_record *record);

heddle_status hd_records_choose(heddle_context *ctx, hd_records *records, const hd_choice *choice);

/* Calls `each` for every measurement of a product (NULL: of all products), sorted by product, quick
 * ones first, then by time. Stops if it returns false. */
typedef bool (*hd_record_fn)(void *user, const hd_record *record);
heddle_status hd_records_each(heddle_context *ctx, hd_records *records, const char *product,
                              hd_record_fn each, void *user);
/* Calls `each` for the latest choice of every product on every device, sorted by their names. */
heddle_status hd_records_each_choice(heddle_context *ctx, hd_records *records, hd_choice_fn each,
                                     void *user);

/* Reads the tuned choices of a database, or of a file for heddle_tuned_read (heddle/tuned.h).
 * *tuned is owned. The errors are those of heddle_tuned_read and hd_records_open. */
heddle_status hd_records_read_tuned(heddle_context *ctx, const char *path, heddle_tuned **tuned);

/* The maximum number of measurements behind a choice of the product; 0: no choice. sustained: only
 * choices with a sustained time count. */
heddle_status hd_records_chosen(heddle_context *ctx, hd_records *records, const char *product,
                                bool sustained, int64_t *n_measured);

/* Copies the records that only the other database has. *n_new: the number of runs, measurements and
 * choices copied. Merging a database with itself copies nothing. */
heddle_status hd_records_merge(heddle_context *ctx, hd_records *into, const char *path,
                               int64_t *n_new);

/* Exports all records as JSON, or only the choices (the form that is shipped), of one device (NULL:
 * of all devices). One record per line. */
heddle_status hd_records_export(heddle_context *ctx, hd_records *records, bool choices_only,
                                const char *device, hd_strbuf *json);

#endif
