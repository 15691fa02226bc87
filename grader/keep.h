/* keep.h - what outlives a run: results, receipts, the progress board, hints. */
#ifndef KEEP_H
#define KEEP_H
#include "cases.h"
#include "report.h"

/* Stores the results for the board and the hints. If the pass counts, writes the receipt:
 * the functions whose cases all passed. */
void keep_results(const struct report *r);
void board(const char *folder);
/* Prints a hint for this part; NULL: for the first one that is not passed. level 0: the
 * next one. */
void hint(const struct lab *lab, const char *folder, const char *part, int level);

#endif
