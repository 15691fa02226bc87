/* private.h - a folder of this run's own, outside the tree: what is in it must not outlive
 * the run, because it contains the expected values. */
#ifndef PRIVATE_H
#define PRIVATE_H
#include <sys/types.h>

/* ${TMPDIR:-/tmp}/warpbook-<pid>-XXXXXX, readable only for this user. It is removed with
 * all that is in it when the program ends, also by SIGINT, SIGTERM, SIGHUP or SIGPIPE. */
const char *private_folder(void);
/* A child process that writes into it; a signal ends it first. 0: there is none. */
void private_writer(pid_t pid);
/* Removes private folders whose program was killed: of this user, with the number of a
 * process that no longer runs. */
void private_remove_leftovers(void);
/* Removes a file or folder with all that is in it; never follows a link. Calls only what
 * a signal handler may call. */
void remove_all(int folder, const char *name);

#endif
