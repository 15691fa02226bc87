/* tokens.h - a CUDA source as a list of tokens. The translator does not parse C++: it
 * matches brackets, and each of its rules looks at a few neighbouring tokens.
 *
 * Tokens cover the whole text, including blanks and comments. A rule never moves text; it
 * replaces a token, or inserts text before or after it. Line breaks are kept, so compiler
 * messages have the line numbers of the source.
 *
 * Sources come from strangers: each rule takes time in proportion to the source's size,
 * and what has no natural bound has one of the limits below. */
#ifndef TOKENS_H
#define TOKENS_H

#include <stddef.h>

enum limits {
    MAX_SOURCE_MB = 4,       /* one file */
    MAX_TOTAL_MB = 8,        /* a source and its headers */
    MAX_HEADERS = 1000,      /* different files */
    MAX_INCLUDES = 10000,    /* #include lines */
    MAX_INCLUDE_DEPTH = 200, /* as in g++ */
    MAX_INCLUDE_DIRS = 64,   /* -I */
    MAX_NESTING = 256,       /* brackets in brackets; as in clang */
    MAX_NAME = 4096,         /* characters of a kernel's name with its arguments */
    MAX_LITERAL = 4096,      /* of a {...} argument of a launch, of __launch_bounds__ */
    MAX_ERRORS = 20,
};

enum kind {
    BLANK,
    COMMENT,
    STRING, /* "...", '.', R"x(...)x" */
    NAME,
    NUMBER,
    MARK,      /* one punctuation character */
    DIRECTIVE, /* a whole #include, #error, #warning or #pragma line */
};

struct token {
    enum kind kind;
    const char *start; /* in the source */
    int length;
    int line;
    int mate;           /* index of the matching bracket, or -1 */
    int next, previous; /* the nearest token that is not a blank or comment */
    int in_directive;   /* on the line of a preprocessor directive */
    int in_reduction; /* reductions.c has replaced it; blocks_write.c takes it as it was */
    int is_host_code; /* an asm statement for the CPU, not PTX (assembly.c) */
    enum {
        NO_LOCKSTEP,
        IN_LOCKSTEP,   /* lockstep.c has added a wait before or after it: */
        VALUE_FOLLOWS, /* after this =, a value that all lanes read before one writes */
        VALUE_PRECEDES /* and before this ; */
    } lockstep;
    int has_versions;   /* the brace of a body: architecture.c writes a second one */
    const char *before; /* written before the token, or NULL */
    const char *text;   /* written in its place, or NULL */
    const char *shift; /* written after a shift operator, or NULL (shifts.c): no change */
    const char *after; /* written after it, or NULL */
};

struct source {
    const char *path; /* as printed in messages */
    char *text;
    size_t size;
    struct token *tokens;
    int count;
    int room;    /* for tokens that are appended; 0: none so far */
    char **kept; /* what keep() was given */
    int kept_count;
    int open_braces; /* before the #include that is being read */
    int in_braces;   /* it is included in a function or a namespace */
};

/* --- lex.c -------------------------------------------------------------------------- */

/* Splits s->text into tokens; after an error, given_up is set. */
void tokenize(struct source *s);

/* --- tokens.c ----------------------------------------------------------------------- */

/* Reads and tokenizes a regular file. Returns 0 with a message at token i of includer, or
 * at the path if includer is NULL. */
int read_source(struct source *s, const char *path, const struct source *includer, int i);
void free_source(struct source *s);
/* Writes the text with all replacements. */
void print_source(const struct source *s, void *file);

/* These accept any index; outside [0, count) they find nothing. */
int is(const struct source *s, int i, const char *text);
int is_name(const struct source *s, int i);
int token_in(const struct source *s, int i, const char *list); /* words between blanks */
static inline int is_launch_attribute(const struct source *s, int i)
{
    return token_in(s, i, "__launch_bounds__ __cluster_dims__");
}
void *check_alloc(void *p); /* p; without memory the program ends */

int is_space(const struct source *s, int i); /* or a comment; i is in [0, count) */
int same_text(const struct source *s, int a, int b); /* of two tokens, which exist */
int next(const struct source *s, int i);             /* skips blanks and comments */
int previous(const struct source *s, int i);
/* 1 if n adjacent characters c start at i (<<< is three tokens). */
int run_of(const struct source *s, int i, char c, int n);
int mate(const struct source *s, int i); /* -1: not a bracket, or unmatched */
/* The first `mark` in [i, end) that no bracket encloses; otherwise a token from `end` on. */
int find_outside(const struct source *s, int i, int end, const char *mark);
/* The '<' that matches the '>' at i, or the '>' that matches the '<' at i, or -1. */
int open_angle(const struct source *s, int i);
int close_angle(const struct source *s, int i);

/* Tokens sorted by their text, to find all that are equal. */
struct token_index {
    int *tokens;
    int count, room;
};
void index_add(struct token_index *x, int i);
void index_sort(struct token_index *x, const struct source *s);
/* The first entry with this text, or -1; sets *equal to the number of entries. */
int index_find(
    const struct token_index *x, const struct source *s, const char *text, int length,
    int *equal);

/* --- text.c ------------------------------------------------------------------------- */

/* The source text of [first, end) without comments, each run of blanks as one space. */
char *text_of(const struct source *s, int first, int end);
void erase(struct source *s, int first, int end); /* keeps the line breaks */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
/* Makes s the owner of a text that format returned; returns the text. */
char *keep(struct source *s, char *text);
/* A text as the inside of a C string. */
char *as_string(const char *text);

/* A text that grows. Its text is the caller's to free, and never NULL after an append. */
struct buffer {
    char *text;
    size_t length, room;
};
void append(struct buffer *b, const char *text, size_t length);
void append_text(struct buffer *b, const char *text);
/* As it is written; instead: in place of the token and its replacement, or NULL */
void append_token(struct buffer *b, const struct token *t, const char *instead);

/* --- messages.c --------------------------------------------------------------------- */

/* Prints "path:line: error: ..." with the source line and a caret; adds 1 to errors. A
 * control character of the source is printed as a question mark. */
void error_at(const struct source *s, int i, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, as "path:line:column: error: ...". */
void refuse_at(const struct source *s, int i, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
/* The source is translated all the same. */
void warn_at(const struct source *s, int i, const char *text);
/* One line, for what the user asked to see */
void note_at(const struct source *s, int i, const char *text);
/* As error_at, and gives up: nothing more is translated. */
void fail_at(const struct source *s, int i, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
/* Without a token: line 0 leaves out the line. */
void fail_in(const char *path, int line, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));
extern int errors;
extern int given_up; /* after fail_at, or after MAX_ERRORS errors */

/* --- spaces.c ----------------------------------------------------------------------- */

/* Reports what nvcc would refuse in the source; its headers come first. */
void check_spaces(struct source *s);
extern int relaxed_constexpr; /* set by --relaxed-constexpr */
/* A header was left to the compiler: it may declare any function. */
void unread_header(void);

/* --- known.c ------------------------------------------------------------------------ */

/* 1 if the name at i is a macro's, or looks like one. Call it after check_spaces. */
int may_be_macro(const struct source *s, int i);
/* Appends to s a list of its variables: those of host code and those in global memory. */
void list_variables(struct source *s);

/* --- the rules ---------------------------------------------------------------------- */

void rewrite_blocks(struct source *s);       /* blocks_write.c; after all others */
void rewrite_launches(struct source *s);     /* launches.c */
void find_plain_calls(struct source *s);     /* plain_calls.c */
void rewrite_declarations(struct source *s); /* declarations.c */
void rewrite_reductions(struct source *s);   /* reductions.c */
/* Afterwards: the value of 32, warpSize, a #define or const int of s; -1: not known */
int value_at(const struct source *s, int i);
void rewrite_unrolls(struct source *s);  /* unroll.c */
void rewrite_casts(struct source *s);    /* casts.c */
void rewrite_assembly(struct source *s); /* assembly.c */
void rewrite_lockstep(struct source *s); /* lockstep.c */
void rewrite_spins(struct source *s);    /* spins.c */
void write_versions(struct source *s);   /* architecture.c; after all others */

#endif
