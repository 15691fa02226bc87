/* spaces.h - what spaces.c asks of a function and of the names in it. */
#ifndef SPACES_H
#define SPACES_H

#include "outline.h"

/* --- spaces_locals.c ---------------------------------------------------------------- */

/* Finds the names that a function declares. */
void find_locals(const struct outline *o, const struct function *f);
/* 1 if the last of these functions declares the name at i. */
int is_local(const struct outline *o, int i);
int is_keyword(const struct outline *o, int i); /* after which no name is declared */

/* --- spaces_uses.c ------------------------------------------------------------------ */

struct body {
    const struct outline *o;
    const struct function *f;
    unsigned space; /* of the function, or of the lambda in it */
};

/* Report an error if the word at i is wrong in device code, or in host code. */
void check_device_use(const struct body *b, int i);
void check_host_use(const struct body *b, int i);

#endif
