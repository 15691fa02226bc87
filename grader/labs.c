/* labs.c - finds labs, cases and hints by name. */
#include "cases.h"
#include "file.h"
#include "util.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* labs/lab03_rmsnorm answers to lab03, lab03_rmsnorm, rmsnorm, 03 and 3. */
static bool answers_to(const char *folder, const char *name)
{
    const char *base = strrchr(folder, '/') + 1;
    const char *op = strchr(base, '_');
    size_t lab = (size_t)(op - base);
    const char *digits = base + strcspn(base, "0123456789");
    char *end;
    if (!strcmp(name, base) || !strcmp(name, op + 1)) return true;
    if (strlen(name) == lab && !strncmp(name, base, lab)) return true;
    return isdigit((unsigned char)*name) &&
           strtol(name, &end, 10) == strtol(digits, NULL, 10) && !*end;
}

void lab_find(struct lab *lab, const char *name)
{
    glob_t found;
    char known[1024] = "";
    memset(lab, 0, sizeof *lab);
    if (glob("labs/lab[0-9]*_*", 0, NULL, &found) != 0)
        fatal(EXIT_BROKEN, "no labs/labNN_* here: run ./grade in the workbook's folder");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *folder = found.gl_pathv[i], *base = folder + strlen("labs/");
        int length = (int)strcspn(base, "_");
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%.*s", n ? ", " : "", length, base);
        if (!answers_to(folder, name)) continue;
        snprintf(lab->name, sizeof lab->name, "%.*s", length, base);
        snprintf(lab->folder, sizeof lab->folder, "%s", folder);
    }
    globfree(&found);
    if (!lab->name[0]) fatal(EXIT_NOT_BUILT, "no lab '%s'; the labs are %s", name, known);
}

struct graded_case *case_find(const struct lab *lab, const char *name)
{
    for (size_t i = 0; i < lab->count; i++)
        if (!strcmp(lab->cases[i].name, name)) return &lab->cases[i];
    return NULL;
}

/* -k: a list, separated by commas */
bool case_matches(
    const struct lab *lab, const struct graded_case *c, const char *patterns)
{
    char *list = text_of("%s", patterns ? patterns : ""), *save;
    bool match = !patterns;
    for (char *p = strtok_r(list, ",", &save); p && !match;
         p = strtok_r(NULL, ",", &save))
        match = case_find(lab, p) ? !strcmp(p, c->name)
                                  : strstr(c->name, p) || !fnmatch(p, c->name, 0) ||
                                        !strcmp(p, c->part);
    free(list);
    return match;
}

bool part_exists(const struct lab *lab, const char *part)
{
    for (size_t i = 0; i < lab->count; i++)
        if (!strcmp(lab->cases[i].part, part)) return true;
    return false;
}

/* In hints.md, `## 03.1` starts a part and `1.`, `2.`, ... in the first column a
 * level. */
char *hint_read(const char *folder, const char *part, int level, int *levels)
{
    char *path = text_of("%s/hints.md", folder);
    char *text = file_read(path, 1 << 20, NULL, NULL), *next = text, *hint = NULL;
    bool inside = false;
    size_t length = strlen(part);
    int at = 0;
    *levels = 0;
    free(path);
    for (char *line; next && (line = strsep(&next, "\n"));) {
        if (!strncmp(line, "## ", 3)) {
            inside = !strncmp(line + 3, part, length) &&
                     !isalnum((unsigned char)line[3 + length]);
            at = 0;
            continue;
        }
        if (!inside) continue;
        if (isdigit((unsigned char)*line) && line[strspn(line, "0123456789")] == '.') {
            at = atoi(line);
            if (at > *levels) *levels = at;
        }
        if (at != level || !at) continue;
        char *longer = text_of("%s%s\n", hint ? hint : "", line);
        free(hint);
        hint = longer;
    }
    free(text);
    while (hint && strlen(hint) > 1 && !strcmp(hint + strlen(hint) - 2, "\n\n"))
        hint[strlen(hint) - 1] = 0;
    return hint;
}
