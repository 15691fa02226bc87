/* cores.h - how many threads a program should start. */
#ifndef CORES_H
#define CORES_H

/* The cores that this process may run on, from 1 to `limit`. */
int cores_usable(int limit);

#endif
