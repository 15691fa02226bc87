/* variant.h - new, valid inputs: data A with small changes. */
#ifndef VARIANT_H
#define VARIANT_H
#include "data.h"

#include <stdint.h>

/* Copies the filled buffers of data A to `to`, one after the other, and flips the lowest
 * mantissa bit of about one in 16 elements of the float buffers. */
void make_variant(unsigned char *to, const struct case_data *d, uint32_t number);
uint64_t next_random(uint64_t *state); /* a seeded generator */

#endif
