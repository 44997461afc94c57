/* heddle/tune_commands.h: the verbs of `heddle tune`. */
#ifndef HD_TUNE_COMMANDS_H
#define HD_TUNE_COMMANDS_H

#include <jansson.h>

#include "Choice/tuned.h"

int tune_worker(int argc, char **argv);
int tune_scripted(int argc, char **argv);
int tune_lease(int argc, char **argv);
int tune_merge(int argc, char **argv);
int tune_export(int argc, char **argv);
int tune_calibrate(int argc, char **argv);
int tune_evaluate(int argc, char **argv);
int tune_list(int argc, char **argv);

/* A choice as `tune --json` and `tune list --json` print it; owned (json_decref). */
json_t *tune_choice_json(const hd_choice *choice);
enum { TUNE_JSON_FORM = JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6) };

#define TUNE_DB_DEFAULT "heddle-tune.db"
#define TUNE_DB_ABOUT "the database of records (" TUNE_DB_DEFAULT ")"

#define TUNE_CEILINGS_ABOUT "ceilings of the model, from `tune calibrate` (the shipped ones)"

#endif
