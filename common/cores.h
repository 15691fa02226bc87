/* cores.h - how many threads are worth starting. */
#ifndef CORES_H
#define CORES_H

/* Cores that this process may run on: 1 .. most. */
int cores_usable(int most);

#endif
