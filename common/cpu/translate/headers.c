/* headers.c - finds the headers that a source includes, as the compiler would; translates
 * those that contain CUDA syntax or include such a header. */
#include "headers.h"
#include "blocks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *include_dirs[MAX_INCLUDE_DIRS];
static int include_dir_count;
static const char *outdir, *out;

/* The headers seen so far. */
static struct header {
    char *path;
    dev_t device;
    ino_t inode; /* a header can have many paths */
    int open;    /* its own headers are being translated */
    int number;  /* of its translation; 0: it has none */
} headers[MAX_HEADERS];
static int header_count, includes;
static int translations; /* numbers given */

void add_include_dir(const char *folder)
{
    if (include_dir_count == MAX_INCLUDE_DIRS) {
        fprintf(stderr, "translate: more than %d -I folders\n", MAX_INCLUDE_DIRS);
        exit(1);
    }
    include_dirs[include_dir_count++] = folder;
}

void set_output(const char *folder, const char *name)
{
    outdir = folder;
    out = name;
}

static char *translation(int number)
{
    return format("%s/%s.%d.h", outdir, out, number);
}

void remove_translations(void)
{
    for (int n = 1, gone = 0; n <= translations || !gone; n++) {
        char *path = translation(n);
        gone = unlink(path) != 0;
        free(path);
    }
}

/* --- finding ------------------------------------------------------------------------ */

/* 1 if a file contains syntax that needs the translator. */
static int has_cuda_syntax(const struct source *s)
{
    for (int i = 0; i < s->count; i++)
        if (run_of(s, i, '<', 3) || is(s, i, "__shared__") || is(s, i, "__noinline__") ||
            is(s, i, "noinline") || is(s, i, "asm") || is(s, i, "__asm__") ||
            is(s, i, "__shfl_xor_sync") || is(s, i, "__shfl_down_sync") ||
            is(s, i, "__global__") || is(s, i, "__CUDA_ARCH__"))
            return 1;
    return 0;
}

/* The name in an #include line, or NULL; quote: " or <. */
static char *included_name(const struct token *t, char *quote)
{
    char *line = format("%.*s", t->length, t->start), *name = malloc(strlen(line) + 1);
    int found = name && sscanf(line, "# include \"%[^\"\n]\"", name) == 1;
    *quote = '"';
    if (!found) {
        found = name && sscanf(line, "# include <%[^>\n]>", name) == 1;
        *quote = '<';
    }
    free(line);
    if (found && strlen(name) < PATH_MAX) return name;
    free(name);
    return NULL;
}

/* The path of the header that token i of s includes; NULL: none, or one of the compiler.
 * A device or a FIFO, which the compiler would read without end, is an error. */
static char *find_header(const struct source *s, int i, const char *name, char quote)
{
    const char *slash = strrchr(s->path, '/');
    char *path = NULL;
    int own = quote == '"' || *name == '/'; /* not in the -I folders alone */
    for (int k = own ? -1 : 0; k < include_dir_count; k++) {
        struct stat st;
        free(path);
        if (*name == '/')
            path = format("%s", name);
        else if (k >= 0)
            path = format("%s/%s", include_dirs[k], name);
        else
            path =
                format("%.*s%s", slash ? (int)(slash - s->path) + 1 : 0, s->path, name);
        if (stat(path, &st) || S_ISDIR(st.st_mode)) continue;
        if (S_ISREG(st.st_mode)) return path;
        fail_at(s, i, "%s cannot be included: it is not a regular file", name);
        break;
    }
    free(path);
    return NULL;
}

/* The known header at a path, or a new one; NULL if there are too many. */
static struct header *header_at(const struct source *s, int i, char *path)
{
    struct stat st;
    if (stat(path, &st)) memset(&st, 0, sizeof st);
    for (int k = 0; k < header_count; k++)
        if (headers[k].inode == st.st_ino && headers[k].device == st.st_dev) {
            free(path);
            return &headers[k];
        }
    if (header_count == MAX_HEADERS) {
        fail_at(s, i, "more than %d different headers", MAX_HEADERS);
        free(path);
        return NULL;
    }
    struct header *h = &headers[header_count++];
    h->path = path;
    h->device = st.st_dev;
    h->inode = st.st_ino;
    return h;
}

/* --- translating -------------------------------------------------------------------- */

int check_mode;

void rewrite(struct source *s)
{
    if (!given_up && !check_mode) rewrite_reductions(s);
    if (!given_up && !check_mode) rewrite_unrolls(s);
    if (!given_up) rewrite_spins(s);
    if (!given_up) rewrite_lockstep(s);
    if (!given_up) rewrite_casts(s);
    if (!given_up) rewrite_assembly(s);
    if (!given_up) rewrite_launches(s);
    if (!given_up) rewrite_declarations(s);
    if (!given_up && !check_mode) rewrite_blocks(s);
    if (!given_up) write_versions(s);
    if (!given_up && module_mode) register_kernels(s);
}

static int translate_included(struct source *s, int depth);

/* Translates a new header if necessary. */
static void translate_header(struct header *h, const struct source *s, int i, int depth)
{
    if (depth > MAX_INCLUDE_DEPTH) {
        fail_at(s, i, "headers are nested more than %d deep", MAX_INCLUDE_DEPTH);
        return;
    }
    struct source *own = check_alloc(calloc(1, sizeof *own));
    int kept = 0;
    if (read_source(own, h->path, s, i)) {
        own->in_braces = s->in_braces || s->open_braces > 0;
        h->open = 1;
        int below = translate_included(own, depth);
        h->open = 0;
        if (!given_up) check_spaces(own);
        kept = !given_up && find_functions(own) > 0;
        if ((below || has_cuda_syntax(own)) && !h->number) h->number = ++translations;
        if (h->number) rewrite(own);
        if (h->number && !errors) {
            char *path = translation(h->number);
            write_source(own, path);
            free(path);
        }
    }
    if (kept) return; /* another source can call its functions */
    free_source(own);
    free(own);
}

/* Token i of s, an #include, gets this name instead. */
static void include_instead(struct source *s, int i, const char *name)
{
    if (strpbrk(name, "\"\n")) {
        fail_at(s, i, "%s: a header's path cannot have a quote or a line break", name);
        return;
    }
    erase(s, i, i + 1);
    s->tokens[i].before = keep(s, format("#include \"%s\"", name));
}

static void include_translation(struct source *s, int i, int number)
{
    char *copy = format("%s.%d.h", out, number);
    include_instead(s, i, copy);
    free(copy);
}

/* The include at token i; returns 1 if its header is translated. A translation is in
 * another folder than its header: it includes what is not translated by the full path. */
static int translate_include(struct source *s, int i, int depth)
{
    char quote, *name = included_name(&s->tokens[i], &quote);
    if (!name) return 0;
    if (++includes > MAX_INCLUDES)
        fail_at(s, i, "more than %d #include lines", MAX_INCLUDES);
    char *path = given_up ? NULL : find_header(s, i, name, quote);
    int missing = path || given_up ? 0 : missing_header(name, &translations);
    free(name);
    if (missing) include_translation(s, i, missing);
    if (missing) return 1;
    if (path && quote == '<') {
        unread_header();
        free(path);
        return 0;
    }
    int known = header_count;
    struct header *h = path ? header_at(s, i, path) : NULL;
    if (!h || !is_usable_name(h->path)) {
        if (h)
            fail_at(
                s, i, "%s: a header's path has letters, digits, _ - . + , @ ~ only",
                h->path);
        return 0;
    }
    if (h == &headers[known]) translate_header(h, s, i, depth);
    if (h->open && !h->number) h->number = ++translations; /* it includes itself */
    if (given_up) return 0;
    if (h->number) {
        include_translation(s, i, h->number);
    } else if (depth > 1) {
        char *full = realpath(h->path, NULL);
        if (full) include_instead(s, i, full);
        free(full);
    }
    return h->number != 0;
}

static int translate_included(struct source *s, int depth)
{
    int any = 0;
    note_used_names(s);
    for (int i = 0; i < s->count && !given_up; i++) {
        const struct token *t = &s->tokens[i];
        if (t->kind == MARK && !t->in_directive)
            s->open_braces += (*t->start == '{') - (*t->start == '}');
        if (t->kind == DIRECTIVE) any |= translate_include(s, i, depth + 1);
    }
    return any;
}

void translate_headers(struct source *s)
{
    translate_included(s, 0);
}

/* --- writing ------------------------------------------------------------------------ */

static void close_output(FILE *f, const char *path)
{
    int bad = ferror(f), full = fclose(f);
    if (bad || full) fail_in(path, 0, "cannot be written: %s", strerror(errno));
}

static FILE *open_output(const char *path)
{
    unlink(path);
    FILE *f = fopen(path, "wbx"); /* x: never through a link that is in its place */
    if (!f) fail_in(path, 0, "cannot be written: %s", strerror(errno));
    return f;
}

void write_source(const struct source *s, const char *path)
{
    FILE *f = open_output(path);
    if (!f) return;
    char *name = as_string(s->path);
    fprintf(f, "#line 1 \"%s\"\n", name);
    free(name);
    print_source(s, f);
    close_output(f, path);
}

void write_translation(int number, const char *text)
{
    char *path = translation(number);
    FILE *f = open_output(path);
    if (f) fputs(text, f);
    if (f) close_output(f, path);
    free(path);
}

/* Others would be read as two names, a target or a variable. Letters of other languages
 * are bytes above 127. */
int for_make;

int is_usable_name(const char *path)
{
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        if (c < ' ' || c == 0x7f || strchr("\"\\", c)) return 0;
        if (for_make && strchr(" #$%&'()*:;<=>?[]^`{|}!", c)) return 0;
    }
    return 1;
}

void write_dependencies(const char *path, const char *object, const char *input)
{
    FILE *f = open_output(path);
    if (!f) return;
    fprintf(f, "%s: %s", object, input);
    for (int i = 0; i < header_count; i++)
        fprintf(f, " %s", headers[i].path);
    fputc('\n', f);
    for (int i = 0; i < header_count; i++)
        fprintf(f, "%s:\n", headers[i].path);
    close_output(f, path);
}
