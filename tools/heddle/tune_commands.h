/* heddle/tune_commands.h: what `heddle tune` does beside tuning: its verbs. */
#ifndef HD_TUNE_COMMANDS_H
#define HD_TUNE_COMMANDS_H

int tune_worker(int argc, char **argv);
int tune_scripted(int argc, char **argv);
int tune_lease(int argc, char **argv);
int tune_merge(int argc, char **argv);
int tune_export(int argc, char **argv);
int tune_calibrate(int argc, char **argv);
int tune_evaluate(int argc, char **argv);
int tune_list(int argc, char **argv);

#define TUNE_DB_DEFAULT "heddle-tune.db"
#define TUNE_DB_ABOUT "the records (" TUNE_DB_DEFAULT ")"

#define TUNE_CEILINGS_ABOUT "of the model: a file of calibrate's (the shipped ones)"

#endif
