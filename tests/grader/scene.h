// scene.h - a made-up case and made-up results, for the tests of the grader's judgement.
//
// The case has one output of R rows and C columns, with `gap` elements between rows, and one
// input of the same shape, both f32 and on two data sets. A test adds correct results,
// changes them, and says what the grader must report.
#pragma once
#include "../../grader/cases.h"
#include "../../grader/causes.h"
#include "../../grader/data.h"
#include "../../grader/judge.h"

enum { ALL_CALLS = CALL_SHIFTED + 4 };  // two buffers

struct scene {
    struct case_data d;
    struct graded_case g;
    struct run run;
    struct judgement j;
    size_t R, C, ld;
    float *x[2];
    double *want[2];
    float *tol;
};

// view 0: the output `out`; view 1: the input `x`
struct scene scene(size_t R, size_t C, size_t gap, enum role role);

void fill16(unsigned char *p, size_t bytes, unsigned pattern);

// Where the output and the input start in a result, and how many bytes it has
float *out_of(const struct result *r);
float *input_of(const struct scene *s, const struct result *r);
size_t result_bytes(const struct scene *s);

// Adds a correct result of call `which` on data set `set`.
struct result *add_result(struct scene *s, uint32_t which, int set);

// Adds correct results of every call. The variants of A have the values of A.
void add_all(struct scene *s);

// Lets the reference know this mistake of the output.
void know(struct scene *s, struct cause cause);

// Makes all calls on data A return what the first one did: wrong, but reproducible.
void every_call(struct scene *s);

// Judges the results; returns the findings, a line each. The caller frees them.
char *report(struct scene *s);

// The verdict, and `words` in a finding (expect_silence: in none, though the case fails)
void expect_fail(struct scene *s, const char *words);
void expect_fail_with(struct scene *s, enum verdict verdict, const char *words);
void expect_silence(struct scene *s, const char *words);
