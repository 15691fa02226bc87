/* orphans.h - ends the processes that a program left behind. */
#ifndef ORPHANS_H
#define ORPHANS_H

/* Kills and reaps all children of this process, and theirs. This process must be a
 * subreaper (PR_SET_CHILD_SUBREAPER): then they become its own. */
void kill_orphans(void);

#endif
