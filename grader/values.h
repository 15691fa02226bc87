/* values.h - checks the values that one call returned. */
#ifndef VALUES_H
#define VALUES_H
#include "judge.h"

enum depth { WHERE_ONLY, KNOWN_CAUSES, ALL };

/* Compares the outputs of one call, the bytes `result`, with those of one data set. true:
 * all are right. Otherwise the findings say where they are wrong and, depending on `depth`,
 * why. */
bool values_right(
    struct judgement *j, const struct case_data *d, const struct data_set *set,
    const unsigned char *result, enum depth depth);

#endif
