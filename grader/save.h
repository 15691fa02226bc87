/* save.h - the outputs of a case as a file: ./grade LAB --save DIR. */
#ifndef SAVE_H
#define SAVE_H
#include "cases.h"
#include "child.h"
#include "data.h"

/* Makes the folder and removes this lab's files of an earlier run. */
void save_begin(const char *folder, const struct lab *lab);
/* Writes folder/LAB.CASE.safetensors: every output of the first call on data A, if that
 * call returned WB_OK. Fatal if the file cannot be written. */
void save_outputs(
    const char *folder, const struct lab *lab, const char *backend,
    const struct graded_case *c, const struct case_data *d, const struct run *run);

#endif
