/* events.h - train.tfevents of a run: the measurements of its CSV as scalars for
 * TensorBoard (tensorboard --logdir runs).
 *
 * The file is a TFRecord: for each record its length (uint64), a checksum of those 8
 * bytes (uint32), the data, and a checksum of the data. A checksum is the CRC-32C,
 * masked: rotated right by 15 bits, plus 0xa282ead8. All numbers are little-endian. The
 * data is a protobuf message, Event:
 *     1 wall_time double, 2 step int64, 3 file_version string (first record only),
 *     5 summary { 1 value { 1 tag string, 2 simple_value float } ... }
 */
#ifndef EVENTS_H
#define EVENTS_H
#include "file.h"

#include <stdint.h>
#include <stdio.h>

typedef struct scalar {
    const char *tag;
    double value; /* NaN: not measured, left out */
} scalar;

/* FOLDER/train.tfevents, to append to: new, or the old one up to `step`. NULL: error. */
FILE *events_open(const char *folder, bool resume, uint32_t step, wb_error *err);
/* One record, flushed. Non-zero: see errno. */
int events_add(FILE *f, uint32_t step, const scalar *scalars, int count);

#endif
