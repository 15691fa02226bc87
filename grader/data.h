/* data.h - inputs and expected values of a case, made by the Python reference. */
#ifndef DATA_H
#define DATA_H
#include "cases.h"
#include "causes.h"
#include "protocol.h"
#include "safetensors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_DIMS = 6 };
enum role { ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_ACC };
enum element {
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_I32,
    ELEMENT_I64,
    ELEMENT_U8,
    ELEMENT_OTHER
};

/* An argument: a view of a buffer. */
struct view {
    char name[MAX_NAME];
    enum role role;
    enum element element;
    int buffer;    /* -1: NULL is passed */
    size_t offset; /* elements from the start of the buffer */
    int dims;
    size_t shape[MAX_DIMS];
    size_t rows, cols; /* cols: the last dimension; rows: the product of the others */
    size_t elements;   /* rows * cols */
    size_t stride;     /* elements from one row to the next */
    char owner[32]; /* what a block or thread computes: "row", "column", "element", "" */
};

struct buffer {
    char name[MAX_NAME];
    enum element element;
    size_t bytes;
    bool filled;
};

/* The values of one data set, A or B. */
struct data_set {
    const unsigned char *bytes[MAX_BUFFERS]; /* of filled buffers */
    const double *want[MAX_ARGS];            /* of judged outputs, in logical order */
    const float *tol[MAX_ARGS];
    struct causes *causes;    /* known mistakes, or NULL */
    struct st_file *in, *out; /* the files that all these point into */
};

struct case_data {
    enum dtype_code { CODE_F32, CODE_F16, CODE_BF16 } dtype;
    char function[MAX_NAME];
    uint64_t seed;
    bool dry;          /* no data: one call on zeros, see reference/dry.py */
    bool host_code;    /* the function has arguments in host memory */
    char drawn[200];   /* the values that the reference drew at random: "T=9 S=64" */
    json_t *scalars;   /* name: number */
    json_t *tolerance; /* output: its formula as text */
    struct buffer buffer[MAX_BUFFERS];
    struct view view[MAX_ARGS];
    int buffers, views;
    struct data_set set[2];
    /* Of the learner's sources: no shared memory, barrier or shuffle; no 16-bit variable */
    bool threads_apart, no_halves;
};

/* sets: 2, or 1 for data A alone. Returns 0, or -1 with the reason. */
int data_load(
    struct case_data *d, const char *folder, const char *name, int sets, char *error,
    size_t error_bytes);
void data_free(struct case_data *d);
/* The data of a tensor in a file of the reference. NULL if it does not exist, or has
 * another type or size. */
const void *tensor(const st_file *f, const char *name, st_dtype dtype, size_t elements);
/* A JSON value in the metadata of such a file; {} without it. The caller owns it. */
json_t *json_metadata(const st_file *f, const char *key);
size_t element_bytes(enum element e);
double element_value(enum element e, const unsigned char *p);
void element_values(double *to, enum element e, const unsigned char *p, size_t n);
/* Where element i (logical order) of a view is, in elements from the start of the
 * buffer. */
size_t view_index(const struct view *v, size_t i);
/* Where the bytes of buffer b start in a result; its red zones lie before and after. */
const unsigned char *
buffer_bytes(const struct case_data *d, const unsigned char *result, int b);

#endif
