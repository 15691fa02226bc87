/* keep.c - what outlives a run: results, receipts, the progress board, hints. */
#include "keep.h"

#include "file.h"
#include "sha256.h"
#include "util.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_json(json_t *o, const char *path)
{
    wb_error err;
    char *text = json_dumps(o, JSON_INDENT(1)), *folder = text_of("%s", path);
    *strrchr(folder, '/') = 0;
    if (!text || folder_make(folder, &err) != 0 ||
        file_write(path, text, strlen(text), &err) != 0)
        fatal(EXIT_NOT_BUILT, "%s", err.text);
    free(folder);
    free(text);
    json_decref(o);
}

/* --- receipts ----------------------------------------------------------------------- */

/* Programs take a function if it is right, however it is structured. */
static bool all_passed(const struct report *r, const char *function, const char *dtype)
{
    int cases = 0;
    for (size_t i = 0; i < r->lab->count; i++) {
        const struct graded_case *c = &r->lab->cases[i];
        if (strcmp(c->function, function) || !case_has_dtype(c, dtype)) continue;
        if (r->judgement[i].verdict != PASSED && !r->judgement[i].only_bound)
            return false;
        cases++;
    }
    return cases > 0;
}

static bool contains(json_t *array, const char *name)
{
    size_t i;
    json_t *s;
    json_array_foreach(array, i, s)
        if (json_is_string(s) && !strcmp(json_string_value(s), name)) return true;
    return false;
}

/* Adds f_f32, and the function that returns its workspace size if it has one. */
static void add_function(
    json_t *passed, const struct report *r, const char *function, const char *dtype)
{
    char *name = text_of("%s_%s", function, dtype);
    char *work = text_of("%s_workspace_%s", function, dtype);
    if (!contains(passed, name)) {
        json_array_append_new(passed, json_string(name));
        if (contains(json_object_get(r->build->record, "defined"), work))
            json_array_append_new(passed, json_string(work));
    }
    free(name);
    free(work);
}

static void write_receipt(const struct report *r)
{
    json_t *passed = json_array();
    char *path = text_of("%s/passed/%s.json", r->build->folder, r->lab->name);
    for (size_t i = 0; i < r->lab->count; i++) {
        const struct graded_case *c = &r->lab->cases[i];
        for (int k = 0; k < FLOAT_DTYPES; k++)
            if (case_has_dtype(c, float_dtypes[k]) &&
                all_passed(r, c->function, float_dtypes[k]))
                add_function(passed, r, c->function, float_dtypes[k]);
    }
    if (json_array_size(passed))
        write_json(
            json_pack(
                "{s:s, s:s, s:s, s:O, s:O, s:o}", "lab", r->lab->name, "backend",
                r->build->backend, "source", r->build->source, "sources",
                json_object_get(r->build->record, "sources"), "files",
                json_object_get(r->build->record, "files"), "functions", passed),
            path);
    else
        unlink(path), json_decref(passed);
    free(path);
}

/* --- results ------------------------------------------------------------------------ */

static char *results_path(const char *folder, const char *lab)
{
    return text_of("%s/results/%s.json", folder, lab);
}

void keep_results(const struct report *r)
{
    if (!r->all || !r->build->own || r->under)
        return; /* only runs of the whole lab, inside the sandbox */
    json_t *cases = json_object();
    for (size_t i = 0; i < r->lab->count; i++)
        json_object_set_new(
            cases, r->lab->cases[i].name,
            json_boolean(r->judgement[i].verdict == PASSED));
    char *path = results_path(r->build->folder, r->lab->name);
    write_json(
        json_pack(
            "{s:s, s:i, s:i, s:O, s:o}", "lab", r->lab->name, "score", r->score, "of",
            r->of, "files", json_object_get(r->build->record, "files"), "cases", cases),
        path);
    free(path);
    write_receipt(r);
}

/* --- the board ---------------------------------------------------------------------- */

/* The first file that has changed, or NULL. */
static const char *changed_file(json_t *files)
{
    const char *path;
    char hex[65];
    json_t *hash;
    json_object_foreach(files, path, hash)
        if (!json_is_string(hash) || sha256_file(path, hex) != 0 ||
            strcmp(hex, json_string_value(hash)))
            return path;
    return NULL;
}

static void board_line(const char *folder, const char *lab_folder)
{
    const char *base = strrchr(lab_folder, '/') + 1;
    char lab[MAX_NAME], bar[11] = "..........";
    snprintf(lab, sizeof lab, "%.*s", (int)strcspn(base, "_"), base);
    char *path = results_path(folder, lab);
    json_t *kept = json_load_file(path, 0, NULL);
    free(path);
    if (!kept) {
        printf(
            "  %-6s %-10s %s    -/100  not graded yet: make %s && ./grade %s\n", lab,
            strchr(base, '_') + 1, bar, lab, lab);
        return;
    }
    int score = (int)json_integer_value(json_object_get(kept, "score"));
    int of = (int)json_integer_value(json_object_get(kept, "of"));
    const char *changed = changed_file(json_object_get(kept, "files"));
    memset(bar, '#', (size_t)(of > 0 ? 10 * score / of : 0));
    printf(
        "  %-6s %-10s %s  %3d/%-3d  %s%s\n", lab, strchr(base, '_') + 1, bar, score, of,
        changed       ? "changed since: "
        : score == of ? "passed"
                      : "see: ./grade ",
        changed       ? changed
        : score == of ? ""
                      : lab);
    json_decref(kept);
}

void board(const char *folder)
{
    glob_t labs;
    if (glob("labs/lab[0-9]*_*", 0, NULL, &labs) != 0)
        fatal(EXIT_BROKEN, "no labs/labNN_* here: run ./grade in the workbook's folder");
    printf("Labs (%s)\n", folder);
    for (size_t i = 0; i < labs.gl_pathc; i++)
        board_line(folder, labs.gl_pathv[i]);
    globfree(&labs);
}

/* --- hints -------------------------------------------------------------------------- */

/* The part of the first case that did not pass in the last run. */
static const char *open_part(const struct lab *lab, const char *folder)
{
    char *path = results_path(folder, lab->name);
    json_t *kept = json_load_file(path, 0, NULL);
    json_t *cases = json_object_get(kept, "cases");
    const char *part = NULL;
    for (size_t i = 0; i < lab->count && !part; i++)
        if (!json_is_true(json_object_get(cases, lab->cases[i].name)))
            part = lab->cases[i].part;
    json_decref(kept);
    free(path);
    return part;
}

void hint(const struct lab *lab, const char *folder, const char *part, int level)
{
    if (part && !part_exists(lab, part))
        fatal(
            EXIT_NOT_BUILT, "%s has no part '%s'; see ./grade %s --list", lab->name, part,
            lab->name);
    char *path = text_of("%s/results/%s.hints.json", folder, lab->name);
    json_t *shown = json_load_file(path, 0, NULL);
    int levels;
    if (!part) part = open_part(lab, folder);
    if (!part) {
        printf(
            "%s has full marks; ./grade %s --hint PART repeats a part's hints\n",
            lab->name, lab->name);
        free(path);
        return;
    }
    if (!shown) shown = json_object();
    if (!level) level = 1 + (int)json_integer_value(json_object_get(shown, part));
    char *text = hint_read(lab->folder, part, level, &levels);
    if (!levels) fatal(EXIT_BROKEN, "%s/hints.md has no hints for %s", lab->folder, part);
    if (!text) { /* all were shown: repeat the last one */
        level = levels;
        text = hint_read(lab->folder, part, level, &levels);
    }
    printf("Hint %d of %d for part %s\n%s", level, levels, part, text ? text : "");
    json_object_set_new(shown, part, json_integer(level));
    write_json(shown, path);
    free(text);
    free(path);
}
