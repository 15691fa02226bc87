/* main.c - translates CUDA source to C++17 for the CPU back end:
 *
 *     translate FILE.cu OUTDIR [-I DIR]... [-d OBJECT]
 *
 * writes OUTDIR/FILE.cu.cpp and, under their relative names in OUTDIR, the local headers
 * that contain CUDA syntax or include such a header. The compiler finds all other headers
 * in their place. With -d, OUTDIR/FILE.cu.headers.d tells make that OBJECT depends on the
 * headers.
 *
 * The translator runs before the preprocessor, so a macro can contain a launch. */
#include "tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DIRS = 64, MAX_HEADERS = 1024 };

static const char *include_dirs[MAX_DIRS];
static int include_dir_count;
static const char *outdir;

/* The headers seen so far. */
static struct header {
    char *path;
    char *name; /* as included; its translation gets this name */
    int needed; /* it has been translated */
} headers[MAX_HEADERS];
static int header_count;

static void make_parents(const char *path)
{
    char *copy = format("%s", path);
    for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(copy, 0777) && errno != EEXIST) {
            fprintf(
                stderr, "translate: cannot create folder %s: %s\n", copy,
                strerror(errno));
            exit(1);
        }
        *slash = '/';
    }
    free(copy);
}

static int same_bytes(const char *path, const char *other)
{
    FILE *f = fopen(path, "rb"), *g = fopen(other, "rb");
    int same = f && g, c = 0;
    while (same && c != EOF)
        same = (c = getc(f)) == getc(g);
    if (f) fclose(f);
    if (g) fclose(g);
    return same;
}

/* Writes atomically, because make translates the sources of a folder in parallel and they
 * share headers. An unchanged file keeps its time stamp; otherwise each source would make
 * the objects of all sources that share a header out of date. */
static void write_source(const struct source *s, const char *path)
{
    make_parents(path);
    char *unfinished = format("%s.%ld", path, (long)getpid());
    FILE *f = fopen(unfinished, "wb");
    if (!f) {
        fprintf(stderr, "translate: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fprintf(f, "#line 1 \"%s\"\n", s->path);
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        if (t->before) fputs(t->before, f);
        if (t->text)
            fputs(t->text, f);
        else
            fwrite(t->start, 1, (size_t)t->length, f);
        if (t->after) fputs(t->after, f);
    }
    if (ferror(f) | fclose(f) ||
        (same_bytes(unfinished, path) ? remove(unfinished) : rename(unfinished, path))) {
        fprintf(stderr, "translate: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    free(unfinished);
}

static void rewrite(struct source *s)
{
    rewrite_reductions(s);
    rewrite_launches(s);
    rewrite_declarations(s);
}

/* --- local headers ------------------------------------------------------------------ */

/* 1 if a file contains syntax that needs the translator. */
static int has_cuda_syntax(const struct source *s)
{
    for (int i = 0; i < s->count; i++)
        if (run_of(s, i, '<', 3) || is(s, i, "__shared__") || is(s, i, "__noinline__") ||
            is(s, i, "asm") || is(s, i, "__asm__") || is(s, i, "__shfl_xor_sync") ||
            is(s, i, "__shfl_down_sync") || is(s, i, "__global__"))
            return 1;
    return 0;
}

/* The name in an #include "name" line, or NULL. */
static char *included_name(const struct token *t)
{
    char *line = format("%.*s", t->length, t->start),
         *name = malloc((size_t)t->length + 1);
    int found = name && sscanf(line, "# include \"%[^\"\n]\"", name) == 1;
    free(line);
    if (found) return name;
    free(name);
    return NULL;
}

static int exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The header's path, in the includer's folder or else in an -I folder; or NULL. */
static char *find_header(const char *includer, const char *name)
{
    const char *slash = strrchr(includer, '/');
    char *path = slash ? format("%.*s/%s", (int)(slash - includer), includer, name)
                       : format("%s", name);
    for (int i = 0; !exists(path); i++) {
        free(path);
        if (i == include_dir_count) return NULL;
        path = format("%s/%s", include_dirs[i], name);
    }
    return path;
}

static int translate_headers(struct source *s, const char *folder, int is_header);

/* Translates the header if necessary; returns 1 if it did. */
static int translate_header(const char *path, const char *name)
{
    for (int i = 0; i < header_count; i++)
        if (strcmp(headers[i].path, path) == 0) return headers[i].needed;
    if (header_count == MAX_HEADERS) {
        fprintf(stderr, "translate: more than %d headers\n", MAX_HEADERS);
        exit(1);
    }
    struct header *h = &headers[header_count++];
    h->path = format("%s", path);
    h->name = format("%s", name);
    struct source s;
    if (!read_source(&s, h->path)) return 0;
    const char *slash = strrchr(name, '/');
    char *folder = format("%.*s", slash ? (int)(slash - name) + 1 : 0, name);
    int below = translate_headers(&s, folder, 1);
    h->needed = below || has_cuda_syntax(&s);
    char *out = format("%s/%s", outdir, h->name);
    if (h->needed) {
        rewrite(&s);
        write_source(&s, out);
    } else {
        remove(out); /* left from when it was needed */
    }
    free(out);
    free(folder);
    free_source(&s);
    return h->needed;
}

/* Translates all headers that s includes. folder is s's folder relative to the main
 * file's, "" or "a/b/". A translated header is in another folder than before, so it
 * includes headers that are not translated by their full path. */
static int translate_headers(struct source *s, const char *folder, int is_header)
{
    int any = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->tokens[i].kind != DIRECTIVE) continue;
        char *name = included_name(&s->tokens[i]);
        char *path = name ? find_header(s->path, name) : NULL;
        int translated = 0;
        if (path && !strstr(name, "..") && *name != '/') {
            /* Relative to the includer, or to the -I folder in which it was found. */
            char *relative = format("%s%s", folder, name);
            int local = strlen(path) >= strlen(relative) &&
                        strcmp(path + strlen(path) - strlen(relative), relative) == 0;
            translated = translate_header(path, local ? relative : name);
            free(relative);
        }
        if (path && is_header && !translated) {
            char *full = realpath(path, NULL);
            if (full) s->tokens[i].text = format("#include \"%s\"", full);
            free(full);
        }
        any |= translated;
        free(path);
        free(name);
    }
    return any;
}

static void write_dependencies(const char *path, const char *object, const char *input)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "translate: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fprintf(f, "%s: %s", object, input);
    for (int i = 0; i < header_count; i++)
        fprintf(f, " %s", headers[i].path);
    fputc('\n', f);
    for (int i = 0; i < header_count; i++)
        fprintf(f, "%s:\n", headers[i].path);
    fclose(f);
}

int main(int argc, char **argv)
{
    const char *input = NULL, *object = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            object = argv[++i];
        else if (strncmp(argv[i], "-I", 2) == 0 && include_dir_count < MAX_DIRS)
            include_dirs[include_dir_count++] = argv[i][2] ? argv[i] + 2 : argv[++i];
        else if (*argv[i] == '-')
            input = outdir = NULL, i = argc;
        else if (!input)
            input = argv[i];
        else
            outdir = argv[i];
    }
    if (!input || !outdir) {
        fprintf(stderr, "usage: translate FILE.cu OUTDIR [-I DIR]... [-d OBJECT]\n");
        return 2;
    }
    struct source s;
    if (!read_source(&s, input)) {
        fprintf(stderr, "%s: error: cannot be read: %s\n", input, strerror(errno));
        return 1;
    }
    const char *base = strrchr(input, '/') ? strrchr(input, '/') + 1 : input;
    translate_headers(&s, "", 0);
    rewrite(&s);
    char *out = format("%s/%s.cpp", outdir, base);
    if (!errors) write_source(&s, out);
    if (object && !errors) {
        char *d = format("%s/%s.headers.d", outdir, base);
        write_dependencies(d, object, input);
        free(d);
    }
    free(out);
    free_source(&s);
    return errors != 0;
}
