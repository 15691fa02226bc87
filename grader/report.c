/* report.c - the results as text, JSON and JUnit. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const verdict_names[] = {"pass",  "fail",    "skip",
                                            "crash", "timeout", "broken"};

static const char *paint(const struct report *r, enum verdict v)
{
    if (!r->colour) return "";
    return v == PASSED ? "\033[32m" : v == SKIPPED ? "\033[33m" : "\033[31m";
}

/* == Test lab03/tail 16x1000 f32 ==                FAIL 0/10  (0.02s) */
static void print_case(
    const struct report *r, size_t i, const char *what, const char *title,
    const char *end)
{
    const struct graded_case *c = &r->lab->cases[i];
    const struct judgement *j = &r->judgement[i];
    const char *word = j->verdict == PASSED ? "OK" : "FAIL";
    char head[160], points[32];
    snprintf(
        head, sizeof head, "== %s %s/%s%s%s ==", what, r->lab->name, c->name,
        *title ? " " : "", title);
    snprintf(
        points, sizeof points, "%d/%d", j->verdict == PASSED ? c->points : 0, c->points);
    printf(
        "%-46s %s%-4s%s ", head, paint(r, j->verdict), word, r->colour ? "\033[0m" : "");
    printf("%-5s (%s)\n", points, end);
    for (int n = 0; n < j->findings.count; n++)
        printf("    %s\n", j->findings.line[n]);
    if (j->verdict != PASSED)
        printf(
            "    replay: ./grade %s -k %s --seed %#llx\n", r->lab->name, c->name,
            (unsigned long long)r->seed);
}

/* == Part 03.4, 7 cases ==             TODO 0/13  (not written yet: rmsnorm_backward_f32) */
void report_waiting(struct report *r)
{
    const struct graded_case *c = &r->lab->cases[r->waiting.first];
    const struct judgement *j = &r->judgement[r->waiting.first];
    char head[160], points[32];
    if (!r->waiting.cases) return;
    if (r->waiting.cases == 1)
        snprintf(head, sizeof head, "== Test %s/%s ==", r->lab->name, c->name);
    else
        snprintf(
            head, sizeof head, "== Part %s, %d cases ==", c->part, r->waiting.cases);
    snprintf(points, sizeof points, "0/%d", r->waiting.points);
    printf(
        "%-46s %s%s%s %-5s (", head, paint(r, SKIPPED),
        j->verdict == SKIPPED ? "SKIP" : "TODO", r->colour ? "\033[0m" : "", points);
    if (j->verdict == SKIPPED)
        printf("%s)\n", j->findings.line[0]);
    else
        printf("not written yet: %s_%s)\n", c->function, c->dtype);
    r->waiting.cases = r->waiting.points = 0;
}

static bool waits(struct report *r, size_t i)
{
    const struct graded_case *first = &r->lab->cases[r->waiting.first];
    const struct judgement *j = &r->judgement[i];
    bool one = j->verdict == SKIPPED || j->unwritten;
    if (!one || (r->waiting.cases && strcmp(first->part, r->lab->cases[i].part)))
        report_waiting(r);
    if (!one) return false;
    if (!r->waiting.cases++) r->waiting.first = i;
    r->waiting.points += r->lab->cases[i].points;
    return true;
}

void report_case(struct report *r, size_t i, const char *title)
{
    char seconds[32];
    if (waits(r, i)) return;
    snprintf(seconds, sizeof seconds, "%.2fs", r->judgement[i].seconds);
    print_case(r, i, "Test", title, seconds);
}

void report_check(
    const struct report *r, size_t i, const char *title, enum verdict before)
{
    bool lost = before == PASSED && r->judgement[i].verdict != PASSED;
    print_case(
        r, i, "Check", title, lost ? "values right, check failed" : "in check mode");
}

/* What the learner's code printed in the first call, or, if that printed nothing, in all of
 * them: at most ten lines, and no control characters. */
void report_printed(const struct run *run)
{
    const char *output = run->output;
    size_t bytes = run->first_output ? run->first_output : run->output_bytes;
    int lines = 0;
    if (bytes > OUTPUT_KEPT) bytes = OUTPUT_KEPT;
    for (size_t i = 0; i < bytes; lines++) {
        const char *end = memchr(output + i, '\n', bytes - i);
        size_t n = end ? (size_t)(end - output) - i : bytes - i;
        if (lines < 10) {
            printf("    printed: ");
            print_clean(output + i, n, 160);
            putchar('\n');
        }
        i += n + 1;
    }
    if (lines > 10) printf("    printed: … and %d more lines\n", lines - 10);
}

bool report_breaches(const struct report *r)
{
    size_t i;
    json_t *breach, *all = json_object_get(r->build->record, "breaches");
    json_array_foreach(all, i, breach) {
        const char *symbol = json_string_value(json_object_get(breach, "symbol"));
        const char *why = json_string_value(json_object_get(breach, "why"));
        if (i >= 8) continue;
        printf("contract breach: ");
        print_clean(symbol ? symbol : "?", symbol ? strlen(symbol) : 1, 200);
        printf(": ");
        print_clean(why ? why : "?", why ? strlen(why) : 1, 400);
        putchar('\n');
    }
    if (i > 8) printf("… and %zu more\n", i - 8);
    return i > 0;
}

enum exit_code report_code(const struct report *r)
{
    int count[BROKEN + 1] = {0};
    for (size_t i = 0; i < r->lab->count; i++)
        if (r->selected[i]) count[r->judgement[i].verdict]++;
    return count[BROKEN]                    ? EXIT_BROKEN
           : count[CRASH]                   ? EXIT_CRASHED
           : count[TIMEOUT]                 ? EXIT_TIMED_OUT
           : count[FAILED] + count[SKIPPED] ? EXIT_LESS
           : r->unclean                     ? EXIT_LESS
                                            : EXIT_FULL;
}

void report_end(struct report *r)
{
    char score[64];
    snprintf(score, sizeof score, "Score: %d/%d", r->score, r->of);
    if (r->score < r->of)
        printf(
            "%s      %shint: ./grade %s --hint\n", score,
            r->stopped ? "stopped at the first failure; " : "", r->lab->name);
    else if (!r->all && !r->stopped)
        printf(
            "%s      (of the %s; ./grade %s grades all of them)\n", score,
            r->first ? "first variants" : "selected cases", r->lab->name);
    else
        printf("%s\n", score);
    if (!r->build->own) {
        printf("(graded ");
        print_clean(r->build->source, strlen(r->build->source), 200);
        printf(", which does not count as a pass of labs/)\n");
    }
    if (r->random_seed)
        printf(
            "seed: %#llx, new for each run; --seed %#llx repeats this one\n",
            (unsigned long long)r->seed, (unsigned long long)r->seed);
    if (strcmp(r->sandbox, "Landlock and seccomp")) printf("sandbox: %s\n", r->sandbox);
    if (r->under) r->unclean = !under_report(r->under);
}

/* --- JSON --------------------------------------------------------------------------- */

json_t *findings_json(const struct findings *f)
{
    json_t *lines = json_array();
    for (int n = 0; n < f->count; n++)
        json_array_append_new(lines, json_string(f->line[n]));
    return lines;
}

static json_t *case_json(const struct graded_case *c, const struct judgement *j)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:I, s:b, s:s, s:o}", "name", c->name,
        "part", c->part, "function", c->function, "dtype", c->dtype, "verdict",
        verdict_names[j->verdict], "points", j->verdict == PASSED ? c->points : 0, "of",
        c->points, "seconds", j->seconds, "wrong", (json_int_t)j->wrong, "bound",
        c->bounds[0].what != NO_BOUND, "catches", c->catches, "findings",
        findings_json(&j->findings));
}

/* Writing fails where the disk is full, and often only at the end. */
static void close_file(FILE *f, const char *path)
{
    bool written = f && !ferror(f);
    if (!f || fclose(f) != 0 || !written)
        fatal(EXIT_NOT_BUILT, "cannot write %s: %s", path, strerror(errno));
}

void report_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        fatal(EXIT_NOT_BUILT, "cannot write the report: %s", strerror(errno));
}

void report_json(const struct report *r, const char *path)
{
    json_t *cases = json_array();
    char seed[32];
    snprintf(seed, sizeof seed, "%#llx", (unsigned long long)r->seed);
    for (size_t i = 0; i < r->lab->count; i++)
        if (r->selected[i])
            json_array_append_new(cases, case_json(&r->lab->cases[i], &r->judgement[i]));
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:b, s:s, s:s, s:i, s:i, s:i, s:o}", "lab", r->lab->name,
        "backend", r->build->backend, "source", r->build->source, "own", r->build->own,
        "seed", seed, "sandbox", r->sandbox, "score", r->score, "of", r->of, "exit",
        (int)report_code(r), "cases", cases);
    json_t *breaches = json_object_get(r->build->record, "breaches");
    if (all && breaches) json_object_set(all, "breaches", breaches);
    if (all && r->checks) json_object_set(all, "check", r->checks);
    char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
    FILE *f = text ? fopen(path, "we") : NULL;
    if (f) fprintf(f, "%s\n", text);
    close_file(f, path);
    free(text);
    json_decref(all);
}
