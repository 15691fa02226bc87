/* grader.h - what the parts of the grader share.
 *
 *     cases.c   labs/labNN_op/cases and hints.md            what is asked
 *     data.c    inputs and expected values of each case     what is right
 *     child.c   the lab executable, started and fed         what came
 *     under.c   a command that it runs under: sanitizers
 *     judge.c   right or wrong, and where                   the verdict
 *     pattern.c what a wrong result looks like              the likely cause
 *     build.c   what was built from what, and whether that still holds
 *     report.c  text, JSON, JUnit
 *     keep.c    results and receipts, progress board, hints
 *     save.c    outputs as files, to compare back ends by
 *     main.c    the command line, and the order of it all
 */
#ifndef GRADER_H
#define GRADER_H
#include "protocol.h"
#include "wb.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exit_code {
    EXIT_FULL = 0,
    EXIT_LESS = 1,
    EXIT_NOT_BUILT = 2, /* also: the command line cannot be understood */
    EXIT_CRASHED = 3,
    EXIT_TIMED_OUT = 4,
    EXIT_BROKEN = 5, /* the exercise itself, not the learner's code */
};

/* One line to stderr, then exit(code). */
_Noreturn void fatal(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void *xalloc(size_t bytes); /* zeroed, or fatal */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- cases.c ------------------------------------------------------------------------- */

/* name part points function key=value... ; needs ; catches */
struct graded_case {
    char name[MAX_NAME], part[16], function[MAX_NAME];
    char dtype[8]; /* f32, f16, bf16: the suffix of the function */
    int points;
    wb_status status; /* what the call must return: status=WB_BAD_SHAPE; else WB_OK */
    uint32_t workspace_less; /* workspace_less=N: that many bytes are withheld */
    uint64_t workspace_below; /* workspace_below=N: fewer than N may be asked for */
    char *catches;
    char **needs; /* names, NULL at the end */
};

struct lab {
    char name[MAX_NAME]; /* lab03 */
    char folder[512];    /* labs/lab03_rmsnorm */
    struct graded_case *cases;
    size_t count;
};

/* Lab by "lab03", "3" or "rmsnorm". Unknown: fatal, with the list of labs. */
void lab_find(struct lab *lab, const char *name);
/* 0, or -1 with "path:line: what is wrong" in error. */
int cases_read(struct lab *lab, const char *path, char *error, size_t error_bytes);
struct graded_case *case_find(const struct lab *lab, const char *name);
bool case_matches(const struct graded_case *c, const char *patterns);
/* One level (1, 2, ...) of a part's hints in folder/hints.md; NULL: there is none.
 * *levels gets how many there are. */
char *hint_read(const char *folder, const char *part, int level, int *levels);

/* ---- data.c -------------------------------------------------------------------------- */

enum { MAX_DIMS = 6, MAX_CAUSES = 16 };
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

/* a known mistake, and what the output would be with it */
struct cause {
    char *words;
    const double *value; /* as want */
};

/* an argument: a view of a buffer */
struct view {
    char name[MAX_NAME];
    enum role role;
    enum element element;
    int buffer;    /* -1: NULL is passed */
    size_t offset; /* elements from the start of the buffer */
    int dims;
    size_t shape[MAX_DIMS];
    size_t rows, cols; /* cols: the last dimension; rows: all before it */
    size_t elements;   /* rows * cols */
    size_t stride;     /* elements from one row to the next */
    char owner[32];    /* who computes an element: "row", or empty */
};

struct buffer {
    char name[MAX_NAME];
    size_t bytes;
    bool filled;
};

/* the values of one data set, A or B */
struct data_set {
    const unsigned char *bytes[MAX_BUFFERS]; /* of filled buffers */
    const double *want[MAX_ARGS];            /* of outputs that count, logical order */
    const float *tol[MAX_ARGS];
    struct cause cause[MAX_ARGS][MAX_CAUSES];
    struct st_file *in, *out; /* what all these point into */
};

struct case_data {
    enum dtype_code { CODE_F32, CODE_F16, CODE_BF16 } dtype;
    char function[MAX_NAME];
    uint64_t seed;
    json_t *scalars;   /* name: number */
    json_t *tolerance; /* output: the formula, in words */
    struct buffer buffer[MAX_BUFFERS];
    struct view view[MAX_ARGS];
    int buffers, views;
    struct data_set set[2];
};

/* Folder with the tensors of the lab's cases, made by the Python reference if need be. */
char *data_folder(const struct lab *lab, uint64_t seed, const char *pattern, bool custom);
/* 0, or -1 with the reason. */
int data_load(
    struct case_data *d, const char *folder, const char *name, char *error,
    size_t error_bytes);
void data_free(struct case_data *d);
size_t element_bytes(enum element e);
double element_value(enum element e, const unsigned char *p);
/* element i (logical order) of a view, in elements from the start of the buffer */
size_t view_index(const struct view *v, size_t i);

/* ---- child.c ------------------------------------------------------------------------- */

struct result {
    struct wire_result head;
    size_t size;          /* of bytes */
    unsigned char *bytes; /* every buffer with its fences; NULL after a CUDA error */
    bool as_first;        /* the same bits as the first result: bytes is not kept */
};

enum ending { RAN, CRASHED, ENDED, TIMED_OUT, FLOODED, TOO_MUCH_MEMORY, BROKE };

struct run {
    enum ending ending;
    char text[512]; /* of any ending but RAN */
    struct result *result;
    size_t results;
    char *output; /* what the learner's code printed, the first OUTPUT_KEPT bytes */
    size_t output_bytes;
    double seconds;
};

enum { OUTPUT_KEPT = 16 << 10 }; /* bytes of what the learner's code prints */

struct child;
struct child_limits {
    double seconds; /* a case */
    size_t memory;  /* bytes resident; 0: no limit */
};
struct under;
struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under);
/* Starts the program when it does not run; after any ending but RAN it does not run. */
void child_case(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    uint32_t orders, struct run *run);
void child_free(struct child *c);
void run_free(struct run *run);

/* ---- under.c ------------------------------------------------------------------------- */

/* The command's words, split at spaces, before the program's name. */
struct under *under_new(const char *command, const char *program);
void under_free(struct under *u); /* NULL is fine */
/* For the forked child: becomes the command. Returns when that fails: -1, errno, step. */
int under_exec(const struct under *u, const char **step);
void under_heard(struct under *u, const char *part, size_t bytes);
/* One run is over, with this wait status; `stopped`: not by itself. */
void under_ended(struct under *u, int status, bool stopped);
/* The program did not answer: fatal, with what was printed. */
_Noreturn void under_failed(struct under *u, const char *why);
/* Prints the summary lines, or if something is wrong, all; true: clean. */
bool under_report(struct under *u);

/* ---- judge.c, pattern.c -------------------------------------------------------------- */

enum verdict { PASSED, FAILED, SKIPPED, CRASH, TIMEOUT, BROKEN };

enum { MAX_LINES = 24 };
struct judgement {
    enum verdict verdict;
    char *line[MAX_LINES]; /* the findings, in the report's words */
    int lines;
    double seconds;
    uint64_t wrong; /* elements */
};

void say(struct judgement *j, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void judge(
    struct judgement *j, const struct graded_case *g, const struct case_data *d,
    const struct run *run);

/* One output against its expected values, as the pattern finder sees it. */
struct comparison {
    const struct view *view;
    const struct case_data *data;
    const struct data_set *set;
    const double *want;
    const float *tol;
    const double *got;         /* the values */
    const uint8_t *mark;       /* per element: MARK_* */
    const double *first;       /* contents before the call (acc, inout), or NULL */
    size_t wrong, first_wrong; /* count; index */
};
enum { MARK_RIGHT, MARK_WRONG, MARK_POISON, MARK_FENCE, MARK_WORKSPACE };

/* Says the likely cause in one or two lines. */
void find_pattern(struct judgement *j, const struct comparison *c);
/* "[row 0, col 992]" into text */
char *place(char *text, size_t bytes, const struct view *v, size_t i);

/* ---- build.c ------------------------------------------------------------------------- */

/* What `make lab03` says about the executable: build/<backend>/labs/lab03.json. */
struct build {
    char *folder;  /* build/cpu, or what BUILD= says */
    char *program; /* the executable */
    char *backend, *source;
    bool own;       /* from labs/: a pass counts; FILE= and FROM= do not */
    json_t *record; /* files, defined, missing, breaches */
};

/* Not built or stale: fatal, exit code 2. */
void build_open(struct build *b, const char *folder, const struct lab *lab);
bool build_lacks(const struct build *b, const char *function, const char *dtype);
void build_close(struct build *b);

/* ---- report.c ------------------------------------------------------------------------ */

struct report {
    const struct lab *lab;
    const struct build *build;
    struct judgement *judgement; /* a case each; lab->count */
    bool *selected;              /* by -k */
    uint64_t seed;
    bool custom_seed, all; /* all: no -k */
    int score, of;         /* of the selected cases */
    const char *sandbox;   /* what there is of it */
    struct under *under;   /* the command that the program runs under, or NULL */
    const char *save;      /* folder for the outputs, or NULL */
    bool unclean;          /* that command found something */
    bool colour;
};

void report_case(const struct report *r, size_t i, const char *title);
void report_printed(const char *output, size_t bytes); /* by the learner's code */
void report_end(struct report *r);                     /* the score; how to go on */
enum exit_code report_code(const struct report *r);
void report_json(const struct report *r, const char *path);
void report_junit(const struct report *r, const char *path);
/* ---- keep.c -------------------------------------------------------------------------- */

/* Remembers the results, for the board and the hints; writes the receipt of the functions
 * of which every case passed, if the pass counts. */
void report_keep(const struct report *r);
void board(const char *folder);
/* level 0: the next one for the first part that is not passed; "03.1": of that part */
void hint(const struct lab *lab, const char *folder, int level);

/* ---- save.c -------------------------------------------------------------------------- */

/* Makes the folder; removes what an earlier run of this lab left there. */
void save_begin(const char *folder, const struct lab *lab);
/* Writes folder/LAB.CASE.safetensors: every output of the first call on data A, if that
 * call returned WB_OK. Cannot be written: fatal. */
void save_outputs(
    const char *folder, const struct lab *lab, const char *backend,
    const struct graded_case *c, const struct case_data *d, const struct run *run);

#endif
