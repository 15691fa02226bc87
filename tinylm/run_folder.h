/* run_folder.h - the folder of a run: one training at a time, and no run is lost by
 * accident.
 *
 *     FOLDER/best/, last/, train.csv, train.tfevents   the run (train.c)
 *     FOLDER/previous/   the same of the run that --overwrite replaced
 */
#ifndef RUN_FOLDER_H
#define RUN_FOLDER_H
#include "file.h"

/* Locks the folder until the process ends, if its file system has locks. -1: another
 * training holds the lock, or there is no such folder. */
int run_folder_lock(const char *folder, wb_error *err);
/* Whether it has any part of a run, even a curve without a checkpoint. */
bool run_folder_holds_run(const char *folder);
/* Moves its run, if it holds one, to previous/ and removes the run that was there. A kill
 * may leave parts in both folders; the next call moves the rest. Only with the lock. */
int run_folder_clear(const char *folder, wb_error *err);
/* Removes the temporary files of a training that was killed. Only with the lock. */
void run_folder_tidy(const char *folder);

#endif
